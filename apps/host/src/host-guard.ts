import { createError } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from './listen.js'

const HostNotAllowedError = createError<[string]>('HOST_NOT_ALLOWED',
  'this service is not known as %s; set service.public_url to the address under which callers reach it', 403)

const AmbiguousHostError = createError('BAD_HTTP', 'the request names two hosts; name one', 400)

/**
 * Refuses requests that reach this machine's loopback under a foreign name. A web page can point its own name at
 * 127.0.0.1 (DNS rebinding) and would otherwise read a private service through its visitor's browser.
 */
export function guardHost (app: FastifyInstance, publicUrl: () => string | null | undefined): void {
  app.addHook('onRequest', async request => {
    const { rawHeaders } = request.raw
    if (rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length > 1) throw new AmbiguousHostError()
    const hostname = request.hostname.toLowerCase().replace(/\.$/, '')
    if (!isLoopback(request.socket.localAddress ?? '') || isLoopback(hostname) || hostname === '') return
    const known = publicUrl()
    if (known && URL.canParse(known) && new URL(known).hostname === hostname) return
    throw new HostNotAllowedError(JSON.stringify(hostname.slice(0, 100)))
  })
}
