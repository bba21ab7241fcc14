import { reopen } from './reopen.js'
import { addressOf, conversationOf, send, sendForEvents, sendForJson, toEnd, updateWith, type Json, type JsonEvent } from './send.js'
import type { Connection, Question, RunProtocol, RunReference, Source, Step, Update } from './types.js'

export interface DirectQuestion extends Question {
  /** The answer is a run, which goes on when its reader leaves; the service needs a store of tasks. */
  readonly background?: boolean | undefined
  /** Further fields of the body: `stream_timeout`, and those that the interpreter reads from `extra`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
}

/** Polyvac's own routes, below `/vac`. */
export const direct: RunProtocol<DirectQuestion> = { ask, resume, stop }

async function * ask (question: DirectQuestion): AsyncGenerator<Update, void> {
  const { vac, text, history, conversation, steps, background, fields } = question
  const body = {
    ...fields,
    user_input: text,
    ...history !== undefined && { chat_history: history },
    ...conversation !== undefined && { conversation_id: conversation },
    ...steps === true && { steps },
    ...background === true && { background }
  }
  const name = encodeURIComponent(vac)
  if (background === true) {
    const { run_id: run, conversation_id: id } = await sendForJson(question, routesOf(question, name), { body })
    yield { run, conversation: id }
    yield * resume({ ...question, run })
    return
  }
  yield * toEnd(streamed(question, body, name))
}

async function * streamed (question: Question, body: object, name: string): AsyncGenerator<Update, void> {
  let conversation: Pick<Update, 'conversation'> | undefined
  const events = sendForEvents(question, routesOf(question, `streaming/${name}/sse`), { body }, response => { conversation = conversationOf(response) })
  for await (const update of updatesOf(events)) yield { ...update, ...conversation }
}

async function * updatesOf (events: AsyncIterable<JsonEvent>, onEvent?: (event: JsonEvent) => void): AsyncGenerator<Update, void> {
  for await (const event of events) {
    onEvent?.(event)
    const update = updateOf(event)
    if (Object.keys(update).length > 0) yield update
  }
}

async function * resume (reference: RunReference): AsyncGenerator<Update, void> {
  const { run, signal } = reference
  let { after = '0' } = reference
  async function * open (): AsyncGenerator<Update, void> {
    const url = `${runOf(reference)}/stream?after=${encodeURIComponent(after)}`
    const events = sendForEvents(reference, url, {})
    for await (const update of updatesOf(events, ({ id = after }) => { after = id })) yield { ...update, run, cursor: after }
  }
  yield * toEnd(reopen(signal, open))
}

async function stop (run: RunReference): Promise<void> {
  await (await send(run, `${runOf(run)}/cancel`, { body: {} })).body?.cancel()
}

const routesOf = (connection: Connection, path: string): string => `${addressOf(connection, 'vac')}/${path}`
const runOf = (reference: RunReference): string =>
  routesOf(reference, `${encodeURIComponent(reference.vac)}/runs/${encodeURIComponent(reference.run)}`)

/** The update of an event; later versions may add types of events. */
function updateOf ({ event, value = {} }: JsonEvent): Update {
  if (event === 'restart') return { text: '' }
  if (event === 'step') return { step: value as unknown as Step }
  if (event === 'progress') return updateWith({ progress: value.progress, message: value.message })
  if (event !== undefined) return {}
  return typeof value.chunk === 'string' ? { delta: value.chunk } : typeof value.answer === 'string' ? resultOf(value) : {}
}

function resultOf (value: Json): Update {
  const { answer, source_documents: sources, input_required: input, metadata, conversation_id: conversation } = value
  return updateWith({
    text: answer as string,
    isTruncated: metadata?.truncated as boolean | undefined,
    sources: sources as readonly Source[] | undefined,
    input: input == null ? undefined : { text: String(input) },
    conversation: conversation as string | undefined,
    event: value,
    done: true
  })
}
