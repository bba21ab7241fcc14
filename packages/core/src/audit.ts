import type { FastifyRequest } from 'fastify'
import { LogGate } from './log-gate.js'

const gate = new LogGate()

/**
 * Logs who was refused what, and why; never credentials. At most one line in ten seconds for each reason and owner, or
 * address where the caller is unknown: callers could fill the disk.
 */
export function auditRefusal (request: FastifyRequest, owner: string | undefined, reason: string, what?: string): void {
  const { ip: address, method, routeOptions: { url: route } } = request
  const suppressed = gate.pass(`${reason} ${owner ?? address}`)
  if (suppressed === undefined) return
  request.log.warn({ audit: 'refused', reason, owner, address, method, route, what, suppressed }, 'a caller was refused')
}
