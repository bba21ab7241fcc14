import { test } from 'tap'
import OpenAI from 'openai'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Interpreter } from '@polyvac/core'
import { makeApp } from './fixtures/app.js'

const echo: Interpreter = async function * (question, _name, history, extra) {
  yield `${history.map(({ role, content }) => `${role}=${content}`).join(',')}|`
  yield question
  return { answer: `${history.map(({ role, content }) => `${role}=${content}`).join(',')}|${question}`, source_documents: [{ page_content: 'p', metadata: { t: extra.temperature } }] }
}

async function clientFor (app: FastifyInstance) {
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none', maxRetries: 0 })
}
const user = (content: string) => ({ role: 'user' as const, content })

test('the openai client completes a chat; the whole conversation counts', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const completion = await client.chat.completions.create({
    model: 'docs', temperature: 0.5, messages: [{ role: 'system', content: 's' }, user('a'), { role: 'assistant', content: 'b' }, { role: 'user', content: [{ type: 'text', text: 'q' }] }]
  })
  t.match(completion, {
    object: 'chat.completion',
    model: 'docs',
    choices: [{ index: 0, message: { role: 'assistant', content: 'system=s,user=a,assistant=b|q' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: Number, completion_tokens: Number, total_tokens: Number, estimated: true },
    source_documents: [{ page_content: 'p', metadata: { t: 0.5 } }]
  })
  t.ok(completion._request_id, 'the request id is at hand')
})

test('the openai client streams: the role first, each token once, the usage when asked for', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const chunks = []
  for await (const chunk of await client.chat.completions.create({ model: 'docs', stream: true, stream_options: { include_usage: true }, messages: [user('q')] })) chunks.push(chunk)
  t.strictSame(chunks.map(({ choices }) => choices[0]?.delta), [{ role: 'assistant', content: '' }, { content: '|' }, { content: 'q' }, {}, undefined])
  t.strictSame(chunks.map(({ choices }) => choices[0]?.finish_reason), [null, null, null, 'stop', undefined])
  t.match(chunks.at(-1)?.usage, { total_tokens: Number })
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1)

  const helper = client.chat.completions.stream({ model: 'docs', messages: [user('q')] })
  let deltas = ''
  helper.on('content', delta => { deltas += delta })
  t.equal(await helper.finalContent(), '|q')
  t.equal(deltas, '|q')
})

test('the usage that an interpreter reports is sent, and one that only returns is streamed', async t => {
  const app = await makeApp(() => ({ answer: 'whole', metadata: { usage: { prompt_tokens: 11, completion_tokens: 3 } } }))
  t.teardown(() => app.close())
  const client = await clientFor(app)
  t.strictSame((await client.chat.completions.create({ model: 'docs', messages: [user('q')] })).usage, { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 })
  t.equal(await client.chat.completions.stream({ model: 'docs', messages: [user('q')] }).finalContent(), 'whole')
})

test('models are the VACs', async t => {
  const app = await makeApp(echo, { vacs: { vacs: ['docs', 'other'] } })
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const ids = []
  for await (const model of client.models.list()) ids.push(model.id)
  t.strictSame(ids, ['docs', 'other'])
  t.match(await client.models.retrieve('docs'), { id: 'docs', object: 'model', owned_by: 'polyvac', name: String, description: String })
  await t.rejects(client.models.retrieve('nope'), { status: 404, code: 'model_not_found', message: /GET \/openai\/v1\/models lists those/ })
  await t.rejects(client.chat.completions.create({ model: 'gpt-4o-mini', messages: [user('q')] }), { status: 404, code: 'model_not_found', message: /GET \/openai\/v1\/models lists those/ })
})

test('errors are OpenAI error objects that the openai client reads', async t => {
  const app = await makeApp(async function * (question) {
    if (question === 'late') yield 'text'
    throw new Error('secret')
  })
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const refused = async (body: object, wanted: object): Promise<void> => {
    const err = await client.chat.completions.create({ model: 'docs', messages: [user('q')], ...body }).then(() => 'answered', (err: unknown) => err)
    t.match(err, wanted)
  }
  await refused({ model: 'dosc' }, { status: 404, code: 'model_not_found', type: 'invalid_request_error', param: 'model' })
  await refused({ messages: [] }, { status: 400, type: 'invalid_request_error', param: 'messages' })
  await refused({ messages: [{ role: 'assistant', content: 'x' }] }, { status: 400, message: /role user/ })
  await refused({ messages: [user('  ')] }, { status: 400, message: /blank/ })
  await refused({ messages: [{ role: 'nobody', content: 'x' }, user('x')] }, { status: 400, message: /body\/messages\/0\/role/, param: 'messages' })
  await refused({ messages: 'x' }, { status: 400 })
  await refused({ n: 2 }, { status: 400, message: /expected 1 or null/ })
  await refused({}, { status: 500, type: 'server_error', code: 'vac_interpreter_failed' })
  const error = await (async () => { for await (const chunk of await client.chat.completions.create({ model: 'docs', stream: true, messages: [user('late')] })) t.ok(chunk) })().catch((err: unknown) => err)
  t.match(error, { error: { code: 'vac_interpreter_failed' } }, 'a failure within the stream is thrown by the client')
  t.notMatch(JSON.stringify(error), /secret/)
  const malformed = await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', headers: { 'content-type': 'application/json' }, payload: '{' })
  t.match([malformed.statusCode, malformed.json()], [400, { error: { type: 'invalid_request_error', code: 'invalid_json' } }])
})

test('a client that aborts its stream stops the interpreter', async t => {
  let aborted = (): void => {}
  const seen = new Promise<void>(resolve => { aborted = resolve })
  const app = await makeApp(async function * (_q, _v, _h, { signal }) {
    signal.addEventListener('abort', () => { aborted() })
    for (;;) { yield 'x'; await delay(5) }
  })
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const stream = await client.chat.completions.create({ model: 'docs', stream: true, messages: [user('q')] })
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'x') break
  await seen
  t.pass('the signal fired')
})

test('parameters that the interpreter does not take are refused by name, and numbers are checked', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const image = { role: 'user', content: [{ type: 'text', text: 'q' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }
  for (const [param, value] of [
    ['tool_choice', 'required'], ['tool_choice', { type: 'function', function: { name: 'f' } }], ['function_call', { name: 'f' }], ['response_format', { type: 'json_object' }], ['stop', 'x'], ['stop', ['x']],
    ['logprobs', true], ['messages', [image]], ['temperature', 'x'], ['temperature', 2.1], ['top_p', 1.5], ['max_tokens', -1],
    ['max_tokens', 0.5], ['max_completion_tokens', 0], ['presence_penalty', 3], ['n', 2], ['seed', 0.5]
  ] as const) {
    const payload = { model: 'docs', messages: [user('q')], [param]: value }
    const response = await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload })
    t.equal(response.statusCode, 400, `${param}: ${response.body}`)
    t.match(response.json(), { error: { type: 'invalid_request_error', param, code: 'bad_request', message: new RegExp(param) } })
  }
})

test('the parameters that clients send by habit are accepted and reach the interpreter as extra.openai', async t => {
  let seen: unknown
  const app = await makeApp(async (_q, _v, _h, extra) => { seen = extra.openai; return 'yes' })
  t.teardown(() => app.close())
  const numbers = { temperature: 0, top_p: 1, max_tokens: 100, max_completion_tokens: 50, presence_penalty: 0, frequency_penalty: -2, seed: 7 }
  const noTools = { tools: [], tool_choice: 'auto', parallel_tool_calls: true, response_format: { type: 'text' }, modalities: ['text'] }
  const habits = { ...numbers, ...noTools, user: 'u', store: false, stop: null, logprobs: false, logit_bias: {}, metadata: { a: 'b' } }
  const payload = { model: 'docs', messages: [user('q')], n: 1, stream: false, stream_options: null, ...habits }
  const response = await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload })
  t.equal(response.statusCode, 200, response.body)
  t.strictSame(seen, habits)
})

test('parameters that change nothing are accepted, null and tools that need not be called among them', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
  for (const more of [
    { tools }, { tools, tool_choice: 'auto' }, { tools, tool_choice: 'none' }, { tools, tool_choice: { type: 'none' } }, { tools, tool_choice: { type: 'auto' } }, { tools, tool_choice: null }, { tools: null }, { functions: [{ name: 'f' }], function_call: 'auto' },
    { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools } } }, { stream: true, stream_options: { include_usage: null } },
    { stream: true, stream_options: {}, tools }, { stream_options: null, n: null, response_format: null }
  ]) {
    const response = await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages: [user('q')], ...more } })
    t.equal(response.statusCode, 200, `${JSON.stringify(more)} ${response.body}`)
  }
  const forced = { model: 'docs', messages: [user('q')], tools, tool_choice: 'required' }
  t.match((await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: forced })).json(), {
    error: { param: 'tool_choice', message: /cannot be made to call a tool; leave it out, or send "auto" or "none"/ }
  })
})

test('an interpreter that takes tools calls them through the openai client, and gets the results', async t => {
  const histories: unknown[] = []
  const agent: Interpreter = async function * (_question, _name, history, { openai }) {
    const { messages, tools } = openai as { messages: Array<{ role: string, content: string }>, tools: unknown[] }
    const result = messages.findLast(({ role }) => role === 'tool')
    histories.push(history)
    if (result !== undefined) return yield `it is ${result.content}`
    yield 'let me see'
    return { answer: 'let me see', tool_calls: [{ id: 'c1', name: 'weather', input: { city: 'Kiel' } }, { name: 'time', input: '{"zone":"CET"}' }, ...tools.length > 1 ? [] : [{ id: 'c3', type: 'function', function: { name: 'f', arguments: '{}' } }]] }
  }
  agent.openai = ['tools']
  const app = await makeApp(agent)
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }]
  const first = await client.chat.completions.create({ model: 'docs', messages: [user('q')], tools })
  const called = first.choices[0]!
  t.match(called, { finish_reason: 'tool_calls', message: { content: 'let me see' } })
  const expected = [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Kiel"}' } }, { type: 'function', function: { name: 'time', arguments: '{"zone":"CET"}' } }, { id: 'c3', function: { name: 'f', arguments: '{}' } }]
  t.match(called.message.tool_calls, expected)
  t.match(called.message.tool_calls![1]!.id, /^call_/)
  const results = called.message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '12 °C' }))
  const second = await client.chat.completions.create({ model: 'docs', messages: [user('q'), called.message, ...results], tools })
  t.match(second.choices[0], { finish_reason: 'stop', message: { content: 'it is 12 °C' } })
  t.strictSame(histories[1], [{ role: 'assistant', content: 'let me see' }, ...results.map(({ content }) => ({ role: 'assistant', content }))])
  const streamed = await client.chat.completions.stream({ model: 'docs', messages: [user('q')], tools }).finalChatCompletion()
  t.match(streamed.choices[0], { finish_reason: 'tool_calls', message: { content: 'let me see', tool_calls: expected } })
  const forbidden = await client.chat.completions.create({ model: 'docs', messages: [user('q')], tools, tool_choice: 'none' })
  t.match(forbidden.choices[0], { finish_reason: 'stop', message: { content: 'let me see', tool_calls: undefined } })
})

test('an answer may be only calls of tools, and a call without a name fails it', async t => {
  for (const [result, status, content] of [
    [{ tool_calls: [{ id: 'c', name: 'f' }] }, 200, null], [{ answer: null, tool_calls: [{ id: 'c', name: 'f', input: null }] }, 200, null],
    [{ answer: '', tool_calls: [] }, 200, ''], [{ answer: 'x', tool_calls: [{ id: 'c' }] }, 500, undefined], [{ answer: 'x', tool_calls: [null] }, 500, undefined]
  ] as const) {
    const agent: Interpreter = async () => result as never
    agent.openai = ['tools']
    const app = await makeApp(agent)
    const ask = async (more: object) => await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages: [user('q')], tools: [{ type: 'function', function: { name: 'f' } }], ...more } })
    const whole = await ask({})
    t.equal(whole.statusCode, status, whole.body)
    if (status === 200) t.equal(whole.json().choices[0].message.content, content)
    else t.match((await ask({ stream: true })).body, /tool_calls\[0\] without a string `name`[^]*\[DONE\]/)
    await app.close()
  }
})

test('an interpreter that declares parameters gets them, with the messages', async t => {
  let seen: unknown
  const agent: Interpreter = async (_q, _v, _h, extra) => { seen = extra.openai; return 'yes' }
  agent.openai = ['tools', 'images']
  const app = await makeApp(agent)
  t.teardown(() => app.close())
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'q' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }]
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const ask = async (more: object) => await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages, tools, ...more } })
  t.equal((await ask({})).statusCode, 200)
  t.strictSame(seen, { tools, messages })
  t.match((await ask({ stop: 'x' })).json(), { error: { param: 'stop' } })
})

test('unknown paths and methods are answered with OpenAI\'s error object, which names what exists', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  for (const path of ['/responses', '/embeddings', '/completions', '/models/docs/more', '/']) {
    const response = await app.inject({ method: 'POST', url: `/openai/v1${path}`, payload: {} })
    t.equal(response.statusCode, 404, path)
    t.match(response.json(), { error: { type: 'invalid_request_error', code: 'not_found', message: /no route POST .*POST \/openai\/v1\/chat\/completions/ } })
  }
  const wrong = await app.inject('/openai/v1/chat/completions')
  t.equal(wrong.statusCode, 405)
  t.equal(wrong.headers.allow, 'POST')
  t.match(wrong.json(), { error: { code: 'method_not_allowed', message: /not have the method GET; use POST/ } })
  for (const [method, path, meant] of [
    ['POST', '/chat/completions/', '/chat/completions'], ['GET', '/models/', '/models'], ['GET', '//models', '/models'], ['POST', '//chat/completions', '/chat/completions'],
    ['POST', '/v1/chat/completions', '/chat/completions'], ['GET', '/openai/v1/models', '/models'], ['POST', '/chat//completions/', '/chat/completions'], ['POST', '/chat/completions/docs/?x=1', '/chat/completions/docs']
  ] as const) {
    const payload = { model: 'docs', messages: [user('q')] }
    const response = await app.inject({ method, url: `/openai/v1${path}`, ...method === 'POST' && { payload } })
    t.match(response, { statusCode: 404, body: `did you mean \\"/openai/v1${meant}\\"?` }, `${path} ${response.body}`)
  }
  t.match((await app.inject('/openai/v1/models/docs/')).json(), { error: { message: /did you mean "\/openai\/v1\/models\/docs"\?/ } })
})

test('an interpreter takes what `takes` names, and reads it from extra.request', async t => {
  let seen: Record<string, unknown> = {}
  const agent: Interpreter = async (_question, _name, _history, extra) => { seen = extra; return 'yes' }
  const app = await makeApp(agent)
  const ask = async (more: object) => await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages: [user('q')], ...more } })
  const schema = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } }
  t.match((await ask(schema)).json(), { error: { param: 'response_format' } })
  await app.close()

  agent.takes = ['json_schema', 'stop']
  const taking = await makeApp(agent)
  t.teardown(() => taking.close())
  const response = await taking.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages: [user('q')], stop: ['x'], steps: true, ...schema } })
  t.equal(response.statusCode, 200, response.body)
  t.match(seen.request, { ...schema, stop: ['x'], messages: [{ content: 'q' }] })
  t.equal(seen.request, seen.openai, 'under the earlier name, too')
  t.notOk('steps' in seen || 'steps' in (seen.request as object), 'the ask for steps is not for the interpreter')
  await taking.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: { model: 'docs', messages: [user('q')], steps: 5 } })
  t.equal(seen.steps, 5, 'another value is')
})

test('sources with an address are annotations, of the message and of the last delta; others leave every byte as it was', async t => {
  const text = 'Thirty days [1].'
  let sources = [{ page_content: 'p', metadata: { url: 'https://shop.test/returns', title: 'Returns' } }, { page_content: 'q', metadata: { source: 'https://shop.test/news' } }]
  const app = await makeApp(async function * () {
    yield text
    return { answer: text, source_documents: sources }
  })
  t.teardown(() => app.close())
  const client = await clientFor(app)
  const annotations = [
    { type: 'url_citation', url_citation: { start_index: 12, end_index: 15, title: 'Returns', url: 'https://shop.test/returns' } },
    { type: 'url_citation', url_citation: { start_index: 16, end_index: 16, title: 'https://shop.test/news', url: 'https://shop.test/news' } }
  ]
  const body = { model: 'docs', messages: [user('q')] }
  t.strictSame((await client.chat.completions.create(body)).choices[0]?.message.annotations, annotations)
  const deltas = []
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) deltas.push(choices[0])
  t.match(deltas.at(-1), { delta: { annotations }, finish_reason: 'stop' })
  t.strictSame(deltas.flatMap(choice => Object.keys(choice?.delta ?? {})), ['role', 'content', 'content', 'annotations'])
  t.strictSame((await client.chat.completions.stream(body).finalMessage()).annotations, annotations)
  sources = [{ page_content: 'p', metadata: {} } as typeof sources[number]]
  t.notHas((await client.chat.completions.create(body)).choices[0]?.message, 'annotations')
})
