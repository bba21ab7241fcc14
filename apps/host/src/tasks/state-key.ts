import type { SharedValues } from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { createHmac, randomBytes } from 'node:crypto'
import { StateKeyError } from '../errors.js'

const KEY_BYTES = 32

/** Names of the shared values: the key, and a mark of the key that a replica used last. */
const KEY = 'state-key'
const MARK = 'state-key-mark'

/** The key of `service.state_key`; an empty text is none. @throws STATE_KEY_TOO_SHORT, without the key */
export function checkStateKey (key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined
  const bytes = Buffer.byteLength(key)
  if (bytes < KEY_BYTES) throw new StateKeyError(bytes)
  return key
}

/**
 * The key that signs state of MCP: the given one, or one that all replicas find in their database. Warns where another
 * replica uses another key.
 */
export async function shareStateKey (shared: SharedValues | undefined, given: string | undefined, log: FastifyBaseLogger): Promise<string> {
  if (shared === undefined) {
    if (given === undefined) warn(log, 'replicas of this service do not share the key that signs state of MCP')
    return given ?? randomBytes(KEY_BYTES).toString('base64url')
  }
  const key = given ?? await shared.putIfAbsent(KEY, randomBytes(KEY_BYTES).toString('base64url'))
  const mark = createHmac('sha256', key).update(MARK).digest('base64url')
  const last = await shared.putIfAbsent(MARK, mark)
  if (last !== mark && await shared.replace(MARK, last, mark)) {
    warn(log, 'another replica of this database used another key to sign state of MCP')
  }
  return key
}

function warn (log: FastifyBaseLogger, problem: string): void {
  log.warn(`${problem}: one replica refuses what another one signed; give all of them the same POLYVAC_STATE_KEY or service.state_key`)
}
