import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ErrorCode, McpError, type Result } from '@modelcontextprotocol/sdk/types.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallOptions, ToolResult } from './call.js'
import { ListCache } from './list-cache.js'
import { LISTS, type Item, type ListKind } from './lists.js'
import { CLIENT_CAPABILITIES, CLIENT_INFO } from './modern-era.js'
import type { Limits } from './options.js'
import { LiveSet } from '@polyvac/core'
import { answersTo, Questions } from './questions.js'
import { Requests } from './requests.js'
import { TimedRequest, type TimedRequestParts } from './timed-request.js'
import { ToolCatalog } from './tool-catalog.js'

const CALL = 'tools/call'
const PING = 'ping'

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
  readonly requests: Requests
  readonly #client: Client
  readonly #options: SessionOptions
  readonly #lists: ListCache
  readonly #questions: Questions
  #catalog: { readonly items: readonly Item[], readonly catalog: ToolCatalog } | undefined
  /** Calls in flight. */
  readonly #calls = new LiveSet<TimedRequest>()
  readonly #parts: TimedRequestParts
  #ended: (() => void) | undefined
  /** Resolves when the connection is over, whoever ended it. */
  readonly ended: Promise<void>
  #open = true

  constructor (transport: Transport, options: SessionOptions) {
    this.#options = options
    this.requests = new Requests(transport, options.onCancelled)
    this.ended = new Promise(resolve => { this.#ended = resolve })
    this.#client = new Client(CLIENT_INFO, { capabilities: CLIENT_CAPABILITIES })
    this.#questions = new Questions(this.#calls)
    this.#parts = {
      server: options.name,
      requests: this.requests,
      maxMs: options.limits.maxCallMs,
      calls: this.#calls,
      onLate: ({ method }) => { if (method !== PING) this.timedOutAt = performance.now() }
    }
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
    const listens = (kind: ListKind): boolean => options.tellsChanges && (this.#client.getServerCapabilities()?.[LISTS[kind].capability] as { listChanged?: boolean } | undefined)?.listChanged === true
    this.#lists = new ListCache((method, params) => this.request(method, params), kind => listens(kind) ? Infinity : options.limits.listTtlMs)
  }

  /** When a call last ran out of its time. */
  timedOutAt = -Infinity
  #suspectedAt = -Infinity

  /** Whether the server hangs, as far as one can tell: it was asked for a sign of life and has said nothing since. */
  get suspected (): boolean { return this.#suspectedAt > this.requests.heardAt }
  suspect (): void { this.#suspectedAt = performance.now() }

  get open (): boolean { return this.#open }
  get calls (): number { return this.#calls.size }
  get serverInfo (): { name: string, version: string } | undefined { return this.#client.getServerVersion() }
  get instructions (): string | undefined { return this.#client.getInstructions() }

  /** The handshake. */
  async connect (timeoutMs: number): Promise<void> {
    await this.#client.connect(this.requests, { timeout: timeoutMs })
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
    return await this.#timed(this.#options.callTimeoutMs, method, params, options)
  }

  async call (tool: string, args: unknown, options: CallOptions): Promise<ToolResult> {
    let answers = {}
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result = await this.#timed(this.#options.callTimeoutMs, CALL, { name: tool, arguments: args, ...answers }, options, tool)
      if (result.resultType !== 'input_required') return result
      answers = await answersTo(result, options)
    }
    throw new McpError(ErrorCode.InvalidRequest, `the tool asked ${MAX_ROUNDS} times over`)
  }

  async ping (timeoutMs: number): Promise<void> {
    await this.#timed(timeoutMs, PING, {}, {})
  }

  /** Counts as ended, and stays open for the answers that are on their way. */
  retire (): void {
    this.#ended?.()
  }

  async close (): Promise<void> {
    this.#open = false
    await this.#client.close()
    // a client whose handshake failed has let go of its transport
    await this.requests.close()
    this.#ended?.()
  }

  async #timed (timeoutMs: number, method: string, params: object, options: CallOptions, tool?: string): Promise<ToolResult> {
    const { signal } = options
    if (signal?.aborted === true) throw signal.reason
    return await TimedRequest.send(this.#parts, timeoutMs, method, params, options, tool)
  }
}
