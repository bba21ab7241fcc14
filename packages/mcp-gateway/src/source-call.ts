import { Stop, type Principal, type StopSignal } from '@polyvac/core'
import type { CallProgress, Question, ToolResult } from './call.js'
import { ToolNotFoundError } from './errors.js'
import type { Gateway } from './gateway.js'
import type { InteractiveCalls } from './interactive-calls.js'
import { Declined } from './questions.js'
import type { CallBody } from './schemas.js'

/** The part that a gateway needs of what an MCP server knows of a call. */
export interface SourceContext {
  readonly signal: StopSignal
  readonly principal?: Principal | undefined
  readonly capabilities: { readonly elicitation?: object | undefined, readonly sampling?: object | undefined }
  /** `modern`: a question ends the run, and the call is run again with the answers. */
  readonly era: 'legacy' | 'modern'
  /** What the run before gave to `ask`. */
  readonly state?: string | undefined
  progress (progress: CallProgress): Promise<void> | undefined
  ask (questions: Readonly<Record<string, Question>>, state?: string): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>>
}

export interface SourceResult extends ToolResult {
  readonly content: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly isError?: boolean
}

interface SourceCall {
  readonly gateway: Gateway
  readonly interactive: InteractiveCalls
  readonly server: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly context: SourceContext
}

/** Calls a tool for an MCP server, which tells failures as results. */
export async function callFor (call: SourceCall): Promise<SourceResult> {
  const { context } = call
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
    const result = context.era === 'modern' ? await callAgain(call, ask) : await callOnce(call, ask)
    return Array.isArray(result.content) ? result as SourceResult : { ...result, content: [] }
  } catch (err) {
    const { code, statusCode, message } = (err ?? {}) as { code?: unknown, statusCode?: unknown, message?: unknown }
    if (err === pause || context.signal.aborted || err instanceof ToolNotFoundError || typeof statusCode !== 'number' || typeof code !== 'string') throw err
    return { content: [{ type: 'text', text: `${code}: ${String(message)}` }], isError: true }
  }
}

/** The caller is asked while the call goes on. */
async function callOnce ({ gateway, server, tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  return await gateway.get(server).callRaw(tool, args, {
    signal: context.signal,
    owner: context.principal?.owner,
    onProgress: progress => { context.progress(progress)?.catch(() => {}) },
    ask: async question => {
      try {
        return (await ask({ question }, undefined)).question ?? {}
      } catch (err) {
        throw cannotAsk(err) ? new Declined() : err
      }
    }
  })
}

/** The caller is answered with the question, and the call waits until the caller's run that has the answers. */
async function callAgain ({ interactive, server, tool, args, context }: SourceCall, ask: SourceContext['ask']): Promise<ToolResult> {
  const { signal, principal, capabilities } = context
  const owner = principal?.owner
  const body: CallBody = { server, tool, arguments: args, capabilities: { elicitation: capabilities.elicitation, sampling: capabilities.sampling } as NonNullable<CallBody['capabilities']> }
  const onProgress = (progress: CallProgress): void => { context.progress(progress)?.catch(() => {}) }
  // of this run alone, which the call may outlast
  const stop = new Stop()
  const leave = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  let { state } = context
  try {
    for (;;) {
      const inputResponses = state === undefined ? undefined : await answersTo(interactive.questions(body, owner, state), state)
      const outcome = await interactive.call({ ...body, ...state !== undefined && { requestState: state }, ...inputResponses !== undefined && { inputResponses } }, owner, stop, onProgress)
      if ('result' in outcome) return outcome.result
      state = outcome.requestState
    }
  } finally {
    signal.removeEventListener('abort', leave)
  }

  async function answersTo (questions: Readonly<Record<string, Question>>, state: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      return await ask(questions, state)
    } catch (err) {
      if (!cannotAsk(err)) throw err
      return Object.fromEntries(Object.keys(questions).map(key => [key, { action: 'decline' }]))
    }
  }
}

function cannotAsk (err: unknown): boolean {
  return (err as { code?: unknown } | undefined)?.code === 'MCP_CANNOT_ASK'
}
