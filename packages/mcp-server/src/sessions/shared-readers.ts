import { Bytes, BYTES_PER_CHAR, isDestroyed, memoryBudget, ownerOf, SseBody, yieldToEventLoop, type HeldBytes } from '@polyvac/core/plugin'
import { features } from '@polyvac/mcp-protocol'
import type { Following, LinkEntry } from '@polyvac/tasks'
import type { FastifyReply } from 'fastify'
import { whenOver } from '../http/message-stream.js'
import { messageHead, refusal, type Request, type RequestId } from '../protocol/rpc.js'
import { EventPieces } from './event-pieces.js'
import type { Session } from './session.js'
import { END, STANDALONE, type Sent, type SharedSession } from './shared-session.js'

/** Interval in which a reader checks that the replica of its stream runs, in ms. */
const CHECK_MS = 1_000
/** The same for the beginning of the stream of the reader that has taken over, in ms. */
const BEGIN_MS = 50

const notKept = (): Error => refusal('Last-Event-ID names an event that is not kept; open a stream without it')

/** Makes a response the reader of the standalone stream of a session. @param after its last event, if it resumes */
export async function readStandalone (
  reply: FastifyReply, session: Session, shared: SharedSession, after?: number
): Promise<void> {
  const body = new SseBody(reply)
  const send = (entries: readonly LinkEntry[]): void => {
    for (const { seq, text } of entries) void body.event('message', text, `${STANDALONE}_${seq}`)
    if (body.isFull) body.finish()
  }
  const following = await begin(body, async () => {
    const leave = await session.read(body)
    whenOver(reply, leave)
    const following = await shared.follow(STANDALONE, after, send)
    whenOver(reply, () => { following.stop() })
    if (after !== undefined && hasGap(following.entries, after)) throw notKept()
    return following
  })
  const isNew = after === undefined || after > following.seq
  if (isNew && features[session.revision].primingEvents) body.prime(`${STANDALONE}_${following.seq}`)
  else body.comment('open')
  send(following.entries)
}

/** Runs calls whose replica has ended at this replica. */
export interface TakeOver {
  /** The id of a stream for them. */
  nextStream (): string
  /** Runs the requests that have no response. `sent`: what their client has. */
  run (stream: string, requests: readonly Request[], body: SseBody, sent: Sent): void
}

/**
 * Resumes the stream of a call, after the event with number `seq`. Once the replica of the stream has ended, one of its
 * readers takes its calls over, and the others follow the stream of that one.
 */
export async function resumeStream (
  reply: FastifyReply, shared: SharedSession, { stream, seq: after }: { readonly stream: string, readonly seq: number }, takeOver: TakeOver
): Promise<void> {
  const body = new SseBody(reply)
  const reader = new StreamReader(reply, body, stream, after)
  let following: Following | undefined
  /** The stream in which this reader would run the calls. */
  let own: string | undefined
  whenOver(reply, () => {
    following?.stop()
    reader.close()
  })
  const follow = async (): Promise<Following> => {
    const followed = await shared.follow(reader.stream, -1, entries => { reader.read(entries).catch(() => { reply.raw.destroy() }) })
    if (isDestroyed(reply.raw)) followed.stop()
    return followed
  }
  following = await begin(body, async () => {
    const followed = following = await follow()
    const rest = followed.entries.filter(({ seq }) => seq > after)
    if (followed.entries[0]?.seq !== 0 || hasGap(rest, after)) throw notKept()
    // clients would come back for ever
    if (rest[0]?.text === END) throw refusal('the stream has ended, and the client has all of it', 405)
    return followed
  })
  body.comment('open')
  await reader.read(following.entries)
  /** Follows the stream of the reader that has taken over, once that has begun. */
  const begun = async (): Promise<boolean> => {
    const followed = await follow()
    if (followed.entries[0]?.seq !== 0) {
      followed.stop()
      return false
    }
    following = followed
    await reader.read(followed.entries).catch(() => { reply.raw.destroy() })
    return true
  }
  const check = async (): Promise<void> => {
    if (following === undefined && await begun()) return
    if (reader.hasEnded || await shared.isServed(reader.stream)) return
    following?.stop()
    await reader.read([])
    // what the replica wrote last
    const last = await shared.follow(reader.stream, reader.seq, () => {})
    last.stop()
    await reader.read(last.entries)
    if (reader.hasEnded || isDestroyed(reply.raw)) return
    if (reader.open.length === 0) {
      reader.hasEnded = true
      return body.finish()
    }
    own ??= takeOver.nextStream()
    const next = await shared.successor(reader.stream, own)
    if (next === own) {
      // also where the client has left: other readers follow it
      reader.hasEnded = true
      return takeOver.run(own, reader.open, body, reader.sent)
    }
    following = own = undefined
    reader.goOn(next)
  }
  let timer: NodeJS.Timeout | undefined
  const watch = (): void => {
    check().catch(() => { /* the store is away: the next check */ }).finally(() => {
      if (!reader.hasEnded && !isDestroyed(reply.raw)) timer = setTimeout(watch, following === undefined ? BEGIN_MS : CHECK_MS).unref()
    })
  }
  whenOver(reply, () => { clearTimeout(timer) })
  watch()
}

/** Sends the entries of a call's stream to its reader. */
class StreamReader {
  readonly #body: SseBody
  #after: number
  readonly #reply: FastifyReply
  // @keyed id of a request, which a caller chose | holds: the request, until its response | whose: the owner of the
  //   session | bound: maxBatch; MAX_ID_CHARS, and MAX_KEPT_CHARS for parameters | share: one reader: the memory
  //   budget of its owner counts what waits | test: packages/mcp-server/test/replicas.test.ts: a client resumes a
  //   stream through another replica, which follows it
  readonly #requests = new Map<RequestId, Request>()
  #pieces = new EventPieces()
  readonly #held: HeldBytes
  #reading = Promise.resolve()
  seq = -1
  /** The last entry of the last whole event. */
  whole = 0
  /** The last progress that was sent. */
  progress = -Infinity
  hasEnded = false

  constructor (reply: FastifyReply, body: SseBody, public stream: string, after: number) {
    this.#reply = reply
    this.#held = memoryBudget.hold('events that wait for their reader', ownerOf(reply.request))
    this.#body = body
    this.#after = after
  }

  /** What the client has. Events of a batch do not name their request. */
  get sent (): Sent {
    return { progress: this.progress, unstored: this.#requests.size === 1 ? Math.max(0, this.#after - this.whole) : 0 }
  }

  /** Reads the stream of another replica, which goes on with this one. */
  goOn (stream: string): void {
    this.stream = stream
    this.seq = this.#after = -1
    this.whole = 0
    this.#pieces = new EventPieces()
  }

  /** The requests without a response. */
  get open (): Request[] { return [...this.#requests.values()] }

  /** Sends entries behind those of earlier calls; resolves once it has. */
  read (entries: readonly LinkEntry[]): Promise<void> {
    this.#reading = this.#reading.then(async () => { for (const entry of entries) await this.#read(entry) })
    return this.#reading
  }

  async #read ({ seq, text }: LinkEntry): Promise<void> {
    // an entry between was not written, or is deleted
    if (seq > this.#after && seq !== Math.max(this.seq, this.#after) + 1) throw notKept()
    this.seq = seq
    if (seq === 0) {
      for (const request of JSON.parse(text) as Request[]) this.#requests.set(request.id, request)
      return
    }
    if (text === END) {
      this.hasEnded = true
      this.#body.finish()
      return
    }
    const pieces = this.#pieces.add(text)
    if (!this.#held.tryResize(this.#pieces.chars * BYTES_PER_CHAR)) this.#reply.raw.destroy()
    if (pieces === undefined) return
    this.whole = seq
    this.#note(pieces.length === 1 ? JSON.parse(text) as Partial<Request> : messageHead(pieces[0]!))
    if (seq > this.#after) void this.#body.event('message', pieces.length === 1 ? text : await bytesOf(pieces), `${this.stream}_${seq}`)
  }

  #note ({ id, method, params }: Partial<Request>): void {
    if (method === 'notifications/progress') this.progress = Math.max(this.progress, Number(params?.progress))
    if (id !== undefined && method === undefined) this.#requests.delete(id)
  }

  close (): void {
    this.#held.release()
  }
}

/** Texts as bytes, in turns of the event loop. */
async function bytesOf (texts: readonly string[]): Promise<Bytes> {
  const pieces = []
  for (const text of texts) {
    await yieldToEventLoop()
    pieces.push(Buffer.from(text))
  }
  return new Bytes(pieces)
}

/** Whether entries after number `after` are deleted, or were not written. */
function hasGap (entries: readonly LinkEntry[], after: number): boolean {
  return entries.some(({ seq }, i) => seq !== after + 1 + i)
}

/** Closes a body that could not begin. */
async function begin (body: SseBody, open: () => Promise<Following>): Promise<Following> {
  try {
    return await open()
  } catch (err) {
    body.destroy()
    throw err
  }
}
