import { createError, isLoopbackHost, LogGate } from '@polyvac/core/plugin'
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

const HOST = 'host'

/** Methods without effects: a page of another site may send them, and the browser hides the response from it. */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses requests with a foreign host name, and requests with effects from pages of other sites. A page can resolve
 * its own name to the address of this service (DNS rebinding) and would read it through its visitor's browser, from
 * within a private network, too. Addresses, names of loopback and names without a dot cannot be such a name.
 */
export function guardHost (app: FastifyInstance, switches: () => Allowed): void {
  // one line for each of the first ten origins: a quarter of the lines may be of one kind
  const hidden = new LogGate(Infinity, 40)
  app.addHook('onRequest', (request, _reply, done) => {
    done(refusalOf(request))
  })

  function refusalOf (request: FastifyRequest): Error | undefined {
    if (namesTwoHosts(request.raw.rawHeaders)) return new AmbiguousHostError()
    const { localAddress } = request.socket
    // a request of this process, whose caller was checked
    if (localAddress === undefined) return undefined
    const hostname = withoutDot(request.hostname)
    if (!isHostAllowed(hostname, isLoopbackHost(localAddress), switches())) return new HostNotAllowedError(JSON.stringify(hostname.slice(0, 100)))
    const { origin } = request.headers
    if (origin === undefined) return undefined
    // an application that registers @fastify/cors decides about origins itself
    if (switches().cors !== true && app.hasRequestDecorator('corsPreflightEnabled')) return undefined
    if (isHidden(origin, request, switches()) && hidden.pass('origin', origin) !== undefined) request.log.warn({ origin: origin.slice(0, 100) }, HIDDEN)
    if (SAFE_METHODS.includes(request.method) || isOriginAllowed(origin, request, switches())) return undefined
    return new OriginNotAllowedError(JSON.stringify(origin.slice(0, 100)))
  }
}

function namesTwoHosts (rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.length === HOST.length && rawHeaders[i]!.toLowerCase() === HOST) hosts++
  return hosts > 1
}

function isHostAllowed (hostname: string, onLoopback: boolean, { public_url: url, allowed_hosts: allowed = [] }: Allowed): boolean {
  if (hostname === '' || isLoopbackHost(hostname)) return true
  if (!onLoopback && (!hostname.includes('.') || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || hostname === machineName().toLowerCase())) return true
  if (URL.canParse(url ?? '') && new URL(url!).hostname === hostname) return true
  return allowed.some(name => name === '*' || withoutDot(name.replace(/:\d+$/, '')) === hostname)
}

/** Whether the browser hides the response from the page, as far as `cors` and `allowed_origins` decide. */
function isHidden (origin: string, request: FastifyRequest, allowed: Allowed): boolean {
  return !(allowed.cors === true && isListed(origin, allowed)) && !isOwn(origin, request, allowed)
}

const HIDDEN = 'a page of another origin asks, and its browser hides the answers from it; set service.cors: true, and add the origin to service.allowed_origins'

function isOriginAllowed (origin: string, request: FastifyRequest, allowed: Allowed): boolean {
  if (isListed(origin, allowed) || isOwn(origin, request, allowed)) return true
  return isLoopbackHost(request.socket.localAddress ?? '') && URL.canParse(origin) && isLoopbackHost(new URL(origin).hostname)
}

function isListed (origin: string, { allowed_origins: allowed = [] }: Allowed): boolean {
  return allowed.some(name => name === '*' || name.toLowerCase().replace(/\/$/, '') === origin.toLowerCase())
}

/** Whether it is the origin of the service, only by the host: a proxy may add TLS. */
function isOwn (origin: string, { host }: FastifyRequest, { public_url: url }: Allowed): boolean {
  if (!URL.canParse(origin)) return false
  const from = new URL(origin)
  return from.host === host.toLowerCase() || (URL.canParse(url ?? '') && new URL(url!).host === from.host)
}

function withoutDot (hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '')
}
