import type { ChatTurn } from '@polyvac/core'
import type { ServerRequest } from '@polyvac/mcp-protocol'
import type { CallContext } from '../tool-source.js'

/** Longest exchange, as JSON in characters, that a caller is given to hold while it thinks. */
export const MAX_DIALOGUE_CHARS = 8_000

/** What the VAC and its caller said to one another in the runs of this call before; ends with a question. */
export function saidBefore ({ state }: CallContext): ChatTurn[] {
  return state === undefined ? [] : JSON.parse(state) as ChatTurn[]
}

/** Whether the caller can be asked the question that an exchange ends with. */
export function canReply (turns: readonly ChatTurn[], { capabilities: { elicitation } }: CallContext): boolean {
  // an empty object means forms
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined) && JSON.stringify(turns).length <= MAX_DIALOGUE_CHARS
}

/** The caller's reply to the question that an exchange ends with; undefined where it gives none. */
export async function replyOf (turns: readonly ChatTurn[], context: CallContext): Promise<string | undefined> {
  const key = `reply-${turns.length / 2}`
  const { [key]: answer } = await context.ask({ [key]: questionOf(turns) }, JSON.stringify(turns))
  const { reply } = (answer?.action === 'accept' ? answer.content ?? {} : {}) as { reply?: unknown }
  return typeof reply === 'string' && reply.trim() !== '' ? reply.trim() : undefined
}

function questionOf (turns: readonly ChatTurn[]): ServerRequest {
  return {
    method: 'elicitation/create',
    params: {
      message: turns.at(-1)?.content ?? '',
      requestedSchema: { type: 'object', properties: { reply: { type: 'string', title: 'Reply', minLength: 1 } }, required: ['reply'] }
    }
  }
}
