import { isRecord } from '@polyvac/core/plugin'
import type { Hit } from '@polyvac/core'
import type { ModelMessage } from 'ai'

/** A call of the model that waits for an approval. */
export interface AwaitedCall { readonly id: string, readonly name: string, readonly input: Readonly<Record<string, unknown>> }

/** What an answer continues from once a call was approved or declined: plain JSON. */
export interface AgentState {
  /** The conversation with all steps until now. */
  readonly messages: readonly ModelMessage[]
  readonly calls: readonly AwaitedCall[]
  /** The passages in the order of their numbers. */
  readonly hits: readonly Hit[]
}

/** The result of a call that waits: no model reads it. */
export const AWAITED = 'This call waits for an approval.'

/** Whether a tool was not called, since its call waits for an approval. */
export function isAwaited (err: unknown): boolean { return (err as { code?: unknown } | null)?.code === 'APPROVAL_REQUIRED' }

export function isAgentState (state: unknown): state is AgentState {
  return isRecord(state) && Array.isArray(state.messages) && Array.isArray(state.calls) && Array.isArray(state.hits)
}

/** The conversation with the results of calls that waited. @param results texts by the ids of calls */
export function withResults (messages: readonly ModelMessage[], results: ReadonlyMap<string, string>): ModelMessage[] {
  return messages.map(message => {
    if (message.role !== 'tool') return message
    const content = message.content.map(part => {
      const value = part.type === 'tool-result' ? results.get(part.toolCallId) : undefined
      return value === undefined || part.type !== 'tool-result' ? part : { ...part, output: { type: 'text' as const, value } }
    })
    return { ...message, content }
  })
}
