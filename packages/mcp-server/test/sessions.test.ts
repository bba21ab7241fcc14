import { test } from 'tap'
import Fastify from 'fastify'
import { MemoryBudget, SseBody } from '@polyvac/core/plugin'
import { until } from '../../../test/fixtures/until.js'
import { EventStore } from '../src/sessions/event-store.js'
import { eventsIn, initialize, LegacySession, messagesIn, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'

const source = sourceOf({
  steps: {
    async run (_args, context) {
      for (const progress of [1, 2, 3]) await context.progress({ progress, total: 3 })
      return says('done')
    }
  },
  ask: {
    async run (_args, context) {
      const { name } = await context.ask({ name: { method: 'elicitation/create', params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } } } })
      return says(JSON.stringify(name))
    }
  },
  logs: {
    run (_args, context) {
      context.message({ level: 'info', data: 'quiet' })
      context.message({ level: 'error', data: 'loud' })
      return says('logged')
    }
  }
})
const progress = { _meta: { progressToken: 'p' } }

test('a lone response is JSON; a message before it makes an event stream', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  const plain = await session.request('tools/call', { name: 'steps' })
  t.match(plain.headers['content-type'], /^application\/json/)
  t.match(plain.json.result, says('done'))
  const stream = await session.request('tools/call', { name: 'steps', ...progress })
  t.match(stream.headers['content-type'], /^text\/event-stream/)
  t.strictSame(messagesIn(stream.body).map(({ params, result }) => params?.progress ?? result?.content[0].text), [1, 2, 3, 'done'])
  t.strictSame(eventsIn(stream.body)[0]?.data, '', 'the first event gives an id to come back with')
})

test('a client before 2025-11-25 gets no priming event', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app, { revision: '2025-06-18' })
  const { body } = await session.request('tools/call', { name: 'steps', ...progress })
  t.ok(eventsIn(body).every(({ data, id }) => data !== '' && id !== undefined))
})

test('a client resumes a broken stream', async t => {
  let go = (): void => {}
  const gate = new Promise<void>(resolve => { go = resolve })
  let aborted = false
  let isDone = false
  const app = await serve(t, {
    sources: [sourceOf({
      slow: {
        async run (_args, context) {
          context.signal.addEventListener('abort', () => { aborted = true })
          await context.progress({ progress: 1 })
          await gate
          await context.progress({ progress: 2 })
          isDone = true
          return says('late')
        }
      }
    })]
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const first = new Wire(app, { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'slow', ...progress } }, session.headers)
  await first.until('"progress":1')
  const last = eventsIn(first.text).at(-1)?.id as string
  first.leave()
  await first.ended
  go()
  await until(() => isDone, 'the tool has returned')
  t.notOk(aborted, 'leaving a stream of a session cancels nothing')
  const other = await LegacySession.open(app)
  const foreign = new Wire(app, undefined, { ...other.headers, 'last-event-id': last }, 'GET')
  t.equal((await foreign.head).statusCode, 400, 'another session has no such event')
  for (const round of [1, 2]) {
    const second = new Wire(app, undefined, { ...session.headers, 'last-event-id': last }, 'GET')
    await second.ended
    t.match(messagesIn(second.text), [{ params: { progress: 2 } }, { id: 5, result: says('late') }], `round ${round}`)
  }
})

test('a disconnect before the first message cancels the call', async t => {
  let started = (): void => {}
  const running = new Promise<void>(resolve => { started = resolve })
  let stopped = (): void => {}
  const aborted = new Promise<void>(resolve => { stopped = resolve })
  const app = await serve(t, {
    sources: [sourceOf({
      waits: {
        async run (_args, { signal }) {
          signal.addEventListener('abort', stopped)
          started()
          await aborted
          return says('gone')
        }
      }
    })]
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const wire = new Wire(app, { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'waits' } }, session.headers)
  wire.head.catch(() => {})
  await running
  wire.leave()
  await aborted
  t.pass('the signal fired')
})

test('a call cancelled by its id gets no response', async t => {
  let isRunning = false
  const app = await serve(t, {
    sources: [sourceOf({
      waits: {
        run: (_args, { signal }) => new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => { reject(signal.reason) })
          isRunning = true
        })
      }
    })]
  })
  const session = await LegacySession.open(app)
  const call = post(app, { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'waits' } }, session.headers)
  await until(() => isRunning, 'the call is in progress')
  t.equal((await post(app, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } }, session.headers)).status, 202)
  t.equal((await post(app, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } }, session.headers)).status, 202)
  t.equal((await call).body, '')
})

test('a server request reaches the caller of the call, and its response the tool', async t => {
  const app = await serve(t, { sources: [source] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  const call = (): Wire => new Wire(app, { jsonrpc: '2.0', id: Math.random(), method: 'tools/call', params: { name: 'ask' } }, session.headers)
  const wire = call()
  await wire.until('elicitation/create')
  const [question] = messagesIn(wire.text)
  const other = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  const answer = (result: object, headers: Record<string, string>): Promise<{ status: number }> => post(app, { jsonrpc: '2.0', id: question?.id, ...result }, headers)
  t.equal((await answer({ result: { action: 'accept', content: { name: 'eve' } } }, other.headers)).status, 202, 'an answer of another session changes nothing')
  t.equal((await answer({ result: { action: 'accept', content: { name: 'ann' } } }, session.headers)).status, 202)
  await wire.ended
  t.match(messagesIn(wire.text).at(-1)?.result?.content[0].text, /ann/)
  const refusing = call()
  await refusing.until('elicitation/create')
  await post(app, { jsonrpc: '2.0', id: messagesIn(refusing.text)[0]?.id, error: { code: -1, message: 'no' } }, session.headers)
  await refusing.ended
  t.match(messagesIn(refusing.text).at(-1)?.result, { isError: true, content: [{ text: /refused to answer elicitation\/create: no/ }] })
  const mute = await LegacySession.open(app)
  t.match((await mute.request('tools/call', { name: 'ask' })).json.result, { isError: true, content: [{ text: /did not declare/ }] })
})

test('a server request without a response fails the tool in time', async t => {
  const app = await serve(t, { sources: [source], limits: { questionTtlMs: 100 } })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} } })
  const { json } = await session.request('tools/call', { name: 'ask' })
  t.match(json.result, { isError: true, content: [{ text: /did not answer elicitation\/create within 0.1 s/ }] })
})

test('log messages below the level of the session are not sent', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  t.equal(messagesIn((await session.request('tools/call', { name: 'logs' })).body).length, 3)
  await session.request('logging/setLevel', { level: 'warning' })
  t.match(messagesIn((await session.request('tools/call', { name: 'logs' })).body), [{ params: { data: 'loud' } }, { result: says('logged') }])
})

test('changes of lists and resources are sent on the standalone stream', async t => {
  let changed = (_kinds: readonly ('tools' | 'prompts')[]): void => {}
  let touched = (): void => {}
  let watching = 0
  const app = await serve(t, {
    sources: [{
      list: () => [],
      call: () => says(''),
      resources: { list: () => [], read: () => undefined, subscribe: (_uri, tell) => { watching++; touched = tell; return () => { watching-- } } },
      onChange (listener) { changed = listener; return () => {} }
    }],
    limits: { maxSubscriptions: 1 }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  t.match((await session.request('ping')).json.result, {})
  const wire = new Wire(app, undefined, session.headers, 'GET')
  await wire.head
  await session.request('resources/subscribe', { uri: 'a:1' })
  await session.request('resources/subscribe', { uri: 'a:1' })
  t.equal(watching, 1)
  t.equal((await session.request('resources/subscribe', { uri: 'a:2' })).json.error?.code, -32602, 'one is the bound here')
  changed(['tools'])
  touched()
  await wire.until('resources/updated')
  t.match(messagesIn(wire.text), [{ method: 'notifications/tools/list_changed' }, { method: 'notifications/resources/updated', params: { uri: 'a:1' } }])
  await session.request('resources/unsubscribe', { uri: 'a:1' })
  await until(() => watching === 0, 'the resource is not subscribed to')
  t.equal(watching, 0)
  wire.leave()
})

test('batches of 2025-03-26 are answered together', async t => {
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app, { revision: '2025-03-26' })
  const ask = (id: number, method: string, params = {}): object => ({ jsonrpc: '2.0', id, method, params })
  const plain = await post(app, [ask(1, 'ping'), ask(2, 'no/such'), { jsonrpc: '2.0', method: 'notifications/initialized' }], session.headers)
  t.match(JSON.parse(plain.body), [{ id: 2, error: { code: -32601 } }, { id: 1, result: {} }])
  const stream = await post(app, [ask(3, 'ping'), ask(4, 'tools/call', { name: 'steps', ...progress })], session.headers)
  t.strictSame(messagesIn(stream.body).filter(({ id }) => id !== undefined).map(({ id }) => id), [3, 4])
  t.equal((await post(app, [{ jsonrpc: '2.0', method: 'notifications/initialized' }], session.headers)).status, 202)
})

test('without sessions each request stands by itself', async t => {
  const app = await serve(t, { sources: [source], sessions: false })
  const begun = await post(app, initialize('2025-11-25', { elicitation: {} }))
  t.equal(begun.headers['mcp-session-id'], undefined)
  t.match((await post(app, { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: 'steps', ...progress } })).json, { id: 0, result: says('done') })
  t.match((await post(app, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask' } }, { 'mcp-protocol-version': '2025-11-25' })).json.result, { isError: true })
  t.equal((await post(app, [{ jsonrpc: '2.0', id: 2, method: 'ping' }])).status, 200, 'without a version it is 2025-03-26')
})

test('an unused session ends, and at the limit the one that is idle longest', async t => {
  const app = await serve(t, { sources: [source], limits: { sessionTtlMs: 60_000, maxSessions: 2 } })
  const advance = movableClock(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [a, b] = [await LegacySession.open(app), await LegacySession.open(app)]
  await a.request('ping')
  const c = await LegacySession.open(app)
  t.strictSame(await Promise.all([a, b, c].map(async session => (await session.request('ping')).status)), [200, 404, 200])
  const streams = [a, c].map(session => new Wire(app, undefined, session.headers, 'GET'))
  await Promise.all(streams.map(({ head }) => head))
  t.match(await post(app, initialize('2025-11-25')), { status: 503, headers: { 'retry-after': '1' } }, 'those in use stay')
  advance(61_000)
  t.equal((await a.request('ping')).status, 200, 'an open stream is use')
  advance(59_000)
  for (const stream of streams) stream.leave()
  await until(async () => {
    // a ping is use, so the time of the session begins again with each
    advance(61_000)
    return (await a.request('ping')).status === 404
  }, 'the session has ended')
})

/** Lets the test move the clock of this process; timers are not affected. */
function movableClock (t: { teardown: (work: () => void) => void }): (ms: number) => void {
  const { now } = performance
  let ahead = 0
  performance.now = () => now.call(performance) + ahead
  t.teardown(() => { performance.now = now })
  return ms => { ahead += ms }
}

test('streams and calls of a session are bounded', async t => {
  let isRunning = false
  const app = await serve(t, { sources: [sourceOf({ waits: { run: (_args, { signal }) => new Promise((_resolve, reject) => { isRunning = true; signal.addEventListener('abort', () => { reject(signal.reason) }) }) } })], limits: { maxStreams: 1, maxSessionCalls: 1 } })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [a, b] = [await LegacySession.open(app), await LegacySession.open(app)]
  const wire = new Wire(app, undefined, a.headers, 'GET')
  await wire.head
  t.equal((await new Wire(app, undefined, b.headers, 'GET').head).statusCode, 503)
  const call = new Wire(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'waits' } }, a.headers)
  call.head.catch(() => {})
  await until(() => isRunning, 'the call is in progress')
  t.equal((await a.request('tools/call', { name: 'waits' })).status, 503)
  call.leave()
  wire.leave()
  await Promise.all([call.ended, wire.ended])
  const isOpen = async (): Promise<boolean> => (await new Wire(app, undefined, b.headers, 'GET').head).statusCode === 200
  t.ok(await until(isOpen, 'a stream can be opened'), 'the place of the other stream is free')
})

test('the application closes in less than a second with all kinds of streams open', async t => {
  const app = await serve(t, { sources: [sourceOf({ stuck: { run: async (_args, context) => { await context.progress({ progress: 1 }); return await new Promise(() => {}) } } })] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const wires = [
    new Wire(app, undefined, session.headers, 'GET'),
    new Wire(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'stuck' } }, session.headers),
    new Wire(app, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'stuck', ...progress } }, session.headers)
  ]
  for (const wire of wires) wire.head.catch(() => {})
  await wires[2]?.until('"progress":1')
  await app.close()
  await Promise.all(wires.map(({ ended }) => ended))
  t.match(messagesIn(wires[2]?.text ?? '').at(-1), { id: 2, error: { message: /shutting down/ } })
  t.match(JSON.parse(wires[1]?.text ?? ''), { id: 1, error: { message: /shutting down/ } })
})

test('the event store deletes the oldest event at each bound', t => {
  const store = new EventStore({ perStream: 3, events: 5, chars: 100 })
  const held = new MemoryBudget(1_000_000).hold('events')
  for (let seq = 1; seq <= 4; seq++) store.add('a', seq, 'x', held)
  t.strictSame(store.after('a', 1)?.map(({ seq }) => seq), [2, 3, 4])
  t.equal(store.after('a', 0), undefined, 'the first is gone, and that is told')
  for (let seq = 1; seq <= 3; seq++) store.add('b', seq, 'x', held)
  t.equal(store.size, 5)
  t.strictSame(store.after('a', 2)?.map(({ seq }) => seq), [3, 4])
  store.add('c', 1, 'x'.repeat(98), held)
  t.equal(store.size, 3, 'a long text makes room for itself')
  store.drop('c')
  t.equal(store.chars, 2)
  store.drop('a')
  store.drop('b')
  t.equal(held.bytes, 0, 'deleted events are not counted')
  t.end()
})

test('events that do not fit the memory budget are not kept, and the oldest of their stream go first', t => {
  const store = new EventStore({ perStream: 10, events: 10, chars: 100_000 })
  const held = new MemoryBudget(1_000).hold('events', undefined)
  for (let seq = 1; seq <= 5; seq++) store.add('a', seq, 'x'.repeat(100), held)
  t.strictSame(store.after('a', 3)?.map(({ seq }) => seq), [4, 5])
  t.equal(store.after('a', 2), undefined)
  store.add('a', 6, 'x'.repeat(1_000), held)
  t.equal(store.size, 0)
  t.equal(held.bytes, 0)
  t.end()
})

test('a client that disconnects before its stream begins does not count', async t => {
  let arrived = (): void => {}
  let admit = (): void => {}
  let close = (): void => {}
  const isThere = new Promise<void>(resolve => { arrived = resolve })
  const isClosed = new Promise<void>(resolve => { close = resolve })
  const open = new Promise<void>(resolve => { admit = resolve })
  const app = await serve(t, {
    sources: [source],
    limits: { maxStreams: 1 },
    async authenticate ({ headers, raw }) {
      if (headers['x-slow'] !== undefined) {
        raw.socket.once('close', close)
        arrived()
        await open
      }
      return { owner: 'ann' }
    }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const early = new Wire(app, undefined, { ...session.headers, 'x-slow': '1' }, 'GET')
  early.head.catch(() => {})
  await isThere
  early.leave()
  await isClosed
  admit()
  const next = await until(async () => {
    const wire = new Wire(app, undefined, session.headers, 'GET')
    return (await wire.head).statusCode === 200 && wire
  }, 'a stream can be opened')
  next.leave()
})

test('the newest ended streams are kept, up to a bound', async t => {
  const app = await serve(t, { sources: [source] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const firstEvents: string[] = []
  for (let i = 0; i < 22; i++) firstEvents.push(eventsIn((await session.request('tools/call', { name: 'steps', ...progress })).body)[0]?.id as string)
  const resume = async (last = ''): Promise<{ status: number | undefined, text: string }> => {
    const wire = new Wire(app, undefined, { ...session.headers, 'last-event-id': last }, 'GET')
    const { statusCode: status } = await wire.head
    await wire.ended
    return { status, text: wire.text }
  }
  t.match(await resume(firstEvents[0]), { status: 400, text: /not kept/ }, 'the first, of 22, made room when the last began')
  t.match(await resume(firstEvents[1]), { status: 200, text: /done/ })
  t.match(await resume(firstEvents.at(-1)), { status: 200, text: /done/ })
})

test('a reader that stalls is disconnected', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  let written: Promise<unknown> = Promise.resolve()
  app.post('/mcp', (_request, reply) => {
    const body = new SseBody(reply, 50)
    written = (async () => { while (!body.destroyed) await body.event('message', 'x'.repeat(64 * 1024)) })()
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const wire = new Wire(app, {}, {})
  const response = await wire.head
  response.pause()
  await written
  t.pass('whoever writes goes on')
  response.resume()
  await wire.ended
  t.notOk(response.complete, 'the reader finds its stream cut')
})
