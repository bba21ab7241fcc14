import { eventData, eventId, send, type Protocol, type Sent, type SendRequest } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { failureText, type RouteName } from '../shared/settings.js'
import type { Attachment } from './attachments.js'

export interface Turn { readonly role: 'user' | 'assistant', readonly content: string }
export interface Source { readonly page_content?: string, readonly metadata?: Record<string, unknown> }

/** A question of the agent, and what its protocol needs for the reply. */
export interface InputRequest { readonly text: string, readonly task?: string, readonly mcp?: { readonly id: string, readonly field: string, readonly state: string } }

/** What a person has to do elsewhere, and where. */
export interface SignIn { readonly text: string, readonly url?: string | undefined }

/** What one frame changes in an answer. */
export interface Update {
  readonly delta?: string | undefined
  /** The whole text until now. */
  readonly text?: string | undefined
  /** `text` is only the beginning: the service keeps no more of a long stream for its result. */
  readonly isTruncated?: boolean | undefined
  readonly sources?: readonly Source[] | undefined
  readonly files?: readonly Attachment[] | undefined
  readonly progress?: number | undefined
  /** How to follow the answer again after a reload: the id of its task, or the place in its stream. */
  readonly task?: string | undefined
  readonly input?: InputRequest | undefined
  /** The agent waits for a sign-in, and goes on after it. */
  readonly signIn?: SignIn | undefined
  /** The answer is complete. */
  readonly done?: boolean | undefined
}

/** The text of an answer after an update. What was streamed is more than the beginning of it. */
export function addDelta (text: string, { text: whole, isTruncated = false, delta = '' }: Update): string {
  if (whole === undefined) return text + delta
  return isTruncated && text.length > whole.length ? text : whole
}

export interface Question {
  readonly vac: string
  readonly text: string
  readonly history: readonly Turn[]
  readonly signal: AbortSignal
  /** The request that `text` replies to. */
  readonly reply?: InputRequest | undefined
  /** `task` of an answer to follow again instead of asking. */
  readonly task?: string | undefined
  /** Called with the exchange when the request is sent. */
  readonly onSent?: ((sent: Sent) => void) | undefined
}

export interface ChatProtocol {
  readonly id: Protocol | 'mcp-session'
  readonly title: string
  readonly route: RouteName
  readonly ask: (question: Question) => AsyncGenerator<Update>
  /** Cancels the task of an answer; absent where closing the connection stops the interpreter. */
  readonly cancel?: (task: string) => Promise<unknown>
}

/** The JSON values of the events of a response. @throws Error with the service's text where it refuses */
export async function * events (request: SendRequest, onSent?: Question['onSent']): AsyncGenerator<Fields> {
  for await (const { value } of numberedEvents(request, onSent)) if (value !== undefined) yield value
}

/** The same with the ids of the events; the first event of a stream of MCP may have only an id. */
export async function * numberedEvents (request: SendRequest, onSent?: Question['onSent']): AsyncGenerator<{ id?: string | undefined, value?: Fields }> {
  const sent = await send(request)
  onSent?.(sent)
  const { status, headers } = sent.exchange
  const requestId = headers?.['x-request-id']
  if (status !== 200 || headers?.['content-type']?.startsWith('text/event-stream') !== true) {
    const body = await sent.json() as Fields | undefined
    if (status !== 200 || body?.error !== undefined) throw new Error(failureText(body, status, requestId))
    if (body !== undefined) yield { value: body }
    return
  }
  for await (const { text } of sent.frames()) {
    const [id, data] = [eventId(text), eventData(text)]
    if (data === '' || data === '[DONE]') {
      if (id !== undefined) yield { id }
      continue
    }
    const value = JSON.parse(data) as Fields
    if (value.error != null) throw new Error(failureText(value, status, requestId))
    yield { id, value }
  }
}
