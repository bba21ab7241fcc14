import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, StoreClosedError, TaskConflictError, TaskNotFoundError } from '../basics/errors.js'
import { isTerminal, isWaiting, type TaskEvent, type TaskHead, type TaskRecord } from '../contract/task.js'
import type { Backlog } from '../contract/backlog.js'
import type {
  CreatedTask, DeliverOptions, DeliveryHandler, EventsOptions, LastRead, NewPushConfig, NewTask, PurgeLimits, PushConfig, TaskHandler,
  TaskPage, TaskQuery, TaskStore, TaskStoreHealth, TaskWorker, WorkOptions
} from '../contract/task-store.js'
import { canceledBody, inputBody } from '../log/event-bodies.js'
import { checkSize } from '../execution/executor.js'
import type { Health } from '../store/health.js'
import { GroupCommit } from './group-commit.js'
import { conversationRecords, type ConversationTable } from '../store/conversations.js'
import { Conversations, conversationTable } from './conversations.js'
import { endWaiting } from './end-waiting.js'
import { fileHealth } from './health.js'
import { KeyRanges } from './key-ranges.js'
import { checkRepeated, prepareTask } from '../store/new-task.js'
import { SQLITE_BOUNDS, sqliteSettings, type SqliteBounds, type SqliteSettings, type SqliteTaskStoreOptions } from './options.js'
import type { StoreContext } from './store-context.js'
import { Purge } from './purge.js'
import { approvalRecords } from './records/approval-records.js'
import { signInRecords } from './records/sign-in-records.js'
import { preparePush } from '../push/push-configs.js'
import { PushConfigs } from './push-configs.js'
import { readEvents } from '../log/read-events.js'
import { Readers } from '../log/readers.js'
import { closeFile, FileWatch, openFile, overwriting, SECURE_DELETE } from './store-file.js'
import { newFold, TaskLog } from './task-log.js'
import { cursorAfter, LIST_CHARS, prepareQuery } from '../store/task-query.js'
import { TaskPages } from './task-pages.js'
import type { TaskRow } from './task-statements.js'
import { Usage } from '../basics/usage.js'
import type { TaskFold } from '../log/fold-task.js'
import type { Place } from './worker.js'
import { guardRead, Workers } from './workers.js'

/** Pages of 4 KiB in the log before a checkpoint: SQLite's 1,000 cost a busy store a fifth of its time. */
const CHECKPOINT_PAGES = 4_000
/** Bytes that the log keeps after a checkpoint; a longer one is cut. */
const MAX_LOG_BYTES = 32 * 1024 * 1024
const CLOSE_MS = 800
/** Interval of checks whether the file still exists. */
const FILE_MS = 1_000

interface Opened extends StoreContext {
  readonly conversations: ConversationTable
  readonly pages: TaskPages
  readonly push: PushConfigs
  readonly purge: Purge
  readonly usage: Usage
  readonly ranges: KeyRanges
  readonly health: Health
  readonly timers: NodeJS.Timeout[]
}

/**
 * Tasks in one SQLite file, which any number of processes of one machine can share, or in memory. `open()` opens it.
 * @throws TASK_STORE_OPTION
 * @example
 * const store = sqliteTaskStore({ path: '.polyvac/tasks.db' })
 * await store.open()
 * store.work(async task => { console.log(task.input) })
 */
export function sqliteTaskStore (options: SqliteTaskStoreOptions): TaskStore {
  return sqliteStoreWith({}, options)
}

/** @internal The store with other bounds than SQLITE_BOUNDS: for tests, which reach them. */
export function sqliteStoreWith (bounds: Partial<SqliteBounds>, options: SqliteTaskStoreOptions): TaskStore {
  return new SqliteTaskStore(sqliteSettings(options, { ...SQLITE_BOUNDS, ...bounds }))
}

class SqliteTaskStore implements TaskStore {
  readonly signIns = signInRecords(() => this.#now)
  readonly approvals = approvalRecords(() => this.#now)
  readonly conversations = conversationRecords(() => this.#now.conversations)
  readonly #settings: SqliteSettings
  readonly #workers: Workers
  #opening: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #opened: Opened | undefined
  #fileGone = false
  #isPurging = false

  constructor (settings: SqliteSettings) {
    this.#settings = settings
    this.#workers = new Workers(settings, () => this.#opened !== undefined)
  }

  open (): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open (): Promise<void> {
    const settings = this.#settings
    const { path, maxPages, log } = settings
    const database = await openFile(path, log)
    try {
      database.exec(SECURE_DELETE)
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      database.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`)
      if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${maxPages}`)
      const version = database.prepare('PRAGMA data_version')
      const ranges = new KeyRanges(database)
      const usage = new Usage()
      const commit = new GroupCommit(database)
      const purge = new Purge(database, ranges, usage, commit, settings)
      await purge.count()
      const talks = new Conversations(database, settings)
      const opened: Opened = {
        settings,
        database,
        commit,
        tasks: new TaskLog(database),
        readers: new Readers(),
        nudge: waiting => { if (waiting === true) this.#workers.queued(); else this.#workers.nudge() },
        pages: new TaskPages(database),
        talks,
        conversations: conversationTable(commit, talks),
        push: new PushConfigs(database),
        purge,
        usage,
        ranges,
        checkSpace: owner => { purge.checkSpace(owner) },
        grew: (owner, bytes) => { purge.grew(owner, 0, bytes) },
        health: fileHealth(database, commit, purge),
        timers: []
      }
      const file = await FileWatch.begin(path)
      let seen = version.column<number>()[0]
      // this timer keeps the process alive, as an open server does: a reader may wait for another process
      opened.timers.push(
        setInterval(() => { guardRead(log, () => { if (seen !== (seen = version.column<number>()[0])) this.#look() }) }, settings.pollMs),
        setInterval(() => { guardRead(log, () => { this.#workers.lookForWork() }) }, settings.claimMs).unref(),
        setInterval(() => { this.#workers.beat() }, settings.heartbeatMs).unref(),
        setInterval(() => { this.#checkFile(file).catch(() => {}) }, FILE_MS).unref(),
        setInterval(() => { this.#purgeOnTime() }, settings.purgeMs).unref())
      this.#opened = opened
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** A file that was deleted or replaced still accepts writes, which no process can read later. */
  async #checkFile (file: FileWatch | undefined): Promise<void> {
    if (file === undefined) return
    // readers of a file to which no process writes would wait for ever
    if (this.#fileGone) for (const [, bell] of this.#opened?.readers.all() ?? []) bell.end()
    if (this.#fileGone) return
    const lost = await file.lost()
    const opened = this.#opened
    if (lost === undefined || opened === undefined || this.#fileGone) return
    this.#fileGone = true
    const { path, log } = this.#settings
    const what = lost === 'file' ? 'file' : 'write-ahead log'
    // first, so that the rescue below is the last write
    opened.commit.refuse(`its ${what} was deleted or replaced while it was in use; the log of the service has its path`)
    // what the deleted log holds is written to the file, which is intact
    if (lost === 'log') guardRead(log, () => { opened.database.exec('PRAGMA wal_checkpoint(TRUNCATE)') })
    log.error({ path: lost === 'file' ? path : `${path}-wal` }, `the ${what} of the tasks was deleted or replaced while it was in use; all writes are refused until the service starts again`)
  }

  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close (): Promise<void> {
    await this.#opening?.catch(() => {})
    const opened = this.#opened
    if (opened === undefined) return
    // where another process holds the lock, leases cannot be released in time and expire
    await Promise.race([this.#workers.stop(), delay(Math.min(CLOSE_MS, this.#settings.graceMs + 300), undefined, { ref: false })])
    for (const timer of opened.timers) clearInterval(timer)
    this.#opened = undefined
    opened.readers.ringAll()
    opened.commit.close()
    if (this.#fileGone) opened.database.close()
    else await closeFile(opened.database, this.#settings.path)
  }

  get #now (): Opened {
    if (this.#opened === undefined) throw new StoreClosedError()
    return this.#opened
  }

  health (): Promise<TaskStoreHealth> {
    return this.#opened?.health.check() ?? Promise.resolve({ ok: false, detail: new StoreClosedError().message })
  }

  async backlog (): Promise<readonly Backlog[]> {
    return this.#now.tasks.backlog()
  }

  async create (owner: string, task: NewTask): Promise<CreatedTask> {
    const prepared = await prepareTask(owner, task, Date.now())
    const { commit, tasks, push, purge, usage, talks } = this.#now
    const { idem, bytes, turn, origin: { id } } = prepared
    const place = this.#workers.reserve(prepared)
    let counted = false
    const fold = newFold(prepared, place?.claim)
    const record = fold.record()
    // a turn may be refused, and its handler reads the turns before it, unless the service begins the conversation
    const isFirst = turn === undefined || (task.contextId === undefined && !turn.isExclusive && turn.earlier.length === 0)
    const isNew = idem === null && task.id === undefined && isFirst
    let attempt: Promise<TaskRecord | undefined> | undefined
    try {
      const written = commit.write(() => {
        const before = idem === null ? undefined : tasks.findIdempotent(owner, idem)
        if (before !== undefined) {
          checkRepeated(before, prepared, task.id !== undefined)
          return before
        }
        if (task.id !== undefined && tasks.idTaken(id)) throw new TaskConflictError(`the id '${id}' is taken`)
        if (turn !== undefined) talks.checkOpen(turn)
        purge.makeRoom(owner)
        const key = tasks.insert(prepared, place?.claim)
        if (prepared.push !== undefined) push.set({ key, id, owner, seq: place === undefined ? 1 : 2 }, prepared.push, prepared.first.at)
        if (turn !== undefined) talks.begin(turn, { task: id, taskOwner: owner, state: place === undefined ? 'submitted' : 'working', at: prepared.first.at })
        if (place !== undefined) place.fence.key = key
        purge.grew(owner, 1, bytes)
        counted = true
        return undefined
      }, () => {
        if (place !== undefined) place.fence.key = 0
        if (counted) usage.add(owner, -1, -bytes)
        counted = false
      })
      // no other call can know this task, so its handler may begin before the commit. Its creation stands in the queue
      // of commits before the handler's updates; `create` resolves after the commit
      if (isNew) attempt = place && begun(place, fold)
      const before = await written
      if (before !== undefined) {
        place?.worker.giveBack(place)
        return { task: (await tasks.fold(before)).record(), created: false }
      }
    } catch (error) {
      if (attempt === undefined) place?.worker.giveBack(place)
      else place?.worker.abandon(id, error as Error)
      throw error
    }
    if (place === undefined) this.#workers.queued()
    else attempt ??= begun(place, fold)
    return { task: record, created: true, ...(attempt === undefined ? {} : { attempt }) }
  }

  async get (owner: string, id: string): Promise<TaskRecord | null> {
    const { tasks } = this.#now
    const row = tasks.find(owner, id)
    if (row === undefined) return null
    const fold = await tasks.fold(row)
    // purged meanwhile
    return fold.seq < row.seq ? null : fold.record()
  }

  async head (owner: string, id: string): Promise<TaskHead | null> { return this.#now.tasks.head(owner, id) }

  async ownerOf (id: string): Promise<string | undefined> { return this.#now.tasks.ownerOf(id) || undefined }

  async list (owner: string, query: TaskQuery = {}): Promise<TaskPage> {
    const { tasks, pages } = this.#now
    const prepared = prepareQuery(query)
    const { rows, nextCursor } = pages.page(owner, prepared)
    const total = query.count === true ? { total: pages.count(owner, prepared) } : {}
    const records: TaskRecord[] = []
    let held = 0
    for (const row of rows) {
      const fold = await tasks.fold(row)
      // purged meanwhile
      if (fold.seq < row.seq) continue
      records.push(fold.record())
      held += row.bytes
      if (held >= LIST_CHARS && row !== rows.at(-1)) return { tasks: records, nextCursor: cursorAfter(row), ...total }
    }
    return { tasks: records, ...(nextCursor === undefined ? {} : { nextCursor }), ...total }
  }

  async cancel (owner: string, id: string, reason?: string): ReturnType<TaskStore['cancel']> {
    const { commit, tasks } = this.#now
    const at = Date.now()
    const done = await commit.write(() => {
      const row = tasks.find(owner, id)
      if (row === undefined || isTerminal(row.state)) return { row, event: undefined }
      return { row, event: tasks.appendFree(row, canceledBody(reason, at)) }
    })
    if (done.row === undefined) return { outcome: 'not-found', task: null }
    if (done.event !== undefined) {
      this.#workers.canceled(id)
      this.#written(done.row, done.event)
    }
    const task = await this.get(owner, id)
    if (task === null) return { outcome: 'not-found', task }
    return { outcome: done.event === undefined ? 'terminal' : 'canceled', task }
  }

  async provideInput (...[owner, id, message, metadata, question]: Parameters<TaskStore['provideInput']>): ReturnType<TaskStore['provideInput']> {
    const { commit, tasks, talks, checkSpace, grew } = this.#now
    const { body, chars } = inputBody(message, metadata, Date.now())
    const done = await commit.write(() => {
      const row = tasks.find(owner, id)
      if (row === undefined || !isWaiting(row.state)) return { row, event: undefined }
      checkSize(id, row.bytes + chars, this.#settings.maxTaskChars)
      checkSpace(owner)
      const event = tasks.appendFree(row, body)
      if (question !== undefined) talks.continue(id, row.turn + 1, question, { taskOwner: owner, at: body.at })
      return { row, event }
    })
    if (done.row === undefined) return { outcome: 'not-found', task: null }
    const task = await this.get(owner, id)
    if (done.event !== undefined) {
      grew(owner, chars)
      this.#written(done.row, done.event)
      this.#workers.queued()
    }
    if (task === null) return { outcome: 'not-found', task }
    return { outcome: done.event === undefined ? 'not-waiting' : 'accepted', task }
  }

  #written ({ key }: TaskRow, event: TaskEvent): void {
    const { readers, nudge } = this.#now
    readers.written(key, [event], 0)
    nudge()
  }

  events (owner: string, id: string, options: EventsOptions = {}): AsyncIterable<TaskEvent> {
    return { [Symbol.asyncIterator]: () => readEvents(() => this.#opened, owner, id, options) }
  }

  async markRead (owner: string, id: string, everyMs: number): Promise<void> {
    const { commit, tasks } = this.#now
    const now = Date.now()
    const last = tasks.lastRead(owner, id, now)
    if (last === undefined || last.agoMs >= everyMs) await commit.write(() => { tasks.markRead(owner, id, now) })
  }

  async lastRead (owner: string, id: string): Promise<LastRead | undefined> {
    return this.#now.tasks.lastRead(owner, id, Date.now())
  }

  work (handler: TaskHandler, options: WorkOptions = {}): TaskWorker {
    return this.#workers.work(this.#now, handler, options)
  }

  async setPush (owner: string, taskId: string, config: NewPushConfig): Promise<PushConfig> {
    const { commit, tasks, push, nudge } = this.#now
    const prepared = preparePush(config)
    const set = await commit.write(() => {
      const row = tasks.find(owner, taskId)
      if (row === undefined) throw new TaskNotFoundError(taskId)
      return push.set(row, prepared, Date.now())
    })
    nudge()
    return set
  }

  async getPush (owner: string, taskId: string, configId: string): Promise<PushConfig | null> {
    const { tasks, push } = this.#now
    const row = tasks.find(owner, taskId)
    return row === undefined ? null : push.get(row, configId)
  }

  async listPush (owner: string, taskId: string): Promise<PushConfig[]> {
    const { tasks, push } = this.#now
    const row = tasks.find(owner, taskId)
    return row === undefined ? [] : push.list(row)
  }

  async deletePush (owner: string, taskId: string, configId: string): Promise<boolean> {
    const { commit, tasks, push } = this.#now
    return await commit.write(() => {
      const row = tasks.find(owner, taskId)
      return row !== undefined && push.delete(row, configId)
    })
  }

  deliver (handler: DeliveryHandler, options: DeliverOptions = {}): TaskWorker {
    return this.#workers.deliver(this.#now, handler, options)
  }

  async delete (owner: string, id: string): ReturnType<TaskStore['delete']> {
    const { commit, database, tasks, purge, readers } = this.#now
    const outcome = await commit.write(() => {
      const row = tasks.find(owner, id)
      if (row === undefined) return 'not-found'
      if (!isTerminal(row.state)) return 'not-ended'
      overwriting(database, () => { purge.remove({ key: row.key, owner, bytes: row.bytes }) })
      return 'deleted'
    })
    if (outcome === 'deleted') readers.lookAgain(key => tasks.findKey(key)?.seq)
    return outcome
  }

  async purge (limits: PurgeLimits): Promise<number> {
    const { purge, readers, tasks } = this.#now
    const deleted = await purge.run(limits)
    if (deleted > 0) readers.lookAgain(key => tasks.findKey(key)?.seq)
    return deleted
  }

  #purgeOnTime (): void {
    if (this.#isPurging) return
    this.#isPurging = true
    this.#purgeAll().finally(() => { this.#isPurging = false }).catch((error: unknown) => {
      if (this.#opened !== undefined && !isTaskError(error, 'TASK_STORE_CLOSED')) this.#settings.log.warn({ err: error }, 'ended tasks could not be deleted')
    })
  }

  async #purgeAll (): Promise<void> {
    const { ttlMs, inputTtlMs, maxTasks, conversationTtlMs } = this.#settings
    const opened = this.#now
    await this.#workers.endLate()
    const before = Date.now() - inputTtlMs
    for await (const range of opened.ranges) {
      await opened.purge.repairTimes(range)
      await endWaiting(opened, limit => opened.tasks.waiting(range, before, limit))
    }
    // before the purge: what other processes have created counts, too
    await opened.purge.count()
    await this.purge({ terminalOlderThanMs: ttlMs, maxTasks })
    const idle = Date.now() - conversationTtlMs
    for (let last = 1; last > 0;) last = await opened.commit.write(() => opened.talks.deleteOlder(idle))
  }

  /** Another process has written. */
  #look (): void {
    const { readers, tasks } = this.#now
    readers.lookAgain(key => tasks.findKey(key)?.seq)
    this.#workers.look()
  }
}

/** The attempt at a new task. A caller that does not wait for it must not end the process. */
function begun (place: Place, fold: TaskFold): Promise<TaskRecord | undefined> {
  const attempt = place.worker.begin(place, fold)
  attempt.catch(() => {})
  return attempt
}
