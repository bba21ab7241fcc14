import { SignedStates } from '@polyvac/core/plugin'
import { test } from 'tap'
import type { ServerRequest } from '../src/index.js'
import { LegacySession, messagesIn, modern, modernBody, modernHeaders, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

const form = (message: string): ServerRequest => ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: { type: 'object', properties: { value: { type: 'string' } } } } })
const accept = (value: string): object => ({ action: 'accept', content: { value } })
const elicitation = { capabilities: { elicitation: {} } }
let runs = 0

const source = sourceOf({
  twice: {
    async run ({ title }, context) {
      runs++
      const { first } = await context.ask({ first: form('First?') })
      const { second } = await context.ask({ second: form('Second?') })
      return says(JSON.stringify([title, (first.content as { value: string }).value, (second.content as { value: string }).value]))
    }
  },
  catches: {
    async run (_args, context) {
      try {
        await context.ask({ first: form('First?') })
      } catch {
        return says('the question got lost')
      }
      return says('asked')
    }
  },
  steps: {
    async run (_args, context) {
      await context.progress({ progress: 1 })
      await context.progress({ progress: 1 })
      await context.progress({ progress: 3 })
      context.message({ level: 'info', data: 'a word' })
      return says('done')
    }
  },
  opens: { run: async (_args, context) => says(JSON.stringify((await context.ask({ page: { method: 'elicitation/create', params: { mode: 'url', url: 'https://example.com', message: 'Open it', elicitationId: 'e' } } })).page)) }
})

const ask = (args: object, more: object = {}, name = 'twice'): Record<string, unknown> => ({ name, arguments: args, ...more })

test('a call asks, runs again with the answers, and asks again', async t => {
  const app = await serve(t, { sources: [source] })
  runs = 0
  const one = (await modern(app, 'tools/call', ask({ title: 't', b: 1 }), elicitation)).json.result
  t.match(one, { resultType: 'input_required', inputRequests: { first: { method: 'elicitation/create', params: { message: 'First?' } } }, requestState: /^v1\./ })
  t.equal(one?.ttlMs, undefined)
  const two = (await modern(app, 'tools/call', ask({ b: 1, title: 't' }, { inputResponses: { first: accept('a'), other: 5 }, requestState: one?.requestState }), elicitation)).json.result
  t.strictSame(Object.keys(two?.inputRequests), ['second'])
  const three = (await modern(app, 'tools/call', ask({ title: 't', b: 1 }, { inputResponses: { second: accept('b') }, requestState: two?.requestState }), elicitation)).json.result
  t.match(three, { resultType: 'complete', content: [{ text: '["t","a","b"]' }] })
  t.equal(runs, 3)
  t.match((await modern(app, 'tools/call', ask({}, {}, 'catches'), elicitation)).json.result, { resultType: 'input_required' }, 'a tool cannot lose its question')
  const wrong = (await modern(app, 'tools/call', ask({ title: 't', b: 1 }, { inputResponses: { first: { action: 'perhaps' } }, requestState: one?.requestState }), elicitation)).json.result
  t.strictSame(Object.keys(wrong?.inputRequests), ['first'], 'an answer of the wrong form is asked for again')
})

test('a requestState that is changed, expired or of another call is refused', async t => {
  const stateKey = 'a key for this test, of 32 bytes or more'
  const app = await serve(t, { sources: [source], stateKey, authenticate: ({ headers }) => ({ owner: String(headers.authorization) }), limits: { maxStateChars: 2_000 } })
  const as = (owner: string): { headers: Record<string, string>, capabilities: object } => ({ headers: { authorization: owner }, ...elicitation })
  const { requestState } = (await modern(app, 'tools/call', ask({ title: 't' }), as('ann'))).json.result as { requestState: string }
  const retry = async (state: unknown, args: object = { title: 't' }, owner = 'ann', name = 'twice'): Promise<number | undefined> =>
    (await modern(app, 'tools/call', ask(args, { inputResponses: { first: accept('a') }, requestState: state }, name), as(owner))).json.error?.code
  t.equal(await retry(requestState), undefined)
  const [version, payload = '', mac = ''] = requestState.split('.')
  const read = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const forged = Buffer.from(JSON.stringify({ ...read, value: { first: accept('x'), second: accept('y') } })).toString('base64url')
  const expired = new SignedStates(stateKey).sign({}, ['ann', 'tools/call', ask({ title: 't' })], -1)
  for (const [what, state] of Object.entries({
    tampered: `${String(version)}.${payload}.${changeText(mac)}`,
    forged: `${String(version)}.${forged}.${mac}`,
    short: 'v1',
    empty: '',
    number: 5,
    long: 'x'.repeat(3_000),
    expired,
    foreign: new SignedStates('another key, of 32 bytes or more too').sign({}, ['ann', 'tools/call', ask({ title: 't' })], 60_000)
  })) t.equal(await retry(state), -32602, what)
  t.equal(await retry(requestState, { title: 'u' }), -32602, 'other arguments')
  t.equal(await retry(requestState, { title: 't' }, 'bob'), -32602, 'another caller')
  t.equal(await retry(requestState, { title: 't' }, 'ann', 'catches'), -32602, 'another tool')
})

test('answers that make the requestState too long end the call', async t => {
  const app = await serve(t, { sources: [source], limits: { maxStateChars: 1_000 } })
  const long = await modern(app, 'tools/call', ask({}, { inputResponses: { first: accept('x'.repeat(1_000)) } }), elicitation)
  t.match(long.json.error, { code: -32602, message: /longer than 1000 characters/ })
})

test('the questions asked at once are bounded', async t => {
  const app = await serve(t, {
    sources: [sourceOf({ many: { run: async (_args, context) => says(JSON.stringify(await context.ask({ a: form('a'), b: form('b') }))) } })],
    limits: { maxQuestions: 1 }
  })
  t.match((await modern(app, 'tools/call', ask({}, {}, 'many'), elicitation)).json.result, { isError: true, content: [{ text: /at most 1 questions at once/ }] })
  const session = await LegacySession.open(app, elicitation)
  t.match((await session.request('tools/call', ask({}, {}, 'many'))).json.result, { isError: true, content: [{ text: /1 questions may be open/ }] })
})

test('notifications to a reader that is far behind are left out, the result is not', async t => {
  const app = await serve(t, {
    sources: [sourceOf({
      floods: {
        async run (_args, context) {
          for (let at = 0; at < 20_000; at++) context.message({ level: 'info', data: 'x'.repeat(1_000) })
          return says('done')
        }
      }
    })]
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const wire = new Wire(app, modernBody('tools/call', ask({}, {}, 'floods'), {}, { 'io.modelcontextprotocol/logLevel': 'info' }), modernHeaders('tools/call', { name: 'floods' }))
  await wire.ended
  const messages = messagesIn(wire.text)
  t.match(messages.at(-1)?.result, { content: [{ text: 'done' }] })
  t.ok(messages.length < 10_000, String(messages.length))
})

test('a caller is asked only what its capabilities permit', async t => {
  const app = await serve(t, { sources: [source] })
  const mute = await modern(app, 'tools/call', ask({}))
  t.match(mute, { status: 400, json: { error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } } } })
  t.match((await modern(app, 'tools/call', ask({}, {}, 'opens'), elicitation)).json.error, { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } })
  t.match((await modern(app, 'tools/call', ask({}, {}, 'opens'), { capabilities: { elicitation: { url: {} } } })).json.result, { inputRequests: { page: { params: { url: 'https://example.com' } } } })
})

test('progress grows, and log messages reach callers that ask for their level', async t => {
  const app = await serve(t, { sources: [source] })
  const quiet = await modern(app, 'tools/call', ask({}, {}, 'steps'))
  t.match(quiet.headers['content-type'], /json/)
  const told = await modern(app, 'tools/call', ask({}, {}, 'steps'), { meta: { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'info' } })
  t.equal(told.headers['x-accel-buffering'], 'no')
  t.match(messagesIn(told.body), [
    { method: 'notifications/progress', params: { progressToken: 7, progress: 1 } },
    { params: { progress: 3 } },
    { method: 'notifications/message', params: { level: 'info', data: 'a word' } },
    { result: { resultType: 'complete' } }
  ])
  t.equal(messagesIn(told.body).length, 4)
})

test('a disconnect cancels a call, answered as JSON or as a stream', async t => {
  let started = (): void => {}
  let stopped = (): void => {}
  const app = await serve(t, {
    sources: [sourceOf({
      waits: {
        async run (_args, context) {
          await context.progress({ progress: 1 })
          return await new Promise((_resolve, reject) => {
            context.signal.addEventListener('abort', () => {
              stopped()
              reject(context.signal.reason)
            })
            started()
          })
        }
      }
    })]
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  for (const meta of [{}, { progressToken: 'p' }]) {
    const running = new Promise<void>(resolve => { started = resolve })
    const aborted = new Promise<void>(resolve => { stopped = resolve })
    const wire = new Wire(app, modernBody('tools/call', ask({}, {}, 'waits'), {}, meta), modernHeaders('tools/call', { name: 'waits' }))
    wire.head.catch(() => {})
    await running
    wire.leave()
    await aborted
    t.pass(JSON.stringify(meta))
  }
})

test('a listen stream carries the requested notifications with the id of its request', async t => {
  let changed = (_kinds: ReadonlyArray<'tools' | 'prompts'>): void => {}
  let touched = (): void => {}
  const app = await serve(t, {
    sources: [{
      list: () => [],
      call: () => says(''),
      prompts: { list: () => [], get: () => ({ messages: [] }) },
      resources: { list: () => [], read: () => undefined, subscribe: (_uri, tell) => { touched = tell; return () => {} } },
      onChange (listener) { changed = listener; return () => {} }
    }],
    limits: { maxStreams: 1, maxSubscriptions: 2 }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const body = modernBody('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'], taskIds: undefined } })
  const wire = new Wire(app, body, modernHeaders('subscriptions/listen', {}))
  await wire.until('acknowledged')
  t.equal((await modern(app, 'subscriptions/listen', { notifications: {} })).status, 503)
  t.equal((await modern(app, 'subscriptions/listen', { notifications: { resourceSubscriptions: ['1', '2', '3'] } })).json.error?.code, -32602)
  changed(['prompts'])
  changed(['tools'])
  touched()
  await wire.until('resources/updated')
  await app.close()
  await wire.ended
  const subscriptionId = { 'io.modelcontextprotocol/subscriptionId': body.id }
  t.match(messagesIn(wire.text), [
    { method: 'notifications/subscriptions/acknowledged', params: { _meta: subscriptionId, notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'] } } },
    { method: 'notifications/tools/list_changed', params: { _meta: subscriptionId } },
    { method: 'notifications/resources/updated', params: { _meta: subscriptionId, uri: 'a:1' } },
    { id: body.id, result: { resultType: 'complete', _meta: subscriptionId } }
  ])
})

test('a notification is accepted without headers', async t => {
  const app = await serve(t, { sources: [source] })
  const { method, params } = modernBody('notifications/cancelled', { requestId: 1 })
  t.match(await post(app, { jsonrpc: '2.0', method, params }), { status: 202, body: '' })
})

test('long lists have pages in a fixed order', async t => {
  const names = Array.from({ length: 5 }, (_, at) => `tool-${at}`)
  const app = await serve(t, { sources: [sourceOf(Object.fromEntries(names.map(name => [name, { run: () => says(name) }])))], limits: { pageSize: 2 } })
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { tools, nextCursor } = (await modern(app, 'tools/list', cursor === undefined ? {} : { cursor })).json.result as { tools: Array<{ name: string }>, nextCursor?: string }
    seen.push(...tools.map(({ name }) => name))
    cursor = nextCursor
  } while (cursor !== undefined)
  t.strictSame(seen, names)
})

test('a source that fails is left out of a list and read again', async t => {
  let works = false
  const app = await serve(t, {
    sources: [
      { list: () => { if (works) return [{ name: 'b', inputSchema: { type: 'object' } }]; throw new Error('down') }, call: () => says('b') },
      sourceOf({ a: { run: () => says('a') } })
    ]
  })
  const names = async (): Promise<string[]> => ((await modern(app, 'tools/list')).json.result?.tools as Array<{ name: string }>).map(({ name }) => name)
  t.strictSame(await names(), ['a'])
  works = true
  t.strictSame(await names(), ['b', 'a'])
})

test('a definition has the fields of each revision', async t => {
  const whole = { title: 'T', icons: [{ src: 'https://example.com/i.png' }], annotations: { readOnlyHint: true }, outputSchema: { type: 'array' }, _meta: { 'a/b': 1 } }
  const app = await serve(t, {
    sources: [sourceOf({ one: { ...whole, run: () => ({ content: [{ type: 'resource_link', uri: 'a:1', name: 'a' }, { type: 'audio', mimeType: 'audio/wav', data: '' }], structuredContent: [1] }) } })]
  })
  const keys: Record<string, string> = {}
  const kinds: Record<string, unknown> = {}
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const session = await LegacySession.open(app, { revision })
    keys[revision] = Object.keys((await session.request('tools/list')).json.result?.tools[0]).sort().join()
    const { content, structuredContent } = (await session.request('tools/call', { name: 'one' })).json.result as { content: Array<{ type: string }>, structuredContent?: unknown }
    kinds[revision] = [...content.map(({ type }) => type), structuredContent]
  }
  const { tools } = (await modern(app, 'tools/list')).json.result as { tools: object[] }
  t.strictSame(keys, {
    '2024-11-05': 'inputSchema,name',
    '2025-03-26': 'annotations,inputSchema,name',
    '2025-06-18': '_meta,annotations,inputSchema,name,title',
    '2025-11-25': '_meta,annotations,icons,inputSchema,name,title'
  })
  t.strictSame(Object.keys(tools[0] ?? {}).sort().join(), '_meta,annotations,icons,inputSchema,name,outputSchema,title')
  t.strictSame(kinds, {
    '2024-11-05': ['text', 'text', undefined],
    '2025-03-26': ['text', 'audio', undefined],
    '2025-06-18': ['resource_link', 'audio', undefined],
    '2025-11-25': ['resource_link', 'audio', undefined]
  })
  t.strictSame((await modern(app, 'tools/call', ask({}, {}, 'one'))).json.result?.structuredContent, [1])
})

test('`listTtlMs` is the ttlMs of lists', async t => {
  const app = await serve(t, { sources: [source], limits: { listTtlMs: 1_234 } })
  for (const method of ['server/discover', 'tools/list']) t.match((await modern(app, method)).json.result, { ttlMs: 1_234, cacheScope: 'public' })
})
