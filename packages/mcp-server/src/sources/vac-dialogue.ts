import type { ChatTurn } from '@polyvac/core'
import { missingCapabilities, type ServerRequest } from '@polyvac/mcp-protocol'
import type { CallContext } from '../tool-source.js'

/** Longest exchange, as JSON in characters, that a caller holds until it replies. */
export const MAX_DIALOGUE_CHARS = 8_000

/** The turns of the VAC and its caller in earlier runs of this call, with a question at the end. */
export function readTurns ({ state }: CallContext): ChatTurn[] {
  return state === undefined ? [] : JSON.parse(state) as ChatTurn[]
}

/** Whether the caller can be asked the question at the end of an exchange. */
export function canReply (turns: readonly ChatTurn[], { capabilities }: CallContext): boolean {
  const isShort = JSON.stringify(turns).length <= MAX_DIALOGUE_CHARS
  return isShort && missingCapabilities(questionOf(turns), capabilities) === undefined
}

/** The caller's reply to the question at the end of an exchange; undefined if it declines. */
export async function askForReply (turns: readonly ChatTurn[], context: CallContext): Promise<string | undefined> {
  const key = `reply-${turns.length / 2}`
  const { [key]: answer } = await context.ask({ [key]: questionOf(turns) }, JSON.stringify(turns))
  const { reply } = (answer?.action === 'accept' ? answer.content ?? {} : {}) as { reply?: unknown }
  return typeof reply === 'string' && reply.trim() !== '' ? reply.trim() : undefined
}

function questionOf (turns: readonly ChatTurn[]): ServerRequest {
  const properties = { reply: { type: 'string', title: 'Reply', minLength: 1 } }
  const requestedSchema = { type: 'object', properties, required: ['reply'] }
  return { method: 'elicitation/create', params: { message: turns.at(-1)?.content ?? '', requestedSchema } }
}
