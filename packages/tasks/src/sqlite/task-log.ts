import type { Backlog } from '../contract/backlog.js'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { TaskFencedError } from '../basics/errors.js'
import { attemptBody, lostBody, waitedBody } from '../log/event-bodies.js'
import type { AttemptFence } from '../execution/executor.js'
import { TaskFold } from '../log/fold-task.js'
import { FIRST_PAGE, isLargeLog, logPage, PAGE_CHARS, type EventRow, type LogPage } from '../log/log-page.js'
import type { NewRow } from '../store/new-task.js'
import { foldAtSnapshot, headOf, type HeadRow } from '../log/task-row.js'
import { isTerminal, type EventBody, type TaskEvent, type TaskHead, type TaskState } from '../contract/task.js'
import type { LastRead } from '../contract/task-store.js'
import type { PreparedUpdates } from '../log/task-updates.js'
import { isTurnOver, yieldToEventLoop } from '../basics/turn-time.js'
import { keyAt, prepareStatements, type TaskRow } from './task-statements.js'

/** The right of one worker to write to a task. */
export interface Fence extends AttemptFence {
  /** 0 until the task is in the database. */
  key: number
  readonly worker: string
}

export interface Taking {
  readonly queue: string
  readonly worker: string
  readonly now: number
  readonly limit: number
  readonly leaseMs: number
  readonly retries: number
  /** The owner that was served last. */
  readonly after: string
  /** How many more tasks of an owner the worker may run. */
  readonly freeOf: (owner: string) => number
  /** The skills that the worker is known not to serve, as a list in JSON; null for none. */
  readonly skip: string | null
  /** Whether the worker serves the skill of a task. */
  readonly serves: (row: TaskRow) => boolean
  /** Whether there is memory for a task. */
  readonly admit: (row: TaskRow) => boolean
}

type Turn = Pick<Taking, 'queue' | 'after' | 'freeOf' | 'skip'>

/** The worker of a task, and the end of its lease. */
export interface Claim { readonly worker: string, readonly due: number }

/** A new task as `insert` writes it. */
export function newFold ({ origin, first }: NewRow, claim: Claim | undefined): TaskFold {
  const fold = new TaskFold(origin)
  fold.apply({ seq: 1, ...first })
  if (claim !== undefined) fold.apply({ seq: 2, ...attemptBody(0, first.at) })
  return fold
}

/** The rows of tasks and their events. Synchronous; call methods that write in a group commit. */
export class TaskLog {
  readonly #sql: ReturnType<typeof prepareStatements>

  constructor (database: SqliteDatabase) {
    this.#sql = prepareStatements(database)
  }

  find (owner: string, id: string): TaskRow | undefined { return this.#sql.find.get<TaskRow>(owner, id) }
  head (owner: string, id: string): TaskHead | null { return headOf(this.#sql.head.get<HeadRow>(owner, id)) }
  findKey (key: number): TaskRow | undefined { return this.#sql.findKey.get<TaskRow>(key) }
  findIdempotent (owner: string, idem: string): TaskRow | undefined { return this.#sql.findIdempotent.get<TaskRow>(owner, idem) }
  /** '' for a task that is being deleted. */
  ownerOf (id: string): string | undefined { return this.#sql.ownerOf.get<{ owner: string }>(id)?.owner }
  idTaken (id: string): boolean { return this.#sql.idTaken.get(id) !== undefined }

  backlog (): Backlog[] { return this.#sql.backlog.all<Backlog>() }

  /** Whether the events of a task are read in turns of the event loop. */
  isLarge (key: number): boolean { return isLargeLog({ bytes: this.#sql.bytes.column<number>(key)[0] ?? 0 }) }

  /** A page of the events after number `after`, of a large log in turns of the event loop. */
  page (key: number, after: number, limit = FIRST_PAGE, isLarge = this.isLarge(key)): LogPage | Promise<LogPage> {
    return isLarge ? this.#largePage(key, after, limit) : this.smallPage(key, after, limit)
  }

  smallPage (key: number, after: number, limit = FIRST_PAGE): LogPage { return logPage(this.#sql.page.all<EventRow>(key, after, limit), limit) }

  async #largePage (key: number, after: number, limit: number): Promise<LogPage> {
    // one by one is slower, but reads no large event that the page has no room for
    const rows: EventRow[] = []
    let chars = 0
    for (const row of this.#sql.page.iterate<EventRow>(key, after, limit)) {
      rows.push(row)
      chars += row.data.length
      if (chars >= PAGE_CHARS) break
    }
    // the text of a large event takes as long as its value
    if (chars >= PAGE_CHARS) await yieldToEventLoop()
    return logPage(rows, limit)
  }

  /** The fold of a task from its last snapshot and the later events. A large log is read in turns of the event loop. */
  async fold (row: TaskRow): Promise<TaskFold> {
    const isLarge = isLargeLog(row)
    if (isLarge && isTurnOver()) await yieldToEventLoop()
    const origin = this.#sql.origin.get<{ input: string, metadata: string }>(row.key)
    const kept = this.#sql.snapshot.get<{ data: string }>(row.key)
    const { input = 'null', metadata = '{}' } = origin ?? {}
    const fold = foldAtSnapshot(row, { input, metadata, snapshot: kept?.data ?? null })
    for (let limit = FIRST_PAGE; ;) {
      const read = this.page(row.key, fold.seq, limit, isLarge)
      const page = read instanceof Promise ? await read : read
      for (const event of page.events) fold.apply(event)
      if (page.last) return fold
      limit = page.next
      if (isLarge && isTurnOver()) await yieldToEventLoop()
    }
  }

  /** Inserts a new task in the queue, or with `claim` for a worker, which saves a transaction. Returns its key. */
  insert ({ owner, queue, origin, idem, hash, inputText, metadataText, first, firstText, bytes }: NewRow, claim: Claim | undefined): number {
    const fields = [keyAt(first.at), origin.id, owner, origin.contextId ?? null, origin.skill, idem, hash, queue, first.at, bytes] as const
    const { lastInsertRowid: key } = claim === undefined
      ? this.#sql.insertTask.run(...fields)
      : this.#sql.insertClaimed.run(...fields, claim.worker, claim.due)
    this.#sql.insertOrigin.run(key, inputText, metadataText)
    if (claim === undefined) this.#sql.insertEvent.run(key, 1, firstText)
    else this.#sql.insertTwoEvents.run(key, firstText, key, JSON.stringify(attemptBody(0, first.at)))
    return key
  }

  /** Appends the executor's updates under its fence. @throws TASK_FENCED before it writes */
  append ({ key, attempt, turn, worker }: Fence, id: string, { bodies, texts, chars, state }: PreparedUpdates): TaskEvent[] {
    if (key === 0) throw new TaskFencedError(id)
    const at = bodies[0]?.at ?? 0
    const row = this.#sql.held.get<{ seq: number, pushes: number }>(key, attempt, turn, worker)
    if (row === undefined) throw new TaskFencedError(id)
    const first = row.seq + 1
    const last = row.seq + texts.length
    if (state === undefined) this.#sql.append.run(last, chars, key)
    else this.#sql.endFree.run(last, chars, state, at, isTerminal(state) ? at : null, key)
    if (row.pushes > 0) this.#sql.wakePushes.run(key)
    for (const [i, text] of texts.entries()) this.#sql.insertEvent.run(key, first + i, text)
    return bodies.map((body, i) => ({ seq: first + i, ...body }))
  }

  /** Appends an event without a lease: a terminal one, or input of a waiting task. The caller has checked the state. */
  appendFree (row: TaskRow, body: EventBody & { state: TaskState }): TaskEvent {
    const seq = row.seq + 1
    const { state, at } = body
    const text = JSON.stringify(body)
    if (state === 'submitted') this.#sql.resubmit.run(seq, text.length, at, row.key)
    else this.#sql.endFree.run(seq, text.length, state, at, at, row.key)
    this.#sql.insertEvent.run(row.key, seq, text)
    if (row.pushes > 0) this.#sql.wakePushes.run(row.key)
    return { seq, ...body }
  }

  /** Whether there is a task for a worker. It only reads, without a transaction. */
  hasClaimable (turn: Turn & Pick<Taking, 'now'>): boolean {
    return this.#sql.hasExpired.get(turn.queue, turn.now, turn.skip) !== undefined || this.#ownersInTurn(turn, 1).length > 0
  }

  /** Leases that end after `latest`, before the clock was set back, end now. */
  hasLate (queue: string, latest: number): boolean { return this.#sql.late.get(queue, latest) !== undefined }
  expireLate (queue: string, latest: number, now: number): void { this.#sql.expireLate.run(now, queue, latest) }

  /** Whether tasks wait, for whichever owner, besides those of the skills of `skip`. */
  hasWaiting (queue: string, skip: string | null): boolean { return this.#sql.nextOwner.get(queue, '', skip) !== undefined }

  /**
   * Owners with waiting tasks, from the one that follows `after` on. Each is one lookup in the index, however many
   * tasks wait.
   */
  #ownersInTurn ({ queue, after, freeOf, skip }: Turn, limit: number): string[] {
    const owners: string[] = []
    for (let [last, wrapped] = [after, false]; owners.length < limit;) {
      const next = this.#sql.nextOwner.column<string>(queue, last, skip)[0]
      if (wrapped && (next === undefined || next > after)) break
      if (next === undefined) {
        last = ''
        wrapped = true
      } else {
        last = next
        if (freeOf(next) > 0) owners.push(next)
      }
    }
    return owners
  }

  /** The oldest waiting tasks of owners in turn, so that a thousand tasks of one do not delay another. */
  #ready (taking: Taking): TaskRow[] {
    const { queue, limit, freeOf, skip } = taking
    const rows: TaskRow[] = []
    const owners = this.#ownersInTurn(taking, limit)
    for (const [i, owner] of owners.entries()) {
      const each = Math.ceil((limit - rows.length) / (owners.length - i))
      rows.push(...this.#sql.ready.all<TaskRow>(queue, owner, skip, Math.min(each, freeOf(owner))))
    }
    return rows
  }

  /**
   * Gives a worker tasks under leases. Those whose executor was lost come first: a constant stream of new ones would
   * delay them for ever. One that has cost more executors than `retries` fails, and is returned as failed.
   */
  take (taking: Taking): { row: TaskRow, event: TaskEvent }[] {
    const { queue, worker, now, limit, leaseMs, retries, skip, serves, admit } = taking
    const expired = this.#sql.expired.all<TaskRow>(queue, now, skip, limit)
    const ready = expired.length === limit ? [] : this.#ready({ ...taking, limit: limit - expired.length })
    return [...expired, ...ready].filter(row => serves(row) && ((row.due !== 0 && row.losses >= retries) || admit(row))).map(row => {
      if (row.due === 0 || row.losses < retries) return this.#claim(row, worker, now, now + leaseMs)
      return { row: { ...row, state: 'failed' }, event: this.appendFree(row, lostBody(row.losses, now)) }
    })
  }

  /** Tasks of a queue that have waited for input since before `before`. */
  waitingInput (queue: string, before: number, limit: number): TaskRow[] { return this.#sql.waitingInput.all<TaskRow>(queue, before, limit) }

  /** Tasks of these skills whose last attempt began before `before` and has no lease at `now`. */
  left (queue: string, now: number, before: number, skills: string, limit: number): TaskRow[] {
    return this.#sql.left.all<TaskRow>(queue, now, before, skills, limit)
  }

  /** Tasks that have waited for their caller or for a worker since before `before`, of a range of keys. */
  waiting ([from, to]: readonly [number, number], before: number, limit: number): TaskRow[] {
    return this.#sql.waiting.all<TaskRow>(from, to, before, limit)
  }

  /** Fails tasks that have waited too long. */
  endWaiting (rows: readonly TaskRow[], at: number): { row: TaskRow, event: TaskEvent }[] {
    return rows.map(row => ({ row, event: this.appendFree(row, waitedBody(row, at)) }))
  }

  #claim (row: TaskRow, worker: string, at: number, due: number): { row: TaskRow, event: TaskEvent } {
    const [attempt, seq] = [row.attempt + 1, row.seq + 1]
    // a lease of 0 was released, not lost
    const lost = row.due === 0 ? 0 : 1
    const body = attemptBody(attempt, at)
    this.#sql.claim.run(seq, attempt, lost, at, worker, due, row.key)
    this.#sql.insertEvent.run(row.key, seq, JSON.stringify(body))
    if (row.pushes > 0) this.#sql.wakePushes.run(row.key)
    return { row: { ...row, state: 'working', attempt, seq }, event: { seq, ...body } }
  }

  markRead (owner: string, id: string, at: number): void { this.#sql.markRead.run(at, owner, id) }

  /** When the task was read last, at least 0 ms before `now`: the clock may have been set back. */
  lastRead (owner: string, id: string, now: number): LastRead | undefined {
    const [at = null] = this.#sql.readAt.column<number | null>(owner, id)
    return at === null ? undefined : { at, agoMs: Math.max(0, now - at) }
  }

  /** Returns whether the worker still had the lease. */
  renew ({ key, attempt, turn, worker }: Fence, due: number): boolean { return this.#sql.renew.run(due, key, attempt, turn, worker).changes === 1 }
  holds ({ key, attempt, turn, worker }: Fence): boolean { return this.#sql.held.get(key, attempt, turn, worker) !== undefined }
  release (fence: Fence): void { this.renew(fence, 0) }

  /** The task may have been purged in the meantime. */
  saveSnapshot (key: number, seq: number, snapshot: string): void { this.#sql.saveSnapshot.run(seq, snapshot, key) }

  /** Characters of JSON in the log of a task, for its limit. */
  size (key: number): number { return this.#sql.size.column<number>(key)[0] ?? 0 }
}
