import { ServiceError } from './errors.js'
import { reopen } from './reopen.js'
import { addressOf, randomId, sendForEvents, sendForJson, toEnd, updateWith, type Json } from './send.js'
import type { Connection, Question, RunProtocol, RunReference, Source, Step, Update } from './types.js'

export interface A2aQuestion extends Question {
  /**
   * What the agent card names. Default 1.0. With `url`, the address that a card names, the question is a text, which
   * any agent takes; otherwise it names the skill `vac_stream_<vac>`.
   */
  readonly version?: A2aVersion | undefined
}
export type A2aVersion = '1.0' | '0.3'
export interface A2aRun extends RunReference { readonly version?: A2aVersion | undefined }

/** Methods of JSON-RPC by version. */
const METHODS = {
  '1.0': { send: 'SendStreamingMessage', subscribe: 'SubscribeToTask', get: 'GetTask', cancel: 'CancelTask' },
  0.3: { send: 'message/stream', subscribe: 'tasks/resubscribe', get: 'tasks/get', cancel: 'tasks/cancel' }
} as const

/** The artifacts that have the text of the answer, one for each turn of a task; the others are files and data. */
export const ANSWER = /^streaming_response(?:-\d+)?$/
/** Events without an id that wait for the one with it; more are read as they come. */
const MAX_STEP_EVENTS = 100
/** Characters of a streamed text that the record of a task has. */
const MAX_RECORD_CHARS = 256 * 1024
/** The states of a task without an answer, and the codes of their errors. */
const FAILED: Readonly<Record<string, { readonly code: string } | undefined>> = { failed: { code: 'TASK_FAILED' }, rejected: { code: 'VAC_REJECTED' }, canceled: { code: 'RUN_CANCELLED' } }

/** Tasks of A2A over JSON-RPC. A task goes on when its reader leaves, so a lost connection is opened again. */
export const a2a: RunProtocol<A2aQuestion, A2aRun> = { ask, resume, stop }

async function * ask (question: A2aQuestion): AsyncGenerator<Update, void> {
  const { vac, text, history, conversation, reply, steps, url, version = '1.0' } = question
  const isLatest = version === '1.0'
  const { task: taskId } = (reply?.state ?? {}) as { readonly task?: string }
  const parts = taskId === undefined && url === undefined
    ? [{ ...!isLatest && { kind: 'data' }, data: { skillName: `vac_stream_${vac}`, input: { query: text, ...history !== undefined && { chat_history: history } } } }]
    : [{ ...!isLatest && { kind: 'text' }, text }]
  const message = {
    ...!isLatest && { kind: 'message' },
    messageId: randomId(),
    role: isLatest ? 'ROLE_USER' : 'user',
    parts,
    ...taskId !== undefined && { taskId },
    ...conversation !== undefined && { contextId: conversation }
  }
  const call = rpc(question, version, 'send', { message, ...steps === true && { metadata: { steps } } })
  yield * follow(question, version, { message: call })
}

async function * resume (reference: A2aRun): AsyncGenerator<Update, void> {
  const { run, after, version = '1.0' } = reference
  yield * follow(reference, version, { run, cursor: after })
}

async function stop (reference: A2aRun): Promise<void> {
  const { run, version = '1.0' } = reference
  const call = rpc(reference, version, 'cancel', { id: run })
  await sendForJson(reference, call.url, call)
}

/** What is known of a task that is followed. */
interface Followed {
  run?: string | undefined
  cursor?: string | undefined
  text: string
  /** The artifact that is written, and where it begins in the text. */
  artifact?: string
  from: number
  /** The record of the task has only the beginning of the text, and what came later is lost. */
  isCut: boolean
}
type Call = ReturnType<typeof rpc>

/** Follows a task from its message, or from the event after the cursor, over as many connections as it takes. */
async function * follow (connection: Connection, version: A2aVersion, { run, cursor, message }: { run?: string, cursor?: string | undefined, message?: Call }): AsyncGenerator<Update, void> {
  const task: Followed = { run, cursor, text: '', from: 0, isCut: false }
  const placed = (value: Json): Update => {
    const update = updateOf(task, value)
    return { ...update, ...task.run !== undefined && { run: task.run }, ...task.cursor !== undefined && { cursor: task.cursor } }
  }
  async function * open (): AsyncGenerator<Update, void> {
    const call = task.run === undefined ? message! : rpc(connection, version, 'subscribe', { id: task.run }, task.cursor)
    // the events of one step have one id, which is that of the last of them
    // @keyed none: a list in order, of the events of one step; MAX_STEP_EVENTS
    const waiting: Json[] = []
    try {
      for await (const { id = '', value } of sendForEvents(connection, call.url, call)) {
        if (value !== undefined) waiting.push(value)
        if (id === '' && task.cursor !== undefined && waiting.length < MAX_STEP_EVENTS) continue
        const last = waiting.pop()
        for (const event of waiting.splice(0)) yield placed(event)
        if (id !== '') task.cursor = id
        const update = last === undefined ? {} : placed(last)
        if (last !== undefined) yield update
        // another agent may keep the stream open until the reply
        if (update.input !== undefined && connection.url !== undefined) return
      }
    } catch (err) {
      // a task that has ended has no stream, but its record
      if (call === message || !(err instanceof ServiceError) || !err.code.startsWith('-32')) throw err
      const get = rpc(connection, version, 'get', { id: task.run })
      const update = placed(await sendForJson(connection, get.url, get))
      if (update.done !== true) throw err
      yield update
    }
  }
  // a message that is sent again would begin another task
  yield * toEnd(reopen(connection.signal, open, () => task.run !== undefined))
}

function rpc (connection: Connection, version: A2aVersion, name: keyof typeof METHODS['1.0'], params: Json, cursor?: string) {
  return {
    url: addressOf(connection, 'a2a'),
    headers: { 'a2a-version': version, ...cursor !== undefined && { 'last-event-id': cursor } },
    body: { jsonrpc: '2.0', id: randomId(), method: METHODS[version][name], params }
  }
}

/** What an event or a record changes in the answer. @throws ServiceError where the task has failed */
function updateOf (task: Followed, value: Json): Update {
  const result = (value.result ?? value) as Json
  // 1.0 names the kind by the field around it
  const item = [result.task, result.message, result.statusUpdate, result.artifactUpdate].find(one => one !== undefined) as Json | undefined ?? result
  const { status, metadata, parts, artifact, append, contextId: conversation } = item
  const isMessage = parts !== undefined
  const isRecord = !isMessage && item.id !== undefined
  task.run = item.taskId ?? (isRecord ? item.id : task.run)
  if (isMessage) return updateWith({ text: textOf(parts), conversation, event: item, done: true })
  const state = String(status?.state ?? '').toLowerCase().replace('task_state_', '').replaceAll('_', '-')
  const notice: Json[] = status?.message?.parts ?? []
  const reason = textOf(notice)
  const failed = FAILED[state]
  if (failed !== undefined) throw new ServiceError(failureText(state, reason), { code: String(status.message?.metadata?.code ?? failed.code) })
  const artifacts: Json[] = artifact === undefined ? item.artifacts ?? [] : [artifact]
  const change = isRecord ? recordText(task, artifacts) : addText(task, artifact, append === true)
  const data = artifacts.flatMap(one => one.parts as Json[]).find(part => part.data?.source_documents !== undefined)?.data as Json | undefined
  const isDone = state === 'completed'
  const isWaiting = state === 'input-required'
  // an agent may put its answer there instead of into an artifact
  if (isDone && task.text === '' && reason !== '') task.text = change.text = reason
  return updateWith({
    ...change,
    isTruncated: task.isCut || data?.metadata?.truncated === true || undefined,
    sources: data?.source_documents as readonly Source[] | undefined,
    progress: metadata?.progress,
    step: notice.find(part => part.data?.step !== undefined)?.data.step as Step | undefined,
    message: state === 'working' && reason !== '' ? reason : undefined,
    input: isWaiting ? { text: reason, state: { task: task.run } } : undefined,
    signIn: state === 'auth-required' ? signInOf(reason, notice) : undefined,
    conversation,
    event: item,
    done: isDone || isWaiting || undefined
  })
}

type TextChange = { text?: string | undefined, delta?: string | undefined }

/** The text of the artifacts of a record, from its beginning. */
function recordText (task: Followed, artifacts: readonly Json[]): TextChange {
  const own = artifacts.findLast(({ artifactId }) => ANSWER.test(artifactId))
  const shown = own === undefined ? artifacts : [own]
  if (shown.length === 0) return {}
  const texts = shown.map(({ parts }) => textOf(parts))
  task.text = texts.join('')
  task.artifact = shown.at(-1)!.artifactId
  task.from = task.text.length - texts.at(-1)!.length
  task.isCut ||= task.text.length >= MAX_RECORD_CHARS - 1
  return { text: task.text }
}

/** The text of an artifact that is written: Polyvac has the answer in one; that of other agents may have several. */
function addText (task: Followed, artifact: Json | undefined, isMore: boolean): TextChange {
  const text = textOf(artifact?.parts)
  const id: string | undefined = artifact?.artifactId
  const isOwn = ANSWER.test(id ?? '')
  if (artifact === undefined || (!isOwn && (text === '' || ANSWER.test(task.artifact ?? '')))) return {}
  if (id !== task.artifact) task.from = isOwn ? 0 : task.text.length
  const isAdded = isMore || (!isOwn && id !== task.artifact)
  task.artifact = id!
  if (isAdded && task.isCut) return {}
  task.text = (isAdded ? task.text : task.text.slice(0, task.from)) + text
  return isAdded ? { delta: text } : { text: task.text }
}

function failureText (state: string, reason: string): string {
  return state === 'rejected' ? `the agent declined the task${reason && `: ${reason}`}` : reason || `the task is ${state}`
}

/** Where an agent asks for a sign-in: the address of its data, or the first one of its text. */
export function signInOf (text: string, parts: readonly Json[] = []): NonNullable<Update['signIn']> {
  const url: unknown = parts.find(({ data }) => data?.signIn !== undefined)?.data.signIn.url ?? /https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/.exec(text)?.[0]
  return { text, ...typeof url === 'string' && { url } }
}

const textOf = (parts: readonly Json[] = []): string => parts.map(({ text }) => text ?? '').join('')
