import { randomInt } from 'node:crypto'

/**
 * Keys of new tasks: one after the other, from a random number on. A sequence of the database would give a key out
 * again after a failover to a server that was behind, while readers and executors of the task that was lost are still
 * there.
 */
export class TaskKeys {
  #next = randomInt(2 ** 48 - 1) * 2

  /** Safe integers of at most 15 digits, as cursors of an earlier version have; beyond the numbers of a sequence. */
  next (): number { return this.#next++ }
}

/** Number of a replica, which no other process has, in nine digits: those that started before a failover live on. */
export function newReplica (): number { return randomInt(100_000_000, 1_000_000_000) }

/** Names an attempt: another one with its number may be part of another history of the database. */
export function newClaim (): number { return randomInt(2 ** 31) }
