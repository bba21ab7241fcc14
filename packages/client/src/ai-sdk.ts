import { errorIn, ServiceError } from './errors.js'
import { reopen } from './reopen.js'
import { addressOf, conversationOf, send, sendForEvents, toEnd, updateWith, type Json } from './send.js'
import type { Connection, Question, RunProtocol, RunReference, Source, Update } from './types.js'

/** The UI message stream of the AI SDK. A run is that of a message. */
export const aiSdk: RunProtocol<Question> = {
  ask (question) {
    const { text, history = [], conversation, reply } = question
    const message = (role: string, text: string, i: number): object => ({ id: String(i), role, parts: [{ type: 'text', text }] })
    const messages = [...history.map(({ role, content }, i) => message(role, content, i)), message('user', text, history.length)]
    // a chat sends its last message where the service has the others; a reply is the next message of its chat
    const id = conversation ?? reply?.state
    return toEnd(streamed(question, { body: id === undefined ? { messages } : { id, message: messages.at(-1) } }))
  },
  resume: reference => toEnd(streamed(reference, reference)),
  async stop (run) {
    await (await send(run, `${routeOf(run)}/${encodeURIComponent(run.run)}/stop`, { body: { activeStreamId: run.run } })).body?.cancel()
  }
}

const routeOf = (connection: Connection & { readonly vac: string }): string => `${addressOf(connection, 'ai')}/${encodeURIComponent(connection.vac)}`

/** The cursor of a reader without a frame. */
const NOTHING = '0-0-0'
const beginningOf = (id: string): string => id.slice(0, id.indexOf('-'))

type Begin = { readonly body: object } | Pick<RunReference, 'run' | 'after'>

/** The updates of an answer. One that is kept is read again where a connection ends, from the frame where it did. */
async function * streamed (connection: Connection & { readonly vac: string, readonly steps?: boolean | undefined }, begin: Begin): AsyncGenerator<Update, void> {
  let { run, after }: { readonly run?: string, readonly after?: string | undefined } = 'run' in begin ? begin : {}
  let conversation: Pick<Update, 'conversation'> | undefined
  const answer = new Answer(connection.steps === true)
  async function * open (): AsyncGenerator<Update, void> {
    const route = routeOf(connection)
    const [url, request] = run === undefined
      ? [route, begin as { readonly body: object }]
      : [`${route}/${encodeURIComponent(run)}/stream`, { headers: { 'last-event-id': after ?? NOTHING } }]
    const onResponse = (response: Response): void => {
      if (response.status === 204) throw new ServiceError('there is no such run, or it is not kept any more', { code: 'RUN_NOT_FOUND', status: 204 })
      conversation = conversationOf(response)
      run ??= response.headers.get('x-workflow-run-id') ?? undefined
    }
    for await (const { id, value } of sendForEvents(connection, url, request, onResponse)) {
      // a text that begins at another event takes the place of the one before
      const isAnew = id !== undefined && id !== '' && after !== undefined && beginningOf(id) !== beginningOf(after)
      if (id !== undefined && id !== '') after = id
      const update = value === undefined ? undefined : answer.read(value)
      const { input } = update ?? {}
      if (isAnew) yield { text: '' }
      if (update === undefined) continue
      yield {
        ...update,
        ...run !== undefined && { run, ...after !== undefined && { cursor: after } },
        ...conversation,
        ...input !== undefined && { input: { ...input, ...conversation?.conversation !== undefined && { state: conversation.conversation } } }
      }
    }
  }
  yield * reopen(connection.signal, open, () => run !== undefined)
}

/** What the frames of an answer change. */
class Answer {
  readonly #steps: boolean
  // @keyed none: it lives for one answer, and has its sources
  readonly #sources: Source[] = []
  #input: Update['input']
  #isStopped = false

  constructor (steps: boolean) { this.#steps = steps }

  /** The update of a frame; undefined for one that changes nothing. @throws ServiceError */
  read (frame: Json): Update | undefined {
    const { type, delta, data } = frame
    // a reader learns that the answer begins, and that it begins anew
    if (type === 'start' || type === 'reset-step') return { text: '' }
    if (type === 'text-delta') return { delta: delta as string }
    if (type === 'data-progress') return updateWith({ progress: data.progress as number, message: data.message as string | undefined })
    const error = type === 'data-error' ? errorIn({ error: data }) : undefined
    if (error !== undefined) throw error
    if (type === 'abort') this.#isStopped = true
    if (type === 'source-url' || type === 'source-document') this.#sources.push(sourceOf(frame))
    if (type === 'data-input-required') this.#input = { text: data.question as string }
    if (type === 'finish') return this.#end(frame)
    return this.#steps ? stepOf(frame) : undefined
  }

  #end (event: Json): Update {
    if (this.#isStopped) throw new ServiceError('the answer was stopped', { code: 'RUN_CANCELLED' })
    return updateWith({ sources: this.#sources.length === 0 ? undefined : this.#sources, input: this.#input, event, done: true })
  }
}

function sourceOf ({ providerMetadata }: Json): Source {
  const { index: _index, page_content: content, ...metadata } = (providerMetadata?.polyvac ?? {}) as Record<string, unknown>
  return { page_content: String(content ?? ''), metadata }
}

function stepOf ({ type, toolCallId: id, toolName, input, output, errorText, delta }: Json): Update | undefined {
  if (type === 'reasoning-delta') return { step: { reasoning: delta as string } }
  if (type === 'tool-input-available') {
    const [name = '', server] = (toolName as string).split('__').reverse()
    return { step: { tool_call: { id, name, ...server !== undefined && { server }, input } } }
  }
  if (type === 'tool-output-available') return { step: { tool_result: { id, state: 'completed', output } } }
  return type === 'tool-output-error' ? { step: { tool_result: { id, state: 'failed', error: { message: errorText as string } } } } : undefined
}
