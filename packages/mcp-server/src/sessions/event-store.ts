import { BYTES_PER_CHAR, type HeldBytes } from '@polyvac/core/plugin'
import type { Json } from '../protocol/rpc.js'

/** Bounds of the events that are kept for clients that resume a stream. */
export interface EventStoreLimits {
  /** Events of one stream. */
  readonly perStream: number
  /** Events of all streams. */
  readonly events: number
  /** Text of all events, in characters. */
  readonly chars: number
}

/** Keeps the events of streams, in numbers from 1 on. */
export interface EventLog {
  /** Adds an event, and returns its number, `seq` or a later one. @param held counts the bytes of the events */
  add (stream: string, seq: number, text: Json, held: HeldBytes): number
  /** Notes that the stream has ended, in place of the event `seq`. */
  end (stream: string, seq: number): void
  /** The events after number `seq`; undefined if some of them are deleted. */
  after (stream: string, seq: number): Array<{ readonly seq: number, readonly text: Json }> | undefined
  drop (stream: string): void
}

interface StoredEvent { readonly stream: string, readonly seq: number, readonly text: Json, readonly held: HeldBytes }

/** Bytes of what an event has besides its text. */
const EVENT_BYTES = 200

/**
 * The last events of each stream, oldest first. When a bound is reached, the oldest of all is deleted; when the memory
 * budget is, the oldest of the stream. An event that does not fit then is not kept.
 */
export class EventStore implements EventLog {
  readonly #limits: EventStoreLimits
  // @keyed stream of a session | holds: its last events | whose: the owner of the session | bound: maxStreamEvents
  //   for a stream | share: the owner: the memory budget | test: packages/mcp-server/test/sessions.test.ts: events
  //   that do not fit the memory budget are not kept, and the oldest of their stream go first
  readonly #streams = new Map<string, StoredEvent[]>()
  /** All events in the order of their arrival. */
  // @keyed order of arrival over all sessions | holds: the same events | whose: the owners of the sessions | bound:
  //   maxEvents and maxEventChars; then the oldest one of all leaves | share: of no owner in number: events of others
  //   make the oldest one leave; in bytes, the memory budget of the owner | test:
  //   packages/mcp-server/test/sessions.test.ts: the event store deletes the oldest event at each bound
  readonly #all = new Set<StoredEvent>()
  #chars = 0

  constructor (limits: EventStoreLimits) {
    this.#limits = limits
  }

  get size (): number { return this.#all.size }
  get chars (): number { return this.#chars }

  add (stream: string, seq: number, text: Json, held: HeldBytes): number {
    const { perStream, events, chars } = this.#limits
    const event = { stream, seq, text, held }
    let own = this.#streams.get(stream)
    while (!held.tryGrow(bytesOf(event))) {
      const [oldest] = own ?? []
      if (oldest === undefined) return seq
      this.#deleteOldest(oldest)
    }
    own = this.#streams.get(stream)
    if (own === undefined) this.#streams.set(stream, own = [])
    own.push(event)
    this.#all.add(event)
    this.#chars += text.length
    if (own.length > perStream) this.#deleteOldest(own[0]!)
    while (this.#all.size > events || this.#chars > chars) this.#deleteOldest(this.#all.values().next().value!)
    return seq
  }

  after (stream: string, seq: number): Array<{ readonly seq: number, readonly text: Json }> | undefined {
    const own = this.#streams.get(stream) ?? []
    const rest = own.filter(event => event.seq > seq)
    return rest.length > 0 && rest[0]!.seq !== seq + 1 ? undefined : rest
  }

  end (): void {}

  drop (stream: string): void {
    for (const event of this.#streams.get(stream) ?? []) this.#forget(event)
    this.#streams.delete(stream)
  }

  /** @param event the oldest of its stream */
  #deleteOldest (event: StoredEvent): void {
    const own = this.#streams.get(event.stream)
    own?.shift()
    if (own?.length === 0) this.#streams.delete(event.stream)
    this.#forget(event)
  }

  #forget (event: StoredEvent): void {
    this.#all.delete(event)
    this.#chars -= event.text.length
    event.held.shrink(bytesOf(event))
  }
}

function bytesOf ({ text }: StoredEvent): number {
  return text.length * BYTES_PER_CHAR + EVENT_BYTES
}
