import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitRequestSchema, LoggingMessageNotificationSchema, ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { test, type Test } from 'tap'
import { relayed, type Relayed } from '../../../packages/mcp-gateway/test/fixtures/relayed.js'
import { until } from '../../../test/fixtures/until.js'
import { createHost } from '../src/index.js'

interface Legacy { readonly client: Client, readonly shown: unknown[], readonly logged: unknown[], readonly updated: string[], changes: number, progress: number[] }

interface Served {
  readonly relay: Relayed
  /** A session of revision 2025-11-25 that accepts each question. */
  connect (owner: string): Promise<Legacy>
  /** A request of revision 2026-07-28, and its result. */
  modern (owner: string, method: string, params: object): Promise<any>
  /** A call over REST. */
  rest (owner: string, path: string, body: object, signal?: AbortSignal): Promise<any>
}

/** A host whose callers share one process of a server over stdio. */
async function serve (t: Test): Promise<Served> {
  const relay = await relayed(t)
  const { name, ...entry } = relay.config
  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter: question => question,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    mcp_servers: { shop: entry },
    authenticate: ({ headers: { authorization: owner } }) => owner === undefined ? undefined : { owner },
    server: { logger: false }
  })
  t.teardown(() => app.close())
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  await app.polyvac.gateway?.settled()
  return {
    relay,
    async connect (owner) {
      const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
      const session: Legacy = { client, shown: [], logged: [], updated: [], changes: 0, progress: [] }
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        session.shown.push(params.message)
        return { action: 'accept', content: {} }
      })
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { session.logged.push(params.data) })
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { session.updated.push(params.uri) })
      client.setNotificationHandler(ResourceListChangedNotificationSchema, () => { session.changes++ })
      await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers: { authorization: owner } } }))
      t.teardown(() => client.close())
      return session
    },
    async modern (owner, method, params) {
      const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
      const { name, uri } = params as { name?: string, uri?: string }
      const response = await fetch(`${base}/mcp`, {
        method: 'POST',
        headers: { authorization: owner, 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name ?? uri ?? '' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
      })
      const text = await response.text()
      return JSON.parse(/^data: (.*"result".*)$/m.exec(text)?.[1] ?? text).result
    },
    async rest (owner, path, body, signal) {
      const response = await fetch(`${base}${path}`, { method: 'POST', headers: { authorization: owner, 'content-type': 'application/json' }, body: JSON.stringify(body), signal: signal ?? null })
      return await response.json()
    }
  }
}

const log = (data: string): object => ({ method: 'notifications/message', params: { level: 'warning', data } })

for (const era of ['2025-11-25', '2026-07-28'] as const) {
  test(`a question of a call that its caller left is not shown to another owner of ${era}, who is asked once the server has answered it`, async t => {
    const { relay, connect, modern, rest } = await serve(t)
    const alice = await connect('alice')
    const leave = new AbortController()
    const left = rest('bob', '/mcp/call', { server: 'shop', tool: 'tool', arguments: { key: 'pay 100' } }, leave.signal)
    const payment = await relay.request('pay 100')
    leave.abort()
    await t.rejects(left)
    await until(() => relay.received.some(({ method }) => method === 'notifications/cancelled'), 'the server has the cancellation')
    const params = { name: 'shop__tool', arguments: { key: 'weather' } }
    const isLegacy = era === '2025-11-25'
    const call = isLegacy ? alice.client.callTool(params) : modern('alice', 'tools/call', params)
    const weather = await relay.request('weather')
    await relay.settled()
    relay.send(log('100 of bob'))
    t.match(await relay.ask('pay 100 of bob?'), { result: { action: 'decline' } })
    relay.answer(payment)
    await relay.settled()
    const answered = relay.ask('which city?')
    if (!isLegacy) {
      const { resultType, inputRequests, requestState } = await call
      t.match({ resultType, inputRequests }, { resultType: 'input_required', inputRequests: { 'input-1': { params: { message: 'which city?' } } } })
      const again = modern('alice', 'tools/call', { ...params, inputResponses: { 'input-1': { action: 'accept', content: {} } }, requestState })
      t.match(await answered, { result: { action: 'accept' } })
      relay.answer(weather)
      t.match(await again, { content: [{ text: 'done' }] })
    } else {
      t.match(await answered, { result: { action: 'accept' } })
      relay.answer(weather)
      t.match(await call, { content: [{ text: 'done' }] })
      t.strictSame(alice.shown, ['which city?'])
    }
    t.strictSame(alice.logged, [])
  })

  test(`a question during a resource or prompt that one owner of ${era} reads is shown to no other`, async t => {
    const { relay, connect, modern } = await serve(t)
    const [alice, bob] = [await connect('alice'), await connect('bob')]
    const isLegacy = era === '2025-11-25'
    for (const [method, params, legacy, text] of [
      ['resources/read', { uri: 'own://a' }, async () => await bob.client.readResource({ uri: 'own://a' }), 'resources/read'],
      ['prompts/get', { name: 'shop__prompt' }, async () => await bob.client.getPrompt({ name: 'shop__prompt' }), 'prompts/get']
    ] as const) {
      const reading: Promise<unknown> = isLegacy ? legacy() : modern('bob', method, params)
      reading.catch(() => {})
      const read = await relay.request(text)
      const call = alice.client.callTool({ name: 'shop__tool', arguments: { key: `weather ${method}` } })
      const weather = await relay.request(`weather ${method}`)
      await relay.settled()
      relay.send(log(`of bob: ${method}`))
      t.match(await relay.ask(`of bob: ${method}`), { result: { action: 'decline' } }, method)
      relay.answer(weather)
      await call
      relay.answer(read, { contents: [], messages: [] })
      await reading
      relay.received.length = 0
    }
    t.strictSame([alice.shown, alice.logged, bob.shown, bob.logged], [[], [], [], []])
  })
}

test('progress reaches its caller, an update its subscriber, and a change of a list all', async t => {
  const { relay, connect } = await serve(t)
  const [alice, bob] = [await connect('alice'), await connect('bob')]
  await alice.client.subscribeResource({ uri: 'own://a' })
  await bob.client.subscribeResource({ uri: 'own://b' })
  const run = async ({ client, progress }: Legacy, key: string): Promise<{ done: Promise<unknown>, request: any }> => {
    const done = client.callTool({ name: 'shop__tool', arguments: { key } }, undefined, { onprogress: ({ progress: value }) => { progress.push(value) } })
    return { done, request: await relay.request(key) }
  }
  const calls = [await run(alice, 'of alice'), await run(bob, 'of bob')]
  for (const [i, { request }] of calls.entries()) relay.send({ method: 'notifications/progress', params: { progressToken: request.params._meta.progressToken, progress: i + 1 } })
  relay.send(...['own://a', 'own://b', 'own://b'].map(uri => ({ method: 'notifications/resources/updated', params: { uri } })), { method: 'notifications/resources/list_changed' })
  await until(() => alice.changes > 0 && bob.changes > 0, 'both get the change of the list')
  await until(() => alice.updated.length > 0 && bob.updated.length > 0, 'each gets the update')
  await until(() => alice.progress.length > 0 && bob.progress.length > 0, 'each gets the progress')
  for (const { request, done } of calls) {
    relay.answer(request)
    await done
  }
  t.strictSame([alice.progress, bob.progress], [[1], [2]])
  t.strictSame([[...new Set(alice.updated)], [...new Set(bob.updated)]], [['own://a'], ['own://b']])
})
