import { InvalidHistoryError } from '../basics/errors.js'
import type { ChatTurn } from './vac.js'

const ROLES: Readonly<Record<string, ChatTurn['role']>> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  bot: 'assistant',
  agent: 'assistant',
  model: 'assistant',
  tool: 'assistant',
  function: 'assistant',
  system: 'system',
  developer: 'system'
}

/** Whether the history of a request comes after stored turns, instead of standing for them. */
export function followsStored ({ previous, sendsAll }: { readonly previous?: unknown, readonly sendsAll?: boolean | undefined }): boolean {
  return previous !== undefined || sendsAll === false
}

/**
 * The history of a question: system messages, which are not stored, the stored turns, and what is sent after them.
 * @param appends whether the other messages come after the stored turns; otherwise the turns stand for them
 */
export function withStored (sent: readonly ChatTurn[], stored: readonly ChatTurn[], appends: boolean): readonly ChatTurn[] {
  return [...sent.filter(({ role }) => role === 'system'), ...stored, ...appends ? sent.filter(({ role }) => role !== 'system') : []]
}

/** Whether `normaliseHistory` accepts the name of a role. */
export function isRole (name: string): boolean {
  return Object.hasOwn(ROLES, name.toLowerCase())
}

/**
 * Converts a chat history in any accepted format to the one that interpreters get. It keeps every turn and the order.
 * Formats: `{role, content}`, `{name: Human|AI, content|text}`, `{human}` / `{ai}` (one or both in an entry),
 * `[human, ai]` pairs, `{sender: {type}, text}`, `{user|bot_id, text}`. They may be mixed.
 * @throws INVALID_HISTORY naming the entry that has none of the formats
 */
export function normaliseHistory (history: unknown): ChatTurn[] {
  if (history === undefined || history === null) return []
  if (!Array.isArray(history)) throw new InvalidHistoryError('chat_history must be an array')
  return history.flatMap((entry: unknown, index) => {
    const turns = turnsOf(entry)
    if (turns === undefined) throw new InvalidHistoryError(`chat_history[${index}] is not a turn`)
    return turns
  })
}

function turnsOf (entry: unknown): ChatTurn[] | undefined {
  if (Array.isArray(entry)) return pair(entry[0], entry[1], entry.length <= 2)
  if (typeof entry !== 'object' || entry === null) return undefined
  const turn = entry as Record<string, unknown>
  if (typeof turn.role === 'string') return one(turn.role, turn.content ?? turn.text ?? turn.parts ?? '')
  if (typeof turn.name === 'string') return one(turn.name, turn.content ?? turn.text)
  if ('human' in turn || 'ai' in turn) return pair(turn.human, turn.ai, true)
  const sender = turn.sender as { type?: unknown } | null | undefined
  if (typeof sender?.type === 'string') return one(sender.type, turn.text)
  if ('bot_id' in turn) return one('ai', turn.text)
  if ('user' in turn) return one('user', turn.text)
  return undefined
}

function one (name: string, value: unknown): ChatTurn[] | undefined {
  const key = name.toLowerCase()
  const role = isRole(key) ? ROLES[key] : undefined
  const content = contentText(value)
  return role === undefined || content === undefined ? undefined : [{ role, content }]
}

function pair (human: unknown, ai: unknown, fits: boolean): ChatTurn[] | undefined {
  if (!fits) return undefined
  const turns: ChatTurn[] = []
  for (const [role, value] of [['user', human], ['assistant', ai]] as const) {
    if (value === undefined || value === null) continue
    const content = contentText(value)
    if (content === undefined) return undefined
    turns.push({ role, content })
  }
  return turns.length === 0 ? undefined : turns
}

/** The text of a message's content: a string, or the text parts of a list of parts; undefined for anything else. */
export function contentText (content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (content === null) return ''
  if (!Array.isArray(content)) return undefined
  return content.map((part: unknown) => typeof part === 'string' ? part : textPart(part)).join('')
}

function textPart (part: unknown): string {
  const text = typeof part === 'object' && part !== null ? (part as { text?: unknown }).text : undefined
  return typeof text === 'string' ? text : ''
}
