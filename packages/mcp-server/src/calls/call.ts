import type { Log, Principal } from '@polyvac/core'
import { CallAbortedError, isRecord, LightAbort, type AbortSignalLike, type Disconnects } from '@polyvac/core/plugin'
import { type CallProgress, type ClientCapabilities, type Era, type InputResponse, LOG_LEVELS, type LogLevel, type LogMessage, type Revision, type ServerRequest } from '@polyvac/mcp-protocol'
import type { FastifyRequest } from 'fastify'
import type { ResponseWriter } from '../http/response.js'
import type { Entry } from '../lists/catalog.js'
import { errorText, resultText, type Params, type RequestId, type RpcError } from '../protocol/rpc.js'
import type { CallContext, Relay, ToolDefinition } from '../tool-source.js'

/** What a call is made of. */
export interface CallParts {
  readonly request: FastifyRequest
  readonly answer: ResponseWriter
  readonly id: RequestId
  readonly method: string
  readonly params: Params
  readonly principal: Principal | undefined
  readonly leaving: Disconnects
  readonly sessionId?: string | undefined
}

/** One request of a caller while it is answered. Signal and watch are made by need: most calls are over before. */
export abstract class Call implements CallContext {
  readonly request: FastifyRequest
  readonly answer: ResponseWriter
  readonly id: RequestId
  readonly method: string
  readonly params: Params
  readonly principal: Principal | undefined
  abstract readonly era: Era
  abstract readonly protocolVersion: Revision
  abstract readonly capabilities: ClientCapabilities
  /** The session that the call belongs to, where there is one. */
  readonly sessionId: string | undefined
  readonly #leaving: Disconnects
  #stop: LightAbort | undefined
  #forget: (() => void) | undefined
  #progress = -Infinity
  #isOver = false

  constructor ({ request, answer, id, method, params, principal, leaving, sessionId }: CallParts) {
    this.request = request
    this.answer = answer
    this.id = id
    this.method = method
    this.params = params
    this.principal = principal
    this.#leaving = leaving
    this.sessionId = sessionId
  }

  get log (): Log { return this.request.log }

  get isOver (): boolean { return this.#isOver }

  get signal (): AbortSignalLike {
    if (this.#stop === undefined) {
      const stop = this.#stop = new LightAbort()
      if (this.#isOver) stop.abort(new CallAbortedError('the call is over'))
      else {
        const { reply } = this.answer
        this.#forget = this.#leaving.watch(reply, () => {
          if (!reply.raw.writableFinished && this.endsWithCaller()) this.cancel(new CallAbortedError('the client left'))
        })
      }
    }
    return this.#stop
  }

  /** Whether the caller has to answer something first. */
  get waits (): boolean { return false }

  /** Whether the request fits the tool, beside its arguments. @throws RpcError */
  checkTool (_entry: Entry<ToolDefinition>): void {}

  progress ({ progress, total, message }: CallProgress): Promise<void> | undefined {
    const { progressToken } = isRecord(this.params._meta) ? this.params._meta : {}
    if ((typeof progressToken !== 'string' && typeof progressToken !== 'number') || this.#isOver || !(progress > this.#progress)) return undefined
    this.#progress = progress
    return this.notify('notifications/progress', { progressToken, progress, total, message })
  }

  message ({ level, logger, data }: LogMessage): Promise<void> | undefined {
    const wanted = this.loudness()
    if (wanted === undefined || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(wanted)) return undefined
    return this.notify('notifications/message', { level, logger, data })
  }

  /** Sends a notification that belongs to this call, unless its reader is far behind. */
  notify (method: string, params: object): Promise<void> | undefined {
    if (this.#isOver || this.answer.stream?.isFull === true) return undefined
    return this.answer.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Of a run before; where a call goes on while its caller is asked, there is none. */
  get state (): string | undefined { return undefined }

  abstract ask<K extends string> (questions: Readonly<Record<K, ServerRequest>>, state?: string): Promise<Record<K, InputResponse>>

  disconnect (retryMs?: number): void {
    if (!this.#isOver && this.canResume()) this.answer.begin().disconnect(retryMs)
  }

  /** The response. */
  end (text: string, status?: number): void {
    if (this.#isOver) return
    this.#close()
    this.answer.end(text, status)
  }

  /** The response with this result; one that waits asks instead. */
  finish (result: string): void {
    this.end(resultText(this.id, result))
  }

  fail (error: RpcError): void {
    this.end(errorText(this.id, error), error.status)
  }

  /** Tells the work to stop; the response is still wanted. */
  abort (reason: Error): void {
    this.#stop?.abort(reason)
  }

  /** Ends the call before its time: with a response, or with none where nobody waits for one. */
  cancel (reason: Error, response?: RpcError): void {
    if (this.#isOver) return
    this.#close()
    this.#stop?.abort(reason)
    if (response === undefined) this.answer.drop()
    else this.answer.end(errorText(this.id, response), response.status)
  }

  abstract get logLevel (): LogLevel | undefined

  /** Is only there where the caller can be asked so. */
  get relay (): Relay | undefined { return undefined }

  /** The lowest level of log messages that the caller gets; undefined for none. */
  protected abstract loudness (): LogLevel | undefined
  /** Whether the caller can have the rest of the answer over another connection. */
  protected abstract canResume (): boolean

  /** Whether there is nobody to answer once the connection is gone. */
  protected endsWithCaller (): boolean {
    return this.answer.stream === undefined || !this.canResume()
  }

  #close (): void {
    this.#isOver = true
    this.#forget?.()
  }
}
