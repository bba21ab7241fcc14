import { addressBlock, isInner, LogGate } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** Part of the connections that one address may have. */
export const ADDRESS_PART = 0.25

/** Decides whether an address is that of a proxy, which connects for many callers. */
export type IsProxy = (address: string) => boolean

/**
 * Closes new connections of an address that has `most` already, so that one caller leaves slots to the others. The
 * addresses of proxies have no such bound. Connections over a socket file have no address.
 */
export function shareConnections ({ server, log }: FastifyInstance, most: number, isProxy: IsProxy): void {
  // @keyed address block | holds: its number of open connections | whose: the address | bound: `connections.max`, one
  //   for each open connection | share: `connections.max_per_address` | test: apps/host/test/connections.test.ts: one
  //   address has a quarter of the connections, so that it does not shut out the others
  const counts = new Map<string, number>()
  const gate = new LogGate()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isInner(socket) || isProxy(remoteAddress)) return
    const address = addressBlock(remoteAddress)
    const count = counts.get(address) ?? 0
    if (count >= most) {
      socket.destroy()
      const suppressed = gate.pass(address)
      if (suppressed !== undefined) log.warn({ code: 'ADDRESS_CONNECTIONS', address, max: most, suppressed }, REFUSED)
      return
    }
    counts.set(address, count + 1)
    socket.once('close', () => {
      const left = counts.get(address)! - 1
      if (left > 0) counts.set(address, left)
      else counts.delete(address)
    })
  })
}

const REFUSED = 'connections of an address are refused: it has as many as service.connections.max_per_address; name a proxy in service.trusted_proxies'

/**
 * Reads `trustProxy` of Fastify, where a program sets it: a text, a list or a number of proxies does not name the one
 * that connects in a form that can be checked here, so no address has a bound then.
 */
export function isProxyOf (trustProxy: unknown): IsProxy {
  if (typeof trustProxy === 'function') return address => trustProxy(address, 0) === true
  const isTrusting = trustProxy !== undefined && trustProxy !== false
  return () => isTrusting
}
