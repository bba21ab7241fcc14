import { InvalidVacNameError, InvalidVacsError, VacBusyError, VacNotFoundError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import { quoteName, vacNameProblem, vacRemedy } from '../basics/names.js'
import { callback, integer, optional, readOptions, required, withMethod, type OptionRules } from '../basics/options.js'
import { APPROVAL_TTL, type ApprovalRecords } from '../approvals/approval-store.js'
import { approvingInterpreter } from '../approvals/approving-interpreter.js'
import type { ApprovalRule } from '../approvals/run-approvals.js'
import type { Run, RunPlaces } from '../interpreter/interpreter-run.js'
import { askInterpreter, runInterpreter } from '../interpreter/run-interpreter.js'
import { RUN_LIMITS, type RunLimits } from '../interpreter/run-limits.js'
import type { VacConfig } from '../config/schema.js'
import type { Interpreter } from '../vac/interpreter.js'
import { memoryBudget } from '../limits/memory-budget.js'
import { OwnerSlots } from '../limits/owner-slots.js'
import type { Memory } from '../vac/memory.js'
import type { ToolAccess } from '../vac/tools.js'
import type { ExposedVacs, Vac } from '../vac/vac.js'

/** Interpreters and memory of one VAC, in place of the shared ones. */
export interface VacParts {
  readonly streamInterpreter?: Interpreter | undefined
  readonly vacInterpreter?: Interpreter | undefined
  readonly memory?: Memory | undefined
  /** Of a VAC that an agent of another service answers. */
  readonly remote?: Vac['remote']
}

export interface VacsOptions {
  /** Names, or entries by name as in `vac_config.yaml`. */
  readonly vacs: readonly string[] | Readonly<Record<string, VacConfig>>
  /** Answers as a stream; required unless every VAC has its own in `parts`. */
  readonly streamInterpreter?: Interpreter | undefined
  /** Answers once; without it the stream is collected. */
  readonly vacInterpreter?: Interpreter | undefined
  /** Interpreters and memory of single VACs, by name. */
  readonly parts?: Readonly<Record<string, VacParts>> | undefined
  /** How interpreters reach external MCP tools, as `extra.callTool`: `call` of a gateway, for example. */
  readonly callTool?: ToolAccess['callTool']
  /** How interpreters list those tools, as `extra.listTools`: `listTools` of a gateway, for example. */
  readonly listTools?: ToolAccess['listTools']
  /** The tools of the application, as `extra.tools` of interpreters: what `defineTools` returns. */
  readonly tools?: ToolAccess['tools']
  /**
   * Where approvals of calls of tools are kept: `approvals` of a task store. VACs with `approve` need it; with it,
   * tools of MCP servers with `approve` wait in all VACs.
   */
  readonly approvals?: ApprovalRecords | undefined
  /**
   * Most answers in progress at once, over all VACs and protocols; one more fails with VAC_BUSY (503). An owner may
   * have a quarter of them. It bounds the memory that slow readers hold. Default 10,000, or fewer with a small heap.
   */
  readonly maxConcurrent?: number | undefined
  /** Bounds of each answer: `maxAnswerChars`, `maxStreamedChars`, `maxUnreadChars`, `maxSteps`, `maxStepChars`. */
  readonly limits?: Partial<RunLimits> | undefined
}

/** The VACs of an application: the object that every protocol plugin takes. */
export interface Vacs {
  readonly names: readonly string[]
  /** @throws VAC_NOT_FOUND (404), naming a near match */
  get (name: string): Vac
  has (name: string): boolean
  list (): readonly Vac[]
  /** The number of answers in progress, over all VACs and protocols. */
  readonly running: number
  /**
   * Replaces all VACs at once; answers in progress continue with the old ones. It throws and changes nothing when the
   * options are invalid. Resolves when the last answer of the old VACs has ended: then their resources may be closed.
   */
  replace (options: VacsOptions): Promise<void>
  /** Calls `listener` after each `replace`. Returns the function that stops it. */
  onReplace (listener: () => void): () => void
}

const MAX_ANSWERS = 10_000
/** Memory for one answer in progress, about, besides its request. */
const ANSWER_BYTES = 16 * 1024

/** Types, bounds and defaults of the options. */
export const VACS_OPTIONS = {
  vacs: required(optional('names, such as [\'docs\'], or entries by name', value => isRecord(value) || Array.isArray(value))),
  streamInterpreter: callback(),
  vacInterpreter: callback(),
  parts: optional('an object, with the names of VACs as keys', isRecord),
  callTool: callback(),
  listTools: callback(),
  tools: optional('what defineTools() returns', value => isRecord(value) && typeof value.list === 'function' && typeof value.call === 'function'),
  approvals: withMethod('create', 'the `approvals` of a task store'),
  maxConcurrent: integer(Math.min(MAX_ANSWERS, Math.floor(memoryBudget.limit / ANSWER_BYTES))),
  limits: optional('an object', isRecord)
} satisfies OptionRules<VacsOptions>

/**
 * Creates the registry of VACs.
 * @throws INVALID_VACS, INVALID_VAC_NAME
 * @example
 * const agent = async function * (question) { yield `You asked: ${question}` }
 * const vacs = createVacs({ vacs: ['demo'], streamInterpreter: agent })
 * await app.register(vacPlugin, { vacs })
 */
export function createVacs (options: VacsOptions): Vacs {
  const places = new OwnerSlots({ part: 'answers in progress', total: MAX_ANSWERS })
  // @keyed none: the values are functions of plugins
  const listeners = new Set<() => void>()
  let generation = new Generation()
  let vacs = build(options, places, generation)
  return {
    get names () { return [...vacs.keys()] },
    has: name => vacs.has(name),
    list: () => [...vacs.values()],
    get running () { return places.taken },
    get (name) {
      const vac = vacs.get(name)
      if (vac === undefined) throw new VacNotFoundError(quoteName(name), vacRemedy(name, [...vacs.keys()]))
      return vac
    },
    replace (next) {
      const old = generation
      const fresh = new Generation()
      vacs = build(next, places, fresh)
      generation = fresh
      for (const listener of [...listeners]) listener()
      return old.retire()
    },
    onReplace (listener) {
      listeners.add(listener)
      return () => { listeners.delete(listener) }
    }
  }
}

/** The answers in progress of one set of VACs. */
class Generation {
  #running = 0
  #retired: (() => void) | undefined

  enter (): void { this.#running++ }

  leave (): void { if (--this.#running === 0) this.#retired?.() }

  retire (): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise(resolve => { this.#retired = resolve })
  }
}

function build (options: VacsOptions, places: OwnerSlots, generation: Generation): Map<string, Vac> {
  const { vacs, parts = {}, streamInterpreter, vacInterpreter, maxConcurrent, callTool, listTools, tools, approvals, limits: runLimits = {} } =
    readOptions(VACS_OPTIONS, options, InvalidVacsError, 'createVacs')
  const limits = readOptions(RUN_LIMITS, runLimits, InvalidVacsError, 'createVacs', 'limits.')
  const entries: Array<[string, VacConfig]> = Array.isArray(vacs)
    ? vacs.map((name: string) => [name, {}])
    : Object.entries(vacs as Record<string, VacConfig>)
  for (const name of Object.keys(parts)) {
    if (!entries.some(([entry]) => entry === name)) {
      throw new InvalidVacsError(`parts has the VAC ${JSON.stringify(name)}, which is not among the vacs`)
    }
  }
  places.resize(maxConcurrent)
  const runs: RunPlaces = {
    enter (owner) {
      if (!places.tryTake(owner)) throw places.taken < maxConcurrent ? places.refusal() : new VacBusyError(maxConcurrent)
      generation.enter()
    },
    leave (owner) {
      places.release(owner)
      generation.leave()
    }
  }
  const built = new Map<string, Vac>()
  const agents: ExposedVacs = { has: name => built.has(name), list: () => [...built.values()], get: name => built.get(name)! }
  for (const [name, config] of entries) {
    const problem = vacNameProblem(name)
    if (problem !== undefined) throw new InvalidVacNameError(quoteName(name), problem.reason, problem.remedy)
    const own: VacParts = Object.hasOwn(parts, name) ? parts[name] ?? {} : {}
    const stream = own.streamInterpreter ?? streamInterpreter
    if (typeof stream !== 'function') {
      throw new InvalidVacsError(`the VAC ${JSON.stringify(name)} has no interpreter: give streamInterpreter a function`)
    }
    // a VAC with its own stream interpreter does not answer with the shared static one
    const ask = own.vacInterpreter ?? (own.streamInterpreter === undefined ? vacInterpreter : undefined) ?? stream
    const rule = own.remote === undefined ? approvalsFor(name, config, approvals) : undefined
    // its own tools, those of servers with `approve`, and agents that ask for approvals
    const mayWait = config.approve !== undefined || callTool !== undefined || Array.isArray(config.tools)
    const run = (interpreter: Interpreter): Run => ({ vac: name, config, interpreter: rule === undefined ? interpreter : approvingInterpreter(interpreter, rule, mayWait), callTool, listTools, tools, memory: own.memory, limits, places: runs, agents })
    const takes = stream.takes ?? stream.openai
    const [streamed, asked] = [run(stream), run(ask)]
    built.set(name, {
      name,
      config,
      memory: own.memory,
      remote: own.remote,
      takes,
      openai: takes,
      asksOnce: ask !== stream,
      stream: call => runInterpreter(streamed, call),
      ask: call => askInterpreter(asked, call)
    })
  }
  return built
}

/** Undefined without a store. @throws INVALID_VACS for a VAC that has nowhere to keep its approvals */
function approvalsFor (vac: string, { approve = [], approval_ttl: ttl = APPROVAL_TTL }: VacConfig, records: ApprovalRecords | undefined): ApprovalRule | undefined {
  if (records !== undefined) return { approve, ttlMs: ttl * 1_000, records }
  if (approve.length === 0) return undefined
  throw new InvalidVacsError(`the VAC ${JSON.stringify(vac)} has \`approve\`, and approvals need a task store: give \`approvals\` that of one, such as sqliteTaskStore()`)
}
