import { allowCall, isAllowedCall } from '../vac/allowed-call.js'
import { unlessAborted } from '../basics/within.js'
import type { InterpreterCallback, InterpreterExtra } from '../vac/interpreter.js'
import type { VacConfig } from '../config/schema.js'
import { BoundLog, silentLog, type InterpreterLog, type Log } from '../basics/log.js'
import type { AgentAccess } from '../vac/agents.js'
import type { ExtraMemory, Memory } from '../vac/memory.js'
import type { CallTool, FunctionTool, FunctionTools, ToolAccess, ToolCaller, ToolCallOptions, ToolCallResult } from '../vac/tools.js'
import type { StepView } from '../vac/step.js'
import type { VacCall } from '../vac/vac.js'

/** What is created for an interpreter at first use. */
export interface OnDemand {
  readonly signal: AbortSignal
  readonly callback: InterpreterCallback
  /** What the reader sees of steps. */
  readonly view: StepView | undefined
  /** Questions to other agents. */
  readonly agents: AgentAccess
  /**
   * Executes a call of a tool as a step of the answer.
   * @param server undefined for a tool of the application, and for an agent
   * @param id of the step; default: a new one
   */
  callTool<T> (server: string | undefined, tool: string, args: unknown, work: () => Promise<T>, id?: string): Promise<T>
}

const RUN = Symbol('run')
type Held = { readonly [RUN]: OnDemand }

// One pair of getters for all calls: an object literal with getters costs a hidden class per call, and an abort
// controller per call costs more than the rest of a short call.
const SIGNAL = { enumerable: true, configurable: true, get (this: Held) { return this[RUN].signal } }
const CALLBACK = { enumerable: true, configurable: true, get (this: Held) { return this[RUN].callback } }

const NO_TOOLS: readonly FunctionTool[] = []

/** What all interpreters of a VAC have in common. */
export interface VacAccess extends ToolAccess {
  readonly memory?: Pick<Memory, 'search'> | undefined
}

/** The last argument of an interpreter: the caller's fields, overwritten by the reserved names. */
export function makeExtra (call: VacCall, vac: VacConfig, { callTool, listTools, tools, memory }: VacAccess, run: OnDemand): InterpreterExtra {
  const extra = copyOf(call.extra)
  const log = call.log === undefined ? silentLog : hasChild(call.log) ? call.log : new BoundLog(call.log, {})
  extra.log = log
  extra.vac = vac
  extra.protocol = call.protocol ?? 'code'
  extra.principal = call.principal
  extra.conversation = call.conversation
  extra.memory = memory && memoryFor(memory, call, log, run)
  const { principal } = call
  extra.callTool = callTool && ((...[server, tool, args, options]: Parameters<CallTool>) => run.callTool(server, tool, args, () =>
    callTool(server, tool, args, principal === undefined ? options : forCaller(options, principal))))
  extra.listTools = principal !== undefined && callTool !== undefined && listTools !== undefined ? () => listTools({ principal }) : listTools
  extra.callAgent = (...args: Parameters<AgentAccess['callAgent']>) => run.agents.callAgent(...args)
  extra.listAgents = () => run.agents.listAgents()
  if (tools === undefined) extra.tools = NO_TOOLS
  else {
    let bound: readonly FunctionTool[] | undefined
    Object.defineProperty(extra, 'tools', { enumerable: true, configurable: true, get: () => (bound ??= toolsFor(tools, principal, log, run)) })
  }
  extra[RUN] = run
  Object.defineProperty(extra, 'signal', SIGNAL)
  Object.defineProperty(extra, 'callback', CALLBACK)
  return extra as unknown as InterpreterExtra
}

function forCaller (options: ToolCallOptions | undefined, principal: VacCall['principal']): ToolCallOptions & ToolCaller {
  const bound = { signal: options?.signal, principal }
  return isAllowedCall(options) ? allowCall(bound) : bound
}

/** The tools of the application for the caller. */
function toolsFor (tools: FunctionTools, principal: VacCall['principal'], log: Log, run: OnDemand): readonly FunctionTool[] {
  return tools.list().map(definition => {
    const { name, description = '', inputSchema } = definition
    const call = (input: Readonly<Record<string, unknown>>, { signal = run.signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<ToolCallResult<unknown>> =>
      run.callTool(undefined, name, input, () => tools.call(name, input, { signal, principal, log }))
    return { ...definition, description, inputSchema: inputSchema as FunctionTool['inputSchema'], call: call as FunctionTool['call'] }
  })
}

/** The memory for the caller. A search does not wait for one that ignores its signal. */
function memoryFor (memory: Pick<Memory, 'search'>, { principal }: VacCall, log: Log, run: OnDemand): ExtraMemory {
  let isLogged = false
  const onDegraded = (reason: string): void => {
    if (!isLogged) log.warn({ reason }, 'a part of the memory does not work')
    isLogged = true
  }
  return {
    search: async ({ query, limit, threshold, signal = run.signal }) =>
      await unlessAborted(memory.search({ query, limit, threshold, signal, owner: principal?.owner, onDegraded }), signal)
  }
}

/** What the reader of an interpreter's answer sees of steps, for a thread that runs the interpreter. */
export function viewOf (extra: InterpreterExtra): StepView | undefined {
  return (extra as unknown as Held)[RUN].view
}

/**
 * A copy of the caller's fields. Adding keys to an object made by spreading is ten times slower on Node.js 20;
 * spreading is needed where a key is `__proto__`, which `Object.assign` would take for the prototype.
 */
function copyOf (fields: VacCall['extra']): Record<string | symbol, unknown> {
  if (fields === undefined) return {}
  return Object.hasOwn(fields, '__proto__') ? { ...fields } : Object.assign({}, fields)
}

/** Whether a log is one of pino, which interpreters get unchanged. */
function hasChild (log: Log): log is InterpreterLog {
  return typeof (log as Partial<InterpreterLog>).child === 'function'
}
