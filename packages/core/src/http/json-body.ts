import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { NotUtf8Error } from '../basics/errors.js'

/**
 * Replaces the body parsers of a scope by one for JSON. Bytes that are not UTF-8 are refused, because they would be
 * read as U+FFFD. `allowEmpty`: an empty body is an object without members; by default it is refused. A DELETE without
 * a body may have any content type.
 */
export function parseJson (scope: FastifyInstance, types: string[] = ['application/json'], allowEmpty = false): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addHook('onRoute', route => {
    if (route.method === 'DELETE') route.onRequest = [route.onRequest ?? [], ignoreEmptyBody].flat()
  })
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0 && allowEmpty) return done(null, {})
    // the JSON parser refuses compressed bodies, with its own message
    if (request.headers['content-encoding'] === undefined && !isUtf8(body as Buffer)) return done(new NotUtf8Error())
    void parse(request, body.toString('utf8'), done)
  })
}

/** Keeps Fastify from parsing a body that is absent: some clients name a content type with each request. */
async function ignoreEmptyBody ({ headers }: FastifyRequest): Promise<void> {
  const { 'transfer-encoding': coding, 'content-length': length = '0' } = headers
  if (coding === undefined && length === '0') delete headers['content-type']
}

/** Deepest nesting of a request body. Deeper values overflow the stack of code that clones or prints them. */
export const MAX_BODY_DEPTH = 64

/** Whether a body is nested deeper than MAX_BODY_DEPTH. It does not recurse. */
export function isTooDeep (body: unknown): boolean {
  let level: object[] = typeof body === 'object' && body !== null ? [body] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_BODY_DEPTH) return true
    const next: object[] = []
    for (const value of level) {
      // for...in would make a text of each index of an array
      for (const child of Array.isArray(value) ? value : Object.values(value)) {
        if (typeof child === 'object' && child !== null) next.push(child)
      }
    }
    level = next
  }
  return false
}
