import { createError, isLoopbackHost } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import { hostname as machineName } from 'node:os'
import type { ServiceConfig } from '../config/service-config.js'

const HostNotAllowedError = createError<[string]>('HOST_NOT_ALLOWED',
  '%s is not a host name of this service; set service.public_url to the address under which callers reach it, or add the name to service.allowed_hosts', 403)
const OriginNotAllowedError = createError<[string]>('ORIGIN_NOT_ALLOWED',
  'a page of %s may not send this request; add its origin to service.allowed_origins', 403)
const AmbiguousHostError = createError('BAD_HTTP', 'the request names two hosts; name one', 400)

type Allowed = Pick<ServiceConfig, 'public_url' | 'allowed_hosts' | 'allowed_origins' | 'cors'>

/** Methods without effects: a page of another site may send them, and the browser hides the response from it. */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses requests with a foreign host name, and requests with effects from pages of other sites. A page can resolve
 * its own name to the address of this service (DNS rebinding) and would read it through its visitor's browser, from
 * within a private network, too. Addresses, names of loopback and names without a dot cannot be such a name.
 */
export function guardHost (app: FastifyInstance, switches: () => Allowed): void {
  app.addHook('onRequest', async request => {
    const { rawHeaders } = request.raw
    const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
    if (hosts.length > 1) throw new AmbiguousHostError()
    const { localAddress } = request.socket
    // a request of this process, whose caller was checked
    if (localAddress === undefined) return
    const hostname = withoutDot(request.hostname)
    if (!isHostAllowed(hostname, isLoopbackHost(localAddress), switches())) throw new HostNotAllowedError(JSON.stringify(hostname.slice(0, 100)))
    const { origin } = request.headers
    if (origin === undefined || SAFE_METHODS.includes(request.method)) return
    // an application that registers @fastify/cors decides about origins itself
    if (switches().cors !== true && app.hasRequestDecorator('corsPreflightEnabled')) return
    if (!isOriginAllowed(origin, request, switches())) throw new OriginNotAllowedError(JSON.stringify(origin.slice(0, 100)))
  })
}

function isHostAllowed (hostname: string, onLoopback: boolean, { public_url: url, allowed_hosts: allowed = [] }: Allowed): boolean {
  if (hostname === '' || isLoopbackHost(hostname)) return true
  if (!onLoopback && (!hostname.includes('.') || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || hostname === machineName().toLowerCase())) return true
  if (URL.canParse(url ?? '') && new URL(url!).hostname === hostname) return true
  return allowed.some(name => name === '*' || withoutDot(name.replace(/:\d+$/, '')) === hostname)
}

function isOriginAllowed (origin: string, { host, socket: { localAddress = '' } }: FastifyRequest,
  { public_url: url, allowed_origins: allowed = [] }: Allowed): boolean {
  if (allowed.some(name => name === '*' || name.toLowerCase().replace(/\/$/, '') === origin.toLowerCase())) return true
  if (!URL.canParse(origin)) return false
  const from = new URL(origin)
  // only by the host: a proxy may add TLS
  if (from.host === host.toLowerCase() || (URL.canParse(url ?? '') && new URL(url!).host === from.host)) return true
  return isLoopbackHost(localAddress) && isLoopbackHost(from.hostname)
}

function withoutDot (hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '')
}
