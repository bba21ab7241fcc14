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

/** Whether a body, as JSON.parse returned it, is nested deeper than MAX_BODY_DEPTH. */
export function isTooDeep (body: unknown): boolean {
  return typeof body === 'object' && body !== null && isDeeper(body as Record<string, unknown>, MAX_BODY_DEPTH)
}

/** It recurses no deeper than the bound, and allocates nothing: it looks at every body. */
function isDeeper (value: Record<string, unknown>, levels: number): boolean {
  if (levels === 0) return true
  if (Array.isArray(value)) {
    // for...in would make a text of each index
    for (const child of value) if (typeof child === 'object' && child !== null && isDeeper(child, levels - 1)) return true
    return false
  }
  for (const key in value) {
    const child = value[key]
    if (typeof child === 'object' && child !== null && isDeeper(child as Record<string, unknown>, levels - 1)) return true
  }
  return false
}
