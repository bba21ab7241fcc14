import { cutError, errorIn, invalidError, refusal, UnreachableError } from './errors.js'
import { readEvents, readText, type ServerEvent } from './events.js'
import type { Connection, Update } from './types.js'

/** An object of a service, whose fields are checked where they are read. */
export type Json = Readonly<Record<string, ReturnType<typeof JSON.parse>>>

interface Request {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** The address of the routes of a protocol, without a slash at its end. */
export const addressOf = ({ base, url }: Connection, path: string): string => url ?? `${base.replace(/\/+$/, '')}/${path}`

/** A response with a status below 300. @throws ServiceError; the reason of the signal */
export async function send ({ headers, signal, fetch: sendRequest = fetch }: Connection, url: string, { method, headers: own, body }: Request): Promise<Response> {
  let response: Response
  try {
    response = await sendRequest(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...body !== undefined && { 'content-type': 'application/json' }, ...own, ...headers },
      ...body !== undefined && { body: JSON.stringify(body) },
      ...signal !== undefined && { signal }
    })
  } catch (err) {
    signal?.throwIfAborted()
    throw new UnreachableError(url, err)
  }
  if (response.ok) return response
  const text = await readText(response, signal)
  throw refusal(response, jsonOf(text) ?? sentenceIn(response, text))
}

/** Longest refusal that is a sentence: a proxy may send a whole page. */
const MAX_SENTENCE_CHARS = 1_000

/** The refusal of a protocol that has no object for it. */
function sentenceIn ({ headers }: Response, text: string): object | undefined {
  return /^text\/plain/.test(headers.get('content-type') ?? '') && text !== '' && text.length <= MAX_SENTENCE_CHARS ? { error: text } : undefined
}

/** The body of a response. @throws ServiceError */
export async function sendForJson (connection: Connection, url: string, request: Request): Promise<Json> {
  const response = await send(connection, url, request)
  const body = jsonOf(await readText(response, connection.signal))
  const error = errorIn(body, response)
  if (error !== undefined) throw error
  if (typeof body !== 'object' || body === null) throw invalidError('text that is not JSON', response.status)
  return body
}

/** An event with its data parsed; undefined for `[DONE]` or no data. */
export interface JsonEvent extends Pick<ServerEvent, 'id' | 'event'> {
  readonly value: Json | undefined
  /** The event is `[DONE]`. */
  readonly isEnd: boolean
}

/** The events of the answer to a request. @throws ServiceError, also for an event that has an error */
export async function * sendForEvents (connection: Connection, url: string, request: Request, onResponse?: (response: Response) => void): AsyncGenerator<JsonEvent, void> {
  const response = await send(connection, url, { ...request, headers: { accept: 'text/event-stream', ...request.headers } })
  onResponse?.(response)
  for await (const { id, event, data } of readEvents(response, connection.signal)) {
    const isEnd = data === '[DONE]'
    const isEmpty = isEnd || data === ''
    const value = isEmpty ? undefined : jsonOf(data)
    if (!isEmpty && (typeof value !== 'object' || value === null)) throw invalidError('an event that is not JSON', response.status)
    const error = errorIn(value, response)
    if (error !== undefined) throw error
    yield { id, event, value: value as Json | undefined, isEnd }
  }
}

/** The id of the conversation in the headers of a response, which a page of another origin reads if CORS exposes it. */
export function conversationOf ({ headers }: Response): Pick<Update, 'conversation'> {
  const id = headers.get('x-conversation-id')
  return id === null ? {} : { conversation: decodeURIComponent(id) }
}

/**
 * The updates of an answer: they end with `done`, or fail. A text that is only the beginning of what the reader has is
 * left out. The last update waits for the end of the response: a service logs who leaves before it.
 */
export async function * toEnd (updates: AsyncIterable<Update>): AsyncGenerator<Update, void> {
  let length = 0
  let last: Update | undefined
  try {
    for await (const update of updates) {
      if (last !== undefined) continue
      const { text, isTruncated, ...others } = update
      const isShorter = isTruncated === true && text !== undefined && text.length < length
      length = isShorter ? length : (text?.length ?? length + (update.delta?.length ?? 0))
      const shown = isShorter ? others : update
      if (update.done !== true) yield shown
      else last = shown
    }
  } catch (err) {
    if (last === undefined) throw err
  }
  if (last === undefined) throw cutError()
  yield last
}

/** An update without the fields that are undefined. */
export function updateWith (fields: { [Key in keyof Update]: Update[Key] | undefined }): Update {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A random id, also in a page that was loaded over HTTP, where `crypto.randomUUID` is absent. */
export function randomId (): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

function jsonOf (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
