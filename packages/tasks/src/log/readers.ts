import type { TaskEvent } from '../contract/task.js'

/** The last events of a task, kept in memory for readers that have all earlier ones. */
const TAIL_EVENTS = 64
const TAIL_CHARS = 256 * 1024

/**
 * Wakes one reader. It remembers a call that came while the reader did not wait, so that none is lost; and the place of
 * the reader, so that a store knows whether its log still is the one that was read.
 */
export class Bell {
  #rung = false
  #wake: (() => void) | undefined
  /** Number of the last event that the reader has. */
  cursor = 0
  /** The last event that the reader got itself. */
  last: TaskEvent | undefined
  /** Whether the store has ended the reader. */
  hasEnded = false

  /** @param id of the task */
  constructor (readonly id: string) {}

  end (): void {
    this.hasEnded = true
    this.ring()
  }

  ring = (): void => {
    this.#rung = true
    this.#wake?.()
  }

  async heard (): Promise<void> {
    if (!this.#rung) await new Promise<void>(resolve => { this.#wake = resolve })
    this.#wake = undefined
    this.#rung = false
  }
}

interface Watched {
  // @keyed none: one for each open stream of a task in this process, which the plugins bound
  readonly bells: Set<Bell>
  /** Consecutive events, or none. */
  tail: TaskEvent[]
  tailChars: number
  /** Number of the last event for which its readers were woken. */
  seq: number
}

/** The readers of each task in this process. A task without readers has no entry. */
export class Readers {
  // @keyed number of a task | holds: its last events, and the readers that wait | whose: the owner of the task |
  //   bound: tasks with a reader; TAIL_EVENTS and TAIL_CHARS for each; an entry ends with the last reader | share:
  //   the owner: the streams that it may have open; the tail is not counted in the memory budget | test:
  //   packages/tasks/test/readers.test.ts: a reader that is behind when it is woken for an event of another process
  //   gets that event
  readonly #watched = new Map<number, Watched>()

  enter (key: number, bell: Bell): void {
    let watched = this.#watched.get(key)
    if (watched === undefined) this.#watched.set(key, watched = { bells: new Set(), tail: [], tailChars: 0, seq: 0 })
    watched.bells.add(bell)
  }

  leave (key: number, bell: Bell): void {
    const watched = this.#watched.get(key)
    watched?.bells.delete(bell)
    if (watched?.bells.size === 0) this.#watched.delete(key)
  }

  /** Events that this process has committed. */
  written (key: number, events: readonly TaskEvent[], chars: number): void {
    const watched = this.#watched.get(key)
    const last = events.at(-1)
    if (watched === undefined || last === undefined) return
    // another process may have written in the meantime
    if (watched.tail.at(-1)?.seq !== (events[0] as TaskEvent).seq - 1) watched.tail = []
    if (watched.tail.length === 0 || watched.tailChars + chars > TAIL_CHARS) {
      watched.tail = []
      watched.tailChars = 0
    }
    if (chars <= TAIL_CHARS) {
      watched.tail = [...watched.tail, ...events].slice(-TAIL_EVENTS)
      watched.tailChars += chars
    }
    watched.seq = last.seq
    for (const bell of watched.bells) bell.ring()
  }

  /** The events after number `after`, where the tail has them all. */
  tailAfter (key: number, after: number): TaskEvent[] | undefined {
    const tail = this.#watched.get(key)?.tail
    if (tail?.[0] === undefined || tail[0].seq > after + 1 || (tail.at(-1)?.seq ?? 0) <= after) return undefined
    return tail.slice(after + 1 - tail[0].seq)
  }

  /** The tasks with readers. */
  get keys (): number[] { return [...this.#watched.keys()] }

  /** Number of the last event for which readers of a task were woken, 0 before the first. Undefined: it has none. */
  seqOf (key: number): number | undefined { return this.#watched.get(key)?.seq }

  /** Wakes the readers of a task for events that they read themselves. */
  wake (key: number, seq: number): void {
    const watched = this.#watched.get(key)
    if (watched === undefined) return
    // the tail lacks these events: a reader that has not read all of it would wait behind its end
    watched.tail = []
    watched.seq = seq
    for (const bell of watched.bells) bell.ring()
  }

  /** After a commit of another process: wakes the readers of tasks with new events. `seqOf`: undefined once purged. */
  lookAgain (seqOf: (key: number) => number | undefined): void {
    for (const [key, watched] of this.#watched) {
      const seq = seqOf(key) ?? -1
      if (seq !== watched.seq) this.wake(key, seq)
    }
  }

  /** Each reader, with the key of its task. */
  * all (): Generator<readonly [key: number, bell: Bell]> {
    for (const [key, { bells }] of this.#watched) for (const bell of bells) yield [key, bell]
  }

  ringAll (): void {
    for (const { bells } of this.#watched.values()) for (const bell of bells) bell.ring()
  }
}
