import { createError } from '../basics/create-error.js'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import { isTooDeep, MAX_BODY_DEPTH } from './json-body.js'
import { BodyTooDeepError } from '../basics/errors.js'
import { beginning } from '../basics/well-formed.js'
import { suggestion } from '../basics/names.js'
import { isRounded } from '../config/schema-errors.js'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'

/** Most problems reported about one request: a body may have a million wrong items. */
export const MAX_PROBLEMS = 20

/** Longest path of a problem: the names of unknown fields are the caller's. */
const MAX_PATH_CHARS = 300

/** The pattern of text with at least one visible character. */
export const NOT_BLANK = '\\S'

/** A problem of a request, with its path, such as `body/user_input`. */
export interface RequestProblem { readonly path: string, readonly message: string }

const InvalidRequest = createError<[string]>('BAD_REQUEST', '%s', 400)

/** A request that breaks its schema; `message` names every problem by its path. */
export class InvalidRequestError extends InvalidRequest {
  constructor (readonly details: readonly RequestProblem[]) {
    super(details.map(({ path, message }) => `${path}: ${message}`).join('; '))
  }
}

/**
 * Validates with TypeBox instead of the host's Ajv, which coerces JSON (7 → "7") and drops unknown fields silently. It
 * first refuses a body that is nested too deep (BODY_TOO_DEEP). Query strings and path parameters, which are text, are
 * converted. Set it in a plugin's own scope.
 */
export const schemaValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const compiled = TypeCompiler.Compile(schema)
  return (value: unknown) => {
    if (httpPart === 'body' && isTooDeep(value)) return { error: new BodyTooDeepError(MAX_BODY_DEPTH) }
    // without `value` Fastify keeps the one that it has
    if (compiled.Check(value)) return true
    const converted = httpPart === 'body' ? value : convertTexts(schema, value)
    if (compiled.Check(converted)) return { value: converted }
    return { error: new InvalidRequestError(problemsOf(compiled, converted, httpPart)) }
  }
}

/** The query or path parameters with the numbers and booleans of the schema; a text that is not one remains. */
function convertTexts (schema: TSchema, texts: unknown): unknown {
  const before: Record<string, unknown> = { ...texts as object }
  const converted = Value.Convert(schema, { ...before }) as object
  return Object.fromEntries(Object.entries(converted).map(([name, value]) => [name, isRounded(before[name], value) ? before[name] : value]))
}

/** The problems of `value`, each once, by its path under `root`; empty for a valid one. */
export function problemsOf (compiled: TypeCheck<TSchema>, value: unknown, root: string): RequestProblem[] {
  if (compiled.Check(value)) return []
  const problems = new Map<string, RequestProblem>()
  for (const error of compiled.Errors(value)) {
    const path = root + beginning(error.path, MAX_PATH_CHARS)
    if (!problems.has(path)) problems.set(path, { path, message: explain(error) })
    if (problems.size >= MAX_PROBLEMS) break
  }
  return [...problems.values()]
}

/** The text of a problem for callers: TypeBox does not explain unions and patterns. */
function explain ({ type, path, schema, value, message }: ValueError): string {
  if (value === undefined) return 'is missing'
  if (type === ValueErrorType.StringPattern && schema.pattern === NOT_BLANK) return 'must not be blank'
  if (type === ValueErrorType.ObjectAdditionalProperties) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return `is not known; ${suggestion(name, Object.keys((schema as { properties?: object }).properties ?? {}), 'known')}`
  }
  if (type === ValueErrorType.Union) {
    const kinds = ((schema as { anyOf?: TSchema[] }).anyOf ?? [])
      .map(({ const: value, type }) => value === undefined ? String(type) : JSON.stringify(value))
    return `expected ${kinds.join(' or ')}`
  }
  return message.charAt(0).toLowerCase() + message.slice(1)
}
