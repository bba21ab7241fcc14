import { InvalidRequestError, isRecord, type RequestProblem } from '@polyvac/core/protocol'
import { numberProblem } from '../../openai/numbers.js'
import { isFreeChoice } from '../../openai/tool-calls.js'
import type { ResponseRequest } from './schemas.js'

const CHOICE = 'the interpreter of this VAC cannot be made to call a tool; leave it out, or send "auto" or "none"'
const FORMAT = 'the interpreter of this VAC does not take a schema; leave it out, or send { "type": "text" }'
const PROMPT = 'this service stores no prompts; send the text as `instructions`'

/**
 * Checks the parameters of a request: numbers out of range are refused, and so is what must change the answer and that
 * the interpreter does not take. Other parameters, which clients add each month, have no effect.
 * @param takes what the interpreter takes
 * @throws BAD_REQUEST, naming each parameter
 */
export function checkParameters (body: ResponseRequest, takes: readonly string[]): void {
  const problems: RequestProblem[] = []
  const refuse = (path: string, message: string): void => { problems.push({ path: `body/${path}`, message }) }
  const given = body as Readonly<Record<string, unknown>>
  for (const [name, value] of Object.entries(given)) {
    const problem = value === null || value === undefined ? undefined : numberProblem(name, value)
    if (problem !== undefined) refuse(name, problem)
  }
  const format: unknown = body.text?.format
  if (!takes.includes('json_schema') && isRecord(format) && format.type !== 'text' && format.type !== undefined) refuse('text/format', FORMAT)
  if (!takes.includes('tools') && !isFreeChoice(body.tool_choice)) refuse('tool_choice', CHOICE)
  if (given.prompt !== undefined && given.prompt !== null) refuse('prompt', PROMPT)
  if (body.conversation != null && body.previous_response_id != null) refuse('conversation', 'is ambiguous next to previous_response_id; leave one of them out')
  if (body.background === true && body.store === false) refuse('store', 'must not be false for a response in the background, which is read later')
  if (problems.length > 0) throw new InvalidRequestError(problems)
}

/** The parameters of a request that its response repeats. */
export type Echo = Readonly<Record<string, unknown>>

/** The parameters of which the response has what was sent, with the value that stands for none. */
const ECHOED: Echo = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  safety_identifier: null,
  prompt_cache_key: null,
  user: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: 'disabled',
  service_tier: 'default'
}

/** What a response repeats of its request. @param takesTools whether the interpreter takes tools */
export function echoOf (body: Readonly<Record<string, unknown>>, takesTools: boolean): Echo {
  const sent = Object.entries(ECHOED).flatMap(([name, none]) => {
    const value = body[name]
    return value === null || value === undefined || typeof value !== typeof (none ?? value) ? [] : [[name, value] as const]
  })
  const { reasoning, tool_choice: choice, text } = body
  return {
    ...Object.fromEntries(sent),
    ...isRecord(reasoning) && { reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null } },
    ...takesTools && { tools: toolsOf(body.tools), ...choice !== null && choice !== undefined && { tool_choice: choice } },
    ...isRecord(text) && isRecord(text.format) && { text: { format: text.format } }
  }
}

/** All parameters of a response whose request has none. */
export const NONE_SENT: Echo = { ...ECHOED, reasoning: null, tools: [], tool_choice: 'auto', text: { format: { type: 'text' } } }

/** The functions among the tools of a request, with all keys that readers of responses require. */
function toolsOf (tools: unknown): object[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => isRecord(tool) && tool.type === 'function'
    ? [{ type: 'function', name: tool.name, description: tool.description ?? null, parameters: tool.parameters ?? null, strict: tool.strict ?? null }]
    : [])
}
