import { randomUUID } from 'node:crypto'
import type { CallProgress, Question, ToolResult } from './call.js'
import { InvalidCallError, InvalidStateError } from './errors.js'
import type { Gateway } from './gateway.js'
import { Declined } from './questions.js'
import { RequestStates } from './request-state.js'
import { Stop, type StopSignal } from '@polyvac/core'

/** What the caller can answer; an absent key is declined. */
export interface CallerCapabilities { readonly elicitation?: object | undefined, readonly sampling?: object | undefined }

export interface InteractiveCall {
  /** Who calls, where that is known. */
  readonly owner?: string | undefined
  readonly server: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly capabilities: CallerCapabilities
  readonly signal: StopSignal
  readonly onProgress?: ((progress: CallProgress) => void) | undefined
  readonly requestState?: string | undefined
  readonly inputResponses?: Readonly<Record<string, unknown>> | undefined
}

/** A call that has ended, or one that asks for input and waits for a second call. */
export type Outcome = { readonly result: ToolResult } | { readonly status: 'input_required', readonly inputRequests: Readonly<Record<string, Question>>, readonly requestState: string }

interface Open { readonly question: Question, answer (response: Record<string, unknown>): void, decline (): void }

/** A call in progress, over as many requests of its caller as it takes. */
interface Running {
  readonly stop: Stop
  readonly questions: Map<string, Open>
  readonly done: Promise<ToolResult>
  onProgress: InteractiveCall['onProgress']
  /** Called when a question comes. */
  onQuestion: (() => void) | undefined
  asked: number
}

/** Calls that may ask their caller something in between: the caller is answered with the question, the call waits here. */
export class InteractiveCalls {
  readonly #gateway: Gateway
  readonly #states: RequestStates
  readonly #parked = new Map<string, { readonly running: Running, readonly timer: NodeJS.Timeout }>()

  constructor (gateway: Gateway, key: Buffer | string | undefined) {
    this.#gateway = gateway
    this.#states = new RequestStates(key)
  }

  /** Calls a tool, or goes on with a call that asked. @throws what befalls a call, MCP_INVALID_STATE */
  async call (call: InteractiveCall): Promise<Outcome> {
    const running = call.requestState === undefined ? this.#begin(call) : this.#resume(call, call.requestState)
    const leave = (): void => running.stop.abort(call.signal.reason)
    running.onProgress = call.onProgress
    call.signal.addEventListener('abort', leave)
    if (call.signal.aborted) leave()
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        running.onQuestion = () => {
          // those that come together are told together
          setImmediate(() => { if (running.questions.size > 0) resolve(this.#park(running, call)) })
        }
        running.done.then(result => resolve({ result }), reject)
        if (running.questions.size > 0) running.onQuestion()
      })
    } finally {
      running.onQuestion = running.onProgress = undefined
      call.signal.removeEventListener('abort', leave)
    }
  }

  /** Declines all that is open. */
  close (): void {
    for (const id of [...this.#parked.keys()]) this.#expire(id)
  }

  #begin ({ server, tool, args, capabilities }: InteractiveCall): Running {
    const stop = new Stop()
    const running: Running = {
      stop,
      questions: new Map(),
      onProgress: undefined,
      onQuestion: undefined,
      asked: 0,
      done: this.#gateway.call(server, tool, args, {
        signal: stop,
        onProgress: progress => { running.onProgress?.(progress) },
        ask: (question, signal) => this.#ask(running, question, signal, capabilities)
      })
    }
    // a call that fails while nobody waits for it has failed for the second request
    running.done.catch(() => {})
    return running
  }

  #resume (call: InteractiveCall, state: string): Running {
    const id = this.#states.read(state, call)
    const parked = this.#parked.get(id)
    if (parked === undefined) throw new InvalidStateError('its requestState has been used, or its server has ended the question')
    const { running, timer } = parked
    const answers = Object.entries(call.inputResponses ?? {}).filter(([key]) => running.questions.has(key))
    for (const [key, answer] of answers) checkAnswer(key, answer, running.questions.get(key)!.question)
    clearTimeout(timer)
    this.#parked.delete(id)
    for (const [key, answer] of answers) {
      running.questions.get(key)?.answer(answer as Record<string, unknown>)
      running.questions.delete(key)
    }
    return running
  }

  #ask (running: Running, question: Question, signal: StopSignal, { elicitation, sampling }: CallerCapabilities): Promise<Record<string, unknown>> {
    const can = question.method === 'elicitation/create' ? elicitation : sampling
    if (can === undefined || this.#parked.size >= this.#gateway.limits.maxQuestions || running.stop.aborted) return Promise.reject(new Declined())
    return new Promise((resolve, reject) => {
      const key = `input-${++running.asked}`
      const gone = (): void => {
        running.questions.delete(key)
        reject(new Declined())
      }
      signal.addEventListener('abort', gone)
      running.stop.addEventListener('abort', gone)
      const end = (): void => {
        signal.removeEventListener('abort', gone)
        running.stop.removeEventListener('abort', gone)
      }
      running.questions.set(key, {
        question,
        answer: response => { end(); resolve(response) },
        decline: () => { end(); reject(new Declined()) }
      })
      running.onQuestion?.()
    })
  }

  #park (running: Running, call: InteractiveCall): Outcome {
    const id = randomUUID()
    const { questionTtlMs } = this.#gateway.limits
    const timer = setTimeout(() => this.#expire(id), questionTtlMs)
    timer.unref()
    this.#parked.set(id, { running, timer })
    running.done.then(() => this.#expire(id), () => {})
    const inputRequests = Object.fromEntries([...running.questions].map(([key, { question }]) => [key, question]))
    return { status: 'input_required', inputRequests, requestState: this.#states.sign(id, call, questionTtlMs) }
  }

  /** Nobody came back: the questions are declined, and the call goes on as it will. */
  #expire (id: string): void {
    const parked = this.#parked.get(id)
    if (parked === undefined) return
    clearTimeout(parked.timer)
    this.#parked.delete(id)
    for (const question of parked.running.questions.values()) question.decline()
    parked.running.questions.clear()
  }
}

/** @throws BAD_REQUEST; the state stays good */
function checkAnswer (key: string, answer: unknown, { method }: Question): void {
  const { action } = (answer ?? {}) as { action?: unknown }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw new InvalidCallError(`body/inputResponses/${key}: expected object`)
  if (method === 'elicitation/create' && !['accept', 'decline', 'cancel'].includes(String(action))) {
    throw new InvalidCallError(`body/inputResponses/${key}/action: expected "accept", "decline" or "cancel"`)
  }
}
