import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { CallOptions, Gateway, GatewayOptions } from '../src/index.js'
import { started } from './fixtures/app.js'
import { Caller } from './fixtures/caller.js'
import { relayed, type Relayed } from './fixtures/relayed.js'

const TASK = 'io.modelcontextprotocol/related-task'

interface Setting { readonly relay: Relayed, readonly gateway: Gateway, readonly alice: Caller, readonly bob: Caller, readonly lines: any[] }

async function setting (t: Test, options: Partial<GatewayOptions> = {}, owners: readonly [string | undefined, string | undefined] = ['alice', 'bob']): Promise<Setting> {
  const relay = await relayed(t)
  const lines: any[] = []
  const keep = (fields: object): void => { lines.push(fields) }
  const { gateway } = await started(t, [relay.config], { log: { debug () {}, info: keep, warn: keep, error: keep }, ...options })
  return { relay, gateway, alice: new Caller(owners[0]), bob: new Caller(owners[1]), lines }
}

/** Calls a tool; resolves when the server has the call. */
async function begin ({ relay, gateway }: Setting, caller: Caller, key: string, tool = 'tool'): Promise<{ done: Promise<unknown>, request: { id?: any } }> {
  const done = gateway.call(relay.config.name!, tool, { key }, caller.options)
  done.catch(() => {})
  return { done, request: await relay.request(key) }
}

const log = (data: string, meta?: object): object => ({ method: 'notifications/message', params: { level: 'info', data, ...meta !== undefined && { _meta: meta } } })
const declined = { result: { action: 'decline' } }
const accepted = { result: { action: 'accept' } }

/** What a question and a log message of the server, sent now, show to whom. */
async function send ({ relay, alice, bob, lines }: Setting, id: string, meta?: object): Promise<{ action: unknown, alice: boolean, bob: boolean, logged: string[] }> {
  await relay.settled()
  relay.send(log(id, meta))
  const { result } = await relay.ask(id, meta === undefined ? {} : { _meta: meta })
  const logged = [alice, bob].flatMap((caller, i) => caller.logged.includes(id) ? [i === 0 ? 'alice' : 'bob'] : [])
  if (lines.some(({ data }) => data === JSON.stringify(id))) logged.push('service')
  return { action: result?.action, alice: alice.shown.includes(id), bob: bob.shown.includes(id), logged }
}

const toNobody = { action: 'decline', alice: false, bob: false }
const toAlice = { action: 'accept', alice: true, bob: false, logged: ['alice'] }
const toBob = { action: 'accept', alice: false, bob: true, logged: ['bob'] }

test('after a call was cancelled, what its server sends goes to no other owner until the server has answered it', async t => {
  const at = await setting(t)
  const { relay, bob } = at
  const left = await begin(at, bob, 'pay 100')
  bob.leave()
  await t.rejects(left.done, { message: 'left' })
  const other = await begin(at, at.alice, 'weather')
  t.strictSame(await send(at, 'confirm 100'), { ...toNobody, logged: ['service'] })
  t.match(at.lines.filter(({ reason }) => /cancelled call of another owner/.test(reason)), [{ mcpServer: relay.config.name }, { method: 'elicitation/create' }])
  relay.answer(left.request)
  t.strictSame(await send(at, 'for alice'), toAlice, 'its work has ended')
  relay.answer(other.request)
  t.match(await other.done, { content: [{ text: 'done' }] })
})

test('the owner of a cancelled call is asked during the next call, and a call that the server never answers ends with its process', async t => {
  const at = await setting(t)
  const { relay, gateway, bob, alice } = at
  const left = await begin(at, bob, 'pay 100')
  bob.leave()
  await t.rejects(left.done)
  const again = new Caller('bob')
  const next = await begin(at, again, 'pay 200')
  t.match(await relay.ask('q1'), accepted)
  t.strictSame(again.shown, ['q1'])
  relay.answer(next.request)
  await next.done
  await begin(at, alice, 'first')
  t.match(await relay.ask('q2'), declined)
  relay.end()
  await until(() => gateway.get(gateway.names[0]!).status().restarts === 1, 'the process is replaced')
  await begin(at, alice, 'second')
  await relay.settled()
  t.match(await relay.ask('q3'), accepted)
  t.strictSame(alice.shown, ['q3'])
})

test('after a call timed out, what its server sends goes to no other owner', async t => {
  const at = await setting(t, { callTimeoutMs: 300 })
  const { relay, gateway, bob } = at
  await t.rejects(gateway.call(relay.config.name!, 'tool', { key: 'pay 100' }, bob.options), { code: 'MCP_CALL_TIMEOUT' })
  await begin(at, at.alice, 'weather')
  t.strictSame(await send(at, 'confirm 100'), { ...toNobody, logged: ['service'] })
})

/** Requests of a caller that are not calls of tools. */
const REQUESTS: Readonly<Record<string, (gateway: Gateway, options: CallOptions) => Promise<unknown>>> = {
  'resources/read': async (gateway, options) => await gateway.get(gateway.names[0]!).readResource('own://a', options),
  'prompts/get': async (gateway, options) => await gateway.get(gateway.names[0]!).getPrompt('prompt', {}, options),
  'completion/complete': async (gateway, options) => await gateway.get(gateway.names[0]!).complete({ ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'a', value: 'b' } }, options),
  'any/other': async (gateway, options) => await gateway.get(gateway.names[0]!).request('any/other', {}, options)
}

for (const [method, run] of Object.entries(REQUESTS)) {
  test(`${method} is in flight until it is answered: only its owner is asked, and no caller where another owner has a call`, async t => {
    const at = await setting(t)
    const { relay, gateway, alice, bob } = at
    const reading = run(gateway, bob.options)
    const request = await relay.request(method)
    t.strictSame(await send(at, 'alone'), toBob)
    const call = await begin(at, alice, 'weather')
    t.strictSame(await send(at, 'both'), { ...toNobody, logged: ['service'] })
    relay.answer(request, {})
    await reading
    t.strictSame(await send(at, 'for alice'), toAlice)
    relay.answer(call.request)
    await call.done
    t.strictSame(await send(at, 'outside'), { ...toNobody, logged: ['service'] }, 'no caller is asked outside a call')
  })
}

test('a task is in flight until it has ended, also between two polls, and related-task decides', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  const task = await begin(at, bob, 'slow', 'task')
  relay.answer(task.request, { task: { taskId: 't1', status: 'working', pollInterval: 1_000 } })
  relay.answer(await relay.request('tasks/get'), { taskId: 't1', status: 'working', pollInterval: 60_000 })
  const call = await begin(at, alice, 'weather')
  t.strictSame(await send(at, 'between polls'), { ...toNobody, logged: ['service'] })
  t.strictSame(await send(at, 'named', { [TASK]: { taskId: 't1' } }), toBob)
  for (const odd of [{ taskId: 'unknown' }, { taskId: 7 }, {}, null, 't1']) {
    t.match(await send(at, `odd ${JSON.stringify(odd)}`, { [TASK]: odd }), toNobody, JSON.stringify(odd))
  }
  relay.answer(call.request)
  await call.done
  t.strictSame(await send(at, 'alone'), toBob, 'between polls its owner is asked')
  await until(() => relay.received.filter(({ method }) => method === 'tasks/get').length === 2, 'the second poll')
  const [, look] = relay.received.filter(({ method }) => method === 'tasks/get')
  relay.answer(look!, { taskId: 't1', status: 'completed' })
  relay.answer(await relay.request('tasks/result'))
  t.match(await task.done, { content: [{ text: 'done' }] })
  await begin(at, alice, 'after')
  t.match(await send(at, 'late', { [TASK]: { taskId: 't1' } }), toNobody, 'a task that has ended')
  t.strictSame(await send(at, 'for alice'), toAlice)
})

test('of two tasks with one id that the server chose, none is asked unless both are of one owner', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  for (const [caller, key] of [[alice, 'of alice'], [bob, 'of bob']] as const) {
    const { request } = await begin(at, caller, key, 'task')
    relay.answer(request, { task: { taskId: 'same', status: 'working' } })
  }
  await until(() => relay.received.filter(({ method }) => method === 'tasks/get').length === 2, 'both are polled')
  t.match(await send(at, 'collision', { [TASK]: { taskId: 'same' } }), { ...toNobody, logged: ['service'] })
})

test('a task whose caller has left is work of its owner until its server reports its end', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  const task = await begin(at, bob, 'slow', 'task')
  relay.answer(task.request, { task: { taskId: 't1', status: 'working' } })
  await relay.request('tasks/get')
  bob.leave()
  await t.rejects(task.done)
  const cancel = await relay.request('tasks/cancel')
  relay.answer(await relay.request('tasks/get'), { taskId: 't1', status: 'working' })
  await begin(at, alice, 'weather')
  t.match(await send(at, 'not ended'), toNobody)
  t.match(await send(at, 'not ended, named', { [TASK]: { taskId: 't1' } }), toNobody)
  relay.answer(cancel, { taskId: 't1', status: 'cancelled' })
  t.strictSame(await send(at, 'for alice'), toAlice)
})

test('a task that a server begins after its call was cancelled is cancelled, and counts until then', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  const task = await begin(at, bob, 'slow', 'task')
  bob.leave()
  await t.rejects(task.done)
  relay.answer(task.request, { task: { taskId: 'late', status: 'working' } })
  const cancel = await relay.request('tasks/cancel')
  t.match(cancel.params, { taskId: 'late' })
  await begin(at, alice, 'weather')
  t.match(await send(at, 'not ended'), toNobody)
  relay.send({ id: cancel.id, error: { code: -32602, message: 'it has ended' } })
  t.strictSame(await send(at, 'for alice'), toAlice)
})

test('a question that a server writes together with its answer goes to no other owner', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  const mine = await begin(at, bob, 'of bob')
  const other = await begin(at, alice, 'of alice')
  relay.holdPings = true
  relay.send({ id: mine.request.id, result: { content: [] } }, log('after'), { id: 'after', method: 'elicitation/create', params: { message: 'after' } })
  await mine.done
  await until(() => relay.response('after') !== undefined, 'it has a response')
  t.match(relay.response('after'), declined)
  t.strictSame([alice.shown, alice.logged, bob.shown, bob.logged], [[], [], [], []])
  t.match(await relay.ask('later'), declined, 'as long as the server has not answered the ping')
  relay.answer(await relay.request('"ping"'), {})
  t.strictSame(await send(at, 'for alice'), toAlice)
  relay.answer(other.request)
  await other.done
})

test('a call that begins after the answer to another owner is asked once the server has answered a ping', async t => {
  const at = await setting(t)
  const { relay, alice, bob } = at
  const first = await begin(at, bob, 'of bob')
  relay.holdPings = true
  relay.answer(first.request)
  await first.done
  t.notOk(relay.received.some(({ method }) => method === 'ping'), 'one owner needs no ping')
  await begin(at, alice, 'of alice')
  t.match(await relay.ask('early'), declined)
  const methods = relay.received.map(({ method }) => method)
  t.ok(methods.indexOf('ping') < methods.lastIndexOf('tools/call'), 'the ping is sent before the call')
  relay.send({ id: (await relay.request('"ping"')).id, error: { code: -32601, message: 'no pings here' } })
  t.strictSame(await send(at, 'for alice'), toAlice, 'an error shows it as well')
})

test('the id of a question that is used again while it is open confirms nothing', async t => {
  const at = await setting(t)
  const { relay, gateway } = at
  const open: Array<{ message: unknown, withdrawn: boolean, accept: () => void }> = []
  const options = (owner: string): CallOptions => ({
    principal: { owner },
    ask: async ({ params }, signal) => await new Promise((resolve, reject) => {
      const entry = { message: params?.message, withdrawn: false, accept: () => resolve({ action: 'accept', content: {} }) }
      open.push(entry)
      signal.addEventListener('abort', () => { entry.withdrawn = true; reject(new Error('withdrawn')) })
    })
  })
  gateway.call(relay.config.name!, 'tool', { key: 'pay' }, options('bob')).catch(() => {})
  await relay.request('pay')
  relay.send({ id: 1, method: 'elicitation/create', params: { message: 'pay 100?' } })
  await until(() => open.length === 1, 'the first is shown')
  relay.send({ id: 1, method: 'elicitation/create', params: { message: 'tea?' } })
  await until(() => relay.response(1) !== undefined, 'it has a response')
  open[0]?.accept()
  await relay.settled()
  t.match(open, [{ message: 'pay 100?', withdrawn: true }])
  t.match(relay.received.filter(({ method, id }) => method === undefined && id === 1), [{ error: { code: -32600 } }])
  t.equal(relay.received.filter(({ method, id }) => method === undefined && id === 1).length, 1)
})

test('callers without authentication are one owner only where no caller is authenticated', async t => {
  const alone = await setting(t, {}, [undefined, undefined])
  const first = await begin(alone, alone.bob, 'first')
  alone.bob.leave()
  await t.rejects(first.done)
  await begin(alone, alone.alice, 'second')
  t.match(await send(alone, 'q'), { action: 'accept', alice: true })

  const mixed = await setting(t, {}, [undefined, undefined])
  const named = await begin(mixed, new Caller('carol'), 'of carol')
  const open = await begin(mixed, mixed.bob, 'of nobody')
  t.match(await send(mixed, 'q1'), toNobody, 'beside a named caller')
  mixed.relay.answer(named.request)
  await named.done
  t.strictSame(await send(mixed, 'q2'), toBob, 'alone')
  const other = await begin(mixed, mixed.alice, 'of another')
  t.match(await send(mixed, 'q3'), toNobody, 'two of them may be two persons')
  mixed.bob.leave()
  await t.rejects(open.done)
  t.match(await send(mixed, 'q4'), toNobody, 'one of them has left')
  mixed.relay.answer(open.request)
  t.strictSame(await send(mixed, 'q5'), toAlice)
  mixed.relay.answer(other.request)
})

test('two sessions of one owner are one person: the oldest gets the log, and a call that never asked is not asked', async t => {
  const at = await setting(t, {}, ['ada', 'ada'])
  const { relay, alice, bob } = at
  const first = await begin(at, alice, 'first')
  t.match(await relay.ask('q1'), accepted)
  await begin(at, bob, 'second', 'task')
  relay.send(log('line'))
  t.match(await relay.ask('q2'), accepted)
  t.strictSame([alice.logged, bob.logged, alice.shown, bob.shown], [['line'], [], ['q1', 'q2'], []])
  relay.answer(first.request)
  await first.done
})

test('progress reaches the call whose token it names, and no other', async t => {
  const at = await setting(t)
  const { relay, gateway } = at
  const seen: unknown[] = []
  const run = (owner: string): unknown => gateway.call(relay.config.name!, 'tool', { key: owner }, { principal: { owner }, onProgress: ({ progress }) => { seen.push([owner, progress]) } }).catch(() => {})
  run('alice')
  run('bob')
  const [alice, bob] = [await relay.request('"alice"'), await relay.request('"bob"')]
  const progress = (progressToken: unknown, progress: number): object => ({ method: 'notifications/progress', params: { progressToken, progress } })
  relay.send(progress(bob.params._meta.progressToken, 1), progress(alice.params._meta.progressToken, 2), progress('other', 3), progress(undefined, 4), progress('__proto__', 5))
  relay.answer(bob)
  relay.send(progress(bob.params._meta.progressToken, 6))
  await relay.settled()
  t.strictSame(seen, [['bob', 1], ['alice', 2]])
})

test('an update of a resource reaches only its subscribers', async t => {
  const { relay, gateway } = await setting(t)
  const source = gateway.toolSource()
  const seen: string[] = []
  await source.resources.subscribe('own://a', () => { seen.push('alice') }, 'alice')
  await source.resources.subscribe('own://b', () => { seen.push('bob') }, 'bob')
  const update = (uri: string): object => ({ method: 'notifications/resources/updated', params: { uri } })
  relay.send(update('own://a'), update('own://c'), update('own://b'), update('own://a'))
  await relay.settled()
  t.strictSame(seen, ['alice', 'bob', 'alice'])
})
