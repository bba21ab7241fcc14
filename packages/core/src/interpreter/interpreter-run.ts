import { normaliseAnswer } from '../vac/answer.js'
import { Deadline, type TimedCall } from './deadline.js'
import { hasAnswer, toChunk, type StepReader } from '../vac/chunk.js'
import { AgentCalls } from './agent-calls.js'
import { makeExtra, type OnDemand } from './extra.js'
import { interpreterFailure, reasonOf, signInRequest } from './failure.js'
import { isThenable, iteratorOf, leave, type Source } from './source.js'
import { cutText, isLargeText } from '../limits/json-pieces.js'
import { holdText, KeptText } from './kept-text.js'
import { PushedText } from './pushed-text.js'
import { RunSteps } from './run-steps.js'
import { DEFAULT_LIMITS, type RunLimits } from './run-limits.js'
import { guardCall, inCall, isTracking, type GuardedCall } from './stray-errors.js'
import { observeCall, type ObservedCall } from '../telemetry/observe-call.js'
import { yieldToEventLoop } from '../basics/turns.js'
import {
  CallAbortedError, VacBufferFullError, VacInterpreterFailedError, VacInvalidResultError, VacNotFoundError, VacTimeoutError
} from '../basics/errors.js'
import { quoteName, vacRemedy } from '../basics/names.js'
import type { CallPlace, PlacedCall } from '../limits/call-place.js'
import type { Interpreter, InterpreterCallback } from '../vac/interpreter.js'
import type { Memory } from '../vac/memory.js'
import type { VacConfig } from '../config/schema.js'
import type { LinkedNode } from '../basics/linked-set.js'
import type { Log } from '../basics/log.js'
import type { ToolAccess } from '../vac/tools.js'
import type { Step, StepKind, StepView } from '../vac/step.js'
import type { AgentAccess } from '../vac/agents.js'
import type { Answer, Chunk, ExposedVacs, Progress } from '../vac/vac.js'

/** Longest time in ms that ready chunks may block the event loop: an endless source must not hide a disconnect. */
const MAX_BURST_MS = 5
/** The clock is read once per this many chunks. */
const CLOCK_EVERY = 16

/** What all runs of an interpreter for one VAC share. */
export interface Run extends ToolAccess {
  readonly vac: string
  readonly config: VacConfig
  readonly interpreter: Interpreter
  /** The knowledge base of the VAC. */
  readonly memory?: Pick<Memory, 'search'> | undefined
  /** Default: those of `RUN_LIMITS`. */
  readonly limits?: RunLimits | undefined
  /** The VACs that the interpreter may ask, or how it reaches them. Default: none. */
  readonly agents?: ExposedVacs | AgentAccess | undefined
  /** Where the run has a place while it goes on. */
  readonly places?: RunPlaces | undefined
}

export interface RunPlaces {
  /** Called when a run begins. @throws the refusal */
  enter (owner: string | undefined): void
  /** Called when it is over. */
  leave (owner: string | undefined): void
}

/** Takes an item; whether its reader wants the next one, as a promise where it has to wait until then. */
export type Take<T> = (item: T) => boolean | Promise<boolean>

type Item = IteratorResult<Chunk, undefined>
type Pulled = { readonly result: IteratorResult<unknown> } | { readonly err: unknown }

/**
 * A hand-written iterator: each generator between an interpreter and a socket costs a third of the speed. It merges the
 * interpreter's items and its pushed text in the order in which they came; one reader waits at a time. What a short
 * call does not use (signal, timer, pushed text, handlers) is created at first use.
 */
export class InterpreterRun implements AsyncIterableIterator<Chunk>, OnDemand, GuardedCall, StepReader, TimedCall {
  readonly #run: Run
  readonly #call: PlacedCall
  #state: 'new' | 'running' | 'over' = 'new'
  /** Whether the caller wants only the Answer. */
  #whole = false
  /** Whether the reader takes an item without a promise and wants the next one. */
  #take: ((item: Item) => boolean) | undefined
  #source: Source | undefined
  #onAbort: (() => void) | undefined
  #deadline: Deadline | undefined
  #isAdmitted = false
  /** Held until the interpreter has ended, which may be after the run. */
  #place: CallPlace | undefined
  #guarded: LinkedNode<GuardedCall> | undefined
  #observed: ObservedCall | undefined
  #stop: AbortController | undefined
  #pushed: PushedText | undefined
  #steps: RunSteps | undefined
  #agents: AgentAccess | undefined
  #aborted = false
  /** Why the run was aborted, for a signal that is created after that. */
  #reason: unknown
  /** The failure that the reader has not received yet. */
  #failure: { err: unknown } | undefined
  /** The waiting reader. */
  #resolve: ((item: Item) => void) | undefined
  #reject: ((err: unknown) => void) | undefined
  /** The item or the end of the source that came while no reader waited. */
  #pulled: Pulled | undefined
  /** What had been pushed before it. */
  #mark: number | undefined
  #pulling = false
  /** Whether the source has yet to close. */
  #leaving = false
  #onItem: ((result: IteratorResult<unknown>) => void) | undefined
  #onError: ((err: unknown) => void) | undefined
  /** The text that was streamed; undefined before its first chunk. */
  #kept: KeptText | undefined
  /** The rest of a large chunk, which its reader gets in pieces, one in each turn of the event loop. */
  #rest = ''
  #isCutting = false
  #outcome: unknown
  #last: Answer | undefined
  #count = 0
  #burstStart = 0
  #began = 0

  constructor (run: Run, call: PlacedCall) {
    this.#run = run
    this.#call = call
  }

  [Symbol.asyncIterator] (): this { return this }

  next (): Promise<Item> {
    if (this.#state === 'new') this.#begin()
    if (this.#state === 'over' && this.#failure === undefined && this.#last === undefined) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#feed()
    })
  }

  return (): Promise<Item> {
    if (this.#state !== 'over') this.#abort(new CallAbortedError('the reader left'))
    this.#failure = undefined
    return Promise.resolve(DONE)
  }

  /** Gives the items to `take` in their order; see `readEach`. */
  async each (take: Take<Chunk>): Promise<void> {
    let taken: ReturnType<Take<Chunk>> = true
    this.#take = ({ done, value }) => {
      if (done === true) return false
      try {
        taken = take(value)
      } catch (err) {
        taken = Promise.reject(err)
      }
      return taken === true && this.#state !== 'over'
    }
    try {
      for (;;) if ((await this.next()).done === true || !await taken) return
    } finally {
      void this.return()
    }
  }

  /** Returns only the Answer: it takes the chunks here, without a promise for each. */
  answer (): Promise<Answer> {
    this.#whole = true
    this.#begin()
    return new Promise((resolve, reject) => {
      this.#resolve = ({ value }) => resolve(value as Answer)
      this.#reject = reject
      this.#feed()
    })
  }

  get vac (): string {
    return this.#run.vac
  }

  get log (): Log | undefined {
    return this.#call.log
  }

  /** Ends the call with an error that its interpreter threw outside of it. */
  fail (cause: unknown): void {
    this.#abort(Object.assign(new VacInterpreterFailedError(JSON.stringify(this.vac)), { cause }))
  }

  timeOut (): void {
    this.#abort(new VacTimeoutError(JSON.stringify(this.vac), this.#call.timeoutMs! / 1000))
  }

  get signal (): AbortSignal {
    this.#stop ??= new AbortController()
    if (this.#aborted && !this.#stop.signal.aborted) this.#stop.abort(this.#reason)
    return this.#stop.signal
  }

  get callback (): InterpreterCallback {
    return this.#queue.callback
  }

  get view (): StepView | undefined {
    return this.#call.steps
  }

  callTool<T> (server: string | undefined, tool: string, args: unknown, work: () => Promise<T>, id?: string): Promise<T> {
    return this.#call.hasRemoteTools === true ? work() : this.#stepsOf().call(server, tool, args, work, id)
  }

  get agents (): AgentAccess {
    const { vac, agents = NO_AGENTS } = this.#run
    this.#agents ??= 'callAgent' in agents ? agents : new AgentCalls({ vac, vacs: agents, call: this.#call, run: this })
    return this.#agents
  }

  get #queue (): PushedText {
    if (this.#pushed === undefined) {
      const { maxUnreadChars } = this.#limits
      const overflow = (err: Error = new VacBufferFullError(JSON.stringify(this.#run.vac), maxUnreadChars)): void => this.#abort(err)
      this.#pushed = new PushedText(maxUnreadChars, holdText(this.#call.principal?.owner), () => this.#feed(), overflow)
      if (this.#state === 'over') this.#pushed.close()
    }
    return this.#pushed
  }

  readStep (kind: StepKind, given: unknown): Step | undefined {
    return this.#stepsOf().read(kind, given)
  }

  /** Made at the first step. */
  #stepsOf (): RunSteps {
    const { steps: view, log, hasRemoteTools } = this.#call
    this.#steps ??= new RunSteps({
      vac: this.vac,
      view,
      limits: this.#limits,
      began: this.#began,
      // the run of the main thread logs them
      log: hasRemoteTools === true ? undefined : log,
      observed: this.#observed,
      push: (step, chars) => this.#queue.pushStep({ step, chars })
    })
    return this.#steps
  }

  get #limits (): RunLimits {
    return this.#run.limits ?? DEFAULT_LIMITS
  }

  #begin (): void {
    this.#state = 'running'
    this.#began = this.#burstStart = performance.now()
    try {
      const { vac, places, interpreter, config } = this.#run
      const call = this.#call
      this.#observed = observeCall(this.#run, call)
      places?.enter(call.principal?.owner)
      this.#isAdmitted = true
      this.#guarded = guardCall(this)
      const { signal, timeoutMs, place } = call
      if (signal !== undefined) {
        this.#onAbort = () => this.#abort(reasonOf(signal.reason))
        if (signal.aborted) return this.#onAbort()
        signal.addEventListener('abort', this.#onAbort)
      }
      if (timeoutMs !== undefined) this.#deadline = new Deadline(timeoutMs, this)
      place?.hold()
      this.#place = place
      const { callTool, listTools, tools } = this.#observed?.toolsOf(this.#run) ?? this.#run
      const extra = makeExtra(call, config, { callTool, listTools, tools, memory: this.#run.memory }, this)
      const history = call.history === undefined ? [] : [...call.history]
      this.#receive(this.#step(() => interpreter(call.question, vac, history, extra)))
    } catch (err) {
      this.#hold({ err })
    }
  }

  /** Executes a step of the interpreter. */
  #step<T> (step: () => T): T {
    const observed = this.#observed
    return observed === undefined ? inCall(this, step) : observed.run(() => inCall(this, step))
  }

  /** Takes the return value of the interpreter, or a promise of it: an iterator, or the result. */
  #receive (returned: unknown): void {
    const source = iteratorOf(returned)
    if (source !== undefined) {
      this.#source = source
      if (this.#state === 'over') this.#leave()
    } else if (isThenable(returned)) {
      this.#pulling = true
      returned.then(value => {
        this.#pulling = false
        this.#receive(value)
        this.#feed()
        this.#freePlace()
      }, this.#errorHandler)
    } else {
      this.#hold({ result: { done: true, value: returned } })
    }
  }

  /** Serves the waiting reader, and pulls from the source when nothing is ready. */
  #feed (): void {
    while (this.#resolve !== undefined) {
      if (++this.#count % CLOCK_EVERY === 0 && performance.now() - this.#burstStart > MAX_BURST_MS) return this.#breathe()
      if (this.#last !== undefined && this.#rest === '') return this.#settle(this.#end(this.#last))
      if (this.#failure !== undefined) return this.#fail(this.#failure.err)
      if (this.#rest !== '') return this.#sendPiece()
      const token = this.#pushed?.take(this.#mark)
      if (token !== undefined) {
        this.#give(typeof token === 'string' ? token : token.step)
      } else if (this.#steps !== undefined && this.#pulled !== undefined && this.#mark === undefined && this.#steps.endCalls()) {
        // calls of tools that have not ended get their results before the Answer
        continue
      } else if (this.#pulled !== undefined) {
        const pulled = this.#pulled
        this.#pulled = this.#mark = undefined
        if ('result' in pulled) this.#read(pulled.result)
        else {
          const request = signInRequest(pulled.err)
          if (request === undefined) return this.#fail(pulled.err)
          this.#read({ done: true, value: request })
        }
      } else if (this.#pulling) {
        return
      } else {
        this.#pull()
      }
    }
  }

  /** Continues in a turn of the event loop that no other long run has. */
  #breathe (): void {
    void yieldToEventLoop().then(() => {
      this.#burstStart = performance.now()
      this.#feed()
    })
  }

  #pull (): void {
    // text that the interpreter pushes meanwhile must not pull the next item
    this.#pulling = true
    try {
      // without tracking and telemetry no closure is made for the chunk
      const isPlain = this.#observed === undefined && !isTracking()
      const result = isPlain ? this.#source!.next() : this.#step(() => this.#source!.next())
      if (!isThenable(result)) return this.#pulledAtOnce({ result })
      this.#onItem ??= result => {
        this.#pulling = false
        this.#hold({ result })
        this.#feed()
        this.#freePlace()
      }
      result.then(this.#onItem, this.#errorHandler)
    } catch (err) {
      this.#pulledAtOnce({ err })
    }
  }

  #pulledAtOnce (pulled: Pulled): void {
    this.#pulling = false
    this.#hold(pulled)
    this.#freePlace()
  }

  get #errorHandler (): (err: unknown) => void {
    this.#onError ??= err => {
      this.#pulling = false
      this.#hold({ err })
      this.#feed()
      this.#freePlace()
    }
    return this.#onError
  }

  /** Keeps an item for the reader. The timeout ends with the interpreter: its reader may be slow. */
  #hold (pulled: Pulled): void {
    this.#pulled = pulled
    const isLast = 'err' in pulled || pulled.result.done === true
    if (isLast) this.#deadline?.clear()
    // what an interpreter pushes until it is read comes before its end
    this.#mark = isLast ? undefined : this.#pushed?.mark ?? 0
  }

  #read ({ done, value }: IteratorResult<unknown>): void {
    try {
      if (done === true) return this.#finish(value)
      const chunk = toChunk(this.#run.vac, value, this)
      if (typeof chunk === 'string' && chunk.length > this.#limits.maxAnswerChars) throw this.#longerThan('a chunk')
      if (chunk === undefined) this.#outcome = value
      else this.#give(chunk)
    } catch (err) {
      this.#fail(err)
    }
  }

  #give (chunk: string | Progress | Step): void {
    if (typeof chunk === 'string') this.#giveText(chunk)
    else if (this.#whole) this.#report(chunk)
    else this.#settle({ done: false, value: chunk })
  }

  #report (chunk: Progress | Step): void {
    if ('progress' in chunk) this.#call.onProgress?.(chunk)
    else this.#call.onStep?.(chunk)
  }

  #giveText (chunk: string): void {
    this.#kept ??= new KeptText()
    const text = this.#kept.pairs.push(chunk)
    if (text === '') return
    const { maxAnswerChars, maxStreamedChars } = this.#limits
    this.#kept.add(text, this.#whole ? maxAnswerChars : maxStreamedChars, this.#whole, this.#call.principal?.owner)
    if (!this.#whole) this.#send(text)
  }

  /** Gives the reader a chunk, or the first piece of a large one. */
  #send (text: string): void {
    if (isLargeText(text)) this.#rest = text
    else this.#settle({ done: false, value: text })
  }

  #sendPiece (): void {
    if (this.#isCutting) return
    this.#isCutting = true
    void yieldToEventLoop().then(() => {
      this.#isCutting = false
      if (this.#resolve === undefined) return
      const [piece, rest] = cutText(this.#rest)
      this.#rest = rest
      this.#settle({ done: false, value: piece })
      this.#feed()
    })
  }

  #settle (item: Item): void {
    if (this.#take?.(item) === true) return
    const resolve = this.#resolve!
    this.#resolve = this.#reject = undefined
    resolve(item)
  }

  #finish (value: unknown): void {
    const { vac } = this.#run
    const outcome = value ?? this.#outcome ?? this.#pushed?.ended
    if (typeof outcome === 'string' && outcome.length > this.#limits.maxAnswerChars) throw this.#longerThan('a text')
    const kept = this.#kept
    const half = kept?.pairs.end() ?? ''
    if (half !== '') kept?.add(half, Infinity, false, this.#call.principal?.owner)
    const truncated = kept?.isTruncated === true && !hasAnswer(outcome)
    if (truncated && this.#whole) {
      throw new VacInvalidResultError(JSON.stringify(vac), `more than ${this.#limits.maxAnswerChars} characters without an answer object`)
    }
    const answer = normaliseAnswer(vac, outcome, kept?.text ?? '', this.#limits.maxObjectChars)
    if (truncated) answer.metadata = { ...answer.metadata, truncated: true }
    const left = this.#call.steps === undefined ? 0 : this.#steps?.leftOut ?? 0
    if (left > 0) answer.metadata = { ...answer.metadata, steps_left_out: left }
    // readers of text get an answer that was not streamed, too
    const text = (kept?.seen ?? 0) === 0 && this.#call.streamedOnly !== true ? answer.answer : half
    if (text !== '' && !this.#whole) {
      this.#last = answer
      this.#send(text)
    } else {
      this.#settle(this.#end(answer))
    }
  }

  #longerThan (what: string): Error {
    return new VacInvalidResultError(JSON.stringify(this.vac), `${what} of more than ${this.#limits.maxAnswerChars} characters`)
  }

  #end (answer: Answer): Item {
    this.#last = undefined
    this.#over(answer)
    return { done: false, value: answer }
  }

  #fail (err: unknown): void {
    const isOwn = this.#failure !== undefined && err === this.#failure.err
    const failure = isOwn ? err : interpreterFailure(this.#run.vac, err)
    const reject = this.#reject
    this.#resolve = this.#reject = undefined
    // ends the interpreter, whose further output has no reader
    this.#abort(failure)
    this.#failure = undefined
    reject?.(failure)
  }

  /** Ends the run with an error at once, releases its place and aborts the interpreter. The reader may be stalled. */
  #abort (err: unknown): void {
    if (this.#state === 'over') return
    this.#aborted = true
    this.#reason = err
    this.#failure = { err }
    this.#over()
    this.#stop?.abort(err)
    this.#feed()
  }

  #over (answer?: Answer): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#observed?.end(answer, this.#reason)
    this.#deadline?.clear()
    if (this.#onAbort !== undefined) this.#call.signal?.removeEventListener('abort', this.#onAbort)
    this.#pushed?.close()
    if (this.#aborted) this.#leave()
    this.#guarded?.remove()
    this.#kept?.release()
    if (this.#isAdmitted) this.#run.places?.leave(this.#call.principal?.owner)
    this.#freePlace()
  }

  /** Closes the source. A generator that goes on returns once it has come to its next `yield`. */
  #leave (): void {
    const left = leave(this.#source)
    if (this.#place === undefined || left === undefined) return
    this.#leaving = true
    void left.then(() => {
      this.#leaving = false
      this.#freePlace()
    })
  }

  /** Gives the place back, unless the interpreter goes on after the run. */
  #freePlace (): void {
    if (this.#state !== 'over' || this.#pulling || this.#leaving) return
    this.#place?.release()
    this.#place = undefined
  }
}

const NO_AGENTS: ExposedVacs = {
  has: () => false,
  list: () => [],
  get (name) { throw new VacNotFoundError(quoteName(name), vacRemedy(name, [])) }
}

const DONE: Item = { done: true, value: undefined }
