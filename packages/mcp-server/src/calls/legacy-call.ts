import { features, type ClientCapabilities, type InputResponse, isResponseTo, type LegacyRevision, type LogLevel, missingCapabilities, type ServerRequest } from '@polyvac/mcp-protocol'
import { Call, type CallParts } from './call.js'
import { AskRefusedError, AskTimeoutError, CannotAskError } from '../errors.js'
import type { Limits } from '../options.js'
import type { Response } from '../protocol/rpc.js'
import type { Session } from '../sessions/session.js'

/** A request up to revision 2025-11-25: its caller is asked while it goes on, and can come back for the rest of a broken stream. */
export class LegacyCall extends Call {
  readonly era = 'legacy'
  readonly protocolVersion: LegacyRevision
  readonly session: Session | undefined
  readonly #limits: Limits

  constructor (parts: CallParts, revision: LegacyRevision, session: Session | undefined, limits: Limits) {
    super(parts)
    this.protocolVersion = revision
    this.session = session
    this.#limits = limits
  }

  get capabilities (): ClientCapabilities { return this.session?.capabilities ?? {} }

  async ask<K extends string> (questions: Readonly<Record<K, ServerRequest>>): Promise<Record<K, InputResponse>> {
    const entries = Object.entries(questions) as Array<[K, ServerRequest]>
    const { session } = this
    for (const [, question] of entries) {
      if (missingCapabilities(question, this.capabilities) !== undefined) throw new CannotAskError(question.method, 'it did not declare that it answers')
    }
    if (session === undefined || session.openQuestions + entries.length > this.#limits.maxQuestions) {
      throw new CannotAskError(entries[0]?.[1].method ?? 'nothing', `${this.#limits.maxQuestions} questions may be open`)
    }
    const answers = await Promise.all(entries.map(async ([key, question]) => [key, await this.#askOne(session, question)] as const))
    return Object.fromEntries(answers) as Record<K, InputResponse>
  }

  #askOne (session: Session, question: ServerRequest): Promise<InputResponse> {
    const { method, params = {} } = question
    const { signal } = this
    const { questionTtlMs } = this.#limits
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        session.forget(id)
      }
      const leave = (): void => {
        end()
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        end()
        reject(new AskTimeoutError(method, questionTtlMs / 1000))
      }, questionTtlMs)
      const id = session.expect(this, ({ result, error }: Response) => {
        end()
        if (isResponseTo(question, result)) resolve(result)
        else reject(new AskRefusedError(method, result === undefined ? String(error?.message) : 'its answer has not the form that the question wants'))
      })
      signal.addEventListener('abort', leave)
      if (signal.aborted) return leave()
      const { mode, ...withoutMode } = params
      const hasMode = method !== 'elicitation/create' || features[this.protocolVersion].elicitationModes
      this.answer.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: hasMode ? params : withoutMode }))
    })
  }

  get logLevel (): LogLevel | undefined { return this.session?.logLevel }

  protected loudness (): LogLevel {
    return this.logLevel ?? 'debug'
  }

  protected canResume (): boolean {
    return this.session !== undefined
  }
}
