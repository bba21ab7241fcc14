import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Interpreter } from '@polyvac/core'
import { makeApp } from './fixtures/app.js'

const echo: Interpreter = async function * (question, name, history, extra) {
  yield question.slice(0, 1)
  yield question.slice(1)
  return { answer: question, source_documents: [{ page_content: 'p', metadata: { name } }], history, extra: { topic: extra.topic }, protocol: extra.protocol }
}
const ask = (payload: unknown, url = '/vac/docs') => ({ method: 'POST' as const, url, payload: payload as object })

test('a question is answered with the result of the contract', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const response = await app.inject(ask({ user_input: ' hello ', chat_history: [['a', 'b']], topic: 'x', stream_only: true }))
  t.equal(response.statusCode, 200)
  t.strictSame(response.json(), {
    answer: 'hello',
    source_documents: [{ page_content: 'p', metadata: { name: 'docs' } }],
    history: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }],
    extra: { topic: 'x' },
    protocol: 'direct'
  })
})

test('the VACs are listed with their descriptions', async t => {
  const app = await makeApp(echo, {
    vacs: {
      vacs: { docs: { display_name: 'Docs', description: 'About', model: 'm', agent: 'a' }, bare: {} },
      parts: { docs: { memory: { search: async () => [] } } }
    }
  })
  t.teardown(() => app.close())
  t.strictSame((await app.inject('/vac')).json(), {
    vacs: [
      { name: 'docs', display_name: 'Docs', description: 'About', model: 'm', agent: 'a', memory: true },
      { name: 'bare', display_name: 'bare', description: 'bare', model: null, agent: null, memory: false }
    ]
  })
})

test('a static interpreter answers only the static call', async t => {
  const app = await makeApp(echo, { vacs: { vacInterpreter: () => 'static' } })
  t.teardown(() => app.close())
  t.equal((await app.inject(ask({ user_input: 'hello' }))).json().answer, 'static')
  t.match((await app.inject(ask({ user_input: 'hello' }, '/vac/streaming/docs'))).body, /^hello\n/)
})

test('the three forms of a stream have the same answer', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const stream = async (accept: string | undefined, url = '/vac/streaming/docs', more = {}) =>
    await app.inject({ ...ask({ user_input: 'hello', ...more }, url), headers: accept === undefined ? {} : { accept } })
  const final = JSON.stringify((await app.inject(ask({ user_input: 'hello' }))).json())
  const events = `data: {"chunk":"h"}\n\ndata: {"chunk":"ello"}\n\ndata: ${final}\n\ndata: [DONE]\n\n`

  for (const accept of [undefined, '*/*', 'text/plain', 'application/json', 'nonsense']) {
    const response = await stream(accept)
    t.match(response.headers['content-type'], /^text\/plain/, `${accept} → text`)
    t.equal(response.body, `hello\n${final}\n`)
  }
  t.equal((await stream('text/plain', undefined, { stream_only: true })).body, 'hello')
  for (const accept of ['text/event-stream', 'text/event-stream, */*;q=0.1', 'text/plain;q=0.5, text/event-stream']) {
    const response = await stream(accept)
    t.equal(response.headers['content-type'], 'text/event-stream', accept)
    t.equal(response.body, events)
  }
  t.equal((await stream('application/json', '/vac/streaming/docs/sse')).body, events)
  const lines = await stream('application/x-ndjson')
  t.equal(lines.headers['content-type'], 'application/x-ndjson')
  t.equal(lines.body, `{"chunk":"h"}\n{"chunk":"ello"}\n${final}\n`)
})

test('invalid input is refused, with the path of every problem', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  const refused: Array<[string, unknown, number, string, RegExp]> = [
    ['missing', {}, 400, 'BAD_REQUEST', /body\/user_input: is missing/],
    ['blank', { user_input: ' \n\t' }, 400, 'BAD_REQUEST', /body\/user_input: must not be blank/],
    ['wrong type', { user_input: 7 }, 400, 'BAD_REQUEST', /body\/user_input/],
    ['two problems', { user_input: null, stream_timeout: 0, stream_wait_time: -1 }, 400, 'BAD_REQUEST', /user_input.*stream_wait_time.*stream_timeout/],
    ['history no array', { user_input: 'x', chat_history: 'text' }, 400, 'BAD_REQUEST', /body\/chat_history: expected array or null/],
    ['history no turns', { user_input: 'x', chat_history: [{ role: 'nobody' }] }, 400, 'INVALID_HISTORY', /chat_history\[0\]/],
    ['array', [], 400, 'BAD_REQUEST', /body: expected object/],
    ['null', null, 400, 'BAD_REQUEST', /body: expected object/],
    ['number', 7, 400, 'BAD_REQUEST', /body: expected object/],
    ['fraction of a second', { user_input: 'x', stream_timeout: 3601 }, 400, 'BAD_REQUEST', /stream_timeout/]
  ]
  for (const [name, payload, status, code, message] of refused) {
    const response = await app.inject({ ...ask(undefined, '/vac/streaming/docs'), headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) })
    t.equal(response.statusCode, status, name)
    t.match(response.json().error, { code, message, requestId: /./ }, name)
    t.notMatch(response.body, /node_modules|\.ts:/, name)
  }
})

test('invalid bodies are refused before the interpreter runs', async t => {
  let ran = 0
  const app = await makeApp(() => { ran++; return 'x' })
  t.teardown(() => app.close())
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const bodies: Array<[string, string, string, number, string]> = [
    ['malformed JSON', 'application/json', '{"user_input": ', 400, 'INVALID_JSON'],
    ['empty', 'application/json', '', 400, 'INVALID_JSON'],
    ['5 MiB', 'application/json', JSON.stringify({ user_input: 'x'.repeat(5 * 1024 * 1024) }), 413, 'BODY_TOO_LARGE'],
    ['10,000 nested arrays', 'application/json', `{"user_input":"x","deep":${nested(10_000)}}`, 400, 'BODY_TOO_DEEP'],
    ['400,000 nested arrays', 'application/json', `{"user_input":"x","deep":${nested(400_000)}}`, 400, 'BODY_TOO_DEEP'],
    ['__proto__', 'application/json', '{"user_input":"x","__proto__":{"polluted":true}}', 400, 'INVALID_JSON'],
    ['constructor.prototype', 'application/json', '{"user_input":"x","constructor":{"prototype":{"polluted":true}}}', 400, 'INVALID_JSON'],
    ['a form', 'application/x-www-form-urlencoded', 'user_input=x', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['text', 'text/plain', 'x', 415, 'UNSUPPORTED_MEDIA_TYPE']
  ]
  for (const [name, type, payload, status, code] of bodies) {
    for (const url of ['/vac/docs', '/vac/streaming/docs']) {
      const response = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': type } })
      t.equal(response.statusCode, status, name)
      t.match(response.json(), { error: { code, message: /./, requestId: /./ } }, name)
    }
  }
  const packed = await app.inject({ method: 'POST', url: '/vac/docs', payload: gzipSync('{"user_input":"x"}'), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } })
  t.match([packed.statusCode, packed.json()], [415, { error: { code: 'UNSUPPORTED_MEDIA_TYPE', message: /gzip/ } }])
  t.equal(ran, 0)
  t.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('an unknown VAC is answered with 404 and a near match', async t => {
  const app = await makeApp(echo)
  t.teardown(() => app.close())
  for (const name of ['dosc', '__proto__', 'constructor', '..%2f', '%00', 'ü', 'x'.repeat(90)]) {
    for (const url of [`/vac/${name}`, `/vac/streaming/${name}`]) {
      const response = await app.inject(ask({ user_input: 'x' }, url))
      t.equal(response.statusCode, 404, url)
      t.match(response.json(), { error: { code: 'VAC_NOT_FOUND' } })
    }
  }
  t.match((await app.inject(ask({ user_input: 'x' }, '/vac/dosc'))).json().error.message, /did you mean "docs"/)
})

test('failures of the interpreter have a code, before the first byte and after it', async t => {
  const logged: string[] = []
  const app = await makeApp(async function * (question) {
    if (question === 'late') yield 'some text'
    if (question === 'slow') await delay(60_000, undefined, { ref: false })
    if (question === 'nothing') return undefined
    throw new Error('secret words')
  }, { server: { logger: { level: 'error', stream: { write: (line: string) => { logged.push(line) } } } }, plugin: { timeoutMs: 1_000 } })
  t.teardown(() => app.close())

  for (const [question, status, code] of [['early', 500, 'VAC_INTERPRETER_FAILED'], ['nothing', 500, 'VAC_INVALID_RESULT'], ['slow', 504, 'VAC_TIMEOUT']] as const) {
    for (const [url, accept] of [['/vac/docs', '*/*'], ['/vac/streaming/docs', '*/*'], ['/vac/streaming/docs', 'text/event-stream'], ['/vac/streaming/docs', 'application/x-ndjson']] as const) {
      const response = await app.inject({ ...ask({ user_input: question }, url), headers: { accept } })
      t.equal(response.statusCode, status, `${question} ${url} ${accept}`)
      t.match(response.headers['content-type'], /^application\/json/)
      t.match(response.json(), { error: { code, requestId: /./ } })
      t.notMatch(response.body, /secret/)
    }
  }
  const late = async (accept: string) => (await app.inject({ ...ask({ user_input: 'late' }, '/vac/streaming/docs'), headers: { accept } })).body
  t.match(await late('text/event-stream'), /^data: {"chunk":"some text"}\n\nevent: error\ndata: {"error":{"code":"VAC_INTERPRETER_FAILED",.*}}\n\ndata: \[DONE\]\n\n$/)
  t.match(await late('application/x-ndjson'), /^{"chunk":"some text"}\n{"error":{"code":"VAC_INTERPRETER_FAILED",.*}}\n$/)
  t.match(await late('text/plain'), /^some text\n{"error":{"code":"VAC_INTERPRETER_FAILED",.*}}\n$/)
  t.match(logged.join(''), /secret words/, 'the log has the cause')
  const { requestId } = (await app.inject(ask({ user_input: 'early' }))).json().error
  t.match(logged.at(-1), new RegExp(`"reqId":"${requestId as string}"`), 'and the request id leads to it')
})

test('a timeout of the request takes precedence over the one of the plugin, also within a stream', async t => {
  let aborted = 0
  const app = await makeApp(async function * (_q, _v, _h, { signal }) {
    signal.addEventListener('abort', () => { aborted++ })
    yield 'begun'
    await new Promise(() => {})
  })
  t.teardown(() => app.close())
  const response = await app.inject({ ...ask({ user_input: 'x', stream_timeout: 1 }, '/vac/streaming/docs/sse') })
  t.match(response.body, /data: {"chunk":"begun"}\n\nevent: error\ndata: {"error":{"code":"VAC_TIMEOUT"/)
  t.equal(aborted, 1)
})

test('when all places are taken the next caller gets 503 with Retry-After', async t => {
  let release = (_answer: string): void => {}
  const gate = new Promise<string>(resolve => { release = resolve })
  const app = await makeApp(() => gate, { vacs: { maxConcurrent: 1 } })
  t.teardown(() => app.close())
  const calls = [app.inject(ask({ user_input: 'x' })), app.inject(ask({ user_input: 'x' }))]
  const refused = await Promise.race(calls)
  release('x')
  t.strictSame((await Promise.all(calls)).map(({ statusCode }) => statusCode).sort(), [200, 503])
  t.equal(refused.headers['retry-after'], '1')
  t.match(refused.json(), { error: { code: 'VAC_BUSY' } })
})

test('callers can be authenticated, and others are refused', async t => {
  const lines: string[] = []
  const app = await makeApp((_q, _v, _h, { principal }) => principal?.owner ?? 'nobody', {
    server: { logger: { stream: { write: (line: string) => { lines.push(line) } } } },
    plugin: { authenticate: ({ headers }) => headers.authorization === 'Bearer right' ? { owner: 'alice' } : undefined }
  })
  t.teardown(() => app.close())
  for (const url of ['/vac/docs', '/openai/v1/chat/completions/docs']) {
    t.equal((await app.inject(ask({ user_input: 'x' }, url))).statusCode, 401)
  }
  const response = await app.inject({ ...ask({ user_input: 'x' }), headers: { authorization: 'Bearer right' } })
  t.equal(response.json().answer, 'alice')
  t.match(JSON.parse(lines.find(line => line.includes('"answered"')) ?? '{}'), { msg: 'answered', owner: 'alice' }, 'the log line has the owner')
  t.notMatch(lines.join(''), /Bearer/)
})

test('a caller without a principal or without an owner is refused', async t => {
  for (const [named, status] of [[null, 401], [{}, 500], [{ owner: '' }, 500]] as const) {
    const asked: string[] = []
    const app = await makeApp(question => { asked.push(question); return 'x' }, { plugin: { authenticate: () => named as never } })
    t.teardown(() => app.close())
    for (const url of ['/vac/docs', '/openai/v1/chat/completions/docs']) t.equal((await app.inject(ask({ user_input: 'x' }, url))).statusCode, status)
    t.strictSame(asked, [])
  }
})

test('an interpreter refuses its caller with a status and a text, in the format of each route', async t => {
  const app = await makeApp(async function * (question) {
    if (question === 'late') yield 'begun'
    throw Object.assign(new Error('too many orders today'), { statusCode: 429, code: 'TOO_MANY' })
  })
  t.teardown(() => app.close())
  const ask = async (url: string, payload: object, headers: Record<string, string> = {}) => await app.inject({ method: 'POST', url, payload, headers })
  const chat = { model: 'docs', messages: [{ role: 'user', content: 'hello' }] }
  for (const url of ['/vac/docs', '/vac/streaming/docs', '/vac/streaming/docs/sse']) {
    const response = await ask(url, { user_input: 'hello' })
    t.equal(response.statusCode, 429, url)
    t.match(response.json(), { error: { code: 'TOO_MANY', message: 'too many orders today' } }, url)
  }
  for (const stream of [false, true]) {
    const response = await ask('/openai/v1/chat/completions', { ...chat, stream })
    t.equal(response.statusCode, 429)
    t.strictSame(response.json(), { error: { message: 'too many orders today', type: 'rate_limit_error', param: null, code: 'too_many' } })
  }
  for (const accept of ['text/plain', 'text/event-stream', 'application/x-ndjson']) {
    const { statusCode, body } = await ask('/vac/streaming/docs', { user_input: 'late' }, { accept })
    t.equal(statusCode, 200)
    t.match(body, /"code":"TOO_MANY","message":"too many orders today"/, accept)
  }
})

test('the memory of a VAC is searched by GET and POST; without a result the best score below is reported', async t => {
  const hits = [{ content: 'About tides.', score: 0.8, metadata: { source: 'tides.md' } }, { content: 'About wind.', score: 0.4, metadata: {} }]
  const app = await makeApp(echo, {
    vacs: { vacs: ['docs', 'bare'], parts: { docs: { memory: { search: async ({ limit = 10, threshold = 0.7 }) => hits.filter(({ score }) => score >= threshold).slice(0, limit) } } } },
    plugin: { authenticate: async ({ headers: { authorization } }) => authorization === 'key' ? { owner: 'a' } : undefined }
  })
  t.teardown(() => app.close())
  const headers = { authorization: 'key' }
  const get = await app.inject({ url: '/vac/docs/search?q=tides&limit=5', headers })
  t.equal(get.statusCode, 200)
  t.strictSame(get.json(), { results: [hits[0]], total_results: 1, query: 'tides', limit: 5, similarity_threshold: 0.7 })
  const post = await app.inject({ method: 'POST', url: '/vac/docs/search', headers, payload: { search_query: 'tides', similarity_threshold: 0.9 } })
  t.strictSame(post.json(), { results: [], total_results: 0, best_score: 0.8, query: 'tides', limit: 10, similarity_threshold: 0.9 })
  for (const limit of ['5.5', '1e1', 'five']) t.equal((await app.inject({ url: `/vac/docs/search?q=x&limit=${limit}`, headers })).statusCode, 400, limit)
  for (const [url, status, code] of [['/vac/docs/search', 400, 'BAD_REQUEST'], ['/vac/docs/search?q=%20', 400, 'BAD_REQUEST'], ['/vac/docs/search?q=x&limit=0', 400, 'BAD_REQUEST'], [`/vac/docs/search?q=${'x'.repeat(2_001)}`, 400, 'BAD_REQUEST'], ['/vac/docs/search?q=x&similarity_threshold=2', 400, 'BAD_REQUEST'], ['/vac/bare/search?q=x', 404, 'VAC_HAS_NO_MEMORY'], ['/vac/nope/search?q=x', 404, 'VAC_NOT_FOUND']] as const) {
    const response = await app.inject({ url, headers })
    t.match([response.statusCode, response.json().error.code], [status, code], url)
  }
  for (const name of ['threshold', 'similarity_threshold']) {
    t.match((await app.inject({ url: `/vac/docs/search?q=tides&${name}=0.1`, headers })).json(), { total_results: 2, similarity_threshold: 0.1 }, name)
    t.match((await app.inject({ method: 'POST', url: '/vac/docs/search', headers, payload: { search_query: 'tides', [name]: 0.1 } })).json(), { total_results: 2 }, name)
  }
  for (const [query, message] of [['treshold=0.1', /treshold: is not known; did you mean "threshold"\?/], ['limt=1', /limt: .*"limit"/], ['vector=x', /vector: is not known; known: q, limit/]] as const) {
    const unknown = await app.inject({ url: `/vac/docs/search?q=tides&${query}`, headers })
    t.match([unknown.statusCode, unknown.json().error], [400, { code: 'BAD_REQUEST', message }], query)
  }
  t.match((await app.inject({ method: 'POST', url: '/vac/docs/search', headers, payload: { search_query: 'tides', k: 1 } })).json(), { error: { message: /body\/k: is not known/ } })
  t.equal((await app.inject({ url: '/vac/docs/search?q=tides' })).statusCode, 401, 'as the other routes')
})
