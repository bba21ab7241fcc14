import { Validator, type Schema as ValidatorSchema } from '@cfworker/json-schema'

export type Schema = Readonly<Record<string, unknown>>

/** Hops of `$ref` and `allOf`, and levels of a form: a recursive schema has no end. */
export const MAX_DEPTH = 12

/** What a form shows for a schema. `json` is a text area. */
export type Field =
  | { readonly kind: 'object', readonly schema: Schema, readonly entries: ReadonlyArray<{ readonly name: string, readonly schema: unknown, readonly isRequired: boolean }> }
  | { readonly kind: 'array', readonly schema: Schema, readonly items: unknown }
  | { readonly kind: 'values', readonly schema: Schema, readonly values: readonly unknown[] }
  | { readonly kind: 'choice', readonly schema: Schema, readonly variants: readonly Schema[] }
  | { readonly kind: 'text' | 'number' | 'json', readonly schema: Schema }

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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

/** The value that a text of a form stands for; an empty one is left out, and a number stays a number. */
export function readText (kind: 'text' | 'number', text: string): unknown {
  if (text === '') return undefined
  const number = Number(text)
  return kind === 'number' && text.trim() !== '' && Number.isFinite(number) ? number : text
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
  const index = variants.findIndex(variant => problemsOf({ ...definitions(root), ...variant as object }, value).length === 0)
  return Math.max(0, index)
}

function definitions (root: unknown): object {
  return isObject(root) ? { ...'$defs' in root && { $defs: root.$defs }, ...'definitions' in root && { definitions: root.definitions } } : {}
}

/** The problems of a value by their paths. A schema that cannot be applied has none: the server checks again. */
export function problemsOf (schema: unknown, value: unknown): string[] {
  if (!isObject(schema)) return []
  try {
    const { errors } = new Validator(schema as ValidatorSchema, '2020-12', false).validate(value)
    // errors of a container repeat those of its parts
    const paths = errors.map(({ instanceLocation }) => instanceLocation)
    return errors.filter(({ instanceLocation: at }, i) => !paths.some((other, j) => i !== j && other.startsWith(`${at}/`)))
      .map(({ instanceLocation, error }) => `${instanceLocation.replace(/^#\/?/, '') || 'the arguments'}: ${error}`)
  } catch {
    return []
  }
}
