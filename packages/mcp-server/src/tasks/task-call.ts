import type { Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import { type ClientCapabilities, type Era, eraOf, type InputResponse, isResponseTo, missingCapabilities, type Revision, type ServerRequest } from '@polyvac/mcp-protocol'
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

/** Ends a run that has to wait for its caller. */
class InputRequired extends Error {}

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
    const asked = Object.entries(questions) as Array<[K, ServerRequest]>
    for (const [, question] of asked) {
      if (missingCapabilities(question, this.capabilities) !== undefined) throw new CannotAskError(question.method, 'it did not declare that it answers')
    }
    const open = asked.filter(([key, question]) => !isResponseTo(question, this.#answers[key]))
    if (open.length === 0) return Object.fromEntries(asked.map(([key]) => [key, this.#answers[key]])) as Record<K, InputResponse>
    if (state !== undefined) this.state = state
    this.questions = { ...this.questions, ...Object.fromEntries(open) }
    throw new InputRequired(`the task waits for ${open.map(([key]) => key).join(', ')}`)
  }

  disconnect (): void {}
}
