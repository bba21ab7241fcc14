import { test } from 'tap'
import { memoryBudget } from '@polyvac/core/plugin'
import { until } from '../../../test/fixtures/until.js'
import { initialize, LegacySession, modern, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'

const source = sourceOf({
  capabilities: { run: (_args, { capabilities }) => says(JSON.stringify(capabilities)) },
  wait: {
    async run (_args, context) {
      await context.progress({ progress: 1 })
      await new Promise<void>(resolve => { context.signal.addEventListener('abort', () => { resolve() }) })
      return says('')
    }
  }
}, { resources: { list: () => [], read: () => ({ contents: [] }), subscribe: () => () => {} } })

const authenticate = ({ headers }: { headers: Record<string, unknown> }) => ({ owner: String(headers['x-owner']) })
const by = (owner: string) => ({ headers: { 'x-owner': owner } })

test('new sessions of an owner end its own oldest one, never that of another owner', async t => {
  const app = await serve(t, { sources: [source], authenticate, limits: { maxSessions: 8 } })
  const alice = await LegacySession.open(app, by('alice'))
  const bobs: LegacySession[] = []
  for (let i = 0; i < 20; i++) bobs.push(await LegacySession.open(app, by('bob')))
  t.match(await alice.request('ping'), { status: 200 })
  t.match(await bobs[17]?.request('ping'), { status: 404 }, 'a quarter of the places is two')
  t.match(await bobs[18]?.request('ping'), { status: 200 })
  t.match(await bobs[19]?.request('ping'), { status: 200 })
  const others = ['carol', 'dave', 'erin', 'frank']
  for (const owner of others) await LegacySession.open(app, by(owner))
  await LegacySession.open(app, by('alice'))
  t.match(await post(app, initialize('2025-11-25'), { 'x-owner': 'grace' }), { status: 503 }, 'all places are taken, none by this owner')
  t.match(await bobs[19]?.request('ping'), { status: 200 })
})

test('an owner with all streams that it may have leaves the others theirs', async t => {
  const app = await serve(t, { sources: [source], authenticate, limits: { maxStreams: 4 } })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const bob = await LegacySession.open(app, by('bob'))
  const open = new Wire(app, undefined, bob.headers, 'GET')
  await open.head
  const refused = await LegacySession.open(app, by('bob'))
  const second = new Wire(app, undefined, refused.headers, 'GET')
  t.equal((await second.head).statusCode, 503)
  const alice = await LegacySession.open(app, by('alice'))
  const hers = new Wire(app, undefined, alice.headers, 'GET')
  t.equal((await hers.head).statusCode, 200)
  open.request.destroy()
  hers.request.destroy()
})

test('an owner with as many open questions as it may have is asked no more, over all its sessions, and another is', async t => {
  const asking = sourceOf({
    ask: {
      async run (_args, context) {
        await context.ask({ which: { method: 'elicitation/create', params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } } })
        return says('heard')
      }
    }
  })
  const app = await serve(t, { sources: [asking], authenticate, limits: { maxOpenQuestions: 8 } })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (owner: string): Promise<[LegacySession, Wire]> => {
    const session = await LegacySession.open(app, { ...by(owner), capabilities: { elicitation: {} } })
    const wire = new Wire(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } }, session.headers)
    await until(() => /elicitation\/create|cannot be asked/.test(wire.text), 'the caller is asked, or is not')
    return [session, wire]
  }
  const [first, second] = [await ask('bob'), await ask('bob')]
  t.match(first[1].text, /elicitation\/create/)
  t.match(second[1].text, /elicitation\/create/)
  t.match((await ask('bob'))[1].text, /as many questions as one owner may have are open/)
  t.match((await ask('alice'))[1].text, /elicitation\/create/)
  const id = /"id":"(ask-\d+)"/.exec(first[1].text)?.[1]
  await post(app, { jsonrpc: '2.0', id, result: { action: 'decline' } }, first[0].headers)
  await first[1].until('heard')
  t.match((await ask('bob'))[1].text, /elicitation\/create/, 'an answer frees a place')
  second[1].request.destroy()
  await app.inject({ method: 'DELETE', url: '/mcp', headers: second[0].headers })
  t.match((await ask('bob'))[1].text, /elicitation\/create/, 'and so does the end of a session')
})

test('a session keeps the capabilities that the protocol knows, and nothing long', async t => {
  const app = await serve(t, { sources: [source] })
  const before = memoryBudget.used
  const long = 'x'.repeat(100_000)
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] }, 'com.example/long': { long }, ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`com.example/${i}`, {}])) }
  const capabilities = { elicitation: { form: { long }, other: {} }, roots: { listChanged: true, long }, experimental: { long }, [long]: {}, extensions }
  const session = await LegacySession.open(app, { capabilities })
  const { json } = await session.request('tools/call', { name: 'capabilities' })
  const kept = JSON.parse(json.result?.content[0].text) as typeof capabilities
  t.strictSame({ ...kept, extensions: undefined }, { elicitation: { form: {} }, roots: {}, extensions: undefined })
  t.equal(Object.keys(kept.extensions).length, 20)
  t.strictSame(kept.extensions['io.modelcontextprotocol/ui'], { mimeTypes: ['text/html'] })
  t.ok(memoryBudget.used > before, 'the session is counted')
  t.ok(memoryBudget.used < before + 20_000)
  await app.inject({ method: 'DELETE', url: '/mcp', headers: session.headers })
  t.equal(memoryBudget.used, before, 'and no longer when it has ended')
})

test('long URIs, cursors and ids are refused', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  const long = 'x'.repeat(10_000)
  for (const [method, params] of [
    ['resources/subscribe', { uri: long }], ['resources/unsubscribe', { uri: long }], ['tools/list', { cursor: long }],
    ['logging/setLevel', { level: long }], ['tasks/get', { taskId: long }], ['tools/call', { name: 'capabilities', _meta: { progressToken: long } }]
  ] as Array<[string, Record<string, unknown>]>) {
    const { json, body } = await session.request(method, params)
    t.match(json.error, { code: method === 'tasks/get' ? /-3260[12]/ : -32602 }, method)
    t.ok(body.length < 1_000, `the error for ${method} is short`)
  }
  t.match(await post(app, { jsonrpc: '2.0', id: long, method: 'ping' }, session.headers), { status: 400, json: { error: { code: -32600 } } })
  t.match((await modern(app, 'subscriptions/listen', { notifications: { resourceSubscriptions: [long] } })).json.error, { code: -32602 })
})

test('subscriptions and sessions past the memory budget are refused, or end the oldest sessions of their owner', async t => {
  const app = await serve(t, { sources: [source], authenticate })
  const { limit, used } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  memoryBudget.limit = used + 400_000
  const alice = await LegacySession.open(app, by('alice'))
  const bobs: LegacySession[] = []
  for (let i = 0; i < 60; i++) bobs.push(await LegacySession.open(app, by('bob')))
  t.match(await bobs[0]?.request('ping'), { status: 404 })
  t.match(await bobs[59]?.request('ping'), { status: 200 })
  t.match(await alice.request('ping'), { status: 200 })
  let refused = 0
  for (let i = 0; i < 20; i++) if ((await bobs[59]?.request('resources/subscribe', { uri: `x://${i}/${'y'.repeat(4_000)}` }))?.status === 503) refused++
  t.ok(refused > 0, 'the owner has used up its share')
  t.match(await alice.request('resources/subscribe', { uri: 'x://alice' }), { status: 200, json: { result: {} } })
})

test('a call that goes on without its client is counted until it ends', async t => {
  const app = await serve(t, { sources: [source] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { used } = memoryBudget
  const session = await LegacySession.open(app)
  let isClosed = false
  app.server.once('connection', socket => { socket.once('close', () => { setImmediate(() => { isClosed = true }) }) })
  const wire = new Wire(app, { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'wait', arguments: { text: 'x'.repeat(50_000) }, _meta: { progressToken: 1 } } }, session.headers)
  await wire.until('"progress":1')
  wire.request.destroy()
  await until(() => isClosed, 'the server sees the end of the connection')
  t.ok(memoryBudget.used > used + 100_000, 'the parameters are counted')
  await app.inject({ method: 'DELETE', url: '/mcp', headers: session.headers })
  await until(() => memoryBudget.used <= used, 'nothing is counted any more')
})
