import { parseEvents } from '@polyvac/client/events'
import { isRecord, isTooDeep } from '@polyvac/core/plugin'
import { parseJson } from '../client/http-client.js'

/** What differs between two runs of the same request. Where `key` and `value` match, the value is set aside. */
export const VOLATILE: ReadonlyArray<{ readonly what: string, readonly key: RegExp, readonly value?: RegExp, readonly isList?: true }> = [
  { what: 'ids', key: /^(?:id|.*Id|.*_id)$/, value: /[0-9a-f]{12,}|[\w-]{20,}/i },
  { what: 'times', key: /^(?:created|timestamp|time|date|.*At|.*_at|.*Timestamp)$/ },
  { what: 'durations', key: /^(?:ms|.*Ms|.*_ms|duration|seconds|uptime|ttl)$/ },
  { what: 'tokens of one run', key: /^(?:requestState|progressToken|nextCursor|nextPageToken|traceparent|system_fingerprint)$/ },
  { what: 'secrets, which the playground masks', key: /authorization|cookie|(?<!progress|page)token|secret|api[-_]?key|password|credential/i, value: /\D/ },
  { what: 'the process of an MCP server, its starts, calls and owners', key: /^(?:pid|attempt|crashLoop|restarts|callsInFlight|owners)$/, value: /^(?:\d+|true|false)$/ },
  { what: 'the last lines of an MCP server, and the last changes of its tools', key: /^(?:stderr|toolChanges)$/, isList: true },
  { what: 'where a stream was cut into pieces', key: /^(?:append|lastChunk|progress|index|sequence|sequence_number)$/ }
]
/** Ids, times and the passwords of URLs, which the playground masks, inside texts. */
const IN_TEXT: ReadonlyArray<readonly [RegExp, string]> = [
  // without bounds of words: texts are joined, and one that begins with a letter may follow an id
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/g, '<time>'],
  [/(?<=:\/\/[^\s:/@"]{0,99}:)(?: •••|[^\s/@"]+)(?=@)/g, '<password>']
]
/** Keys of pieces of text: adjacent events that differ in nothing else are one event with the joined text. */
const PIECES: ReadonlySet<string> = new Set(['chunk', 'content', 'text', 'message', 'delta'])
const PIECE = '\u0000piece'

const PIECE_JSON = JSON.stringify(PIECE)

/** An event in a form that two runs share: JSON with marks in place of its pieces of text, and these joined. */
export interface NormalEvent { readonly shape: string, readonly text: string }

/** An event for people. */
export function showEvent ({ shape, text }: NormalEvent): string {
  return shape === PIECE_JSON ? text : shape.replace(PIECE_JSON, () => JSON.stringify(text)).replaceAll(PIECE_JSON, '…')
}

/** A media type without its parameters. */
export const typeOf = (contentType: string): string => contentType.split(';')[0]!.trim()

/** The values of a body: of server-sent events, of lines, of one JSON document, or of plain text. */
export function valuesOf (body: string, contentType: string): unknown[] {
  const type = typeOf(contentType)
  if (type === 'text/event-stream') return parseEvents(body).flatMap(({ data }) => data === '' ? [] : [toValue(data)])
  if (type === 'application/x-ndjson') return body.split('\n').filter(line => line.trim() !== '').map(toValue)
  return body === '' ? [] : [toValue(body)]
}

/** Sets volatile values aside and joins pieces of text, so that chunks may be cut differently. */
export function normalizeEvents (values: readonly unknown[]): NormalEvent[] {
  const events: Array<{ shape: string, text: string }> = []
  for (const value of values) {
    const event = normalize(value)
    const last = events.at(-1)
    // snapshots of a task in progress: how many there are depends on the time that the task takes
    if (last !== undefined && isWorking(value) && last.shape.includes('"state":"working"')) events.pop()
    if (last?.shape === event.shape && event.shape.split(PIECE_JSON).length === 2) last.text += event.text
    else events.push(event)
  }
  return events.map(({ shape, text }) => ({ shape, text: replaceInText(text) }))
}

/** Pairs of volatile texts at the same places: what one run called so, the other one calls so. */
export function pairIds (recorded: unknown, now: unknown, pairs: Map<string, string>): void {
  if (typeof recorded !== 'object' || recorded === null || typeof now !== 'object' || now === null) return
  for (const [key, value] of Object.entries(recorded)) {
    const other = (now as Record<string, unknown>)[key]
    if (typeof value === 'string' && typeof other === 'string') {
      if (value !== other && isVolatile(key, value)) pairs.set(value, other)
    } else pairIds(value, other, pairs)
  }
}

/** A request with the ids of this run. */
export function replaceIds<T> (value: T, pairs: ReadonlyMap<string, string>): T {
  if (typeof value === 'string') return (pairs.get(value) ?? value) as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => replaceIds<unknown>(item, pairs)) as T
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceIds<unknown>(item, pairs)])) as T
}

function normalize (value: unknown): NormalEvent {
  if (typeof value === 'string') return { shape: PIECE_JSON, text: value }
  let text = ''
  const isPart = !isRecord(value) || !('answer' in value)
  const walk = (item: unknown, key: string): unknown => {
    // the other run may lack such a list
    if (isVolatile(key, item)) return Array.isArray(item) ? undefined : `<${key}>`
    if (Array.isArray(item)) return item.map(child => walk(child, ''))
    if (isRecord(item)) return Object.fromEntries(Object.keys(item).sort().map(name => [name, walk(item[name], name)]))
    if (typeof item !== 'string') return item
    if (!isPart || !PIECES.has(key)) return replaceInText(item)
    text += item
    return PIECE
  }
  return { shape: JSON.stringify(walk(value, '')), text }
}

function isVolatile (key: string, value: unknown): boolean {
  return VOLATILE.some(row => row.key.test(key) && (row.isList === true
    ? Array.isArray(value)
    : typeof value !== 'object' && (row.value === undefined || row.value.test(String(value)))))
}

function isWorking (value: unknown): boolean {
  return isRecord(value) && isRecord(value.data) && value.data.state === 'working'
}

function replaceInText (text: string): string {
  return IN_TEXT.reduce((result, [pattern, name]) => result.replace(pattern, name), text)
}

function toValue (text: string): unknown {
  const value = parseJson(text)
  return value === undefined || isTooDeep(value) ? text : value
}
