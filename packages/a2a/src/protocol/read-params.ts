import { isRecord, problemsOf, type RequestProblem } from '@polyvac/core/plugin'
import { KindGuard, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { InvalidFieldsError, type FieldViolation } from '../errors.js'

// @keyed none: the keys are the schemas of the code
const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()

/**
 * Params of a request under the names of their schema, and checked against it. ProtoJSON: names come in camelCase or
 * snake_case, null is as good as absent, and what the schema does not know is passed over. What callers name
 * themselves, such as the keys of metadata, stays unchanged.
 * @throws A2A_INVALID_PARAMS with each problem by its field
 */
export function readParams<T extends TObject> (schema: T, params: unknown): Static<T> {
  const read = isRecord(params) ? readObject(schema, params) : params
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, check = TypeCompiler.Compile(schema as TSchema))
  if (check.Check(read)) return read as Static<T>
  throw invalidFields(problemsOf(check, read, ''))
}

/** The error of problems, which are named by their fields. */
export function invalidFields (problems: readonly RequestProblem[]): InvalidFieldsError {
  return new InvalidFieldsError(problems.map(({ path, message }) => ({ field: fieldOf(path), description: message })))
}

/** A problem as the protocol names it: `/message/parts/0/text` is `message.parts[0].text`. */
function fieldOf (path: string): string {
  const field = path.split('/').slice(1)
    .reduce((all, name) => /^\d+$/.test(name) ? `${all}[${name}]` : `${all}.${name}`, '')
  return field === '' ? 'params' : field.replace(/^\./, '')
}

function readObject (schema: TObject, value: Record<string, unknown>): Record<string, unknown> {
  const read: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const name = Object.hasOwn(schema.properties, key) ? key : toCamelCase(key)
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    const member = value[key]
    if (property === undefined || (member === null && !KindGuard.IsUnknown(property))) continue
    // the name itself wins over its other spelling
    if (name !== key && Object.hasOwn(value, name)) continue
    read[name] = readValue(property, member)
  }
  return read
}

function readValue (schema: TSchema, value: unknown): unknown {
  if (KindGuard.IsObject(schema)) return isRecord(value) ? readObject(schema, value) : value
  if (KindGuard.IsArray(schema) && KindGuard.IsObject(schema.items)) {
    return Array.isArray(value) ? value.map(item => readValue(schema.items, item)) : value
  }
  return value
}

function toCamelCase (name: string): string {
  return name.includes('_') ? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : name
}

/** Fails with one problem. @throws A2A_INVALID_PARAMS */
export function refuseField (field: string, description: string): never {
  throw new InvalidFieldsError([{ field, description } satisfies FieldViolation])
}

/** An empty text is ProtoJSON's way to leave one out. */
export function nonEmpty (text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
