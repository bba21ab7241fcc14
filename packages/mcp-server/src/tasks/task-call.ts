import type { Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import { type ClientCapabilities, type Era, eraOf, type InputResponse, missingCapabilities, type Revision, type ServerRequest } from '@polyvac/mcp-protocol'
import { askAgain } from '../calls/ask-again.js'
import { CannotAskError } from '../errors.js'
import type { CallContext } from '../tool-source.js'

export interface TaskCallParts {
  /** Stands for the request in messages and logs. */
  readonly request: { readonly id: string, readonly headers: Readonly<Record<string, never>> }
  readonly signal: AbortSignalLike
  readonly principal: Principal | undefined
  readonly log: Log
  readonly capabilities: ClientCapabilities
  readonly protocolVersion: Revision
  readonly answers: Readonly<Record<string, InputResponse>>
  /** Of the run before. */
  readonly state: string | undefined
}

/** A call while it is a task: nobody listens, and its questions wait with it. */
export class TaskCall implements CallContext {
  readonly request: TaskCallParts['request']
  readonly signal: AbortSignalLike
  readonly principal: Principal | undefined
  readonly log: Log
  readonly capabilities: ClientCapabilities
  readonly protocolVersion: Revision
  readonly #answers: Readonly<Record<string, InputResponse>>
  /** Of the run before, then of this one. */
  state: string | undefined
  /** What the caller has to answer before the next run. */
  questions: Readonly<Record<string, ServerRequest>> | undefined

  constructor ({ request, signal, principal, log, capabilities, protocolVersion, answers, state }: TaskCallParts) {
    this.request = request
    this.signal = signal
    this.principal = principal
    this.log = log
    this.capabilities = capabilities
    this.protocolVersion = protocolVersion
    this.#answers = answers
    this.state = state
  }

  get era (): Era { return eraOf(this.protocolVersion) }
  get waits (): boolean { return this.questions !== undefined }
  get isOver (): boolean { return this.signal.aborted }

  progress (): undefined {}

  message (): undefined {}

  async ask<K extends string> (questions: Readonly<Record<K, ServerRequest>>, state?: string): Promise<Record<K, InputResponse>> {
    for (const question of Object.values<ServerRequest>(questions)) {
      if (missingCapabilities(question, this.capabilities) !== undefined) throw new CannotAskError(question.method, 'it did not declare that it answers')
    }
    return askAgain(questions, this.#answers, open => {
      if (state !== undefined) this.state = state
      this.questions = { ...this.questions, ...open }
    })
  }

  disconnect (): void {}
}
