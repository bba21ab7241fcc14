import { isLoopbackHost } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { CannotListenError, PortInUseError, PublicBindError } from '../errors.js'

/**
 * Refuses an address that other machines reach where callers are not authenticated.
 * @throws PUBLIC_BIND_UNAUTHENTICATED
 */
export function checkAddress (host: string, callers: { authenticated: boolean, allowUnauthenticated: boolean }): void {
  if (!isLoopbackHost(host) && !callers.authenticated && !callers.allowUnauthenticated) throw new PublicBindError(host)
}

/**
 * Listens, and returns the address.
 * @throws PORT_IN_USE, CANNOT_LISTEN
 */
export async function listen (app: FastifyInstance, { host, port }: { host: string, port: number }): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (err) {
    const { code, message, syscall } = err as NodeJS.ErrnoException
    // an error of a plugin during start-up
    if (code === undefined || syscall === undefined) throw err
    if (code === 'EADDRINUSE') throw new PortInUseError(`${host}:${port}`)
    const reason = {
      EACCES: 'this user may not bind that port; choose one above 1023',
      EADDRNOTAVAIL: 'this machine has no such address',
      ENOTFOUND: 'no such host name'
    }[code]
    throw Object.assign(new CannotListenError(`${host}:${port}`, reason ?? message), { cause: err })
  }
}
