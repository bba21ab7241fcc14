import { LightAbort, type AbortSignalLike } from '@polyvac/core/plugin'
import { CODES, TASKS_EXTENSION, type CallProgress, type LogMessage, type ServerRequest } from '@polyvac/mcp-protocol'
import type { CallOptions, InputHandler, Round, ToolResult } from '../protocol/call-options.js'
import { contextOf, handedOn, ToolNotFoundError } from '../errors.js'
import type { InteractiveCalls } from '../input/interactive-calls.js'
import { Declined } from '../session/server-requests.js'
import type { CallBody } from '../schemas.js'
import type { Servers } from '../servers.js'
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

/** Calls a tool for an MCP server, which tells failures as results. */
export async function callFor (call: SourceCall): Promise<SourceResult> {
  const { servers, server, context } = call
  let pause: unknown
  try {
    // a question that ends the run is no failure
    const ask: SourceContext['ask'] = async (questions, state) => {
      try {
        return await context.ask(questions, state)
      } catch (err) {
        pause = err
        throw err
      }
    }
    const upstream = servers.get(server)
    const result = context.era === 'legacy'
      ? await callOnce(upstream, call, ask)
      : context.relay !== undefined && await upstream.isModern(context) ? await callThrough(upstream, call, context.relay) : await callAgain(call, ask)
    return Array.isArray(result.content) ? result as SourceResult : { ...result, content: [] }
  } catch (err) {
    const { code, statusCode, message } = (err ?? {}) as { code?: unknown, statusCode?: unknown, message?: unknown }
    if (err === pause || context.signal.aborted || err instanceof ToolNotFoundError || typeof statusCode !== 'number' || typeof code !== 'string') throw err
    if (context.era === 'modern' && contextOf(err)?.details?.rpcCode === CODES.missingCapability) throw handedOn(err)
    return { content: [{ type: 'text', text: `${code}: ${String(message)}` }], isError: true }
  }
}

/** Whatever else a server is asked for: its questions go to the caller, its errors of the protocol stay what they are. */
export async function requestFor (upstream: Upstream, context: SourceContext | undefined, request: (options: CallOptions) => Promise<ToolResult>): Promise<ToolResult> {
  if (context === undefined) return await request({})
  const relay = context.relay !== undefined && await upstream.isModern(context) ? context.relay : undefined
  try {
    if (relay === undefined) return await askedOnce(context, request)
    const result = await request(new SourceOptions(context, relay))
    passOn(result, relay)
    return result
  } catch (err) {
    throw handedOn(err)
  }
}

/** A question that ends the run ends it at once, whatever becomes of the request that it came with: the next run makes it again. */
async function askedOnce (context: SourceContext, request: (options: CallOptions) => Promise<ToolResult>): Promise<ToolResult> {
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

/** The caller is asked while the call goes on. */
async function callOnce (upstream: Upstream, { tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  return await upstream.callRaw(tool, args, new SourceOptions(context, askerFor(ask)))
}

/** Caller and server both ask and answer in results: the one's go to the other as they are. */
async function callThrough (upstream: Upstream, { tasks, tool, args, context }: SourceCall, relay: SourceRelay): Promise<ToolResult> {
  const result = await upstream.callRaw(tool, args, new SourceOptions(context, relay))
  passOn(result, relay)
  return result.resultType === 'task' ? { content: [], task: tasks.begun(upstream.name, result, context) } : result
}

/** The caller is answered with the question, and the call waits until the caller's run that has the answers. */
async function callAgain ({ interactive, server, tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  const { signal, principal, capabilities } = context
  const owner = principal?.owner
  const body: CallBody = { server, tool, arguments: args, capabilities: { elicitation: capabilities.elicitation, sampling: capabilities.sampling } as NonNullable<CallBody['capabilities']> }
  const told = new SourceOptions(context)
  // of this run alone, which the call may outlast
  const stop = new LightAbort()
  const leave = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  let { state } = context
  try {
    for (;;) {
      const inputResponses = state === undefined ? undefined : await answersTo(interactive.questions(body, owner, state), state)
      const outcome = await interactive.call({ ...body, ...state !== undefined && { requestState: state }, ...inputResponses !== undefined && { inputResponses } }, owner, stop, told)
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
      // nothing declines, in the words of each question's method
      return Object.fromEntries(Object.keys(questions).map(key => [key, undefined]))
    }
  }
}

/** What the gateway is told of a call for a caller. An object of a class, for the reason that `Running` tells. */
class SourceOptions implements CallOptions {
  readonly ask: InputHandler | undefined
  readonly round: Round | undefined
  readonly #context: SourceContext

  constructor (context: SourceContext, answering?: InputHandler | SourceRelay) {
    this.#context = context
    if (typeof answering === 'function') this.ask = answering
    else if (answering !== undefined) this.round = { inputResponses: answering.inputResponses, requestState: answering.requestState }
  }

  get signal (): AbortSignalLike { return this.#context.signal }
  get owner (): string | undefined { return this.#context.principal?.owner }
  get logLevel (): string | undefined { return this.#context.logLevel }

  get capabilities (): object {
    const { elicitation, sampling, roots, extensions } = this.#context.capabilities
    // a task is something to come back for, which takes a caller that is answered as it is
    const tasks = this.round === undefined ? undefined : extensions?.[TASKS_EXTENSION]
    return { elicitation, sampling, roots, ...tasks !== undefined && { extensions: { [TASKS_EXTENSION]: tasks } } }
  }

  readonly onProgress = (progress: CallProgress): void => { this.#context.progress(progress)?.catch(() => {}) }

  readonly onMessage = (message: LogMessage): void => { this.#context.message?.(message as never)?.catch(() => {}) }
}

function passOn ({ resultType, inputRequests = {}, requestState }: ToolResult, relay: SourceRelay): void {
  if (resultType === 'input_required') relay.ask(inputRequests as Readonly<Record<string, ServerRequest>>, requestState as string | undefined)
}

function askerFor (ask: SourceContext['ask']): InputHandler {
  let asked = 0
  return async question => {
    // in the next run the same question has the same key
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
