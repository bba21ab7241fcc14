import { isRecord } from '@polyvac/core/plugin'
import type { RpcMessage } from '../../protocol/json-rpc.js'
import { parseJson } from '../../protocol/read-message.js'

/** Longest line in characters that is repaired: one pass over it blocks the event loop for about a millisecond. */
const MAX_REPAIRED_CHARS = 256 * 1024
/** Messages that one line may hold. */
const MAX_MESSAGES = 100

/** A mark at the beginning of a line, or what is left of a line in UTF-16. */
// eslint-disable-next-line no-control-regex
const MARKS = /^[\ufeff\u0000]+/

/** The text of a line without marks that are not part of a message. */
export function withoutMarks (line: string): string {
  const first = line.charCodeAt(0)
  return first === 0xfeff || first === 0 ? line.replace(MARKS, '') : line
}

/** The messages of a line that is not one: after other text, several in a row, or without `jsonrpc`. */
export function repaired (line: string): RpcMessage[] {
  if (line.length > MAX_REPAIRED_CHARS) return []
  const start = line.indexOf('{"')
  const found: unknown[] = []
  for (let at = start; at !== -1 && found.length < MAX_MESSAGES;) {
    const end = endOfObject(line, at)
    if (end === -1) return []
    found.push(parseJson(line.slice(at, end)))
    if (line.slice(end).trim() === '') return found.every(isMessageLike) ? found.map(message => ({ ...message as RpcMessage, jsonrpc: '2.0' })) : []
    at = line.startsWith('{', end) ? end : -1
  }
  return []
}

/** Why a server is not understood that never answers: of the lines that are not messages. */
export function formProblem (line: string): string | undefined {
  if (/^content-length: *\d+$/i.test(line.trim())) return 'it writes Content-Length headers, as language servers do; MCP over stdio has one message in a line, without headers'
  if (/^\s*(?:\{|"jsonrpc"\s*:.*)$/.test(line)) return 'it writes a message over several lines; MCP over stdio has one message in a line'
  return undefined
}

function isMessageLike (value: unknown): boolean {
  return isRecord(value) && (typeof value.method === 'string' || (value.id !== undefined && ('result' in value || isRecord(value.error))))
}

/** The index after the object that begins at `start`; -1 if it does not end. */
function endOfObject (text: string, start: number): number {
  let depth = 0
  let isText = false
  for (let i = start; i < text.length; i++) {
    const char = text[i]
    if (isText) {
      if (char === '\\') i++
      else if (char === '"') isText = false
    } else if (char === '"') isText = true
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return i + 1
  }
  return -1
}
