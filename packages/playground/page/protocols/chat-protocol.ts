import type { InputRequest, Turn, Update as ClientUpdate } from '@polyvac/client'
import { readEvents } from '@polyvac/client/events'
import { send, type Protocol, type Sent, type SendRequest } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { failureText, type RouteName } from '../shared/settings.js'
import type { Attachment } from './attachments.js'

export type { InputRequest, Source, Turn } from '@polyvac/client'

/** What one frame changes in an answer. */
export interface Update extends Omit<{ [Field in keyof ClientUpdate]?: ClientUpdate[Field] | undefined }, 'run' | 'event'> {
  /** The object of the protocol that the update is made of. */
  readonly event?: Fields | undefined
  readonly files?: readonly Attachment[] | undefined
  /** How to follow the answer again after a reload: the id of its task, or the place in its stream. */
  readonly task?: string | undefined
}

/** The text of an answer after an update. What was streamed is more than the beginning of it. */
export function addDelta (text: string, { text: whole, isTruncated = false, delta = '' }: Update): string {
  if (whole === undefined) return text + delta
  return isTruncated && text.length > whole.length ? text : whole
}

export interface Question {
  readonly vac: string
  readonly text: string
  /** Without a conversation, what was said before. */
  readonly history?: readonly Turn[] | undefined
  /** The conversation that the service keeps, which has the turns before. */
  readonly conversation?: string | undefined
  readonly signal: AbortSignal
  /** The request that `text` replies to. */
  readonly reply?: InputRequest | undefined
  /** Further fields of the body of a direct question: files, the answer to an approval. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** `task` of an answer to follow again instead of asking. */
  readonly task?: string | undefined
  /** Where the answer of the task goes on, where its protocol has such places. */
  readonly cursor?: string | undefined
  /** Called with the exchange when the request is sent. */
  readonly onSent?: ((sent: Sent) => void) | undefined
  /** Called as the response of a direct question begins, with the run where its answer goes on without its reader. */
  readonly onRun?: ((run: string | undefined) => void) | undefined
}

export interface ChatProtocol {
  readonly id: Protocol | 'mcp-session'
  readonly title: string
  readonly route: RouteName
  readonly ask: (question: Question) => AsyncGenerator<Update>
  /** Cancels the task of an answer; absent where closing the connection stops the interpreter. */
  readonly cancel?: (task: string, vac: string) => Promise<unknown>
}

/** The id of the conversation that the service keeps, in the headers of its response. */
export function conversationOf ({ response }: Sent): string | undefined {
  const id = response.headers.get('x-conversation-id')
  return id === null ? undefined : decodeURIComponent(id)
}

/** The JSON values of the events of a response. @throws Error with the service's text where it refuses */
export async function * events (request: SendRequest, onSent?: Question['onSent']): AsyncGenerator<Fields> {
  for await (const { value } of numberedEvents(request, onSent)) if (value !== undefined) yield value
}

/** The same with the ids of the events; the first event of a stream of MCP may have only an id. */
export async function * numberedEvents (request: SendRequest, onSent?: Question['onSent']): AsyncGenerator<{ id?: string | undefined, value?: Fields }> {
  const sent = await send(request)
  onSent?.(sent)
  const { ok, status, headers } = sent.response
  const requestId = headers.get('x-request-id') ?? undefined
  if (!ok) throw new Error(failureText(await sent.json(), status, requestId))
  for await (const { id, data } of readEvents(sent.response, request.signal)) {
    const value = data === '' ? undefined : JSON.parse(data) as Fields
    if (value?.error != null) throw new Error(failureText(value, status, requestId))
    yield { id, ...value !== undefined && { value } }
  }
}
