import { createHash } from 'node:crypto'
import { vacsFor } from '../access/access.js'
import { AgentApprovalError, AgentCallsError, AgentLoopError, AgentNotFoundError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import { quoteName, suggestion } from '../basics/names.js'
import { agentQuestionOf, MAX_HOPS, withAgentQuestion, type AgentAccess, type AgentQuestion, type CallAgent, type ListAgents } from '../vac/agents.js'
import { askedBack } from '../vac/answer.js'
import { runMemoryOf, withRunMemory, type RunMemory } from '../vac/run-memory.js'
import type { AnswerPart } from '../vac/schemas.js'
import { vacInfo } from '../vac/vac-info.js'
import type { ExposedVacs, VacCall } from '../vac/vac.js'
import type { OnDemand } from './extra.js'

/** Questions to other agents of one answer, with those that these ask in this process. */
export const MAX_AGENT_CALLS = 100
/** What a run remembers of them for later attempts, in characters of JSON; the oldest are left out. */
export const MAX_REMEMBERED_CHARS = 32_768

// no name of an agent, which are keys of the same memory
const CALLS = '@calls'
const ASKING = '@asking'

type Json = Readonly<Record<string, unknown>>

export interface AgentCallsOptions {
  /** The name of the VAC that asks. */
  readonly vac: string
  readonly vacs: ExposedVacs
  readonly call: VacCall
  readonly run: Pick<OnDemand, 'signal' | 'callTool'>
}

/**
 * The questions of one answer to other agents: with the caller, the rights and the log of the answer. Another attempt
 * at a run gives the same question the same id, and finds what the agent has of it in the memory of the run.
 */
export class AgentCalls implements AgentAccess {
  readonly #options: AgentCallsOptions
  readonly #memory: RunMemory
  readonly #place: AgentQuestion
  /** How often the same was asked. */
  // @keyed none: digests of the questions of one answer; MAX_AGENT_CALLS
  readonly #asked = new Map<string, number>()
  /** Agents that wait for an approval, which the caller of this answer has not seen. */
  // @keyed none: names of agents; MAX_AGENT_CALLS
  readonly #waiting = new Set<string>()

  constructor (options: AgentCallsOptions) {
    this.#options = options
    this.#place = agentQuestionOf(options.call.extra ?? {})
    this.#memory = runMemoryOf(options.call.extra ?? {}) ?? ownMemory()
  }

  readonly listAgents: ListAgents = async () => {
    const { vac: own, call: { principal }, vacs } = this.#options
    return vacsFor(vacs, principal).list().filter(({ name }) => name !== own).map(vac => ({ name: vac.name, description: vacInfo(vac).description, remote: vac.remote !== undefined }))
  }

  readonly callAgent: CallAgent = async (name, content, { signal } = {}) => {
    const { run, vacs, call: { principal, log } } = this.#options
    const { question, files, data } = partsOf(content)
    const { hops, run: root, call: parent, chain } = this.#place
    if (hops >= MAX_HOPS) throw new AgentLoopError(JSON.stringify(String(name)), hops)
    if (chain.calls++ >= MAX_AGENT_CALLS) throw new AgentCallsError(MAX_AGENT_CALLS)
    if (this.#waiting.has(name)) throw new AgentApprovalError(JSON.stringify(name))
    const seen = vacsFor(vacs, principal, log)
    if (!seen.has(name)) throw new AgentNotFoundError(quoteName(String(name)), suggestion(String(name), seen.list().map(({ name }) => name), 'there are'))
    const id = this.#idOf(parent, name, content)
    const extra = withAgentQuestion({ ...files.length > 0 && { files }, ...data.length > 0 && { data } }, { hops: hops + 1, run: root, call: id, chain })
    return await run.callTool(undefined, name, { message: question, ...files.length + data.length > 0 && { parts: content } }, async () => {
      const answer = await seen.get(name).ask({
        question,
        extra: withRunMemory(extra, this.#memoryOf(id, this.#asking[name])),
        signal: signal === undefined ? run.signal : AbortSignal.any([signal, run.signal]),
        log,
        principal,
        protocol: 'code'
      })
      if (isRecord((answer as { readonly approval?: unknown }).approval)) this.#waiting.add(name)
      await this.#remember(name, askedBack(answer) === undefined ? undefined : id)
      return answer
    }, id)
  }

  /** The id of a question, of 16 characters. */
  #idOf (parent: string | undefined, name: string, content: unknown): string {
    const { question, history = [] } = this.#options.call
    const same = digestOf(parent ?? null, question, history.length, name, content)
    const count = this.#asked.get(same) ?? 0
    this.#asked.set(same, count + 1)
    return digestOf(same, count)
  }

  get #all (): Json { return recordOf(this.#memory.value) }

  /** Ids of questions to which agents have asked back, by their names. */
  get #asking (): Readonly<Record<string, string>> { return recordOf(this.#all[ASKING]) as Readonly<Record<string, string>> }

  async #remember (name: string, id: string | undefined): Promise<void> {
    if (this.#asking[name] === id) return
    const { [name]: _, ...others } = this.#asking
    await this.#memory.set({ ...this.#all, [ASKING]: id === undefined ? others : { ...others, [name]: id } })
  }

  /** What is remembered of one question, or of the one that it replies to. */
  #memoryOf (id: string, repliesTo: string | undefined): RunMemory {
    const calls = (): Json => recordOf(this.#all[CALLS])
    const memory = this.#memory
    const all = (): Json => this.#all
    return {
      get value () { return calls()[id] ?? (repliesTo === undefined ? undefined : calls()[repliesTo]) },
      async set (value) {
        const { [id]: _, ...others } = calls()
        await memory.set({ ...all(), [CALLS]: latest({ ...others, [id]: value }) })
      }
    }
  }
}

/** The latest entries that fit. */
function latest (calls: Json): Json {
  const entries = Object.entries(calls)
  let left = MAX_REMEMBERED_CHARS
  const from = entries.findLastIndex(([, value]) => (left -= JSON.stringify(value).length) < 0)
  return from === -1 ? calls : Object.fromEntries(entries.slice(Math.min(from + 1, entries.length - 1)))
}

/** The memory of an answer that nothing repeats. */
function ownMemory (): RunMemory {
  let value: unknown
  return { get value () { return value }, async set (next) { value = next } }
}

/** @throws TypeError without a text */
function partsOf (content: string | readonly AnswerPart[]): { readonly question: string, readonly files: readonly AnswerPart[], readonly data: readonly unknown[] } {
  const parts = typeof content === 'string' ? [{ text: content }] : content
  const question = Array.isArray(parts) ? parts.flatMap(({ text }: AnswerPart) => typeof text === 'string' ? [text] : []).join('\n').trim() : ''
  if (question === '') throw new TypeError('callAgent needs the question: a text, or parts of which one has `text`')
  return {
    question,
    files: parts.filter(({ bytes, url }: AnswerPart) => bytes !== undefined || url !== undefined),
    data: parts.flatMap(({ data }: AnswerPart) => data === undefined ? [] : [data])
  }
}

function recordOf (value: unknown): Json { return isRecord(value) ? value : {} }

function digestOf (...values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 16)
}
