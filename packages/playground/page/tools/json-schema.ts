import { Validator, type OutputUnit, type Schema as ValidatorSchema } from '@cfworker/json-schema'
import { isObject } from '../shared/fields.js'

export type Schema = Readonly<Record<string, unknown>>

/** Hops of `$ref` and `allOf`, and levels of a form: a recursive schema has no end. */
export const MAX_DEPTH = 12

/** What a form shows for a schema. `json` is a text area. */
export type Field =
  | { readonly kind: 'object', readonly schema: Schema, readonly entries: ReadonlyArray<{ readonly name: string, readonly schema: unknown, readonly isRequired: boolean }> }
  | { readonly kind: 'array', readonly schema: Schema, readonly items: unknown }
  | { readonly kind: 'values', readonly schema: Schema, readonly values: readonly unknown[], readonly titles?: readonly unknown[] }
  | { readonly kind: 'choice', readonly schema: Schema, readonly variants: readonly Schema[] }
  | { readonly kind: 'text' | 'number' | 'json', readonly schema: Schema }

/** Follows `$ref` and merges `allOf`. References to other documents are left out. */
function resolve (schema: unknown, root: unknown, depth = 0): Schema {
  if (!isObject(schema) || depth > MAX_DEPTH) return {}
  const { $ref, allOf, ...rest } = schema
  let merged: Schema = typeof $ref === 'string' ? merge(resolve(pointed(root, $ref), root, depth + 1), rest) : rest
  if (Array.isArray(allOf)) for (const part of allOf) merged = merge(resolve(part, root, depth + 1), merged)
  return merged
}

function pointed (root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined
  let target = root
  for (const step of ref.slice(1).split('/').slice(1)) {
    let name = step
    try { name = decodeURIComponent(step) } catch { /* a percent sign that encodes nothing stands for itself */ }
    name = name.replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) || Array.isArray(target) ? (target as Record<string, unknown>)[name] : undefined
  }
  return target
}

function merge (a: Schema, b: Schema): Schema {
  const merged: Record<string, unknown> = { ...a, ...b }
  if (isObject(a.properties) && isObject(b.properties)) {
    const properties = { ...a.properties, ...b.properties }
    for (const name of Object.keys(a.properties)) if (Object.hasOwn(b.properties, name)) properties[name] = { allOf: [a.properties[name], b.properties[name]] }
    merged.properties = properties
  }
  if (Array.isArray(a.required) && Array.isArray(b.required)) merged.required = [...new Set([...a.required, ...b.required])]
  return merged
}

/** The field for a schema, which may be any JSON value. */
export function fieldOf (schema: unknown, root: unknown, depth = 0): Field {
  const resolved = resolve(schema, root)
  if (depth > MAX_DEPTH) return { kind: 'json', schema: resolved }
  if ('const' in resolved) return { kind: 'values', schema: resolved, values: [resolved.const] }
  if (Array.isArray(resolved.enum)) return { kind: 'values', schema: resolved, values: resolved.enum }
  for (const key of ['oneOf', 'anyOf'] as const) {
    const { [key]: variants, ...base } = resolved
    if (Array.isArray(variants) && variants.length > 0) {
      // the titled enum of MCP
      const titled = variants.map(variant => resolve(variant, root))
      if (titled.every(variant => 'const' in variant)) return { kind: 'values', schema: base, values: titled.map(variant => variant.const), titles: titled.map(({ title }) => title) }
      return { kind: 'choice', schema: resolved, variants: variants.map(variant => merge(base, resolve(variant, root))) }
    }
  }
  const { type } = resolved
  if (Array.isArray(type) && type.length > 0) return { kind: 'choice', schema: resolved, variants: type.map(one => ({ ...resolved, type: one })) }
  if (type === 'object' || (type === undefined && isObject(resolved.properties))) {
    const required = Array.isArray(resolved.required) ? resolved.required : []
    const entries = Object.entries(isObject(resolved.properties) ? resolved.properties : {})
    // without named properties any key is possible
    if (entries.length === 0) return { kind: 'json', schema: resolved }
    return { kind: 'object', schema: resolved, entries: entries.map(([name, schema]) => ({ name, schema, isRequired: required.includes(name) })) }
  }
  if (type === 'array' || (type === undefined && isObject(resolved.items))) return { kind: 'array', schema: resolved, items: resolved.items }
  if (type === 'string') return { kind: 'text', schema: resolved }
  if (type === 'number' || type === 'integer') return { kind: 'number', schema: resolved }
  if (type === 'boolean') return { kind: 'values', schema: resolved, values: [true, false] }
  if (type === 'null') return { kind: 'values', schema: resolved, values: [null] }
  return { kind: 'json', schema: resolved }
}

/** The value of a form that is empty: defaults, and what is required; undefined is left out. */
export function initialValue (schema: unknown, root: unknown, isRequired: boolean, depth = 0): unknown {
  const field = fieldOf(schema, root, depth)
  if ('default' in field.schema) return field.schema.default
  if (!isRequired || depth > MAX_DEPTH) return undefined
  if (field.kind === 'values') return field.values.length === 1 ? field.values[0] : undefined
  if (field.kind === 'choice') return initialValue(field.variants[0], root, true, depth + 1)
  if (field.kind === 'array') return []
  if (field.kind === 'json') return field.schema.type === 'object' ? {} : undefined
  if (field.kind !== 'object') return undefined
  return Object.fromEntries(field.entries.flatMap(({ name, schema, isRequired }) => {
    const value = initialValue(schema, root, isRequired, depth + 1)
    return value === undefined ? [] : [[name, value]]
  }))
}

/** A value without its passwords. */
export function withoutPasswords (schema: unknown, root: unknown, value: unknown, depth = 0): unknown {
  const field = fieldOf(schema, root, depth)
  if (field.schema.format === 'password' && typeof value === 'string') return undefined
  // a variant that is not complete may be any of them
  if (field.kind === 'choice') return field.variants.reduce((rest: unknown, variant) => withoutPasswords(variant, root, rest, depth + 1), value)
  if (field.kind === 'array' && Array.isArray(value)) return value.map(item => withoutPasswords(field.items, root, item, depth + 1))
  // no control shows where the passwords of such a value are
  if ((field.kind === 'json' || depth > MAX_DEPTH) && hasPassword(root)) return undefined
  if (field.kind !== 'object' || !isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => {
    const entry = field.entries.find(({ name }) => name === key)
    return [key, entry === undefined && hasPassword(root) ? undefined : withoutPasswords(entry?.schema, root, part, depth + 1)]
  }))
}

/** The value that a text of a form stands for; an empty one is left out, and a number stays a number. */
export function readText (kind: 'text' | 'number', text: string): unknown {
  if (text === '') return undefined
  const number = Number(text)
  // JSON writes -0 as 0, which would take the sign from what is typed on: -0.5
  return kind === 'number' && text.trim() !== '' && Number.isFinite(number) && !Object.is(number, -0) ? number : text
}

/** A copy of an object or list with one entry changed; undefined removes it. */
export function withEntry (value: unknown, key: string | number, next: unknown): unknown {
  if (typeof key === 'number') {
    const list = Array.isArray(value) ? [...value] : []
    if (next === undefined) list.splice(key, 1)
    else list[key] = next
    return list
  }
  const rest = Object.entries(isObject(value) ? value : {}).filter(([name]) => name !== key || next !== undefined)
  const changed = rest.map(([name, old]) => [name, name === key ? next : old] as const)
  return Object.fromEntries(next === undefined || changed.some(([name]) => name === key) ? changed : [...changed, [key, next]])
}

/** Which variant of a choice a value has. */
export function variantOf (variants: readonly unknown[], root: unknown, value: unknown): number {
  const index = variants.findIndex(variant => fits({ ...definitions(root), ...variant as object }, value))
  if (index >= 0) return index
  // what names the variant: the constants of its properties
  return Math.max(0, variants.findIndex(variant => {
    const { properties } = resolve(variant, root)
    const constants = Object.entries(isObject(properties) ? properties : {}).filter(([, one]) => isObject(one) && 'const' in one)
    return isObject(value) && constants.length > 0 && constants.every(([name, one]) => value[name] === (one as Schema).const)
  }))
}

function definitions (root: unknown): object {
  return isObject(root) ? { ...'$defs' in root && { $defs: root.$defs }, ...'definitions' in root && { definitions: root.definitions } } : {}
}

/** Whether a schema or one of its parts is a password, which no address keeps. */
export function hasPassword (schema: unknown): boolean {
  return JSON.stringify(schema)?.includes('"format":"password"') === true
}

function errorsOf (schema: Schema, value: unknown): OutputUnit[] {
  try {
    return new Validator(schema as ValidatorSchema, '2020-12', false).validate(value).errors
  } catch {
    // a schema that cannot be applied: the server checks again
    return []
  }
}

/** Whether a value fits; a schema that cannot be applied takes every value. */
const fits = (schema: unknown, value: unknown): boolean => !isObject(schema) || errorsOf(schema, value).length === 0

/** What the value of one control needs, in plain English. */
function needOf ({ keyword, error }: OutputUnit, schema: Schema): string {
  const limit = String(schema[keyword])
  switch (keyword) {
    case 'type': return schema.type === 'integer' ? 'needs a whole number' : `needs ${/^[aeiou]/.test(limit) ? 'an' : 'a'} ${schema.type === 'string' ? 'text' : limit}`
    case 'minimum': return `needs at least ${limit}`
    case 'maximum': return `needs at most ${limit}`
    case 'exclusiveMinimum': return `needs more than ${limit}`
    case 'exclusiveMaximum': return `needs less than ${limit}`
    case 'multipleOf': return `needs a multiple of ${limit}`
    case 'minLength': return `needs at least ${limit} characters`
    case 'maxLength': return `needs at most ${limit} characters`
    case 'pattern': return `needs a text that matches ${limit}`
    default: return error
  }
}

/** Variants that a person chose, by the path of their control. */
export type Choices = ReadonlyMap<string, number>

/** The problems of the controls of a form; each variant is the chosen one. */
function controlProblems (schema: unknown, root: unknown, value: unknown, choices: Choices, path: string, name: string, depth = 0): string[] {
  const field = fieldOf(schema, root, depth)
  const prefix = name || 'the arguments'
  const part = (schema: unknown, key: string | number): string[] =>
    controlProblems(schema, root, (value as Record<string, unknown>)[key], choices, `${path}.${key}`, name === '' ? String(key) : `${name}/${key}`, depth + 1)
  if (field.kind === 'choice') {
    const index = choices.get(path) ?? variantOf(field.variants, root, value)
    const variant = field.variants[index] ?? {}
    if (value === null && variant.type !== 'null') return [`${prefix}: needs a value`]
    return controlProblems(variant, root, value, choices, `${path}.value`, name, depth + 1)
  }
  if (field.kind === 'object') {
    if (!isObject(value)) return [`${prefix}: needs an object`]
    return field.entries.flatMap(({ name: key, schema, isRequired }) => {
      if (Object.hasOwn(value, key)) return part(schema, key)
      return isRequired ? [`${name === '' ? key : `${name}/${key}`}: needs a value`] : []
    })
  }
  if (field.kind === 'array') return Array.isArray(value) ? value.flatMap((_, i) => part(field.items, i)) : [`${prefix}: needs a list`]
  if (field.kind === 'json') return []
  if (field.kind === 'values') return field.values.some(one => isSame(one, value)) ? [] : [`${prefix}: needs one of its values`]
  return errorsOf({ ...definitions(root), ...field.schema }, value).slice(-1).map(error => `${prefix}: ${needOf(error, field.schema)}`)
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * The problems of a value by their paths, each with what the field needs. `path` is that of the control of the whole
 * value. A schema that cannot be applied has none: the server checks again.
 */
export function problemsOf (schema: unknown, value: unknown, choices: Choices = new Map(), path = ''): string[] {
  if (!isObject(schema)) return []
  const errors = errorsOf(schema, value)
  if (errors.length === 0) return []
  const problems = controlProblems(schema, schema, value, choices, path, '')
  if (problems.length > 0) return problems
  // what no control shows, such as a bound of a list; errors of a container repeat those of its parts
  const paths = errors.map(({ instanceLocation }) => instanceLocation)
  const parts = errors.filter(({ instanceLocation: at, error }, i) => error !== 'A subschema had errors.' && !paths.some((other, j) => i !== j && other.startsWith(`${at}/`)))
  return (parts.length > 0 ? parts : errors).map(({ instanceLocation, error }) => `${instanceLocation.replace(/^#\/?/, '') || 'the arguments'}: ${error}`)
}
