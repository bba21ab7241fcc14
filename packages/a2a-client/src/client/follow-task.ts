import type { Log } from '@polyvac/core'
import { backoff, deadlineSignal } from '@polyvac/core/plugin'
import { setTimeout as delay } from 'node:timers/promises'
import { CODES, HttpFailure, isPassing, RpcFailure } from '../http/failures.js'
import { readEvent, readTask } from '../protocol/read-event.js'
import { isSettled, type OutgoingMessage, type RemoteEvent } from '../protocol/types.js'
import { sendParams, taskParams } from '../protocol/write-message.js'
import type { Connection } from './connection.js'

/** How often a message is sent, and how often a broken stream is opened again, before the task is read instead. */
export const MAX_TRIES = 5
const RETRY = { firstMs: 250, maxMs: 10_000 }
/** Between reads of a task; the first ones come sooner. */
const POLL = { firstMs: 1_000, maxMs: 10_000 }
/** Longest time for a request that only reads, in ms. */
const READ_MS = 30_000
/** Longest wait for the answer to a cancellation, in ms. */
export const CANCEL_MS = 5_000

/** An answer that is neither a task nor a message. */
export class OddAnswer extends Error {}

/** What to follow: the answer to a message, or a task that an earlier attempt has begun. */
export type Followed = { readonly message: OutgoingMessage } | { readonly taskId: string }

interface FollowOptions {
  /** Ends it, with its reason. */
  readonly signal: AbortSignal
  readonly log: Pick<Log, 'debug'>
}

/**
 * What an agent does about a message, until its task has ended or asks back, or a message answers. A stream that breaks
 * is opened again: its first event is the whole task. Where that fails as well, the task is read from time to time.
 * @throws RpcFailure, HttpFailure, OddAnswer, the reason of `signal`, or what undici throws
 */
export async function * followTask (connection: Connection, followed: Followed, options: FollowOptions): AsyncGenerator<RemoteEvent, void> {
  const follower = new Follower(connection, options)
  const first = 'message' in followed ? follower.send(followed.message) : follower.resume(followed.taskId)
  yield * first
  while (!follower.isOver) yield * follower.resume(follower.taskId!)
}

class Follower {
  taskId: string | undefined
  isOver = false
  readonly #connection: Connection
  readonly #signal: AbortSignal
  readonly #log: Pick<Log, 'debug'>
  /** Failures since the last event. */
  #failures = 0
  /** Whether the agent streams tasks that have begun. */
  #subscribes: boolean

  constructor (connection: Connection, { signal, log }: FollowOptions) {
    this.#connection = connection
    this.#signal = signal
    this.#log = log
    this.#subscribes = connection.usable.card.streaming
  }

  /** Sends the message until an event comes. The same id makes the tries one message for agents that look at it. */
  async * send (message: OutgoingMessage): AsyncGenerator<RemoteEvent, void> {
    let streams = this.#connection.usable.card.streaming
    while (this.taskId === undefined && !this.isOver) {
      try {
        yield * streams ? this.#streamed('stream', this.#sendParams(message)) : this.#sent(message)
        if (this.taskId === undefined && !this.isOver) throw new OddAnswer('neither a task nor a message')
      } catch (err) {
        if (this.taskId !== undefined && this.#mayGoOn(err)) return
        if (streams && err instanceof RpcFailure && (err.code === CODES.UNSUPPORTED_OPERATION || err.code === CODES.METHOD_NOT_FOUND)) {
          streams = this.#subscribes = false
          continue
        }
        if (this.taskId !== undefined || this.#signal.aborted || !isPassing(err) || ++this.#failures >= MAX_TRIES) throw err
        this.#note(err, 'a message is sent again')
        await this.#wait(Math.max(backoff(this.#failures, RETRY), retryAfterOf(err)))
      }
    }
  }

  /** Opens the stream of the task again, or reads the task. */
  async * resume (taskId: string): AsyncGenerator<RemoteEvent, void> {
    this.taskId = taskId
    const { tenant } = this.#connection.usable.target
    if (this.#subscribes && this.#failures < MAX_TRIES) {
      if (this.#failures > 0) await this.#wait(backoff(this.#failures, RETRY))
      try {
        yield * this.#streamed('subscribe', taskParams(taskId, tenant))
        // an end without an end of the task is a failure
        if (!this.isOver) this.#failures++
        return
      } catch (err) {
        if (err instanceof RpcFailure && (err.code === CODES.UNSUPPORTED_OPERATION || err.code === CODES.METHOD_NOT_FOUND)) {
          // it ended meanwhile, or the agent does not have it
          this.#subscribes = false
        } else if (!this.#mayGoOn(err)) {
          throw err
        } else {
          return
        }
      }
    }
    yield * this.#polled(taskId)
  }

  async * #streamed (method: 'stream' | 'subscribe', params: Record<string, unknown>): AsyncGenerator<RemoteEvent, void> {
    // an agent that only repeats the task and closes its stream makes no progress
    let snapshots = method === 'subscribe' ? 1 : 0
    for await (const result of this.#connection.stream(method, params, this.#signal)) {
      const event = this.#read(result)
      if (snapshots-- <= 0) this.#failures = 0
      yield event
      if (this.isOver) return
    }
  }

  async * #sent (message: OutgoingMessage): AsyncGenerator<RemoteEvent, void> {
    yield this.#read(await this.#connection.call('send', this.#sendParams(message), this.#signal))
    this.#failures = 0
  }

  /** Reads the task until it is settled: a failure to read it is not one of the task. */
  async * #polled (taskId: string): AsyncGenerator<RemoteEvent, void> {
    const params = taskParams(taskId, this.#connection.usable.target.tenant)
    for (let reads = 1; !this.isOver; reads++) {
      const deadline = deadlineSignal(READ_MS, this.#signal)
      try {
        const task = readTask(await this.#connection.call('get', params, deadline.signal), this.#connection.secrets)
        if (task === undefined) throw new OddAnswer('something that is not a task')
        yield this.#read({ task }, task)
      } catch (err) {
        if (this.#signal.aborted || !isPassing(err)) throw err
        this.#note(err, 'a task could not be read')
      } finally {
        deadline.end()
      }
      if (!this.isOver) await this.#wait(backoff(reads, POLL))
    }
  }

  #sendParams (message: OutgoingMessage): Record<string, unknown> {
    const { target: { version, tenant } } = this.#connection.usable
    return sendParams(version, message, tenant, this.#connection.extensions, false)
  }

  #read (result: unknown, task = undefined as ReturnType<typeof readTask>): RemoteEvent {
    const event = task === undefined ? readEvent(result, this.#connection.secrets) : { kind: 'task' as const, task }
    if (event === undefined) throw new OddAnswer('an event that is neither a task, nor an update of one, nor a message')
    if (event.kind === 'message') this.isOver = true
    else if (event.kind === 'task') this.taskId ??= event.task.id
    else this.taskId ??= event.taskId
    const status = event.kind === 'task' ? event.task : event.kind === 'status' ? event.status : undefined
    if (status !== undefined && isSettled(status.state)) this.isOver = true
    return event
  }

  /** Whether a failure after the beginning of the task leaves the task unchanged. */
  #mayGoOn (err: unknown): boolean {
    if (this.#signal.aborted || !isPassing(err)) return false
    this.#failures++
    this.#note(err, 'the stream of a task broke')
    return true
  }

  #note (err: unknown, text: string): void {
    this.#log.debug({ err, taskId: this.taskId, failures: this.#failures }, text)
  }

  async #wait (ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {})
    this.#signal.throwIfAborted()
  }
}

/** Cancels a task. Resolves also where that fails: it has ended then, or its agent does not answer. */
export async function cancelTask (connection: Connection, taskId: string, log: Pick<Log, 'debug'>): Promise<void> {
  const deadline = deadlineSignal(CANCEL_MS)
  try {
    await connection.call('cancel', taskParams(taskId, connection.usable.target.tenant), deadline.signal)
  } catch (err) {
    log.debug({ err, taskId }, 'a task was not canceled')
  } finally {
    deadline.end()
  }
}

function retryAfterOf (err: unknown): number {
  return err instanceof HttpFailure ? Math.min(RETRY.maxMs, err.retryAfterMs ?? 0) : 0
}
