import { CallAbortedError, isTraced, startSpan, telemetryNames as names, toolLabel, traceParent, type LinkedNode, type OpenSpan } from '@polyvac/core/plugin'
import { forwardedMeta, type CallProgress } from '@polyvac/mcp-protocol'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import { CallTimeoutError } from '../errors.js'
import type { OpenWork, Work } from './open-work.js'
import type { RpcChannel, Waiting } from './rpc-channel.js'

export interface PendingRequestOptions {
  /** The server's name. */
  readonly server: string
  readonly requests: RpcChannel
  /** Longest time in ms, regardless of progress. */
  readonly maxMs: number
  /** What callers have in progress. */
  readonly work: OpenWork
  readonly onLate: (request: PendingRequest) => void
  /** Adds to `_meta` of a request, from revision 2026-07-28 on. */
  readonly metaOf: ((options: CallOptions) => object | undefined) | undefined
}

/** Requests of callers. Those of the session itself, such as pings, belong to no trace. */
const TRACED = new Set(['tools/call', 'resources/read', 'prompts/get'])

/** Options of a request of the session itself. */
const OWN: CallOptions = {}

/** A task: what the server sends with the response to one of its requests belongs to it. */
export interface RequestGroup extends Work {
  /** Its request in flight. */
  request: PendingRequest | undefined
  /** Requests of the server to this caller that are open. */
  readonly pauses: number
}

/**
 * A request in flight. It ends with its response, after its timeout without progress, or when its signal fires. The
 * timeout stops while it is paused. Everything is in one object: one is created for every call.
 */
export class PendingRequest implements Waiting, Work {
  readonly method: string
  /** The tool, if it is a call. */
  readonly tool: string | undefined
  readonly options: CallOptions
  readonly #group: RequestGroup | undefined
  readonly #parts: PendingRequestOptions
  readonly #timeoutMs: number
  readonly #begun = performance.now()
  readonly #resolve: (result: ToolResult) => void
  readonly #reject: (err: unknown) => void
  readonly #id: string | number
  readonly #place: LinkedNode<Work> | undefined
  readonly #span: OpenSpan | undefined
  #timer: NodeJS.Timeout | undefined
  #pauses = 0

  /**
   * @param options those of its caller; undefined for a request of the session itself
   * @param tool the tool, if it is a call
   * @param group the task that it belongs to
   * @throws the server's error, MCP_CALL_TIMEOUT, or the reason of `options.signal`
   */
  static send (
    parts: PendingRequestOptions, timeoutMs: number, method: string, params: object, options?: CallOptions, tool?: string, group?: RequestGroup
  ): Promise<ToolResult> {
    return new Promise((resolve, reject) => new PendingRequest(parts, timeoutMs, method, params, options, tool, group, resolve, reject))
  }

  private constructor (
    parts: PendingRequestOptions, timeoutMs: number, method: string, params: object, options: CallOptions | undefined,
    tool: string | undefined, group: RequestGroup | undefined, resolve: (result: ToolResult) => void, reject: (err: unknown) => void
  ) {
    this.method = method
    this.tool = tool
    this.options = options ?? OWN
    this.#group = group
    this.#parts = parts
    this.#timeoutMs = timeoutMs
    this.#resolve = resolve
    this.#reject = reject
    this.#place = options === undefined || group !== undefined ? undefined : parts.work.begin(this)
    if (group !== undefined) {
      group.request = this
      this.#pauses = group.pauses
    }
    if (this.#pauses === 0) this.#timer = setTimeout(late, timeoutMs, this)
    options?.signal?.addEventListener('abort', this.#leave)
    const span = this.#span = TRACED.has(method) ? this.#openSpan() : undefined
    const given = forwardedMeta(this.options.meta)
    const own = parts.metaOf?.(this.options)
    const meta = given === undefined ? own : { ...given, ...own }
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
    if (performance.now() - this.#begun > this.#parts.maxMs) return this.#giveUp(new CallTimeoutError(this.#parts.server, 'no answer', this.#parts.maxMs / 1000, 'total_timeout'))
    this.#timer?.refresh()
    return this.options.onProgress?.(progress) as unknown
  }

  get owner (): string | undefined { return this.options.principal?.owner }

  /** What its caller has in progress: itself, or its task. */
  get work (): Work { return this.#group ?? this }

  /** Whether it is the request of a caller. */
  get hasCaller (): boolean { return this.options !== OWN }

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
    this.#giveUp(new CallTimeoutError(this.#parts.server, 'no answer and no progress', this.#timeoutMs / 1000, 'timeout'))
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
    if (this.#place !== undefined) this.#parts.work.end(this.#place)
  }
}

function late (request: PendingRequest): void {
  request.late()
}
