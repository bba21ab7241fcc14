import { isTaskError } from '../errors.js'
import type { TaskLogger } from '../logger.js'
import type { Readers } from '../readers.js'
import type { EventBody, TaskEvent } from '../task.js'
import type { Connection } from './connection.js'
import type { TaskLog } from './task-log.js'
import { shardOf } from './task-statements.js'

/** Tasks that are read together, and rows of each. */
const TASKS = 256
const ROWS = 64

/** Passes the events that other replicas have written to the readers: read once, however many readers a task has. */
export class Follower {
  readonly #connection: Connection
  readonly #tasks: TaskLog
  readonly #readers: Readers
  readonly #log: TaskLogger
  /** Numbers of the last events of tasks whose readers lack some. */
  // @keyed none: the keys are those of `Readers`: tasks with a reader in this process
  readonly #pending = new Map<number, number>()
  #isReading = false

  constructor (connection: Connection, tasks: TaskLog, readers: Readers, log: TaskLogger) {
    this.#connection = connection
    this.#tasks = tasks
    this.#readers = readers
    this.#log = log
    connection.listener.onMissed(() => { this.lookAgain() })
  }

  /** Resolves once no later event of the task is missed. */
  readonly follow = async (key: number): Promise<void> => { await this.#connection.listener.listen(shardOf(key), this.#hear) }

  /** A line `key:seq:data` for each event, or `key:seq` for each task where its events are too large for a message. */
  readonly #hear = (payload: string): void => {
    for (const line of payload.split('\n')) {
      const [, first = '', second = '', data] = /^(\d+):(\d+)(?::(.*))?$/.exec(line) ?? []
      const [key, seq] = [Number(first), Number(second)]
      const known = this.#readers.seqOf(key)
      if (known === undefined || known >= seq) continue
      // readers that came later read their first page themselves
      if (known === 0) this.#readers.wake(key, seq)
      else if (data !== undefined && known === seq - 1) this.#readers.written(key, [eventOf(seq, data)], data.length)
      else this.#pending.set(key, seq)
    }
    this.#read().catch((error: unknown) => { this.#failed(error) })
  }

  async #read (): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#pending.size > 0) {
        const some: (readonly [number, number])[] = []
        for (const key of [...this.#pending.keys()].slice(0, TASKS)) {
          this.#pending.delete(key)
          const after = this.#readers.seqOf(key)
          if (after !== undefined) some.push([key, after])
        }
        const found = new Map<number, { events: TaskEvent[], chars: number }>()
        const rows = await this.#tasks.tails(some)
        if (rows[0]?.cut === true) {
          const read = new Set(rows.map(({ key }) => key))
          // those that had none of the page come first in the next one
          const [left, again] = [some.filter(([key]) => !read.has(key)), some.filter(([key]) => read.has(key))]
          for (const [key] of [...left, ...again]) this.#pending.set(key, Number.MAX_SAFE_INTEGER)
        }
        for (const { key, seq, data } of rows) {
          if (seq <= (this.#readers.seqOf(key) ?? seq)) continue
          let one = found.get(key)
          if (one === undefined) found.set(key, one = { events: [], chars: 0 })
          one.events.push(eventOf(seq, data))
          one.chars += data.length
        }
        for (const [key, { events, chars }] of found) {
          this.#readers.written(key, events, chars)
          if (events.length === ROWS) this.#pending.set(key, Number.MAX_SAFE_INTEGER)
        }
      }
    } finally {
      this.#isReading = false
    }
  }

  /** Wakes the readers of all tasks with events that they lack, and of purged tasks. */
  lookAgain (): void {
    const { keys } = this.#readers
    if (keys.length === 0) return
    this.#tasks.seqs(keys).then(seqs => {
      const now = new Set(keys)
      this.#readers.lookAgain(key => {
        const [known = 0, seq] = [this.#readers.seqOf(key), seqs.get(key)]
        // meanwhile, this replica may have written more
        return !now.has(key) ? known : seq === undefined ? undefined : Math.max(known, seq)
      })
    }).catch((error: unknown) => { this.#failed(error) })
  }

  #failed (error: unknown): void {
    // readers look again by the next timer
    if (!isTaskError(error, 'TASK_STORE_CLOSED')) this.#log.debug({ err: error }, 'events could not be read')
  }
}

function eventOf (seq: number, data: string): TaskEvent { return Object.assign({ seq }, JSON.parse(data) as EventBody) }
