import type { Answer, ChatTurn } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { missingCapabilities, type ServerRequest } from '@polyvac/mcp-protocol'
import type { CallContext } from '../tool-source.js'

/** Longest exchange, as JSON in characters, that a caller holds until it replies. */
export const MAX_DIALOGUE_CHARS = 8_000

/** A turn of the VAC and its caller. */
export interface DialogueTurn extends ChatTurn {
  /** What the question is, if it is to be answered by yes or no. */
  readonly asks?: 'approval' | 'boolean' | undefined
}

/** The turns of the VAC and its caller in earlier runs of this call, with a question at the end. */
export function readTurns ({ state }: CallContext): DialogueTurn[] {
  return state === undefined ? [] : JSON.parse(state) as DialogueTurn[]
}

/** The question of an answer as a turn. */
export function questionTurn (content: string, { approval, input_schema: schema }: Answer): DialogueTurn {
  const asks = isRecord(approval) ? 'approval' : isRecord(schema) && schema.type === 'boolean' ? 'boolean' : undefined
  return { role: 'assistant', content, ...asks !== undefined && { asks } }
}

/** The turns as a history. */
export function historyOf (turns: readonly DialogueTurn[]): ChatTurn[] {
  return turns.map(({ role, content }) => ({ role, content }))
}

/** Whether the caller can be asked the question at the end of an exchange. */
export function canReply (turns: readonly DialogueTurn[], { capabilities }: CallContext): boolean {
  const isShort = JSON.stringify(turns).length <= MAX_DIALOGUE_CHARS
  return isShort && missingCapabilities(questionOf(turns), capabilities) === undefined
}

/**
 * The caller's reply to the question at the end of an exchange; undefined if it gives none. Who declines an approval
 * has answered no.
 */
export async function askForReply (turns: readonly DialogueTurn[], context: CallContext): Promise<string | undefined> {
  const key = `reply-${turns.length / 2}`
  const { [key]: answer } = await context.ask({ [key]: questionOf(turns) }, JSON.stringify(turns))
  if (answer?.action === 'decline' && turns.at(-1)?.asks === 'approval') return 'no'
  const { reply } = (answer?.action === 'accept' ? answer.content ?? {} : {}) as { reply?: unknown }
  if (typeof reply === 'boolean') return reply ? 'yes' : 'no'
  return typeof reply === 'string' && reply.trim() !== '' ? reply.trim() : undefined
}

function questionOf (turns: readonly DialogueTurn[]): ServerRequest {
  const { content: message = '', asks } = turns.at(-1) ?? {}
  const reply = asks === undefined ? { type: 'string', title: 'Reply', minLength: 1 } : { type: 'boolean', title: asks === 'approval' ? 'Approve' : 'Yes' }
  return { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: { reply }, required: ['reply'] } } }
}
