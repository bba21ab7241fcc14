import { Readable, Transform, type TransformCallback } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ownerOf } from '../access/authentication.js'
import { Disconnects } from './client-disconnect.js'
import { BodyTooDeepError, TooManyValuesError } from '../basics/errors.js'
import { MAX_BODY_DEPTH } from './json-body.js'
import { Bytes, isLargeJson, jsonBytes } from '../limits/json-pieces.js'
import { JsonScan, type JsonBounds } from '../limits/json-scan.js'
import { memoryBudget, type HeldBytes } from '../limits/memory-budget.js'
import { MAX_STALL_MS } from './send-stream.js'

/** Bodies up to this size are not counted one by one: the bound of connections and calls bounds them. */
const SMALL_BODY_BYTES = 16 * 1024
/** Most values of a body of JSON, as JsonScan counts them: parsing more keeps the event loop longer than 50 ms. */
export const MAX_BODY_VALUES = 150_000
const BOUNDS: JsonBounds = { depth: MAX_BODY_DEPTH, values: MAX_BODY_VALUES, valuesOfName: 3 }
/** Memory of one parsed value, about. */
const VALUE_BYTES = 40
/**
 * How often a body counts in the memory budget: the text, the parsed strings, and what the answer is made of meanwhile.
 * A question of 1 MiB had 5 in the heap.
 */
export const BODY_COPIES = 4
/** Longer answers are sent in slices, at the pace of the reader. */
const SLICE_BYTES = 64 * 1024
const LARGE_ANSWER_BYTES = 4 * SLICE_BYTES

const disconnects = new Disconnects()

/** Scopes whose parent bounds their memory already. */
// @keyed none: the keys are scopes of the application
const bounded = new WeakSet<FastifyInstance>()

/**
 * Bounds the memory of the requests of a scope: it counts the bytes of bodies and of answers that wait for their reader
 * in the budget of the process, refuses bodies of JSON that are too deep or have too many values before they are
 * parsed, makes the JSON of large answers in turns of the event loop, and disconnects the reader of such an answer who
 * takes nothing for `stallMs`.
 */
export function boundMemory (scope: FastifyInstance, stallMs = MAX_STALL_MS): void {
  for (let parent: FastifyInstance | null = scope; parent !== null; parent = Object.getPrototypeOf(parent)) {
    if (bounded.has(parent)) return
  }
  bounded.add(scope)
  scope.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    if (coding === undefined && (length === undefined || Number(length) <= SMALL_BODY_BYTES)) return done(null, payload)
    // Fastify refuses these before it reads them
    if (Number(length) > request.routeOptions.bodyLimit) return done(null, payload)
    done(null, new CountedBody(payload, request, reply))
  })
  scope.addHook('preSerialization', (request, reply, payload, done) => {
    if (!isLargeJson(payload)) return done(null, payload)
    reply.serializer(toBody)
    if (payload instanceof Bytes) done(null, payload)
    else jsonBytes(payload, ownerOf(request)).then(bytes => { done(null, bytes) }, done)
  })
  scope.addHook('onSend', (request, reply, payload, done) => {
    const body = payload instanceof SlicedBody ? payload : isLarge(payload) ? new SlicedBody(new Bytes([Buffer.from(payload)])) : undefined
    if (body === undefined || request.method === 'HEAD') return done(null, payload)
    const held = memoryBudget.hold('responses that wait for their reader', ownerOf(request))
    if (!held.tryGrow(body.bytes.length)) return done(held.refusal())
    releaseAtEnd(reply, held)
    reply.header('content-length', body.bytes.length)
    body.watch(reply, stallMs)
    done(null, body)
  })
}

/** A serializer that makes a body of bytes; an error that takes their place is an ordinary value. */
function toBody (payload: unknown): string {
  return payload instanceof Bytes ? new SlicedBody(payload) as unknown as string : JSON.stringify(payload)
}

function isLarge (payload: unknown): payload is string | Buffer {
  return (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length > LARGE_ANSWER_BYTES
}

/** Counts nothing of a request any more once its response has ended, or its client has disconnected. */
function releaseAtEnd (reply: FastifyReply, held: HeldBytes): void {
  disconnects.whenOver(reply, () => { held.release() })
}

/**
 * A body on its way to the parser. One that must be refused is read to its end all the same, so that the client can
 * read the refusal.
 */
class CountedBody extends Transform {
  /** Fastify compares it with `Content-Length`. */
  receivedEncodedLength = 0
  readonly #source: RequestPayload
  readonly #held: HeldBytes
  readonly #scan: JsonScan | undefined
  #isRead = false
  #refusal: Error | undefined
  #values = 0

  constructor (source: RequestPayload, request: FastifyRequest, reply: FastifyReply) {
    super()
    this.#source = source
    // a parser that has refused the body no longer listens
    this.on('error', () => {})
    this.#held = memoryBudget.hold('request bodies', ownerOf(request))
    this.#scan = request.headers['content-type']?.includes('json') === true ? new JsonScan(BOUNDS) : undefined
    releaseAtEnd(reply, this.#held)
  }

  /** Takes the body only when a parser reads it: the bodies of GET, and of unknown media types, are left to Node.js. */
  override _read (size: number): void {
    if (!this.#isRead) {
      this.#isRead = true
      this.#source.on('error', err => { this.destroy(err) }).pipe(this)
    }
    super._read(size)
  }

  override _transform (chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.receivedEncodedLength += chunk.length
    this.#refusal ??= this.#count(chunk)
    done(null, this.#refusal === undefined ? chunk : undefined)
  }

  override _flush (done: TransformCallback): void {
    done(this.#refusal)
  }

  #count (chunk: Buffer): Error | undefined {
    const scan = this.#scan
    let bytes = chunk.length * BODY_COPIES
    if (scan !== undefined) {
      scan.read(chunk.toString('latin1'))
      if (scan.exceeded === 'depth') return new BodyTooDeepError(MAX_BODY_DEPTH)
      if (scan.exceeded === 'values') return new TooManyValuesError(MAX_BODY_VALUES)
      bytes += (scan.values - this.#values) * VALUE_BYTES
      this.#values = scan.values
    }
    return this.#held.tryGrow(bytes) ? undefined : this.#held.refusal()
  }
}

/** A large answer that leaves in slices. */
class SlicedBody extends Readable {
  #stall: NodeJS.Timeout | undefined
  #piece = 0
  #sent = 0

  constructor (readonly bytes: Bytes) {
    super({ highWaterMark: SLICE_BYTES })
  }

  /** Disconnects the reader that takes nothing for `stallMs`. */
  watch (reply: FastifyReply, stallMs: number): void {
    this.#stall = setTimeout(() => { reply.raw.destroy() }, stallMs)
  }

  override _read (): void {
    this.#stall?.refresh()
    const piece = this.bytes.pieces[this.#piece]
    const slice = piece?.subarray(this.#sent, this.#sent += SLICE_BYTES) ?? null
    if (piece !== undefined && this.#sent >= piece.length) {
      this.#sent = 0
      this.#piece++
    }
    this.push(slice)
  }

  override _destroy (err: Error | null, done: (err: Error | null) => void): void {
    clearTimeout(this.#stall)
    done(err)
  }
}
