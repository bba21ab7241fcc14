import type { Principal } from '@polyvac/core'
import { BYTES_PER_CHAR, yieldToEventLoop, type HeldBytes } from '@polyvac/core/plugin'
import type { LogLevel } from '@polyvac/mcp-protocol'
import type { Following, LinkEntry, ReplicaLink } from '@polyvac/tasks'
import type { Json, Notification, Request, RequestId, Response } from '../protocol/rpc.js'
import { cutEvent } from './event-pieces.js'
import type { EventLog } from './event-store.js'
import { SESSION_ID_MS } from './session-ids.js'

/** What happens to a session that all its replicas must know. */
export type Change =
  { readonly level: LogLevel } | { readonly subscribe: string } | { readonly unsubscribe: string } |
  { readonly cancel: RequestId } | { readonly reader: string } | { readonly end: true } |
  { readonly post: Message, readonly principal?: Principal | null }

/** A message of a client over HTTP+SSE, whose POST reached another replica than its stream. */
export type Message = Request | Notification | Response

/** What a client has of an earlier run of its request. */
export interface Sent {
  /** The last progress of the events that are stored. */
  readonly progress: number
  /** How many entries the events after those have: a replica sends an event before it is stored. */
  readonly unstored: number
}

/** The id of the standalone stream. The store numbers its events, since all replicas send on it. */
export const STANDALONE = '0'
/** The text after the last event of a stream. */
export const END = ''

/** Time for which the events of a call, and answers to it, are kept after the last one, in ms. */
const STREAM_MS = 30 * 60_000
/** Bytes of an event that is not stored yet, besides its text. */
const EVENT_BYTES = 300
const ASKED = /^ask-([0-9a-z-]{1,40})-\d{1,10}$/

/** The part of a session that all replicas have in common, in streams of their link. */
export class SharedSession implements EventLog {
  readonly #link: ReplicaLink
  readonly #key: string
  readonly #owner: string
  readonly #onFailure: (err: unknown) => void
  /** The streams with a large event that is not written yet. */
  // @keyed none: the keys are streams of one session, those with a large event that is being written
  readonly #large = new Map<string, Promise<void>>()
  #log: Following | undefined
  #answers: Promise<Following> | undefined
  #isClosed = false

  /** @param onFailure gets the error of a write that nothing waits for */
  constructor (link: ReplicaLink, key: string, owner: string | undefined, onFailure: (err: unknown) => void) {
    this.#link = link
    this.#key = key
    this.#owner = owner ?? ''
    this.#onFailure = onFailure
  }

  get replica (): string { return this.#link.id }

  /** Applies the changes so far, then later ones, until `close`. */
  async open (apply: (change: Change) => void): Promise<void> {
    const read = (entries: readonly LinkEntry[]): void => {
      for (const { text } of entries) if (!this.#isClosed) apply(JSON.parse(text) as Change)
    }
    const log = this.#log = await this.follow('log', 0, read)
    if (this.#isClosed) log.stop()
    read(log.entries)
  }

  close (): void {
    this.#isClosed = true
    this.#log?.stop()
    this.#answers?.then(({ stop }) => { stop() }, () => {})
  }

  async write (change: Change): Promise<void> {
    await this.#append('log', JSON.stringify(change), 'post' in change ? STREAM_MS : SESSION_ID_MS)
  }

  /** Sends a message on the standalone stream. */
  notify (text: string): void {
    this.#append(STANDALONE, text, SESSION_ID_MS).catch(this.#onFailure)
  }

  /** The events of a stream. @param after default: the newest one */
  async follow (stream: string, after: number | undefined, onEntries: (entries: readonly LinkEntry[]) => void): Promise<Following> {
    return await this.#link.follow(`${this.#key}/${stream}`, after, onEntries)
  }

  /** Whether the replica that numbers a stream runs. */
  async isServed (stream: string): Promise<boolean> {
    return await this.#link.isAlive(stream.slice(0, stream.lastIndexOf('-')))
  }

  /** Begins the stream of a call with its requests; from when this resolves on another replica can take it over. */
  async begin (stream: string, requests: string): Promise<void> {
    await this.#append(stream, requests, STREAM_MS, -1)
  }

  /**
   * The stream that goes on with one whose replica has ended: `own` where this is the first to ask, on all replicas.
   * The entry 0 of a stream, which keeps the text that was written first, decides.
   */
  async successor (stream: string, own: string): Promise<string> {
    // no client can name it
    const name = `next/${stream}`
    for (const isLast of [false, true]) {
      const { entries: [first], stop } = await this.follow(name, -1, () => {})
      stop()
      if (first !== undefined) return first.text
      if (!isLast) await this.#append(name, own, STREAM_MS, -1)
    }
    throw new Error(`the link lost the successor of the stream ${stream}`)
  }

  /**
   * Keeps an event of a call; its number is that of its last entry. It is written soon; one that the memory budget does
   * not allow leaves a gap.
   */
  add (stream: string, seq: number, json: Json, held: HeldBytes): number {
    const entries = cutEvent(json)
    const bytes = json.length * BYTES_PER_CHAR + EVENT_BYTES
    if (held.tryGrow(bytes)) {
      this.#appendEvent(stream, seq, entries).catch(this.#onFailure).finally(() => { held.shrink(bytes) })
    }
    return seq + entries.length - 1
  }

  end (stream: string, seq: number): void {
    this.#appendEvent(stream, seq, [() => END]).catch(this.#onFailure)
  }

  /** Passes on the responses to server requests of this replica that others get. */
  listen (settle: (response: Response) => void): void {
    const read = (entries: readonly LinkEntry[]): void => {
      for (const { text } of entries) settle(JSON.parse(text) as Response)
    }
    if (this.#answers !== undefined) return
    this.#answers = this.follow(`answers-${this.replica}`, 0, read)
    this.#answers.then(({ entries, stop }) => {
      read(entries)
      if (this.#isClosed) stop()
    }, err => {
      this.#answers = undefined
      this.#onFailure(err)
    })
  }

  /** Passes a response to the replica that asked; undefined if its id names none. */
  answer (response: Response): Promise<void> | undefined {
    const replica = ASKED.exec(String(response.id))?.[1]
    if (replica === undefined || replica === this.replica) return undefined
    return this.#append(`answers-${replica}`, JSON.stringify(response), STREAM_MS)
  }

  /** Appends the entries of an event; those of a large one in turns of the event loop, and later events after them. */
  #appendEvent (stream: string, seq: number, entries: ReadonlyArray<() => string>): Promise<void> {
    const before = this.#large.get(stream)
    if (before === undefined && entries.length === 1) return this.#append(stream, entries[0]!(), STREAM_MS, seq - 1)
    const appended = (async () => {
      await before
      for (const [i, entry] of entries.entries()) {
        await yieldToEventLoop()
        await this.#append(stream, entry(), STREAM_MS, seq - 1 + i)
      }
    })()
    const settled = appended.catch(() => {}).finally(() => { if (this.#large.get(stream) === settled) this.#large.delete(stream) })
    this.#large.set(stream, settled)
    return appended
  }

  async #append (stream: string, text: string, ttlMs: number, after?: number): Promise<void> {
    await this.#link.append(`${this.#key}/${stream}`, [text], { owner: this.#owner, ttlMs, after })
  }

  /** Readers follow a shared stream. */
  after (): undefined {}

  /** The store deletes events by their age. */
  drop (): void {}
}
