import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'
import { InvalidCallError } from './errors.js'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'

const MAX_PROBLEMS = 20

/** Deepest nesting taken from a caller. Deeper values overflow the stack of whatever prints them later. */
export const MAX_BODY_DEPTH = 64

/**
 * Validates with TypeBox instead of the host's Ajv, which would coerce JSON (7 → "7") and drop unknown fields silently.
 * Query strings and path parameters, being text, are still converted.
 */
export const schemaValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const compiled = TypeCompiler.Compile(schema)
  return (value: unknown) => {
    if (httpPart === 'body' && isTooDeep(value)) return { error: new InvalidCallError(`body: is nested deeper than ${MAX_BODY_DEPTH} levels`) }
    if (compiled.Check(value)) return { value }
    const given = httpPart === 'body' ? value : Value.Convert(schema, value)
    if (compiled.Check(given)) return { value: given }
    const problems = new Map<string, string>()
    for (const { path, message, value: wrong } of compiled.Errors(given)) {
      if (!problems.has(path)) problems.set(path, wrong === undefined ? 'is missing' : message.charAt(0).toLowerCase() + message.slice(1))
      if (problems.size >= MAX_PROBLEMS) break
    }
    return { error: new InvalidCallError([...problems].map(([path, message]) => `${httpPart}${path}: ${message}`).join('; ')) }
  }
}

/** Told without recursion. */
function isTooDeep (body: unknown): boolean {
  let level: object[] = typeof body === 'object' && body !== null ? [body] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_BODY_DEPTH) return true
    const next: object[] = []
    for (const value of level) {
      for (const key in value) {
        const child: unknown = (value as Record<string, unknown>)[key]
        if (typeof child === 'object' && child !== null) next.push(child)
      }
    }
    level = next
  }
  return false
}
