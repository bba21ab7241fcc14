import type { Authenticate, Log, Principal } from '@polyvac/core'
import { Disconnects, LogGate, OpenCalls, ShuttingDownError, SignedStates, type StateKey } from '@polyvac/core/plugin'
import { features, LIST_KINDS, LISTS, TASKS_CAPABILITY, type Revision } from '@polyvac/mcp-protocol'
import type { TaskStore } from '@polyvac/tasks'
import type { FastifyRequest } from 'fastify'
import { TICK_MS, type Call } from './calls/call.js'
import { StreamLimit } from './calls/stream-limit.js'
import { ListPages } from './lists/list-pages.js'
import { Registry } from './lists/registry.js'
import type { ToolSearchOptions } from './lists/tool-search.js'
import { ResourceSubscriptions } from './lists/resource-subscriptions.js'
import type { Limits } from './options.js'
import { ResultTexts, type CacheHint } from './protocol/result-text.js'
import { overload, type Announcement } from './protocol/rpc.js'
import { ToolTasks } from './tasks/tool-tasks.js'
import type { ToolSource } from './tool-source.js'

/** Time in ms that calls have to end once the application closes; then they are answered with an error. */
const CLOSE_GRACE_MS = 300

type SharedOptions = Pick<McpContext, 'info' | 'instructions' | 'limits' | 'log' | 'principalOf'>

export interface McpContextOptions extends SharedOptions {
  readonly sources: readonly ToolSource[]
  readonly stateKey: StateKey | undefined
  readonly tasks: TaskStore | undefined
  readonly authenticate: Authenticate | undefined
  /** Whether lists may differ by caller, so that only the same caller may cache them. */
  readonly isPrivate: boolean
  readonly announcement: Announcement | undefined
  readonly toolSearch: ToolSearchOptions | undefined
}

/** What the requests of both eras share. */
export class McpContext {
  readonly info: { readonly name: string, readonly version: string }
  readonly instructions: string | undefined
  readonly limits: Limits
  readonly log: Log
  readonly authenticate: Authenticate | undefined
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  readonly registry: Registry
  readonly texts: ResultTexts
  readonly lists: ListPages
  readonly states: SignedStates
  readonly listHint: CacheHint
  readonly readHint: CacheHint = { ttlMs: 0, cacheScope: 'private' }
  readonly disconnects = new Disconnects()
  /** For lines that callers can cause. */
  readonly logGate = new LogGate()
  readonly calls = new OpenCalls<Call>()
  readonly streams: StreamLimit
  readonly subscriptions: ResourceSubscriptions
  readonly tasks: ToolTasks | undefined
  /** One timer for all calls: one for each would cost every short call. */
  readonly #timer: NodeJS.Timeout

  /** @throws MCP_SERVER_OPTIONS, INVALID_STATE_KEY */
  constructor (options: McpContextOptions) {
    const { sources, info, instructions, log, limits, stateKey, tasks, authenticate, isPrivate, announcement, principalOf, toolSearch } = options
    this.info = info
    this.instructions = instructions
    this.limits = limits
    this.log = log
    this.authenticate = authenticate
    this.principalOf = principalOf
    this.registry = new Registry(sources, log, announcement, toolSearch)
    this.texts = new ResultTexts(info)
    this.listHint = { ttlMs: limits.listTtlMs, cacheScope: isPrivate ? 'private' : 'public' }
    const { registry, texts, listHint: hint } = this
    this.lists = new ListPages({ registry, texts, pageSize: limits.pageSize, hint, withTasks: tasks !== undefined })
    this.states = new SignedStates(stateKey, limits.maxStateChars)
    this.streams = new StreamLimit(limits.maxStreams)
    this.subscriptions = new ResourceSubscriptions(sources, log)
    this.tasks = tasks === undefined ? undefined : new ToolTasks({ registry, limits, log, store: tasks, authenticate })
    this.#timer = setInterval(() => { for (const call of this.calls.values()) call.tick() }, TICK_MS).unref()
  }

  /** Whether there are tasks of 2026-07-28: in the task store, or at upstream servers of a source. */
  get hasTasks (): boolean {
    return this.tasks !== undefined || this.registry.sources.some(({ tasks }) => tasks !== undefined)
  }

  /** The capabilities of the server in a revision. */
  capabilities (revision: Revision): Record<string, unknown> {
    const { sources } = this.registry
    const { coreTasks, tasksExtension } = features[revision]
    const listChanged = sources.some(({ onChange }) => onChange !== undefined)
    const capabilities: Record<string, Record<string, unknown>> = { logging: {} }
    for (const kind of LIST_KINDS) {
      if (this.registry.offers(kind)) capabilities[LISTS[kind].capability] = { listChanged }
    }
    if (capabilities.resources !== undefined && sources.some(({ resources }) => resources?.subscribe !== undefined)) {
      capabilities.resources.subscribe = true
    }
    if (sources.some(({ complete }) => complete !== undefined)) capabilities.completions = {}
    const hasCoreTasks = this.tasks !== undefined && coreTasks
    if (hasCoreTasks) capabilities.tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } }
    const extensions = Object.assign({}, ...sources.map(source => source.extensions?.())) as Record<string, object>
    if (this.hasTasks && tasksExtension) Object.assign(extensions, TASKS_CAPABILITY.extensions)
    if (Object.keys(extensions).length > 0) capabilities.extensions = extensions
    return capabilities
  }

  /** Aborts the calls in progress, and answers those that do not end in time. May be called twice. */
  async endCalls (): Promise<void> {
    const reason = new ShuttingDownError()
    for (const call of await this.calls.close(CLOSE_GRACE_MS)) call.cancel(reason, overload(reason.message))
  }

  close (): void {
    clearInterval(this.#timer)
    this.registry.close()
    this.subscriptions.close()
  }
}
