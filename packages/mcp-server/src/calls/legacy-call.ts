import {
  features, isResponseTo,
  type ClientCapabilities, type InputRequests, type InputResponse, type InputResponses, type LegacyRevision,
  type LogLevel, type ServerRequest
} from '@polyvac/mcp-protocol'
import { AskRefusedError, AskTimeoutError, CannotAskError } from '../errors.js'
import type { Limits } from '../options.js'
import type { Response } from '../protocol/rpc.js'
import type { Session } from '../sessions/session.js'
import { checkDeclared } from './ask-again.js'
import { Call, type CallOptions } from './call.js'

/** A request up to revision 2025-11-25. Server requests are sent while it goes on; a session can resume its stream. */
export class LegacyCall extends Call {
  readonly era = 'legacy'
  readonly protocolVersion: LegacyRevision
  readonly session: Session | undefined
  readonly #limits: Limits

  constructor (options: CallOptions, revision: LegacyRevision, session: Session | undefined, limits: Limits) {
    super(options)
    this.protocolVersion = revision
    this.session = session
    this.#limits = limits
  }

  get capabilities (): ClientCapabilities { return this.session?.capabilities ?? {} }

  protected override detach (): boolean {
    return this.session?.detach(this) ?? false
  }

  async ask<K extends string> (questions: InputRequests<K>): Promise<InputResponses<K>> {
    const entries = Object.entries<ServerRequest>(questions)
    const { session } = this
    const { maxQuestions } = this.#limits
    checkDeclared(Object.values(questions), this.capabilities)
    if (!this.response.canStream) throw new CannotAskError(entries[0]?.[1].method ?? 'nothing', 'its client takes only JSON, not text/event-stream')
    if (session === undefined || session.openRequests + entries.length > maxQuestions) {
      throw new CannotAskError(entries[0]?.[1].method ?? 'nothing', `${maxQuestions} questions may be open`)
    }
    const responses = entries.map(async ([key, question]) => [key, await this.#send(session, question)] as const)
    return Object.fromEntries(await Promise.all(responses)) as InputResponses<K>
  }

  #send (session: Session, question: ServerRequest): Promise<InputResponse> {
    const { method, params = {} } = question
    const { signal } = this
    const { questionTtlMs } = this.#limits
    return new Promise((resolve, reject) => {
      const id = session.addRequest(this, ({ result, error }: Response) => {
        end()
        if (isResponseTo(question, result)) return resolve(result)
        const reason = result === undefined ? String(error?.message) : 'its response has the wrong form'
        reject(new AskRefusedError(method, reason))
      })
      if (id === undefined) return reject(new CannotAskError(method, 'as many questions as one owner may have are open'))
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
        session.removeRequest(id)
      }
      const abort = (): void => {
        end()
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        end()
        reject(new AskTimeoutError(method, questionTtlMs / 1000))
      }, questionTtlMs)
      signal.addEventListener('abort', abort)
      if (signal.aborted) return abort()
      const { mode, ...withoutMode } = params
      const hasMode = method !== 'elicitation/create' || features[this.protocolVersion].elicitationModes
      void this.response.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: hasMode ? params : withoutMode }))
    })
  }

  get logLevel (): LogLevel | undefined { return this.session?.logLevel }
}
