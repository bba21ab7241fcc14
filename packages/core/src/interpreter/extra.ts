import type { InterpreterCallback, InterpreterExtra } from '../vac/interpreter.js'
import type { VacConfig } from '../config/schema.js'
import { BoundLog, silentLog, type InterpreterLog, type Log } from '../basics/log.js'
import type { CallTool, ToolAccess } from '../vac/tools.js'
import type { VacCall } from '../vac/vac.js'

/** What is created for an interpreter at first use. */
export interface OnDemand {
  readonly signal: AbortSignal
  readonly callback: InterpreterCallback
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
  const isBound = principal !== undefined && callTool !== undefined
  extra.callTool = isBound ? (...[server, tool, args, options]: Parameters<CallTool>) => callTool(server, tool, args, { signal: options?.signal, principal }) : callTool
  extra.listTools = isBound && listTools !== undefined ? () => listTools({ principal }) : listTools
  extra[RUN] = run
  Object.defineProperty(extra, 'signal', SIGNAL)
  Object.defineProperty(extra, 'callback', CALLBACK)
  return extra as unknown as InterpreterExtra
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
