import { isRecord } from '@polyvac/core/plugin'
import type { ChatTurn } from '@polyvac/core'
import type { RemotePart } from '../protocol/types.js'

/** Characters of earlier turns that the first message of a context carries; older ones are left out. */
export const MAX_HISTORY_CHARS = 32_000
const JSON_TYPE = /^(?:application\/(?:json|\*)|\*\/\*)$/

/** The parts of a message: the question, then files and data of the caller. */
export function partsOf (question: string, files: unknown, data: unknown): RemotePart[] {
  return [
    { kind: 'text', text: question },
    ...list(files).flatMap(fileOf),
    ...list(data).map(data => ({ kind: 'data' as const, data }))
  ]
}

/**
 * Earlier turns for an agent that does not have them, as one part of data after the question: an agent would take them
 * for part of it as text. None for an agent that takes no data.
 */
export function historyPart (history: readonly ChatTurn[], inputModes: readonly string[]): RemotePart[] {
  if (history.length === 0 || !inputModes.some(mode => JSON_TYPE.test(mode))) return []
  let chars = 0
  const from = history.findLastIndex(({ content }) => (chars += content.length) > MAX_HISTORY_CHARS)
  const turns = history.slice(from + 1)
  return turns.length === 0 ? [] : [{ kind: 'data', data: { chat_history: turns } }]
}

function list (value: unknown): unknown[] { return Array.isArray(value) ? value : [] }

/** A file of the caller, as protocols give it to interpreters. */
function fileOf (file: unknown): RemotePart[] {
  if (!isRecord(file)) return []
  const text = (value: unknown): string | undefined => typeof value === 'string' && value !== '' ? value : undefined
  const [bytes, url] = [text(file.bytes), text(file.url)]
  return bytes === undefined && url === undefined ? [] : [{ kind: 'file', bytes, url, filename: text(file.filename), mediaType: text(file.media_type) }]
}
