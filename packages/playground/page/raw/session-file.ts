import type { Exchange, Frame, Protocol } from '../requests/exchange-record.js'
import { maskHeaders, maskText, maskValue } from '../requests/mask.js'
import { ownUrl, pageAddress } from '../requests/own-url.js'

/** Bytes of a file that the page opens. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Lines of a file that the page opens, the first one included. */
export const MAX_FILE_LINES = 1_001
/** Frames of all exchanges of a file. */
export const MAX_FILE_FRAMES = 250_000

const PROTOCOLS: ReadonlySet<unknown> = new Set<Protocol>(['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description', 'mcp', 'mcp-gateway', 'http'])
const METHOD = /^[A-Z]{1,20}$/
/** A header of a request, which the page copies as an argument of curl: there, a name with @ is one of a file. */
const HEADER = /^[!#$%&'*+.^_`|~\w-]+:[^\0\r\n]*$/
/** Its value is enough to use an MCP session where the service does not authenticate callers. */
const SESSION_HEADER = 'mcp-session-id'
/** Characters from which an id of a session is replaced in texts, too. */
const MIN_SESSION_CHARS = 16
type Fields = Readonly<Record<string, unknown>>

/**
 * A session as JSON Lines: a header, then one exchange a line. Secrets are masked; ids of MCP sessions are numbered.
 * @param known secrets that are masked wherever they stand
 */
export function writeSession (exchanges: readonly Exchange[], known: readonly string[] = []): string {
  const lines: unknown[] = [{ polyvac: 'session', version: 1, exportedAt: new Date().toISOString() }, ...exchanges.map(exchange => masked(exchange, known))]
  let text = lines.map(line => `${JSON.stringify(line)}\n`).join('')
  const ids = new Set(exchanges.flatMap(({ request, headers }) => [request.headers[SESSION_HEADER] ?? '', headers?.[SESSION_HEADER] ?? '']).filter(id => id !== ''))
  for (const [i, id] of [...ids].entries()) {
    const [written, name] = [JSON.stringify(id), JSON.stringify(`session-${i + 1}`)]
    // a short one could be a part of other texts
    const isLong = id.length >= MIN_SESSION_CHARS
    text = isLong ? text.replaceAll(written.slice(1, -1), name.slice(1, -1)) : text.replaceAll(`"${SESSION_HEADER}":${written}`, `"${SESSION_HEADER}":${name}`)
  }
  return text
}

function masked (exchange: Exchange, known: readonly string[]): Exchange {
  const { label, request, headers, frames, error } = exchange
  return {
    ...exchange,
    label: maskText(label, known),
    request: {
      ...request,
      path: maskText(request.path, known),
      headers: maskHeaders(Object.entries(request.headers)),
      ...'body' in request && { body: maskValue(request.body, known) }
    },
    ...headers !== undefined && { headers: maskHeaders(Object.entries(headers)) },
    frames: frames.map(frame => ({ ...frame, text: maskText(frame.text, known) })),
    ...error !== undefined && { error: maskText(error, known) }
  }
}

/**
 * Reads a file of `writeSession`.
 * @param page the address of the page: each path of the file is one of its origin
 * @throws Error that names the line and what is wrong with it
 */
export function readSession (text: string, page: string = pageAddress()): readonly Exchange[] {
  const lines = text.split('\n', MAX_FILE_LINES + 2)
  if (lines.at(-1) === '') lines.pop()
  if (lines.length > MAX_FILE_LINES) throw new Error(`the file has more than ${MAX_FILE_LINES} lines`)
  let frames = 0
  const session: Exchange[] = []
  for (const [index, line] of lines.entries()) {
    try {
      const value = recordOf(JSON.parse(line), 'the line')
      if (index === 0) {
        if (value.polyvac !== 'session') throw new Error('the file is not a session of Polyvac')
        if (value.version !== 1) throw new Error(`version ${String(value.version).slice(0, 20)} is not known; this page reads version 1`)
        continue
      }
      const exchange = exchangeOf(value, page)
      frames += exchange.frames.length
      if (frames > MAX_FILE_FRAMES) throw new Error(`the file has more than ${MAX_FILE_FRAMES} frames`)
      session.push(exchange)
    } catch (err) {
      throw new Error(`line ${index + 1}: ${err instanceof SyntaxError ? 'it is not JSON' : (err as Error).message}`)
    }
  }
  if (lines.length === 0) throw new Error('line 1: the file is empty')
  return session
}

function recordOf (value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${name} is not an object`)
  return value as Fields
}
function textOf (value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Error(`${name} is not a text`)
  return value
}
function numberOf (value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new Error(`${name} is not a number from 0 on`)
  return value
}
function headersOf (value: unknown, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(recordOf(value, name)).map(([key, text]) => [key, textOf(text, `${name}.${key}`)]))
}
function frameOf (value: unknown, index: number): Frame {
  const { at, bytes, text } = recordOf(value, `frames[${index}]`)
  return { at: numberOf(at, `frames[${index}].at`), bytes: numberOf(bytes, `frames[${index}].bytes`), text: textOf(text, `frames[${index}].text`) }
}

/** Fields that an exchange may lack. */
const OPTIONAL = { status: numberOf, headers: headersOf, firstByteAt: numberOf, endedAt: numberOf, error: textOf }

function exchangeOf (value: Fields, page: string): Exchange {
  const { id, startedAt, protocol, label, frames, received } = value
  const { method, path, headers: sent, body } = recordOf(value.request, 'request')
  if (!PROTOCOLS.has(protocol)) throw new Error('protocol is not known')
  if (!METHOD.test(textOf(method, 'request.method'))) throw new Error('request.method is not a method')
  if (!textOf(path, 'request.path').startsWith('/')) throw new Error('request.path is not a path')
  try {
    ownUrl(path as string, page)
  } catch (err) {
    throw new Error(`request.path: ${(err as Error).message}`)
  }
  const sentHeaders = headersOf(sent, 'request.headers')
  if (!Object.entries(sentHeaders).every(header => HEADER.test(header.join(':')))) throw new Error('request.headers has one that is not a header')
  if (!Array.isArray(frames)) throw new Error('frames is not a list')
  const counts = received === undefined ? undefined : recordOf(received, 'received')
  return {
    id: textOf(id, 'id'),
    startedAt: numberOf(startedAt, 'startedAt'),
    protocol: protocol as Protocol,
    label: textOf(label, 'label'),
    request: { method: method as string, path: path as string, headers: sentHeaders, ...body !== undefined && { body } },
    frames: frames.map(frameOf),
    ...counts !== undefined && { received: { frames: numberOf(counts.frames, 'received.frames'), bytes: numberOf(counts.bytes, 'received.bytes') } },
    ...Object.fromEntries(Object.entries(OPTIONAL).filter(([name]) => value[name] !== undefined).map(([name, read]) => [name, read(value[name], name)]))
  }
}
