import { releaseLeases } from './outbox-rows.js'
import { WORK, type StoreContext } from './store-context.js'

/** How long the lock of a replica is free before its tasks are taken: a lost connection is back by then. */
const GRACE_MS = 1_500
/** Tasks taken in one transaction. */
const BATCH = 500

/**
 * Gives the tasks and deliveries of dead replicas back to the queue. A replica lives while its session holds its
 * advisory lock, which the server releases at once when the process dies. One that is frozen keeps it: the heartbeats
 * of its jobs end.
 */
export class Replicas {
  readonly #context: StoreContext
  /** Since when locks are free. */
  // @keyed none: the keys are numbers of processes
  readonly #free = new Map<number, number>()

  constructor (context: StoreContext) { this.#context = context }

  async look (): Promise<void> {
    const { connection } = this.#context
    const dead = await connection.run<{ id: number }>(`SELECT id FROM ${connection.table('replica')} r WHERE NOT EXISTS (SELECT FROM pg_locks l
      WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND l.classid::bigint = $1 AND l.objid::bigint = r.id)`, [connection.listener.lock >>> 0])
    const ids = new Set(dead.map(({ id }) => id))
    for (const id of this.#free.keys()) if (!ids.has(id)) this.#free.delete(id)
    const now = performance.now()
    const lost = [...ids].filter(id => {
      const since = this.#free.get(id)
      if (since === undefined) this.#free.set(id, now)
      return since !== undefined && now - since >= GRACE_MS
    })
    if (lost.length > 0) await this.#takeFrom(lost)
  }

  async #takeFrom (lost: readonly number[]): Promise<void> {
    const { connection, tasks, queue, settings, nudge } = this.#context
    for (let last = BATCH; last === BATCH;) {
      const queues = await connection.transaction(async transaction => {
        const rows = await tasks.takeFrom(transaction, lost, BATCH)
        const jobs = new Map<string, string[]>()
        for (const { queue, job } of rows) jobs.set(queue, [...jobs.get(queue) ?? [], job])
        for (const [name, ids] of jobs) {
          await queue.retry(transaction, name, ids)
          transaction.notify(WORK, name)
        }
        last = rows.length
        if (last < BATCH) {
          await releaseLeases(transaction, connection, lost)
          await transaction.run(`DELETE FROM ${connection.table('replica')} WHERE id = ANY($1)`, [lost])
        }
        if (last > 0) settings.log.warn({ replicas: lost, tasks: last }, 'tasks of replicas that have died are taken over')
        return [...jobs.keys()]
      })
      for (const name of queues) nudge(name)
    }
    for (const id of lost) this.#free.delete(id)
  }
}
