import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ErrorCode, McpError, ProgressNotificationSchema, ResultSchema, type Result } from '@modelcontextprotocol/sdk/types.js'
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallOptions, CallProgress, ToolResult } from './call.js'
import { CallAbortedError, CallTimeoutError } from './errors.js'
import { ListCache } from './list-cache.js'
import { LISTS, type Item, type ListKind } from './lists.js'
import { MessageTap } from './message-tap.js'
import { CLIENT_CAPABILITIES, CLIENT_INFO } from './modern-era.js'
import type { Limits } from './options.js'
import { Patience } from './patience.js'
import { answersTo, Questions } from './questions.js'
import { Stop } from '@polyvac/core'
import { ToolCatalog } from './tool-catalog.js'

/** Past any time of ours: the gateway's own timers end a request, since the client's know no pause. */
const NEVER_MS = 2 ** 31 - 1

/** Times that one call may ask. */
const MAX_ROUNDS = 20

/** Age in ms from which a list is read anew for a name that is not on it. */
const RELIST_MS = 1_000

export interface SessionOptions {
  readonly name: string
  readonly limits: Limits
  readonly callTimeoutMs: number
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  /** Whether the server speaks revision 2026-07-28. */
  readonly isModern: boolean
  /** Whether notifications of list changes surely arrive; else lists are read anew when they are old. */
  readonly tellsChanges: boolean
  /** A request was cancelled before its answer. */
  readonly onCancelled?: ((id: string | number) => void) | undefined
  /** A list may have changed. */
  readonly onChange: (kinds: readonly ListKind[]) => void
  readonly onTrouble: (err: Error) => void
}

/** A connection to one server, from its handshake to its end: requests, lists, questions. */
export class Session {
  readonly tap: MessageTap
  readonly #client: Client
  readonly #options: SessionOptions
  readonly #lists: ListCache
  readonly #questions: Questions
  #catalog: { readonly items: readonly Item[], readonly catalog: ToolCatalog } | undefined
  #calls = 0
  #ended: (() => void) | undefined
  /** Resolves when the connection is over, whoever ended it. */
  readonly ended: Promise<void>
  #open = true

  constructor (transport: Transport, options: SessionOptions) {
    this.#options = options
    this.tap = new MessageTap(transport, options.onCancelled)
    this.ended = new Promise(resolve => { this.#ended = resolve })
    this.#client = new Client(CLIENT_INFO, { capabilities: CLIENT_CAPABILITIES })
    this.#questions = new Questions()
    this.#client.onclose = () => {
      this.#open = false
      this.#ended?.()
    }
    this.#client.onerror = options.onTrouble
    this.#client.fallbackRequestHandler = (request, { signal }) => this.#questions.answer(request.method, request.params ?? {}, signal) as Promise<Result>
    this.#client.fallbackNotificationHandler = async ({ method }) => {
      const kinds = this.#lists.changed(method)
      if (kinds.includes('tools')) this.#catalog = undefined
      if (kinds.length > 0) options.onChange(kinds)
    }
    // the client's own handler would refuse what is not exactly as specified
    this.#client.setNotificationHandler(ProgressNotificationSchema, ({ params: { progressToken, ...progress } }) => {
      this.#progress.get(progressToken)?.(progress)
    })
    const listens = (kind: ListKind): boolean => options.tellsChanges && (this.#client.getServerCapabilities()?.[LISTS[kind].capability] as { listChanged?: boolean } | undefined)?.listChanged === true
    this.#lists = new ListCache((method, params) => this.request(method, params), kind => listens(kind) ? Infinity : options.limits.listTtlMs)
  }

  readonly #progress = new Map<string | number, (progress: CallProgress) => void>()
  #token = 0

  /** When a call last ran out of its time. */
  timedOutAt = -Infinity
  #suspectedAt = -Infinity

  /** Whether the server hangs, as far as one can tell: it was asked for a sign of life and has said nothing since. */
  get suspected (): boolean { return this.#suspectedAt > this.tap.heardAt }
  suspect (): void { this.#suspectedAt = performance.now() }

  get open (): boolean { return this.#open }
  get calls (): number { return this.#calls }
  get serverInfo (): { name: string, version: string } | undefined { return this.#client.getServerVersion() }
  get instructions (): string | undefined { return this.#client.getInstructions() }

  /** The handshake. */
  async connect (timeoutMs: number): Promise<void> {
    await this.#client.connect(this.tap, { timeout: timeoutMs })
  }

  offers (kind: ListKind): boolean {
    return this.#client.getServerCapabilities()?.[LISTS[kind].capability] !== undefined
  }

  /** A list, all pages; empty where the server has no such thing. */
  async list (kind: ListKind): Promise<readonly Item[]> {
    if (!this.offers(kind)) return []
    if (kind === 'tools') return (await this.tools()).items
    try {
      return await this.#lists.get(kind)
    } catch (err) {
      // many servers have resources and know no templates
      if (kind === 'templates' && err instanceof McpError && err.code === ErrorCode.MethodNotFound) return []
      throw err
    }
  }

  async tools (): Promise<ToolCatalog> {
    const items = this.offers('tools') ? await this.#lists.get('tools') : []
    return this.#catalogOf(items)
  }

  /** The tools, with one look for new ones where a name is not among them. */
  async toolsWith (tool: string): Promise<ToolCatalog> {
    const catalog = await this.tools()
    if (catalog.get(tool) !== undefined || this.#lists.age('tools') < RELIST_MS) return catalog
    this.#lists.drop('tools')
    return await this.tools()
  }

  /** The tools as they were last read, if this tool is among them. */
  knownTools (tool: string): ToolCatalog | undefined {
    const known = this.#catalog?.catalog
    return known?.get(tool) === undefined ? undefined : known
  }

  #catalogOf (items: readonly Item[]): ToolCatalog {
    if (this.#catalog?.items !== items) this.#catalog = { items, catalog: new ToolCatalog(items, this.#options) }
    return this.#catalog.catalog
  }

  /** A request that is no call: its time is fixed. */
  async request (method: string, params: object, options: CallOptions = {}): Promise<Record<string, unknown>> {
    return await this.#timed(method, params, options)
  }

  async call (tool: string, args: unknown, options: CallOptions): Promise<ToolResult> {
    let answers = {}
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result = await this.#timed('tools/call', { name: tool, arguments: args, ...answers }, options)
      if (result.resultType !== 'input_required') return result
      answers = await answersTo(result, options)
    }
    throw new McpError(ErrorCode.InvalidRequest, `the tool asked ${MAX_ROUNDS} times over`)
  }

  async ping (timeoutMs: number): Promise<void> {
    await this.#client.ping({ timeout: timeoutMs })
  }

  /** Counts as ended, and stays open for the answers that are on their way. */
  retire (): void {
    this.#ended?.()
  }

  async close (): Promise<void> {
    this.#open = false
    await this.#client.close()
    // a client whose handshake failed has let go of its transport
    await this.tap.close()
    this.#ended?.()
  }

  /** Sends a request and waits: for its answer, for its time to pass without progress, for its caller to leave. */
  async #timed (method: string, params: object, { signal, onProgress, ask }: CallOptions): Promise<Record<string, unknown>> {
    if (signal?.aborted === true) throw signal.reason
    const { limits, name, callTimeoutMs } = this.#options
    const stop = new Stop()
    const begun = performance.now()
    const leave = (): void => stop.abort(signal?.reason ?? new CallAbortedError())
    const patience = new Patience(callTimeoutMs, () => {
      this.timedOutAt = performance.now()
      stop.abort(new CallTimeoutError(name, callTimeoutMs / 1000))
    })
    const progressToken = ++this.#token
    this.#progress.set(progressToken, progress => {
      if (stop.aborted) return
      if (performance.now() - begun > limits.maxCallMs) return stop.abort(new CallTimeoutError(name, limits.maxCallMs / 1000))
      patience.refresh()
      onProgress?.(progress)
    })
    const isCall = method === 'tools/call'
    const asking = isCall ? this.#questions.open({ tool: (params as { name: string }).name, ask, patience }) : undefined
    signal?.addEventListener('abort', leave)
    if (isCall) this.#calls++
    try {
      return await this.#client.request({ method, params: { ...params, _meta: { progressToken } } }, ResultSchema, {
        timeout: NEVER_MS, signal: stop as unknown as RequestOptions['signal'] & AbortSignal
      }) as Record<string, unknown>
    } catch (err) {
      throw stop.aborted ? stop.reason : err
    } finally {
      if (isCall) this.#calls--
      patience.end()
      signal?.removeEventListener('abort', leave)
      this.#progress.delete(progressToken)
      asking?.end()
    }
  }
}
