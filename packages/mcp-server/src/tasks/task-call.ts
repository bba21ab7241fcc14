import type { Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import {
  eraOf,
  type ClientCapabilities, type Era, type InputRequests, type InputResponses, type Revision
} from '@polyvac/mcp-protocol'
import { askAgain, checkDeclared } from '../calls/ask-again.js'
import type { CallContext, CallTask } from '../tool-source.js'

export type TaskCallOptions =
  Pick<TaskCall, 'request' | 'task' | 'signal' | 'principal' | 'log' | 'capabilities' | 'protocolVersion' | 'meta' | 'state'> &
  { readonly answers: InputResponses }

/** A call that runs as a task: it has no connection, and its questions wait in the task. */
export class TaskCall implements CallContext {
  /** Stands for the HTTP request in error texts and logs. */
  readonly request!: { readonly id: string, readonly headers: Readonly<Record<string, never>> }
  readonly task!: CallTask
  readonly signal!: AbortSignalLike
  readonly principal: Principal | undefined
  readonly log!: Log
  readonly capabilities!: ClientCapabilities
  readonly protocolVersion!: Revision
  readonly meta: Readonly<Record<string, unknown>> | undefined
  readonly #answers: InputResponses
  /** The state of the run before, then of this one. */
  state: string | undefined
  /** What the caller has to answer before the next run. */
  questions: InputRequests | undefined

  constructor ({ answers, ...fields }: TaskCallOptions) {
    Object.assign(this, fields)
    this.#answers = answers
  }

  get era (): Era { return eraOf(this.protocolVersion) }
  get isWaiting (): boolean { return this.questions !== undefined }
  get isOver (): boolean { return this.signal.aborted }

  progress (): undefined {}

  message (): undefined {}

  async ask<K extends string> (questions: InputRequests<K>, state?: string): Promise<InputResponses<K>> {
    checkDeclared(Object.values(questions), this.capabilities)
    return askAgain(questions, this.#answers, open => {
      if (state !== undefined) this.state = state
      this.questions = { ...this.questions, ...open }
    })
  }

  disconnect (): void {}
}
