import { send, type SendRequest } from '../requests/exchange.js'
import { ADDRESS } from '../shared/address.js'
import type { Fields } from '../shared/fields.js'
import { loadPart } from '../shared/load-part.js'
import { randomId } from '../shared/random-id.js'
import { settings, type RouteName } from '../shared/settings.js'
import { textOf } from './a2a-tasks.js'
import { attachmentsOf } from './attachments.js'
import { addDelta, events, type ChatProtocol, type Question, type SignIn, type Source, type Update } from './chat-protocol.js'

/** The protocols of the chat, in the order of the list. */
export const PROTOCOLS: readonly ChatProtocol[] = [
  { id: 'direct', title: 'Direct (SSE)', route: 'vac', ask: askDirect },
  { id: 'openai', title: 'OpenAI', route: 'openai', ask: askOpenAi },
  { id: 'a2a', title: 'A2A 1.0', route: 'a2a', ask: askA2a, cancel: id => rpcA2a('CancelTask', { id }) },
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

const ENDED = /^TASK_STATE_(?:COMPLETED|CANCELED|FAILED|REJECTED)$/

/** Characters of a streamed text that the record of a task has. */
const MAX_RECORD_CHARS = 256 * 1024

/** The artifacts that have the text of the answer, one for each turn of a task; the others are files and data. */
const ANSWER = /^streaming_response(?:-\d+)?$/

const path = (route: RouteName, rest = ''): string => `${settings.value.routes[route]}${rest}`

async function * askDirect ({ vac, text, history, signal, onSent }: Question): AsyncGenerator<Update> {
  const request = {
    protocol: 'direct',
    label: `ask ${vac}`,
    path: path('vac', `/streaming/${encodeURIComponent(vac)}/sse`),
    body: { user_input: text, chat_history: history, steps: true },
    signal,
    as: 'sse'
  } as const
  for await (const { chunk, answer, source_documents: sources, progress, input_required: input, metadata, artifacts } of events(request, onSent)) {
    yield {
      delta: chunk,
      progress,
      sources,
      text: answer,
      isTruncated: metadata?.truncated,
      files: artifacts === undefined ? undefined : attachmentsOf(artifacts),
      done: answer !== undefined,
      input: input === undefined ? undefined : { text: String(input) }
    }
  }
}

async function * askOpenAi ({ vac, text, history, signal, onSent }: Question): AsyncGenerator<Update> {
  const body = { model: vac, stream: true, messages: [...history, { role: 'user', content: text }] }
  const request = { protocol: 'openai', label: `chat/completions ${vac}`, path: path('openai', '/chat/completions'), body, signal, as: 'sse' } as const
  for await (const { choices, source_documents: sources } of events(request, onSent)) {
    yield { delta: choices?.[0]?.delta?.content, sources, done: choices?.[0]?.finish_reason != null }
  }
}

function a2aRequest (method: string, params: object, as: 'json' | 'sse', signal?: AbortSignal): SendRequest {
  return {
    protocol: 'a2a',
    label: method,
    path: path('a2a'),
    headers: { 'a2a-version': '1.0' },
    as,
    body: { jsonrpc: '2.0', id: randomId(), method, params },
    ...signal === undefined ? {} : { signal }
  }
}

async function rpcA2a (method: string, params: object): Promise<unknown> {
  return await (await send(a2aRequest(method, params, 'json'))).json()
}

async function * askA2a ({ vac, text, history, signal, reply, task, onSent }: Question): AsyncGenerator<Update> {
  const parts = reply?.task === undefined
    ? [{ data: { skillName: `vac_stream_${vac}`, input: { query: text, chat_history: history } } }]
    : [{ text }]
  const message = { messageId: randomId(), role: 'ROLE_USER', parts, ...reply?.task === undefined ? {} : { taskId: reply.task } }
  const results = task === undefined
    ? events(a2aRequest('SendStreamingMessage', { message, metadata: { steps: true } }, 'sse', signal), onSent)
    : continueTask(task, signal, onSent)
  const others = new Map<string, Fields>()
  let known = ''
  let isCut = false
  for await (const { result } of results) {
    const { task: record, artifactUpdate, statusUpdate } = result as Fields
    const id: string | undefined = record?.id ?? artifactUpdate?.taskId ?? statusUpdate?.taskId
    const status: Fields | undefined = record?.status ?? statusUpdate?.status
    const state: string | undefined = status?.state
    const reason = textOf(status?.message?.parts)
    if (state === 'TASK_STATE_FAILED') throw new Error(reason || 'the task failed')
    if (state === 'TASK_STATE_REJECTED') throw refusal(reason, known)
    const artifacts: Fields[] = artifactUpdate === undefined ? record?.artifacts ?? [] : [artifactUpdate.artifact]
    const answer = artifacts.findLast(({ artifactId }) => ANSWER.test(artifactId))
    const besides = artifacts.filter(({ artifactId }) => !ANSWER.test(artifactId))
    for (const artifact of besides) others.set(artifact.artifactId, artifact)
    const written = answer === undefined ? undefined : textOf(answer.parts)
    const extras: Fields | undefined = (answer?.parts as Fields[] | undefined)?.find(part => part.data !== undefined)?.data
    // what a reload missed of a long text cannot be read again
    isCut ||= task !== undefined && record !== undefined && written !== undefined && written.length >= MAX_RECORD_CHARS - 1
    const isMore = artifactUpdate?.append === true
    const text = isMore && !isCut ? { delta: written } : { text: isMore ? known : written, isTruncated: isCut || extras?.metadata?.truncated === true }
    known = addDelta(known, text)
    yield {
      task: id,
      ...text,
      sources: extras?.source_documents as Source[] | undefined,
      files: besides.length === 0 ? undefined : attachmentsOf([...others.values()]),
      progress: record?.metadata?.progress ?? statusUpdate?.metadata?.progress,
      input: state === 'TASK_STATE_INPUT_REQUIRED' ? { text: reason, task: id! } : undefined,
      signIn: state === 'TASK_STATE_AUTH_REQUIRED' ? signInOf(reason, status!.message?.parts) : undefined,
      done: state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_CANCELED'
    }
  }
}

/** That the agent declined, with its reason where the answer does not have it. */
function refusal (reason: string, text: string): Error {
  return new Error(reason === '' || text.includes(reason) ? 'The agent declined the task.' : `The agent declined the task: ${reason}`)
}

/** Where an agent asks for a sign-in: the address of its data, or the first one of its text. */
export function signInOf (text: string, parts: readonly Fields[] = []): SignIn {
  const { url = ADDRESS.exec(text)?.[0] } = parts.find(({ data }) => data?.signIn)?.data.signIn ?? {} as Fields
  return { text, url: typeof url === 'string' ? url : undefined }
}

/** The events of a task from now on. A task that has ended has no stream: its record is the only event. */
async function * continueTask (id: string, signal: Question['signal'], onSent: Question['onSent']): AsyncGenerator<Fields> {
  try {
    yield * events(a2aRequest('SubscribeToTask', { id }, 'sse', signal), onSent)
  } catch (err) {
    const { result: task } = await rpcA2a('GetTask', { id }) as Fields
    if (!ENDED.test(task?.status?.state)) throw err
    yield { result: { task } }
  }
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

async function * askDescription ({ vac, text, history, signal, reply, task, onSent }: Question): AsyncGenerator<Update> {
  const request = task !== undefined
    ? descriptionRequest('tasks/resubscribe', { taskId: task }, 'sse', signal)
    : descriptionRequest('tasks/sendSubscribe', {
      skillName: `vac_stream_${vac}`, input: { query: text, chat_history: history }, metadata: { steps: true }, ...reply?.task === undefined ? {} : { taskId: reply.task }
    }, 'sse', signal)
  let known = ''
  for await (const { taskId, data } of events(request, onSent)) {
    const { state, messages, artifacts, progress, error, delta, retry } = data as Fields
    if (error?.code === 'VAC_REJECTED') throw refusal(error.message, known)
    if (state === 'failed') throw new Error(error?.message ?? 'the task failed')
    const content = (artifacts as Fields[]).findLast(({ name }) => ANSWER.test(name))?.content as Fields | undefined
    // the text since the last message of the caller
    const last = (messages as Fields[]).findLastIndex(({ role }) => role === 'user')
    const written = (messages as Fields[]).slice(last + 1).map(({ parts }) => textOf(parts))
    const input = state === 'input-required' ? { text: written.at(-1) ?? '', task: taskId as string } : undefined
    // a record keeps the beginning of a long text; what a reload missed of the rest cannot be read again
    const text = written.join('')
    const isLonger = task === undefined && retry === undefined && known.length + (delta?.length ?? 0) > text.length
    known = isLonger ? known + (delta ?? '') : text
    yield {
      task: taskId,
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
