import { TaskConflictError, TaskFencedError } from '../basics/errors.js'
import type { AttemptFence } from '../execution/executor.js'
import type { TaskFold } from '../log/fold-task.js'
import { FIRST_PAGE, isLargeLog, logPage, type EventRow, type LogPage } from '../log/log-page.js'
import { isName } from '../basics/names.js'
import { checkRepeated, type NewRow } from '../store/new-task.js'
import { foldAtSnapshot, headOf, type HeadRow } from '../log/task-row.js'
import { isTerminal, terminalStates, waitingStates, type EventBody, type TaskEvent, type TaskHead, type TaskState } from '../contract/task.js'
import type { LastRead } from '../contract/task-store.js'
import type { PreparedUpdates } from '../log/task-updates.js'
import { yieldToEventLoop } from '../basics/turn-time.js'
import { int4Array, int8Array, textArray } from './array-parameters.js'
import type { Connection, Session } from './connection.js'
import { TaskKeys } from './task-keys.js'
import { areLarge, RECORD_EVENTS, statements, type RecordRow, type TaskRow } from './task-statements.js'
import type { Outcome } from './write-batches.js'

/** The right of this replica to write to a task. */
export interface Fence extends AttemptFence {
  readonly key: number
  readonly job: string
  readonly claim: number
  /** Number of the last event in the log. A log that ends with another one is not the log of this attempt. */
  seq: number
}

/** The place of a reader: the event that it has got last, or 0. */
export interface Place { readonly key: number, readonly seq: number }
export interface FoundPlace { readonly id: string, readonly last: number, readonly head: string | null }

interface Changed { readonly key: number, readonly seq: number, readonly pushes: number }

export interface Appended { readonly row: TaskRow, readonly event: TaskEvent }

export interface Append { readonly fence: Fence, readonly id: string, readonly updates: PreparedUpdates }

/** What a reader of a long log begins with: the fold after event `seq`, as JSON. */
export interface Snapshot { readonly key: number, readonly claim: number, readonly seq: number, readonly data: string }

/** How a worker takes a task: with a new attempt, or by giving it up. */
export interface Claim { readonly key: number, readonly claim: number, readonly attempt: number, readonly losses: number, readonly replica: number | null, readonly body: EventBody & { state: TaskState } }

/** The rows of tasks and their events. */
export class TaskLog {
  readonly #connection: Connection
  readonly #sql: ReturnType<typeof statements>
  readonly #keys = new TaskKeys()
  readonly #wakeOutboxes: () => void

  /** @param wakeOutboxes called when an event of a task with webhooks was written */
  constructor (connection: Connection, wakeOutboxes: () => void) {
    this.#connection = connection
    this.#wakeOutboxes = wakeOutboxes
    this.#sql = statements(connection)
  }

  async find (owner: string, id: string): Promise<TaskRow | undefined> {
    if (!isName(id)) return undefined
    return (await this.#connection.run<TaskRow>(`${this.#sql.row} WHERE t.owner = $1 AND t.id = $2`, [owner, id]))[0]
  }

  async head (owner: string, id: string): Promise<TaskHead | null> {
    return isName(id) ? headOf((await this.#connection.run<HeadRow>(this.#sql.head, [owner, id]))[0]) : null
  }

  /** '' for a task that is being deleted. */
  async ownerOf (id: string): Promise<string | undefined> {
    return isName(id) ? (await this.#connection.run<{ owner: string }>(this.#sql.ownerOf, [id]))[0]?.owner : undefined
  }

  /** A row that no other transaction changes before this one ends. */
  async lock (session: Session, owner: string, id: string): Promise<TaskRow | undefined> {
    if (!isName(id)) return undefined
    return (await session.run<TaskRow>(`${this.#sql.row} WHERE t.owner = $1 AND t.id = $2 FOR UPDATE`, [owner, id]))[0]
  }

  async findKey (key: number): Promise<TaskRow | undefined> { return (await this.#connection.run<TaskRow>(`${this.#sql.row} WHERE t.key = $1`, [key]))[0] }

  /** What the log has at some places: the id and the last number of the task, and the beginning of that event. */
  async places (places: readonly Place[]): Promise<(FoundPlace | undefined)[]> {
    const rows = await this.#connection.run<FoundPlace & { i: number }>(this.#sql.places, [int8Array(places.map(({ key }) => key)), int4Array(places.map(({ seq }) => seq))])
    const found = new Map(rows.map(row => [row.i, row]))
    return places.map((_place, i) => found.get(i + 1))
  }

  async record (owner: string, id: string): Promise<RecordRow | undefined> {
    if (!isName(id)) return undefined
    return (await this.#connection.run<RecordRow>(`${this.#sql.record} WHERE t.owner = $1 AND t.id = $2`, [owner, id]))[0]
  }

  async records (keys: readonly number[]): Promise<RecordRow[]> { return await this.#connection.run<RecordRow>(`${this.#sql.record} WHERE t.key = ANY($1)`, [keys]) }

  /** The records that a worker may take; no other one changes them meanwhile. */
  async lockRecords (session: Session, keys: readonly number[]): Promise<RecordRow[]> {
    return await session.run<RecordRow>(`${this.#sql.record} WHERE t.key = ANY($1) ORDER BY t.key FOR UPDATE OF t`, [keys])
  }

  /** The fold of a task from its last snapshot and the events after it. */
  async fold (row: RecordRow): Promise<TaskFold> {
    const fold = foldAtSnapshot(row, row)
    for (const text of row.events) fold.apply(Object.assign({ seq: fold.seq + 1 }, JSON.parse(text) as EventBody))
    let next: number | undefined
    for (let more = row.events.length === RECORD_EVENTS || isLargeLog(row); more;) {
      const page = await this.page(row.key, fold.seq, next)
      for (const event of page.events) fold.apply(event)
      next = page.next
      more = !page.last
    }
    return fold
  }

  /** A page of the events after number `after`. */
  async page (key: number, after: number, limit = FIRST_PAGE): Promise<LogPage> {
    const rows = await this.#connection.run<EventRow>(this.#sql.page, [key, after, limit])
    // reading them from the socket has taken its time of this turn
    if (isLargeLog({ bytes: charsOf(rows) })) await yieldToEventLoop()
    return logPage(rows, limit)
  }

  /**
   * The events of several tasks in turn, after a number of each, at most 64 of each; they end with the event that fills
   * a page. `cut`: there are more.
   */
  async tails (tasks: readonly (readonly [key: number, after: number])[]): Promise<(EventRow & { key: number, cut: boolean })[]> {
    return await this.#connection.run(this.#sql.tails, [tasks.map(([key]) => key), tasks.map(([, after]) => after)])
  }

  /** Inserts new tasks with their first events; a task that exists has no key. The jobs have the ids of `jobs`. */
  async insert (session: Session, rows: readonly NewRow[], jobs: readonly string[]): Promise<(number | undefined)[]> {
    const inserted = await session.run<{ key: number, id: string }>(this.#sql.insert, [
      int8Array(rows.map(() => this.#keys.next())),
      textArray(rows.map(({ origin }) => origin.id)), textArray(rows.map(({ owner }) => owner)),
      textArray(rows.map(({ origin }) => origin.contextId ?? null)), textArray(rows.map(({ origin }) => origin.skill)),
      textArray(rows.map(({ queue }) => queue)), textArray(rows.map(({ idem }) => idem)), textArray(rows.map(({ hash }) => hash)),
      int8Array(rows.map(({ first }) => first.at)), int8Array(rows.map(({ bytes }) => bytes)),
      int4Array(rows.map(({ push }) => push === undefined ? 0 : 1)), jobs, textArray(rows.map(({ inputText }) => inputText)),
      textArray(rows.map(({ metadataText }) => metadataText)), textArray(rows.map(({ firstText }) => firstText))
    ])
    const keys = new Map(inserted.map(({ id, key }) => [id, key]))
    return rows.map(({ origin }) => keys.get(origin.id))
  }

  /** Whether there is a task with the idempotency key of a new one. */
  async isRepeated (session: Session, { owner, idem }: NewRow): Promise<boolean> {
    return idem !== null && (await session.run(`${this.#sql.row} WHERE t.owner = $1 AND t.idem = $2`, [owner, idem])).length > 0
  }

  /** The task that a new one repeats. @throws TASK_CONFLICT where it is another request */
  async findRepeated (session: Session, row: NewRow, hasId: boolean): Promise<RecordRow> {
    const { owner, idem, origin: { id } } = row
    const [before] = idem === null ? [] : await session.run<RecordRow>(`${this.#sql.record} WHERE t.owner = $1 AND t.idem = $2`, [owner, idem])
    if (before === undefined) throw new TaskConflictError(`the id '${id}' is taken`)
    checkRepeated(before, row, hasId)
    return before
  }

  /**
   * Appends the updates of executors under their fences, in one statement. Entries of one task stand one behind the
   * other, and only the last of them may end the attempt.
   */
  async append (entries: readonly Append[]): Promise<Outcome<TaskEvent[]>[]> {
    const tasks = new Map<number, { fence: Fence, n: number, chars: number, state: TaskState | undefined, at: number }>()
    const texts: string[] = []
    const textKeys: number[] = []
    const textNumbers: number[] = []
    for (const { fence, updates: { bodies, texts: some, chars, state } } of entries) {
      let task = tasks.get(fence.key)
      if (task === undefined) tasks.set(fence.key, task = { fence, n: 0, chars: 0, state: undefined, at: 0 })
      for (const text of some) {
        texts.push(text)
        textKeys.push(fence.key)
        textNumbers.push(++task.n)
      }
      task.chars += chars
      task.state = state
      task.at = bodies[0]?.at ?? 0
    }
    // in the order of keys, as every other transaction locks rows
    const sorted = [...tasks.values()].sort((a, b) => a.fence.key - b.fence.key)
    const isLarge = areLarge(sorted.map(({ fence: { key }, chars }) => [key, chars]))
    const changed = await this.#connection.run<Changed>(isLarge ? this.#sql.appendLarge : this.#sql.append, [
      ...fenceColumns(sorted.map(({ fence }) => fence)), int4Array(sorted.map(({ n }) => n)), int8Array(sorted.map(({ chars }) => chars)),
      textArray(sorted.map(({ state }) => state ?? null)), int8Array(sorted.map(({ state, at }) => state === undefined ? null : at)),
      int8Array(sorted.map(({ state, at }) => state !== undefined && isTerminal(state) ? at : null)),
      int8Array(textKeys), int4Array(textNumbers), textArray(texts)
    ], isLarge ? 'append large' : 'append')
    this.#woke(changed)
    const next = new Map<number, number>()
    for (const { key, seq } of changed) {
      const { fence, n } = tasks.get(key)!
      fence.seq = seq
      next.set(key, seq - n + 1)
    }
    return entries.map(({ fence: { key }, id, updates: { bodies } }) => {
      const first = next.get(key)
      if (first === undefined) return { error: new TaskFencedError(id) }
      next.set(key, first + bodies.length)
      return { value: bodies.map((body, i) => Object.assign({ seq: first + i }, body)) }
    })
  }

  /** Appends the input of a waiting task, whose next turn gets a new job. Undefined where it does not wait any more. */
  async resubmit (session: Session, key: number, body: EventBody & { state: 'submitted' }): Promise<Appended | undefined> {
    const [row] = await session.run<TaskRow>(this.#sql.resubmit, [key, waitingStates, body.at, JSON.stringify(body)])
    if (row !== undefined) this.#woke([row])
    return row === undefined ? undefined : { row, event: { seq: row.seq, ...body } }
  }

  /** Ends a task without a fence. Undefined where its log has gone on: a worker took it, or its caller answered. */
  async endFree ({ key, state, seq }: TaskRow, body: EventBody & { state: TaskState }): Promise<Appended | undefined> {
    const [row] = await this.#connection.run<TaskRow>(this.#sql.endFree, [key, [state], body.at, JSON.stringify(body), body.state, seq])
    if (row !== undefined) this.#woke([row])
    return row === undefined ? undefined : { row, event: { seq: row.seq, ...body } }
  }

  /** Ends a task that has not ended. */
  async cancel (owner: string, id: string, body: EventBody & { state: 'canceled' }): Promise<Appended | undefined> {
    if (!isName(id)) return undefined
    const text = JSON.stringify(body)
    const [row] = await this.#connection.run<TaskRow>(this.#sql.cancel, [owner, id, terminalStates, body.state, body.at, body.at, text, text.length])
    if (row !== undefined) this.#woke([row])
    return row === undefined ? undefined : { row, event: { seq: row.seq, ...body } }
  }

  async markRead (owner: string, id: string, everyMs: number): Promise<void> {
    if (isName(id)) await this.#connection.run(this.#sql.markRead, [owner, id, this.#connection.now(), Math.ceil(everyMs)])
  }

  /** When the task was read last, at least 0 ms ago: clocks of replicas differ. */
  async lastRead (owner: string, id: string): Promise<LastRead | undefined> {
    if (!isName(id)) return undefined
    const [row] = await this.#connection.run<{ at: number }>(this.#sql.readAt, [owner, id])
    return row && { at: row.at, agoMs: Math.max(0, this.#connection.now() - row.at) }
  }

  /** Tasks in these states since before `before`; of one queue, or of all. */
  async waiting (states: readonly TaskState[], before: number, queue: string | undefined, limit: number): Promise<TaskRow[]> {
    return await this.#connection.run<TaskRow>(`${this.#sql.row} WHERE t.state IN ('submitted', 'input-required', 'auth-required') AND t.state = ANY($1)
      AND t.status_at < $2 AND ($3::text IS NULL OR t.queue = $3) ORDER BY t.status_at LIMIT $4`, [states, before, queue ?? null, limit])
  }

  /** Tasks of these skills whose last attempt began before `before` and has no worker any more. */
  async left (queue: string, before: number, skills: readonly string[], limit: number): Promise<TaskRow[]> {
    return await this.#connection.run<TaskRow>(`${this.#sql.row} WHERE t.state = 'working' AND coalesce(t.replica, 0) = 0 AND t.status_at < $1
      AND t.queue = $2 AND t.skill = ANY($3) LIMIT $4`, [before, queue, skills, limit])
  }

  async claim (session: Session, claims: readonly Claim[]): Promise<void> {
    const rows = await session.run<Changed>(this.#sql.claim, [
      int8Array(claims.map(({ key }) => key)), textArray(claims.map(({ body }) => body.state)), int4Array(claims.map(({ attempt }) => attempt)),
      int4Array(claims.map(({ losses }) => losses)), int8Array(claims.map(({ body }) => body.at)),
      int8Array(claims.map(({ body: { state, at } }) => isTerminal(state) ? at : null)), int4Array(claims.map(({ replica }) => replica)),
      textArray(claims.map(({ body }) => JSON.stringify(body))), int4Array(claims.map(({ claim }) => claim))
    ], 'claim')
    this.#woke(rows)
  }

  #woke (rows: readonly Changed[]): void { if (rows.some(({ pushes }) => pushes > 0)) this.#wakeOutboxes() }

  /** Which of these attempts still may write. */
  async held (fences: readonly Fence[]): Promise<Set<number>> {
    const rows = await this.#connection.run<{ key: number }>(this.#sql.held, fenceColumns(fences))
    return new Set(rows.map(({ key }) => key))
  }

  /** Marks attempts as released, not lost. Returns those that still could write. */
  async release (session: Session, fences: readonly Fence[]): Promise<TaskRow[]> {
    return await session.run<TaskRow>(this.#sql.release, fenceColumns(fences))
  }

  /** Tasks of replicas that have died; no other replica gets them as well. */
  async takeFrom (session: Session, replicas: readonly number[], limit: number): Promise<TaskRow[]> {
    return await session.run<TaskRow>(this.#sql.takeFrom, [replicas, limit])
  }

  /** Saves a snapshot of each of these tasks, some of which may have been purged in the meantime. */
  async saveSnapshots (snapshots: readonly Snapshot[]): Promise<Outcome<void>[]> {
    await this.#connection.run(this.#sql.saveSnapshots, [
      int8Array(snapshots.map(({ key }) => key)), int4Array(snapshots.map(({ seq }) => seq)), textArray(snapshots.map(({ data }) => data)),
      int4Array(snapshots.map(({ claim }) => claim))
    ], 'save snapshots')
    return snapshots.map(() => ({ value: undefined }))
  }
}

function charsOf (rows: readonly EventRow[]): number { return rows.reduce((sum, { data }) => sum + data.length, 0) }

function fenceColumns (fences: readonly Fence[]): unknown[] {
  return [
    int8Array(fences.map(({ key }) => key)), int4Array(fences.map(({ turn }) => turn)), int4Array(fences.map(({ attempt }) => attempt)),
    int4Array(fences.map(({ claim }) => claim)), int4Array(fences.map(({ seq }) => seq))
  ]
}
