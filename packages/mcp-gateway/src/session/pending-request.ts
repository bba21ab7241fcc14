import { CallAbortedError, isTraced, startSpan, telemetryNames as names, toolLabel, traceParent, type LinkedNode, type LinkedSet, type OpenSpan } from '@polyvac/core/plugin'
import type { CallProgress, LogMessage } from '@polyvac/mcp-protocol'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { CallTimeoutError } from '../errors.js'
import type { RpcChannel, Waiting } from './rpc-channel.js'

export interface PendingRequestOptions {
  /** The server's name. */
  readonly server: string
  readonly requests: RpcChannel
  /** Longest time in ms, regardless of progress. */
  readonly maxMs: number
  /** Calls in flight. */
  // @keyed none: it is `#calls` of the session
  readonly calls: LinkedSet<PendingRequest>
  readonly onLate: (request: PendingRequest) => void
  /** Adds to `_meta` of a request, from revision 2026-07-28 on. */
  readonly metaOf: ((options: CallOptions) => object | undefined) | undefined
}

/** Requests of callers. Those of the session itself, such as pings, belong to no trace. */
const TRACED = new Set(['tools/call', 'resources/read', 'prompts/get'])

/**
 * A request in flight. It ends with its response, after its timeout without progress, or when its signal fires. The
 * timeout stops while it is paused. Everything is in one object: one is created for every call.
 */
export class PendingRequest implements Waiting {
  readonly method: string
  /** The tool, if it is a call. */
  readonly tool: string | undefined
  readonly options: CallOptions
  readonly #parts: PendingRequestOptions
  readonly #timeoutMs: number
  readonly #begun = performance.now()
  readonly #resolve: (result: ToolResult) => void
  readonly #reject: (err: unknown) => void
  readonly #id: string | number
  readonly #place: LinkedNode<PendingRequest> | undefined
  readonly #span: OpenSpan | undefined
  #timer: NodeJS.Timeout | undefined
  #pauses = 0

  /**
   * @param tool the tool, if it is a call
   * @throws the server's error, MCP_CALL_TIMEOUT, or the reason of `options.signal`
   */
  static send (parts: PendingRequestOptions, timeoutMs: number, method: string, params: object, options: CallOptions, tool?: string): Promise<ToolResult> {
    return new Promise((resolve, reject) => new PendingRequest(parts, timeoutMs, method, params, options, tool, resolve, reject))
  }

  private constructor (
    parts: PendingRequestOptions, timeoutMs: number, method: string, params: object, options: CallOptions, tool: string | undefined,
    resolve: (result: ToolResult) => void, reject: (err: unknown) => void
  ) {
    this.method = method
    this.tool = tool
    this.options = options
    this.#parts = parts
    this.#timeoutMs = timeoutMs
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(late, timeoutMs, this)
    this.#place = tool === undefined ? undefined : parts.calls.add(this)
    options.signal?.addEventListener('abort', this.#leave)
    const span = this.#span = TRACED.has(method) ? this.#openSpan() : undefined
    const meta = parts.metaOf?.(options)
    this.#id = span === undefined
      ? parts.requests.request(method, params, this, meta)
      : span.run(() => parts.requests.request(method, params, this, { ...meta, ...traceParent() }))
  }

  answered (result: ToolResult): void {
    this.#end()
    this.#span?.end(result['isError'] === true ? 'tool_error' : undefined)
    this.#resolve(result)
  }

  failed (err: unknown): void {
    this.#end()
    this.#span?.end(err ?? '_OTHER')
    this.#reject(err)
  }

  progressed (progress: CallProgress): unknown {
    if (performance.now() - this.#begun > this.#parts.maxMs) return this.#giveUp(new CallTimeoutError(this.#parts.server, this.#parts.maxMs / 1000))
    this.#timer?.refresh()
    return this.options.onProgress?.(progress) as unknown
  }

  logged (message: LogMessage): unknown {
    return this.options.onMessage?.(message) as unknown
  }

  /** Whether a request of the server to this call is open. */
  get isPaused (): boolean {
    return this.#pauses > 0
  }

  pause (): void {
    this.#pauses++
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  resume (): void {
    if (--this.#pauses === 0) this.#timer = setTimeout(late, this.#timeoutMs, this)
  }

  /** The timeout has passed. */
  late (): void {
    this.#parts.onLate(this)
    this.#giveUp(new CallTimeoutError(this.#parts.server, this.#timeoutMs / 1000))
  }

  readonly #leave = (): void => this.#giveUp((this.options.signal?.reason ?? new CallAbortedError('the caller aborted it')) as Error)

  #giveUp (reason: Error): void {
    this.#parts.requests.cancel(this.#id, reason.message)
    this.failed(reason)
  }

  #openSpan (): OpenSpan | undefined {
    if (!isTraced()) return undefined
    const { method, tool = '' } = this
    const name = tool === '' ? undefined : toolLabel(tool)
    return startSpan(name === undefined ? method : `${method} ${name}`, {
      kind: 'CLIENT',
      attributes: {
        [names.MCP_METHOD]: method,
        [names.OPERATION]: method === 'tools/call' ? names.EXECUTE_TOOL : undefined,
        [names.TOOL_NAME]: name,
        [names.MCP_SERVER]: this.#parts.server
      }
    })
  }

  #end (): void {
    // resume() after the end must not start a timer
    this.#pauses = Infinity
    clearTimeout(this.#timer)
    this.options.signal?.removeEventListener('abort', this.#leave)
    this.#place?.remove()
  }
}

function late (request: PendingRequest): void {
  request.late()
}
