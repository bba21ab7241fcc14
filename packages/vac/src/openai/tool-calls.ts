import { randomUUID } from 'node:crypto'
import type { Answer } from '@polyvac/core'
import { isRecord, VacInvalidResultError } from '@polyvac/core/protocol'

/** A call of a tool of the caller. */
export interface CalledTool {
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
}

/** Choices of a tool that leave it to the interpreter, so that one without tools may answer with text. */
export function isFreeChoice (choice: unknown): boolean {
  if (choice === undefined || choice === null || isNone(choice) || choice === 'auto') return true
  // clients of several model APIs also send the form of Anthropic
  if (isRecord(choice) && choice.type === 'auto') return true
  return isRecord(choice) && choice.type === 'allowed_tools' && isRecord(choice.allowed_tools) && choice.allowed_tools.mode === 'auto'
}

/** Whether a choice of a tool forbids all, as a name or in the form of Anthropic. */
function isNone (choice: unknown): boolean {
  return choice === 'none' || (isRecord(choice) && choice.type === 'none')
}

/** Whether an answer may call tools: the request has some and does not forbid them, and the interpreter takes them. */
export function mayCallTools ({ tools, tool_choice: choice }: Readonly<Record<string, unknown>>, takes: readonly string[]): boolean {
  return takes.includes('tools') && Array.isArray(tools) && tools.length > 0 && !isNone(choice)
}

/**
 * The calls of tools that end an answer, `{ id, name, input }`, in the form of OpenAI, which is also taken: an
 * interpreter may pass on those of a model.
 * @param newId makes the id of a call without one
 * @throws VAC_INVALID_RESULT for a call without a name
 */
export function toolCallsOf (answer: Answer, vac: string, newId: (index: number) => string = () => `call_${randomUUID()}`): CalledTool[] {
  const { tool_calls: calls } = answer
  if (!Array.isArray(calls)) return []
  return calls.map((call: unknown, i) => {
    const { id, function: named, name, input, arguments: written } = (isRecord(call) ? call : {}) as Readonly<Record<string, unknown>>
    const form = isRecord(named) ? named : { name, arguments: input ?? written }
    if (typeof form.name !== 'string' || form.name === '') {
      throw new VacInvalidResultError(JSON.stringify(vac), `tool_calls[${i}] without a string \`name\``)
    }
    const given = form.arguments ?? {}
    return {
      id: typeof id === 'string' && id !== '' ? id : newId(i),
      name: form.name,
      arguments: typeof given === 'string' ? given : JSON.stringify(given)
    }
  })
}
