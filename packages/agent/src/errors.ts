import { createError } from '@polyvac/core/plugin'

export const AgentOptionError = createError<[string]>('AGENT_INVALID_OPTION', '%s', 500)
/** Neither a model nor a memory. Argument: why there is no model. */
export const NothingToAnswerWithError = createError<[string]>('AGENT_NOTHING_TO_ANSWER_WITH',
  'the agent has no language model: %s; set `openai: { base_url, model }` in the VAC or OPENAI_BASE_URL in the environment, or give the VAC a `memory` to answer from', 502)
/** The tools cannot be offered together. Argument: why, and the remedy. */
export const ToolsError = createError<[string]>('AGENT_TOOLS', 'the tools of the agent: %s', 500)
/** Argument: the number of steps. */
export const NoAnswerError = createError<[string]>('AGENT_NO_ANSWER',
  'the model called tools in each of its %s steps and wrote no answer; raise `max_steps`, or ask for less at once', 502, { expose: true })
