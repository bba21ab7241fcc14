// Runs inside a worker thread of worker-interpreter.ts: one call at a time, its chunks sent out as they are made.
import type { MessagePort } from 'node:worker_threads'
import { isForCaller, statusOf } from '../basics/create-error.js'
import { isStep } from '../vac/chunk.js'
import type { AgentAccess, CallAgent } from '../vac/agents.js'
import type { VacAccess } from './extra.js'
import { loadInterpreters, type Interpreters } from './module.js'
import { runInterpreter } from './run-interpreter.js'
import type { Interpreter } from '../vac/interpreter.js'
import type { VacConfig } from '../config/schema.js'
import type { Log } from '../basics/log.js'
import type { MemoryQuery } from '../vac/memory.js'
import type { CallTool, FunctionDefinition } from '../vac/tools.js'
import type { StepView } from '../vac/step.js'
import type { Chunk, ChatTurn, Principal, Protocol } from '../vac/vac.js'

/** A job for the thread: a call, or, without `call`, the module's exports. */
export interface WorkerJob {
  readonly module: string
  readonly folder: string
  readonly call?: {
    readonly export: keyof Interpreters
    readonly vac: string
    readonly config: VacConfig
    readonly question: string
    readonly history: ChatTurn[]
    readonly steps: StepView | undefined
    readonly extra: Record<string, unknown>
    readonly protocol: Protocol
    readonly principal: Principal | undefined
    readonly conversation: string | undefined
    readonly has: Readonly<Record<'callTool' | 'listTools' | 'memory', boolean>> & { readonly tools: FunctionDefinition[] }
    readonly port: MessagePort
    /** Characters sent and not yet read: the thread waits on it for a slow reader, also in blocking code. */
    readonly unread: Int32Array
  } | undefined
}

/** Messages of a thread to the main thread. */
export type FromWorker =
  | { readonly chunk: Chunk, readonly size: number }
  | { readonly log: keyof Log, readonly obj: object, readonly message: string | undefined }
  | { readonly tool: number, readonly request: WorkerRequest }
  | { readonly end: true }
  | { readonly failed: ThreadFailure }

/** What only the main thread can do: call tools, search the memory, ask agents, list tools and agents. */
export type WorkerRequest =
  | { readonly call: Parameters<CallTool> }
  | { readonly function: string, readonly input: Readonly<Record<string, unknown>> }
  | { readonly search: Pick<MemoryQuery, 'query' | 'limit' | 'threshold'> }
  | { readonly list: true }
  | { readonly agent: Parameters<CallAgent> }
  | { readonly agents: true }

/** A failure as plain data: the values of an error may not be clonable. */
export interface ThreadFailure {
  readonly code?: string | undefined
  readonly message: string
  readonly stack?: string | undefined
  readonly statusCode?: number | undefined
  /** Set for an error that the caller may read. */
  readonly expose?: true
}

/** Messages of the main thread: the outcome of a request. */
export interface ToWorker { readonly tool: number, readonly result?: unknown, readonly failure?: ToolFailure }

/** The failure of a tool as plain data, with the sign-in that a server needs. */
export interface ToolFailure {
  readonly message: string
  readonly code?: string
  readonly statusCode?: number
  readonly expose?: boolean
  readonly signIn?: { readonly server: string, readonly url: string }
}

/** The thread pauses while more than this many characters are on their way. */
export const UNREAD_HIGH_WATER_CHARS = 256 * 1024

/** An export of the module, with what the interpreter takes. */
export interface WorkerExport { readonly name: string, readonly takes: readonly string[] | undefined }

export default async function work ({ module, folder, call }: WorkerJob): Promise<WorkerExport[]> {
  const interpreters = await loadInterpreters(module, folder)
  if (call === undefined) {
    return Object.entries<Interpreter | undefined>({ ...interpreters })
      .flatMap(([name, interpreter]) => interpreter === undefined ? [] : { name, takes: interpreter.takes ?? interpreter.openai })
  }
  const { port, unread } = call
  const interpreter = interpreters[call.export]
  if (interpreter === undefined) throw new Error(`the module no longer exports ${call.export}`)
  const run = runInterpreter({
    vac: call.vac,
    config: call.config,
    interpreter,
    ...remoteAccess(port, call.has)
  }, {
    question: call.question,
    history: call.history,
    steps: call.steps,
    hasRemoteTools: true,
    extra: call.extra,
    protocol: call.protocol,
    principal: call.principal,
    conversation: call.conversation,
    log: remoteLog(port),
    // the run of the main thread sends an answer that was not streamed
    streamedOnly: true
  })
  try {
    for await (const chunk of run) {
      const size = typeof chunk === 'string' ? chunk.length : isStep(chunk) ? JSON.stringify(chunk).length : 64
      port.postMessage({ chunk, size } satisfies FromWorker)
      let waiting = Atomics.add(unread, 0, size) + size
      while (waiting > UNREAD_HIGH_WATER_CHARS) {
        Atomics.wait(unread, 0, waiting)
        waiting = Atomics.load(unread, 0)
      }
    }
    port.postMessage({ end: true } satisfies FromWorker)
    return []
  } catch (err) {
    port.postMessage({ failed: describe(err) } satisfies FromWorker)
    return []
  } finally {
    port.close()
  }
}

/** Of VAC_INTERPRETER_FAILED the log needs the cause. */
function describe (err: unknown): ThreadFailure {
  try {
    const { code, cause } = err as { code?: string, cause?: unknown }
    const { message, stack } = (code === 'VAC_INTERPRETER_FAILED' ? cause : err) as Partial<Error> ?? {}
    const text = { message: String(message ?? cause), stack: stack === undefined ? undefined : String(stack) }
    const isExposed = code !== 'VAC_INTERPRETER_FAILED' && isForCaller(err)
    return isExposed ? { ...text, code, statusCode: statusOf(err), expose: true } : text
  } catch {
    return { message: 'an error that cannot be read' }
  }
}

function remoteLog (port: MessagePort): Log {
  const level = (name: keyof Log) => (obj: object, message?: string): void => {
    port.postMessage({ log: name, obj: JSON.parse(JSON.stringify(obj)) as object, message } satisfies FromWorker)
  }
  return { trace: level('trace'), debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
}

function remoteAccess (port: MessagePort, has: NonNullable<WorkerJob['call']>['has']): VacAccess & { readonly agents: AgentAccess } {
  // @keyed none: the keys are numbers of the thread, for the calls of tools of one interpreter
  const pending = new Map<number, { resolve: (value: unknown) => void, reject: (err: Error) => void }>()
  let count = 0
  port.on('message', ({ tool, result, failure }: ToWorker) => {
    const waiting = pending.get(tool)
    pending.delete(tool)
    if (failure === undefined) waiting?.resolve(result)
    else waiting?.reject(Object.assign(new Error(failure.message), failure))
  })
  const send = async <T>(request: WorkerRequest): Promise<T> => await new Promise<unknown>((resolve, reject) => {
    port.postMessage({ tool: ++count, request } satisfies FromWorker)
    pending.set(count, { resolve, reject })
  }) as T
  return {
    // a signal cannot be sent to another thread; the main thread has that of the whole call
    callTool: has.callTool ? (server, name, args) => send({ call: [server, name, args] }) : undefined,
    agents: { callAgent: (name, content) => send({ agent: [name, content] }), listAgents: () => send({ agents: true }) },
    listTools: has.listTools ? () => send({ list: true }) : undefined,
    tools: has.tools.length === 0 ? undefined : { list: () => has.tools, call: (name, input) => send({ function: name, input }) },
    memory: has.memory ? { search: ({ query, limit, threshold }) => send({ search: { query, limit, threshold } }) } : undefined
  }
}
