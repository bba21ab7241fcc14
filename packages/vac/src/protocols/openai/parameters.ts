import { InvalidRequestError, isRecord, type RequestProblem } from '@polyvac/core/protocol'
import type { ChatCompletionRequest } from './schemas.js'
import { numberProblem } from '../../openai/numbers.js'
import { isFreeChoice } from '../../openai/tool-calls.js'

/**
 * Parameters that change the answer, with the values that do not: an interpreter has to take any other value. `tools`
 * are an offer, which one that does not take them leaves unused.
 */
const CAPABILITIES: Readonly<Record<string, (value: unknown) => boolean>> = {
  tool_choice: isFreeChoice,
  function_call: isFreeChoice,
  response_format: value => isRecord(value) && value.type === 'text',
  stop: isEmpty,
  logprobs: value => value === false,
  top_logprobs: value => value === 0,
  modalities: value => Array.isArray(value) && value.every(kind => kind === 'text'),
  audio: () => false,
  web_search_options: () => false
}

/** What an interpreter names in `takes` for a parameter, besides the name of the parameter. */
const NEUTRAL: Readonly<Record<string, string>> = { response_format: 'json_schema' }

const CHOICE = 'the interpreter of this VAC cannot be made to call a tool; leave it out, or send "auto" or "none"'
const REMEDIES: Readonly<Record<string, string>> = { tool_choice: CHOICE, function_call: CHOICE }

/** What an interpreter has to take for a part of a message that is not text, by the type of the part. */
const PARTS: Readonly<Record<string, string>> = { image_url: 'images', input_audio: 'audio', file: 'files' }

/**
 * Checks the parameters of a chat completion: what would be ignored is refused, and so are numbers out of range.
 * @param takes what the interpreter takes, `Interpreter.takes`
 * @throws BAD_REQUEST, naming each parameter
 */
export function checkParameters (body: ChatCompletionRequest, takes: readonly string[]): void {
  const problems: RequestProblem[] = []
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue
    const problem = numberProblem(name, value)
    if (problem !== undefined) problems.push({ path: `body/${name}`, message: problem })
    else if (Object.hasOwn(CAPABILITIES, name) && CAPABILITIES[name]?.(value) === false && !takes.includes(name) && !takes.includes(NEUTRAL[name] ?? name)) {
      problems.push({ path: `body/${name}`, message: REMEDIES[name] ?? 'the interpreter of this VAC does not take it; leave it out' })
    }
  }
  const part = untakenPart(body.messages, takes)
  if (part !== undefined) problems.push(part)
  if (problems.length > 0) throw new InvalidRequestError(problems)
}

/** The first part of a message that is not text and that the interpreter does not take. */
function untakenPart (messages: ChatCompletionRequest['messages'], takes: readonly string[]): RequestProblem | undefined {
  for (const [i, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [j, part] of content.entries()) {
      const type = typeof part === 'string' ? 'text' : String(part.type)
      const kind = Object.hasOwn(PARTS, type) ? PARTS[type] as string : undefined
      if (kind === undefined || takes.includes(kind)) continue
      const message = `the interpreter of this VAC does not take ${kind} (${type}); send text`
      return { path: `body/messages/${i}/content/${j}`, message }
    }
  }
  return undefined
}

function isEmpty (value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
