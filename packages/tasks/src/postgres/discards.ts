import type { TaskLogger } from '../basics/logger.js'
import type { Connection } from './connection.js'
import type { JobQueue } from './queue.js'

const WAIT_MS = 20
const MAX_WAITING = 50_000

/**
 * Deletes the jobs of turns that have ended, some time after the end: a job that outlives its turn is fetched once
 * more, and dropped by that worker.
 */
export class Discards {
  readonly #connection: Connection
  readonly #queue: JobQueue
  readonly #log: TaskLogger
  // @keyed none: the keys are queues of the code; MAX_WAITING jobs
  readonly #waiting = new Map<string, string[]>()
  #count = 0
  #flushing: Promise<void> | undefined

  constructor (connection: Connection, queue: JobQueue, log: TaskLogger) {
    this.#connection = connection
    this.#queue = queue
    this.#log = log
  }

  add (queue: string, job: string): void {
    if (this.#count >= MAX_WAITING) return
    const jobs = this.#waiting.get(queue)
    if (jobs === undefined) this.#waiting.set(queue, [job])
    else jobs.push(job)
    this.#count++
    this.#flushing ??= this.#flush()
  }

  async close (): Promise<void> { await this.#flushing }

  async #flush (): Promise<void> {
    while (this.#count > 0) {
      await new Promise(resolve => setTimeout(resolve, WAIT_MS))
      const all = [...this.#waiting]
      this.#waiting.clear()
      this.#count = 0
      for (const [queue, jobs] of all) {
        await this.#queue.discard(this.#connection, queue, jobs).catch((error: unknown) => {
          this.#log.debug({ err: error, jobs: jobs.length }, 'jobs of ended turns could not be deleted')
        })
      }
    }
    this.#flushing = undefined
  }
}
