import type { Principal, StepView } from '@polyvac/core'
import {
  commentText, deadlineSignal, joinTexts, releaseContext, sendEvents, streamSettings, type EventEncoding, type OpenStreams, type Text
} from '@polyvac/core/plugin'
import type { CallerTasks, TaskStep } from '@polyvac/runs'
import { isTerminal, isWaiting, type AbortSignalLike, type CreatedTask, type TaskRecord } from '@polyvac/tasks'
import type { FastifyReply } from 'fastify'
import { STREAM_WAIT_TIME } from '../options.js'
import { seenStep } from '../protocol/task-view.js'
import { withoutTask } from './message-streams.js'
import type { StreamPlace, StreamQuota } from './stream-quota.js'

/** Time after which readers subscribe again when their stream ends before the task, in ms. */
const RETRY_MS = 1_000
/** A field of the first event: some readers dispatch a `retry` without data as an event. */
const RETRY = `retry: ${RETRY_MS}\n`
const CLOSING = commentText('the service closes and the task goes on; subscribe to it again')

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
  /** What the reader sees of the steps of the answer. */
  readonly view: StepView | undefined
  /** Whether the reader may get a message instead of the task, which is new. */
  readonly takesMessage?: boolean | undefined
  /** Whether the stream ends with this step although the task goes on. */
  readonly isLast?: ((step: TaskStep) => boolean) | undefined
}

export interface TaskStreamsOptions {
  readonly tasks: CallerTasks
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
    const { tasks, replies, sendTimeoutMs } = this.#options
    releaseContext()
    const open = replies.begin(reply)
    const stop = deadlineSignal(sendTimeoutMs, open.signal)
    try {
      return await tasks.settle(created, stop.signal)
    } finally {
      stop.end()
      open.end()
    }
  }

  /**
   * Holds one of the caller's slots for streams while `send` runs. One stream too many is refused before `send`.
   */
  async open (caller: Principal | undefined, reply: FastifyReply, send: (stream: TaskStream) => Promise<void>): Promise<void> {
    const place = this.#options.quota.take(caller, () => { reply.raw.destroy() })
    try {
      const open = this.#options.replies.begin(reply)
      await send({ reply, place, signal: open.signal }).finally(() => { open.end() })
    } finally {
      place.release()
    }
  }

  /** Sends the events after number `after`, or the task as it stands where it is undefined, and then the live ones. */
  send (stream: TaskStream, task: TaskRecord, after: number | undefined, encoding: StepEncoding): Promise<void> {
    const { reply, place, signal } = stream
    const { encode, isLast, onFailure, view, takesMessage = false } = encoding
    const { tasks, stallMs } = this.#options
    const { seq } = task
    releaseContext()
    const { wait_time: wait = STREAM_WAIT_TIME } = streamSettings(task.input)
    let before = RETRY
    const steps = tasks.follow(task, after ?? seq - 1, signal, isLast)
    return sendEvents(reply, withHint(takesMessage ? withoutTask(steps) : steps, signal), {
      encode: taskStep => {
        if (taskStep === undefined) return CLOSING
        const step = seenStep(taskStep, view)
        if (step === undefined) return ''
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
