import type { FastifyInstance } from 'fastify'
import { ContentTypeNotSupportedError } from './errors.js'

const TYPES = ['application/json', 'application/a2a+json']

/**
 * Reads bodies as the bindings of A2A do: both media types, an empty one as an object without members, and any other type
 * is the protocol's error. For a scope of their own.
 */
export function takeJson (scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(TYPES, { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, {})
    parse(request, body as string, done)
  })
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new ContentTypeNotSupportedError(`the body must be ${TYPES.join(' or ')}`))
  })
}
