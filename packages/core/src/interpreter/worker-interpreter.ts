import { on } from 'node:events'
import { availableParallelism } from 'node:os'
import { MessageChannel } from 'node:worker_threads'
import { InterpreterModuleError, VacBusyError, WorkerOptionsError } from '../basics/errors.js'
import { RESERVED_EXTRA } from '../vac/interpreter.js'
import { viewOf } from './extra.js'
import type { FromWorker, ThreadFailure, ToolFailure, ToWorker, WorkerExport, WorkerJob, WorkerRequest } from './worker-thread.js'
import { MAX_LOAD_MS, type Interpreters } from './module.js'
import { isRecord } from '../basics/is-record.js'
import { LogGate } from '../basics/log-gate.js'
import { silentLog, type Log } from '../basics/log.js'
import { integer, milliseconds, readOptions, withMethod, type OptionRules } from '../basics/options.js'
import type { Interpreter } from '../vac/interpreter.js'
import type { FunctionDefinition, FunctionTool } from '../vac/tools.js'
import { isMissingThread } from '../basics/own-files.js'
import { within } from '../basics/within.js'

/** The interpreters of a module, which run in worker threads. */
export interface WorkerInterpreter extends Interpreters {
  /** Ends all threads. */
  close (): Promise<void>
}

export interface WorkerOptions {
  /** Most threads; each runs one call at a time. Default: the machine's parallelism, at least 2. */
  readonly maxThreads?: number | undefined
  /** Most calls waiting for a thread; one more fails with VAC_BUSY (503). Default 256. */
  readonly maxQueue?: number | undefined
  /** Longest time for loading the module, in ms. Default 30,000. */
  readonly loadMs?: number | undefined
  /** Gets the errors that a thread throws between two calls; the thread is replaced. */
  readonly log?: Log | undefined
}

/** Types, bounds and defaults of the options. */
export const WORKER_OPTIONS = {
  maxThreads: integer(Math.max(2, availableParallelism()), { max: 10_000 }),
  maxQueue: integer(256, { min: 0 }),
  loadMs: milliseconds(MAX_LOAD_MS),
  log: withMethod('error', 'a log, such as that of Fastify')
} satisfies OptionRules<WorkerOptions>

/**
 * Runs an interpreter module in worker threads, so that blocking code does not block the event loop of the server.
 * Chunks are sent while the thread is busy; aborting a call ends its thread. Functions cannot be sent to a thread, so
 * each thread imports the module.
 * @throws INTERPRETER_MODULE, WORKER_OPTIONS
 * @example
 * const worker = await workerInterpreter('./agent.mjs', import.meta.dirname)
 * const vacs = createVacs({ vacs: ['demo'], streamInterpreter: worker.stream_interpreter })
 * app.addHook('onClose', () => worker.close())
 */
export async function workerInterpreter (module: string, folder: string,
  options: WorkerOptions = {}): Promise<WorkerInterpreter> {
  const { maxThreads, maxQueue, loadMs, log: poolLog = silentLog } = readOptions(WORKER_OPTIONS, options, WorkerOptionsError, 'workerInterpreter')
  const { Piscina } = await import('piscina')
  const pool = new Piscina<WorkerJob, WorkerExport[]>({
    filename: workerFile(),
    minThreads: 1,
    maxThreads,
    idleTimeout: 30_000,
    atomics: 'disabled'
  })
  const gate = new LogGate()
  // an error between two calls has no caller; the pool has replaced the thread
  pool.on('error', (err: unknown) => {
    const suppressed = gate.pass('')
    if (suppressed !== undefined) poolLog.error({ err, module, suppressed }, 'an interpreter threw an error in its thread between two calls')
  })
  let exported: WorkerExport[]
  try {
    const late = (): never => { throw new Error(`it did not load within ${loadMs / 1000} s; its code or a top-level await in it does not end`) }
    exported = await within(pool.run({ module, folder }), loadMs, late)
  } catch (err) {
    await pool.destroy()
    throw (err as { code?: string }).code === 'INTERPRETER_MODULE'
      ? err
      : new InterpreterModuleError(JSON.stringify(module), isMissingThread(err) ? BUNDLED : (err as Error).message)
  }

  // counted here: piscina's maxQueue does not count calls that can be aborted (5.3.2), and all of these can
  let calls = 0
  const remote = (name: keyof Interpreters): Interpreter => async function * (question, vac, history, extra) {
    if (calls >= maxThreads + maxQueue) throw new VacBusyError(maxThreads + maxQueue)
    calls++
    const { port1, port2 } = new MessageChannel()
    const unread = new Int32Array(new SharedArrayBuffer(4))
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, extra.signal])
    const reserved: readonly string[] = RESERVED_EXTRA
    const fields = Object.fromEntries(Object.entries(extra).filter(([key]) => !reserved.includes(key)))
    const messages = on(port1, 'message', { signal })
    let failure: { err: unknown } | undefined
    const { protocol, principal, vac: config, callTool, listTools, callAgent, listAgents, tools, memory, conversation, log } = extra
    const has = { callTool: callTool !== undefined, listTools: listTools !== undefined, memory: memory !== undefined, tools: definitionsOf(tools) }
    const caller = { protocol, principal, conversation, has }
    /** What the thread asks for. */
    const requested = async (request: WorkerRequest): Promise<unknown> => {
      if ('call' in request) return await callTool!(request.call[0], request.call[1], request.call[2], { signal })
      if ('function' in request) return await tools.find(({ name }) => name === request.function)!.call(request.input, { signal })
      if ('agent' in request) return await callAgent(request.agent[0], request.agent[1], { signal })
      if ('agents' in request) return await listAgents()
      return 'search' in request ? await memory!.search({ ...request.search, signal }) : await listTools!()
    }
    const steps = viewOf(extra)
    const call = { export: name, steps, vac, config, question, history, extra: fields, ...caller, port: port2, unread }
    const done = pool.run({ module, folder, call }, { signal, transferList: [port2] }).catch((err: unknown) => {
      failure = { err }
      stop.abort()
    })
    try {
      for await (const [message] of messages as AsyncIterableIterator<[FromWorker]>) {
        if ('chunk' in message) {
          Atomics.sub(unread, 0, message.size)
          Atomics.notify(unread, 0)
          yield message.chunk
        } else if ('log' in message) {
          log[message.log](message.obj, message.message)
        } else if ('tool' in message) {
          const { tool, request } = message
          requested(request)
            // a memory, or a tool of the application, may return what cannot be sent
            .then((result: unknown) => port1.postMessage({ tool, result } satisfies ToWorker))
            .catch((err: unknown) => port1.postMessage({ tool, failure: toolFailure(err) } satisfies ToWorker))
        } else if ('failed' in message) {
          await done
          throw revive(message.failed)
        } else {
          // aborting before the thread has finished would end it, and a new one costs more than this wait
          await done
          return
        }
      }
    } catch (err) {
      throw failure === undefined ? err : failure.err
    } finally {
      calls--
      stop.abort()
      port1.close()
    }
  }
  const withTakes = (name: keyof Interpreters): Interpreter => {
    const takes = exported.find(other => other.name === name)?.takes
    return Object.assign(remote(name), takes && { takes })
  }
  return {
    stream_interpreter: withTakes('stream_interpreter'),
    ...(exported.some(({ name }) => name === 'vac_interpreter') ? { vac_interpreter: withTakes('vac_interpreter') } : {}),
    close: () => pool.destroy()
  }
}

const BUNDLED = 'its threads have no file in a bundle; leave @polyvac/core out of the bundle (`external`) and install it next to it'

function workerFile (): string {
  return new URL('./worker-thread.js', import.meta.url).href
}

/** Function tools without their functions, as plain JSON: a schema of TypeBox has symbols. */
function definitionsOf (tools: readonly FunctionTool[]): FunctionDefinition[] {
  return tools.length === 0 ? [] : JSON.parse(JSON.stringify(tools)) as FunctionDefinition[]
}

function toolFailure (err: unknown): ToolFailure {
  const { message, code, signIn, statusCode, expose } = (err ?? {}) as Partial<ToolFailure>
  return {
    message: String(message ?? err),
    ...typeof code === 'string' && { code },
    ...typeof statusCode === 'number' && { statusCode },
    ...typeof expose === 'boolean' && { expose },
    ...isRecord(signIn) && { signIn: { server: String(signIn.server), url: String(signIn.url) } }
  }
}

/** The error of a thread as an error of this one. */
function revive ({ message, stack, ...exposed }: ThreadFailure): Error {
  return Object.assign(new Error(message), exposed, stack === undefined ? {} : { stack })
}
