import { createGateway } from '@polyvac/mcp-gateway'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { CallContext, ServerRequest, ToolSource } from '../src/index.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { behind } from './fixtures/behind.js'
import { LegacySession, messagesIn, modern, modernBody, modernHeaders, post, says, serve, sourceOf, Wire, type Reply, type Rpc } from './fixtures/wire.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const able = { capabilities: { elicitation: {}, extensions: { [EXTENSION]: {} } } }
const authenticate = ({ headers }: FastifyRequest): { owner: string } => ({ owner: String(headers.authorization ?? 'nobody') })
const by = (owner: string): { headers: Record<string, string> } => ({ headers: { authorization: owner } })

/** An MCP server whose tools are those of an upstream server over HTTP, as `up__<tool>`. */
async function serveThrough (t: Test, source: ToolSource, { isLegacy = false, options = {} }: { isLegacy?: boolean, options?: object } = {}): Promise<FastifyInstance> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const upstream = await serve(t, { sources: [source], tasks })
  t.teardown(() => tasks.close())
  const gateway = createGateway({ servers: { up: { url: `${await behind(upstream, isLegacy)}/mcp` } } })
  await gateway.load()
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

test('questions of an upstream server and their answers pass through unchanged in the same era', async t => {
  const app = await serveThrough(t, asking)
  const first = (await modern(app, 'tools/call', call('two'), able)).json.result!
  t.match(first, { resultType: 'input_required', inputRequests: { one: { params: { message: 'one' } }, other: {} }, requestState: String })
  const partial = (await modern(app, 'tools/call', { ...call('two'), inputResponses: { one: accepts('a'), stray: {} }, requestState: first.requestState }, able)).json.result!
  t.strictSame(Object.keys(partial.inputRequests), ['other'], 'what was left out is asked again')
  const second = (await modern(app, 'tools/call', { ...call('two'), inputResponses: { other: accepts('b') }, requestState: partial.requestState }, able)).json.result!
  t.strictSame(Object.keys(second.inputRequests), ['last'])
  const last = { ...call('two'), inputResponses: { last: accepts('c') }, requestState: second.requestState }
  t.match((await modern(app, 'tools/call', last, { ...able, ...by('eve') })).json.error, { code: -32602, message: /did not issue/ })
  t.match((await modern(app, 'tools/call', { ...last, arguments: { other: 1 } }, able)).json.error, { code: -32602 })
  t.match((await modern(app, 'tools/call', { ...last, requestState: changeText(String(second.requestState)) }, able)).json.error, { code: -32602, message: /did not issue/ })
  t.match((await modern(app, 'tools/call', last, able)).json.result, { resultType: 'complete', content: [{ text: '[{"x":"a"},{"x":"b"},{"x":"c"}]' }] })
})

test('an upstream server gets the capabilities of the caller', async t => {
  const app = await serveThrough(t, asking)
  t.match(await modern(app, 'tools/call', call('samples'), able), { status: 400, json: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } } })
  t.match((await modern(app, 'tools/call', call('roots'), { capabilities: { roots: {} } })).json.result, { inputRequests: { r: { method: 'roots/list' } } })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  t.match((await session.request('tools/call', call('samples'))).json.result, { isError: true, content: [{ text: /declare/ }] })
})

test('a legacy caller answers a modern upstream server', async t => {
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
  return await until(async () => {
    for (const message of complete(wire)) {
      if (message.method === undefined) return message
      if (message.id === undefined || answered.has(message.id)) continue
      answered.add(message.id)
      await post(app, { jsonrpc: '2.0', id: message.id, result: answer(message) }, session.headers)
    }
    return undefined
  }, `${tool} is answered`)
}

/** The messages that have arrived whole. */
function complete (wire: Wire): Rpc[] {
  return messagesIn(wire.text.slice(0, wire.text.lastIndexOf('\n\n') + 2))
}

for (const isLegacy of [true, false]) {
  test(`questions and log messages of a ${isLegacy ? 'legacy' : 'modern'} upstream server reach only the caller of their call`, async t => {
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
      let isAnswered = false
      const seen = await until(async () => {
        const messages = complete(wire)
        const question = messages.find(({ method, id }) => method === 'elicitation/create' && id !== undefined)
        if (question !== undefined && !isAnswered) {
          isAnswered = true
          await post(app, { jsonrpc: '2.0', id: question.id, result: accepts(who) }, session.headers)
        }
        return messages.some(({ result, error }) => result !== undefined || error !== undefined) && messages
      }, `the call of ${who} is answered`)
      return { who, seen }
    }))
    for (const { who, seen } of ended) {
      const logged = seen.filter(({ method }) => method === 'notifications/message').map(({ params }) => params)
      // in the modern era the tool runs again with the answer
      t.strictSame(logged, Array.from({ length: isLegacy ? 1 : 2 }, () => ({ level: 'info', logger: 'tool', data: `begun for ${who}` })))
      t.match(seen.find(({ method }) => method === 'elicitation/create'), { params: { message: `Who are you, ${who}?` } })
      t.match(seen.at(-1)?.result, { content: [{ text: `${who}: ${who}` }] })
    }
  })
}

test('log messages reach the callers that ask for their level, in both eras', async t => {
  const app = await serveThrough(t, fixtureSource())
  const logs = async (meta: object): Promise<unknown[]> => messagesIn((await modern(app, 'tools/call', call('test_logging_tool'), { meta })).body).filter(({ method }) => method === 'notifications/message')
  t.strictSame(await logs({ 'io.modelcontextprotocol/logLevel': 'error' }), [])
  t.match(await logs({ 'io.modelcontextprotocol/logLevel': 'info' }), [{ params: { level: 'info', logger: 'fixture', data: 'a log message' } }])
})

test('a task of an upstream server is visible only to the caller of its call', async t => {
  const app = await serveThrough(t, fixtureSource())
  const ada = { ...able, ...by('ada') }
  const eve = { ...able, ...by('eve') }
  const { taskId } = (await modern(app, 'tools/call', call('confirm_delete', { filename: 'a' }), ada)).json.result as { taskId: string }
  const get = (as: object): Promise<Reply> => modern(app, 'tasks/get', { taskId }, as)
  const status = async (wanted: string): Promise<Record<string, any>> => {
    return await until(async () => {
      const { json: { result, error } } = await get(ada)
      if (error !== undefined) throw new Error(error.message)
      return result?.status === wanted && result
    }, `the task is ${wanted}`)
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
  await wire.until('"completed"')
  const received = messagesIn(wire.text)
  t.match(received[0], { method: 'notifications/subscriptions/acknowledged', params: { notifications: { taskIds: [taskId] } } })
  t.match(received.at(-1), { method: 'notifications/tasks', params: { taskId, status: 'completed' } })
  wire.request.destroy()

  const other = (await modern(app, 'tools/call', call('slow_compute', { seconds: 60 }), ada)).json.result as { taskId: string }
  t.match((await modern(app, 'tasks/cancel', { taskId: other.taskId }, ada)).json.result, { resultType: 'complete' })
  t.match((await modern(app, 'tasks/get', { taskId: other.taskId }, ada)).json.result, { status: 'cancelled' })
})

test('prompts and completions are forwarded to their server, whose errors pass through unchanged', async t => {
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
  test(`clients of both eras subscribe to a resource of a ${isLegacy ? 'legacy' : 'modern'} upstream server`, async t => {
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
    await until(() => watched.size === 2, 'both resources are subscribed to')
    // the time in which the listen stream for one of them ends, once the one for both is open
    await delay(50)
    t.strictSame([...watched.keys()].sort(), uris)
    for (const changed of watched.values()) changed()
    const updates = (wire: Wire): unknown[] => complete(wire).filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params?.uri)
    await until(() => updates(stream).length >= 1 && updates(listening).length >= 2, 'the updates have arrived')
    t.strictSame(updates(stream), ['test://a'])
    t.strictSame(updates(listening).sort(), uris)
    listening.request.destroy()
    t.match((await session.request('resources/unsubscribe', { uri: 'test://a' })).json, { result: {} })
    await until(() => watched.size === 0, 'no resource is subscribed to')
    stream.request.destroy()
  })
}

test('a client without tasks calls a tool that is always a task at its server', async t => {
  const app = await serveThrough(t, fixtureSource())
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  t.match((await session.request('tools/call', call('failing_job'))).json.result, { isError: true, content: [{ text: 'The job failed.' }] })
  t.match((await session.request('tools/call', call('protocol_error_job'))).json.result, { isError: true, content: [{ text: /MCP_CALL_FAILED/ }] })
  const asked: Rpc[] = []
  const answer = await answering(app, session, 'test_tool_with_task', question => { asked.push(question); return { action: 'accept', content: { name: 'Ada' } } })
  t.match(answer.result, { content: [{ text: /Ada/ }] })
  t.equal(asked.length, 1)
})

test('the questions of such a task reach its caller', async t => {
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

test('_meta of a caller reaches the server in both eras, without the keys of a connection', async t => {
  const seen = (context?: CallContext): string => JSON.stringify(Object.fromEntries(Object.entries(context?.meta ?? {}).filter(([key]) => !key.startsWith('io.modelcontextprotocol/') || key.endsWith('/stray'))))
  const source: ToolSource = {
    ...sourceOf({ meta: { run: async (_args, context) => says(seen(context)) } }),
    resources: { list: () => [{ uri: 'x://1', name: 'one' }], read: (uri, context) => ({ contents: [{ uri, text: seen(context) }] }) },
    prompts: { list: () => [{ name: 'p' }], get: (_name, _args, context) => ({ messages: [{ role: 'user', content: { type: 'text', text: seen(context) } }] }) }
  }
  const tenant = { 'com.example/tenant': 'acme', trace: { id: 7 }, list: [null, ''] }
  const _meta = { ...tenant, 'io.modelcontextprotocol/stray': 1 }
  const requests = [['tools/call', call('meta')], ['resources/read', { uri: 'x://1' }], ['prompts/get', { name: 'up__p' }]] as const
  for (const isLegacy of [false, true]) {
    const app = await serveThrough(t, source, { isLegacy })
    const session = await LegacySession.open(app)
    for (const [method, params] of requests) {
      const answers = [
        (await session.request(method, { ...params, _meta: { ..._meta, progressToken: 'mine' } })).json.result,
        (await modern(app, method, params, { meta: _meta })).json.result
      ]
      for (const answer of answers) {
        const { content = answer?.contents ?? answer?.messages.map((one: { content: object }) => one.content) } = answer!
        const { progressToken, ...got } = JSON.parse(content[0].text)
        t.strictSame(Object.entries(got), Object.entries(tenant), `${method} ${isLegacy}`)
        t.not(progressToken, 'mine')
      }
    }
  }
})
