import { isLoopbackHost } from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AddressInfo } from 'node:net'
import { refusal } from '../protocol/rpc.js'

const LOOPBACK_NAMES: readonly unknown[] = ['localhost', '127.0.0.1', '[::1]']

export interface GuardOptions {
  /** `*` allows all. */
  readonly allowedHosts?: readonly string[] | undefined
  /** `*` allows all. */
  readonly allowedOrigins?: readonly string[] | undefined
  readonly publicUrl?: string | undefined
}

/**
 * Refuses requests that a web page made a browser on this machine send (DNS rebinding). While the application listens
 * on a loopback address, the loopback names and the name in `publicUrl` are allowed, unless options name others.
 */
export function originGuard (app: FastifyInstance, options: GuardOptions): (request: FastifyRequest) => void {
  const { allowedHosts, allowedOrigins, publicUrl = '' } = options
  const hosts: readonly unknown[] | undefined = allowedHosts?.map(host => host.toLowerCase())
  const origins = allowedOrigins?.map(origin => origin.toLowerCase())
  // a proxy on this machine forwards requests for the public name
  const ownNames = URL.canParse(publicUrl) ? [...LOOPBACK_NAMES, new URL(publicUrl).hostname] : LOOPBACK_NAMES
  let isLoopback: boolean | undefined
  app.server.once('listening', () => { isLoopback = undefined })

  return ({ headers }) => {
    if (isLoopback === undefined && app.server.listening) isLoopback = listensOnLoopback(app.server.address())
    const allowed = hosts ?? (isLoopback === true ? ownNames : undefined)
    if (allowed?.includes('*') !== true && allowed?.includes(hostName(headers.host ?? headers[':authority'] as string | undefined)) === false) {
      throw refusal('this Host is not allowed; add it to allowedHosts', 403)
    }
    const { origin } = headers
    if (origin === undefined) return
    const isOwn = isLoopback !== true || ownNames.includes(originHost(origin))
    if (origins?.includes('*') === true || (origins?.includes(origin.toLowerCase()) ?? isOwn)) return
    throw refusal('this Origin is not allowed; add it to allowedOrigins', 403)
  }
}

function listensOnLoopback (address: AddressInfo | string | null): boolean {
  if (address === null || typeof address === 'string') return false
  return isLoopbackHost(address.address)
}

/** The name in a Host header, without the port. */
function hostName (host: string | undefined): string | undefined {
  return host === undefined ? undefined : /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host.toLowerCase())?.[1]
}

/** The host of an Origin; undefined for `null` or an invalid one. */
function originHost (origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).hostname : undefined
}
