import type { Principal } from '@polyvac/core'
import {
  commentText, deadlineSignal, joinTexts, memoryBudget, ownerShare, releaseContext, sendEvents, streamSettings, type EventEncoding, type OpenStreams, type Text
} from '@polyvac/core/plugin'
import { isTerminal, isWaiting, ownerKey, type AbortSignalLike, type CreatedTask, type TaskRecord } from '@polyvac/tasks'
import type { FastifyReply } from 'fastify'
import { TooManyStreamsError } from '../errors.js'
import { STREAM_WAIT_TIME } from '../options.js'
import type { TaskStep } from '../protocol/task-view.js'
import { withoutTask } from './message-streams.js'
import type { TaskService } from './task-service.js'

/**
 * Characters that the frames of all streams hold together. A reader that does not read holds its frame, and many of
 * them would fill the memory. Past this bound a reader is disconnected, which may resubscribe: of the owner whose
 * frames have most characters, the one that has not read for longest.
 */
const MAX_HELD_CHARS = 128 * 1024 * 1024
/** Memory of an open stream beside its frames, in bytes, about. */
const STREAM_BYTES = 16 * 1024
/** Time after which readers subscribe again when their stream ends before the task, in ms. */
const RETRY_MS = 1_000
/** A field of the first event: some readers dispatch a `retry` without data as an event. */
const RETRY = `retry: ${RETRY_MS}\n`
const CLOSING = commentText('the service closes and the task goes on; subscribe to it again')

/** The place of one stream. */
export interface StreamPlace {
  /** The length of the stream's next frame: its reader has taken the one before. */
  hold (chars: number): void
  /** Its frame is not held any more: its reader was disconnected. */
  forget (): void
  /** The stream has ended. */
  release (): void
}

/**
 * How many streams each owner and all together hold open, and how many characters all of them hold. Their memory is
 * counted in the budget of the process, in which each owner has a share.
 */
export class StreamQuota {
  readonly #limit: number
  readonly #maxChars: number
  // @keyed owner | holds: the number of open streams | whose: the owner | bound: maxStreams for an owner, so many
  //   for all that each owner has its share; an entry ends with the last stream | share: the owner; the bytes count
  //   in the memory budget | test: packages/a2a/test/owners.test.ts: an owner holds so many streams and no more; the
  //   refused one leaves no task, and others have their own
  readonly #open = new Map<string, number>()
  /** In the order of their last frame, oldest first. */
  // @keyed open stream | holds: the length of its last frame | whose: the owner of the stream | bound: one for each
  //   open stream; MAX_HELD_CHARS | share: the owner with most characters gives way | test:
  //   packages/a2a/test/owners.test.ts: past what all streams hold together, an owner disconnects its own readers,
  //   and none of another
  readonly #held = new Map<StreamPlace, { readonly owner: string, readonly chars: number, readonly disconnect: () => void }>()
  #chars = 0
  #count = 0

  constructor (limit: number, maxChars = MAX_HELD_CHARS) {
    this.#limit = limit
    this.#maxChars = maxChars
  }

  /**
   * Takes a place. `disconnect` disconnects the stream's reader.
   * @throws A2A_TOO_MANY_STREAMS (429), MEMORY_BUDGET_EXCEEDED (503)
   */
  take (caller: Principal | undefined, disconnect: () => void): StreamPlace {
    const owner = ownerKey(caller?.owner)
    const open = this.#open.get(owner) ?? 0
    const total = Math.ceil(this.#limit / ownerShare())
    if (open >= this.#limit) throw new TooManyStreamsError(`this caller follows ${this.#limit}`)
    if (this.#count >= total) throw new TooManyStreamsError(`all callers together follow ${total}`)
    const memory = memoryBudget.hold('streams of tasks', caller?.owner)
    memory.grow(STREAM_BYTES)
    this.#open.set(owner, open + 1)
    this.#count++
    const place: StreamPlace = {
      hold: chars => {
        this.#drop(place)
        this.#held.set(place, { owner, chars, disconnect })
        this.#chars += chars
        while (this.#chars > this.#maxChars) {
          const other = this.#leaving()
          if (other === undefined || other === place) break
          const { disconnect } = this.#held.get(other)!
          this.#drop(other)
          disconnect()
        }
        // the reader of this owner that has not read for longest is disconnected, in the end this one
        for (const [other, held] of this.#held) {
          if (memory.tryResize(STREAM_BYTES + 2 * chars)) return
          if (held.owner !== owner) continue
          this.#drop(other)
          other.forget()
          held.disconnect()
        }
      },
      forget: () => { memory.tryResize(STREAM_BYTES) },
      release: () => {
        this.#drop(place)
        memory.release()
        this.#count--
        const left = (this.#open.get(owner) ?? 1) - 1
        if (left === 0) this.#open.delete(owner)
        else this.#open.set(owner, left)
      }
    }
    return place
  }

  /** Of the owner whose frames have most characters, the stream that took its last one first. */
  #leaving (): StreamPlace | undefined {
    const charsOf = new Map<string, number>()
    for (const { owner, chars } of this.#held.values()) charsOf.set(owner, (charsOf.get(owner) ?? 0) + chars)
    const most = Math.max(...charsOf.values())
    for (const [place, { owner }] of this.#held) if (charsOf.get(owner) === most) return place
    return undefined
  }

  #drop (place: StreamPlace): void {
    this.#chars -= this.#held.get(place)?.chars ?? 0
    this.#held.delete(place)
  }
}

/** A stream that is open. */
export interface TaskStream {
  readonly reply: FastifyReply
  readonly place: StreamPlace
  readonly signal: AbortSignalLike
}

/** How a dialect writes the steps of a task. */
export interface StepEncoding extends Pick<EventEncoding<TaskStep>, 'onFailure'> {
  /**
   * The text of one step. `isSnapshot`: the reader has seen nothing yet, and gets the whole task instead of what is
   * new.
   */
  readonly encode: (step: TaskStep, isSnapshot: boolean) => Text
  /** Whether the reader may get a message instead of the task, which is new. */
  readonly takesMessage?: boolean | undefined
  /** Whether the stream ends with this step although the task goes on. */
  readonly isLast?: ((step: TaskStep) => boolean) | undefined
}

export interface TaskStreamsOptions {
  readonly service: TaskService
  readonly replies: OpenStreams
  readonly quota: StreamQuota
  readonly sendTimeoutMs: number
  readonly stallMs: number
}

/** The replies that wait for tasks or stream them, until the caller disconnects or the application closes. */
export class TaskStreams {
  readonly #options: TaskStreamsOptions

  constructor (options: TaskStreamsOptions) {
    this.#options = options
  }

  /** The task once it has ended or waits for its caller, or as it stands after `sendTimeoutMs`. */
  async wait (created: CreatedTask, reply: FastifyReply): Promise<TaskRecord> {
    const { state } = created.task
    if (isTerminal(state) || isWaiting(state)) return created.task
    const { service, replies, sendTimeoutMs } = this.#options
    releaseContext()
    const { signal, end } = replies.begin(reply)
    const stop = deadlineSignal(sendTimeoutMs, signal)
    try {
      return await service.settle(created, stop.signal)
    } finally {
      stop.end()
      end()
    }
  }

  /**
   * Holds one of the caller's places for streams while `send` runs. One stream too many is refused before `send`.
   */
  async open (caller: Principal | undefined, reply: FastifyReply, send: (stream: TaskStream) => Promise<void>): Promise<void> {
    const place = this.#options.quota.take(caller, () => { reply.raw.destroy() })
    try {
      const { signal, end } = this.#options.replies.begin(reply)
      await send({ reply, place, signal }).finally(end)
    } finally {
      place.release()
    }
  }

  /** Sends the events after number `after`, or the task as it stands where it is undefined, and then the live ones. */
  send (stream: TaskStream, task: TaskRecord, after: number | undefined, encoding: StepEncoding): Promise<void> {
    const { reply, place, signal } = stream
    const { encode, isLast, onFailure, takesMessage = false } = encoding
    const { service, stallMs } = this.#options
    const { seq } = task
    releaseContext()
    const { wait_time: wait = STREAM_WAIT_TIME } = streamSettings(task.input)
    let before = RETRY
    const steps = service.follow(task, after ?? seq - 1, signal, isLast)
    return sendEvents(reply, withHint(takesMessage ? withoutTask(steps) : steps, signal), {
      encode: step => {
        if (step === undefined) return CLOSING
        const text = encode(step, after === undefined && (step.event.seq === seq || before !== ''))
        place.hold(text.length)
        if (before === '' || text === '') return text
        const first = joinTexts([before, text])
        before = ''
        return first
      },
      onFailure,
      signal,
      stallMs,
      keepAliveMs: wait === 0 ? undefined : Math.max(100, wait * 1000)
    })
  }
}

/** The steps, and undefined where they end because the application closes. */
async function * withHint (steps: AsyncIterable<TaskStep>, signal: AbortSignalLike): AsyncGenerator<TaskStep | undefined, void> {
  yield * steps
  if (signal.aborted && (signal.reason as { code?: unknown }).code === 'SHUTTING_DOWN') yield undefined
}
