import type { FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { NotUtf8Error } from './errors.js'

/**
 * Replaces the body parsers of a scope by one for JSON. Bytes that are not UTF-8 are refused, because they would be
 * read as U+FFFD. `allowEmpty`: an empty body is an object without members; by default it is refused.
 */
export function parseJson (scope: FastifyInstance, types: string[] = ['application/json'], allowEmpty = false): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0 && allowEmpty) return done(null, {})
    // the JSON parser refuses compressed bodies, with its own message
    if (request.headers['content-encoding'] === undefined && !isUtf8(body as Buffer)) return done(new NotUtf8Error())
    parse(request, body.toString('utf8'), done)
  })
}
