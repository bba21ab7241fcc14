import type { Principal } from '@polyvac/core'
import { ADMINISTRATION, CallRecord, LightAbort, mayUse, type AbortSignalLike } from '@polyvac/core/plugin'
import { CODES, TASKS_EXTENSION, UI_EXTENSION, type CallProgress, type LogMessage, type ServerRequest } from '@polyvac/mcp-protocol'
import type { CallOptions, InputHandler, Round, ToolResult } from '../protocol/call-options.js'
import { contextOf, shownTo, withRpcError, ToolNotFoundError } from '../errors.js'
import type { InteractiveCalls } from '../input/interactive-calls.js'
import { Declined } from '../session/server-requests.js'
import { outcomeOfTool } from '../record-call.js'
import type { CallBody } from '../schemas.js'
import type { Servers } from '../servers.js'
import { withLinks } from './links.js'
import { forServer, withSignIn } from './sign-in.js'
import type { SourceTasks } from './tasks.js'
import type { SourceContext, SourceRelay, SourceResult } from './types.js'
import type { Upstream } from '../upstream/upstream.js'

interface SourceCall {
  readonly servers: Servers
  readonly interactive: InteractiveCalls
  readonly tasks: SourceTasks
  readonly server: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly context: SourceContext
}

/** Calls a tool for an MCP server, which reports failures as results. */
export async function callFor (call: SourceCall): Promise<SourceResult> {
  const { servers, server, tool, context } = call
  const record = new CallRecord({ server, tool, protocol: 'mcp-gateway', principal: context.principal }, context.log ?? servers.log)
  let pause: unknown
  try {
    // a question that ends the run is not a failure
    const ask: SourceContext['ask'] = async (questions, state) => {
      try {
        return await context.ask(questions, state)
      } catch (err) {
        pause = err
        throw err
      }
    }
    const upstream = servers.get(server)
    const result = await withSignIn(servers, context, ask, async () => context.era === 'legacy'
      ? await callOnce(upstream, call, ask)
      : context.relay !== undefined && await upstream.isModern(optionsOf(context)) ? await callThrough(upstream, call, context.relay) : await callAgain(call, ask))
    record.outcome = outcomeOfTool(result)
    const linked = await withLinks({ servers, server, principal: context.principal }, result)
    return (linked.content === undefined || linked.content === null ? { ...linked, content: [] } : linked) as SourceResult
  } catch (err) {
    record.failed(err)
    const { code, statusCode, message } = (err ?? {}) as { code?: unknown, statusCode?: unknown, message?: unknown }
    if (err === pause || context.signal.aborted || err instanceof ToolNotFoundError || typeof statusCode !== 'number' || typeof code !== 'string') throw err
    if ((err as { rpcError?: unknown }).rpcError !== undefined) throw err
    if (context.era === 'modern' && contextOf(err)?.details?.rpcCode === CODES.missingCapability) throw withRpcError(err)
    return { content: [{ type: 'text', text: `${code}: ${shownTo(mayUse(context.principal, ADMINISTRATION), err, String(message)).message}` }], isError: true }
  } finally {
    record.end('tool call')
  }
}

/** Sends any other request: questions go to the caller, and JSON-RPC errors are passed on unchanged. */
export async function requestFor (
  servers: Servers, upstream: Upstream, context: SourceContext | undefined, request: (options: CallOptions) => Promise<ToolResult>
): Promise<ToolResult> {
  if (context === undefined) return await request({})
  const ask: SourceContext['ask'] = async (questions, state) => await context.ask(questions, state)
  return await withSignIn(servers, context, ask, async () => await requestOf(upstream, context, request))
}

async function requestOf (upstream: Upstream, context: SourceContext, request: (options: CallOptions) => Promise<ToolResult>): Promise<ToolResult> {
  const relay = context.relay !== undefined && await upstream.isModern(optionsOf(context)) ? context.relay : undefined
  try {
    if (relay === undefined) return await requestOnce(context, request)
    const result = await request(new SourceOptions(context, relay))
    passOn(result, relay)
    return result
  } catch (err) {
    throw withRpcError(err)
  }
}

/**
 * A question that ends the run ends it at once, without the request's response: the next run sends the request again.
 */
async function requestOnce (context: SourceContext, request: (options: CallOptions) => Promise<ToolResult>): Promise<ToolResult> {
  let pause = (_err: Error): void => {}
  const paused = new Promise<never>((_resolve, reject) => { pause = reject })
  const ask: SourceContext['ask'] = async (questions, state) => {
    try {
      return await context.ask(questions, state)
    } catch (err) {
      if (!cannotAsk(err)) pause(err as Error)
      throw err
    }
  }
  return await Promise.race([request(new SourceOptions(context, askerFor(ask))), paused])
}

/** Questions go to the caller during the call. */
async function callOnce (upstream: Upstream, { tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  return await upstream.callRaw(tool, args, new SourceOptions(context, askerFor(ask)))
}

/** Both peers speak 2026-07-28: pass input_required results through unchanged. */
async function callThrough (upstream: Upstream, { tasks, tool, args, context }: SourceCall, relay: SourceRelay): Promise<ToolResult> {
  const result = await upstream.callRaw(tool, args, new SourceOptions(context, relay))
  passOn(result, relay)
  return result.resultType === 'task' ? { content: [], task: tasks.register(upstream.name, tool, result, context) } : result
}

/** The response of this run is the question; the call waits for the run with the answers. */
async function callAgain ({ interactive, server, tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  const { signal, principal, capabilities } = context
  const body: CallBody = { server, tool, arguments: args, capabilities: { elicitation: capabilities.elicitation, sampling: capabilities.sampling } as NonNullable<CallBody['capabilities']> }
  const options = new SourceOptions(context)
  // only for this run: the call may outlast it
  const stop = new LightAbort()
  const leave = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  let { state } = context
  try {
    for (;;) {
      const inputResponses = state === undefined ? undefined : await answersTo(interactive.questions(body, principal, state), state)
      const outcome = await interactive.call({ ...body, ...state !== undefined && { requestState: state }, ...inputResponses !== undefined && { inputResponses } }, principal, stop, options)
      if ('result' in outcome) return outcome.result
      state = outcome.requestState
    }
  } finally {
    signal.removeEventListener('abort', leave)
  }

  async function answersTo (questions: Readonly<Record<string, ServerRequest>>, state: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      return await ask(questions, state)
    } catch (err) {
      if (!cannotAsk(err)) throw err
      // undefined means "declined"; the caller maps it to the method's own decline
      return Object.fromEntries(Object.keys(questions).map(key => [key, undefined]))
    }
  }
}

function optionsOf ({ signal, principal }: SourceContext): Pick<CallOptions, 'signal' | 'principal'> {
  return { signal, principal }
}

/** The options of a call for a caller. An instance of a class for the same reason as `Running`. */
class SourceOptions implements CallOptions {
  readonly ask: InputHandler | undefined
  readonly round: Round | undefined
  readonly #context: SourceContext

  constructor (context: SourceContext, answering?: InputHandler | SourceRelay) {
    this.#context = context
    if (typeof answering === 'function') this.ask = answering
    else if (answering !== undefined) this.round = { inputResponses: forServer(answering.inputResponses), requestState: answering.requestState }
  }

  get signal (): AbortSignalLike { return this.#context.signal }
  get principal (): Principal | undefined { return this.#context.principal }
  get logLevel (): string | undefined { return this.#context.logLevel }
  get meta (): CallOptions['meta'] { return this.#context.meta }
  get sessionId (): string | undefined { return this.#context.sessionId }

  get capabilities (): object {
    const { elicitation, sampling, roots, extensions } = this.#context.capabilities
    // a task needs a caller that polls it, so results must be passed through
    const tasks = this.round === undefined ? undefined : extensions?.[TASKS_EXTENSION]
    const ui = extensions?.[UI_EXTENSION]
    if (tasks === undefined && ui === undefined) return { elicitation, sampling, roots }
    return { elicitation, sampling, roots, extensions: { [TASKS_EXTENSION]: tasks, [UI_EXTENSION]: ui } }
  }

  readonly onProgress = ({ progress, total, message }: CallProgress): void => {
    // without `_meta` of the upstream server
    this.#context.progress({ progress, total, message })?.catch(() => {})
  }

  readonly onMessage = (message: LogMessage): void => { this.#context.message?.(message as never)?.catch(() => {}) }
}

function passOn ({ resultType, inputRequests = {}, requestState }: ToolResult, relay: SourceRelay): void {
  if (resultType === 'input_required') relay.ask(inputRequests as Readonly<Record<string, ServerRequest>>, requestState as string | undefined)
}

function askerFor (ask: SourceContext['ask']): InputHandler {
  let asked = 0
  return async question => {
    // the same question must have the same key in the next run
    const key = asked++ === 0 ? 'question' : `question-${asked}`
    try {
      return (await ask({ [key]: question }, undefined))[key] ?? {}
    } catch (err) {
      throw cannotAsk(err) ? new Declined() : err
    }
  }
}

function cannotAsk (err: unknown): boolean {
  const { code } = (err ?? {}) as { code?: unknown }
  return code === 'MCP_CANNOT_ASK' || code === CODES.missingCapability
}
