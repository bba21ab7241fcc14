import { parseJson } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { ContentTypeNotSupportedError } from '../errors.js'

const TYPES = ['application/json', 'application/a2a+json']

/** Reads bodies of both media types; an empty one is an object without members. Other types are refused with an error of the protocol. */
export function parsePublicJson (scope: FastifyInstance): void {
  parseJson(scope, TYPES, true)
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new ContentTypeNotSupportedError(`the body must be ${TYPES.join(' or ')}`))
  })
}
