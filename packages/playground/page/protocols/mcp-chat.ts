import { mcp } from '@polyvac/client/mcp'
import type { SendRequest } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { textOf } from './a2a-tasks.js'
import { clientQuestion, shownUpdates } from './asked.js'
import { attachmentsOf } from './attachments.js'
import { numberedEvents, type InputRequest, type Question, type Update } from './chat-protocol.js'
import { beginSession, endSession, postMessage, sessionRequest } from './mcp-session.js'

/** Asks with 2026-07-28, which has no sessions. */
export function askMcp (question: Question): AsyncGenerator<Update> {
  return shownUpdates(mcp.ask(clientQuestion(question, 'mcp', { protocol: 'mcp', label: `tools/call vac_stream_${question.vac}` })))
}

/** The id of the call in its session. */
const CALL_ID = 2

/**
 * Asks with 2025-11-25. A session keeps the events of the call: after a reload, and after a question of the agent, the
 * page reads those that follow the last one it has.
 */
export async function * askMcpSession ({ vac, text, history, conversation, signal, reply, task, onSent }: Question): AsyncGenerator<Update> {
  const asked = reply?.state as Asked | undefined
  let [session, last] = (task ?? asked?.place)?.split(' ') as [string, string] ?? [await beginSession(signal)]
  let isOver = false
  const request = (label: string, body: object | undefined, extra: object = {}): SendRequest =>
    ({ protocol: 'mcp', label, ...sessionRequest(session, body, extra), signal, as: 'sse' })
  if (asked !== undefined) {
    const result = { action: 'accept', content: { [asked.field]: text } }
    await postMessage(request('reply', { id: asked.id, result }))
  }
  const name = `vac_stream_${vac}`
  const params = { name, arguments: { query: text, chat_history: history, conversation_id: conversation }, _meta: { progressToken: CALL_ID, 'polyvac/steps': true } }
  const call = last === undefined
    ? request(`tools/call ${name}`, { id: CALL_ID, method: 'tools/call', params })
    : request(`resume ${name}`, undefined, { 'last-event-id': last })
  try {
    for await (const { id: event, value: { id, method, params, result } = {} } of numberedEvents(call, onSent)) {
      last = event ?? last
      const place = session === '' || last === undefined ? undefined : `${session} ${last}`
      if (method === 'elicitation/create') {
        yield { input: inputOf(id, params, place ?? '') }
        return
      }
      isOver = result !== undefined
      yield { task: place, delta: method === 'notifications/progress' ? params.message : undefined, ...isOver && resultOf(result) }
    }
  } finally {
    if (session !== '' && (isOver || signal.aborted)) endSession(session, isOver ? undefined : CALL_ID).catch(() => {})
  }
}

/** @throws Error with the text of a result that is an error */
function resultOf ({ isError, content, structuredContent }: Fields): Update {
  if (isError === true) throw new Error(textOf(content))
  const { final_answer: answer, source_documents: sources, metadata, conversation_id: conversation } = (structuredContent ?? {}) as Fields
  // in a conversation the reply is the next question
  const input = metadata?.input_required === undefined ? undefined : { text: String(metadata.input_required) }
  return { text: answer ?? textOf(content), conversation, isTruncated: metadata?.truncated, sources, files: attachmentsOf(metadata?.artifacts), input, done: true }
}

/** What the reply needs: the request of the server, the field of its form, and where the stream goes on. */
interface Asked { readonly id: unknown, readonly field: string, readonly place: string }

function inputOf (id: unknown, { message, requestedSchema }: Fields, place: string): InputRequest {
  const field = Object.keys(requestedSchema?.properties ?? {})[0] ?? 'reply'
  return { text: message ?? '', state: { id, field, place } satisfies Asked }
}
