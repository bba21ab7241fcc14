import type { ConversationTurn } from '@polyvac/core'
import { AnswerEvents, type AgUiEvent, type AnswerHead } from './events.js'
import type { Input } from './input.js'

/** A message of a thread. */
export interface Message {
  id: string
  role: string
  content?: unknown
  toolCalls?: Array<{ id: string, type: 'function', function: { name: string, arguments: string } }>
  toolCallId?: string
  metadata?: unknown
}

/** Does with the messages what clients do at an event. Activities are not messages of the thread. */
export function applyEvent (messages: Message[], event: AgUiEvent): void {
  const { type, messageId, toolCallId, delta } = event as { type: string, messageId: string, toolCallId: string, delta: string }
  const named = (id = messageId): Message | undefined => messages.findLast(message => message.id === id)
  if (type === 'TEXT_MESSAGE_START') messages.push({ id: messageId, role: 'assistant', content: '' })
  if (type === 'REASONING_MESSAGE_START') messages.push({ id: messageId, role: 'reasoning', content: '' })
  if (type === 'TEXT_MESSAGE_CONTENT' || type === 'REASONING_MESSAGE_CONTENT') named()!.content += delta
  if (type === 'TEXT_MESSAGE_END' && event.metadata !== undefined) named()!.metadata = event.metadata
  if (type === 'TOOL_CALL_START') {
    const call = { id: toolCallId, type: 'function', function: { name: event.toolCallName as string, arguments: '' } } as const
    messages.push({ id: toolCallId, role: 'assistant', toolCalls: [call] })
  }
  if (type === 'TOOL_CALL_ARGS') named(toolCallId)!.toolCalls![0]!.function.arguments += delta
  if (type === 'TOOL_CALL_RESULT') messages.push({ id: messageId, role: 'tool', toolCallId, content: event.content, metadata: event.metadata })
}

/** The id of the message of the user of a turn, where that of its client is not known. */
export function questionId (turn: string): string { return `${turn}:user` }

/** The messages of a stored turn, with the ids that they had when they came. */
export function turnMessages (turn: ConversationTurn, head: Omit<AnswerHead, 'id'>): Message[] {
  const messages: Message[] = turn.question === '' ? [] : [{ id: questionId(turn.id), role: 'user', content: turn.question }]
  const events = new AnswerEvents({ ...head, callsTools: false, questions: 'text', id: turn.id })
  const answer = turn.answer === undefined ? [] : [{ answer: turn.answer, source_documents: [...turn.sourceDocuments] }]
  for (const item of [...turn.steps, ...answer]) for (const event of events.add(item)) applyEvent(messages, event)
  return messages
}

/**
 * The events that give a client the messages of a thread. Clients keep the messages that they have before those that
 * they do not have: where that would change the order, they first lose all.
 */
export function snapshotEvents (messages: readonly Message[], { messages: sent }: Pick<Input, 'messages'>): AgUiEvent[] {
  const all = withClientIds(messages, sent)
  const ids = new Set(all.map(({ id }) => id))
  const kept = sent.flatMap(({ id }) => typeof id === 'string' && ids.has(id) ? [id] : [])
  const snapshot = (messages: readonly Message[]): AgUiEvent => ({ type: 'MESSAGES_SNAPSHOT', messages })
  return kept.every((id, i) => all[i]?.id === id) ? [snapshot(all)] : [snapshot([]), snapshot(all)]
}

/** The messages of the user with the ids of the client, as long as both are the same from the beginning. */
function withClientIds (messages: readonly Message[], sent: Input['messages']): readonly Message[] {
  const own = sent.filter(({ role }) => role === 'user')
  let n = 0
  return messages.map(message => {
    const { id, content } = own[n] ?? {}
    if (message.role !== 'user' || content !== message.content || typeof id !== 'string') return message
    n++
    return { ...message, id }
  })
}

/** The messages in the format of TanStack AI: those with text. */
export function toUiMessages (messages: readonly Message[]): object[] {
  return messages.flatMap(({ id, role, content, metadata }) => (role === 'user' || role === 'assistant') && typeof content === 'string'
    ? [{ id, role, parts: [{ type: 'text', content }], ...metadata !== undefined && { metadata } }]
    : [])
}
