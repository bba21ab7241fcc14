import { BodyTooDeepError, MAX_BODY_DEPTH, schemaValidator } from '@polyvac/core'
import { InvalidCallError } from './errors.js'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchemaCompiler } from 'fastify'

/** As on every wire; but the gateway has one code for all that is wrong with the shape of a request. */
export const callValidator: FastifySchemaCompiler<TSchema> = route => {
  const validate = schemaValidator(route)
  return (value: unknown) => {
    const result = validate(value) as { value?: unknown, error?: Error }
    return result.error instanceof BodyTooDeepError ? { error: new InvalidCallError(`body: is nested deeper than ${MAX_BODY_DEPTH} levels`) } : result
  }
}
