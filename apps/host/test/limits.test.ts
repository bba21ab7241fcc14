import { addressBlock, memoryBudget, OWNER_SHARE, OwnerSlots, setOwnerShare } from '@polyvac/core/plugin'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { a2aGrpc } from '@polyvac/a2a/grpc'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { postgresServer, query } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { createHost, type HostOptions } from '../src/index.js'
import { bodyLimitOf } from '../src/guards/limits.js'
import { questions } from '../../../test/probes/index.mjs'

const A2A = { enable_a2a_agent: true, tasks: { store: 'memory' } } as const

async function hostWith (t: Test, limits: HostOptions['limits'], options: HostOptions = {}) {
  const app = await createHost({
    vacs: ['docs'],
    stream_interpreter: 'echo',
    limits,
    authenticate: ({ headers: { authorization: owner } }) => owner === undefined ? undefined : { owner },
    ...options
  })
  t.teardown(() => app.close())
  const ask = async (owner: string | undefined, url = '/vac', payload?: object, more: Record<string, string> = {}) => await app.inject({
    method: payload === undefined ? 'GET' : 'POST', url, ...payload !== undefined && { payload }, headers: { ...more, ...owner !== undefined && { authorization: owner } }
  })
  return { app, ask }
}

test('the rate of an owner is bounded in every protocol, and other owners are not affected', async t => {
  const { ask } = await hostWith(t, { owner: { requests_per_minute: 3 } }, { ...A2A, enable_mcp_server: true })
  for (const url of ['/vac', '/vac', '/openai/v1/models']) t.equal((await ask('alice', url)).statusCode, 200)
  const posts = questions('x', 'docs').map(([, { path, body, headers }]) => [path, body, headers] as const)
  for (const [url, payload, headers] of [['/vac'] as const, ['/openai/v1/models'] as const, ['/a2a/v1/tasks'] as const, ...posts]) {
    const refused = await ask('alice', url, payload, headers)
    t.match(refused, { statusCode: 429, headers: { 'retry-after': /^\d+$/ }, body: /in a minute/ }, url)
  }
  t.equal((await ask('bob')).statusCode, 200)
  t.equal((await ask(undefined)).statusCode, 401)
})

test('the rate of an address is bounded before its caller is known', async t => {
  const { ask } = await hostWith(t, { address: { requests_per_minute: 2 } }, { trusted_proxies: ['loopback'] })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  for (const owner of [undefined, undefined]) t.equal((await ask(owner, '/vac', undefined, from('203.0.113.1'))).statusCode, 401)
  t.match(await ask('alice', '/vac', undefined, from('203.0.113.1')), { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await ask('alice', '/vac', undefined, from('203.0.113.2'))).statusCode, 200)
  for (const tail of ['1', '2']) t.equal((await ask('alice', '/health', undefined, from(`2001:db8:0:1::${tail}`))).statusCode, 200)
  t.equal((await ask('alice', '/health', undefined, from('2001:db8:0:1::3'))).statusCode, 429, 'a network of 64 bits is one caller')
  t.strictSame(['203.0.113.1', '::ffff:203.0.113.1', '2001:db8::1', 'x'].map(addressBlock), ['203.0.113.1', '203.0.113.1', '2001:db8:0:0', 'x'])
})

test('limits hold for the callers of a socket file, who have no address', { skip: process.platform === 'win32' && 'Windows has no socket files' }, async t => {
  for (const kind of ['address', 'owner']) {
    const { app } = await hostWith(t, { [kind]: { requests_per_minute: 2 } })
    // the path of a socket has at most 107 bytes
    const folder = await mkdtemp(join(tmpdir(), 'polyvac-'))
    t.teardown(async () => { await rm(folder, { recursive: true }) })
    const socketPath = join(folder, 'host.sock')
    await app.listen({ path: socketPath })
    const statuses: (number | undefined)[] = []
    for (let i = 0; i < 3; i++) {
      const [response] = await once(request({ socketPath, path: '/vac', headers: { host: 'localhost', authorization: 'alice' } }).end(), 'response') as [IncomingMessage]
      response.resume()
      statuses.push(response.statusCode)
    }
    t.strictSame(statuses, [200, 200, 429])
    await app.close()
  }
})

test('requests and streams of an owner, or an address, at once are bounded, and places come back', async t => {
  for (const limits of [{ owner: { at_once: 1 } }, { address: { at_once: 1 } }]) {
    let open = (): void => {}
    const opened = new Promise<void>(resolve => { open = resolve })
    const { app } = await hostWith(t, limits, { stream_interpreter: async function * () { yield 'a'; await opened; yield 'b' } })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const stream = async () => {
      const sent = request({ port, method: 'POST', path: '/vac/streaming/docs', headers: { authorization: 'alice', 'content-type': 'application/json' } })
      sent.end(JSON.stringify({ user_input: 'x' }))
      const [response] = await once(sent, 'response') as [import('node:http').IncomingMessage]
      return { sent, response }
    }
    const status = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/vac`, { headers: { authorization: 'alice', connection: 'close' } })).status
    const first = await stream()
    t.equal(first.response.statusCode, 200)
    t.equal(await status(), 503, 'a stream has the one place')
    first.sent.on('error', () => {}).destroy()
    t.equal(await status(), 503, 'the interpreter of a stream that was cut has it still')
    open()
    await until(async () => await status() === 200, 'the place is free once the interpreter has ended')
    const second = await stream()
    await once(second.response.resume(), 'end')
    await until(async () => await status() === 200, 'the place of a stream that ended is free')
  }
})

test('one address has a quarter of the connections as calls at once, and each owner of it more than a place', async t => {
  const release: Array<() => void> = []
  const { ask } = await hostWith(t, {}, {
    connections: { max: 8 },
    async stream_interpreter () {
      await new Promise<void>(resolve => { release.push(resolve) })
      return 'x'
    }
  })
  const waiting = ['alice', 'bob'].map(async owner => await ask(owner, '/vac/docs', { user_input: 'x' }))
  await until(() => release.length === 2, 'two run')
  t.match(await ask('carol'), { statusCode: 503, body: /calls in progress \(counted for one address\)/ })
  for (const go of release) go()
  for (const { statusCode } of await Promise.all(waiting)) t.equal(statusCode, 200)
  t.equal((await ask('carol')).statusCode, 200)
})

test('the limits of owners and addresses hold over gRPC', async t => {
  const minute = async (limits: HostOptions['limits']) => {
    const { app } = await hostWith(t, limits, A2A)
    const grpc = await a2aGrpc(app)
    await app.ready()
    const client = new Client(`127.0.0.1:${grpc.port}`, credentials.createInsecure())
    t.teardown(() => { client.close() })
    const same = (bytes: Buffer): Buffer => bytes
    return async (owner: string): Promise<string> => {
      const metadata = new Metadata()
      metadata.set('a2a-version', '1.0')
      metadata.set('authorization', owner)
      return await new Promise(resolve => {
        client.makeUnaryRequest('/lf.a2a.v1.A2AService/ListTasks', same, same, Buffer.alloc(0), metadata, err => { resolve(err?.message ?? 'served') })
      })
    }
  }
  const ofOwner = await minute({ owner: { requests_per_minute: 2 } })
  t.strictSame([await ofOwner('alice'), await ofOwner('alice')], ['served', 'served'])
  t.match(await ofOwner('alice'), /in a minute/)
  t.equal(await ofOwner('bob'), 'served')
  const ofAddress = await minute({ address: { requests_per_minute: 2 } })
  t.strictSame([await ofAddress('alice'), await ofAddress('bob')], ['served', 'served'])
  t.match(await ofAddress('carol'), /in a minute/)
})

test('while the event loop is late, requests of each protocol are refused, and /health is not', async t => {
  const { ask } = await hostWith(t, { event_loop_delay: 0.1 }, { ...A2A, enable_mcp_server: true })
  t.equal((await ask('alice')).statusCode, 200)
  // work in the same process that blocks again and again
  for (const from = performance.now(); performance.now() - from < 2_500;) {
    for (const turn = performance.now(); performance.now() - turn < 300;);
    // for loop-watchdog.mjs: this is the work of the test
    channel('polyvac.test.pause').publish({})
    await new Promise(resolve => setImmediate(resolve))
  }
  const posts = questions('x', 'docs').map(([, { path, body, headers }]) => [path, body, headers] as const)
  for (const [url, payload, headers] of [['/vac'] as const, ['/openai/v1/models'] as const, ...posts]) {
    t.match(await ask('alice', url, payload, headers), { statusCode: 503, headers: { 'retry-after': '1' }, body: /overloaded/ }, url)
  }
  t.equal((await ask(undefined, '/health')).statusCode, 200)
  await until(async () => (await ask('alice')).statusCode === 200, 'requests are served again')
})

test('an owner creates so many tasks in a day; the same request again does not count', async t => {
  const { ask } = await hostWith(t, { owner: { tasks_per_day: 2 } }, A2A)
  const send = async (owner: string, key: string) => await ask(owner, '/a2a/tasks/send', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x' } } }, { 'idempotency-key': key })
  for (const key of ['a', 'a', 'b']) t.match((await send('alice', key)).json(), { result: { taskId: String } })
  t.match(await send('alice', 'c'), { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
  t.match((await send('bob', 'c')).json(), { result: { taskId: String } })
})

test('runs count among the tasks of a day, of each owner by itself, also of owners with long names', async t => {
  const { ask } = await hostWith(t, { owner: { tasks_per_day: 2 } }, A2A)
  const start = async (owner: string, more = {}) => (await ask(owner, '/vac/docs', { user_input: 'x', background: true }, more)).statusCode
  for (const owner of ['alice', 'x'.repeat(256), `${'x'.repeat(255)}y`]) {
    const key = { 'idempotency-key': 'k' }
    t.strictSame([await start(owner, key), await start(owner, key), await start(owner), await start(owner)], [202, 202, 202, 429])
    t.equal((await ask(owner, '/vac/docs', { user_input: 'x' })).statusCode, 200, 'a plain question is no task')
  }
  const query = { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x' } } }
  t.equal((await ask('alice', '/a2a/tasks/send', query)).statusCode, 429)
})

test('owner_share is the share of the memory budget, of shared slots and of the task store', async t => {
  t.teardown(() => { setOwnerShare(OWNER_SHARE) })
  const { ask } = await hostWith(t, { owner_share: 0.5 }, { enable_a2a_agent: true, tasks: { store: 'memory', max_tasks: 8 } })
  const rpc = async (method: string, params: object) => (await ask('alice', `/a2a/${method}`, { jsonrpc: '2.0', id: 1, method, params })).json().result
  for (let i = 0; i < 6; i++) await rpc('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.equal((await rpc('tasks/list', {})).tasks.length, 4, 'the two oldest tasks have made room')
  const slots = new OwnerSlots({ part: 'x', total: 4 })
  t.strictSame([1, 2, 3].map(() => slots.tryTake('a')), [true, true, false])
  const held = memoryBudget.hold('x', 'a')
  t.notOk(held.tryGrow(Math.ceil(memoryBudget.limit * 0.6)))
  t.ok(held.tryGrow(Math.floor(memoryBudget.limit * 0.4)))
  held.release()
})

test('replicas with one database add up the requests of a caller, and each counts for itself while it is away', async t => {
  const server = await postgresServer(t)
  const tasks = { store: 'postgres', url: server.url() } as const
  const limits = { owner: { requests_per_minute: 6, tasks_per_day: 3 } }
  const [one, other] = await Promise.all([1, 2].map(async () => await hostWith(t, limits, { ...A2A, tasks })))
  const counted = async (): Promise<number> => Number((await query(server.url(), 'SELECT coalesce(sum(count), 0) AS n FROM polyvac.count'))[0]!.n)
  for (let i = 0; i < 4; i++) t.equal((await one!.ask('alice')).statusCode, 200)
  await until(async () => await counted() === 4, 'the counts of the one are in the database')
  t.equal((await other!.ask('alice')).statusCode, 200)
  await until(async () => await counted() === 5, 'the counts of the other are added')
  t.equal((await other!.ask('alice')).statusCode, 200)
  t.match(await other!.ask('alice'), { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
  const send = async (host: typeof one) => (await host!.ask('carol', '/a2a/tasks/send', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x' } } })).statusCode
  // the only count that lasts for more than a minute
  const ofTasks = async (): Promise<number> => Number((await query(server.url(), 'SELECT coalesce(sum(count), 0) AS n FROM polyvac.count WHERE ends_at > extract(epoch FROM now()) * 1000 + 3600000'))[0]!.n)
  t.strictSame([await send(one), await send(one)], [200, 200])
  await until(async () => await ofTasks() === 2, 'the tasks of the one are counted')
  t.equal(await send(other), 200)
  await until(async () => await ofTasks() === 3, 'that of the other is added')
  t.equal(await send(other), 429, 'the tasks of a day count at all replicas')
  await server.crash()
  for (let i = 0; i < 6; i++) t.equal((await one!.ask('bob')).statusCode, 200, 'callers are served')
  t.equal((await one!.ask('bob')).statusCode, 429, 'and bounded')
  await server.start()
})

test('one key bounds the bodies of all routes, and a refusal names the limit and the key', async t => {
  const { ask } = await hostWith(t, { body: 3_000_000 }, { ...A2A, enable_mcp_server: true, mcp_servers: [{ name: 'none', command: 'no-such-command' }] })
  const routes = (text: string): Array<readonly [string, object]> => {
    const message = { role: 'user', messageId: '1', parts: [{ kind: 'text', text }] }
    return [
      ['/vac/docs', { user_input: text }],
      ['/vac/docs/search', { query: 'x', more: text }],
      ['/openai/v1/chat/completions', { model: 'docs', messages: [{ role: 'user', content: text }] }],
      ['/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }],
      ['/a2a/tasks/send', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: text } } }],
      ['/mcp', { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { text } } }],
      ['/mcp/call', { server: 'none', tool: 'x', arguments: { text } }]
    ]
  }
  const headers = { accept: 'application/json, text/event-stream' }
  for (const [url, payload] of routes('x'.repeat(2_900_000))) t.not((await ask('alice', url, payload, headers)).statusCode, 413, url)
  for (const [url, payload] of routes('x'.repeat(3_000_000))) {
    t.match(await ask('alice', url, payload, headers), { statusCode: 413, body: /larger than 3000000 bytes.*service\.limits\.body/ }, url)
  }
})

test('a bound of bodies beyond the memory budget is refused, and bounds no caller', async t => {
  const used = memoryBudget.limit
  t.teardown(() => { memoryBudget.limit = used })
  await t.rejects(createHost({ vacs: ['docs'], stream_interpreter: 'echo', memory_budget: 4, limits: { body: 3_000_000 } }), {
    code: 'HOST_OPTIONS', message: 'service.limits.body: 3000000 bytes is too much for the memory budget, in which a body counts 4 times; set at most 1048576, or raise service.memory_budget'
  })
  t.match(bodyLimitOf({ body: 5 }), { bodyLimit: 5, limits: undefined })
  t.match(bodyLimitOf({ body: 5, address: { at_once: 1 } }), { limits: { address: { at_once: 1 } } })
  t.strictSame(bodyLimitOf(undefined), { bodyLimit: undefined, limits: undefined })
})
