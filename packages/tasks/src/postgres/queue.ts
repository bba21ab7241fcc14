import { createHash } from 'node:crypto'
import type { PgBoss } from 'pg-boss'
import { StoreDatabaseError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import type { Connection, Session } from './connection.js'
import { isMissingPackage } from './errors.js'

/** Time without a heartbeat after which pg-boss gives a job to another worker: its shortest. */
const HEARTBEAT_S = 10
/** Interval of pg-boss's search for jobs without a heartbeat. */
const SUPERVISE_S = 2
/** Limits of pg-boss that never apply: `timeoutMs` ends attempts, `inputTtlMs` ends tasks that wait. */
const LONG_S = 10 * 365 * 86_400
/** The store counts lost executors itself: a job that was released at a stop must not be one of them. */
const RETRIES = 1_000_000
const NO_JOB = '00000000-0000-0000-0000-000000000000'
const MAX_RANK = 2 ** 31 - 1

/** A turn of a task that is to be executed. */
export interface TaskJob { readonly id: string, readonly key: number, readonly turn: number }

/** Whose jobs a worker passes over. */
export interface Passed { readonly owners: readonly string[], readonly skills: readonly string[] }

/** `since`: the owners that were given a rank since the last look. Their jobs may not be committed yet. */
// @keyed owner | holds: the rank of its last task, and that it has a new one | whose: the owner | bound: owners with
//   waiting tasks; those that were served leave at the next look | share: the owner | test:
//   packages/tasks/test/postgres-open.test.ts: an owner keeps its place in the order while its jobs are not committed
//   yet
interface Ranks { served: number, readonly last: Map<string, number>, since: Set<string> }

/** The queue of waiting turns, in pg-boss: leases with heartbeats, retries, the order of owners. */
// @keyed (queues of pg-boss) queue of the code; jobs have a number, a group for the owner and a rank | holds: a job
//   for each turn that waits or runs | whose: the owner of the task | bound: the tasks that wait, so maxTasks |
//   share: the owner: its share of the tasks; owners are served in turn | test: packages/tasks/test/conformance.ts:
//   owners with waiting tasks are served in turn: after 10,000 tasks of one, the task of another starts next
export class JobQueue {
  readonly #boss: PgBoss
  readonly #connection: Connection
  // @keyed none: the keys are queues of the code
  readonly #names = new Map<string, Promise<string>>()
  // @keyed none: the keys are queues of the code
  readonly #ranks = new Map<string, Ranks>()

  private constructor (boss: PgBoss, connection: Connection) {
    this.#boss = boss
    this.#connection = connection
  }

  /** Starts pg-boss, which creates or updates its tables where it must: call it under the lock of migrations. */
  static async open (connection: Connection, log: TaskLogger): Promise<JobQueue> {
    const { PgBoss } = await importBoss()
    const boss = new PgBoss({
      db: adapter(connection),
      schema: schemaOf(connection),
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_S,
      monitorIntervalSeconds: SUPERVISE_S,
      warningQueueSize: MAX_RANK
    })
    boss.on('error', error => { log.warn({ err: error }, 'the maintenance of the queue of tasks failed') })
    boss.on('warning', warning => { log.debug({ warning }, 'a warning of the queue of tasks') })
    await boss.start()
    return new JobQueue(boss, connection)
  }

  async close (): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false, timeout: 1_000 })
  }

  /** The name in pg-boss, which has only letters and digits; the queue is created at its first use. */
  #nameOf (queue: string): Promise<string> {
    let name = this.#names.get(queue)
    if (name === undefined) {
      const text = queue === '' ? 'tasks' : `tasks.${createHash('sha256').update(queue).digest('hex').slice(0, 32)}`
      name = this.#create(text)
      name.catch(() => { this.#names.delete(queue) })
      this.#names.set(queue, name)
    }
    return name
  }

  async #create (name: string): Promise<string> {
    await this.#boss.createQueue(name, { retryLimit: RETRIES, retryDelay: 0, heartbeatSeconds: HEARTBEAT_S, retentionSeconds: LONG_S })
    // pg-boss reads its settings of a queue at the first call, which must not wait for a connection in a transaction
    await this.#boss.touch(name, [NO_JOB])
    return name
  }

  /** Creates the queue where it is missing; not in a transaction that uses it. */
  async prepare (queue: string): Promise<void> { await this.#nameOf(queue) }

  async insert (session: Session, queue: string, jobs: readonly (TaskJob & { readonly owner: string })[]): Promise<void> {
    await this.#boss.insert(await this.#nameOf(queue), jobs.map(({ id, key, turn, owner }) => {
      const rank = this.#rank(queue, owner)
      return { id, data: { key, turn, rank }, group: { id: owner }, priority: -rank, expireInSeconds: LONG_S }
    }), { db: adapter(session) })
  }

  async fetch (session: Session, queue: string, limit: number, { owners, skills }: Passed): Promise<TaskJob[]> {
    const jobs = await this.#boss.fetch<{ key: number, turn: number, rank: number }>(await this.#nameOf(queue), {
      batchSize: limit,
      db: skills.length === 0 ? adapter(session) : this.#passing(session, skills),
      ...(owners.length === 0 ? {} : { ignoreGroups: [...owners] })
    })
    const ranks = this.#ranksOf(queue)
    for (const { data: { rank } } of jobs) ranks.served = Math.max(ranks.served, rank)
    return jobs.map(({ id, data: { key, turn } }) => ({ id, key, turn }))
  }

  /**
   * Adds to the statement of `fetch` that jobs of these skills stay where they are: pg-boss can pass only over groups.
   * A statement without the place for it fails, since it has one parameter too many.
   */
  #passing (session: Session, skills: readonly string[]): ReturnType<typeof adapter> {
    const skill = `(SELECT skill FROM ${this.#connection.table('task')} WHERE key = (j.data ->> 'key')::bigint)`
    return {
      executeSql: async (text, values = []) => {
        const passing = `NOT j.blocked AND coalesce(${skill}, '') <> ALL($${values.length + 1}::text[])`
        return { rows: await session.run(text.replace('NOT j.blocked', () => passing), [...values, skills]) }
      }
    }
  }

  async touch (queue: string, ids: readonly string[]): Promise<void> {
    await this.#boss.touch(await this.#nameOf(queue), [...ids])
  }

  /** Back into the queue, in the places that they had. */
  async retry (session: Session, queue: string, ids: readonly string[]): Promise<void> {
    await this.#boss.fail(await this.#nameOf(queue), [...ids], {}, { db: adapter(session) })
  }

  async discard (session: Session, queue: string, ids: readonly string[]): Promise<void> {
    await this.#boss.deleteJob(await this.#nameOf(queue), [...ids], { db: adapter(session) })
  }

  #ranksOf (queue: string): Ranks {
    let ranks = this.#ranks.get(queue)
    if (ranks === undefined) this.#ranks.set(queue, ranks = { served: 0, last: new Map(), since: new Set() })
    return ranks
  }

  /**
   * The place of an owner's next task, by start-time fair queueing: the first tasks of all owners come before the
   * second ones, counted from the rank that is served now.
   */
  #rank (queue: string, owner: string): number {
    const { served, last, since } = this.#ranksOf(queue)
    const rank = Math.min(MAX_RANK, Math.max(served, last.get(owner) ?? 0) + 1)
    last.set(owner, rank)
    since.add(owner)
    return rank
  }

  /** Reads from which rank on tasks wait: other replicas serve the queue, too. In an empty one, ranks begin again. */
  async readRanks (): Promise<void> {
    for (const [queue, ranks] of this.#ranks) {
      const before = ranks.since
      ranks.since = new Set()
      const [head] = await this.#connection.run<{ priority: number }>(`SELECT priority FROM ${schemaOf(this.#connection)}.job
        WHERE name = $1 AND state < 'active' AND NOT blocked ORDER BY priority DESC, created_on LIMIT 1`, [await this.#nameOf(queue)])
      ranks.served = head === undefined ? 0 : -head.priority - 1
      for (const [owner, rank] of ranks.last) {
        const isNew = before.has(owner) || ranks.since.has(owner)
        if (rank <= ranks.served || (head === undefined && !isNew)) ranks.last.delete(owner)
      }
    }
  }
}

function schemaOf ({ schema }: Connection): string { return `${schema}_jobs` }

function adapter (session: Session): { executeSql: (text: string, values?: unknown[]) => Promise<{ rows: object[] }> } {
  return { executeSql: async (text, values) => ({ rows: await session.run(text, values) }) }
}

async function importBoss (): Promise<typeof import('pg-boss')> {
  try {
    return await import('pg-boss')
  } catch (error) {
    if (!isMissingPackage(error)) throw error
    throw new StoreDatabaseError('PostgreSQL', 'the package pg-boss is missing; run npm install pg-boss@12.35.0')
  }
}
