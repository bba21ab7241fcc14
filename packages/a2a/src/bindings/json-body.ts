import type { FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { ContentTypeNotSupportedError, NotUtf8Error } from '../errors.js'

const PUBLIC_TYPES = ['application/json', 'application/a2a+json']

/**
 * Replaces the body parsers of a scope by one for JSON. Bytes that are not UTF-8 are refused, because they would be stored
 * as U+FFFD. `allowEmpty`: an empty body is an object without members; by default it is refused.
 */
export function parseJson (scope: FastifyInstance, types = ['application/json'], allowEmpty = false): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0 && allowEmpty) return done(null, {})
    // the JSON parser refuses compressed bodies, with a message of its own
    if (request.headers['content-encoding'] === undefined && !isUtf8(body as Buffer)) return done(new NotUtf8Error())
    parse(request, body.toString('utf8'), done)
  })
}

/** The same for the bindings of public A2A: both media types; any other type is refused with an error of the protocol. */
export function parsePublicJson (scope: FastifyInstance): void {
  parseJson(scope, PUBLIC_TYPES, true)
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new ContentTypeNotSupportedError(`the body must be ${PUBLIC_TYPES.join(' or ')}`))
  })
}
