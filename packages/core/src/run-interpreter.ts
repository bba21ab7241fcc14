import { setImmediate } from 'node:timers/promises'
import { normaliseAnswer } from './answer.js'
import {
  CallAbortedError, VacBufferFullError, VacBusyError, VacInterpreterFailedError, VacInvalidResultError, VacTimeoutError
} from './errors.js'
import type { Interpreter, InterpreterCallback, InterpreterExtra } from './interpreter.js'
import type { VacConfig } from './config-schema.js'
import type { CallTool, Chunk, Log, Progress, VacCall } from './vac.js'

/** Bounds of one run. */
export interface RunLimits {
  /**
   * Most text kept, in UTF-16 units, for an interpreter that ends without an answer object; past it the run fails at
   * its end, though all text has been streamed. Without it an endless stream would fill the memory. Default 16 Mi.
   */
  readonly maxAnswerChars: number
  /** Most text an interpreter may push by callback, without awaiting, ahead of the reader. Default 16 Mi. */
  readonly maxUnreadChars: number
}

export const RUN_LIMITS: RunLimits = { maxAnswerChars: 16 * 1024 * 1024, maxUnreadChars: 16 * 1024 * 1024 }

/** Awaited pushes wait while more than this is unread, so that they follow the reader's pace. */
const PUSH_HIGH_WATER_CHARS = 64 * 1024

/** Longest time in ms that ready-made chunks may keep the event loop: an endless one must not hide the client's leaving. */
const LONGEST_BURST_MS = 5

const HEARTBEAT = /^\[\[HEARTBEAT\]\](.*)\[\[\/HEARTBEAT\]\]$/s

export interface Run {
  readonly vac: string
  readonly config: VacConfig
  readonly interpreter: Interpreter
  readonly call: VacCall
  readonly callTool?: CallTool | undefined
  readonly limits?: Partial<RunLimits> | undefined
  /** Called when the run begins; may refuse by throwing. What it returns is called when the run is over. */
  readonly admit?: (() => () => void) | undefined
}

/**
 * Runs an interpreter of any of the five forms as one stream: text and progress as they are made, the Answer last. An
 * answer that was not streamed is streamed whole before it ends.
 * The reader's pace is the interpreter's: the next chunk is asked for when the last one was taken. Leaving the loop,
 * the call's signal, or the timeout aborts `extra.signal`; an interpreter that ignores it is left behind.
 */
export async function * runInterpreter (run: Run): AsyncGenerator<Chunk, void, void> {
  const { vac, call } = run
  const limits = { ...RUN_LIMITS, ...run.limits }
  const release = run.admit?.()
  const stop = new AbortController()
  const inbox = new Inbox(limits.maxUnreadChars, () => end(new VacBufferFullError(JSON.stringify(vac), limits.maxUnreadChars)))
  function end (reason: unknown): void {
    inbox.fail(reason)
    stop.abort(reason)
  }
  const onAbort = (): void => end(abortReason(call.signal))
  const timer = call.timeoutMs === undefined
    ? undefined
    : setTimeout(() => end(new VacTimeoutError(JSON.stringify(vac), call.timeoutMs! / 1000)), call.timeoutMs)
  if (call.signal?.aborted === true) onAbort()
  else call.signal?.addEventListener('abort', onAbort, { once: true })

  let source: AsyncIterator<unknown> | Iterator<unknown> | undefined
  let streamed = ''
  let collected = 0
  let outcome: unknown
  try {
    inbox.throwIfFailed()
    source = open(run, inbox, stop.signal)
    let burstStart = performance.now()
    for (;;) {
      const item = await inbox.next(source)
      if (item.done === true) {
        outcome = item.value ?? outcome
        break
      }
      const chunk = toChunk(vac, item.value)
      if (chunk === undefined) {
        outcome = item.value
        continue
      }
      if (typeof chunk === 'string') {
        if (chunk === '') continue
        collected += chunk.length
        streamed = collected > limits.maxAnswerChars ? '' : streamed + chunk
      }
      yield chunk
      if (performance.now() - burstStart > LONGEST_BURST_MS) {
        await setImmediate()
        burstStart = performance.now()
        inbox.throwIfFailed()
      }
    }
    if (outcome === undefined && inbox.ended !== undefined) outcome = inbox.ended
    if (collected > limits.maxAnswerChars && !isAnswerObject(outcome)) {
      throw new VacInvalidResultError(JSON.stringify(vac), `more than ${limits.maxAnswerChars} characters without an answer object`)
    }
    const answer = normaliseAnswer(vac, outcome, streamed)
    // an answer that came whole still reaches readers of text
    if (collected === 0 && answer.answer !== '') yield answer.answer
    yield answer
  } catch (err) {
    if (inbox.failed) throw inbox.reason
    if (err instanceof VacInvalidResultError || err instanceof VacBusyError) throw err
    throw Object.assign(new VacInterpreterFailedError(JSON.stringify(vac)), { cause: err })
  } finally {
    clearTimeout(timer)
    call.signal?.removeEventListener('abort', onAbort)
    inbox.fail(new CallAbortedError('the reader left'))
    stop.abort(inbox.reason)
    leave(source)
    release?.()
  }
}

/** Calls the interpreter and views whatever it returns as one iterator. */
function open (run: Run, inbox: Inbox, signal: AbortSignal): AsyncIterator<unknown> | Iterator<unknown> {
  const { call } = run
  const extra: InterpreterExtra = {
    ...call.extra,
    signal,
    log: call.log ?? silent,
    vac: run.config,
    protocol: call.protocol ?? 'code',
    principal: call.principal,
    callTool: run.callTool,
    callback: inbox.callback
  }
  const returned: unknown = run.interpreter(call.question, run.vac, [...call.history ?? []], extra)
  if (typeof returned === 'object' && returned !== null && !Array.isArray(returned)) {
    if (Symbol.asyncIterator in returned) return (returned as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    if (Symbol.iterator in returned) return (returned as Iterable<unknown>)[Symbol.iterator]()
  }
  return once(returned)
}

async function * once (returned: unknown): AsyncGenerator<never, unknown, void> {
  const value = await returned
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value
  return yield * value as AsyncIterable<never>
}

/** Text, progress, or undefined for an object that ends the answer. */
function toChunk (vac: string, value: unknown): string | Progress | undefined {
  if (typeof value === 'string') {
    const heartbeat = value.startsWith('[[HEARTBEAT]]') ? HEARTBEAT.exec(value) : null
    return heartbeat === null ? value : { progress: 0, message: heartbeat[1] }
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { progress, message } = value as { progress?: unknown, message?: unknown }
    if (isAnswerObject(value)) return undefined
    if (typeof progress === 'number' && Number.isFinite(progress)) {
      return { progress: Math.min(1, Math.max(0, progress)), ...(typeof message === 'string' ? { message } : {}) }
    }
  }
  throw new VacInvalidResultError(JSON.stringify(vac), 'a chunk that is neither text, { progress } nor an answer object')
}

function isAnswerObject (value: unknown): boolean {
  return typeof value === 'object' && value !== null &&
    ('answer' in value || 'input_required' in value || 'output' in value || 'source_documents' in value)
}

/** Tells the source that nobody reads on, without waiting: a source that is stuck would never answer. */
function leave (source: AsyncIterator<unknown> | Iterator<unknown> | undefined): void {
  try {
    Promise.resolve(source?.return?.()).catch(() => { /* the run is over; its outcome is already told */ })
  } catch { /* a sync generator that is still running, or throws in its own finally: the same */ }
}

function abortReason (signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  if (reason instanceof Error && reason.name !== 'AbortError') return reason
  return new CallAbortedError(reason instanceof Error ? reason.message : String(reason))
}

/**
 * Where the iterator's items and the pushed tokens meet, in the order they came. The iterator is asked only when
 * nothing else is waiting. One promise at a time: racing a long-lived one would leak a reaction for every chunk.
 */
class Inbox {
  readonly callback: InterpreterCallback
  /** What `on_llm_end` was given. */
  ended: unknown
  failed = false
  reason: unknown
  readonly #tokens: string[] = []
  #taken = 0
  #unread = 0
  #pulled: IteratorResult<unknown> | undefined
  #pulling = false
  #broken: { err: unknown } | undefined
  #wake: (() => void) | undefined
  #writers: Array<() => void> = []

  constructor (readonly maxUnread: number, readonly onOverflow: () => void) {
    const push = (token: string): Promise<void> => this.#push(token)
    const finish = async (result?: unknown): Promise<void> => {
      if (isAnswerObject(result) || typeof result === 'string') this.ended = result
    }
    this.callback = {
      on_llm_new_token: push, on_llm_end: finish, async_on_llm_new_token: push, async_on_llm_end: finish
    }
  }

  fail (reason: unknown): void {
    if (this.failed) return
    this.failed = true
    this.reason = reason
    this.#wake?.()
    this.#release()
  }

  throwIfFailed (): void {
    if (this.failed) throw this.reason
  }

  async next (source: AsyncIterator<unknown> | Iterator<unknown>): Promise<IteratorResult<unknown>> {
    for (;;) {
      this.throwIfFailed()
      if (this.#taken < this.#tokens.length) return { value: this.#take() }
      if (this.#pulled !== undefined) {
        const pulled = this.#pulled
        this.#pulled = undefined
        return pulled
      }
      if (this.#broken !== undefined) throw this.#broken.err
      if (!this.#pulling) {
        const result = source.next()
        if (!(result instanceof Promise) && !isThenable(result)) {
          this.#pulled = result
          continue
        }
        this.#pulling = true
        result.then(pulled => { this.#pulled = pulled }, (err: unknown) => { this.#broken = { err } })
          .finally(() => { this.#pulling = false; this.#wake?.() })
      }
      await new Promise<void>(resolve => { this.#wake = resolve })
      this.#wake = undefined
    }
  }

  #take (): string {
    const token = this.#tokens[this.#taken++] as string
    this.#unread -= token.length
    if (this.#taken === this.#tokens.length) {
      this.#tokens.length = this.#taken = 0
    }
    if (this.#unread <= PUSH_HIGH_WATER_CHARS) this.#release()
    return token
  }

  #push (token: string): Promise<void> {
    if (this.failed || token === '') return Promise.resolve()
    this.#tokens.push(String(token))
    this.#unread += token.length
    if (this.#unread > this.maxUnread) this.onOverflow()
    this.#wake?.()
    if (this.failed || this.#unread <= PUSH_HIGH_WATER_CHARS) return Promise.resolve()
    return new Promise(resolve => { this.#writers.push(resolve) })
  }

  #release (): void {
    for (const resolve of this.#writers.splice(0)) resolve()
  }
}

function isThenable (value: unknown): value is Promise<IteratorResult<unknown>> {
  return typeof (value as { then?: unknown }).then === 'function'
}

const silent: Log = { debug () {}, info () {}, warn () {}, error () {} }
