import { randomUUID } from 'node:crypto'
import type { Principal } from '@polyvac/core'
import { ELICITATION_ACTIONS, type ServerRequest } from '@polyvac/mcp-protocol'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { InvalidStateError } from '../errors.js'
import type { Servers } from '../servers.js'
import { Declined } from '../session/server-requests.js'
import { RequestStates, type CallIdentity } from './request-state.js'
import type { CallBody } from '../schemas.js'
import { InvalidRequestError, memoryBudget, shareOf, type AbortSignalLike, type HeldBytes, type LightAbort } from '@polyvac/core/plugin'

/** Capabilities of a caller that does not declare any. */
const ANSWERS_ALL = { elicitation: {}, sampling: {} }

/** The result of a call, or its requests for input: it then waits for a second call. */
export type Outcome = { readonly result: ToolResult } | { readonly status: 'input_required', readonly inputRequests: Readonly<Record<string, ServerRequest>>, readonly requestState: string }

/** Notifications of one request of a call. */
export type CallListeners = Pick<CallOptions, 'onProgress' | 'onMessage' | 'logLevel' | 'meta'>

interface Open { readonly question: ServerRequest, answer (response: Record<string, unknown>): void, decline (): void }

/** Open questions of one call; a server that asks more at a time is declined. */
const MAX_QUESTIONS_OF_CALL = 16

/**
 * A call in progress, over one or more requests of its caller, and its options. An instance of a class and few object
 * literals: V8 allocates literals in its old space once many have survived a collection, and each kept a whole request
 * alive until the next full one.
 */
class Running implements CallOptions {
  // @keyed number of a question within a call | holds: what the server asks, until its caller answers | whose: the
  //   caller | bound: MAX_QUESTIONS_OF_CALL; maxMessageBytes for each | share: when the call is parked, the memory
  //   budget of the owner counts those so far | test: packages/mcp-gateway/test/interactive.test.ts: a call with many
  //   open questions declines the others
  #questions: Map<string, Open> | undefined
  onProgress: CallOptions['onProgress']
  onMessage: CallOptions['onMessage']
  readonly logLevel: string | undefined
  readonly meta: CallOptions['meta']
  /** Called with each new question. */
  onQuestion: (() => void) | undefined
  done: Promise<ToolResult> | undefined
  #asked = 0

  /** @param signal that of its first request, for as long as the call lasts */
  constructor (
    readonly capabilities: CallBody['capabilities'], readonly principal: Principal | undefined, readonly signal: LightAbort,
    { onProgress, onMessage, logLevel, meta }: CallListeners, private readonly hasRoom: (principal: Principal | undefined) => boolean
  ) {
    this.onProgress = onProgress
    this.onMessage = onMessage
    this.logLevel = logLevel
    this.meta = meta
  }

  /** Made when it is read: most calls have none. */
  get questions (): Map<string, Open> {
    this.#questions ??= new Map()
    return this.#questions
  }

  get isAsking (): boolean { return this.#questions !== undefined && this.#questions.size > 0 }

  readonly ask = (question: ServerRequest, signal: AbortSignalLike): Promise<Record<string, unknown>> => {
    const can = (this.capabilities ?? ANSWERS_ALL)[question.method.split('/')[0] as 'elicitation' | 'sampling']
    if (can === undefined || this.questions.size >= MAX_QUESTIONS_OF_CALL || !this.hasRoom(this.principal) || this.signal.aborted) return Promise.reject(new Declined())
    return new Promise((resolve, reject) => {
      const key = `input-${++this.#asked}`
      const end = (): void => {
        signal.removeEventListener('abort', gone)
        this.signal.removeEventListener('abort', gone)
      }
      const gone = (): void => {
        this.questions.delete(key)
        end()
        reject(new Declined())
      }
      signal.addEventListener('abort', gone)
      this.signal.addEventListener('abort', gone)
      this.questions.set(key, { question, answer: response => { end(); resolve(response) }, decline: gone })
      this.onQuestion?.()
    })
  }
}

/** Calls that may request input: the caller gets the questions as its response, and the call waits here. */
export class InteractiveCalls {
  readonly #servers: Servers
  readonly #states: RequestStates
  readonly #hasRoom = (principal: Principal | undefined): boolean => {
    const { maxQuestions } = this.#servers.limits
    if (this.#parked.size >= maxQuestions) return false
    return principal === undefined || [...this.#parked.values()].filter(({ running }) => running.principal?.owner === principal.owner).length < shareOf(maxQuestions)
  }

  // @keyed random id, which the signed requestState names | holds: a call that waits for its caller | whose: the
  //   owner | bound: maxQuestions, for questionTtlMs; arguments and questions count in the memory budget | share: the
  //   owner, OWNER_SHARE of them | test: packages/mcp-gateway/test/owners.test.ts: one owner has a quarter of the
  //   open questions
  readonly #parked = new Map<string, { readonly running: Running, readonly timer: NodeJS.Timeout, readonly held: HeldBytes }>()

  constructor (servers: Servers) {
    this.#servers = servers
    this.#states = new RequestStates(servers.stateKey)
  }

  /**
   * Calls a tool, or resumes a call that requested input.
   * @param signal of this request; that of a call's first request lives as long as the call
   * @throws the errors of a call, MCP_INVALID_STATE
   */
  call (body: CallBody, principal: Principal | undefined, signal: LightAbort, listeners: CallListeners = {}): Promise<Outcome> {
    const { server, tool, arguments: args = {}, capabilities, requestState, approval } = body
    if (requestState !== undefined) return this.#callAgain(body, principal, signal, listeners, requestState)
    const running = new Running(capabilities, principal, signal, listeners, this.#hasRoom)
    running.done = this.#servers.approvals.call(this.#servers.get(server), tool, args, running, approval)
    return this.#outcome(running, body, principal)
  }

  async #callAgain (body: CallBody, principal: Principal | undefined, signal: LightAbort, listeners: CallListeners, requestState: string): Promise<Outcome> {
    const running = this.#resume(body, principal, requestState)
    const leave = (): void => running.signal.abort(signal.reason)
    running.onProgress = listeners.onProgress
    running.onMessage = listeners.onMessage
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    try {
      return await this.#outcome(running, body, principal)
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** The result of a call, or its next questions. */
  #outcome (running: Running, body: CallBody, principal: Principal | undefined): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      running.onQuestion = () => {
        // questions of the same turn are sent together
        setImmediate(() => {
          const outcome = running.isAsking ? this.#park(running, body, principal) : undefined
          if (outcome !== undefined) resolve(outcome)
        })
      }
      // a call that fails while it is parked fails for its second request
      running.done?.then(result => resolve({ result }), reject)
      if (running.isAsking) running.onQuestion()
    })
  }

  /** The open questions of a parked call, by key. @throws MCP_INVALID_STATE */
  questions (body: CallBody, principal: Principal | undefined, requestState: string): Readonly<Record<string, ServerRequest>> {
    return questionsOf(this.#parkedAt(body, principal, requestState).running)
  }

  /** Declines all open questions. */
  close (): void {
    for (const id of [...this.#parked.keys()]) this.#expire(id)
  }

  #parkedAt (body: CallBody, principal: Principal | undefined, state: string): { readonly id: string, readonly running: Running, readonly timer: NodeJS.Timeout, readonly held: HeldBytes } {
    const id = this.#states.read(state, identityOf(body, principal))
    const parked = this.#parked.get(id)
    if (parked === undefined) throw new InvalidStateError('its requestState has been used, or its server has ended the question')
    return { id, ...parked }
  }

  #resume (body: CallBody, principal: Principal | undefined, state: string): Running {
    const { id, running, timer, held } = this.#parkedAt(body, principal, state)
    const answers = Object.entries(body.inputResponses ?? {}).filter(([key]) => running.questions.has(key))
    for (const [key, answer] of answers) if (answer !== undefined) checkAnswer(key, answer, running.questions.get(key)!.question)
    clearTimeout(timer)
    this.#parked.delete(id)
    held.release()
    for (const [key, answer] of answers) {
      // undefined comes only from the tool source, and means declined
      if (answer === undefined) running.questions.get(key)?.decline()
      else running.questions.get(key)?.answer(answer as Record<string, unknown>)
      running.questions.delete(key)
    }
    return running
  }

  /** Undefined where the memory for calls that wait is used up: the questions are declined. */
  #park (running: Running, body: CallBody, principal: Principal | undefined): Outcome | undefined {
    const held = memoryBudget.hold('calls that wait for input', principal?.owner)
    if (!held.tryGrow(2 * JSON.stringify([body.arguments, running.meta, questionsOf(running)]).length)) {
      for (const question of [...running.questions.values()]) question.decline()
      return undefined
    }
    running.onQuestion = running.onProgress = running.onMessage = undefined
    const id = randomUUID()
    const { questionTtlMs } = this.#servers.limits
    const timer = setTimeout(() => this.#expire(id), questionTtlMs)
    timer.unref()
    this.#parked.set(id, { running, timer, held })
    running.done?.then(() => this.#expire(id), () => {})
    return { status: 'input_required', inputRequests: questionsOf(running), requestState: this.#states.sign(id, identityOf(body, principal), questionTtlMs) }
  }

  /** The caller did not come back: its questions are declined, and the call continues. */
  #expire (id: string): void {
    const parked = this.#parked.get(id)
    if (parked === undefined) return
    clearTimeout(parked.timer)
    this.#parked.delete(id)
    parked.held.release()
    for (const question of [...parked.running.questions.values()]) question.decline()
  }
}

function identityOf ({ server, tool, arguments: args = {} }: CallBody, principal: Principal | undefined): CallIdentity {
  return { owner: principal?.owner, server, tool, args }
}

function questionsOf ({ questions }: Running): Record<string, ServerRequest> {
  return Object.fromEntries([...questions].map(([key, { question }]) => [key, question]))
}

/** @throws BAD_REQUEST; the state remains valid */
function checkAnswer (key: string, answer: unknown, { method }: ServerRequest): void {
  const { action } = (answer ?? {}) as { action?: unknown }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw invalid(key, 'expected object')
  if (method === 'elicitation/create' && !ELICITATION_ACTIONS.includes(action)) {
    throw invalid(`${key}/action`, 'expected "accept", "decline" or "cancel"')
  }
}

function invalid (path: string, message: string): Error {
  return new InvalidRequestError([{ path: `body/inputResponses/${path}`, message }])
}
