import { parseJson, unsupportedType } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { ContentTypeNotSupportedError } from '../errors.js'

const TYPES = ['application/json', 'application/a2a+json']

/**
 * Reads JSON of both media types; an empty body is an object without members. Others are refused with an error of A2A.
 */
export function parsePublicJson (scope: FastifyInstance): void {
  parseJson(scope, TYPES, true)
  scope.addContentTypeParser('*', (request, payload, done) => {
    payload.resume()
    done(new ContentTypeNotSupportedError(unsupportedType(request, TYPES.join(' or '))))
  })
}
