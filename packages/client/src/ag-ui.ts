import { errorIn, ServiceError } from './errors.js'
import { reopen } from './reopen.js'
import { addressOf, conversationOf, randomId, sendForEvents, sendForJson, toEnd, updateWith, type Json } from './send.js'
import type { Connection, Question, RunProtocol, RunReference, Source, Step, Update } from './types.js'

/** What a reply needs of the question. */
interface Waiting { readonly thread: string, readonly interrupt?: string }

/** AG-UI, below `/ag-ui`. A conversation is a thread. */
export const agUi: RunProtocol = {
  ask (question) {
    const { vac, text, history = [], conversation, reply } = question
    const waiting = reply?.state as Waiting | undefined
    const message = (turn: { readonly role: string, readonly content: string }): object => ({ id: randomId(), ...turn })
    const body = {
      threadId: waiting?.thread ?? conversation ?? randomId(),
      runId: randomId(),
      protocolVersion: '1.0',
      messages: waiting?.interrupt !== undefined ? [] : [...history, { role: 'user', content: text }].map(message),
      ...waiting?.interrupt !== undefined && { resume: [{ interruptId: waiting.interrupt, status: 'resolved', payload: text }] }
    }
    return toEnd(streamed(question, vac, { body }))
  },
  resume: reference => toEnd(streamed(reference, reference.vac, reference)),
  async stop (run) {
    const { stopped } = await sendForJson(run, `${routeOf(run, `agent/${encodeURIComponent(run.vac)}`)}/stop/${encodeURIComponent(run.run)}`, { body: {} })
    if (stopped !== true) throw new ServiceError('there is nothing to stop: the run has ended, or there is none with this id', { code: 'NOT_STOPPED' })
  }
}

const routeOf = (connection: Connection, path: string): string => `${addressOf(connection, 'ag-ui')}/${path}`

/** The updates of a run. One that is kept is read again where a connection ends. */
async function * streamed (connection: Connection & Pick<Question, 'steps'>, vac: string, begin: { readonly body: object } | Pick<RunReference, 'run' | 'after'>): AsyncGenerator<Update, void> {
  let { run, after = '-1' }: { readonly run?: string, readonly after?: string | undefined } = 'run' in begin ? begin : {}
  let conversation: Pick<Update, 'conversation'> | undefined
  const steps = connection.steps === true ? stepReader() : () => undefined
  async function * open (): AsyncGenerator<Update, void> {
    const route = routeOf(connection, encodeURIComponent(vac))
    const [url, request] = run === undefined ? [route, begin as { readonly body: object }] : [`${route}?runId=${encodeURIComponent(run)}&offset=${encodeURIComponent(after)}`, {}]
    const onResponse = (response: Response): void => {
      // without it the answer is not kept
      run ??= response.headers.get('x-run-id') ?? undefined
      conversation ??= conversationOf(response)
    }
    for await (const { id, value } of sendForEvents(connection, url, request, onResponse)) {
      if (value === undefined) continue
      after = id ?? after
      const step = steps(value)
      const update = { ...updateOf(value, run !== undefined), ...step !== undefined && { step }, ...run !== undefined && { run, cursor: after }, ...conversation }
      if (Object.keys(update).length > 0) yield update
    }
  }
  yield * reopen(connection.signal, open, () => run !== undefined)
}

/** The update of an event; later versions may add types of events. @throws ServiceError for a run that failed */
function updateOf (event: Json, isKept: boolean): Update {
  const { type, delta, content } = event
  // the text begins, or begins anew
  if (type === 'RUN_STARTED' || type === 'MESSAGES_SNAPSHOT') return { text: '' }
  if (type === 'TEXT_MESSAGE_CONTENT') return { delta: delta as string }
  if (type === 'ACTIVITY_SNAPSHOT' && event.activityType === 'polyvac.progress') return updateWith({ progress: content.progress, message: content.message })
  const { message, code, metadata } = event
  const error = type === 'RUN_ERROR' ? errorIn({ error: { message, code, requestId: metadata?.requestId } }) : undefined
  if (error !== undefined) throw error
  return type === 'RUN_FINISHED' ? endOf(event, isKept) : {}
}

function endOf (event: Json, isKept: boolean): Update {
  const { threadId: thread, outcome, result = {} } = event
  if (outcome?.type === 'cancelled') throw new ServiceError('the run was cancelled', { code: 'RUN_CANCELLED' })
  const { answer, source_documents: sources, metadata, input_required: asked, auth_required: needed } = result as Json
  const question = (asked ?? needed) as string | undefined
  const interrupt = outcome?.interrupts?.[0]?.id as string | undefined
  const waiting = { thread, ...interrupt !== undefined && { interrupt } }
  return updateWith({
    text: answer === '' && question !== undefined ? question : answer as string | undefined,
    isTruncated: metadata?.truncated as boolean | undefined,
    sources: sources as readonly Source[] | undefined,
    input: question === undefined ? undefined : { text: question, ...isKept && { state: waiting } },
    event,
    done: true
  })
}

/** Gives the steps of events, of which a call of a tool has several. */
function stepReader (): (event: Json) => Step | undefined {
  let call: { id: string, name: string, server?: string, input?: unknown } | undefined
  return ({ type, toolCallId, toolCallName, delta, content, metadata, name, value }) => {
    const id = String(toolCallId).replace(/^[^:]{36,39}:call:/, '')
    if (type === 'TOOL_CALL_START') {
      const server = metadata?.server as string | undefined
      call = { id, name: server === undefined ? toolCallName as string : (toolCallName as string).slice(server.length + 2), ...server !== undefined && { server } }
    }
    if (type === 'TOOL_CALL_ARGS' && call !== undefined && delta !== '{}') call.input = JSON.parse(delta as string)
    if (type === 'TOOL_CALL_END' && call !== undefined) return { tool_call: call }
    if (type === 'TOOL_CALL_RESULT') {
      const output = valueOf(content as string)
      const state = metadata?.state === 'failed' ? 'failed' : 'completed'
      const ms = metadata?.duration_ms as number | undefined
      const shown = state === 'failed' ? (output as Json | null)?.error : output
      return { tool_result: { id, state, ...shown != null && { [state === 'failed' ? 'error' : 'output']: shown }, ...ms !== undefined && { duration_ms: ms } } }
    }
    if (type === 'REASONING_MESSAGE_CONTENT') return { reasoning: delta as string }
    return type === 'CUSTOM' && ['source', 'data', 'file'].includes(name as string) ? { [name as string]: value } as unknown as Step : undefined
  }
}

/** The value of a JSON text, or the text. */
function valueOf (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
