import { test, type Test } from 'tap'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import Fastify, { type FastifyInstance } from 'fastify'
import { a2aPlugin } from '@polyvac/a2a'
import { a2aGrpc } from '@polyvac/a2a/grpc'
import { createVacs, type InterpreterResult } from '@polyvac/core'
import { mcpServerPlugin, vacTools, type ToolSource } from '@polyvac/mcp-server'
import type { TaskStore } from '@polyvac/tasks'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import protobuf from 'protobufjs'
import { watchLoop } from './fixtures/loop-watch.js'
import { testDatabase } from './fixtures/postgres.js'
import { forms, PROBES, VAC_PROTOCOLS } from './probes/index.mjs'

/** The tests look at what arrives, also in a tenth of the size; `npm run bench -- loop` measures the whole. */
const PART = process.env.POLYVAC_STEPS === undefined ? 10 : 1
const ANSWER_CHARS = 12_000_000 / PART
const CHUNK_CHARS = 10_000_000 / PART
/** An event of a task, and an answer object, have at most 8 Mi characters. */
const MAX_OBJECT_CHARS = 8_000_000
const OBJECT_CHARS = MAX_OBJECT_CHARS / PART
const text = (chars: number): string => Buffer.alloc(chars, 'text ').toString()
/** Each of them is escaped in JSON, or has several bytes in UTF-8: the slowest text of its length. */
const oddText = (chars: number): string => 'é"\\\n\u{1F600} \u0001'.repeat(chars / 20)
const odd = oddText(OBJECT_CHARS)
const TEXTS: Readonly<Record<string, string>> =
  { answer: text(ANSWER_CHARS), chunk: text(CHUNK_CHARS), object: text(OBJECT_CHARS), odd, whole: oddText(MAX_OBJECT_CHARS) }
/** Many small values. */
const SOURCES = Array.from({ length: 25_000 / PART }, (_, i) => ({ page_content: `source ${i} `.repeat(6), metadata: { source: `file-${i}.md`, chunk: i } }))
const SOURCES_TEXT = JSON.stringify(SOURCES)

async function * streamInterpreter (question: string): AsyncGenerator<string, InterpreterResult | undefined> {
  if (question === 'object') return { answer: TEXTS.object as string, source_documents: [{ page_content: 'x', metadata: {} }] }
  if (question === 'odd' || question === 'whole') return { answer: TEXTS[question] as string, source_documents: [{ page_content: 'x', metadata: {} }] }
  if (question === 'sources') return { answer: 'x', source_documents: SOURCES }
  if (question !== 'chunk') return TEXTS[question] ?? 'yes'
  yield TEXTS.chunk as string
  return undefined
}

const prompts: ToolSource = {
  list: () => [],
  call: () => ({ content: [] }),
  prompts: {
    list: () => [{ name: 'large', arguments: [{ name: 'text' }] }],
    get: (_name, { text = '' }) => ({ messages: [{ role: 'user', content: { type: 'text', text: TEXTS[text] ?? SOURCES_TEXT } }] })
  }
}

/** @param shared a store through which replicas share sessions */
async function serve (t: Test, shared?: TaskStore, push?: { readonly allow: string[] }): Promise<{ port: number, grpcPort: number }> {
  const app: FastifyInstance = Fastify()
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter })
  const tasks = shared ?? sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  app.addHook('onClose', async () => { await tasks.close() })
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS })
  await app.register(a2aPlugin, { vacs, tasks, push })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs), prompts], tasks: shared, stateKey: 'k'.repeat(32) })
  t.teardown(() => app.close())
  const grpc = await a2aGrpc(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as AddressInfo).port, grpcPort: grpc.port }
}

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const tool = (name: string, query: string): object => rpc('tools/call', { name, arguments: { query }, _meta: { progressToken: 'p' } })

interface Request { readonly path: string, readonly body: object, readonly headers?: Readonly<Record<string, string>> }
type Ask = (question: string) => Request

const LARGE = ['answer', 'chunk', 'sources']
const inMcp = (toBody: (question: string) => object): Ask => question => ({ path: '/mcp', body: toBody(question) })
/** Every form with its questions, and what sessions of older revisions of MCP have besides. */
const ROWS: ReadonlyArray<readonly [what: string, request: Ask, questions: readonly string[], revision?: string]> = [
  ...forms().map(([what, request, { isTask }]) => [what, (q: string) => request(q, 'docs'), isTask === true ? ['odd', 'sources'] : LARGE] as const),
  ['a task of the most characters', q => PROBES.a2a.ask['tasks/send']!(q, 'docs'), ['whole']],
  ['a tool result', inMcp(q => tool('vac_query_docs', q)), LARGE, '2025-11-25'],
  ['a tool result as events', inMcp(q => tool('vac_stream_docs', q)), LARGE, '2025-11-25'],
  ['a prompt', inMcp(q => rpc('prompts/get', { name: 'large', arguments: { text: q } })), LARGE, '2025-11-25'],
  // the revision has no structured content, and so no sources
  ['a batch', inMcp(q => [{ ...rpc('ping', {}), id: 2 }, rpc('tools/call', { name: 'vac_query_docs', arguments: { query: q } })]), ['answer', 'chunk'], '2025-03-26']
]

/** Sends a request; returns the head of the response, its first bytes and their number: the others are not kept. */
async function ask (port: number, { path, body, headers }: Request, method = 'POST'): Promise<{ response: IncomingMessage, bytes: number, first: string }> {
  const sent = httpRequest({ port, host: '127.0.0.1', agent: false, method, path, headers: { 'content-type': 'application/json', ...headers } })
  sent.end(method === 'GET' ? undefined : JSON.stringify(body))
  const [response] = await once(sent, 'response') as [IncomingMessage]
  let bytes = 0
  let first: Buffer | undefined
  response.on('data', (piece: Buffer) => {
    bytes += piece.length
    first ??= piece
  })
  await once(response, 'end')
  return { response, bytes, first: String(first) }
}

/** The headers of requests in a new session of MCP. */
async function openSession (port: number, revision: string): Promise<Record<string, string>> {
  const headers = { accept: 'application/json, text/event-stream' }
  const hello = rpc('initialize', { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } })
  const { response } = await ask(port, { path: '/mcp', body: hello, headers })
  return { ...headers, 'mcp-protocol-version': revision, 'mcp-session-id': String(response.headers['mcp-session-id']) }
}

for (const [what, request, questions, revision] of ROWS) {
  test(`one large text as ${what} does not keep the event loop`, async t => {
    const { port } = await serve(t)
    const session = revision === undefined ? undefined : await openSession(port, revision)
    const send = (question: string): ReturnType<typeof ask> => ask(port, { ...request(question), ...session !== undefined && { headers: session } })
    await send('warm up')
    for (const question of questions) {
      const { bytes } = await watchLoop(() => send(question), { what: `${question} as ${what}` })
      t.ok(bytes >= (TEXTS[question] ?? SOURCES_TEXT).length, `the ${question} is complete`)
    }
  })
}

test('one large text as a webhook does not keep the event loop', async t => {
  let received = (_bytes: number): void => {}
  const receiver = createServer((request, response) => {
    let bytes = 0
    request.on('data', (piece: Buffer) => { bytes += piece.length })
    request.on('end', () => {
      response.end()
      received(bytes)
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const { port } = await serve(t, undefined, { allow: [host] })
  const url = `http://${host}/`
  for (const [name, more] of Object.entries({
    'tasks/send': { pushNotificationConfig: { url } },
    'message/send': { configuration: { pushNotificationConfig: { url } } },
    SendMessage: { configuration: { taskPushNotificationConfig: { url } } }
  })) {
    const request: Ask = question => {
      const { body, ...rest } = PROBES.a2a.ask[name]!(question, 'docs')
      return { ...rest, body: { ...body, params: { ...body.params as object, ...more } } }
    }
    const send = async (question: string, least: number): Promise<void> => {
      const arrived = new Promise<void>(resolve => { received = bytes => { if (bytes > least) resolve() } })
      await ask(port, request(question))
      await arrived
    }
    await send('warm up', 0)
    for (const question of ['odd', 'sources']) await watchLoop(async () => await send(question, OBJECT_CHARS / 8), { what: `${question} as a webhook of ${name}` })
  }
})

test('one large text in a session that replicas share does not keep the event loop', async t => {
  const url = await testDatabase(t)
  const [a, b] = [await serve(t, postgresTaskStore({ url })), await serve(t, postgresTaskStore({ url }))]
  const headers = await openSession(a.port, '2025-11-25')
  const send = (question: string): ReturnType<typeof ask> => ask(a.port, { path: '/mcp', body: tool('vac_stream_docs', question), headers })
  /** Reads all events of a stream again. @param first its first bytes, with the id of an event */
  const resume = (first: string): ReturnType<typeof ask> => {
    const id = `${/^id: (.*)_\d+$/m.exec(first)?.[1]}_0`
    return ask(b.port, { path: '/mcp', body: {}, headers: { ...headers, 'last-event-id': id } }, 'GET')
  }
  await resume((await send('warm up')).first)
  for (const question of ['odd', 'sources']) {
    const { bytes, first } = await watchLoop(() => send(question), { what: `the ${question} in a session that replicas share` })
    t.ok(bytes >= (TEXTS[question] ?? SOURCES_TEXT).length, `the ${question} is complete`)
    const again = await watchLoop(() => resume(first), { what: `the ${question} through another replica` })
    // without the priming event
    t.ok(Math.abs(again.bytes - bytes) < 100, `the ${question} is complete there, too: ${again.bytes} of ${bytes} bytes`)
  }
})

test('an emit of 50 MB, and a repeated create of 4 MB, do not keep the event loop', async t => {
  const url = await testDatabase(t)
  const input = { files: SOURCES.slice(0, 12_000 / PART), text: TEXTS.odd?.slice(0, 2_500_000 / PART) }
  for (const [name, store] of Object.entries({ SQLite: sqliteTaskStore({ path: ':memory:' }), PostgreSQL: postgresTaskStore({ url }) })) {
    await store.open()
    t.teardown(() => store.close())
    // no `await` between them: the second waits for the first
    store.work(async (_task, { emit }) => {
      const contents = Array.from({ length: 8 }, (_, i) => i % 2 === 0 ? TEXTS.odd : SOURCES)
      await Promise.all([
        emit(contents.map((content, i) => ({ artifact: { name: `${i}`, content } }))),
        emit([{ delta: 'the end' }, { state: 'completed' }])
      ])
    })
    await watchLoop(async () => {
      const { task: { id } } = await store.create('ann', { skill: 's', input: {} })
      for await (const { state } of store.events('ann', id)) t.not(state, 'failed')
    }, { what: `the emit of ${name}` })
    const [task] = (await store.list('ann')).tasks
    t.strictSame(task?.artifacts.map(({ name }) => name), ['0', '1', '2', '3', '4', '5', '6', '7'])
    t.match(task?.messages, [{ parts: [{ text: 'the end' }] }], 'updates keep their order')
    const create = () => store.create('ann', { skill: 's', input, idempotencyKey: 'k', queue: 'none' })
    const { task: { id } } = await watchLoop(create, { what: `a create of ${name}` })
    const again = await watchLoop(create, { what: `a repeated create of ${name}` })
    t.match(again, { created: false, task: { id } })
  }
})

test('a task of 50 MB is written, read and listed without keeping the event loop', async t => {
  const url = await testDatabase(t)
  for (const [name, store] of Object.entries({ SQLite: sqliteTaskStore({ path: ':memory:' }), PostgreSQL: postgresTaskStore({ url }) })) {
    await store.open()
    t.teardown(() => store.close())
    store.work(async (_task, { emit }) => {
      for (let i = 0; i < 4; i++) await emit({ delta: 'x' })
      for (let i = 0; i < 8; i++) await emit({ artifact: { name: `${i}`, content: i % 2 === 0 ? TEXTS.odd : SOURCES } })
    })
    const watch = <T>(what: string, work: () => Promise<T>): Promise<T> => watchLoop(work, { what: `${what} of ${name}` })
    const { task: { id } } = await watch('the attempt', async () => {
      const created = await store.create('ann', { skill: 's', input: {} })
      for await (const { state } of store.events('ann', created.task.id)) t.not(state, 'failed')
      return created
    })
    t.equal((await watch('get', () => store.get('ann', id)))?.artifacts.length, 8)
    t.equal((await watch('list', () => store.list('ann'))).tasks[0]?.artifacts.length, 8)
    t.equal(await watch('events', async () => {
      let artifacts = 0
      for await (const { artifact } of store.events('ann', id)) if (artifact !== undefined) artifacts++
      return artifacts
    }), 8)
  }
})

const root = new protobuf.Root()
root.loadSync(fileURLToPath(import.meta.resolve('@polyvac/a2a/package.json').replace('package.json', 'proto/a2a.proto')))
const SendMessageRequest = root.lookupType('lf.a2a.v1.SendMessageRequest')

/** A call of gRPC whose answer is not decoded, which would be work of this process. */
async function callGrpc (port: number, method: string, question: string): Promise<{ status: string, bytes: number }> {
  const message = SendMessageRequest.encode(SendMessageRequest.fromObject({ message: { messageId: question, role: 1, parts: [{ text: question }] } })).finish()
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const client = connect(`http://127.0.0.1:${port}`)
  // its call gets the error as well
  client.on('error', () => {})
  try {
    const call = client.request({
      ':method': 'POST', ':path': `/lf.a2a.v1.A2AService/${method}`, 'content-type': 'application/grpc', te: 'trailers', 'a2a-version': '1.0'
    })
    let status = ''
    call.on('trailers', headers => { status = String(headers['grpc-status']) })
    call.end(Buffer.concat([head, message]))
    let bytes = 0
    for await (const piece of call as AsyncIterable<Buffer>) bytes += piece.length
    return { status, bytes }
  } finally {
    client.destroy()
  }
}

for (const method of ['SendMessage', 'SendStreamingMessage']) {
  test(`one large text as ${method} of gRPC does not keep the event loop`, async t => {
    const { grpcPort } = await serve(t)
    await callGrpc(grpcPort, method, 'warm up')
    for (const question of ['odd', 'sources']) {
      const { status, bytes } = await watchLoop(() => callGrpc(grpcPort, method, question), { what: `${question} as ${method} of gRPC` })
      t.equal(status, '0')
      // without the syntax of JSON
      t.ok(bytes >= (TEXTS[question] ?? SOURCES_TEXT).length / 2, `the ${question} is complete`)
    }
  })
}

test('the pieces of a large text are the text', async t => {
  const given = `${'x'.repeat(64 * 1024 - 1)}\u{1F600}${'\ud800"\\\n\u2028é'.repeat(100_000)}`
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async () => ({ answer: given, metadata: { list: [given, undefined, null, { at: new Date(0) }] } }) })
  // half a surrogate pair becomes U+FFFD
  const odd = given.toWellFormed()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS })
  const post = async (url: string): Promise<string> => (await app.inject({ method: 'POST', url, payload: { user_input: 'q' } })).body
  const answer = await vacs.get('docs').ask({ question: 'q' })
  t.ok(answer.answer === odd)
  t.ok(await post('/vac/docs') === JSON.stringify(answer), 'JSON')
  const lines = (await post('/vac/streaming/docs/sse')).split('\n\n')
  t.ok(lines.length > 5, 'several chunks')
  const events = lines.slice(0, -2).map(line => JSON.parse(line.slice('data: '.length)) as { chunk?: string })
  t.ok(events.map(({ chunk = '' }) => chunk).join('') === odd, 'chunks')
  t.ok(lines.at(-3) === `data: ${JSON.stringify(answer)}`, 'the result object')
})
