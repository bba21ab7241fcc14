import { createError } from './create-error.js'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import { isTooDeep, MAX_BODY_DEPTH } from './body-depth.js'
import { BodyTooDeepError } from './errors.js'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'

/** Most problems told about one request; a body of a million wrong items would else be answered with a million lines. */
export const MAX_PROBLEMS = 20

/** The pattern of text with at least one visible character. */
export const NOT_BLANK = '\\S'

/** One thing wrong with a request: where, as a path such as `body/user_input`, and what. */
export interface RequestProblem { readonly path: string, readonly message: string }

const InvalidRequest = createError<[string]>('BAD_REQUEST', '%s', 400)

/** A request that its schema refuses; `message` names every problem by its path. */
export class InvalidRequestError extends InvalidRequest {
  constructor (readonly details: readonly RequestProblem[]) {
    super(details.map(({ path, message }) => `${path}: ${message}`).join('; '))
  }
}

/**
 * Validates with TypeBox instead of the host's Ajv, which would coerce JSON (7 → "7") and drop unknown fields silently.
 * A body nested too deep is refused first (BODY_TOO_DEEP). Set it in a plugin's own scope. Query strings and path parameters, being text, are still converted.
 */
export const schemaValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const compiled = TypeCompiler.Compile(schema)
  return (value: unknown) => {
    if (httpPart === 'body' && isTooDeep(value)) return { error: new BodyTooDeepError(MAX_BODY_DEPTH) }
    if (compiled.Check(value)) return { value }
    const given = httpPart === 'body' ? value : Value.Convert(schema, value)
    if (compiled.Check(given)) return { value: given }
    return { error: new InvalidRequestError(problemsOf(compiled, given, httpPart)) }
  }
}

/** What is wrong with `value`, each thing once, by its path under `root`; empty if nothing is. */
export function problemsOf (compiled: TypeCheck<TSchema>, value: unknown, root: string): RequestProblem[] {
  if (compiled.Check(value)) return []
  const problems = new Map<string, RequestProblem>()
  for (const error of compiled.Errors(value)) {
    const path = root + error.path
    if (!problems.has(path)) problems.set(path, { path, message: explain(error) })
    if (problems.size >= MAX_PROBLEMS) break
  }
  return [...problems.values()]
}

/** A problem in words for callers: TypeBox says little about unions and patterns. */
function explain ({ type, schema, value, message }: ValueError): string {
  if (value === undefined) return 'is missing'
  if (type === ValueErrorType.StringPattern && schema.pattern === NOT_BLANK) return 'must not be blank'
  if (type === ValueErrorType.Union) {
    const kinds = ((schema as { anyOf?: TSchema[] }).anyOf ?? []).map(({ const: value, type }) => value === undefined ? String(type) : JSON.stringify(value))
    return `expected ${kinds.join(' or ')}`
  }
  return message.charAt(0).toLowerCase() + message.slice(1)
}
