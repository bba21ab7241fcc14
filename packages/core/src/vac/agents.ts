import type { AnswerPart } from './schemas.js'
import type { ToolCallOptions } from './tools.js'
import type { Answer } from './vac.js'
import { isRecord } from '../basics/is-record.js'
import { runTurnOf } from './run-memory.js'

/** A VAC of this service, or an agent of another one, that an interpreter may ask. */
export interface ListedAgent {
  readonly name: string
  /** For people and models. */
  readonly description: string
  /** Whether it is an agent of another service. */
  readonly remote: boolean
}

/**
 * Asks another agent for the caller of the interpreter, as a step of the answer. Resolves to the same Answer that its
 * callers get: `{ answer, source_documents, metadata? }` and its further keys. An agent that asks back resolves too,
 * with `input_required` or `auth_required`: return that to relay the question, and the next question to the agent in
 * the same run is the reply.
 * @param content the question, or parts, of which at least one has `text`; files and data reach the agent as
 *   `extra.files` and `extra.data`
 * @param options.signal default: `extra.signal`
 * @throws AGENT_NOT_FOUND, which names the agents that the caller may use; AGENT_LOOP; AGENT_CALLS; and what fails the
 *   answer of the agent
 * @example const { answer, source_documents } = await callAgent('weather', 'Will it rain in Bern?', { signal })
 */
export type CallAgent = (name: string, content: string | readonly AnswerPart[], options?: ToolCallOptions) => Promise<Answer>

/** Lists the agents that the caller may use, without the VAC itself. */
export type ListAgents = () => Promise<readonly ListedAgent[]>

/** How an interpreter reaches other agents. */
export interface AgentAccess {
  readonly callAgent: CallAgent
  readonly listAgents: ListAgents
}

/** Agents that a question may pass, one after the other. */
export const MAX_HOPS = 8
/** The key of their number in the metadata of a message of A2A. */
export const HOPS = 'polyvac/hops'

/** The question of an agent in a chain of agents. */
export interface AgentQuestion {
  /** The agents that it has passed. */
  readonly hops: number
  /** The id of the run at the beginning of the chain; undefined for an answer that nothing repeats. */
  readonly run: string | undefined
  /** The id of the call in that run: another attempt at it has the same. Undefined at the beginning of the chain. */
  readonly call: string | undefined
  /** What all questions of the chain in this process share: how many there were. */
  readonly chain: { calls: number }
}

// a symbol: callers cannot send it, and threads of interpreters do not get it
const QUESTION = Symbol('agent question')

/** Adds the place in a chain to the fields of a call. */
export function withAgentQuestion<T extends object> (extra: T, question: AgentQuestion): T {
  return Object.assign(extra, { [QUESTION]: question })
}

/**
 * The place in a chain of what an interpreter, or the caller of one, got as `extra`. The run is the one that answers:
 * callers send fields such as `runId` and `taskId`, too, and callers without a name could choose those of another one.
 */
export function agentQuestionOf (extra: Readonly<Record<string, unknown>>): AgentQuestion {
  const { [QUESTION]: own } = extra as { readonly [QUESTION]?: AgentQuestion }
  if (own !== undefined) return own
  const { message } = extra
  const hops = isRecord(message) && isRecord(message.metadata) ? message.metadata[HOPS] : 0
  return { hops: typeof hops === 'number' && hops > 0 ? hops : 0, run: runTurnOf(extra)?.id, call: undefined, chain: { calls: 0 } }
}
