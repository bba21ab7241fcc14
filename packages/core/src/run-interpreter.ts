import { normaliseAnswer } from './answer.js'
import { toChunk, isAnswerObject } from './interpreter-chunk.js'
import {
  CallAbortedError, VacBufferFullError, VacBusyError, VacInterpreterFailedError, VacInvalidResultError, VacTimeoutError
} from './errors.js'
import type { Interpreter, InterpreterCallback, InterpreterExtra } from './interpreter.js'
import type { VacConfig } from './config-schema.js'
import { isAnswer, type Answer, type CallTool, type Chunk, type Log, type VacCall } from './vac.js'

/** Bounds of one run. */
export interface RunLimits {
  /**
   * Most text, in UTF-16 units, collected for an answer that is not streamed, where the interpreter ends without an
   * answer object; past it the call fails. Default 16 Mi.
   */
  readonly maxAnswerChars: number
  /**
   * The same while streaming. The reader has all text by then, so past it the Answer holds its beginning, with
   * `metadata.truncated`. It is small, since every stalled reader of a long stream costs so much. Default 256 Ki.
   */
  readonly maxStreamedChars: number
  /** Most text an interpreter may push by callback, without awaiting, ahead of the reader. Default 16 Mi. */
  readonly maxUnreadChars: number
}

export const RUN_LIMITS: RunLimits = { maxAnswerChars: 16 * 1024 * 1024, maxStreamedChars: 256 * 1024, maxUnreadChars: 16 * 1024 * 1024 }

/** Awaited pushes wait while more than this is unread, so that they follow the reader's pace. */
const PUSH_HIGH_WATER_CHARS = 64 * 1024

/** Longest time in ms that ready-made chunks may keep the event loop: an endless one must not hide the client's leaving. */
const LONGEST_BURST_MS = 5
/** The clock is looked at once in this many chunks. */
const CLOCK_EVERY = 16

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
export function runInterpreter (run: Run): AsyncIterableIterator<Chunk> {
  return new InterpreterRun(run)
}

/** Runs an interpreter to its end for the Answer alone. */
export function askInterpreter (run: Run): Promise<Answer> {
  return new InterpreterRun(run).answer()
}

type Source = AsyncIterator<unknown> | Iterator<unknown>
type Item = IteratorResult<Chunk, undefined>

/**
 * An iterator by hand, since every generator between an interpreter and a socket costs a third of the speed. The
 * interpreter's items and its pushed tokens meet here in the order they came; one reader waits at a time.
 */
class InterpreterRun implements AsyncIterableIterator<Chunk> {
  readonly #run: Run
  readonly #limits: RunLimits
  #state: 'new' | 'running' | 'over' = 'new'
  #source: Source | undefined
  #stop: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #release: (() => void) | undefined
  /** The reader that waits. */
  #reader: { resolve: (item: Item) => void, reject: (err: unknown) => void } | undefined
  /** What the source gave, or how it ended, while no reader waited. */
  #pulled: { result: IteratorResult<unknown> } | { err: unknown } | undefined
  #pulling = false
  #failure: { err: unknown } | undefined
  #aborted = false
  /** Why the run was aborted, for a signal that is asked for late. */
  #reason: unknown
  /** Pushed tokens, those before `#taken` read. */
  readonly #tokens: string[] = []
  #taken = 0
  #unread = 0
  #writers: Array<() => void> = []
  #streamed = ''
  #collected = 0
  #outcome: unknown
  /** What `on_llm_end` was given. */
  #ended: unknown
  #last: Chunk | undefined
  #count = 0
  #whole = false
  #burstStart = 0

  constructor (run: Run) {
    this.#run = run
    this.#limits = run.limits === undefined ? RUN_LIMITS : { ...RUN_LIMITS, ...run.limits }
  }

  [Symbol.asyncIterator] (): this { return this }

  next (): Promise<Item> {
    if (this.#state === 'new') this.#begin()
    if (this.#last !== undefined) return Promise.resolve(this.#end(this.#last))
    if (this.#state === 'over' && this.#failure === undefined) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
      this.#feed()
    })
  }

  return (): Promise<Item> {
    if (this.#state === 'over') return Promise.resolve(DONE)
    this.#abort(new CallAbortedError('the reader left'))
    this.#failure = undefined
    return Promise.resolve(DONE)
  }

  /** The Answer alone: its chunks are taken here, without a promise for each. */
  answer (): Promise<Answer> {
    this.#whole = true
    this.#begin()
    return new Promise((resolve, reject) => {
      this.#reader = { resolve: ({ value }) => resolve(value as Answer), reject }
      this.#feed()
    })
  }

  /** Whether ready-made chunks have had the event loop for long enough. */
  #isBurst (): boolean {
    return ++this.#count % CLOCK_EVERY === 0 && performance.now() - this.#burstStart > LONGEST_BURST_MS
  }

  #begin (): void {
    this.#state = 'running'
    this.#burstStart = performance.now()
    try {
      const { call, vac, admit } = this.#run
      this.#release = admit?.()
      const { signal, timeoutMs } = call
      if (signal?.aborted === true) return this.#onAbort()
      signal?.addEventListener('abort', this.#onAbort)
      if (timeoutMs !== undefined) {
        this.#timer = setTimeout(() => this.#abort(new VacTimeoutError(JSON.stringify(vac), timeoutMs / 1000)), timeoutMs)
      }
      this.#receive(this.#call())
    } catch (err) {
      this.#pulled = { err }
    }
  }

  #call (): unknown {
    const { interpreter, call, vac, config, callTool } = this.#run
    const signal = (): AbortSignal => this.#signal()
    const callback = (): InterpreterCallback => this.#callback()
    const extra: InterpreterExtra = {
      ...call.extra,
      // made when asked for: an abort controller costs more than all else of a short call
      get signal () { return signal() },
      log: call.log ?? silent,
      vac: config,
      protocol: call.protocol ?? 'code',
      principal: call.principal,
      callTool,
      get callback () { return callback() }
    }
    return interpreter(call.question, vac, call.history === undefined ? [] : [...call.history], extra)
  }

  /** Takes what the interpreter returned, or a promise of it: a source to ask, or the result. */
  #receive (returned: unknown): void {
    const source = iteratorOf(returned)
    if (source !== undefined) {
      this.#source = source
    } else if (isThenable(returned)) {
      this.#pulling = true
      returned.then(this.#onReturned, this.#onError)
    } else {
      this.#hold({ result: { done: true, value: returned } })
    }
  }

  readonly #onReturned = (value: unknown): void => {
    this.#pulling = false
    this.#receive(value)
    this.#feed()
  }

  #callback (): InterpreterCallback {
    const push = (token: string): Promise<void> => this.#push(token)
    const finish = async (result?: unknown): Promise<void> => {
      if (isAnswerObject(result) || typeof result === 'string') this.#ended = result
    }
    return { on_llm_new_token: push, on_llm_end: finish, async_on_llm_new_token: push, async_on_llm_end: finish }
  }

  #signal (): AbortSignal {
    this.#stop ??= new AbortController()
    if (this.#aborted && !this.#stop.signal.aborted) this.#stop.abort(this.#reason)
    return this.#stop.signal
  }

  /** Gives the waiting reader what there is, and asks the source when there is nothing. */
  #feed (): void {
    while (this.#reader !== undefined) {
      if (this.#isBurst()) {
        setImmediate(() => {
          this.#burstStart = performance.now()
          this.#feed()
        })
        return
      }
      if (this.#failure !== undefined) return this.#fail(this.#failure.err)
      if (this.#taken < this.#tokens.length) {
        this.#answer(this.#take())
      } else if (this.#pulled !== undefined) {
        const pulled = this.#pulled
        this.#pulled = undefined
        if ('err' in pulled) return this.#fail(pulled.err)
        this.#read(pulled.result)
      } else if (this.#pulling) {
        return
      } else {
        this.#pull()
      }
    }
  }

  #pull (): void {
    try {
      const result = this.#source!.next()
      if (!isThenable(result)) {
        this.#hold({ result })
        return
      }
      this.#pulling = true
      result.then(this.#onItem, this.#onError)
    } catch (err) {
      this.#pulled = { err }
    }
  }

  readonly #onItem = (result: IteratorResult<unknown>): void => {
    this.#pulling = false
    this.#hold({ result })
    this.#feed()
  }

  readonly #onError = (err: unknown): void => {
    this.#pulling = false
    this.#hold({ err })
    this.#feed()
  }

  /** Keeps what the source gave for the reader. An interpreter that has ended is no longer timed: its reader may be slow. */
  #hold (pulled: { result: IteratorResult<unknown> } | { err: unknown }): void {
    this.#pulled = pulled
    if ('err' in pulled || pulled.result.done === true) clearTimeout(this.#timer)
  }

  #read ({ done, value }: IteratorResult<unknown>): void {
    try {
      if (done === true) {
        this.#finish(value)
        return
      }
      const chunk = toChunk(this.#run.vac, value)
      if (chunk === undefined) this.#outcome = value
      else if (chunk !== '') this.#answer(chunk)
    } catch (err) {
      this.#fail(err)
    }
  }

  #answer (chunk: Chunk): void {
    if (typeof chunk === 'string') {
      this.#collected += chunk.length
      const room = (this.#whole ? this.#limits.maxAnswerChars : this.#limits.maxStreamedChars) - this.#streamed.length
      if (room > 0) this.#streamed += room < chunk.length ? chunk.slice(0, room) : chunk
    }
    if (this.#whole) return
    const { resolve } = this.#reader!
    this.#reader = undefined
    resolve({ done: false, value: chunk })
  }

  #finish (value: unknown): void {
    const { vac } = this.#run
    const outcome = value ?? this.#outcome ?? this.#ended
    const truncated = this.#collected > this.#streamed.length && !hasAnswer(outcome)
    if (truncated && this.#whole) {
      throw new VacInvalidResultError(JSON.stringify(vac), `more than ${this.#limits.maxAnswerChars} characters without an answer object`)
    }
    const answer = normaliseAnswer(vac, outcome, this.#streamed)
    if (truncated) answer.metadata = { ...answer.metadata, truncated: true }
    const { resolve } = this.#reader!
    this.#reader = undefined
    // an answer that came whole still reaches readers of text
    if (this.#collected === 0 && answer.answer !== '' && !this.#whole) {
      this.#last = answer
      resolve({ done: false, value: answer.answer })
    } else {
      resolve(this.#end(answer))
    }
  }

  #end (answer: Chunk): Item {
    this.#last = undefined
    this.#over()
    return { done: false, value: answer }
  }

  #fail (err: unknown): void {
    const told = this.#told(err)
    const reader = this.#reader
    this.#reader = undefined
    // whatever the interpreter still does is of no use to anybody
    this.#abort(told)
    this.#failure = undefined
    reader?.reject(told)
  }

  #told (err: unknown): unknown {
    if (this.#failure !== undefined && err === this.#failure.err) return err
    if (err instanceof VacInvalidResultError || err instanceof VacBusyError) return err
    return Object.assign(new VacInterpreterFailedError(JSON.stringify(this.#run.vac)), { cause: err })
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#run.call.signal?.reason
    this.#abort(reason instanceof Error && reason.name !== 'AbortError'
      ? reason
      : new CallAbortedError(reason instanceof Error ? reason.message : String(reason)))
  }

  /**
   * Ends the run with an error, at once: the interpreter hears of it by its signal, and its place is free, though a
   * reader that is stalled may come for the error much later.
   */
  #abort (err: unknown): void {
    if (this.#state === 'over') return
    this.#aborted = true
    this.#failure = { err }
    this.#reason = err
    this.#over()
    this.#stop?.abort(err)
    this.#feed()
  }

  #over (): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    clearTimeout(this.#timer)
    this.#run.call.signal?.removeEventListener('abort', this.#onAbort)
    this.#releaseWriters()
    if (this.#aborted) leave(this.#source)
    this.#release?.()
  }

  #take (): string {
    const token = this.#tokens[this.#taken++] as string
    this.#unread -= token.length
    if (this.#taken === this.#tokens.length) this.#tokens.length = this.#taken = 0
    if (this.#unread <= PUSH_HIGH_WATER_CHARS && this.#writers.length > 0) this.#releaseWriters()
    return token
  }

  #push (token: string): Promise<void> {
    const text = String(token)
    if (this.#state === 'over' || text === '') return Promise.resolve()
    this.#tokens.push(text)
    this.#unread += text.length
    const { maxUnreadChars } = this.#limits
    if (this.#unread > maxUnreadChars) this.#abort(new VacBufferFullError(JSON.stringify(this.#run.vac), maxUnreadChars))
    this.#feed()
    if (this.#aborted || this.#unread <= PUSH_HIGH_WATER_CHARS) return Promise.resolve()
    return new Promise(resolve => { this.#writers.push(resolve) })
  }

  #releaseWriters (): void {
    for (const resolve of this.#writers.splice(0)) resolve()
  }
}

const DONE: Item = { done: true, value: undefined }

/** Whether a result brings its own text. */
function hasAnswer (result: unknown): boolean {
  return typeof result === 'string' || typeof (result as { answer?: unknown } | null | undefined)?.answer === 'string'
}

/** Collects a stream into its Answer. */
export async function collect (stream: AsyncIterable<Chunk>): Promise<Answer> {
  for await (const chunk of stream) if (isAnswer(chunk)) return chunk
  throw new VacInvalidResultError('this stream', 'no answer at all')
}

function iteratorOf (value: unknown): Source | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  return Symbol.iterator in value ? (value as Iterable<unknown>)[Symbol.iterator]() : undefined
}

/** Tells the source that nobody reads on, without waiting: a source that is stuck would never answer. */
function leave (source: Source | undefined): void {
  try {
    Promise.resolve(source?.return?.()).catch(() => { /* the run is over; its outcome is already told */ })
  } catch { /* a sync generator that is still running, or throws in its own finally: the same */ }
}

function isThenable<T> (value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

const silent: Log = { debug () {}, info () {}, warn () {}, error () {} }
