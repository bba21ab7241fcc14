import { copyJson, ExcessError } from '../vac/copy-json.js'
import { newCallId, readers, StepProblem, tenth, toolError, type StepReading } from '../vac/read-step.js'
import { stepFor, stepKind, type Step, type StepKind, type StepView } from '../vac/step.js'
import { isRecord } from '../basics/is-record.js'
import { SurrogateJoin } from '../basics/well-formed.js'
import type { RunLimits } from './run-limits.js'
import type { Log } from '../basics/log.js'
import type { ObservedCall } from '../telemetry/observe-call.js'

/** Counted for each step, besides its values. */
const STEP_CHARS = 64
/** Most text of a tool's result that makes the message of its error, in characters. */
const MAX_ERROR_CHARS = 2_000

/** What the steps of a run need of it. */
export interface StepSink {
  readonly vac: string
  /** What its reader sees; undefined: nothing. */
  readonly view: StepView | undefined
  readonly limits: Pick<RunLimits, 'maxSteps' | 'maxStepChars'>
  readonly log: Log | undefined
  /** When the interpreter was called, by `performance.now()`. */
  readonly began: number
  /** Observes the calls of tools that the interpreter yields. */
  readonly observed: Pick<ObservedCall, 'step'> | undefined
  /** Queues a step for the reader; false where the queue is full. */
  readonly push: (step: Step, chars: number) => boolean
}

/**
 * The steps of one run: those that its interpreter yields, and the calls of tools, which it makes itself. They leave it
 * only as its reader may see them, within the bounds of an answer.
 */
export class RunSteps implements StepReading {
  /** Steps that the reader did not get, or only without their contents. */
  leftOut = 0
  readonly thought = new SurrogateJoin()
  readonly #sink: StepSink
  readonly #capacity: { readonly max: number, left: number }
  #count = 0
  /** The reasoning whose pieces are coming. */
  #thinking: 'seen' | 'left out' | undefined
  // @keyed none: calls of tools of one answer that have no result yet; maxSteps
  readonly #open = new Set<string>()
  // @keyed none: those of them that this run calls, with their beginning; maxSteps
  readonly #running = new Map<string, number>()
  // @keyed none: spans of one answer that have not ended, with their beginning; maxSteps
  readonly #spans = new Map<string, number>()
  #isOver = false

  constructor (sink: StepSink) {
    this.#sink = sink
    this.#capacity = { max: sink.limits.maxStepChars, left: sink.limits.maxStepChars }
  }

  get lastCall (): string | undefined { return [...this.#open].at(-1) }

  get elapsed (): number { return tenth(performance.now() - this.#sink.began) }

  readonly startOf = (id: string): number | undefined => this.#spans.get(id)

  /** As steps are read: a reader of names needs no copy of what it does not see. */
  readonly copy = (value: unknown): unknown => copyJson(value, this.#capacity)

  /**
   * The step that an interpreter yielded, as its reader sees it; undefined where it sees nothing.
   * @throws StepProblem for one that is not of its kind, or not JSON
   */
  read (kind: StepKind, given: unknown): Step | undefined {
    const step = this.#read(kind, given)
    if (step === undefined) return undefined
    const seen = this.#take(step)
    if (!('tool_call' in step) || this.#open.has(step.tool_call.id)) this.#sink.observed?.step(step, given)
    return seen
  }

  /** @throws StepProblem */
  #read (kind: StepKind, given: unknown): Step | undefined {
    const { view } = this.#sink
    const before = this.#capacity.left
    const seen = view !== undefined && (view === 'all' || !kind.startsWith('tool_'))
    let step: Step | undefined
    try {
      step = readers[kind](given, seen ? this : this.#withoutContent)
    } catch (err) {
      if (err instanceof StepProblem) throw err
      const isLarge = err instanceof ExcessError && this.#capacity.left < 0
      this.#capacity.left = before
      if (!isLarge) throw new StepProblem(err instanceof ExcessError ? err.message : `a \`${kind}\` that cannot be converted to JSON`)
      this.leftOut++
      if (!kind.startsWith('tool_') && kind !== 'span') return undefined
      // the name of a tool, and that it has ended, are worth more than its text
      step = readers[kind](given, this.#withoutContent)
    }
    return step
  }

  /** Calls a tool, and queues its call and its result. */
  async call<T> (server: string | undefined, name: string, input: unknown, work: () => Promise<T>, id = newCallId()): Promise<T> {
    if (this.#running.size >= this.#sink.limits.maxSteps) return await work()
    this.#running.set(id, performance.now())
    this.#push('tool_call', { id, name, server, input })
    try {
      const result = await work()
      const failure = failureOf(result)
      this.#end(id, failure === undefined ? { output: result } : { error: failure })
      return result
    } catch (err) {
      this.#end(id, { error: toolError(err) })
      throw err
    }
  }

  /** Ends the calls that still run when the answer ends. Whether there are some. */
  endCalls (): boolean {
    const ids = [...this.#running.keys()]
    for (const id of ids) this.#end(id, { error: UNFINISHED })
    this.#isOver = true
    return ids.length > 0
  }

  #end (id: string, outcome: { readonly output: unknown } | { readonly error: object }): void {
    const start = this.#running.get(id)
    if (start === undefined) return
    this.#running.delete(id)
    this.#push('tool_result', { id, state: 'error' in outcome ? 'failed' : 'completed', ...outcome, start_ms: start - this.#sink.began, duration_ms: tenth(performance.now() - start) })
  }

  /** A step of this run itself never fails the answer: what is not JSON is left out of it. */
  #push (kind: 'tool_call' | 'tool_result', given: object): void {
    if (this.#isOver) return
    // no reader sees it: it is only logged
    if (this.#sink.view === undefined) return this.#note({ [kind]: given } as Step)
    const before = this.#capacity.left
    let step: Step | undefined
    try {
      step = this.#read(kind, given)
    } catch {
      step = readers[kind](given, this.#withoutContent)
      this.leftOut++
    }
    step &&= this.#take(step)
    if (step !== undefined && !this.#sink.push(step, before - this.#capacity.left)) this.leftOut++
  }

  /** Counts a step, and gives it in the form that the reader sees. */
  #take (step: Step): Step | undefined {
    const kind = stepKind(step)
    const isNext = kind !== 'reasoning' || this.#thinking === undefined
    if (kind !== 'reasoning') this.#thinking = undefined
    if (isNext) this.#note(step)
    const { view, limits: { maxSteps } } = this.#sink
    if (view === undefined) {
      if ('tool_result' in step) this.#open.delete(step.tool_result.id)
      else if ('tool_call' in step && this.#open.size < maxSteps) this.#open.add(step.tool_call.id)
      return undefined
    }
    const chars = STEP_CHARS + headChars(step)
    this.#capacity.left -= chars
    // what ends has its place already
    const isEnd = 'tool_result' in step ? this.#open.delete(step.tool_result.id) : 'span' in step && step.span.state !== 'running' && this.#spans.delete(step.span.id)
    if (!isEnd) {
      const fits = this.#capacity.left >= 0 && (isNext ? this.#count < maxSteps : this.#thinking === 'seen')
      if (isNext && fits) this.#count++
      else if (isNext) this.leftOut++
      if (kind === 'reasoning') this.#thinking = fits ? 'seen' : 'left out'
      if (!fits) {
        this.#capacity.left += chars
        return undefined
      }
    }
    if ('tool_call' in step) this.#open.add(step.tool_call.id)
    if ('span' in step && step.span.state === 'running') this.#spans.set(step.span.id, step.span.start_ms)
    return stepFor(view, step)
  }

  /** One debug line for each step, without its contents. */
  #note (step: Step): void {
    const { log, vac } = this.#sink
    if (log === undefined) return
    log.debug({ vac, step: stepKind(step), ...logFields(step) }, 'a step of an answer')
  }

  get #withoutContent (): StepReading {
    const { lastCall, startOf, elapsed, thought } = this
    return { copy: value => typeof value === 'string' ? value : null, lastCall, startOf, elapsed, thought }
  }
}

/** What the log has of a step besides its kind. */
function logFields (step: Step): object | undefined {
  if ('tool_call' in step) return { callId: step.tool_call.id, tool: step.tool_call.name, server: step.tool_call.server }
  if ('tool_result' in step) return { callId: step.tool_result.id, state: step.tool_result.state, ms: step.tool_result.duration_ms }
  return 'span' in step ? { kind: step.span.kind, name: step.span.name, state: step.span.state, ms: step.span.duration_ms } : undefined
}

/** The error of a result that MCP marks with `isError`: its texts. */
function failureOf (result: unknown): object | undefined {
  if (!isRecord(result) || result.isError !== true) return undefined
  const { content } = result
  const texts = Array.isArray(content) ? content.map((block: unknown) => isRecord(block) && typeof block.text === 'string' ? block.text : '') : []
  return { code: 'TOOL_ERROR', message: texts.join('\n').trim().slice(0, MAX_ERROR_CHARS) || 'the tool failed' }
}

/** Characters of names, which are not copied as JSON. */
function headChars (step: Step): number {
  if ('tool_call' in step) return step.tool_call.name.length + (step.tool_call.server?.length ?? 0)
  if ('span' in step) return step.span.kind.length + step.span.name.length + (step.span.finish_reason?.length ?? 0)
  if ('file' in step) return step.file.name.length + step.file.media_type.length
  return 'data' in step ? step.data.type.length : 0
}

const UNFINISHED = { code: 'TOOL_UNFINISHED', message: 'the answer ended before the tool did' }
