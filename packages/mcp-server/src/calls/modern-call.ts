import { isInner, isRecord, type SignedStates } from '@polyvac/core/plugin'
import { argumentAt, type ClientCapabilities, headerMatches, type InputResponse, type LogLevel, missingCapabilities, type ModernRevision, type ServerRequest } from '@polyvac/mcp-protocol'
import { askAgain, InputRequired } from './ask-again.js'
import { Call, type CallParts } from './call.js'
import type { Entry } from '../lists/catalog.js'
import { CannotAskError } from '../errors.js'
import type { Limits } from '../options.js'
import { resultText, RpcError, type Params } from '../protocol/rpc.js'
import type { ResultTexts } from '../protocol/result-text.js'
import type { Relay, ToolDefinition } from '../tool-source.js'

/** The methods whose callers can be asked. */
const CAN_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** What calls of this era need of the server. */
export interface ModernCallContext {
  readonly states: SignedStates
  readonly texts: ResultTexts
  readonly limits: Pick<Limits, 'maxQuestions' | 'maxStateChars' | 'stateTtlMs'>
}

type Answers = Readonly<Record<string, unknown>>

/** What the caller holds between two runs. */
interface Held { readonly answers: Answers, readonly state?: string | undefined }

/** A request of revision 2026-07-28: it stands alone, and to ask is to answer with a question. */
export class ModernCall extends Call {
  readonly era = 'modern'
  readonly protocolVersion: ModernRevision
  readonly capabilities: ClientCapabilities
  readonly #context: ModernCallContext
  readonly logLevel: LogLevel | undefined
  /** Answers of earlier rounds and of this one. */
  #answers: Answers = {}
  /** Of the run before, then of this one. */
  #state: string | undefined
  #open: Record<string, ServerRequest> | undefined

  constructor (parts: CallParts, revision: ModernRevision, capabilities: ClientCapabilities, level: LogLevel | undefined, context: ModernCallContext) {
    super(parts)
    this.protocolVersion = revision
    this.capabilities = capabilities
    this.logLevel = level
    this.#context = context
    if (this.params.inputResponses !== undefined || this.params.requestState !== undefined) this.#resume()
  }

  override get state (): string | undefined { return this.#state }

  override get waits (): boolean { return this.#open !== undefined }

  override checkTool ({ mirrored }: Entry<ToolDefinition>): void {
    // a line of standard input has no headers
    if (isInner(this.request.raw.socket)) return
    for (const { header, path, type } of mirrored) {
      const value = argumentAt(this.params.arguments, path)
      const sent = this.request.headers[header]
      if (value === undefined || value === null) {
        if (sent !== undefined) throw new RpcError('headerMismatch', `the header ${header} repeats the argument ${path.join('.')}, which is not there`, undefined, 400)
      } else if (typeof sent !== 'string' || !headerMatches(sent, value, type)) {
        throw new RpcError('headerMismatch', `the header ${header} must repeat the argument ${path.join('.')}`, undefined, 400)
      }
    }
  }

  async ask<K extends string> (questions: Readonly<Record<K, ServerRequest>>, state?: string): Promise<Record<K, InputResponse>> {
    this.#check(Object.values(questions))
    return askAgain(questions, this.#answers, open => {
      if (state !== undefined) this.#state = state
      this.#open = { ...this.#open, ...open }
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
        // that server has heard the answers so far
        this.#answers = {}
        this.#state = requestState
        this.#open = inputRequests
        throw new InputRequired('the caller has to answer first')
      }
    }
  }

  override finish (result: string): void {
    this.end(resultText(this.id, this.#open === undefined ? result : this.#question(this.#open)))
  }

  /** @throws MCP_CANNOT_ASK; RpcError -32021 */
  #check (questions: readonly ServerRequest[]): void {
    const method = questions[0]?.method ?? 'nothing'
    if (!CAN_ASK.has(this.method)) throw new CannotAskError(method, `${this.method} has no way to ask`)
    if (questions.length > this.#context.limits.maxQuestions) throw new CannotAskError(method, `${this.#context.limits.maxQuestions} questions may be asked at once`)
    for (const question of questions) {
      const requiredCapabilities = missingCapabilities(question, this.capabilities)
      if (requiredCapabilities !== undefined) {
        throw new RpcError('missingCapability', `the client must declare that it answers ${question.method}`, { requiredCapabilities }, 400)
      }
    }
  }

  #question (open: Readonly<Record<string, ServerRequest>>): string {
    const { states, texts, limits } = this.#context
    const questions = Object.entries(open).map(([key, { method, params = {} }]) => [key, { method, params }] as const)
    const inputRequests = questions.length === 0 ? undefined : Object.fromEntries(questions)
    const requestState = states.sign({ answers: this.#answers, state: this.#state } satisfies Held, this.#identity(), limits.stateTtlMs)
    if (requestState.length > limits.maxStateChars) throw new RpcError('invalidParams', `the answers so far are too long to go on: ${limits.maxStateChars} characters are taken`)
    return texts.other('input_required', { inputRequests, requestState })
  }

  /** @throws RpcError -32602 */
  #resume (): void {
    const { inputResponses = {}, requestState } = this.params
    if (!isRecord(inputResponses)) throw new RpcError('invalidParams', '`inputResponses` must be an object')
    this.#answers = inputResponses
    if (requestState === undefined) return
    if (typeof requestState !== 'string') throw new RpcError('invalidParams', '`requestState` must be a string')
    const read = this.#context.states.read(requestState, this.#identity())
    if ('fault' in read) throw new RpcError('invalidParams', FAULTS[read.fault])
    const { answers, state } = read.value as Held
    this.#answers = { ...answers, ...inputResponses }
    this.#state = state
  }

  /** What a state belongs to: one caller, one method, the same parameters. */
  #identity (): unknown {
    const { _meta, inputResponses, requestState, ...params } = this.params as Params & { _meta?: unknown, inputResponses?: unknown, requestState?: unknown }
    return [this.principal?.owner ?? null, this.method, params]
  }

  protected loudness (): LogLevel | undefined {
    return this.logLevel
  }

  protected canResume (): boolean {
    return false
  }
}

const FAULTS = {
  forged: '`requestState` was not made here, or was changed; send it as it came, or call anew without it',
  foreign: '`requestState` belongs to another caller, or to a call with other parameters; call anew without it',
  expired: '`requestState` is too old; call anew without it'
} as const
