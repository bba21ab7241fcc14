import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, StoreClosedError, TaskNotFoundError } from '../basics/errors.js'
import { canceledBody, inputBody } from '../log/event-bodies.js'
import { checkSize } from '../execution/executor.js'
import { TaskFold } from '../log/fold-task.js'
import type { Health } from '../store/health.js'
import { prepareTask } from '../store/new-task.js'
import { conversationRecords } from '../store/conversations.js'
import { readNumbers } from '../basics/number-options.js'
import { isForWebhooks, Outbox } from '../push/outbox.js'
import { preparePush } from '../push/push-configs.js'
import { readEvents } from '../log/read-events.js'
import { Readers } from '../log/readers.js'
import { DELIVER_NUMBERS, WORK_NUMBERS } from '../store/store-options.js'
import { isTerminal, isWaiting, waitingStates, type TaskEvent, type TaskHead, type TaskRecord } from '../contract/task.js'
import { prepareQuery } from '../store/task-query.js'
import { MAX_COUNTED, type Backlog } from '../contract/backlog.js'
import type {
  CreatedTask, DeliverOptions, DeliveryHandler, EventsOptions, LastRead, NewPushConfig, NewTask, PurgeLimits, PushConfig, TaskHandler,
  TaskPage, TaskQuery, TaskStore, TaskStoreHealth, TaskWorker, WorkOptions
} from '../contract/task-store.js'
import { Connection } from './connection.js'
import { creates, type Created, type NewEntry } from './creates.js'
import { Discards } from './discards.js'
import { endWaiting } from './end-waiting.js'
import { Follower } from './follower.js'
import { databaseHealth } from './health.js'
import { migrate } from './migrations.js'
import { BOUNDS, type Bounds } from '../store/store-options.js'
import { postgresSettings, type PostgresSettings, type PostgresTaskStoreOptions } from './options.js'
import { OutboxRows } from './outbox-rows.js'
import { PushConfigs } from './push-configs.js'
import { JobQueue } from './queue.js'
import { PostgresReplicaLink } from './replica-link.js'
import { Replicas } from './replicas.js'
import { Capacity } from './capacity.js'
import { sharedCounts } from './shared-counts.js'
import { sharedValues } from './shared-values.js'
import { approvalRecords } from './approval-records.js'
import { signInRecords } from './sign-in-records.js'
import { Conversations } from './conversations.js'
import { CANCELED, WORK, type StoreContext } from './store-context.js'
import { TaskLog, type Append, type Snapshot } from './task-log.js'
import { newReplica } from './task-keys.js'
import { TaskPages } from './task-pages.js'
import { Worker } from './worker.js'
import { WriteBatches } from './write-batches.js'

const CLOSE_MS = 800
/** Interval of the heartbeats of running tasks, of the backstop for readers, and of the search for dead replicas. */
const BEAT_MS = 2_000
const LOOK_MS = 500
/** Time between two tries of a reader while the database is away. */
const READ_AGAIN_MS = 250
const APPEND_CHARS = 1024 * 1024
/** About the time of a batch of 300 events. */
const APPEND_PAUSE_MS = 5

interface Opened extends StoreContext {
  readonly pages: TaskPages
  readonly push: PushConfigs
  readonly creates: WriteBatches<NewEntry, Created>
  readonly follower: Follower
  readonly capacity: Capacity
  readonly health: Health
  // @keyed none: the values are timers of the store
  readonly timers: Set<NodeJS.Timeout>
}

/**
 * Tasks in a schema of PostgreSQL, which any number of replicas share. `open()` connects and migrates.
 * @throws TASK_STORE_OPTION
 * @example
 * const store = postgresTaskStore({ url: process.env.DATABASE_URL })
 * await store.open()
 * store.work(async task => { console.log(task.input) })
 */
export function postgresTaskStore (options: PostgresTaskStoreOptions): TaskStore {
  return postgresStoreWith({}, options)
}

/** @internal The store with other bounds than BOUNDS: for tests, which reach them. */
export function postgresStoreWith (bounds: Partial<Bounds>, options: PostgresTaskStoreOptions): TaskStore {
  return new PostgresTaskStore(postgresSettings(options, { ...BOUNDS, ...bounds }))
}

class PostgresTaskStore implements TaskStore {
  readonly replicas: PostgresReplicaLink
  readonly #settings: PostgresSettings
  // @keyed none: the values are workers of the plugins
  readonly #workers = new Set<Worker>()
  // @keyed none: the keys are outboxes of the plugins
  readonly #outboxes = new Map<Outbox, OutboxRows>()
  readonly shared = sharedValues(() => this.#now.connection)
  readonly counts = sharedCounts(() => this.#now.connection)
  readonly signIns = signInRecords(() => this.#now.connection)
  readonly approvals = approvalRecords(() => this.#now.connection)
  readonly conversations = conversationRecords(() => this.#now.talks)
  #opening: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #opened: Opened | undefined

  constructor (settings: PostgresSettings) {
    this.#settings = settings
    this.replicas = new PostgresReplicaLink(settings)
  }

  open (): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      // it may be called again, when the database is there
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #open (): Promise<void> {
    const settings = this.#settings
    const { log } = settings
    const connection = await Connection.open(settings)
    let queue: JobQueue | undefined
    try {
      await migrate(connection, async () => { queue = await JobQueue.open(connection, log) })
      if (queue === undefined) throw new StoreClosedError()
      const replica = newReplica()
      const channels = await sharedValues(() => connection).putIfAbsent('channels', randomUUID())
      await connection.listener.start(replica, channels, async () => {
        await connection.run(`INSERT INTO ${connection.table('replica')} (id) OVERRIDING SYSTEM VALUE VALUES ($1) ON CONFLICT DO NOTHING`, [replica])
      })
      const tasks = new TaskLog(connection, () => { this.#fillOutboxes() })
      const readers = new Readers()
      const push = new PushConfigs(connection)
      const talks = new Conversations(connection, settings)
      const capacity = new Capacity(connection, settings)
      await capacity.count()
      const discards = new Discards(connection, queue, log)
      const opened: Opened = {
        settings,
        connection,
        queue,
        tasks,
        readers,
        discards,
        replica,
        push,
        pages: new TaskPages(connection, tasks),
        creates: creates(connection, tasks, queue, push, talks),
        talks,
        appends: new WriteBatches<Append, TaskEvent[]>({
          keyOf: ({ fence }) => fence.key,
          weightOf: ({ updates }) => updates.chars,
          capacity: APPEND_CHARS,
          inFlight: 3,
          pauseMs: APPEND_PAUSE_MS,
          joins: (before, next) => before.updates.state === undefined && before.fence === next.fence
        }, async entries => await tasks.append(entries)),
        snapshots: new WriteBatches<Snapshot, void>({
          keyOf: ({ key }) => key,
          weightOf: ({ data }) => data.length,
          capacity: APPEND_CHARS,
          inFlight: 1,
          joins: () => false
        }, async snapshots => await tasks.saveSnapshots(snapshots)),
        follower: new Follower(connection, tasks, readers, log),
        capacity,
        health: databaseHealth(connection, capacity, replica),
        checkSpace: owner => { capacity.checkSpace(owner) },
        grew: (owner, bytes) => { capacity.grew(owner, bytes) },
        nudge: queue => { this.#nudge(queue) },
        timers: new Set()
      }
      await connection.listener.listen(WORK, queue => { this.#nudge(queue) })
      await connection.listener.listen(CANCELED, id => { for (const worker of this.#workers) worker.canceled(id) })
      const replicas = new Replicas(opened)
      const { timers } = opened
      this.#opened = opened
      this.#repeat(timers, settings.claimMs, () => {
        for (const worker of this.#workers) worker.fill()
        this.#fillOutboxes()
      })
      this.#repeat(timers, settings.purgeMs, async () => { await this.#purgeAll() })
      this.#repeat(timers, BEAT_MS, async () => {
        opened.follower.lookAgain()
        await connection.synchronize()
        await this.replicas.beat()
        for (const worker of this.#workers) await worker.beat()
      })
      this.#repeat(timers, LOOK_MS, async () => {
        if (connection.listener.problem === undefined) await replicas.look()
        await opened.queue.readRanks()
      })
      // a reader may wait for another process: it keeps this one alive, as an open server does
      timers.add(setInterval(() => {}, 2 ** 31 - 1))
      await this.replicas.open(connection, replica)
    } catch (error) {
      await queue?.close().catch(() => {})
      await connection.close()
      throw connection.explain(error)
    }
  }

  /** Repeats `work`, with a pause that differs from that of other replicas. What fails is tried again. */
  #repeat (timers: Set<NodeJS.Timeout>, ms: number, work: () => Promise<void> | void): void {
    let isRunning = false
    timers.add(setInterval(() => {
      if (isRunning || this.#opened === undefined) return
      isRunning = true
      Promise.resolve().then(work).catch((error: unknown) => {
        if (this.#opened !== undefined && !isTaskError(error, 'TASK_STORE_CLOSED')) this.#settings.log.warn({ err: error }, 'the task store could not look for work')
      }).finally(() => { isRunning = false })
    }, ms * (0.9 + 0.2 * Math.random())).unref())
  }

  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close (): Promise<void> {
    await this.#opening?.catch(() => {})
    const opened = this.#opened
    if (opened === undefined) return
    const { timers, readers, creates, appends, snapshots, discards, queue, connection } = opened
    const stopped = Promise.all([...this.#workers, ...this.#outboxes.keys()].map(async worker => { await worker.stop() }))
    // where the database is away, tasks cannot be released in time: their heartbeats end
    const late = async (work: Promise<unknown>): Promise<void> => {
      await Promise.race([work.catch(() => {}), delay(Math.min(CLOSE_MS, this.#settings.graceMs + 300), undefined, { ref: false })])
    }
    await late(stopped)
    for (const timer of timers) clearInterval(timer)
    this.#opened = undefined
    readers.ringAll()
    await late(Promise.all([creates.close(), appends.close(), snapshots.close(), discards.close(), this.replicas.close()]))
    await late(queue.close().then(async () => { await connection.close() }))
  }

  get #now (): Opened {
    if (this.#opened === undefined) throw new StoreClosedError()
    return this.#opened
  }

  #fillOutboxes (): void { for (const outbox of this.#outboxes.keys()) outbox.fill() }

  /** Tasks may wait in a queue. */
  #nudge (queue: string): void {
    for (const worker of this.#workers) if (worker.queue === queue) worker.fill()
  }

  health (): Promise<TaskStoreHealth> {
    return this.#opened?.health.check() ?? Promise.resolve({ ok: false, detail: new StoreClosedError().message })
  }

  async backlog (): Promise<readonly Backlog[]> {
    const { connection } = this.#now
    const task = connection.table('task')
    return await connection.run<Backlog>(`SELECT state, count(*)::int AS tasks, min(status_at)::float8 AS since FROM (
      (SELECT state, status_at FROM ${task} WHERE state IN ('submitted', 'input-required', 'auth-required') LIMIT $1) UNION ALL
      (SELECT state, status_at FROM ${task} WHERE replica IS NOT NULL AND state = 'working' LIMIT $1)) AS live GROUP BY state`, [MAX_COUNTED])
  }

  async create (owner: string, task: NewTask): Promise<CreatedTask> {
    const { creates, tasks, connection, capacity } = this.#now
    const row = await prepareTask(owner, task, connection.now())
    try {
      await capacity.take(owner, row.bytes)
    } catch (error) {
      const before = row.idem === null ? undefined : await tasks.findRepeated(connection, row, task.id !== undefined).catch(() => undefined)
      if (before === undefined) throw error
      return { task: (await tasks.fold(before)).record(), created: false }
    }
    let before: Created
    try {
      before = await creates.add({ row, hasId: task.id !== undefined })
    } catch (error) {
      capacity.giveBack(owner, row.bytes)
      throw error
    }
    if (before !== undefined) {
      capacity.giveBack(owner, row.bytes)
      return { task: (await tasks.fold(before)).record(), created: false }
    }
    capacity.created()
    this.#nudge(row.queue)
    const fold = new TaskFold(row.origin)
    fold.apply({ seq: 1, ...row.first })
    return { task: fold.record(), created: true }
  }

  async get (owner: string, id: string): Promise<TaskRecord | null> {
    const { tasks } = this.#now
    const row = await tasks.record(owner, id)
    if (row === undefined) return null
    const fold = await tasks.fold(row)
    // purged meanwhile
    return fold.seq < row.seq ? null : fold.record()
  }

  async head (owner: string, id: string): Promise<TaskHead | null> { return await this.#now.tasks.head(owner, id) }

  async ownerOf (id: string): Promise<string | undefined> { return await this.#now.tasks.ownerOf(id) || undefined }

  async list (owner: string, query: TaskQuery = {}): Promise<TaskPage> {
    const { pages } = this.#now
    const prepared = prepareQuery(query)
    const page = await pages.page(owner, prepared)
    return query.count === true ? { ...page, total: await pages.count(owner, prepared) } : page
  }

  async cancel (owner: string, id: string, reason?: string): ReturnType<TaskStore['cancel']> {
    const { tasks, connection, readers, discards } = this.#now
    const done = await tasks.cancel(owner, id, canceledBody(reason, connection.now()))
    if (done !== undefined) {
      for (const worker of this.#workers) worker.canceled(id)
      readers.written(done.row.key, [done.event], 0)
      discards.add(done.row.queue, done.row.job)
    }
    const task = await this.get(owner, id)
    if (task === null) return { outcome: 'not-found', task }
    return { outcome: done === undefined ? 'terminal' : 'canceled', task }
  }

  async provideInput (...[owner, id, message, metadata, question]: Parameters<TaskStore['provideInput']>): ReturnType<TaskStore['provideInput']> {
    const { connection, tasks, talks, queue, readers, checkSpace, grew } = this.#now
    const { body, chars } = inputBody(message, metadata, connection.now())
    const done = await connection.transaction(async transaction => {
      const row = await tasks.lock(transaction, owner, id)
      if (row === undefined || !isWaiting(row.state)) return undefined
      checkSize(id, row.bytes + chars, this.#settings.maxTaskChars)
      checkSpace(owner)
      const appended = await tasks.resubmit(transaction, row.key, body)
      if (appended === undefined) return undefined
      const { job, key, turn } = appended.row
      if (question !== undefined) await talks.continue(transaction, id, turn, question, { taskOwner: owner, at: body.at })
      await queue.insert(transaction, row.queue, [{ id: job, key, turn, owner }])
      transaction.notify(WORK, row.queue)
      return appended
    })
    const task = await this.get(owner, id)
    if (done !== undefined) {
      grew(owner, chars)
      readers.written(done.row.key, [done.event], 0)
      this.#nudge(done.row.queue)
    }
    if (task === null) return { outcome: 'not-found', task }
    return { outcome: done === undefined ? 'not-waiting' : 'accepted', task }
  }

  events (owner: string, id: string, options: EventsOptions = {}): AsyncIterable<TaskEvent> {
    return {
      [Symbol.asyncIterator]: () => readEvents(() => {
        const opened = this.#opened
        if (opened === undefined) return undefined
        const { tasks, readers, follower } = opened
        return {
          readers,
          follow: follower.follow,
          tasks: {
            find: async (owner, id) => await tasks.find(owner, id),
            findKey: async key => await this.#patiently(follower, async () => await tasks.findKey(key)),
            page: async (key, after, limit) => await this.#patiently(follower, async () => await tasks.page(key, after, limit))
          }
        }
      }, owner, id, options)
    }
  }

  /** A reader that has begun goes on when the database is back. */
  async #patiently<T> (follower: Follower, read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        if (follower.isSure || this.#opened === undefined) {
          const found = await read()
          if (follower.isSure) return found
        }
      } catch (error) {
        if (this.#opened === undefined || !isTaskError(error, 'TASK_STORE_UNAVAILABLE')) throw error
      }
      await delay(READ_AGAIN_MS)
    }
  }

  async markRead (owner: string, id: string, everyMs: number): Promise<void> { await this.#now.tasks.markRead(owner, id, everyMs) }
  async lastRead (owner: string, id: string): Promise<LastRead | undefined> { return await this.#now.tasks.lastRead(owner, id) }

  work (handler: TaskHandler, { queue = '', hold, serves, ...limits }: WorkOptions = {}): TaskWorker {
    const worker = new Worker(this.#now, handler, queue, { ...readNumbers(WORK_NUMBERS, limits), hold, serves, ownerShare: this.#settings.ownerShare })
    this.#workers.add(worker)
    worker.fill()
    return { stop: async options => { await worker.stop(options).finally(() => { this.#workers.delete(worker) }) } }
  }

  async setPush (owner: string, taskId: string, config: NewPushConfig): Promise<PushConfig> {
    const { connection, tasks, push } = this.#now
    const prepared = preparePush(config)
    const set = await connection.transaction(async transaction => {
      const row = await tasks.lock(transaction, owner, taskId)
      if (row === undefined) throw new TaskNotFoundError(taskId)
      return await push.set(transaction, row, prepared, connection.now())
    })
    this.#fillOutboxes()
    return set
  }

  async getPush (owner: string, taskId: string, configId: string): Promise<PushConfig | null> {
    return (await this.listPush(owner, taskId)).find(({ id }) => id === configId) ?? null
  }

  async listPush (owner: string, taskId: string): Promise<PushConfig[]> {
    const { connection, tasks, push } = this.#now
    const row = await tasks.find(owner, taskId)
    return row === undefined ? [] : await push.list(connection, row)
  }

  async deletePush (owner: string, taskId: string, configId: string): Promise<boolean> {
    const { connection, tasks, push } = this.#now
    return await connection.transaction(async transaction => {
      const row = await tasks.lock(transaction, owner, taskId)
      return row !== undefined && await push.delete(transaction, row, configId)
    })
  }

  deliver (handler: DeliveryHandler, { wants = isForWebhooks, ...limits }: DeliverOptions = {}): TaskWorker {
    const { log, deadAfterMs, ownerShare } = this.#settings
    const numbers = readNumbers(DELIVER_NUMBERS, limits)
    const rows = new OutboxRows(this.#now, numbers.timeoutMs)
    const outbox = new Outbox(rows, handler, { ...numbers, deadAfterMs, ownerShare, wants }, log)
    this.#outboxes.set(outbox, rows)
    outbox.fill()
    return { stop: async options => { await outbox.stop(options).finally(() => { this.#outboxes.delete(outbox) }) } }
  }

  async delete (owner: string, id: string): ReturnType<TaskStore['delete']> {
    const { capacity, follower, tasks } = this.#now
    const row = await tasks.find(owner, id)
    if (row === undefined) return 'not-found'
    if (!isTerminal(row.state)) return 'not-ended'
    // another replica may have deleted it meanwhile
    if (!await capacity.remove(owner, id)) return 'not-found'
    follower.lookAgain()
    return 'deleted'
  }

  async purge (limits: PurgeLimits): Promise<number> {
    const { capacity, follower } = this.#now
    const deleted = await capacity.purge(limits)
    if (deleted > 0) follower.lookAgain()
    return deleted
  }

  async #purgeAll (): Promise<void> {
    const { ttlMs, inputTtlMs, maxTasks, conversationTtlMs } = this.#settings
    const opened = this.#now
    for (const rows of this.#outboxes.values()) await rows.wakeLate()
    for (const worker of this.#workers) await worker.endWaiting()
    const before = opened.connection.now() - inputTtlMs
    await endWaiting(opened, async limit => await opened.tasks.waiting(['submitted', ...waitingStates], before, undefined, limit))
    // before the purge: what other replicas have created counts, too
    await opened.capacity.count()
    await this.purge({ terminalOlderThanMs: ttlMs, maxTasks })
    const idle = opened.connection.now() - conversationTtlMs
    for (let last = 1; last > 0;) last = await opened.talks.deleteOlder(idle)
  }
}
