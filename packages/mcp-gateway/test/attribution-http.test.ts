import type { ServerResponse } from 'node:http'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { Gateway } from '../src/index.js'
import { started } from './fixtures/app.js'
import { Caller } from './fixtures/caller.js'
import { handWritten, type Exchange } from './fixtures/hand-written.js'

const TASK = 'io.modelcontextprotocol/related-task'

interface Shared { readonly gateway: Gateway, readonly alice: Caller, readonly bob: Caller, forget (): void, request (text: string): Promise<Exchange>, ask (id: string, send: (message: object) => void, params?: object): Promise<unknown>, readonly stream: (message: object) => void }

/** A server of 2025-11-25 over Streamable HTTP; the test answers what callers request. */
async function shared (t: Test): Promise<Shared> {
  const open: Exchange[] = []
  const responses = new Map<unknown, unknown>()
  const streams: ServerResponse[] = []
  let isForgotten = false
  const { url } = await handWritten(t, exchange => {
    const { message: { id, method = '', result, error, params }, res } = exchange
    if (method === '' && id !== undefined) {
      responses.set(id, result ?? error)
      res.writeHead(202).end()
      return true
    }
    if (method === 'initialize') {
      isForgotten = false
      res.setHeader('mcp-session-id', `s${streams.length}`)
    }
    if (method === 'tools/list') {
      exchange.result({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }, { name: 'task', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }] })
      return true
    }
    if (isForgotten && id !== undefined) {
      res.writeHead(404).end()
      return true
    }
    if (!['tools/call', 'resources/read', 'prompts/get', 'tasks/get', 'tasks/result'].includes(method) || params?.arguments?.key === 'at once') return false
    open.push(exchange)
    return true
  }, { isModern: false, stream: res => { res.flushHeaders(); streams.push(res) } })
  const { gateway } = await started(t, [{ name: 'own', url }])
  await gateway.settled()
  await until(() => streams.length > 0, 'the gateway has the stream for messages without a request')
  return {
    gateway,
    alice: new Caller('alice'),
    bob: new Caller('bob'),
    forget: () => { isForgotten = true },
    stream: message => { streams.at(-1)!.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`) },
    async request (text) {
      const find = (): Exchange | undefined => open.find(({ message }) => JSON.stringify([message.method, message.params]).includes(text))
      await until(() => find() !== undefined, `the server has ${text}`)
      return find()!
    },
    async ask (id, send, params = {}) {
      send({ method: 'notifications/message', params: { level: 'info', data: id, ...params } })
      send({ id, method: 'elicitation/create', params: { message: id, requestedSchema: { type: 'object', properties: {} }, ...params } })
      await until(() => responses.has(id), `${id} has a response`)
      return (responses.get(id) as { action?: unknown }).action
    }
  }
}

const kinds: Readonly<Record<string, (gateway: Gateway, caller: Caller) => Promise<unknown>>> = {
  'tools/call': async (gateway, { options }) => await gateway.call('own', 'tool', { key: 'bob' }, options),
  'resources/read': async (gateway, { options }) => await gateway.get('own').readResource('own://a', options),
  'prompts/get': async (gateway, { options }) => await gateway.get('own').getPrompt('prompt', {}, options)
}

for (const [kind, run] of Object.entries(kinds)) {
  test(`${kind}: what comes with a response belongs to its caller, and anything else to the only owner with a request`, async t => {
    const at = await shared(t)
    const { gateway, alice, bob, ask, stream } = at
    const done = run(gateway, bob)
    const mine = await at.request(kind)
    t.equal(await ask('alone', stream), 'accept')
    const call = gateway.call('own', 'tool', { key: 'alice' }, alice.options)
    const other = await at.request('alice')
    t.equal(await ask('both', stream), 'decline')
    t.equal(await ask('with bob', message => mine.event(message)), 'accept')
    t.equal(await ask('with alice', message => other.event(message)), 'accept')
    t.strictSame([bob.shown, bob.logged], [['alone', 'with bob'], ['alone', 'with bob']])
    t.strictSame([alice.shown, alice.logged], [['with alice'], ['with alice']])
    for (const { event, message: { id }, res } of [mine, other]) { event({ id, result: { content: [] } }); res.end() }
    await Promise.all([done, call])
    t.equal(await ask('outside', stream), 'decline')
  })
}

test('after a caller left, the stream for messages without a request asks no other owner until the session is another', async t => {
  const at = await shared(t)
  const { gateway, alice, bob, ask, stream } = at
  const left = gateway.call('own', 'tool', { key: 'bob' }, bob.options)
  await at.request('bob')
  bob.leave()
  await t.rejects(left, { message: 'left' })
  const call = gateway.call('own', 'tool', { key: 'alice' }, alice.options)
  const other = await at.request('alice')
  t.equal(await ask('late', stream), 'decline')
  t.equal(await ask('certain', message => other.event(message)), 'accept')
  t.strictSame([alice.shown, alice.logged, bob.shown, bob.logged], [['certain'], ['certain'], [], []])
  other.event({ id: other.message.id, result: { content: [] } })
  other.res.end()
  await call
  at.forget()
  await gateway.call('own', 'tool', { key: 'at once' }, alice.options)
  gateway.call('own', 'tool', { key: 'again' }, alice.options).catch(() => {})
  await at.request('again')
  t.equal(await ask('new session', at.stream), 'accept')
})

test('a request that broke off counts until the session is another, and one that was refused does not', async t => {
  const at = await shared(t)
  const { gateway, alice, bob, ask, stream } = at
  const refused = gateway.call('own', 'tool', { key: 'refused' }, bob.options)
  ;(await at.request('refused')).res.writeHead(429).end()
  await t.rejects(refused)
  const call = gateway.call('own', 'tool', { key: 'alice' }, alice.options)
  await at.request('alice')
  t.equal(await ask('after a refusal', stream), 'accept')
  const broken = gateway.call('own', 'tool', { key: 'broken' }, bob.options)
  const { event, res } = await at.request('broken')
  event({ method: 'notifications/message', params: { level: 'info', data: 'begun' } })
  await until(() => bob.logged.includes('begun'), 'the response has begun')
  res.destroy()
  await t.rejects(broken)
  t.equal(await ask('after a break', stream), 'decline')
  call.catch(() => {})
})

test('a message that names the task of one owner goes to that owner, and with the response to another owner to neither', async t => {
  const at = await shared(t)
  const { gateway, alice, bob, ask, stream } = at
  const run = gateway.call('own', 'task', { key: 'bob' }, bob.options)
  const begun = await at.request('bob')
  begun.result({ task: { taskId: 't1', status: 'working' } })
  const look = await at.request('tasks/get')
  const call = gateway.call('own', 'tool', { key: 'alice' }, alice.options)
  const other = await at.request('alice')
  const named = { _meta: { [TASK]: { taskId: 't1' } } }
  t.equal(await ask('his', stream, named), 'accept')
  t.equal(await ask('with his response', message => look.event(message), named), 'accept')
  t.equal(await ask('with hers', message => other.event(message), named), 'decline')
  t.equal(await ask('without a name', stream), 'decline')
  for (const [id, send] of [['u1', stream], ['u2', (message: object) => look.event(message)], ['u3', (message: object) => other.event(message)]] as const) {
    t.equal(await ask(id, send, { _meta: { [TASK]: { taskId: 'unknown' } } }), 'decline')
  }
  t.strictSame([bob.shown, bob.logged], [['his', 'with his response'], ['his', 'with his response']])
  t.strictSame([alice.shown, alice.logged], [[], []])
  other.event({ id: other.message.id, result: { content: [] } })
  other.res.end()
  await call
  bob.leave()
  await t.rejects(run)
})
