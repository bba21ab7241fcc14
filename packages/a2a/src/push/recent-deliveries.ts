import { createHash } from 'node:crypto'
import { shareOf } from '@polyvac/core/plugin'
import { ownerOfKey, type PushConfig } from '@polyvac/tasks'

/**
 * Push configs whose deliveries are kept, OWNER_SHARE of them of one owner; those of the config that was delivered to
 * longest ago leave.
 */
export const MAX_RECENT_CONFIGS = 500
/** Deliveries that are kept of one config; the oldest one leaves. */
export const MAX_RECENT_DELIVERIES = 20
/** A code of Node.js, undici or Polyvac; never a text, which might quote headers or an answer. */
const ERROR_CODE = /^\w{1,64}$/

/** One request to a receiver. It has nothing that the caller or the receiver wrote. */
export interface RecentDelivery {
  /** When the request began, ISO 8601. */
  readonly at: string
  /** Its duration, from the signature to the end of the answer. */
  readonly ms: number
  /** HTTP status of the receiver; absent where none arrived. */
  readonly status?: number
  /** Code of the error where no status arrived. */
  readonly error?: string
  /** `retry`: it is sent again; `disabled`: nothing more is sent to the config. */
  readonly outcome: 'delivered' | 'retry' | 'disabled'
  /** From 1, and counted for each event. */
  readonly try: number
}

interface Kept {
  readonly owner: string
  readonly version: string
  readonly deliveries: RecentDelivery[]
}

/**
 * The last deliveries that this process made to each push config. Keys and owners are hashes, so their length does not
 * depend on what callers chose. A config that was replaced, or deleted and set again, has another version: what was
 * sent to its former URL does not count for it, also where another process replaced it or the request ends after the
 * change.
 */
export class RecentDeliveries {
  /** The config that was delivered to last is the last one. */
  // @keyed hash of owner, task and push config | holds: the last MAX_RECENT_DELIVERIES deliveries: times, a status,
  //   a code | whose: the owner of the config | bound: MAX_RECENT_CONFIGS; no text of a caller or a receiver | share:
  //   the owner, OWNER_SHARE of them; the own oldest one leaves | test: packages/a2a/test/recent-deliveries.test.ts:
  //   deliveries are bounded in their number, the number of configs and the length of a code
  readonly #kept = new Map<string, Kept>()

  /** Configs whose deliveries are kept. */
  get size (): number { return this.#kept.size }

  add (owner: string, config: PushConfig, delivery: RecentDelivery): void {
    const key = hash(owner, config.taskId, config.id)
    const version = versionOf(config)
    const before = this.#kept.get(key)
    const deliveries = before?.version === version ? before.deliveries : []
    const { error } = delivery
    deliveries.push(error === undefined || ERROR_CODE.test(error) ? delivery : { ...delivery, error: '_OTHER' })
    if (deliveries.length > MAX_RECENT_DELIVERIES) deliveries.shift()
    this.#kept.delete(key)
    const hashed = hash(owner)
    if (before === undefined) this.#makeRoom(ownerOfKey(owner) === undefined ? undefined : hashed)
    this.#kept.set(key, { owner: hashed, version, deliveries })
  }

  /** For one more config; without an owner: of callers who share all. */
  #makeRoom (owner: string | undefined): void {
    const own = owner === undefined ? [] : [...this.#kept.keys()].filter(key => this.#kept.get(key)?.owner === owner)
    const [oldest] = own.length >= shareOf(MAX_RECENT_CONFIGS) ? own : this.#kept.size >= MAX_RECENT_CONFIGS ? this.#kept.keys() : []
    if (oldest !== undefined) this.#kept.delete(oldest)
  }

  /** Of a config that the store returned for this owner; the newest is the last. */
  list (owner: string, config: PushConfig): readonly RecentDelivery[] {
    const kept = this.#kept.get(hash(owner, config.taskId, config.id))
    return kept?.version === versionOf(config) ? [...kept.deliveries] : []
  }

  forget (owner: string, taskId: string, configId: string): void {
    this.#kept.delete(hash(owner, taskId, configId))
  }
}

function versionOf ({ createdAt, url }: PushConfig): string {
  return hash(String(createdAt), url)
}

function hash (...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}
