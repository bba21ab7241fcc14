import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { McpServerOptions, ToolSource } from '../src/index.js'
import { MemoryLinks } from './fixtures/memory-link.js'
import { eventsIn, initialize, LegacySession, messagesIn, modern, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

type Test = Parameters<typeof serve>[0]

const KEY = 'k'.repeat(32)
const meta = { _meta: { progressToken: 'p' } }

interface Replica { readonly app: FastifyInstance, readonly name: string }

/** Three replicas of one service. `name` is what their tools know of the replica that runs them. */
async function replicas (t: Test, sourceFor: (name: string) => ToolSource, options: Partial<McpServerOptions> = {}): Promise<{ a: Replica, b: Replica, c: Replica, links: MemoryLinks }> {
  const links = new MemoryLinks()
  const start = async (name: string): Promise<Replica> => {
    const tasks = Object.assign(sqliteTaskStore({ path: ':memory:' }), { replicas: links.replica(name) })
    await tasks.open()
    const app = await serve(t, { sources: [sourceFor(name)], tasks, stateKey: KEY, ...options })
    t.teardown(() => tasks.close())
    await app.listen({ host: '127.0.0.1', port: 0 })
    return { app, name }
  }
  return { a: await start('replica-a'), b: await start('replica-b'), c: await start('replica-c'), links }
}

/** The same session, as another replica gets it. */
const at = ({ app }: Replica, { headers }: LegacySession): LegacySession => Object.assign(Object.create(LegacySession.prototype) as LegacySession, { app, headers })
const callOf = (name: string, id: unknown = 5, params: object = {}): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, ...params } })

const elicitation = { method: 'elicitation/create', params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } } } as const

const basic = (name: string): ToolSource => sourceOf({
  where: { run: () => says(name) },
  logs: {
    run (_args, context) {
      context.message({ level: 'info', data: 'quiet' })
      context.message({ level: 'error', data: 'loud' })
      return says('logged')
    }
  },
  ask: { run: async (_args, context) => says(`${name} ${JSON.stringify(await context.ask({ name: elicitation }))}`) }
})

test('any replica answers the requests of a session', async t => {
  const { a, b, links } = await replicas(t, basic)
  const session = await LegacySession.open(a.app, { capabilities: { elicitation: {} } })
  t.match(session.id, /^[\x21-\x7e]{100,600}$/)
  t.strictSame(links.streams, [], 'initialize writes nothing')
  for (const replica of [b, a, b]) t.match((await at(replica, session).request('tools/call', { name: 'where' })).json.result, says(replica.name))
  t.equal((await post(b.app, { jsonrpc: '2.0', method: 'notifications/initialized' }, session.headers)).status, 202)
})

test('an id of another owner, a changed one and one of another key are unknown', async t => {
  const authenticate = async ({ headers }: { headers: Record<string, unknown> }): Promise<{ owner: string }> => ({ owner: String(headers.authorization) })
  const { a, b } = await replicas(t, basic, { authenticate })
  const ann = { authorization: 'ann' }
  const session = await LegacySession.open(a.app, { headers: ann })
  t.notMatch(Buffer.from(session.id.split('.')[1]!, 'base64url').toString(), 'ann')
  const list = (id: string, headers: Record<string, string>): ReturnType<typeof post> => post(b.app, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { ...headers, 'mcp-session-id': id })
  t.equal((await list(session.id, ann)).status, 200)
  const unknown = await list('none', ann)
  t.equal(unknown.status, 404)
  const { a: stranger } = await replicas(t, basic, { authenticate, stateKey: 'x'.repeat(32) })
  const others = [
    await list(session.id, { authorization: 'bob' }),
    await list(changeText(session.id), ann),
    await list((await LegacySession.open(stranger.app, { headers: ann })).id, ann)
  ]
  for (const { status, body } of others) t.strictSame({ status, body }, { status: 404, body: unknown.body })
})

test('a session that one replica ends is unknown to all', async t => {
  const { a, b } = await replicas(t, basic)
  const session = await LegacySession.open(a.app)
  t.equal((await at(b, session).request('ping')).status, 200)
  const ended = await a.app.inject({ method: 'DELETE', url: '/mcp', headers: session.headers })
  t.equal(ended.statusCode, 204)
  t.equal((await session.request('ping')).status, 404)
  await until(async () => (await at(b, session).request('ping')).status === 404, 'the other replica knows')
})

test('the log level holds at all replicas', async t => {
  const { a, b } = await replicas(t, basic)
  const session = await LegacySession.open(a.app)
  await session.request('logging/setLevel', { level: 'error' })
  const { body } = await at(b, session).request('tools/call', { name: 'logs' })
  t.notMatch(body, 'quiet')
  t.match(body, 'loud')
  await at(b, session).request('logging/setLevel', { level: 'debug' })
  await until(async () => (await session.request('tools/call', { name: 'logs' })).body.includes('quiet'), 'the first replica knows')
})

test('an answer that reaches another replica settles the question', async t => {
  const { a, b } = await replicas(t, basic)
  const session = await LegacySession.open(a.app, { capabilities: { elicitation: {} } })
  const wire = new Wire(b.app, callOf('ask'), session.headers)
  await wire.until('elicitation/create')
  const question = messagesIn(wire.text).at(-1)
  const answer = { jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { name: 'ann' } } }
  const other = await LegacySession.open(a.app, { capabilities: { elicitation: {} } })
  t.equal((await post(a.app, { ...answer, result: { action: 'cancel' } }, other.headers)).status, 202, 'another session')
  t.equal((await post(a.app, { ...answer, id: 'ask-1' }, session.headers)).status, 202, 'an id that names no replica')
  t.equal((await post(a.app, answer, session.headers)).status, 202)
  await wire.ended
  t.match(messagesIn(wire.text).at(-1)?.result?.content[0].text, /^replica-b .*ann/)
})

test('a cancellation that reaches another replica cancels the call', async t => {
  let isRunning = false
  const { a, b } = await replicas(t, () => sourceOf({
    waits: {
      run: (_args, { signal }) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => { reject(signal.reason) })
        isRunning = true
      })
    }
  }))
  const session = await LegacySession.open(a.app)
  const wire = new Wire(a.app, callOf('waits', 'c'), session.headers)
  await until(() => isRunning, 'the call is in progress')
  t.equal((await post(b.app, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } }, session.headers)).status, 202)
  await wire.ended
  t.strictSame(messagesIn(wire.text), [])
})

test('a message that cannot be passed to another replica ends no process, by itself, in a batch or over HTTP+SSE', async t => {
  const { a, b, links } = await replicas(t, basic)
  const session = await LegacySession.open(a.app, { revision: '2025-03-26' })
  const wire = new Wire(a.app, undefined, {}, 'GET')
  await wire.until('\n\n')
  const endpoint = /^event: endpoint\ndata: (.*)\n\n/.exec(wire.text)![1]!
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } }
  const answer = { jsonrpc: '2.0', id: 'ask-replica-b-1', result: { action: 'cancel' } }
  const lost: unknown[] = []
  const note = (err: unknown): void => { lost.push(err) }
  process.on('unhandledRejection', note)
  t.teardown(() => { process.off('unhandledRejection', note) })
  await at(b, session).request('ping')
  links.fail(new Error('the database is down'))
  t.equal((await post(b.app, cancelled, session.headers)).status, 500)
  t.match((await post(b.app, [{ jsonrpc: '2.0', id: 1, method: 'ping' }, cancelled], session.headers)).body, /"id":1,"result":\{\}/)
  for (const payload of [cancelled, answer]) await a.app.inject({ method: 'POST', url: endpoint, payload })
  await new Promise(resolve => { setImmediate(resolve) })
  t.strictSame(lost, [])
  links.fail(undefined)
  wire.leave()
})

/** A tool that reports its steps as the test lets it, and then its replica. */
function stepwise (definition: object = {}, message?: string): { source: (name: string) => ToolSource, let: (steps: number) => void, runs: string[] } {
  const gates = [1, 2, 3, 4].map(() => {
    let open = (): void => {}
    const opened = new Promise<void>(resolve => { open = resolve })
    return { open, opened }
  })
  const runs: string[] = []
  const source = (name: string): ToolSource => sourceOf({
    steps: {
      ...definition,
      async run (_args, context) {
        runs.push(name)
        for (const [i, { opened }] of gates.entries()) {
          await opened
          await context.progress({ progress: i + 1, message })
        }
        return says(`done by ${name}`)
      }
    }
  })
  return {
    source,
    runs,
    let: steps => { for (const { open } of gates.slice(0, steps)) open() }
  }
}

const last = ({ text }: Wire): string => eventsIn(text).findLast(({ id }) => id !== undefined)?.id as string
const resume = ({ app }: Replica, { headers }: LegacySession, id: string): Wire => new Wire(app, undefined, { ...headers, 'last-event-id': id }, 'GET')
const progressOf = (wires: Wire[]): unknown[] => wires.flatMap(({ text }) => messagesIn(text)).filter(({ method }) => method !== undefined).map(({ params }) => params?.progress)

test('a client resumes a stream through another replica, which follows it', async t => {
  const tool = stepwise()
  const { a, b } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  tool.let(2)
  await first.until('"progress":2')
  first.leave()
  await first.ended
  tool.let(3)
  const second = resume(b, session, last(first))
  await second.until('"progress":3')
  tool.let(4)
  await second.ended
  t.strictSame(progressOf([first, second]), [1, 2, 3, 4])
  t.match(messagesIn(second.text).at(-1), { id: 5, result: says('done by replica-a') })
  const again = resume(a, session, last(first))
  await again.ended
  t.strictSame(messagesIn(again.text), messagesIn(second.text), 'through the replica that ran it')
  t.equal((await resume(b, session, last(second)).head).statusCode, 405, 'the client has all of it')
  const other = await LegacySession.open(a.app)
  t.equal((await resume(b, other, last(first)).head).statusCode, 400, 'another session does not have it')
})

test('events that are deleted cannot be resumed', async t => {
  const tool = stepwise()
  const { a, b, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  tool.let(4)
  const wire = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  await wire.ended
  const id = eventsIn(wire.text).find(({ data }) => data.includes('"progress":1'))?.id as string
  await until(async () => (await resume(b, session, id).head).statusCode === 200, 'it can be resumed')
  links.forget(links.streams.find(name => name.includes('replica-a')) as string, 2)
  t.equal((await resume(b, session, id).head).statusCode, 400)
  t.equal((await resume(b, session, 'replica-a-zz_1').head).statusCode, 400)
  t.equal((await resume(b, session, 'x').head).statusCode, 400)
})

/**
 * Runs a call until its client has some steps, the store has only the first, and the replica has ended; then the client
 * resumes it at the other replica.
 */
async function resumeAfterEnd (t: Test, steps: number, text?: string): Promise<{ runs: string[], wire: Wire }> {
  const tool = stepwise({ annotations: { readOnlyHint: true } }, text)
  const { a, b, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  // a large event arrives in several chunks
  const received = (): number => messagesIn(first.text.slice(0, first.text.lastIndexOf('\n\n') + 2)).length
  tool.let(1)
  await until(() => received() === 1, 'the first step')
  links.kill(a.name)
  tool.let(steps)
  await until(() => received() === steps, 'the steps that are not stored')
  const wire = resume(b, session, last(first))
  tool.let(4)
  await wire.ended
  first.leave()
  return { runs: tool.runs, wire }
}

test('a call whose replica ended runs again where its client resumes it', async t => {
  const { runs, wire } = await resumeAfterEnd(t, 1)
  t.strictSame(runs, ['replica-a', 'replica-b'])
  t.match(messagesIn(wire.text).at(-1), { id: 5, result: says('done by replica-b') })
  t.strictSame(progressOf([wire]), [2, 3, 4], 'the progress that was sent is left out')
  t.match(last(wire), /^replica-b-/, 'its events name the new replica')
})

test('a call whose replica ended before it stored what it sent repeats nothing, and loses nothing', async t => {
  t.strictSame(progressOf([(await resumeAfterEnd(t, 3)).wire]), [4])
  const { wire } = await resumeAfterEnd(t, 2, 'x'.repeat(300_000))
  t.strictSame(progressOf([wire]), [3, 4], 'an event of several entries is one')
})

test('of several readers of a call whose replica ended, at one replica and at others, one runs it and all get its result', async t => {
  const tool = stepwise({ annotations: { readOnlyHint: true } })
  const { a, b, c, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  tool.let(1)
  await first.until('"progress":1')
  const wires = [b, c, b, c].map(replica => resume(replica, session, last(first)))
  for (const wire of wires) await wire.until('open')
  links.kill(a.name)
  await until(() => tool.runs.length > 1, 'it runs again')
  // and one that comes later
  wires.push(resume(b, session, last(first)), resume(c, session, last(first)))
  tool.let(4)
  for (const wire of wires) {
    await wire.ended
    t.strictSame(progressOf([wire]), [2, 3, 4])
    t.match(messagesIn(wire.text).at(-1), { id: 5, result: says(`done by ${tool.runs[1]}`) })
  }
  t.equal(tool.runs.length, 2)
  first.leave()
})

test('a call goes on where the replica that took it over ends as well, once', async t => {
  const tool = stepwise({ annotations: { readOnlyHint: true } })
  const { a, b, c, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  tool.let(1)
  await first.until('"progress":1')
  links.kill(a.name)
  const second = resume(b, session, last(first))
  await until(() => tool.runs.length === 2, 'it runs at the second replica')
  const wires = [resume(c, session, last(first)), resume(c, session, last(first))]
  for (const wire of wires) await wire.until('open')
  tool.let(2)
  for (const wire of wires) await wire.until('"progress":2')
  links.kill(b.name)
  await until(() => tool.runs.length === 3, 'it runs at the third replica')
  tool.let(4)
  for (const wire of wires) {
    await wire.ended
    t.strictSame(progressOf([wire]), [2, 3, 4])
    t.match(messagesIn(wire.text).at(-1), { id: 5, result: says('done by replica-c') })
  }
  t.strictSame(tool.runs, ['replica-a', 'replica-b', 'replica-c'])
  for (const wire of [first, second]) wire.leave()
})

test('a call that is not harmless ends with an error instead', async t => {
  const tool = stepwise()
  const { a, b, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps', 5, meta), session.headers)
  tool.let(1)
  await first.until('"progress":1')
  const second = resume(b, session, last(first))
  await second.until('open')
  links.kill(a.name)
  await second.ended
  t.match(messagesIn(second.text), [{ id: 5, error: { code: -32603, message: 'the replica that ran this call has ended; call again' } }])
  t.strictSame(tool.runs, ['replica-a'])
  tool.let(4)
  first.leave()
})

test('a long call gets an event to resume with, and a replica that closes leaves it to the others', async t => {
  const tool = stepwise({ annotations: { idempotentHint: true } })
  const { a, b, links } = await replicas(t, tool.source)
  const session = await LegacySession.open(a.app)
  const first = new Wire(a.app, callOf('steps'), session.headers)
  await first.until('id: ')
  t.strictSame(messagesIn(first.text), [])
  const closed = a.app.close()
  await first.ended
  t.strictSame(messagesIn(first.text), [], 'it does not fail')
  tool.let(4)
  await closed
  links.kill(a.name)
  const second = resume(b, session, last(first))
  await second.ended
  t.match(messagesIn(second.text), [{ id: 5, result: says('done by replica-b') }])
})

test('the standalone stream has the notifications of all replicas, and is resumed at any', async t => {
  const updates = new Map<string, (uri: string) => void>()
  const changes = new Map<string, () => void>()
  const source = (name: string): ToolSource => sourceOf({}, {
    onChange (listener) {
      changes.set(name, () => { listener(['tools']) })
      return () => {}
    },
    resources: {
      list: () => [{ uri: 'test://r', name: 'r' }],
      read: () => ({ contents: [] }),
      subscribe (uri, onUpdate) {
        updates.set(name, () => { onUpdate() })
        return () => { updates.delete(name) }
      }
    }
  })
  const { a, b } = await replicas(t, source)
  const session = await LegacySession.open(a.app)
  const get = (replica: Replica): Wire => new Wire(replica.app, undefined, session.headers, 'GET')
  const first = get(a)
  await first.until('id: 0_0')
  await at(b, session).request('resources/subscribe', { uri: 'test://r' })
  await until(() => updates.size === 2, 'both replicas have the subscription')
  updates.get(b.name)!('test://r')
  await first.until('resources/updated')
  changes.get(b.name)!()
  await first.until('tools/list_changed')
  first.leave()
  await first.ended
  updates.get(a.name)!('test://r')
  const second = resume(b, session, last(first))
  await second.until('resources/updated')
  t.equal(messagesIn(second.text).length, 1)
  const third = get(a)
  await second.ended
  await at(a, session).request('resources/unsubscribe', { uri: 'test://r' })
  await until(() => updates.size === 0, 'no replica has the subscription')
  changes.get(a.name)!()
  await third.until('tools/list_changed')
  third.leave()
})

test('memory that a session takes at a replica is freed, and the session goes on', async t => {
  const { a, b } = await replicas(t, basic, { limits: { maxSessions: 1 } })
  const sessions = [await LegacySession.open(a.app), await LegacySession.open(a.app)]
  for (const session of [...sessions, ...sessions]) t.equal((await at(b, session).request('ping')).status, 200)
})

test('a failure of the store is a 503', async t => {
  const { a, b, links } = await replicas(t, basic)
  const session = await LegacySession.open(a.app)
  links.fail(Object.assign(new Error('the task store cannot be reached'), { code: 'TASK_STORE_UNAVAILABLE', statusCode: 503, expose: true }))
  t.match(await at(b, session).request('ping'), { status: 503, headers: { 'retry-after': /\d/ } })
  links.fail(undefined)
  t.equal((await at(b, session).request('ping')).status, 200)
})

test('a requestState of one replica is read by the other, and an id of a session is none', async t => {
  const { a, b } = await replicas(t, basic)
  const able = { capabilities: { elicitation: {} } }
  const { requestState } = (await modern(a.app, 'tools/call', { name: 'ask' }, able)).json.result as { requestState: string }
  const inputResponses = { name: { action: 'accept', content: { name: 'ann' } } }
  t.match((await modern(b.app, 'tools/call', { name: 'ask', requestState, inputResponses }, able)).json.result?.content[0].text, /^replica-b .*ann/)
  const { headers } = await post(a.app, initialize('2025-11-25'))
  t.match((await modern(b.app, 'tools/call', { name: 'ask', requestState: headers['mcp-session-id'] }, able)).json.error, { code: -32602 })
})

test('a client of 2024-11-05 sends its messages to any replica', async t => {
  const { a, b } = await replicas(t, basic)
  const wire = new Wire(a.app, undefined, {}, 'GET')
  await wire.until('endpoint')
  const [, url = ''] = /^data: (\S+)$/m.exec(wire.text) ?? []
  const send = async (app: FastifyInstance, message: object): Promise<number> =>
    (await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: { jsonrpc: '2.0', ...message } })).statusCode
  t.equal(await send(b.app, initialize('2024-11-05', { elicitation: {} })), 202)
  await wire.until('serverInfo')
  t.equal(await send(a.app, callOf('where', 1)), 202)
  await wire.until('replica-a')
  t.equal(await send(b.app, callOf('ask', 2)), 202)
  await wire.until('elicitation/create')
  const { id } = messagesIn(wire.text.slice(wire.text.indexOf('event: message'))).at(-1) ?? {}
  t.equal(await send(b.app, { id, result: { action: 'accept', content: { name: 'ann' } } }), 202)
  await wire.until('ann')
  t.equal((await b.app.inject({ method: 'POST', url: `${url}x`, payload: callOf('where') })).statusCode, 404)
  t.equal(await send(b.app, { id: 1 }), 400)
  wire.leave()
})

test('without a key sessions stay in one process', async t => {
  const { a, b } = await replicas(t, basic, { stateKey: undefined })
  const session = await LegacySession.open(a.app)
  t.equal((await session.request('ping')).status, 200)
  t.equal((await at(b, session).request('ping')).status, 404)
})
