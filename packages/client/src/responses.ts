import { ServiceError } from './errors.js'
import { reopen } from './reopen.js'
import { addressOf, conversationOf, send, sendForEvents, toEnd, updateWith, type Json } from './send.js'
import type { Connection, Question, RunProtocol, RunReference, Source, Update } from './types.js'

export interface ResponsesQuestion extends Question {
  /** The answer goes on when its reader leaves, for longer than half a minute; the service has to keep answers. */
  readonly background?: boolean | undefined
}

/** The Responses API of OpenAI; the VAC is the model. A run is a response. */
export const responses: RunProtocol<ResponsesQuestion> = {
  ask (question) {
    const { vac, text, history, conversation, reply, background } = question
    // a response that is not kept cannot be followed, and one that is has its conversation
    const previous = reply?.state
    const body = {
      model: vac,
      stream: true,
      input: history === undefined || previous !== undefined ? text : [...history, { role: 'user', content: text }],
      ...previous !== undefined ? { previous_response_id: previous } : conversation !== undefined && { conversation },
      ...background === true && { background }
    }
    return toEnd(streamed(question, { body }))
  },
  resume: reference => toEnd(streamed(reference, reference)),
  async stop (run) {
    await (await send(run, `${routeOf(run, run.run)}/cancel`, { body: {} })).body?.cancel()
  }
}

const routeOf = (connection: Connection, id = ''): string => `${addressOf(connection, 'openai/v1')}/responses${id && `/${encodeURIComponent(id)}`}`

/** The updates of a response. One that is kept is read again where a connection ends. */
async function * streamed (connection: Connection & { readonly steps?: boolean | undefined }, begin: { readonly body: object } | Pick<RunReference, 'run' | 'after'>): AsyncGenerator<Update, void> {
  let { run, after = '-1' }: { readonly run?: string, readonly after?: string | undefined } = 'run' in begin ? begin : {}
  let conversation: Pick<Update, 'conversation'> | undefined
  async function * open (): AsyncGenerator<Update, void> {
    const [url, request] = run === undefined
      ? [routeOf(connection), begin as { readonly body: object }]
      : [`${routeOf(connection, run)}?stream=true${after === '-1' ? '' : `&starting_after=${encodeURIComponent(after)}`}`, {}]
    for await (const { value } of sendForEvents(connection, url, request, response => { conversation = conversationOf(response) })) {
      if (value === undefined) continue
      const { response, sequence_number: number } = value
      if (response?.store === true) run = response.id as string
      if (number >= 0) after = String(number)
      const update = { ...updateOf(value, connection.steps), ...run !== undefined && { run, cursor: after }, ...conversation }
      if (Object.keys(update).length > 0) yield update
    }
  }
  yield * reopen(connection.signal, open, () => run !== undefined)
}

/** The update of an event; later versions may add types of events. @throws ServiceError for a cancelled response */
function updateOf (event: Json, steps = false): Update {
  const { type, item, delta, response } = event
  // a reader learns that the answer has begun, also of one that is not kept
  if (type === 'response.created') return { text: '' }
  if (type === 'response.output_text.delta') return { delta: delta as string }
  // a service that begins the text anew begins another message
  if (type === 'response.output_item.added' && item?.type === 'message') return { text: '' }
  if (steps && type === 'response.reasoning_summary_text.delta') return { step: { reasoning: delta as string } }
  if (type === 'response.incomplete') throw new ServiceError('the response was cancelled', { code: 'RUN_CANCELLED' })
  if (type !== 'response.completed') return {}
  const { id, store, output, source_documents: sources, input_required: input } = response as Json
  const text = (output as Json[]).flatMap(({ type, content }) => type === 'message' ? (content as Json[]).map(part => part.text as string) : []).join('')
  return updateWith({
    text,
    sources: sources as readonly Source[] | undefined,
    input: input === true ? { text, ...store === true && { state: id } } : undefined,
    event,
    done: true
  })
}
