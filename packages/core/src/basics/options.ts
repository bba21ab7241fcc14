import { isRecord } from './is-record.js'
import { quoteName, suggestion } from './names.js'

/** Longest time in ms that a timer of Node.js can wait; it fires a longer one at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Default of `bodyLimit` of the plugins: largest request body, in bytes. A photo as a data URL, or a long history, has
 * some MiB, which the default of Fastify would refuse.
 */
export const BODY_BYTES = 4 * 1024 * 1024

/** What one option takes. Tables of rules are made with the functions below. */
export interface OptionRule<Default = unknown> {
  /** What the option must be, for messages: `a whole number from 1 to 100`. */
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** The value of an option that is absent. */
  readonly default: Default
  /** An option without a default that must be given. */
  readonly isRequired?: boolean
  /** The bounds of a number. */
  readonly range?: { readonly min: number, readonly max: number, readonly integer: boolean }
}

/** A table of rules, one for each option: `{ … } satisfies OptionRules<XxxOptions>`. */
export type OptionRules<Options> = { readonly [Name in keyof Options]-?: OptionRule }

/** The options with their defaults filled in. */
export type ReadOptions<Options, Rules extends OptionRules<Options>> = {
  readonly [Name in keyof Options]-?:
  undefined extends Rules[Name]['default'] ? Options[Name] : Exclude<Options[Name], undefined>
}

/** Options that Fastify reads itself, and hands to plugins along with theirs. */
const FASTIFY_OPTIONS: ReadonlySet<string> = new Set(['prefix', 'logLevel', 'logSerializers'])

/**
 * Checks options by a table of rules and fills in the defaults. An option that is undefined counts as absent.
 * @param owner who takes the options, for messages: `the vac plugin`, `createVacs`
 * @param path what precedes the names in messages: `limits.` for the options within `limits`
 * @throws OptionsError, naming the first option that is unknown, missing or out of its range
 */
export function readOptions<Options extends object, const Rules extends OptionRules<Options>> (
  rules: Rules, options: Options, OptionsError: new (problem: string) => Error, owner: string, path = ''
): ReadOptions<Options, Rules> {
  if (!isRecord(options)) throw new OptionsError(`${owner} needs an object of options; it is ${describe(options)}`)
  const names = Object.keys(rules)
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(rules, name) || FASTIFY_OPTIONS.has(name)) continue
    const remedy = suggestion(name, names, 'its options')
    throw new OptionsError(`${owner} has no option ${quoteName(path + name)}; ${remedy}`)
  }
  const read: Record<string, unknown> = {}
  for (const [name, { expected, accepts, isRequired = false, default: fallback }] of Object.entries<OptionRule>(rules)) {
    const value: unknown = options[name]
    if (value === undefined && isRequired) throw new OptionsError(`${owner} needs the option \`${path}${name}\`: ${expected}`)
    if (value !== undefined && !accepts(value)) {
      throw new OptionsError(`${path}${name} must be ${expected}; it is ${describe(value)}`)
    }
    read[name] = value === undefined ? fallback : value
  }
  return read as ReadOptions<Options, Rules>
}

interface Bounds { readonly min?: number, readonly max?: number }

/** A whole number; by default above 0. */
export function integer<Default extends number | undefined = undefined> (
  fallback?: Default, { min = 1, max = Number.MAX_SAFE_INTEGER }: Bounds = {}
): OptionRule<Default> {
  const expected = `a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}`
  const accepts = (value: unknown): boolean => Number.isSafeInteger(value) && isWithin(value, min, max)
  return { ...optional(expected, accepts, fallback), range: { min, max, integer: true } }
}

/** A time in ms that a timer can wait, a whole number; by default above 0. */
export function milliseconds<Default extends number | undefined = undefined> (
  fallback?: Default, { min = 1, max = MAX_TIMER_MS }: Bounds = {}
): OptionRule<Default> {
  return integer(fallback, { min, max })
}

/** A number within bounds. */
export function number<Default extends number | undefined = undefined> (
  min: number, max: number, fallback?: Default
): OptionRule<Default> {
  const rule = optional(`a number from ${min} to ${max}`, value => isWithin(value, min, max), fallback)
  return { ...rule, range: { min, max, integer: false } }
}

/** True or false. */
export function flag<Default extends boolean | undefined = undefined> (fallback?: Default): OptionRule<Default> {
  return optional('true or false', value => typeof value === 'boolean', fallback)
}

/** Text with at least one character. */
export function text<Default extends string | undefined = undefined> (fallback?: Default): OptionRule<Default> {
  return optional('a text that is not empty', value => typeof value === 'string' && value !== '', fallback)
}

/** One of a few texts. */
export function oneOf<const Value extends string, Default extends Value | undefined = undefined> (
  values: readonly Value[], fallback?: Default
): OptionRule<Default> {
  const expected = values.map(value => JSON.stringify(value)).join(' or ')
  return optional(expected, value => values.includes(value as Value), fallback)
}

/** A list of texts. */
export function texts<Default extends readonly string[] | undefined = undefined> (
  fallback?: Default
): OptionRule<Default> {
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.every(item => typeof item === 'string')
  return optional('a list of texts', accepts, fallback)
}

/** A function. */
export function callback (): OptionRule<undefined> {
  return optional('a function', value => typeof value === 'function')
}

/** An object that has the method: what identifies a store, a set of VACs, a log. */
export function withMethod (method: string, expected: string): OptionRule<undefined> {
  return optional(expected, value => typeof (value as Record<string, unknown> | null)?.[method] === 'function')
}

/** Any other option. */
export function optional<Default = undefined> (
  expected: string, accepts: (value: unknown) => boolean, fallback?: Default
): OptionRule<Default> {
  return { expected, accepts, default: fallback as Default }
}

/** The same option, which must be given. */
export function required (rule: OptionRule<undefined>): OptionRule<undefined> {
  return { ...rule, isRequired: true }
}

function isWithin (value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

function describe (value: unknown): string {
  if (typeof value === 'string') return quoteName(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
