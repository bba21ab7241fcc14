import { CallRecord, placedMemory, placeOf, searchMemory } from '@polyvac/core/plugin'
import type { MemorySearchResult } from '@polyvac/core/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NoMemoryError } from '../errors.js'
import type { Searched } from '../protocol.js'
import type { Served } from './served.js'

/** Searches the memory of a VAC; the search is logged in one line. @throws VAC_HAS_NO_MEMORY */
export async function searchVac ({ protocol, streams, principalOf, timeoutMs }: Served, request: FastifyRequest, reply: FastifyReply,
  { vac, input }: Searched): Promise<MemorySearchResult> {
  if (vac.memory === undefined) throw new NoMemoryError(JSON.stringify(vac.name))
  const principal = principalOf(request)
  const record = new CallRecord({ vac: vac.name, protocol: protocol.name, skill: 'memory', principal }, request.log)
  const open = streams.begin(reply)
  const { signal } = open
  try {
    const found = await searchMemory(placedMemory(vac, placeOf(request)), input, { signal, timeoutMs, owner: principal?.owner })
    record.outcome = 'completed'
    return found
  } catch (err) {
    throw record.failed(err)
  } finally {
    open.end()
    record.end('searched', 'not searched')
  }
}
