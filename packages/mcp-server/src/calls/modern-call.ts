import { isInner, isRecord, mayUse, type SignedStates } from '@polyvac/core/plugin'
import {
  argumentAt, headerMatches, missingCapabilities,
  type ClientCapabilities, type InputRequests, type InputResponses, type LogLevel, type ModernRevision,
  type ServerRequest
} from '@polyvac/mcp-protocol'
import { CannotAskError } from '../errors.js'
import type { Entry } from '../lists/catalog.js'
import type { Limits } from '../options.js'
import type { ResultTexts } from '../protocol/result-text.js'
import { headerMismatch, invalidParams, missingCapability, resultText, type Json } from '../protocol/rpc.js'
import type { Relay, ToolDefinition } from '../tool-source.js'
import { askAgain, InputRequired } from './ask-again.js'
import { Call, type CallOptions } from './call.js'

/** The methods whose result may be `input_required`. */
const CAN_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** What calls of this era need of the server. */
export interface ModernCallContext {
  readonly states: SignedStates
  readonly texts: ResultTexts
  readonly limits: Pick<Limits, 'maxQuestions' | 'maxStateChars' | 'stateTtlMs'>
}

/** What `_meta` of a request states. */
export interface ModernMeta {
  readonly version: ModernRevision
  readonly capabilities: ClientCapabilities
  readonly level: LogLevel | undefined
}

type Answers = Readonly<Record<string, unknown>>

/** What `requestState` holds between two runs. */
interface RequestState {
  readonly answers: Answers
  readonly state?: string | undefined
  /** Those of the caller that was asked: a credential with others does not go on. */
  readonly scopes?: readonly string[] | undefined
}

/** A request of revision 2026-07-28: it stands by itself, and its server requests are its result. */
export class ModernCall extends Call {
  readonly era = 'modern'
  readonly protocolVersion: ModernRevision
  readonly capabilities: ClientCapabilities
  readonly #context: ModernCallContext
  readonly logLevel: LogLevel | undefined
  /** Responses of earlier rounds and of this one, by key. */
  #answers: Answers = {}
  /** The state of the run before, then of this one. */
  #state: string | undefined
  #questions: InputRequests | undefined

  constructor (
    options: CallOptions, { version, capabilities, level }: ModernMeta, context: ModernCallContext
  ) {
    super(options)
    this.protocolVersion = version
    this.capabilities = capabilities
    this.logLevel = level
    this.#context = context
    if (this.params.inputResponses !== undefined || this.params.requestState !== undefined) this.#resume()
  }

  override get state (): string | undefined { return this.#state }

  override get isWaiting (): boolean { return this.#questions !== undefined }

  override checkTool ({ headerParameters }: Entry<ToolDefinition>): void {
    // messages of standard input have no headers
    if (isInner(this.request.raw.socket)) return
    for (const { header, path, type } of headerParameters) {
      const value = argumentAt(this.params.arguments, path)
      const sent = this.request.headers[header]
      const isAbsent = value === undefined || value === null
      if (isAbsent ? sent === undefined : typeof sent === 'string' && headerMatches(sent, value, type)) continue
      throw headerMismatch(`the header ${header} must repeat the argument ${path.join('.')}, or be absent with it`)
    }
  }

  async ask<K extends string> (questions: InputRequests<K>, state?: string): Promise<InputResponses<K>> {
    this.#check(Object.values(questions))
    return askAgain(questions, this.#answers, open => {
      if (state !== undefined) this.#state = state
      this.#questions = { ...this.#questions, ...open }
    })
  }

  override get relay (): Relay | undefined {
    if (!CAN_ASK.has(this.method)) return undefined
    const { inputResponses } = this.params as { inputResponses?: Answers }
    return {
      inputResponses,
      requestState: this.#state,
      ask: (inputRequests, requestState) => {
        this.#check(Object.values(inputRequests))
        // the upstream server has the responses so far
        this.#answers = {}
        this.#state = requestState
        this.#questions = inputRequests
        throw new InputRequired('the caller has to answer first')
      }
    }
  }

  override finish (result: Json): void {
    this.end(resultText(this.id, this.#questions === undefined ? result : this.#inputRequired(this.#questions)))
  }

  /** @throws MCP_CANNOT_ASK; RpcError -32021 */
  #check (questions: readonly ServerRequest[]): void {
    const method = questions[0]?.method ?? 'nothing'
    const { maxQuestions } = this.#context.limits
    if (!CAN_ASK.has(this.method)) throw new CannotAskError(method, `${this.method} cannot return input_required`)
    if (questions.length > maxQuestions) throw new CannotAskError(method, `at most ${maxQuestions} questions at once`)
    for (const question of questions) {
      const requiredCapabilities = missingCapabilities(question, this.capabilities)
      if (requiredCapabilities !== undefined) {
        throw missingCapability(`the client must declare the capability for ${question.method}`, requiredCapabilities)
      }
    }
  }

  /** @throws RpcError -32602 */
  #inputRequired (open: InputRequests): string {
    const { states, texts, limits: { maxStateChars, stateTtlMs } } = this.#context
    const questions = Object.entries(open).map(([key, { method, params = {} }]) => [key, { method, params }] as const)
    const inputRequests = questions.length === 0 ? undefined : Object.fromEntries(questions)
    const state: RequestState = { answers: this.#answers, state: this.#state, scopes: this.principal?.scopes }
    const requestState = states.sign(state, this.#identity(), stateTtlMs)
    if (requestState.length > maxStateChars) {
      throw invalidParams(`the answers so far make the requestState longer than ${maxStateChars} characters`)
    }
    return texts.other('input_required', { inputRequests, requestState })
  }

  /** @throws RpcError -32602 */
  #resume (): void {
    const { inputResponses = {}, requestState } = this.params
    if (!isRecord(inputResponses)) throw invalidParams('`inputResponses` must be an object')
    this.#answers = inputResponses
    if (requestState === undefined) return
    if (typeof requestState !== 'string') throw invalidParams('`requestState` must be a string')
    const read = this.#context.states.read(requestState, this.#identity())
    if ('fault' in read) throw invalidParams(FAULTS[read.fault])
    const { answers, state, scopes } = read.value as RequestState
    const { principal } = this
    if (!mayUse(principal, { maker: principal && { ...principal, scopes } })) throw invalidParams(FAULTS.unknown)
    this.#answers = { ...answers, ...inputResponses }
    this.#state = state
  }

  /** What a state is signed for: the caller, the method, the parameters. */
  #identity (): unknown {
    const { _meta, inputResponses, requestState, ...params } = this.params
    return [this.principal?.owner ?? null, this.method, params]
  }
}

const FAULTS = {
  unknown: 'this server did not issue `requestState` for this caller and these parameters; send both unchanged, or call again without it',
  expired: '`requestState` is too old; call again without it'
} as const
