import type { TSchema } from '@sinclair/typebox'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'

/** Keys and indexes from the root of a value to one of its parts. */
export type Path = ReadonlyArray<string | number>

/** The errors of the variant of a union that fits the value's type; the union's own error does not name the cause. */
export function explain (error: ValueError): ValueError[] {
  if (error.type !== ValueErrorType.Union) return [error]
  const variants = (error.schema as { anyOf?: TSchema[] }).anyOf ?? []
  if (variants.every(variant => 'const' in variant)) {
    return [{ ...error, message: `Expected one of ${variants.map(({ const: value }) => String(value)).join(', ')}` }]
  }
  const kind = Array.isArray(error.value) ? 'array' : error.value === null ? 'null' : typeof error.value
  const meant = variants.findIndex(variant => variant.type === kind)
  if (meant !== -1) return [...error.errors[meant] ?? []].flatMap(explain)
  return [{ ...error, message: `Expected ${variants.map(({ type }) => String(type)).join(' or ')}` }]
}

/** Converts text from a variable to the number or boolean of the schema; false where it cannot. */
export function convert (root: unknown, path: Path, schema: TSchema): boolean {
  const parent = valueAt(root, path.slice(0, -1)) as Record<string | number, unknown>
  const key = path.at(-1) as string | number
  const converted: unknown = Value.Convert(schema, parent[key])
  if (!Value.Check(schema, converted) || isRounded(parent[key], converted)) return false
  parent[key] = converted
  return true
}

/** Whether a conversion has changed the number of a text: TypeBox reads "5.5" and "5e2" as the integer 5. */
export function isRounded (text: unknown, converted: unknown): boolean {
  return typeof text === 'string' && typeof converted === 'number' && Number(text) !== converted
}

export function valueAt (root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], root)
}

export function toPath (pointer: string): Array<string | number> {
  return pointer.split('/').slice(1).map(part => {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    return /^\d+$/.test(key) ? Number(key) : key
  })
}
