import { createVacs } from '@polyvac/core'
import { mock } from 'node:test'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { accepts } from '../src/http/accept.js'
import { vacTools } from '../src/index.js'
import { initialize, LegacySession, messagesIn, modern, modernBody, modernHeaders, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'

const SILENCE_MS = 15_000

/** A source whose parts wait until `answer` is called, and the requests that wait. */
function slowSource (): { source: ReturnType<typeof sourceOf>, answer: () => void, waiting: () => number } {
  const waiting: Array<() => void> = []
  const wait = (): Promise<void> => new Promise(resolve => { waiting.push(resolve) })
  const source = sourceOf({
    slow: { run: async () => { await wait(); return says('done') } },
    fails: { run: async () => { await wait(); throw new Error('no') } },
    talks: { run: async (_args, context) => { await context.progress({ progress: 1 }); return says('done') } },
    asks: { run: async (_args, context) => says(JSON.stringify(await context.ask({ name: { method: 'elicitation/create', params: { message: 'who?', requestedSchema: { type: 'object', properties: {} } } } }))) }
  }, {
    resources: { list: () => [{ uri: 'a:1', name: 'one' }], read: async uri => { await wait(); return { contents: [{ uri, text: 'done' }] } } },
    prompts: { list: () => [{ name: 'hello' }], get: async () => { await wait(); return { messages: [{ role: 'user', content: { type: 'text', text: 'done' } }] } } }
  })
  return { source, answer: () => { for (const go of waiting.splice(0)) go() }, waiting: () => waiting.length }
}

const REQUESTS: ReadonlyArray<[string, Record<string, unknown>]> = [
  ['tools/call', { name: 'slow', arguments: {} }],
  ['tools/call', { name: 'fails', arguments: {} }],
  ['tools/call', { name: 'vac_query_calm', arguments: { query: 'hi' } }],
  ['resources/read', { uri: 'a:1' }],
  ['prompts/get', { name: 'hello' }]
]

test('a response without a message begins after 15 seconds, so that proxies keep its connection', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => { mock.timers.reset() })
  const slow = slowSource()
  let answerVac = (): void => {}
  const vacs = createVacs({ vacs: ['calm'], streamInterpreter: async () => { await new Promise<void>(resolve => { answerVac = resolve }); return 'done' } })
  const app = await serve(t, { sources: [slow.source, vacTools(vacs)] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const older = await LegacySession.open(app, { revision: '2025-06-18' })
  let id = 100
  for (const [method, params] of REQUESTS) {
    const legacy = { jsonrpc: '2.0', id: ++id, method, params }
    for (const [era, body, headers] of [
      ['2026-07-28', modernBody(method, params), modernHeaders(method, params)], ['2025-11-25', legacy, session.headers], ['2025-06-18', legacy, older.headers]
    ] as const) {
      const what = `${method} ${JSON.stringify(params)} of ${era}`
      const wire = new Wire(app, body, headers)
      let began = false
      wire.head.then(() => { began = true }, () => {})
      const { waiting } = slow
      const before = answerVac
      await until(() => waiting() > 0 || answerVac !== before, 'the call waits')
      t.equal(began, false, what)
      mock.timers.tick(SILENCE_MS)
      const response = await wire.head
      t.equal(response.statusCode, 200)
      t.match(response.headers['content-type'], /^text\/event-stream/, what)
      await wire.until('\n')
      const begun = wire.text.length
      mock.timers.tick(SILENCE_MS)
      await wire.until(': keep-alive')
      t.ok(wire.text.length > begun)
      slow.answer()
      answerVac()
      await wire.ended
      const [message] = messagesIn(wire.text)
      t.match(JSON.stringify(message?.result), params.name === 'fails' ? /"isError":true/ : /done/, what)
    }
  }
})

test('a client gets the form of response that it takes', async t => {
  const { source } = slowSource()
  const app = await serve(t, { sources: [source] })
  const call = { name: 'talks', arguments: {}, _meta: { progressToken: 1 } }
  for (const [accept, type] of [
    ['application/json', 'application/json'], ['Application/JSON; charset=utf-8', 'application/json'], ['application/*', 'application/json'],
    ['application/json, text/event-stream;q=0', 'application/json'], ['text/event-stream', 'text/event-stream'],
    ['text/event-stream, application/json;q=0', 'text/event-stream'], ['text/*', 'text/event-stream'], ['TEXT/EVENT-STREAM', 'text/event-stream']
  ] as const) {
    const first = await post(app, initialize('2025-11-25'), { accept })
    t.match([first.status, first.headers['content-type'], first.json.result?.protocolVersion], [200, new RegExp(`^${type}`), '2025-11-25'], accept)
    const session = await LegacySession.open(app, { headers: { accept } })
    for (const reply of [await session.request('tools/call', call), await modern(app, 'tools/call', call, { headers: { accept }, meta: { progressToken: 1 } })]) {
      t.match([reply.status, reply.headers['content-type']], [200, new RegExp(`^${type}`)], accept)
      t.match(reply.json.result, says('done'))
      t.equal(reply.body.includes('notifications/progress'), type === 'text/event-stream', `${accept}: progress`)
    }
  }
  for (const accept of ['text/html', 'application/xml', 'image/*', 'text/html;q=0.5, */*;q=0']) {
    t.match(await post(app, initialize('2025-11-25'), { accept }), { status: 406 }, accept)
  }
})

test('a client that takes only JSON is not asked, and opens no stream of changes', async t => {
  const { source } = slowSource()
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app, { capabilities: { elicitation: {} }, headers: { accept: 'application/json' } })
  t.match((await session.request('tools/call', { name: 'asks', arguments: {} })).json.result, { isError: true, content: [{ text: /takes only JSON/ }] })
  t.match(await modern(app, 'subscriptions/listen', { notifications: {} }, { headers: { accept: 'application/json' } }), { status: 406 })
})

test('Accept is read by RFC 9110', t => {
  for (const [accept, json, events] of [
    [undefined, true, true], ['*/*', true, true], ['', false, false], ['application/json-seq', false, false], ['xapplication/json', false, false],
    ['application/json,text/event-stream', true, true], ['text/event-stream;q=0.9,application/json;q=0.0', false, true], ['*/*;q=0.1', true, true]
  ] as const) t.strictSame([accepts(accept, 'json'), accepts(accept, 'events')], [json, events], String(accept))
  t.end()
})
