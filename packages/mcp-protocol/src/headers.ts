/** The HTTP headers of MCP, in lower case. */
export const HEADERS = {
  protocolVersion: 'mcp-protocol-version',
  sessionId: 'mcp-session-id',
  lastEventId: 'last-event-id',
  /** The method of a request (2026-07-28). */
  method: 'mcp-method',
  /** The name, URI or task id of a request (2026-07-28). */
  name: 'mcp-name'
} as const

/** The parameter that the header `Mcp-Name` repeats, by method (2026-07-28). */
export const NAME_PARAMETERS: ReadonlyMap<string, 'name' | 'uri' | 'taskId'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId']
])

/** Visible ASCII without outer blanks. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const ENCODED = /^=\?base64\?(.*)\?=$/

/** A value as a header carries it: visible ASCII unchanged, any other value as base64 of its UTF-8. */
export function encodeHeader (value: string): string {
  const isPlain = PLAIN.test(value) && !/^=\?base64\?.*\?=$/i.test(value)
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}

/** The value that a header stands for; undefined if its base64, or the UTF-8 in it, is invalid. */
export function decodeHeader (header: string): string | undefined {
  const match = header.startsWith('=?') ? ENCODED.exec(header) : null
  if (match === null) return header
  const bytes = Buffer.from(match[1]!, 'base64')
  // Buffer skips invalid characters, so the bytes must encode to the same text again
  if (bytes.toString('base64') !== match[1]) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
