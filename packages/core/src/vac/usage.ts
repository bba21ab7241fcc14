import { Type, type Static } from '@sinclair/typebox'
import { isRecord } from '../basics/is-record.js'

const Count = Type.Integer({ minimum: 0 })

/** The tokens of a language model, with the names of the OpenAI API. */
export const TokenUsage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  cost: Type.Optional(Type.Number({ minimum: 0, description: 'what the server of the model reports that it cost, in the unit of that server, such as US dollars' }))
}, { title: 'TokenUsage' })
export type TokenUsage = Static<typeof TokenUsage>

/** Names of the counts: of the OpenAI chat API, of its responses API and Anthropic, of the AI SDK old and new. */
const PROMPT = ['prompt_tokens', 'input_tokens', 'promptTokens', 'inputTokens'] as const
const COMPLETION = ['completion_tokens', 'output_tokens', 'completionTokens', 'outputTokens'] as const

/** The usage that an interpreter reports in `metadata.usage`; undefined without one, and for any other shape. */
export function usageOf ({ metadata, usage }: Readonly<Record<string, unknown>>): TokenUsage | undefined {
  return readUsage(isRecord(metadata) && metadata.usage !== undefined ? metadata.usage : usage)
}

/** Token counts with any of the usual names as one shape. A wrong shape gives undefined: it must not fail an answer. */
export function readUsage (value: unknown): TokenUsage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = countOf(value, PROMPT)
  const completion = countOf(value, COMPLETION)
  if (prompt === undefined || completion === undefined) return undefined
  const cost = costOf(value)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...cost !== undefined && { cost } }
}

/** The cost that a server reports with its counts; undefined without one. */
export function costOf (usage: unknown): number | undefined {
  const cost = isRecord(usage) ? usage.cost : undefined
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? cost : undefined
}

function countOf (value: Readonly<Record<string, unknown>>, names: readonly string[]): number | undefined {
  const name = names.find(name => Number.isSafeInteger(value[name]) && (value[name] as number) >= 0)
  return name === undefined ? undefined : value[name] as number
}
