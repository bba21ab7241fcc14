import type { Memory } from '@polyvac/core'
import { integer, milliseconds, optional, readOptions, withMethod, type OptionRules } from '@polyvac/core/plugin'
import { PORT } from '@polyvac/documents/parts'
import { AgentOptionError } from './errors.js'

export interface AgentOptions {
  /** What the agent is and how it answers. Default: the text `instructions` of the VAC's entry. */
  readonly instructions?: string | undefined
  /** Documents: passages come with the question, and the model can search for more. Default: those of the VAC. */
  readonly memory?: Memory | undefined
  /** Passages for a question. Default 6. */
  readonly k?: number | undefined
  /** Calls of the model for one answer; the last one has no tools. Default: `max_steps` of the VAC's entry, then 8. */
  readonly maxSteps?: number | undefined
  /**
   * Tools that the model has in its list; more are behind `search_tools` and `call_tool`. Default: `tool_search` of the
   * VAC's entry, then 40.
   */
  readonly toolSearch?: number | undefined
  /** Tokens that the model writes in one step. Default: `max_tokens` of the VAC's entry, then what its server takes. */
  readonly maxTokens?: number | undefined
  /** Tokens of earlier turns, about: the latest whole turns are kept. Default 8,000. */
  readonly historyTokens?: number | undefined
  /** Longest silence of the model in ms, without the time of tools. Default 60,000: local models take long to load. */
  readonly timeoutMs?: number | undefined
  /** Retries of each step before its first token. Default 2. */
  readonly retries?: number | undefined
  /** The port of this service, which `model: auto` skips. Default: the environment's PORT. */
  readonly ownPort?: number | (() => number | undefined) | undefined
}

const OPTIONS = {
  instructions: optional('a text', value => typeof value === 'string'),
  memory: optional('a memory, such as what openFolder() returns', withMethod('search', 'a memory').accepts),
  k: integer(6, { max: 100 }),
  maxSteps: integer(undefined, { max: 100 }),
  toolSearch: integer(undefined, { min: 1 }),
  maxTokens: integer(undefined, { min: 1 }),
  historyTokens: integer(8_000, { min: 0 }),
  timeoutMs: milliseconds(60_000),
  retries: integer(2, { min: 0, max: 100 }),
  ownPort: PORT
} satisfies OptionRules<AgentOptions>

/** @throws AGENT_INVALID_OPTION */
export function readAgentOptions (options: AgentOptions) {
  return readOptions(OPTIONS, options, AgentOptionError, 'agentInterpreter')
}
