import type { Chunk, Interpreter } from '@polyvac/core'
import fc from 'fast-check'
import OpenAI7 from 'openai-7'
import { ResponsesWS } from 'openai-7/resources/responses/ws'
import { test } from 'tap'
import { until } from './fixtures/until.js'
import { eventsOf } from './probes/events.mjs'
import { CLIENTS } from './responses/clients.mjs'
import { makeService, SOURCES, type ResponsesService } from './responses/service.js'

interface ResponseObject { readonly id: string, readonly status: string, readonly output: ReadonlyArray<Readonly<Record<string, unknown>>>, readonly error: object | null }
interface ResponseEvent { readonly type: string, readonly sequence_number: number, readonly delta?: string, readonly response?: ResponseObject }

/** Every field of a response, in each state. */
const FIELDS = [
  'id', 'object', 'created_at', 'completed_at', 'status', 'model', 'output', 'error', 'incomplete_details', 'usage', 'instructions', 'previous_response_id', 'max_output_tokens',
  'max_tool_calls', 'safety_identifier', 'prompt_cache_key', 'tools', 'tool_choice', 'parallel_tool_calls', 'store', 'background', 'text', 'reasoning', 'temperature', 'top_p',
  'presence_penalty', 'frequency_penalty', 'top_logprobs', 'truncation', 'service_tier', 'metadata', 'conversation', 'user'
]
const NEVER_NULL = FIELDS.filter(name => !['completed_at', 'error', 'incomplete_details', 'usage', 'instructions', 'previous_response_id', 'max_output_tokens', 'max_tool_calls',
  'safety_identifier', 'prompt_cache_key', 'reasoning', 'conversation', 'user'].includes(name))
const ENDS = ['response.completed', 'response.failed', 'response.incomplete']

const post = async ({ app }: ResponsesService, body: object, path = '') => await app.inject({ method: 'POST', url: `/openai/v1/responses${path}`, payload: { model: 'docs', ...body } })
const get = async ({ app }: ResponsesService, path: string) => await app.inject({ url: `/openai/v1/responses/${path}` })
/** The events without `[DONE]`. The store has its own time of the end, which may be a second later. */
const read = (body: string): ResponseEvent[] => eventsOf(body.replace(/"completed_at":\d+/g, '"completed_at":1')).slice(0, -1).map(({ data }) => data as ResponseEvent)
const textOf = (events: readonly ResponseEvent[]): string => events.map(({ type, delta }) => type === 'response.output_text.delta' ? delta : '').join('')

test('a response has every field in every state and in every place', async t => {
  const service = await makeService(t)
  const places: Record<string, ResponseObject> = {}
  places.completed = (await post(service, { input: 'hello' })).json()
  const background = (await post(service, { input: 'wait', background: true })).json() as ResponseObject
  places.queued = background
  await until(() => service.work.asked.at(-1)!.question === 'wait', 'the agent is asked')
  const isRunning = async (): Promise<ResponseObject | undefined> => {
    const response = (await get(service, background.id)).json() as ResponseObject
    return response.status === 'in_progress' ? response : undefined
  }
  places['in progress, polled'] = await until(isRunning, 'the response is in progress')
  places['cancelled, at once'] = (await post(service, {}, `/${background.id}/cancel`)).json()
  places['cancelled, polled'] = (await get(service, background.id)).json()
  for (const question of ['hello', 'late', 'fail', 'ask me']) {
    for (const { type, response } of read((await post(service, { input: question, stream: true })).body)) if (response !== undefined) places[`${question}: ${type}`] = response
    const [{ response }] = read((await post(service, { input: question, stream: true })).body) as [ResponseEvent]
    places[`${question}, polled`] = (await get(service, response!.id)).json()
  }
  places.incomplete = read((await get(service, `${background.id}?stream=true`)).body).at(-1)!.response!
  t.strictSame(new Set(Object.values(places).map(({ status }) => status)), new Set(['completed', 'queued', 'in_progress', 'cancelled', 'failed']))
  for (const [place, response] of Object.entries(places)) {
    t.strictSame(FIELDS.filter(name => !(name in response)), [], place)
    t.strictSame(NEVER_NULL.filter(name => (response as unknown as Record<string, unknown>)[name] === null), [], place)
    t.equal(response.error !== null, response.status === 'failed', `${place} has an error if it failed`)
  }
  t.strictSame((({ status, incomplete_details: details }: any) => [status, details])(places.incomplete), ['cancelled', { reason: 'cancelled' }])
})

const words = fc.string({ unit: 'grapheme', maxLength: 12 })
const chunk = fc.oneof(
  { weight: 4, arbitrary: words },
  fc.record({ progress: fc.double({ min: 0, max: 1, noNaN: true }), message: words }, { requiredKeys: ['progress'] }),
  words.map(reasoning => ({ reasoning })),
  fc.nat(3).map(n => ({ tool_call: { id: `c${n}`, name: `tool${n}`, input: {} } })),
  fc.tuple(fc.nat(3), fc.boolean()).map(([n, fails]) => ({ tool_result: { id: `c${n}`, output: 'x', ...fails && { state: 'failed' as const } } }))
) as fc.Arbitrary<Chunk>
const end = fc.constantFrom('return', 'answer', 'sources', 'question', 'throw', 'refuse')

test('the events of a response are the same live, from the beginning, and after any of them', async t => {
  await fc.assert(fc.asyncProperty(fc.array(chunk, { maxLength: 8 }), end, async (chunks, end) => {
    const agent: Interpreter = async function * () {
      yield * chunks
      const answer = chunks.filter(chunk => typeof chunk === 'string').join('')
      if (end === 'throw') throw new Error('secret')
      if (end === 'refuse') throw Object.assign(new Error('not today'), { code: 'NOT_TODAY', statusCode: 403, expose: true })
      if (end === 'question') return { answer: `${answer}?`, input_required: '?' }
      if (end !== 'return') return { answer: `${answer} [1]`, ...end === 'sources' && { source_documents: SOURCES } }
    }
    const closing: Array<() => unknown> = []
    const service = await makeService({ teardown: (close: () => unknown) => { closing.push(close) } } as never, { agent: () => agent })
    try {
      const live = read((await post(service, { input: 'x', stream: true })).body)
      t.strictSame(live.map(({ sequence_number: number }) => number), live.map((_, i) => i))
      t.strictSame(live.filter(({ type }) => ENDS.includes(type)), [live.at(-1)], 'one end')
      const { id } = live[0]!.response!
      for (const after of [undefined, ...live.keys()]) {
        const again = read((await get(service, `${id}?stream=true${after === undefined ? '' : `&starting_after=${after}`}`)).body)
        t.strictSame(again, live.slice((after ?? -1) + 1), `after ${after}`)
      }
      const polled = { ...(await get(service, id)).json() as ResponseObject, ...live.at(-1)!.type === 'response.completed' && { completed_at: 1 } }
      t.strictSame(polled, live.at(-1)!.response, 'a poll gives the last state')
      const added = live.filter(({ type }) => type === 'response.output_item.added') as unknown as Array<{ output_index: number, item: { id: string } }>
      t.strictSame(added.map(({ output_index: index }) => index), [...added.keys()])
      t.strictSame(added.map(({ item }) => item.id), polled.output.map(({ id }) => id))
    } finally {
      for (const close of closing) await close()
    }
  }), { numRuns: 25 })
})

for (const { version, connect } of CLIENTS.filter(({ client }) => client === 'openai')) {
  test(`openai ${version}: a stream is cut after each event, followed by its id, polled, cancelled, deleted and paged`, async t => {
    const service = await makeService(t)
    // openai 5 and 6 have what is used of 7
    const { client } = connect(service.url) as unknown as { client: OpenAI7 }
    const live: ResponseEvent[] = []
    for await (const event of await client.responses.create({ model: 'docs', input: 'one two', stream: true })) live.push(event as unknown as ResponseEvent)
    const { id } = live[0]!.response!
    for (const [k] of live.entries()) {
      const rest: ResponseEvent[] = []
      for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: k })) rest.push(event as unknown as ResponseEvent)
      t.equal(textOf([...live.slice(0, k + 1), ...rest]), 'You asked: one two [1]', `cut after ${k}`)
      t.equal(live.slice(0, k + 1).length + rest.length, live.length)
    }
    const followed = await client.responses.stream({ response_id: id }).finalResponse()
    t.equal(followed.id, id)
    t.match(followed.output.at(-1), { content: [{ text: 'You asked: one two [1]' }] })

    const background = await client.responses.create({ model: 'docs', input: 'later', background: true })
    t.match(background, { status: 'queued', output: [] })
    const polled = await until(async () => { const response = await client.responses.retrieve(background.id); return response.status === 'completed' ? response : undefined }, 'the response is completed')
    t.match(polled.output.at(-1), { content: [{ text: 'You asked: later [1]' }] })
    const unread = await client.responses.create({ model: 'docs', input: 'left', background: true, stream: true })
    let left = ''
    for await (const event of unread) {
      if (event.type !== 'response.created') continue
      left = event.response.id
      break
    }
    await until(async () => (await client.responses.retrieve(left)).status === 'completed', 'a reader may leave at the first event')

    const next = await client.responses.create({ model: 'docs', input: [{ role: 'user', content: 'and then' }], previous_response_id: id })
    const items = []
    for await (const item of client.responses.inputItems.list(next.id, { limit: 1, order: 'asc' })) items.push(item)
    t.match(items, [{ role: 'user', content: [{ text: 'one two' }] }, { type: 'reasoning' }, { role: 'assistant' }, { role: 'user', content: [{ text: 'and then' }] }])
    t.equal(new Set(items.map(item => 'id' in item ? item.id : undefined)).size, 4)

    await client.responses.delete(id)
    for (const gone of [client.responses.retrieve(id), client.responses.cancel(id), client.responses.delete(id)] as Array<Promise<unknown>>) {
      await t.rejects(gone, { status: 404, code: 'response_not_found' })
    }
    await t.rejects(client.responses.create({ model: 'docs', input: 'x', previous_response_id: id }) as Promise<unknown>, { status: 400, code: 'previous_response_not_found' })
  })
}

test('what is not served answers cleanly: a WebSocket, compact, the count of tokens', async t => {
  const service = await makeService(t)
  const socket = new ResponsesWS(new OpenAI7({ baseURL: `${service.url}/openai/v1`, apiKey: 'none' }))
  const error = await new Promise<Error>(resolve => { socket.on('error', resolve) })
  t.match(error.message, /40[45]|426/)
  for (const path of ['/compact', '/input_tokens']) {
    const response = await post(service, { input: 'x' }, path)
    t.equal(response.statusCode, 405, `${path}, which is where a response would be`)
    t.match(response.json(), { error: { message: String, type: 'invalid_request_error', code: String } })
  }
  t.equal(service.work.asked.length, 0)
})
