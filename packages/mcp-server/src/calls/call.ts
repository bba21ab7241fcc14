import type { Log, Principal } from '@polyvac/core'
import { CallAbortedError, isRecord, isSent, KEEP_ALIVE_MS, LightAbort, mayAdminister, type AbortSignalLike, type CallPlace, type Disconnects, type Watch } from '@polyvac/core/plugin'
import {
  LOG_LEVELS,
  type CallProgress, type ClientCapabilities, type Era, type InputRequests, type InputResponses, type LogLevel,
  type LogMessage, type Revision
} from '@polyvac/mcp-protocol'
import type { FastifyRequest } from 'fastify'
import { afterProgress } from '../http/message-stream.js'
import type { ResponseWriter } from '../http/response.js'
import type { Entry } from '../lists/catalog.js'
import { errorText, resultText, ScopeRefusal, type Json, type Params, type RequestId, type RpcError } from '../protocol/rpc.js'
import { cutEvent } from '../sessions/event-pieces.js'
import type { Sent } from '../sessions/shared-session.js'
import type { CallContext, Relay, ToolDefinition } from '../tool-source.js'

export interface CallOptions
  extends Pick<Call, 'request' | 'response' | 'id' | 'method' | 'params' | 'principal' | 'place' | 'sessionId'> {
  readonly disconnects: Disconnects
  readonly sent?: Sent | undefined
}

/** Ticks of the server's timer after which a silent response begins. The first may come at once. */
const SILENT_TICKS = 3

/** The interval of that timer in ms: a response begins at the latest with the first comment of other streams. */
export const TICK_MS = KEEP_ALIVE_MS / SILENT_TICKS

/** One JSON-RPC request in progress. Its signal is created at first use: most calls end before anything reads it. */
export abstract class Call implements CallContext {
  readonly request: FastifyRequest
  readonly response: ResponseWriter
  readonly id: RequestId
  readonly method: string
  readonly params: Params
  readonly principal: Principal | undefined
  /** Held until the handler has ended; undefined where the caller has no bounds. */
  readonly place: CallPlace | undefined
  abstract readonly era: Era
  abstract readonly protocolVersion: Revision
  abstract readonly capabilities: ClientCapabilities
  /** The session of the call; undefined without sessions. */
  readonly sessionId: string | undefined
  /** Whether the result of the tool has `isError`, for the span: the response is text by then. */
  hasToolError = false
  readonly #disconnects: Disconnects
  #abort: LightAbort | undefined
  #watch: Watch | undefined
  #progress: number
  #unstored: number
  #ticks = 0
  /** When progress was sent, in ms; only where the response has to follow later. */
  #progressAt: number | undefined
  #isOver = false

  constructor ({ request, response, id, method, params, principal, place, disconnects, sessionId, sent }: CallOptions) {
    this.request = request
    this.response = response
    this.id = id
    this.method = method
    this.params = params
    this.principal = principal
    this.place = place
    this.#disconnects = disconnects
    this.sessionId = sessionId
    this.#progress = sent?.progress ?? -Infinity
    this.#unstored = sent?.unstored ?? 0
  }

  get meta (): Params | undefined { return isRecord(this.params._meta) ? this.params._meta : undefined }

  get log (): Log { return this.request.log }

  get isOver (): boolean { return this.#isOver }

  get signal (): AbortSignalLike {
    if (this.#abort === undefined) {
      const abort = this.#abort = new LightAbort()
      if (this.#isOver) abort.abort(new CallAbortedError('the call is over'))
      else {
        const { reply } = this.response
        this.#watch = this.#disconnects.watch(reply, () => {
          if (isSent(reply.raw) || (this.response.stream !== undefined && this.detach())) return
          this.cancel(new CallAbortedError('the client disconnected'))
        })
      }
    }
    return this.#abort
  }

  /** Whether the caller has to respond to a server request first. */
  get isWaiting (): boolean { return false }

  /** Checks the headers of a call to a tool. @throws RpcError */
  checkTool (_entry: Entry<ToolDefinition>): void {}

  mayAdminister (): boolean { return mayAdminister(this.request, this.principal) }

  progress ({ progress, total, message, _meta }: CallProgress): Promise<void> | undefined {
    const { progressToken } = this.meta ?? {}
    if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined
    if (this.#isOver || !(progress > this.#progress)) return undefined
    this.#progress = progress
    if (this.response.stream?.hasGap === true) this.#progressAt = performance.now()
    return this.notify('notifications/progress', { progressToken, progress, total, message, _meta })
  }

  message ({ level, logger, data }: LogMessage): Promise<void> | undefined {
    const min = this.logLevel ?? (this.era === 'legacy' ? 'debug' : undefined)
    if (min === undefined || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(min)) return undefined
    return this.notify('notifications/message', { level, logger, data })
  }

  /** Sends a notification of this call. It is left out if the reader is far behind. */
  notify (method: string, params: object): Promise<void> | undefined {
    if (this.#isOver || this.response.stream?.isFull === true) return undefined
    const text = JSON.stringify({ jsonrpc: '2.0', method, params })
    if (this.#unstored > 0) {
      this.#unstored -= cutEvent(text).length
      return undefined
    }
    return this.response.send(text)
  }

  /** The state of the run before; undefined in an era where `ask` does not end the run. */
  get state (): string | undefined { return undefined }

  abstract ask<K extends string> (questions: InputRequests<K>, state?: string): Promise<InputResponses<K>>

  disconnect (retryMs?: number): void {
    if (!this.#isOver && this.#canResume) this.response.begin()?.disconnect(retryMs)
  }

  /** Resolves once the response may follow the progress. Undefined: at once. */
  afterProgress (): Promise<void> | undefined {
    return this.#progressAt === undefined ? undefined : afterProgress(this.#progressAt)
  }

  /** The timer of the server has ticked. */
  tick (): void {
    if (++this.#ticks === SILENT_TICKS && !this.#isOver) this.response.keepAlive()
  }

  /** Sends the response. */
  end (text: Json, status?: number): void {
    if (this.#isOver) return
    this.#close()
    this.response.end(text, status)
  }

  /** Sends the response with this result; a call that waits sends its server requests instead. */
  finish (result: Json): void {
    this.end(resultText(this.id, result))
  }

  fail (error: RpcError): void {
    const { reply, stream } = this.response
    if (error instanceof ScopeRefusal && stream === undefined && !reply.sent) error.announcement.challenge(this.request, reply, error.needed)
    this.end(errorText(this.id, error), error.status)
  }

  /** Aborts the signal. The response is sent once the handler returns. */
  abort (reason: Error): void {
    this.#abort?.abort(reason)
  }

  /** Ends the call at once: with an error response, or without a response for a client that does not expect one. */
  cancel (reason: Error, error?: RpcError): void {
    if (this.#isOver) return
    this.#close()
    this.#abort?.abort(reason)
    if (error === undefined) this.response.drop()
    else this.response.end(errorText(this.id, error), error.status)
  }

  abstract get logLevel (): LogLevel | undefined

  get relay (): Relay | undefined { return undefined }

  /** Whether the call goes on, because its client can get the rest of the response over another connection. */
  protected detach (): boolean {
    return false
  }

  /** Whether the caller can get the rest of the response over another connection. */
  get #canResume (): boolean { return this.sessionId !== undefined }

  #close (): void {
    this.#isOver = true
    this.#watch?.remove()
  }
}
