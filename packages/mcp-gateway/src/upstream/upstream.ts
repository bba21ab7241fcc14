import { ApprovalRequiredError, isAllowedCall, isRecord, needsApproval, OwnerSlots, quoteName, ShuttingDownError, suggestion } from '@polyvac/core/plugin'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import {
  CallFailedError, InvalidArgumentsError, MessageTooLargeError, PromptNotFoundError, ResourceNotFoundError, ServerBusyError,
  ServerGoneError, ToolFailedError, ToolHeldBackError, ToolNotFoundError, withContext
} from '../errors.js'
import { CAUSES } from '../connections/cause.js'
import { CODES, LISTS, type ListKind } from '@polyvac/mcp-protocol'
import type { Item } from '../protocol/lists.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { NamedServer } from '../config/server-config.js'
import type { Session } from '../session/session.js'
import type { ToolCatalog } from '../session/tool-catalog.js'
import type { ResourceSubscriptions } from './resource-subscriptions.js'
import { Supervisor, type UpstreamOptions } from './supervisor.js'
import { shortened, toolText } from '../session/tool-text.js'

/** One configured server: its lists, calls and other requests. */
export class Upstream extends Supervisor {
  readonly #slots: OwnerSlots

  /**
   * @param listeners those of the entry that this one replaces
   * @param parent the server of which this is one of several processes: calls and tools are counted and compared there
   */
  constructor (config: NamedServer, options: UpstreamOptions, listeners?: ResourceSubscriptions, parent?: Upstream) {
    super(config, options, listeners, parent?.toolChanges)
    const { maxInFlight } = options.limits
    this.#slots = parent !== undefined ? parent.#slots : new OwnerSlots({ part: `requests to the MCP server ${config.name}`, total: maxInFlight, maxWaiting: maxInFlight })
  }

  /**
   * A list of this server, in a fixed order.
   * @throws MCP_SERVER_NOT_READY and the errors of a request
   */
  async list (kind: ListKind, _owner?: string): Promise<readonly Item[]> {
    return await this.#ask(undefined, session => session.list(kind))
  }

  /** An MCP session has ended; see `OwnProcesses`. */
  endSession (_session: string): void {}

  /** Whether each owner signs in to it, and sees other entries. */
  get isPerOwner (): boolean { return this.config.per_owner === true }

  /**
   * Calls a tool and returns its whole result.
   * @throws MCP_TOOL_NOT_FOUND, MCP_INVALID_ARGUMENTS, MCP_TOOL_FAILED, MCP_CALL_TIMEOUT, MCP_CALL_FAILED,
   * MCP_SERVER_GONE, MCP_SERVER_NOT_READY, MCP_SERVER_BUSY, MCP_MESSAGE_TOO_LARGE, or the reason of `signal`
   */
  async call (tool: string, args: unknown = {}, options: CallOptions = {}): Promise<ToolResult> {
    const result = await this.callRaw(tool, args, options)
    if (result.isError === true) {
      throw withContext(new ToolFailedError(quoteName(tool), toolText(result)), { server: this.name, tool, details: { result } })
    }
    return result
  }

  /** Like `call`, but returns a result with `isError` instead of throwing. */
  callRaw (tool: string, args: unknown = {}, options: CallOptions = {}): Promise<ToolResult> {
    return this.#askFor(tool, session => {
      const catalog = session.knownTools(tool)
      if (catalog !== undefined) return this.#callIn(session, catalog, tool, args, options)
      return session.toolsWith(tool).then(catalog => this.#callIn(session, catalog, tool, args, options))
    }, options)
  }

  #callIn (session: Session, catalog: ToolCatalog, tool: string, args: unknown, options: CallOptions): Promise<ToolResult> {
    const held = catalog.heldBack(tool)
    if (held !== undefined) throw new ToolHeldBackError(quoteName(tool), quoteName(this.name), held, this.toolChanges.fingerprint ?? '')
    const item = catalog.get(tool)
    if (item === undefined) throw new ToolNotFoundError(quoteName(this.name), quoteName(tool), suggestion(tool, catalog.names, 'its tools'))
    const { value, problems } = catalog.fit(tool, args)
    if (problems !== '') throw new InvalidArgumentsError(quoteName(tool), problems)
    const { approve = [] } = this.config
    if (approve.length > 0 && !isAllowedCall(options) && needsApproval(approve, { name: tool, annotations: annotationsOf(item) })) {
      throw withContext(new ApprovalRequiredError(quoteName(tool), 'this way of calling it cannot ask for one: use POST /mcp/call, or an agent'), { server: this.name, tool })
    }
    return session.call(tool, value, options, needsTask(item))
  }

  /** @throws MCP_RESOURCE_NOT_FOUND and the errors of a request */
  async readResource (uri: string, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#askFor(undefined, async session => {
      if (!session.offers('resources')) throw new ResourceNotFoundError(quoteName(this.name), quoteName(uri), 'it has no resources')
      try {
        return await session.request('resources/read', { uri }, options)
      } catch (err) {
        // -32002 up to revision 2025-11-25, later -32602 with the URI
        if (err instanceof RpcError && (err.code === CODES.legacyResourceNotFound || isAbout(err, uri))) throw new ResourceNotFoundError(quoteName(this.name), quoteName(uri), shortened(err.message))
        throw err
      }
    }, options)
  }

  /** @throws MCP_PROMPT_NOT_FOUND and the errors of a request */
  async getPrompt (prompt: string, args: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#askFor(undefined, async session => {
      const names = (await session.list('prompts')).map(item => item[LISTS.prompts.id] as string)
      if (!names.includes(prompt)) throw new PromptNotFoundError(quoteName(this.name), quoteName(prompt), suggestion(prompt, names, 'its prompts'))
      return await session.request('prompts/get', { name: prompt, arguments: args }, options)
    }, options)
  }

  /** Completes an argument; no values from a server without completions. @throws the errors of a request */
  async complete (params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#askFor(undefined, async session => session.completes ? await session.request('completion/complete', params, options) : { completion: { values: [] } }, options)
  }

  /** Sends any other request. @throws MCP_CALL_FAILED and the other errors of `call` but those of tools */
  async request (method: string, params: object, options: CallOptions = {}): Promise<ToolResult> {
    return await this.#askFor(undefined, async session => await session.request(method, params, options), options)
  }

  /** Whether the server speaks revision 2026-07-28. @throws MCP_SERVER_NOT_READY */
  async isModern ({ signal }: Pick<CallOptions, 'signal' | 'principal'>): Promise<boolean> {
    return (this.session ?? await this.ready(signal)).isModern
  }

  /** Asks for a caller: owners have a share of the requests in flight, and wait in turn. */
  async #askFor<T> (tool: string | undefined, work: (session: Session) => Promise<T>, options: CallOptions): Promise<T> {
    const { principal, signal } = options
    const owner = principal?.owner
    if (owner !== undefined) this.options.callers.areNamed = true
    if (!this.#slots.tryTake(owner)) {
      const { maxInFlight } = this.options.limits
      if (owner === undefined) throw withContext(new ServerBusyError(quoteName(this.name), maxInFlight), { server: this.name, tool })
      await this.#slots.take(owner, signal).catch((err: Error) => { throw withContext(err, { server: this.name, tool }) })
    }
    try {
      const { session } = this
      // a session that is ready and answers needs no more than the request
      if (session?.suspected !== false) return await this.#ask(tool, work, options)
      try {
        return await work(session)
      } catch (err) {
        return await this.#askAgain(err, session, tool, work, signal)
      }
    } finally {
      this.#slots.release(owner)
    }
  }

  async #ask<T> (tool: string | undefined, work: (session: Session) => Promise<T>, { signal }: CallOptions = {}): Promise<T> {
    const session = this.session ?? await this.ready(signal)
    if (session.suspected) throw this.notReady('it does not answer', 'it is started again once its calls have ended')
    try {
      return await work(session)
    } catch (err) {
      return await this.#askAgain(err, session, tool, work, signal)
    }
  }

  /** Asks once more where a failure shows that the server forgot the session. @throws the failure as a coded error */
  async #askAgain<T> (failure: unknown, asked: Session, tool: string | undefined, work: (session: Session) => Promise<T>, signal: CallOptions['signal']): Promise<T> {
    let session = asked
    try {
      const connection = this.connectionOf(session)
      if (connection?.isUnreachable(failure) === true) this.leave(session, connection, connection.problemOf(failure))
      if (connection === undefined || !await connection.isStale(failure)) throw failure
      // the server forgot the session: open a new one and send the request once more
      this.retire(session, connection)
      session = await this.ready(signal)
      return await work(session)
    } catch (err) {
      // the caller aborted with its own reason
      if (signal?.aborted === true && err === signal.reason) throw err
      throw await this.#toCodedError(err, tool, session)
    }
  }

  /** Turns an error into a coded one with its context and details of the server. */
  async #toCodedError (err: unknown, tool: string | undefined, session: Session): Promise<unknown> {
    const connection = this.connectionOf(session)
    const context = { server: this.name, tool }
    if (err instanceof RpcError) {
      const { refused } = (err.data ?? {}) as { refused?: unknown }
      if (typeof refused === 'string') return withContext(new MessageTooLargeError(quoteName(this.name), refused), context)
      if (session.open) {
        return withContext(new CallFailedError(quoteName(this.name), shortened(err.message)), { ...context, details: { rpcCode: err.code, ...err.data !== undefined && { data: err.data } } })
      }
    } else if (err instanceof Error && ('statusCode' in err)) {
      const late = (err as { code?: unknown }).code === 'MCP_CALL_TIMEOUT'
      return withContext(err, late ? { ...context, details: this.details() } : context)
    } else if (session.open) {
      const problem = connection?.problemOf(err)
      return withContext(new CallFailedError(quoteName(this.name), problem ?? (err instanceof Error ? this.redact(err.message) : 'no reason given')), context)
    }
    if (this.closes) return new ShuttingDownError()
    const { problem = 'its connection was closed', cause = 'CLOSED', exitCode, signal, stderr } = connection === undefined ? {} : await this.endOf(connection)
    const { message: brief } = new ServerGoneError(quoteName(this.name), CAUSES[cause])
    return withContext(new ServerGoneError(quoteName(this.name), problem), { ...context, brief, details: { ...this.details(), cause, exitCode, signal, stderr } })
  }
}

/** Whether a tool can be called only as a task (2025-11-25). */
function needsTask (tool: Item | undefined): boolean {
  return (tool?.execution as { taskSupport?: unknown } | undefined)?.taskSupport === 'required'
}

function annotationsOf (tool: Item | undefined): object | undefined {
  return isRecord(tool?.annotations) ? tool.annotations : undefined
}

function isAbout (err: RpcError, uri: string): boolean {
  return err.code === CODES.invalidParams && ((err.data as { uri?: unknown } | undefined)?.uri === uri || /not found|unknown/i.test(err.message))
}
