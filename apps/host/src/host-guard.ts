import { createError } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from './listen.js'

const HostNotAllowedError = createError<[string]>('HOST_NOT_ALLOWED',
  '%s is not a host name of this service; set service.public_url to the address under which callers reach it', 403)

const AmbiguousHostError = createError('BAD_HTTP', 'the request names two hosts; name one', 400)

/**
 * Refuses requests to a loopback address with another host name. A web page can resolve its own name to 127.0.0.1 (DNS
 * rebinding) and could read a private service through its visitor's browser.
 */
export function guardHost (app: FastifyInstance, publicUrl: () => string | null | undefined): void {
  app.addHook('onRequest', async request => {
    const { rawHeaders } = request.raw
    const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
    if (hosts.length > 1) throw new AmbiguousHostError()
    const hostname = request.hostname.toLowerCase().replace(/\.$/, '')
    if (!isLoopback(request.socket.localAddress ?? '') || isLoopback(hostname) || hostname === '') return
    const url = publicUrl()
    if (url && URL.canParse(url) && new URL(url).hostname === hostname) return
    throw new HostNotAllowedError(JSON.stringify(hostname.slice(0, 100)))
  })
}
