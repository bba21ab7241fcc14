import { createGateway } from '@polyvac/mcp-gateway'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import type { ServerRequest, ToolSource } from '../src/index.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { behind } from './fixtures/behind.js'
import { LegacySession, messagesIn, modern, modernBody, modernHeaders, post, says, serve, sourceOf, Wire, type Reply, type Rpc } from './fixtures/wire.js'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const able = { capabilities: { elicitation: {}, extensions: { [EXTENSION]: {} } } }
const authenticate = ({ headers }: FastifyRequest): { owner: string } => ({ owner: String(headers.authorization ?? 'nobody') })
const by = (owner: string): { headers: Record<string, string> } => ({ headers: { authorization: owner } })

/** A server of ours over HTTP, and another one before it whose tools are those of the first, as `up__<tool>`. */
async function serveThrough (t: Test, source: ToolSource, { isLegacy = false, options = {} }: { isLegacy?: boolean, options?: object } = {}): Promise<FastifyInstance> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const upstream = await serve(t, { sources: [source], tasks })
  t.teardown(() => tasks.close())
  const gateway = createGateway({ servers: { up: { url: `${await behind(upstream, isLegacy)}/mcp` } } })
  gateway.start()
  t.teardown(() => gateway.close())
  const app = await serve(t, { sources: [gateway.toolSource()], authenticate, ...options })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

type Test = Parameters<typeof serve>[0]

const form = (message: string): ServerRequest => ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: { type: 'object', properties: { x: { type: 'string' } } } } })
const call = (name: string, args: object = {}): Record<string, unknown> => ({ name: `up__${name}`, arguments: args })
const accepts = (x: string): object => ({ action: 'accept', content: { x } })

const asking = sourceOf({
  two: {
    async run (_args, context) {
      const first = await context.ask({ one: form('one'), other: form('other') })
      const second = await context.ask({ last: form('last') })
      return says(JSON.stringify([first.one.content, first.other.content, second.last.content]))
    }
  },
  samples: { run: async (_args, context) => says(JSON.stringify(await context.ask({ s: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } }))) },
  roots: { run: async (_args, context) => says(JSON.stringify((await context.ask({ r: { method: 'roots/list' } })).r.roots)) }
})

test('questions of a server go to a caller of its era as they are, and the answers back', async t => {
  const app = await serveThrough(t, asking)
  const first = (await modern(app, 'tools/call', call('two'), able)).json.result!
  t.match(first, { resultType: 'input_required', inputRequests: { one: { params: { message: 'one' } }, other: {} }, requestState: String })
  const partial = (await modern(app, 'tools/call', { ...call('two'), inputResponses: { one: accepts('a'), stray: {} }, requestState: first.requestState }, able)).json.result!
  t.strictSame(Object.keys(partial.inputRequests), ['other'], 'what was left out is asked again')
  const second = (await modern(app, 'tools/call', { ...call('two'), inputResponses: { other: accepts('b') }, requestState: partial.requestState }, able)).json.result!
  t.strictSame(Object.keys(second.inputRequests), ['last'])
  const last = { ...call('two'), inputResponses: { last: accepts('c') }, requestState: second.requestState }
  t.match((await modern(app, 'tools/call', last, { ...able, ...by('eve') })).json.error, { code: -32602, message: /another caller/ })
  t.match((await modern(app, 'tools/call', { ...last, arguments: { other: 1 } }, able)).json.error, { code: -32602 })
  t.match((await modern(app, 'tools/call', { ...last, requestState: `${String(second.requestState).slice(0, -2)}xx` }, able)).json.error, { code: -32602, message: /not issued/ })
  t.match((await modern(app, 'tools/call', last, able)).json.result, { resultType: 'complete', content: [{ text: '[{"x":"a"},{"x":"b"},{"x":"c"}]' }] })
})

test('what a caller can answer is what its server is told', async t => {
  const app = await serveThrough(t, asking)
  t.match(await modern(app, 'tools/call', call('samples'), able), { status: 400, json: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } } })
  t.match((await modern(app, 'tools/call', call('roots'), { capabilities: { roots: {} } })).json.result, { inputRequests: { r: { method: 'roots/list' } } })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  t.match((await session.request('tools/call', call('samples'))).json.result, { isError: true, content: [{ text: /declare/ }] })
})

test('a caller of the era before answers a server that asks in its results', async t => {
  const app = await serveThrough(t, asking)
  const session = await LegacySession.open(app, { capabilities: { elicitation: {}, roots: {} } })
  const roots = await answering(app, session, 'roots', () => ({ roots: [{ uri: 'file:///here' }] }))
  t.match(roots.result, { content: [{ text: '[{"uri":"file:///here"}]' }] })
  const two = await answering(app, session, 'two', ({ params }) => accepts(String(params?.message)))
  t.match(two.result, { content: [{ text: '[{"x":"one"},{"x":"other"},{"x":"last"}]' }] })
})

/** Calls a tool in a session and answers its questions until there is a response. */
async function answering (app: FastifyInstance, session: LegacySession, tool: string, answer: (question: Rpc) => object): Promise<Rpc> {
  const wire = new Wire(app, { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: call(tool) }, session.headers)
  const answered = new Set<unknown>()
  for (;;) {
    for (const message of messagesIn(wire.text.slice(0, wire.text.lastIndexOf('\n\n') + 2))) {
      if (message.method === undefined) return message
      if (message.id === undefined || answered.has(message.id)) continue
      answered.add(message.id)
      await post(app, { jsonrpc: '2.0', id: message.id, result: answer(message) }, session.headers)
    }
    await delay(5)
  }
}

for (const isLegacy of [true, false]) {
  test(`what a server of the ${isLegacy ? 'older' : 'newer'} era asks and logs in a call reaches the caller of that call, whoever else calls`, async t => {
    const app = await serveThrough(t, sourceOf({
      talk: {
        async run ({ who }, context) {
          await context.message({ level: 'info', logger: 'tool', data: `begun for ${String(who)}` })
          await delay(20)
          await context.message({ level: 'debug', data: 'a detail' })
          const { q } = await context.ask({ q: form(`Who are you, ${String(who)}?`) })
          return says(`${String(who)}: ${String((q.content as { x: string }).x)}`)
        }
      }
    }), { isLegacy })
    const people = ['ada', 'bob', 'eve', 'mia']
    const ended = await Promise.all(people.map(async who => {
      const session = await LegacySession.open(app, { capabilities: { elicitation: {} }, headers: { authorization: who } })
      await session.request('logging/setLevel', { level: 'info' })
      const wire = new Wire(app, { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: call('talk', { who }) }, session.headers)
      let seen: Rpc[] = []
      for (let isAnswered = false; ;) {
        seen = messagesIn(wire.text.slice(0, wire.text.lastIndexOf('\n\n') + 2))
        const question = seen.find(({ method, id }) => method === 'elicitation/create' && id !== undefined)
        if (question !== undefined && !isAnswered) {
          isAnswered = true
          await post(app, { jsonrpc: '2.0', id: question.id, result: accepts(who) }, session.headers)
        }
        if (seen.some(({ result, error }) => result !== undefined || error !== undefined)) break
        await delay(5)
      }
      return { who, seen }
    }))
    for (const { who, seen } of ended) {
      const logged = seen.filter(({ method }) => method === 'notifications/message').map(({ params }) => params)
      // in the newer era the tool is run again with the answer
      t.strictSame(logged, Array.from({ length: isLegacy ? 1 : 2 }, () => ({ level: 'info', logger: 'tool', data: `begun for ${who}` })))
      t.match(seen.find(({ method }) => method === 'elicitation/create'), { params: { message: `Who are you, ${who}?` } })
      t.match(seen.at(-1)?.result, { content: [{ text: `${who}: ${who}` }] })
    }
  })
}

test('a server logs for the callers that want it, in either era', async t => {
  const app = await serveThrough(t, fixtureSource())
  const logs = async (meta: object): Promise<unknown[]> => messagesIn((await modern(app, 'tools/call', call('test_logging_tool'), { meta })).body).filter(({ method }) => method === 'notifications/message')
  t.strictSame(await logs({ 'io.modelcontextprotocol/logLevel': 'error' }), [])
  t.match(await logs({ 'io.modelcontextprotocol/logLevel': 'info' }), [{ params: { level: 'info', logger: 'fixture', data: 'a log message' } }])
})

test('tasks of a server are those of the caller that it made them for, and of nobody else', async t => {
  const app = await serveThrough(t, fixtureSource())
  const ada = { ...able, ...by('ada') }
  const eve = { ...able, ...by('eve') }
  const { taskId } = (await modern(app, 'tools/call', call('confirm_delete', { filename: 'a' }), ada)).json.result as { taskId: string }
  const get = (as: object): Promise<Reply> => modern(app, 'tasks/get', { taskId }, as)
  const status = async (wanted: string): Promise<Record<string, any>> => {
    for (;;) {
      const { json } = await get(ada)
      if (json.error !== undefined) throw new Error(json.error.message)
      if (json.result?.status === wanted) return json.result
      await delay(10)
    }
  }
  const wire = new Wire(app, modernBody('subscriptions/listen', { notifications: { taskIds: [taskId, 'none'] } }, able.capabilities), { ...modernHeaders('subscriptions/listen', {}), authorization: 'ada' })
  const { inputRequests } = await status('input_required')
  const [key] = Object.keys(inputRequests)
  for (const [method, more] of [['tasks/get', {}], ['tasks/update', { inputResponses: { [key!]: accepts('x') } }], ['tasks/cancel', {}]] as const) {
    t.match((await modern(app, method, { taskId, ...more }, eve)).json.error, { code: -32602, message: /does not exist/ }, method)
    t.match((await modern(app, method, { taskId: `${taskId}x`, ...more }, ada)).json.error, { code: -32602 }, method)
    t.match((await modern(app, method, { taskId, ...more }, { capabilities: {}, ...by('ada') })).json.error, { code: -32021 }, method)
  }
  t.match((await modern(app, 'tasks/update', { taskId, inputResponses: { [key!]: { action: 'accept', content: { confirm: true } } } }, ada)).json.result, { resultType: 'complete' })
  const done = await status('completed')
  t.match(done, { taskId, resultType: 'complete', result: { content: [{ type: 'text' }] } })
  while (!wire.text.includes('"completed"')) await delay(10)
  const told = messagesIn(wire.text)
  t.match(told[0], { method: 'notifications/subscriptions/acknowledged', params: { notifications: { taskIds: [taskId] } } })
  t.match(told.at(-1), { method: 'notifications/tasks', params: { taskId, status: 'completed' } })
  wire.request.destroy()

  const other = (await modern(app, 'tools/call', call('slow_compute', { seconds: 60 }), ada)).json.result as { taskId: string }
  t.match((await modern(app, 'tasks/cancel', { taskId: other.taskId }, ada)).json.result, { resultType: 'complete' })
  t.match((await modern(app, 'tasks/get', { taskId: other.taskId }, ada)).json.result, { status: 'cancelled' })
})

test('a prompt and its arguments are asked for and completed at their server, whose errors stay what they are', async t => {
  const app = await serveThrough(t, fixtureSource())
  const prompt = { name: 'up__test_input_required_result_prompt', arguments: {} }
  const asked = (await modern(app, 'prompts/get', prompt, able)).json.result!
  t.match(asked, { resultType: 'input_required', inputRequests: { user_context: {} } })
  const answer = { inputResponses: { user_context: { action: 'accept', content: { context: 'here' } } }, requestState: asked.requestState }
  t.match((await modern(app, 'prompts/get', { ...prompt, ...answer }, able)).json.result, { messages: [{ content: { text: 'In the context of here' } }] })
  const completed = async (ref: object): Promise<Rpc> => (await modern(app, 'completion/complete', { ref, argument: { name: 'arg1', value: 'par' } })).json
  t.match((await completed({ type: 'ref/prompt', name: 'up__test_prompt_with_arguments' })).result, { completion: { values: ['paris', 'park', 'party'] } })
  t.match((await completed({ type: 'ref/resource', uri: 'test://template/{id}/data' })).result, { completion: { values: ['paris', 'park', 'party'] } })
  t.match((await completed({ type: 'ref/resource', uri: 'none://' })).error, { code: -32602 })
  t.match((await modern(app, 'resources/read', { uri: 'none://at.all' })).json.error, { code: -32602, data: { uri: 'none://at.all' } })
})

for (const isLegacy of [true, false]) {
  test(`a resource of a server of the ${isLegacy ? 'older' : 'newer'} era is watched for clients of both`, async t => {
    const uris = ['test://a', 'test://b']
    const watched = new Map<string, () => void>()
    const app = await serveThrough(t, sourceOf({}, {
      resources: {
        list: () => uris.map(uri => ({ uri, name: uri })),
        read: uri => ({ contents: [{ uri, text: '' }] }),
        subscribe (uri, changed) {
          watched.set(uri, changed)
          return () => { watched.delete(uri) }
        }
      }
    }), { isLegacy })
    const session = await LegacySession.open(app)
    const stream = new Wire(app, undefined, session.headers, 'GET')
    await stream.head
    t.match((await session.request('resources/subscribe', { uri: 'test://a' })).json, { result: {} })
    const listening = new Wire(app, modernBody('subscriptions/listen', { notifications: { resourceSubscriptions: uris } }), modernHeaders('subscriptions/listen', {}))
    while (watched.size < 2) await delay(5)
    // the stream that watches one of them ends when the one for both is there
    await delay(50)
    t.strictSame([...watched.keys()].sort(), uris)
    for (const changed of watched.values()) changed()
    const updates = (wire: Wire): unknown[] => messagesIn(wire.text.slice(0, wire.text.lastIndexOf('\n\n') + 2)).filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params?.uri)
    while (updates(stream).length < 1 || updates(listening).length < 2) await delay(5)
    t.strictSame(updates(stream), ['test://a'])
    t.strictSame(updates(listening).sort(), uris)
    listening.request.destroy()
    t.match((await session.request('resources/unsubscribe', { uri: 'test://a' })).json, { result: {} })
    while (watched.size > 0) await delay(5)
    stream.request.destroy()
  })
}

test('a tool that is always a task at its server is called by a client that knows no tasks', async t => {
  const app = await serveThrough(t, fixtureSource())
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  t.match((await session.request('tools/call', call('failing_job'))).json.result, { isError: true, content: [{ text: 'The job failed.' }] })
  t.match((await session.request('tools/call', call('protocol_error_job'))).json.result, { isError: true, content: [{ text: /MCP_CALL_FAILED/ }] })
  const asked: Rpc[] = []
  const answer = await answering(app, session, 'test_tool_with_task', question => { asked.push(question); return { action: 'accept', content: { name: 'Ada' } } })
  t.match(answer.result, { content: [{ text: /Ada/ }] })
  t.equal(asked.length, 1)
})

test('what such a task asks, its caller is asked', async t => {
  const app = await serveThrough(t, sourceOf({
    long: {
      taskSupport: 'required',
      async run (_args, context) {
        const { a } = await context.ask({ a: form('first') })
        const { b } = await context.ask({ b: form('second') })
        return says(JSON.stringify([a.content, b.content]))
      }
    }
  }))
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  t.match((await answering(app, session, 'long', ({ params }) => accepts(String(params?.message)))).result, { content: [{ text: '[{"x":"first"},{"x":"second"}]' }] })
  const silent = await LegacySession.open(app)
  t.match((await silent.request('tools/call', call('long'))).json.result, { isError: true }, 'who cannot be asked hears that')
})
