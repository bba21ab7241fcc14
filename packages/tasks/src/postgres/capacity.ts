import { StoreFullError, TooManyTasksError } from '../basics/errors.js'
import { shareOf, type CapacityLimits } from '../basics/owner-share.js'
import type { PurgeLimits } from '../contract/task-store.js'
import { Usage, type UsedRow } from '../basics/usage.js'
import type { Connection } from './connection.js'

/** Tasks deleted in one transaction, with their events. */
const BATCH = 200
/** Owners that are asked for ended tasks, from the largest on. */
const OWNERS = 16
/** Parts of a size limit at which deleting begins and ends. */
const HIGH = 0.9
const LOW = 0.85

/**
 * The limits of the store. Each replica counts the tasks of all owners once in `purgeMs`, and in between what it
 * creates and deletes itself: several replicas together may pass a limit by what they create in that time.
 */
export class Capacity {
  readonly #connection: Connection
  readonly #limits: CapacityLimits
  readonly #usage = new Usage()
  readonly #sql
  #reclaiming: Promise<void> | undefined
  /** Tasks that are being created: a count at that time would be wrong, so that new ones wait for it. */
  #creating = 0
  #counting: Promise<void> | undefined
  #idle: (() => void) | undefined

  constructor (connection: Connection, limits: CapacityLimits) {
    this.#connection = connection
    this.#limits = limits
    const names = ['event', 'origin', 'snapshot', 'push'].map(name => connection.table(name))
    const task = connection.table('task')
    const remove = (where: string): string => `WITH d AS (DELETE FROM ${task} WHERE key IN (SELECT key FROM ${task} WHERE ended_at IS NOT NULL ${where}
        LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING key, owner, bytes),
      ${names.map((name, i) => `d${i} AS (DELETE FROM ${name} x USING d WHERE x.task = d.key)`).join()}
      SELECT owner, count(*) AS tasks, sum(bytes)::float8 AS bytes FROM d GROUP BY owner`
    this.#sql = {
      older: remove('AND ended_at < $2'),
      any: remove(''),
      one: remove('AND owner = $2 AND id = $3'),
      oldest: remove('AND owner = $2 ORDER BY ended_at, key'),
      count: `SELECT owner, count(*) AS tasks, sum(bytes)::float8 AS bytes FROM ${task} GROUP BY owner`
    }
  }

  /**
   * Reserves capacity for a new task. An owner at its share loses its own oldest ended task; in a full store the owner
   * with most tasks does. Call `created` or `giveBack` then. @throws TASK_TOO_MANY where none has ended,
   * TASK_STORE_FULL
   */
  async take (owner: string, bytes: number): Promise<void> {
    if (this.#isShort(owner)) await this.#reclaim(owner)
    // what fails is tried again by the next timer
    while (this.#counting !== undefined) await this.#counting.catch(() => {})
    this.checkSpace(owner)
    this.#creating++
    this.#usage.add(owner, 1, bytes)
    try {
      const { maxTasks, ownerShare } = this.#limits
      const share = shareOf(owner, maxTasks, ownerShare)
      if (this.#usage.of(owner).tasks > share && await this.#delete(owner, 1) === 0) {
        throw new TooManyTasksError(`this owner has ${share} tasks that have not ended, its limit`)
      }
      if (this.#usage.tasks > maxTasks && await this.#deleteFairly('tasks', 1) === 0) {
        throw new TooManyTasksError(`the store holds ${maxTasks} tasks that have not ended, its limit`)
      }
    } catch (error) {
      this.giveBack(owner, bytes)
      throw error
    }
  }

  created (): void { if (--this.#creating === 0) this.#idle?.() }

  giveBack (owner: string, bytes: number): void {
    this.#usage.add(owner, -1, -bytes)
    this.created()
  }

  /** Before anything is written that may wait. @throws TASK_STORE_FULL */
  checkSpace (owner: string): void {
    const isOver = this.#usage.of(owner).bytes >= shareOf(owner, this.#limits.maxBytes, this.#limits.ownerShare)
    if (!isOver && !this.isFull) return
    this.#reclaim(owner).catch(() => {})
    throw new StoreFullError(isOver ? 'the share of this owner' : 'the task store')
  }

  /** An owner's tasks grew. Where space runs short, ended tasks are deleted in the background. */
  grew (owner: string, bytes: number): void {
    this.#usage.add(owner, 0, bytes)
    if (this.#reclaiming === undefined && this.#isShort(owner)) this.#reclaim(owner).catch(() => {})
  }

  /** Whether nothing more can be created. */
  get isFull (): boolean { return this.#usage.bytes >= this.#limits.maxBytes }

  #isShort (owner: string): boolean {
    const { maxBytes, ownerShare } = this.#limits
    return this.#usage.of(owner).bytes >= shareOf(owner, maxBytes, ownerShare) * HIGH || this.#usage.bytes >= maxBytes * HIGH
  }

  #reclaim (owner: string): Promise<void> {
    this.#reclaiming ??= this.#reclaimNow(owner).finally(() => { this.#reclaiming = undefined })
    return this.#reclaiming
  }

  async #reclaimNow (owner: string): Promise<void> {
    const { maxBytes, ownerShare } = this.#limits
    for (let last = 1; last > 0 && this.#usage.of(owner).bytes >= shareOf(owner, maxBytes, ownerShare) * LOW;) last = await this.#delete(owner, 1)
    for (let last = 1; last > 0 && this.#usage.bytes >= maxBytes * LOW;) last = await this.#deleteFairly('bytes', 1)
  }

  /** Deletes a task that has ended; whether there was one. */
  async remove (owner: string, id: string): Promise<boolean> { return await this.#remove(this.#sql.one, [1, owner, id]) > 0 }

  async purge ({ terminalOlderThanMs, maxTasks }: PurgeLimits): Promise<number> {
    let deleted = 0
    const rounds = async (some: () => Promise<number>): Promise<void> => {
      for (let last = 1; last > 0;) deleted += last = await some()
    }
    if (terminalOlderThanMs !== undefined) {
      const before = this.#connection.now() - terminalOlderThanMs
      await rounds(async () => await this.#remove(this.#sql.older, [BATCH, before]))
    }
    // those that are being created make room themselves
    if (maxTasks !== undefined) await rounds(async () => await this.#deleteFairly('tasks', this.#usage.tasks - this.#creating - maxTasks))
    return deleted
  }

  async #delete (owner: string, limit: number): Promise<number> { return await this.#remove(this.#sql.oldest, [Math.min(limit, BATCH), owner]) }

  async #deleteFairly (by: 'tasks' | 'bytes', limit: number): Promise<number> {
    if (limit <= 0) return 0
    for (const owner of this.#usage.largest(by, OWNERS)) {
      const deleted = await this.#delete(owner, limit)
      if (deleted > 0) return deleted
    }
    return await this.#remove(this.#sql.any, [Math.min(limit, BATCH)])
  }

  async #remove (sql: string, values: readonly unknown[]): Promise<number> {
    let deleted = 0
    for (const { owner, tasks, bytes } of await this.#connection.run<UsedRow>(sql, values)) {
      this.#usage.add(owner, -tasks, -bytes)
      deleted += tasks
    }
    return deleted
  }

  /** Counts the tasks of all owners again: other replicas create and delete, too. */
  count (): Promise<void> {
    this.#counting ??= this.#count().finally(() => { this.#counting = undefined })
    return this.#counting
  }

  async #count (): Promise<void> {
    if (this.#creating > 0) await new Promise<void>(resolve => { this.#idle = resolve })
    const rows = await this.#connection.run<UsedRow>(this.#sql.count)
    this.#usage.set(new Map(rows.map(({ owner, tasks, bytes }) => [owner, { tasks, bytes }])))
  }
}
