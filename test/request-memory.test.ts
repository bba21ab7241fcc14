import { test, type Test } from 'tap'
import { createVacs, type Interpreter } from '@polyvac/core'
import { memoryBudget, SseBody } from '@polyvac/core/plugin'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from './fixtures/until.js'

const limit = memoryBudget.limit

/** An application with one VAC that listens; `owner` authenticates callers by a header. */
async function listening (t: Test, streamInterpreter: Interpreter, options: object = {}): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
    memoryBudget.limit = limit
  })
  await app.register(vacPlugin, {
    vacs: createVacs({ vacs: ['demo'], streamInterpreter }),
    authenticate: ({ headers }) => ({ owner: String(headers.owner ?? 'alice') }),
    bodyLimit: 2 * 1024 * 1024,
    ...options
  })
  await app.listen()
  return app
}

const portOf = (app: FastifyInstance): number => (app.server.address() as AddressInfo).port

/** Sends a body, chunked or with its length, and returns the response. */
async function post (app: FastifyInstance, body: string, headers: Record<string, string> = {}, path = '/vac/demo'):
Promise<{ status: number, headers: Record<string, unknown>, body: any }> {
  const sent = httpRequest({ port: portOf(app), path, method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += part
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) }
}

const chunked = { 'transfer-encoding': 'chunked' }
const echo: Interpreter = async function * (question) { yield String(question.length) }

test('a body that is too deep, or has too many values, is refused before it is parsed', async t => {
  const app = await listening(t, echo)
  const deep = '['.repeat(400_000)
  const many = `{"user_input":"x","extra":[${'0,'.repeat(300_000)}0]}`
  const parse = JSON.parse
  const parsed: number[] = []
  JSON.parse = function (text: string, ...rest: unknown[]) {
    parsed.push(text.length)
    return parse.call(JSON, text, ...rest as [])
  } as typeof JSON.parse
  try {
    for (const headers of [{}, chunked]) {
      t.match(await post(app, deep, headers), { status: 400, body: { error: { code: 'BODY_TOO_DEEP' } } })
      t.match(await post(app, many, headers), { status: 413, body: { error: { code: 'BODY_TOO_MANY_VALUES', message: /150,?000/ } } })
    }
  } finally {
    JSON.parse = parse
  }
  t.ok(Math.max(...parsed) < 1_000, 'only responses were parsed')
  const quoted = JSON.stringify({ user_input: '[{,:"\\'.repeat(50_000) })
  t.match(await post(app, quoted), { status: 200 }, 'what is inside of strings does not count')
  t.equal(memoryBudget.used, 0)
})

test('a body that no parser reads neither fails nor keeps its connection', async t => {
  const app = await listening(t, echo)
  const deep = '['.repeat(20_000)
  const lines = ['Content-Type: application/json', `Content-Length: ${deep.length}`, 'Host: localhost']
  const socket = connect(portOf(app))
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => { text += part })
  socket.write(`GET /vac HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${deep}`)
  await until(() => text.includes('{"vacs":'), 'the GET is answered')
  socket.write('GET /vac HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => text.match(/200 OK/g)?.length === 2, 'and the next request of its connection')
  socket.destroy()
  const media = await post(app, deep, { 'content-type': 'text/x-unknown' })
  t.equal(media.status, 415)
  const both = await post(app, `{"user_input":"${'x'.repeat(2_500_000)}","deep":${deep}`, chunked)
  t.equal(both.status, 413, 'a body that is refused twice is answered once')
  t.equal((await post(app, '{"user_input":"x"}')).status, 200)
})

test('past the memory budget, or the share of its owner, a body is refused with 503 and Retry-After', async t => {
  let finish: () => void = () => {}
  const finished = new Promise<void>(resolve => { finish = resolve })
  const app = await listening(t, async function * () { await finished; yield 'done' })
  memoryBudget.limit = 20_000_000
  const body = JSON.stringify({ user_input: 'x'.repeat(1_000_000) })
  const first = post(app, body)
  await until(() => memoryBudget.used > 4_000_000, 'the first body is held')
  for (const headers of [{}, chunked]) {
    const { status, headers: { 'retry-after': retryAfter }, body: { error } } = await post(app, body, headers)
    t.match({ status, retryAfter, code: error.code }, { status: 503, retryAfter: '1', code: 'MEMORY_BUDGET_EXCEEDED' })
  }
  t.equal(memoryBudget.refusedRecently, true)
  const other = post(app, body, { owner: 'bob' })
  await until(() => memoryBudget.used > 8_000_000, 'another owner has his own share')
  finish()
  t.equal((await first).status, 200)
  t.equal((await other).status, 200)
  await until(() => memoryBudget.used === 0, 'all is released')
})

test('a client that disconnects within its body, or behind another answer of its connection, leaves no bytes behind', async t => {
  const app = await listening(t, async function * (question, name, history, { signal }) {
    await new Promise(resolve => { signal.addEventListener('abort', resolve) })
    yield 'late'
  })
  const body = JSON.stringify({ user_input: 'x'.repeat(100_000) })
  const head = `POST /vac/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const partial = connect(portOf(app))
  partial.write(head + body.slice(0, 50_000))
  await until(() => memoryBudget.used > 50_000, 'its bytes are counted')
  partial.destroy()
  await until(() => memoryBudget.used === 0, 'and released')
  const pipelined = connect(portOf(app))
  pipelined.write((head + body).repeat(3))
  await until(() => memoryBudget.used > 800_000, 'at least two requests are read')
  pipelined.destroy()
  await until(() => memoryBudget.used === 0, 'all are released')
})

test('an open connection keeps nothing of a request that was answered', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const app = await listening(t, async function * () { yield 'done' })
  const requests: Array<WeakRef<object>> = []
  app.server.on('request', request => { requests.push(new WeakRef(request)) })
  const socket = connect(portOf(app))
  let text = ''
  socket.setEncoding('utf8').on('data', part => { text += part })
  const body = JSON.stringify({ user_input: 'x'.repeat(100_000) })
  for (const count of [1, 2]) {
    socket.write(`POST /vac/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await until(() => text.match(/200 OK/g)?.length === count, 'the answer has arrived')
  }
  await until(() => {
    collect()
    return requests[0]!.deref() === undefined
  }, 'the first request is collected')
  t.notOk(socket.destroyed, 'while the connection is open')
  socket.destroy()
})

test('the reader of a large answer that is not a stream is disconnected when it takes nothing', async t => {
  const app = await listening(t, async function * () { yield { answer: 'y'.repeat(6_000_000), source_documents: [] } }, { stallMs: 300 })
  const body = JSON.stringify({ user_input: 'x' })
  const head = `POST /vac/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const readers: Socket[] = []
  for (let i = 0; i < 5; i++) readers.push(connect({ port: portOf(app), onread: { buffer: Buffer.alloc(1024), callback: () => false } }))
  for (const reader of readers) {
    reader.on('error', () => {})
    reader.write(head)
  }
  await until(() => memoryBudget.used >= 6_000_000, 'answers wait')
  const connections = async (): Promise<number> => await new Promise(resolve => { app.server.getConnections((_err, count) => { resolve(count) }) })
  await until(async () => await connections() === 0, 'all readers are disconnected')
  await until(() => memoryBudget.used === 0, 'their answers are released')
  for (const reader of readers) reader.destroy()
  const whole = await post(app, body)
  t.equal(whole.body.answer.length, 6_000_000, 'an ordinary reader gets everything')
  t.equal(whole.headers['content-length'], String(JSON.stringify(whole.body).length))
})

test('events that wait for their reader are counted, and past the budget the reader is disconnected', async t => {
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
    memoryBudget.limit = limit
  })
  const bodies: SseBody[] = []
  app.get('/events', (_request, reply) => { bodies.push(new SseBody(reply)) })
  await app.listen()
  memoryBudget.limit = 20_000_000
  const reader = connect({ port: portOf(app), onread: { buffer: Buffer.alloc(1024), callback: () => false } })
  reader.on('error', () => {})
  reader.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const body = await until(() => bodies[0], 'the stream is open')
  body.event('message', 'x'.repeat(10_000_000))
  body.event('message', 'x'.repeat(1_000_000))
  t.ok(memoryBudget.used > 10_000_000)
  body.event('message', 'x'.repeat(15_000_000))
  await until(() => body.destroyed && memoryBudget.used === 0, 'it is closed, and its events are released')
  reader.destroy()
})
