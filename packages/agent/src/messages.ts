import type { ChatTurn } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { fitMessages } from '@polyvac/documents/parts'
import type { ModelMessage, UserContent } from 'ai'
import { DATA_RULE } from './marked-data.js'

/** Characters of a token, about. */
const CHARS_PER_TOKEN = 4

const CITE_RULE = 'Passages of documents and sources of agents are numbered. After every statement that rests on one cite its number in square brackets, like [1] or [2][3].'
const SEARCH_RULE = 'If the passages do not answer the question, search for others; if there are none, say so plainly and cite nothing.'
const TOOL_RULE = 'Use tools for facts and for actions. What only the user knows you ask with the tool ask_user.'

/** What the model is asked. */
export interface Asking {
  readonly instructions: string
  readonly history: readonly ChatTurn[]
  readonly historyTokens: number
  readonly question: string
  /** Numbered passages, marked as data; '' for none. */
  readonly passages: string
  readonly hasMemory: boolean
  /** Whether there are agents to ask. */
  readonly hasAgents: boolean
  readonly hasTools: boolean
  /** Files of the question, as protocols hand them on. */
  readonly files: readonly unknown[]
}

/** The instructions: the only text that is addressed to the model besides the question. */
export function instructionsOf ({ instructions, hasMemory, hasAgents, hasTools }: Asking): string {
  return [instructions.trim(), hasMemory || hasAgents ? CITE_RULE : '', hasMemory ? SEARCH_RULE : '', hasTools ? TOOL_RULE : '', hasMemory || hasTools ? DATA_RULE : '']
    .filter(text => text !== '').join('\n\n') || 'Answer briefly, in the language of the question.'
}

/** The conversation for the model, ending with the question. Passages stand with the question, never above it. */
export async function messagesFor (asking: Asking): Promise<{ readonly messages: ModelMessage[], readonly leftOut: number }> {
  const { history, historyTokens, question, passages, files } = asking
  const turns = history.filter(({ role }) => role !== 'system')
  const kept = latestTurns(turns, historyTokens * CHARS_PER_TOKEN)
  const asked = passages === '' ? question : `${passages}\n\n${question}`
  const messages: ModelMessage[] = await fitMessages([...kept, { role: 'user', content: asked }])
  const last = messages.at(-1)!
  const parts = files.flatMap(filePart)
  if (parts.length > 0 && last.role === 'user') last.content = [{ type: 'text', text: String(last.content) }, ...parts]
  return { messages, leftOut: turns.length - kept.length }
}

/** The latest turns with so many characters; they begin with a question. */
function latestTurns (turns: readonly ChatTurn[], chars: number): readonly ChatTurn[] {
  let left = chars
  let from = turns.length
  for (let i = turns.length - 1; i >= 0; i--) {
    left -= turns[i]!.content.length
    if (left < 0) break
    if (turns[i]!.role === 'user') from = i
  }
  return turns.slice(from)
}

type Part = Exclude<UserContent, string>[number]

/** A file as a part of a message; none for one without content or address. */
function filePart (file: unknown): Part[] {
  if (!isRecord(file)) return []
  const { bytes, url, media_type: type = 'application/octet-stream', filename } = file
  const data = typeof bytes === 'string' ? bytes : typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (data === undefined || typeof type !== 'string') return []
  if (type.startsWith('image/')) return [{ type: 'image', image: data, mediaType: type }]
  return [{ type: 'file', data, mediaType: type, ...typeof filename === 'string' && { filename } }]
}
