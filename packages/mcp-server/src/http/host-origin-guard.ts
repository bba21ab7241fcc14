import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AddressInfo } from 'node:net'
import { RpcError } from '../protocol/rpc.js'

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'] as const

export interface GuardOptions {
  readonly allowedHosts?: readonly string[] | undefined
  readonly allowedOrigins?: readonly string[] | undefined
  readonly publicUrl?: string | undefined
}

/**
 * Refuses requests that a web page made this machine's browser send. Where the application listens on a loopback
 * address, only its own names and pages of this machine pass, unless options say otherwise.
 */
export function originGuard (app: FastifyInstance, { allowedHosts, allowedOrigins, publicUrl }: GuardOptions): (request: FastifyRequest) => void {
  const hosts = allowedHosts?.map(host => host.toLowerCase())
  const origins = allowedOrigins?.map(origin => origin.toLowerCase())
  // behind a proxy on this machine
  const ownNames: readonly string[] = publicUrl !== undefined && URL.canParse(publicUrl) ? [...LOOPBACK_NAMES, new URL(publicUrl).hostname] : LOOPBACK_NAMES
  let isLoopback: boolean | undefined
  app.server.once('listening', () => { isLoopback = undefined })

  return ({ headers }) => {
    if (isLoopback === undefined && app.server.listening) isLoopback = listensOnLoopback(app.server.address())
    const knownHosts = hosts ?? (isLoopback === true ? ownNames : undefined)
    if (knownHosts !== undefined && !knownHosts.includes(hostName(headers.host ?? headers[':authority'] as string | undefined) as never)) {
      throw new RpcError('invalidRequest', 'this server does not answer under that Host; name it in allowedHosts', undefined, 403)
    }
    const { origin } = headers
    if (origin === undefined) return
    const isKnown = origins?.includes(origin.toLowerCase()) ?? (isLoopback !== true || ownNames.includes(originHost(origin) as never))
    if (!isKnown) throw new RpcError('invalidRequest', 'pages of that Origin may not call this server; name it in allowedOrigins', undefined, 403)
  }
}

function listensOnLoopback (address: AddressInfo | string | null): boolean {
  if (address === null || typeof address === 'string') return false
  return address.address === '::1' || address.address.startsWith('127.') || address.address.startsWith('::ffff:127.')
}

/** The name in a Host header, without the port. */
function hostName (host: string | undefined): string | undefined {
  return host === undefined ? undefined : /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host.toLowerCase())?.[1]
}

function originHost (origin: string): string | undefined {
  try {
    return new URL(origin).hostname
  } catch {
    // `null`, or no URL: no page of this machine
    return undefined
  }
}
