import type { InterpreterCallback, InterpreterExtra } from '../vac/interpreter.js'
import type { VacConfig } from '../config/schema.js'
import { BoundLog, silentLog, type InterpreterLog, type Log } from '../basics/log.js'
import type { CallTool, ToolAccess } from '../vac/tools.js'
import type { StepView } from '../vac/step.js'
import type { VacCall } from '../vac/vac.js'

/** What is created for an interpreter at first use. */
export interface OnDemand {
  readonly signal: AbortSignal
  readonly callback: InterpreterCallback
  /** What the reader sees of steps. */
  readonly view: StepView | undefined
  /** Executes a call of a tool as a step of the answer. */
  callTool<T> (server: string, tool: string, args: unknown, work: () => Promise<T>): Promise<T>
}

const RUN = Symbol('run')
type Held = { readonly [RUN]: OnDemand }

// One pair of getters for all calls: an object literal with getters costs a hidden class per call, and an abort
// controller per call costs more than the rest of a short call.
const SIGNAL = { enumerable: true, configurable: true, get (this: Held) { return this[RUN].signal } }
const CALLBACK = { enumerable: true, configurable: true, get (this: Held) { return this[RUN].callback } }

/** The last argument of an interpreter: the caller's fields, overwritten by the reserved names. */
export function makeExtra (call: VacCall, vac: VacConfig, tools: ToolAccess, run: OnDemand): InterpreterExtra {
  const extra = copyOf(call.extra)
  extra.log = call.log === undefined ? silentLog : hasChild(call.log) ? call.log : new BoundLog(call.log, {})
  extra.vac = vac
  extra.protocol = call.protocol ?? 'code'
  extra.principal = call.principal
  const { callTool, listTools } = tools
  const { principal } = call
  extra.callTool = callTool && ((...[server, tool, args, options]: Parameters<CallTool>) => run.callTool(server, tool, args, () =>
    callTool(server, tool, args, principal === undefined ? options : { signal: options?.signal, principal })))
  extra.listTools = principal !== undefined && callTool !== undefined && listTools !== undefined ? () => listTools({ principal }) : listTools
  extra[RUN] = run
  Object.defineProperty(extra, 'signal', SIGNAL)
  Object.defineProperty(extra, 'callback', CALLBACK)
  return extra as unknown as InterpreterExtra
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
