import type { FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { ContentTypeNotSupportedError, NotUtf8Error } from '../errors.js'

const TYPES = ['application/json', 'application/a2a+json']

/**
 * Reads bodies as the bindings of A2A do: both media types, an empty one as an object without members, and any other type
 * is the protocol's error. For a scope of their own.
 */
export function acceptJson (scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(TYPES, { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, {})
    // else what is no text would be kept as something that nobody sent; a packed body is told by its parser
    if (request.headers['content-encoding'] === undefined && !isUtf8(body as Buffer)) return done(new NotUtf8Error())
    parse(request, body.toString('utf8'), done)
  })
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new ContentTypeNotSupportedError(`the body must be ${TYPES.join(' or ')}`))
  })
}
