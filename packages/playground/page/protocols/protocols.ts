import type { Question as ClientQuestion, RunProtocol } from '@polyvac/client'
import { a2a, ANSWER } from '@polyvac/client/a2a'
import { agUi } from '@polyvac/client/ag-ui'
import { aiSdk } from '@polyvac/client/ai-sdk'
import { direct } from '@polyvac/client/direct'
import { openai } from '@polyvac/client/openai'
import { responses } from '@polyvac/client/responses'
import { send, type SendRequest } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { loadPart } from '../shared/load-part.js'
import { randomId } from '../shared/random-id.js'
import { settings, type RouteName } from '../shared/settings.js'
import { textOf } from './a2a-tasks.js'
import { a2aQuestion, a2aRun, clientQuestion, clientRun, shownUpdates } from './asked.js'
import { attachmentsOf } from './attachments.js'
import { conversationOf, events, type ChatProtocol, type Question, type Update } from './chat-protocol.js'

/** The protocols of the chat, in the order of the list. */
export const PROTOCOLS: readonly ChatProtocol[] = [
  { id: 'direct', title: 'Direct (SSE)', route: 'vac', ask: askDirect, cancel: async (run, vac) => { await direct.stop(clientRun(run, 'vac', { protocol: 'direct', label: 'cancel run' }, { vac })) } },
  { id: 'openai', title: 'OpenAI', route: 'openai', ask: askOpenAi },
  kept('responses', 'OpenAI Responses', responses),
  kept('ai_sdk', 'AI SDK', aiSdk),
  kept('ag_ui', 'AG-UI', agUi),
  { id: 'a2a', title: 'A2A 1.0', route: 'a2a', ask: askA2a, cancel: async id => { await a2a.stop(a2aRun(id, { protocol: 'a2a', label: 'CancelTask' })) } },
  {
    id: 'a2a-description',
    title: 'A2A tasks/sendSubscribe',
    route: 'a2a',
    ask: askDescription,
    cancel: async taskId => await (await send(descriptionRequest('tasks/cancel', { taskId }, 'json'))).json()
  },
  { id: 'mcp', title: 'MCP 2026-07-28', route: 'mcp', ask: async function * (question) { yield * (await mcpChat()).askMcp(question) } },
  { id: 'mcp-session', title: 'MCP 2025-11-25', route: 'mcp', ask: async function * (question) { yield * (await mcpChat()).askMcpSession(question) } }
]

/** How MCP asks, which is loaded with the first question. */
const mcpChat = async () => await loadPart(async () => await import('./mcp-chat.js'))

const path = (route: RouteName, rest = ''): string => `${settings.value.routes[route]}${rest}`

/** Asks with a key, since an answer with one goes on where its reader leaves; a service without runs ignores it. */
async function * askDirect (question: Question): AsyncGenerator<Update> {
  const { vac, task, cursor, fields, onSent, onRun } = question
  if (task !== undefined) {
    // the events of the question have no places, so the run is read from its beginning
    if (cursor === undefined) yield { text: '' }
    yield * shownUpdates(direct.resume(clientRun(task, 'vac', { protocol: 'direct', label: `read run of ${vac}` }, question)))
    return
  }
  const asked = clientQuestion({
    ...question,
    onSent (sent) {
      onSent?.(sent)
      onRun?.(sent.response.headers.get('x-run-id') ?? undefined)
    }
  }, 'vac', { protocol: 'direct', label: `ask ${vac}` })
  yield * shownUpdates(direct.ask({ ...asked, headers: { 'idempotency-key': randomId() }, fields: { citations: true, ...fields } }))
}

function askOpenAi (question: Question): AsyncGenerator<Update> {
  return shownUpdates(openai.ask(clientQuestion(question, 'openai', { protocol: 'openai', label: `chat/completions ${question.vac}` })))
}

/** A protocol of the client whose answers the service keeps, at the route of its name. */
function kept (id: 'responses' | 'ai_sdk' | 'ag_ui', title: string, protocol: RunProtocol<ClientQuestion>): ChatProtocol {
  return {
    id,
    title,
    route: id,
    ask (question) {
      const { task, vac } = question
      return shownUpdates(task === undefined
        ? protocol.ask(clientQuestion(question, id, { protocol: id, label: `${title} ${vac}` }))
        : protocol.resume(clientRun(task, id, { protocol: id, label: `read ${title} ${vac}` }, question)))
    },
    cancel: async (run, vac) => { await protocol.stop(clientRun(run, id, { protocol: id, label: `stop ${title}` }, { vac })) }
  }
}

function askA2a (question: Question): AsyncGenerator<Update> {
  const { task } = question
  return shownUpdates(task === undefined
    ? a2a.ask(a2aQuestion(question, { protocol: 'a2a', label: 'SendStreamingMessage' }))
    : a2a.resume(a2aRun(task, { protocol: 'a2a', label: 'SubscribeToTask' }, question)))
}

function descriptionRequest (method: string, params: object, as: 'json' | 'sse', signal?: AbortSignal): SendRequest {
  return {
    protocol: 'a2a-description',
    label: method,
    path: path('a2a', `/${method}`),
    as,
    body: { jsonrpc: '2.0', id: randomId(), method, params },
    ...signal === undefined ? {} : { signal }
  }
}

/** That the agent declined, with its reason where the answer does not have it. */
function refusal (reason: string, text: string): Error {
  return new Error(reason === '' || text.includes(reason) ? 'The agent declined the task.' : `The agent declined the task: ${reason}`)
}

async function * askDescription ({ vac, text, history, conversation, signal, reply, task, onSent }: Question): AsyncGenerator<Update> {
  const request = task !== undefined
    ? descriptionRequest('tasks/resubscribe', { taskId: task }, 'sse', signal)
    : descriptionRequest('tasks/sendSubscribe', {
      skillName: `vac_stream_${vac}`, input: { query: text, chat_history: history }, metadata: { steps: true }, contextId: conversation, ...reply?.state as object | undefined
    }, 'sse', signal)
  let known = ''
  let named: string | undefined
  for await (const { taskId, data } of events(request, sent => { named = conversationOf(sent); onSent?.(sent) })) {
    const { state, messages, artifacts, progress, error, delta, retry } = data as Fields
    if (error?.code === 'VAC_REJECTED') throw refusal(error.message, known)
    if (state === 'failed') throw new Error(error?.message ?? 'the task failed')
    const content = (artifacts as Fields[]).findLast(({ name }) => ANSWER.test(name))?.content as Fields | undefined
    // the text since the last message of the caller
    const last = (messages as Fields[]).findLastIndex(({ role }) => role === 'user')
    const written = (messages as Fields[]).slice(last + 1).map(({ parts }) => textOf(parts))
    const input = state === 'input-required' ? { text: written.at(-1) ?? '', state: { taskId } } : undefined
    // a record keeps the beginning of a long text; what a reload missed of the rest cannot be read again
    const text = written.join('')
    const isLonger = task === undefined && retry === undefined && known.length + (delta?.length ?? 0) > text.length
    known = isLonger ? known + (delta ?? '') : text
    yield {
      task: taskId,
      conversation: named,
      text: content?.final_answer ?? (isLonger && delta !== undefined ? undefined : text),
      delta,
      isTruncated: content === undefined ? isLonger : content.metadata?.truncated,
      sources: content?.source_documents,
      files: attachmentsOf(artifacts),
      progress,
      input,
      done: state === 'completed' || state === 'canceled'
    }
    // the stream waits for the reply, which opens another one
    if (input !== undefined) return
  }
}
