import { fullFormats, type FormatName } from 'ajv-formats/dist/formats.js'
import { isRecord } from '../basics/is-record.js'
import { shorten, type Check } from './check.js'
import type { Rule } from './document.js'
import { LinearPattern } from './pattern.js'

type MakeRule = (operand: unknown, check: Check) => Rule | undefined

/** Formats of longer texts are not checked. */
const MAX_FORMAT_CHARS = 2_000
/** Values of an `enum` that a problem shows. */
const MAX_SHOWN_VALUES = 10

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number' && Number.isFinite(value),
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  array: Array.isArray,
  object: isRecord
}

/** What a bound measures; undefined for a value that it does not apply to. */
type Measure = (value: unknown, check: Check) => number | undefined

const number: Measure = value => typeof value === 'number' ? value : undefined
const items: Measure = value => Array.isArray(value) ? value.length : undefined
const properties: Measure = (value, check) => isRecord(value) ? countKeys(value, check) : undefined
/** In code points. */
const characters: Measure = (value, check) => {
  if (typeof value !== 'string') return undefined
  check.spend(value.length / 16)
  let count = value.length
  for (let i = 0; i < value.length - 1; i++) {
    if ((value.charCodeAt(i) & 0xFC00) === 0xD800 && (value.charCodeAt(i + 1) & 0xFC00) === 0xDC00) count--
  }
  return count
}

const BOUNDS: ReadonlyArray<[keyword: string, Measure, fits: (size: number, bound: number) => boolean, problem: string]> = [
  ['minimum', number, (size, bound) => size >= bound, 'must be >= #'],
  ['maximum', number, (size, bound) => size <= bound, 'must be <= #'],
  ['exclusiveMinimum', number, (size, bound) => size > bound, 'must be > #'],
  ['exclusiveMaximum', number, (size, bound) => size < bound, 'must be < #'],
  ['multipleOf', number, (size, bound) => Number.isInteger(size / bound), 'must be multiple of #'],
  ['minLength', characters, (size, bound) => size >= bound, 'must NOT have fewer than # characters'],
  ['maxLength', characters, (size, bound) => size <= bound, 'must NOT have more than # characters'],
  ['minItems', items, (size, bound) => size >= bound, 'must NOT have fewer than # items'],
  ['maxItems', items, (size, bound) => size <= bound, 'must NOT have more than # items'],
  ['minProperties', properties, (size, bound) => size >= bound, 'must NOT have fewer than # properties'],
  ['maxProperties', properties, (size, bound) => size <= bound, 'must NOT have more than # properties']
]

/** The keywords that look only at a value. One with an operand of the wrong shape does not apply. */
export const ASSERTIONS: ReadonlyMap<string, MakeRule> = new Map<string, MakeRule>([
  ...BOUNDS.map(([keyword, measure, fits, problem]): [string, MakeRule] => [keyword, bound => {
    if (typeof bound !== 'number') return undefined
    return (value, check) => {
      const size = measure(value, check)
      return size === undefined || fits(size, bound) || check.fail(problem.replace('#', String(bound)))
    }
  }]),
  ['type', operand => {
    const names = textsOf([operand].flat())
    const tests = names.map(name => Object.hasOwn(TYPES, name) ? TYPES[name] as (value: unknown) => boolean : () => true)
    const [test] = tests
    if (test === undefined) return undefined
    const problem = `must be ${names.join(' or ')}`
    if (tests.length === 1) return (value, check) => test(value) || check.fail(problem)
    return (value, check) => tests.some(test => test(value)) || check.fail(problem)
  }],
  ['required', operand => {
    if (!Array.isArray(operand)) return undefined
    const names = textsOf(operand)
    return (value, check) => !isRecord(value) || hasAll(value, names, check)
  }],
  ['dependentRequired', dependentRequired],
  ['dependencies', dependentRequired],
  ['enum', operand => {
    if (!Array.isArray(operand)) return undefined
    const plain = new Set(operand.filter(value => Object(value) !== value))
    const objects = operand.filter(value => Object(value) === value)
    const problem = (): string => `expected one of ${operand.slice(0, MAX_SHOWN_VALUES).map(show).join(', ')}`
    return (value, check) => plain.has(value) || (Object(value) === value && objects.some(object => isEqual(object, value, check))) ||
      check.fail(problem)
  }],
  ['const', operand => (value, check) => isEqual(operand, value, check) || check.fail(() => `expected ${show(operand)}`)],
  ['pattern', (operand, check) => {
    // a pattern that is not supported is left to the owner of the schema
    const pattern = typeof operand === 'string' ? LinearPattern.compile(operand, check) : undefined
    if (pattern === undefined) return undefined
    return (value, check) => typeof value !== 'string' || pattern.test(value, check) ||
      check.fail(`must match pattern "${shorten(String(operand))}"`)
  }],
  ['format', operand => {
    const format = typeof operand === 'string' && Object.hasOwn(fullFormats, operand) ? fullFormats[operand as FormatName] : true
    const test = typeof format === 'object' && 'validate' in format ? format.validate : format
    if (typeof test !== 'function' && !(test instanceof RegExp)) return undefined
    const isFormatOf = typeof format === 'object' && 'type' in format && format.type === 'number' ? TYPES.number : TYPES.string
    return (value, check) => {
      if (isFormatOf?.(value) !== true) return true
      const { length } = String(value)
      if (length > MAX_FORMAT_CHARS) return true
      check.spend(length * Math.max(1, length / 64))
      const isValid = test instanceof RegExp ? test.test(value as string) : test(value as never)
      return isValid === true || check.fail(`must match format "${String(operand)}"`)
    }
  }],
  ['uniqueItems', operand => operand !== true
    ? undefined
    : (value, check) => !Array.isArray(value) || hasUniqueItems(value, check) || check.fail('must NOT have duplicate items')]
])

function dependentRequired (operand: unknown): Rule | undefined {
  if (!isRecord(operand)) return undefined
  const lists = Object.entries(operand).filter(([, names]) => Array.isArray(names)).map(([key, names]) => [key, textsOf(names as unknown[])] as const)
  return (value, check) => !isRecord(value) ||
    lists.every(([key, names]) => { check.spend(1); return !has(value, key) || hasAll(value, names, check) })
}

function textsOf (list: readonly unknown[]): string[] {
  return list.filter(item => typeof item === 'string')
}

function hasAll (value: object, names: readonly string[], check: Check): boolean {
  check.spend(names.length / 4)
  let isComplete = true
  for (const name of names) {
    if (has(value, name)) continue
    isComplete = check.fail('is missing', name)
    if (check.isDone) break
  }
  return isComplete
}

/** Only own members: `constructor` is not a member of `{}`. */
export function has (value: object, key: string): boolean {
  return (value as Record<string, unknown>)[key] !== undefined && Object.hasOwn(value, key)
}

function countKeys (value: object, check: Check): number {
  const { length } = Object.keys(value)
  check.spend(length)
  return length
}

function isEqual (a: unknown, b: unknown, check: Check): boolean {
  check.spend(1)
  if (Object(a) !== a || Object(b) !== b) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a as object)
  check.spend(keys.length)
  if (keys.length !== countKeys(b as object, check)) return false
  return keys.every(key => Object.hasOwn(b as object, key) && isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], check))
}

/** In one pass: comparing every pair of 20,000 small objects would block the event loop for ten seconds. */
function hasUniqueItems (items: readonly unknown[], check: Check): boolean {
  const plain = new Set<unknown>()
  const objects = new Set<string>()
  for (const item of items) {
    check.spend(1)
    const isObject = Object(item) === item
    const key = isObject ? canonicalText(item, check) : item
    const seen = isObject ? objects : plain
    if (seen.has(key as string)) return false
    seen.add(key as string)
  }
  return true
}

/** Equal texts for equal JSON values, independent of the order of keys. */
function canonicalText (value: unknown, check: Check): string {
  check.spend(2)
  if (typeof value === 'string') check.spend(value.length / 16)
  if (Array.isArray(value)) return `[${value.map(item => canonicalText(item, check)).join()}]`
  // -0 and 0 are equal
  if (!isRecord(value)) return JSON.stringify(value) ?? ''
  const keys = Object.keys(value)
  check.spend(keys.length * 2)
  keys.sort()
  return `{${keys.map(key => `${JSON.stringify(key)}:${canonicalText(value[key], check)}`).join()}}`
}

function show (value: unknown): string {
  return shorten(Object(value) === value ? (Array.isArray(value) ? 'a list' : 'an object') : JSON.stringify(value))
}
