import { isTaskError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import type { Bell, Readers } from '../log/readers.js'
import type { EventBody, TaskEvent } from '../contract/task.js'
import type { Connection } from './connection.js'
import type { FoundPlace, Place, TaskLog } from './task-log.js'
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
  /** The epoch of the listener in which the logs were found to be those that the readers have begun. */
  #sureSince: number
  #looking: Promise<void> | undefined
  #again = false

  constructor (connection: Connection, tasks: TaskLog, readers: Readers, log: TaskLogger) {
    this.#connection = connection
    this.#tasks = tasks
    this.#readers = readers
    this.#log = log
    this.#sureSince = connection.listener.epoch
    connection.listener.onMissed(() => { this.lookAgain() })
  }

  /** Whether the database is known to have the logs that the readers have begun. */
  get isSure (): boolean { return this.#sureSince === this.#connection.listener.epoch }

  /** Resolves once no later event of the task is missed. */
  readonly follow = async (key: number): Promise<void> => { await this.#connection.listener.listen(shardOf(key), this.#hear) }

  /** A line `key:seq:data` for each event, or `key:seq` for each task where its events are too large for a message. */
  readonly #hear = (payload: string): void => {
    // what this message is about is read after that
    if (!this.isSure) return this.lookAgain()
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
        if (!this.isSure) return this.lookAgain()
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

  /**
   * Wakes the readers of all tasks with events that they lack, and of purged tasks. It ends those whose log is not the
   * one that they have begun, as after a failover to a server that was behind.
   */
  lookAgain (): void {
    if (this.#looking !== undefined) { this.#again = true; return }
    this.#looking = this.#look().catch((error: unknown) => { this.#failed(error) }).finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      this.#again = false
      this.lookAgain()
    })
  }

  async #look (): Promise<void> {
    const { epoch } = this.#connection.listener
    const bells = [...this.#readers.all()].map(([key, bell]) => ({ key, bell, cursor: bell.cursor, last: bell.last }))
    const places = new Map<string, Place>(bells.map(({ key, cursor }) => [`${key}:${cursor}`, { key, seq: cursor }]))
    const found = new Map<string, FoundPlace | undefined>()
    if (places.size > 0) for (const [i, place] of (await this.#tasks.places([...places.values()])).entries()) found.set([...places.keys()][i] as string, place)
    let ended = 0
    const seqs = new Map<number, number | undefined>()
    for (const { key, bell, cursor, last } of bells) {
      const place = found.get(`${key}:${cursor}`)
      if (seqs.get(key) === undefined) seqs.set(key, place?.last)
      if (place === undefined || isLogOf(place, bell, last)) continue
      bell.end()
      ended++
    }
    if (ended > 0) this.#log.warn({ readers: ended }, 'the database lacks events that it had, as after a failover to a server that was behind; their readers end')
    if (epoch === this.#connection.listener.epoch) this.#sureSince = epoch
    this.#readers.lookAgain(key => {
      const known = this.#readers.seqOf(key) ?? 0
      if (!seqs.has(key)) return known
      const seq = seqs.get(key)
      // meanwhile, this replica may have written more
      return seq === undefined ? undefined : Math.max(known, seq)
    })
  }

  #failed (error: unknown): void {
    // readers look again by the next timer
    if (!isTaskError(error, 'TASK_STORE_CLOSED')) this.#log.debug({ err: error }, 'events could not be read')
  }
}

function eventOf (seq: number, data: string): TaskEvent { return Object.assign({ seq }, JSON.parse(data) as EventBody) }

/** Whether the log is the one of which a reader has the event `last`: one of another history has another time. */
function isLogOf ({ id, head }: FoundPlace, bell: Bell, last: TaskEvent | undefined): boolean {
  return id === bell.id && (last === undefined || Number(/^\{"at":(\d+)/.exec(head ?? '')?.[1]) === last.at)
}
