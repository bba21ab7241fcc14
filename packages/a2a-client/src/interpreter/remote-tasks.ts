import { createHash } from 'node:crypto'
import type { RemoteState } from '../protocol/types.js'

/** Tasks and conversations that the memory of a process keeps. */
export const MAX_REMEMBERED = 10_000

/** What an agent has of a run or of a conversation here. */
export interface RemoteTaskRecord {
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly state?: RemoteState | undefined
  /** The digest of what was asked, of a run; of the answer, of a conversation. */
  readonly digest: string
}

/**
 * Keeps what agents have, by keys of at most 600 characters. One that outlives the process makes a run go on with its
 * remote task after a restart.
 */
export interface RemoteTasks {
  get (key: string): Promise<RemoteTaskRecord | undefined>
  set (key: string, record: RemoteTaskRecord): Promise<void>
}

/** The memory of this process. */
export function processTasks (max = MAX_REMEMBERED): RemoteTasks {
  // @keyed agent, owner, and run or conversation | holds: ids of a remote task | whose: the owner of the run | bound:
  //   MAX_REMEMBERED, the oldest one leaves | share: none, a record is small and made by an answer | test:
  //   packages/a2a-client/test/remote-tasks.test.ts: the memory of a process has a bound
  const records = new Map<string, RemoteTaskRecord>()
  return {
    get: async key => records.get(key),
    async set (key, record) {
      records.delete(key)
      records.set(key, record)
      for (const oldest of records.keys()) {
        if (records.size <= max) break
        records.delete(oldest)
      }
    }
  }
}

/** A key for `RemoteTasks`. */
export function keyOf (kind: 'run' | 'conversation', agent: string, owner: string | undefined, id: string): string {
  return `${kind} ${digestOf(agent, owner ?? null, id)}`
}

/** A digest of JSON values, of 32 characters. */
export function digestOf (...values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 32)
}
