import { backoff, isRecord, mayUse, SignedStates } from '@polyvac/core/plugin'
import { setTimeout as delay } from 'node:timers/promises'
import type { ToolResult } from '../protocol/call-options.js'
import { withRpcError } from '../errors.js'
import { hash } from '../protocol/fingerprint.js'
import type { Servers } from '../servers.js'
import { CODES, TASKS_CAPABILITY } from '@polyvac/mcp-protocol'
import { withLinks } from './links.js'
import type { SourceContext } from './types.js'

/** Life in ms of the id of a task whose server sends no ttlMs. */
const DEFAULT_TTL_MS = 24 * 3_600_000

/** Bounds of the poll interval of a followed task in ms, whatever its server requests. */
const MIN_POLL_MS = 200
const DEFAULT_POLL_MS = 1_000
const MAX_POLL_MS = 60_000

/** Longest id of a task that is accepted, in characters: that of its server, signed twice at most. */
const MAX_ID_CHARS = 4_096

const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled'])

type Task = Readonly<Record<string, unknown>>

/**
 * Tasks that servers created for calls. For the servers all of them belong to the gateway, so callers get ids that are
 * signed for their owner and contain the server.
 */
export class SourceTasks {
  readonly #servers: Servers
  readonly #ids: SignedStates

  /** @throws INVALID_STATE_KEY */
  constructor (servers: Servers) {
    this.#servers = servers
    this.#ids = new SignedStates(servers.stateKey, MAX_ID_CHARS)
  }

  /** The task of the result of a tool, under its signed id. */
  register (server: string, tool: string, result: ToolResult, context: SourceContext): Task {
    const { taskId, ttlMs } = result
    return withId(result, this.#ids.sign([server, taskId, tool], identity(context), typeof ttlMs === 'number' ? ttlMs : DEFAULT_TTL_MS))
  }

  async get (taskId: string, context: SourceContext): Promise<Task | undefined> {
    const task = await this.#request('tasks/get', taskId, context)
    return task === undefined ? undefined : withId(task, taskId)
  }

  async update (taskId: string, inputResponses: Readonly<Record<string, unknown>>, context: SourceContext): Promise<boolean> {
    return await this.#request('tasks/update', taskId, context, { inputResponses }) !== undefined
  }

  async cancel (taskId: string, context: SourceContext): Promise<boolean> {
    return await this.#request('tasks/cancel', taskId, context) !== undefined
  }

  /** Polls until the task ends. Failures of the server are waited out: its task may continue. */
  async follow (taskId: string, changed: (task: Task) => void, context: SourceContext): Promise<void> {
    const { signal } = context
    const stop = new AbortController()
    const leave = (): void => stop.abort()
    signal.addEventListener('abort', leave)
    let last: string | undefined
    let failures = 0
    try {
      while (!signal.aborted) {
        let ms
        try {
          const task = await this.get(taskId, context)
          if (task === undefined) return
          const now = hash([task.status, task.statusMessage, task.inputRequests])
          const isOver = ENDED.has(task.status)
          // the first state counts as a change only if the task has ended: the caller may not know that
          if (last === undefined ? isOver : last !== now) changed(task)
          if (isOver) return
          last = now
          failures = 0
          ms = pollMs(task)
        } catch (err) {
          if ((err as { rpcError?: { code: unknown } } | undefined)?.rpcError?.code === CODES.invalidParams) return
          ms = backoff(++failures, { firstMs: DEFAULT_POLL_MS, maxMs: MAX_POLL_MS })
        }
        await delay(ms, undefined, { signal: stop.signal, ref: false }).catch(() => {})
      }
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  async #request (method: string, id: string, context: SourceContext, more?: object): Promise<ToolResult | undefined> {
    const read = this.#ids.read(id, identity(context))
    if ('fault' in read) return undefined
    // ids of earlier versions name no tool: they are for callers that may use the whole server
    const [server, taskId, tool] = read.value as [string, string, string?]
    const { signal, principal, sessionId, meta } = context
    if (!this.#servers.names.includes(server) || !mayUse(principal, { server, tool })) return undefined
    try {
      const task = await this.#servers.get(server).request(method, { taskId, ...more }, { signal, principal, sessionId, meta, capabilities: TASKS_CAPABILITY })
      return isRecord(task.result) ? { ...task, result: await withLinks({ servers: this.#servers, server, principal }, task.result) } : task
    } catch (err) {
      throw withRpcError(err)
    }
  }
}

function withId ({ resultType, _meta, ...task }: ToolResult, taskId: string): Task {
  return { ...task, taskId }
}

function pollMs ({ pollIntervalMs }: Task): number {
  return typeof pollIntervalMs === 'number' ? Math.min(Math.max(pollIntervalMs, MIN_POLL_MS), MAX_POLL_MS) : DEFAULT_POLL_MS
}

function identity ({ principal }: SourceContext): unknown {
  return ['task', principal?.owner ?? null]
}
