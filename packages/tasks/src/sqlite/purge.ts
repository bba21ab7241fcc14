import type { SqliteDatabase } from '@polyvac/sqlite'
import { StoreFullError, TooManyTasksError } from '../basics/errors.js'
import { shareOf, type CapacityLimits } from '../basics/owner-share.js'
import type { PurgeLimits } from '../contract/task-store.js'
import type { GroupCommit } from './group-commit.js'
import { overwriting } from './store-file.js'
import type { KeyRanges } from './key-ranges.js'
import type { Usage, UsedRow } from '../basics/usage.js'

/** Tasks deleted in one transaction, with their events. */
const BATCH = 100
/** Bytes deleted in one transaction: more would block the event loop for too long. */
const BATCH_BYTES = 1024 * 1024
/** Events read for one transaction that deletes a large task. */
const EVENTS = 500
/** Pages of 4 KiB that one transaction returns to the disk. */
const VACUUM_PAGES = 256
/** Free pages that the file keeps for the next tasks. */
const SPARE_PAGES = 1_024
/** Owners that are asked for ended tasks, from the largest on. */
const OWNERS = 16
/** Parts of the size limit at which deleting begins and ends. */
const HIGH = 0.9
const LOW = 0.85

interface EndedRow { readonly key: number, readonly owner: string, readonly bytes: number }

/**
 * Makes room: it deletes ended tasks, those of the owner who has most first, and gives free pages back to the disk. A
 * task that runs or waits has no `ended_at` and cannot be deleted here. Call what is not async in a group commit.
 */
export class Purge {
  readonly #sql
  readonly #database: SqliteDatabase
  readonly #usage: Usage
  readonly #ranges: KeyRanges
  readonly #commit: GroupCommit
  readonly #limits: CapacityLimits
  /** Bytes of the file in use when they were last measured, and bytes written since. */
  #measured = 0
  #written = 0
  #isReclaiming = false
  /** Large tasks wait to be deleted in parts. */
  #hasBuried = true

  constructor (database: SqliteDatabase, ranges: KeyRanges, usage: Usage, commit: GroupCommit, limits: CapacityLimits) {
    const ended = 'SELECT key, owner, bytes FROM task WHERE ended_at IS NOT NULL'
    this.#sql = {
      older: database.prepare(`${ended} AND key BETWEEN ? AND ? AND owner <> '' AND ended_at < ? LIMIT ?`),
      any: database.prepare(`${ended} AND owner <> '' LIMIT ?`),
      oldest: database.prepare(`${ended} AND owner = ? ORDER BY ended_at, key LIMIT ?`),
      hasFuture: database.prepare('SELECT 1 FROM task WHERE key BETWEEN ? AND ? AND (ended_at > ? OR (ended_at IS NULL AND coalesce(due, 0) = 0 AND status_at > ?)) LIMIT 1'),
      repairEnd: database.prepare('UPDATE task SET ended_at = ? WHERE key BETWEEN ? AND ? AND ended_at > ?'),
      repairWait: database.prepare('UPDATE task SET status_at = ? WHERE key BETWEEN ? AND ? AND ended_at IS NULL AND coalesce(due, 0) = 0 AND status_at > ?'),
      delete: database.prepare('DELETE FROM task WHERE key = ?'),
      // it belongs to no owner any more, so that all methods handle it like a purged one
      bury: database.prepare("UPDATE task SET owner = '', id = 'purged ' || key, idem = NULL, context = NULL WHERE key = ?"),
      deletePushes: database.prepare('DELETE FROM push WHERE task = ?'),
      lastEvents: database.prepare('SELECT seq, octet_length(data) AS bytes FROM event WHERE task = ? ORDER BY seq DESC LIMIT ?'),
      deleteEvents: database.prepare('DELETE FROM event WHERE task = ? AND seq >= ?'),
      count: database.prepare("SELECT owner, count(*) AS tasks, sum(bytes) AS bytes FROM task WHERE key BETWEEN ? AND ? AND owner <> '' GROUP BY owner"),
      pages: database.prepare('PRAGMA page_count'),
      free: database.prepare('PRAGMA freelist_count'),
      pageSize: database.prepare('PRAGMA page_size')
    }
    this.#database = database
    this.#ranges = ranges
    this.#usage = usage
    this.#commit = commit
    this.#limits = limits
    this.#measure()
  }

  /**
   * Before a task is created. An owner at its share loses its own oldest ended task; in a full store the owner with
   * most tasks does. @throws TASK_TOO_MANY where none has ended, TASK_STORE_FULL
   */
  makeRoom (owner: string): void {
    this.checkSpace(owner)
    const { maxTasks, ownerShare } = this.#limits
    const share = shareOf(owner, maxTasks, ownerShare)
    if (this.#usage.of(owner).tasks >= share && this.#delete(owner, 1) === 0) {
      throw new TooManyTasksError(`this owner has ${share} tasks that have not ended, its limit`)
    }
    if (this.#usage.tasks >= maxTasks && this.#deleteFairly('tasks', 1) === 0) {
      throw new TooManyTasksError(`the store holds ${maxTasks} tasks that have not ended, its limit`)
    }
  }

  /** Before anything is written that may wait. @throws TASK_STORE_FULL */
  checkSpace (owner: string): void {
    const isOver = this.#usage.of(owner).bytes >= shareOf(owner, this.#limits.maxBytes, this.#limits.ownerShare)
    if (!isOver && !this.isFull) return
    this.#beginReclaim(owner)
    throw new StoreFullError(isOver ? 'the share of this owner' : 'the task store')
  }

  /** An owner's tasks grew. Where space runs short, ended tasks are deleted in the background. */
  grew (owner: string, tasks: number, bytes: number): void {
    this.#usage.add(owner, tasks, bytes)
    this.#written += bytes
    if (!this.#isReclaiming && this.#isShort(owner)) this.#beginReclaim(owner)
  }

  #beginReclaim (owner: string): void {
    if (this.#isReclaiming) return
    this.#isReclaiming = true
    // what it could not delete now, the next write or the next timer does
    this.#reclaim(owner).catch(() => {}).finally(() => { this.#isReclaiming = false })
  }

  /** Counts the tasks of all owners again. */
  async count (): Promise<void> {
    const { count } = this.#sql
    const ranges = this.#ranges
    await this.#usage.count((async function * () { for await (const range of ranges) yield count.all<UsedRow>(...range) })())
  }

  /** Ends and waits that began in the future, before the clock was set back, begin now. */
  async repairTimes (range: readonly [number, number]): Promise<void> {
    const now = Date.now()
    const { hasFuture, repairEnd, repairWait } = this.#sql
    if (hasFuture.get(...range, now, now) === undefined) return
    await this.#commit.write(() => {
      repairEnd.run(now, ...range, now)
      repairWait.run(now, ...range, now)
    })
  }

  /** Deletes one task that has ended. The events of a large one leave the file with the next purge. */
  remove (row: EndedRow): void { this.#deleteRows([row]) }

  /** Uses separate transactions, so that other writes can be committed in between. */
  async run ({ terminalOlderThanMs, maxTasks }: PurgeLimits): Promise<number> {
    let deleted = 0
    const rounds = async (some: () => number): Promise<void> => {
      for (let last = 1; last > 0;) deleted += last = await this.#commit.write(some)
    }
    if (terminalOlderThanMs !== undefined) {
      const before = Date.now() - terminalOlderThanMs
      for await (const range of this.#ranges) {
        const older = (): EndedRow[] => this.#sql.older.all<EndedRow>(...range, before, BATCH)
        if (older().length > 0) await rounds(() => this.#deleteRows(older()))
      }
    }
    if (maxTasks !== undefined) await rounds(() => this.#deleteFairly('tasks', this.#usage.tasks - maxTasks))
    await this.#release()
    return deleted
  }

  /** Whether nothing more can be created. */
  get isFull (): boolean { return this.#used() >= this.#limits.maxBytes && this.#measure() >= this.#limits.maxBytes }

  #used (): number { return this.#measured + this.#written }

  /** Estimates are corrected before anything is deleted or refused. */
  #measure (): number {
    const read = (statement: { column<T extends number> (): T[] }): number => statement.column<number>()[0] ?? 0
    this.#measured = (read(this.#sql.pages) - read(this.#sql.free)) * read(this.#sql.pageSize)
    this.#written = 0
    return this.#measured
  }

  #isShort (owner: string): boolean {
    const { maxBytes, ownerShare } = this.#limits
    if (this.#usage.of(owner).bytes >= shareOf(owner, maxBytes, ownerShare) * HIGH) return true
    return this.#used() >= maxBytes * HIGH && this.#measure() >= maxBytes * HIGH
  }

  async #reclaim (owner: string): Promise<void> {
    const { maxBytes, ownerShare } = this.#limits
    const commit = this.#commit
    for (let last = 1; last > 0 && this.#usage.of(owner).bytes >= shareOf(owner, maxBytes, ownerShare) * LOW;) last = await commit.write(() => this.#delete(owner, BATCH))
    for (let last = 1; last > 0 && this.#measure() >= maxBytes * LOW;) {
      last = await commit.write(() => this.#deleteFairly('bytes', BATCH))
      await this.#sweep()
    }
    await this.#release()
  }

  #delete (owner: string, limit: number): number {
    return limit <= 0 ? 0 : this.#deleteRows(this.#sql.oldest.all<EndedRow>(owner, Math.min(limit, BATCH)))
  }

  #deleteFairly (by: 'tasks' | 'bytes', limit: number): number {
    if (limit <= 0) return 0
    for (const owner of this.#usage.largest(by, OWNERS)) {
      const deleted = this.#delete(owner, limit)
      if (deleted > 0) return deleted
    }
    return this.#deleteRows(this.#sql.any.all<EndedRow>(Math.min(limit, BATCH)))
  }

  #deleteRows (rows: readonly EndedRow[]): number {
    let bytes = 0
    let deleted = 0
    for (const row of rows) {
      if (deleted > 0 && bytes + row.bytes > BATCH_BYTES) break
      if (row.bytes > BATCH_BYTES) {
        this.#sql.bury.run(row.key)
        this.#sql.deletePushes.run(row.key)
        this.#hasBuried = true
      } else this.#sql.delete.run(row.key)
      this.#usage.add(row.owner, -1, -row.bytes)
      bytes += row.bytes
      deleted++
    }
    return deleted
  }

  /** Deletes large tasks in parts, from their last event on, so that a reader sees no gap. */
  async #sweep (): Promise<void> {
    while (this.#hasBuried) {
      await this.#commit.write(() => {
        const row = this.#sql.oldest.all<EndedRow>('', 1)[0]
        if (row === undefined) { this.#hasBuried = false; return }
        const events = this.#sql.lastEvents.all<{ seq: number, bytes: number }>(row.key, EVENTS)
        let left = BATCH_BYTES
        const first = events.find(({ bytes }) => (left -= bytes) <= 0) ?? events.at(-1)
        if (first === undefined) overwriting(this.#database, () => { this.#sql.delete.run(row.key) })
        else overwriting(this.#database, () => { this.#sql.deleteEvents.run(row.key, first.seq) })
      })
    }
  }

  /** Gives free pages back to the disk, in steps; a file without `auto_vacuum` keeps them for later tasks. */
  async #release (): Promise<void> {
    await this.#sweep()
    const free = (): number => this.#sql.free.column<number>()[0] ?? 0
    for (let before = free(), now = -1; before > SPARE_PAGES && before !== now;) {
      await this.#commit.write(() => { this.#database.exec(`PRAGMA incremental_vacuum(${Math.min(VACUUM_PAGES, before - SPARE_PAGES)})`) })
      now = before
      before = free()
    }
    this.#measure()
  }
}
