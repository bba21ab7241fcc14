import type { SendRequest } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { randomId } from '../shared/random-id.js'
import { textOf } from './a2a-tasks.js'
import { attachmentsOf } from './attachments.js'
import { events, numberedEvents, type InputRequest, type Question, type Update } from './chat-protocol.js'
import { mcpRequest } from './mcp-request.js'
import { beginSession, endSession, postMessage, sessionRequest } from './mcp-session.js'

/** Asks with 2026-07-28, which has no sessions: a question of the agent is a result, and its reply another call. */
export async function * askMcp ({ vac, text, history, signal, reply, onSent }: Question): AsyncGenerator<Update> {
  const name = `vac_stream_${vac}`
  // the server compares the arguments with those of the call that asked
  const { query, turns } = reply?.mcp === undefined ? { query: text, turns: history } : JSON.parse(reply.mcp.state.split('\n')[1]!) as Fields
  const params = {
    name,
    arguments: { query, chat_history: turns },
    ...reply?.mcp === undefined
      ? {}
      : { requestState: reply.mcp.state.split('\n')[0], inputResponses: { [reply.mcp.id]: { action: 'accept', content: { [reply.mcp.field]: text } } } }
  }
  const request = {
    protocol: 'mcp',
    label: `tools/call ${name}`,
    as: 'sse',
    signal,
    ...mcpRequest('tools/call', params, { form: {} }, { progressToken: randomId(), 'polyvac/steps': true })
  } as const
  for await (const { method, params, result } of events(request, onSent)) {
    if (method === 'notifications/progress') yield { delta: params.message }
    if (result === undefined) continue
    const [id, asked] = Object.entries(result.inputRequests as Fields ?? {})[0] ?? []
    if (id === undefined) yield resultOf(result)
    else yield { input: inputOf(id, asked, `${result.requestState}\n${JSON.stringify({ query, turns })}`) }
  }
}

/** The id of the call in its session. */
const CALL_ID = 2

/**
 * Asks with 2025-11-25. A session keeps the events of the call: after a reload, and after a question of the agent, the
 * page reads those that follow the last one it has.
 */
export async function * askMcpSession ({ vac, text, history, signal, reply, task, onSent }: Question): AsyncGenerator<Update> {
  let [session, last] = (task ?? reply?.mcp?.state)?.split(' ') as [string, string] ?? [await beginSession(signal)]
  let isOver = false
  const request = (label: string, body: object | undefined, extra: object = {}): SendRequest =>
    ({ protocol: 'mcp', label, ...sessionRequest(session, body, extra), signal, as: 'sse' })
  if (reply?.mcp !== undefined) {
    const { id, field } = reply.mcp
    const result = { action: 'accept', content: { [field]: text } }
    await postMessage(request('reply', { id: JSON.parse(id), result }))
  }
  const name = `vac_stream_${vac}`
  const params = { name, arguments: { query: text, chat_history: history }, _meta: { progressToken: CALL_ID, 'polyvac/steps': true } }
  const call = last === undefined
    ? request(`tools/call ${name}`, { id: CALL_ID, method: 'tools/call', params })
    : request(`resume ${name}`, undefined, { 'last-event-id': last })
  try {
    for await (const { id: event, value: { id, method, params, result } = {} } of numberedEvents(call, onSent)) {
      last = event ?? last
      const place = session === '' || last === undefined ? undefined : `${session} ${last}`
      if (method === 'elicitation/create') {
        yield { input: inputOf(JSON.stringify(id), { params }, place ?? '') }
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
  const { final_answer: answer, source_documents: sources, metadata } = (structuredContent ?? {}) as Fields
  return { text: answer ?? textOf(content), isTruncated: metadata?.truncated, sources, files: attachmentsOf(metadata?.artifacts), done: true }
}

function inputOf (id: string, { params }: Fields, state: string): InputRequest {
  const field = Object.keys(params?.requestedSchema?.properties ?? {})[0] ?? 'reply'
  return { text: params?.message ?? '', mcp: { id, field, state } }
}
