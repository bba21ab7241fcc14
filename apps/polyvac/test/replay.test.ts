import type { Interpreter } from '@polyvac/core'
import { test } from 'tap'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { emptyFolder, runPolyvac } from '../../../test/fixtures/command.js'
import { questions } from '../../../test/probes/index.mjs'
import { createHost, parseConfig } from '@polyvac/host'
import { HttpClient } from '../src/client/http-client.js'
import { effectOf } from '../src/replay/effects.js'
import { normalizeEvents } from '../src/replay/events.js'
import { replaySession, type ReplayResult } from '../src/replay/send-exchange.js'
import { MAX_EXCHANGE_FRAMES, MAX_FRAME_CHARS, MAX_SESSION_BYTES, MAX_SESSION_LINES, readSession } from '../src/replay/session-file.js'

type Test = Parameters<typeof emptyFolder>[0]
interface Request { path: string, body?: unknown, headers?: Record<string, string>, method?: string }

const HEADER = '{"polyvac":"session","version":1,"exportedAt":"2026-07-28T12:00:00.000Z"}'
const answering = (text: string): Interpreter => async function * (question: string) {
  for (const word of `${text} ${question}`.split(' ')) yield `${word} `
}

async function host (t: Test, interpreter: Interpreter): Promise<string> {
  const app = await createHost({
    config: parseConfig('kind: vacConfig\nvac: { own: { display_name: Own } }\n', 'vac_config.yaml'),
    stream_interpreter: interpreter,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    server: { logger: false, forceCloseConnections: true }
  })
  t.teardown(() => app.close())
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

/** The line of an exchange, as the playground keeps it. */
async function record (url: string, { path, body, headers = {}, method = body === undefined ? 'GET' : 'POST' }: Request) {
  const sent = { 'content-type': 'application/json', accept: 'text/event-stream, application/json', ...headers }
  const response = await fetch(`${url}${path}`, { method, headers: sent, ...body === undefined ? {} : { body: JSON.stringify(body) } })
  const text = await response.text()
  const parts = response.headers.get('content-type')?.startsWith('text/event-stream') ? text.split(/\r?\n\r?\n/).filter(part => part !== '') : [text]
  return {
    id: 'x-1',
    startedAt: 0,
    protocol: 'http',
    label: path,
    request: { method, path, headers: { ...sent, authorization: '•••' }, ...body === undefined ? {} : { body } },
    status: response.status,
    headers: Object.fromEntries(response.headers),
    frames: parts.map(part => ({ at: 1, bytes: part.length, text: part })),
    endedAt: 5
  }
}

const rpc = (path: string, method: string, params: object, headers = {}): Request => ({ path, headers, body: { jsonrpc: '2.0', id: 'fe0c0a3e-5f8b-4a7e-9a53-1d0c5d1f6a11', method, params } })
const mcp = (method: string, params: object): Request => rpc('/mcp', method, {
  ...params,
  _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, progressToken: 'p' }
}, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...'name' in params ? { 'mcp-name': String(params.name) } : {} })
const a2a = (method: string, params: object): Request => rpc('/a2a', method, params, { 'a2a-version': '1.0' })
const message = { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ data: { skillName: 'vac_stream_own', input: { query: 'again' } } }] } }

async function write (t: Test, lines: readonly unknown[]): Promise<string> {
  const file = join(await emptyFolder(t), 'session.jsonl')
  await writeFile(file, [HEADER, ...lines.map(line => typeof line === 'string' ? line : JSON.stringify(line))].join('\n'))
  return file
}

async function replay (url: string, file: string, { all = false, headers = [] as string[] } = {}): Promise<ReplayResult[]> {
  const results: ReplayResult[] = []
  for await (const result of replaySession(new HttpClient(url, headers), await readSession(file), all)) results.push(result)
  return results
}

test('a session is the same on the same service, and different on a changed VAC', async t => {
  const url = await host(t, answering('the old answer to'))
  const asked = questions('hello', 'own').map(([, request]) => request)
  const lines = []
  for (const request of [
    ...asked,
    mcp('tools/call', { name: 'list_available_vacs', arguments: {} }),
    { path: '/vac' },
    mcp('tools/list', {}),
    a2a('SendStreamingMessage', message)
  ]) lines.push(await record(url, request))
  const task = /"task":\{"id":"([\w-]{20,})"/.exec(lines.at(-1)!.frames[0]!.text)![1]!
  lines.push(await record(url, a2a('GetTask', { id: task })), await record(url, { path: `/a2a/v1/tasks/${task}`, headers: { 'a2a-version': '1.0' } }))
  const cancel = await record(url, a2a('CancelTask', { id: task }))
  const file = await write(t, [...lines, cancel, { ...lines[0], request: { ...lines[0]!.request, body: { user_input: '•••' } } }, { ...lines[0], status: undefined }])

  const other = await host(t, answering('the old answer to'))
  const same = await replay(other, file)
  t.strictSame(same.filter(({ result }) => result === 'different'), [], 'ids that the services chose are set aside, also in later requests')
  t.strictSame(same.map(({ result }) => result), [...lines.map(() => 'same'), 'skipped', 'skipped', 'skipped'])
  t.match(same.slice(-3), [{ reason: /--all/ }, { reason: /secret/ }, { reason: /no response/ }])
  t.equal((await replay(other, file, { all: true }))[lines.length]!.result, 'same', '--all sends what may change something')

  const changed = await replay(await host(t, answering('the new answer to')), file)
  t.strictSame(changed.map(({ result }) => result === 'different'), [...asked.map(() => true), false, false, false, true, true, true, false, false, false])
  const events = changed[asked.findIndex(({ path }) => path.endsWith('/sse'))]
  t.match(events?.differences, [{ what: 'event 1', recorded: /the old answer/, now: /the new answer/ }, { what: 'event 2' }])
  t.strictSame((await replay('http://127.0.0.1:1', file)).filter(({ result }) => result === 'same'), [], 'a dead service is different')
})

test('an answer that fails is the same, whatever id its text names', async t => {
  const url = await host(t, async function * (question) {
    yield 'half of'
    throw new Error(question)
  })
  const lines = []
  for (const [, request] of questions('hello', 'own')) lines.push(await record(url, request))
  const file = await write(t, lines)
  const results = await replay(url, file)
  t.strictSame(results.map(({ result, differences }) => ({ result, differences })), results.map(() => ({ result: 'same', differences: undefined })))
})

test('the password of a URL, which the playground masks, is set aside', async t => {
  const [masked, now] = [': •••@', ':pass:@'].map(password => normalizeEvents([{ answer: `at postgres://ada${password}h/x and ada:1@h` }]))
  t.match(masked, [{ shape: /ada:<password>@h\/x and ada:1@h/ }])
  t.strictSame(masked, now)
})

test('polyvac replay prints differences, as text and as JSON, and its exit code is 1', async t => {
  const url = await host(t, answering('the old answer to'))
  const changed = await host(t, answering('the\x1b new answer to'))
  const file = await write(t, [await record(url, { path: '/vac/streaming/own', body: { user_input: 'hello' } })])
  const cwd = await emptyFolder(t)
  const good = await runPolyvac(['replay', file, '--url', url], cwd)
  t.equal(good.code, 0)
  t.match(good.stdout, /^same {7}line 2: \/vac\/streaming\/own\n1 same, 0 different, 0 skipped\n$/)
  const bad = await runPolyvac(['replay', file, '--url', changed, '--json'], cwd)
  t.equal(bad.code, 1)
  t.match(JSON.parse(bad.stdout), { line: 2, result: 'different', differences: [{ recorded: /old answer/, now: /new answer/ }] })
  t.notMatch(bad.stdout, '\x1b')
  await writeFile(join(cwd, 'vac_config.yaml'), 'kind: vacConfig\nvac: { own: { interpreter: echo } }\n')
  const configured = await runPolyvac(['replay', file], cwd)
  t.equal(configured.code, 1)
  t.match(configured.stdout, /different {2}line 2[^]*- .*the old answer[^]*0 same, 1 different/)
})

test('a broken session is refused with the number of its line', async t => {
  const exchange = { id: 'a', label: 'a', request: { method: 'GET', path: '/vac', headers: {} }, frames: [], status: 200 }
  const deep = JSON.stringify({ ...exchange, request: { ...exchange.request, body: 'x' } }).replace('"x"', `${'['.repeat(2_000)}${']'.repeat(2_000)}`)
  for (const [line, reason] of [
    ['{', 'is not JSON'], ['[]', 'has no `request`'],
    [{ ...exchange, request: { ...exchange.request, path: 'http://127.0.0.1/' } }, 'starts with /'],
    [{ ...exchange, request: { ...exchange.request, method: 'get x' } }, 'request.method'],
    [deep, 'nested too deeply'],
    [{ ...exchange, frames: [1] }, 'frames'],
    [{ ...exchange, status: 'a' }, 'status'],
    [{ ...exchange, frames: Array.from({ length: MAX_EXCHANGE_FRAMES + 1 }, () => ({ text: '' })) }, 'frames']
  ] as const) {
    const file = await write(t, [exchange, line])
    await t.rejects(readSession(file), { code: 'SESSION_FILE', message: new RegExp(`line 3 .*${reason}`) })
  }
  const folder = await emptyFolder(t)
  const [empty, foreign, newer, huge] = ['empty', 'foreign', 'newer', 'huge'].map(name => join(folder, name)) as [string, string, string, string]
  await writeFile(empty, '')
  await writeFile(foreign, '{"a":1}\n')
  await writeFile(newer, HEADER.replace(':1', ':2'))
  await writeFile(huge, Buffer.alloc(MAX_SESSION_BYTES + 1, ' '))
  await t.rejects(readSession(empty), { message: /it is empty/ })
  await t.rejects(readSession(foreign), { message: /line 1 is not the header/ })
  await t.rejects(readSession(newer), { message: /line 1 has the version 2/ })
  await t.rejects(readSession(huge), { message: /larger than/ })
  await t.rejects(readSession(join(folder, 'none')), { code: 'SESSION_FILE', message: /ENOENT/ })
  await t.rejects(readSession('/dev/zero'), { code: 'SESSION_FILE' })
  await t.rejects(readSession(await write(t, Array.from({ length: MAX_SESSION_LINES + 1 }, () => exchange))), { message: /too many/ })
})

test('headers of a session that are masked or foreign stay back, and --header goes only to the named origin', async t => {
  const seen: Array<Record<string, unknown>> = []
  const server = createServer(({ url, headers }, reply) => { seen.push({ url, ...headers }); reply.end('text') }).listen(0, '127.0.0.1')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  await new Promise(resolve => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const line = (path: string) => ({
    id: 'a',
    label: 'a',
    status: 200,
    headers: {},
    frames: [{ text: 'text' }],
    endedAt: 1,
    request: { method: 'GET', path, headers: { authorization: 'Bearer stale', 'mcp-session-id': '•••', host: 'evil.invalid', 'a2a-version': '1.0' } }
  })
  const results = await replay(`${url}/base`, await write(t, [line('//evil.invalid/x'), line('/http://evil.invalid/x'), line('/\\evil.invalid'), line('/base/vac')]),
    { headers: ['authorization: Bearer fresh'] })
  t.strictSame(results.map(({ result }) => result), ['same', 'same', 'same', 'same'])
  t.strictSame(seen.map(({ url }) => url), ['/base//evil.invalid/x', '/base/http://evil.invalid/x', '/base//evil.invalid', '/base/vac'])
  for (const headers of seen) t.match(headers, { authorization: 'Bearer fresh', host: /^127/, 'a2a-version': '1.0', 'mcp-session-id': undefined })
})

test('a path that begins with two slashes is asked about its tools at the named service, and at no other', async t => {
  const seen: string[] = []
  const listen = async (name: string): Promise<string> => {
    const server = createServer(({ url }, reply) => { seen.push(`${name} ${url}`); reply.statusCode = 404; reply.end() }).listen(0, '127.0.0.1')
    t.teardown(() => { server.closeAllConnections(); server.close() })
    await new Promise(resolve => server.once('listening', resolve))
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const [named, foreign] = [await listen('named'), await listen('foreign')]
  const line = { id: 'a', label: 'a', status: 404, headers: {}, frames: [], endedAt: 1, request: { method: 'POST', path: `//${foreign}/mcp`, headers: {}, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read' } } } }
  t.match(await replay(`http://${named}`, await write(t, [line])), [{ result: 'skipped', reason: /--all/ }])
  t.ok(seen.length > 0 && seen.every(one => one.startsWith(`named //${foreign}/mcp`)), seen.join())
})

test('a stopped stream is compared as far as it goes', async t => {
  const interpreter: Interpreter = async function * (_question, _vac, _history, { signal }) {
    yield 'the beginning'
    await new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped', { cause: signal.reason }))))
  }
  const url = await host(t, interpreter)
  const stopped = {
    id: 'a',
    label: 'a',
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    endedAt: 1,
    error: 'stopped',
    frames: [{ text: 'data: {"chunk":"the "}' }],
    request: { method: 'POST', path: '/vac/streaming/own/sse', headers: {}, body: { user_input: 'a' } }
  }
  const other = { ...stopped, frames: [{ text: 'data: {"chunk":"another"}' }] }
  t.match(await replay(url, await write(t, [stopped, other])), [{ result: 'same' }, { result: 'different' }])
})

test('an answer with a cut frame is compared, whatever number its time is', async t => {
  const url = await host(t, answering('an answer to'))
  const whole = await record(url, { path: '/vac/own', body: { user_input: 'hello' } })
  const cut = (endedAt: number) => ({ ...whole, endedAt, frames: [{ at: 1, bytes: MAX_FRAME_CHARS, text: 'a'.repeat(MAX_FRAME_CHARS) }] })
  const results = await replay(url, await write(t, [cut(23.3), cut(-3_000), cut(1e300), { ...cut(0.1), status: 202 }]))
  t.match(results, [{ result: 'same' }, { result: 'same' }, { result: 'same' }, { result: 'different', differences: [{ what: 'status' }] }])
})

test('tools of a server of an older revision are sent again where the server marks them as reading', async t => {
  const seen: string[] = []
  const server = createServer(async (request, reply) => {
    const { method, params, id } = JSON.parse(await text(request) || '{}')
    const isBegun = request.headers['mcp-session-id'] === 's' && request.headers['mcp-protocol-version'] === '2025-06-18'
    seen.push(`${request.method} ${method ?? ''} ${params?.name ?? params?.cursor ?? ''}`.trim())
    const results: Record<string, object> = {
      initialize: { protocolVersion: '2025-06-18', capabilities: {} },
      'tools/list': params?.cursor === undefined
        ? { tools: [{ name: 'write' }], nextCursor: 'next' }
        : { tools: [{ name: 'read', annotations: { readOnlyHint: true } }] },
      'tools/call': { content: [] }
    }
    if (method === 'initialize') reply.setHeader('mcp-session-id', 's')
    else if (method !== 'tools/call' && !isBegun) reply.statusCode = 400
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: reply.statusCode === 400 ? undefined : results[method] }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  await new Promise(resolve => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const call = (name: string): Request => rpc('/mcp', 'tools/call', { name })
  const lines = [await record(url, call('read')), await record(url, call('write')), await record(url, { path: '/mcp', headers: { 'last-event-id': '1' } })]
  seen.length = 0
  const results = await replay(url, await write(t, lines))
  t.match(results, [{ result: 'same' }, { result: 'skipped', reason: /--all/ }, { result: 'skipped', reason: /resumes a stream/ }])
  t.strictSame(seen, ['POST tools/list', 'POST initialize', 'POST notifications/initialized', 'POST tools/list', 'POST tools/list next', 'DELETE', 'POST tools/call read'])
})

test('what may change something is known by path and body together', t => {
  const rpc = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
  for (const [method, path, body] of [
    ['POST', '/vac/own', {}], ['POST', '/p/a2a', rpc('SendMessage')], ['POST', '/a2a/tasks/get', rpc('tasks/get')], ['GET', '/mcp/servers', undefined],
    ['POST', '/mcp', rpc('tools/call', { name: 'vac_query_own' })], ['POST', '/a2a/v1/message:send', {}]
  ] as const) t.equal(effectOf(method, path, body), 'none', `${method} ${path}`)
  for (const [method, path, body] of [
    ['POST', '/mcp/servers/x/restart', rpc('tools/list')], ['POST', '/a2a/tasks/cancel', rpc('tasks/get')], ['POST', '/a2a', rpc('CancelTask')],
    ['POST', '/a2a', rpc('SendMessage', { configuration: { taskPushNotificationConfig: {} } })], ['DELETE', '/mcp', undefined],
    ['POST', '/mcp', rpc('logging/setLevel')], ['POST', '/mcp', [rpc('tools/list')]]
  ] as const) t.equal(effectOf(method, path, body), 'unknown', `${method} ${path}`)
  t.strictSame(effectOf('POST', '/p/mcp/call', { server: 'files', tool: 'read' }), { tool: 'files__read', path: '/p/mcp' })
  t.strictSame(effectOf('POST', '/mcp', rpc('tools/call', { name: 'files__read' })), { tool: 'files__read', path: '/mcp' })
  t.strictSame(normalizeEvents([{ chunk: 'a' }, { chunk: 'bc' }]), normalizeEvents([{ chunk: 'ab' }, { chunk: 'c' }]), 'pieces may be cut differently')
  const server = { name: 'files', state: 'ready', pid: 17646, attempt: 1, crashLoop: false, restarts: 0, callsInFlight: 1, stderr: ['started at 12:00'] }
  const other = { ...server, pid: 18130, attempt: 2, crashLoop: true, restarts: 3, callsInFlight: 0, stderr: [], toolChanges: [{ tool: 'read', change: 'added', at: 'now' }] }
  t.strictSame(normalizeEvents([{ servers: [server] }]), normalizeEvents([{ servers: [other] }]), 'MCP servers may be other processes')
  t.notSame(normalizeEvents([{ servers: [server] }]), normalizeEvents([{ servers: [{ ...other, state: 'waiting' }] }]), 'their state is compared')
  t.notSame(normalizeEvents([{ stderr: 'a' }]), normalizeEvents([{ stderr: 'b' }]), 'the stderr that a tool reports is compared')
  t.notSame(normalizeEvents([{ answer: 'a', id: 'demo' }]), normalizeEvents([{ answer: 'a', id: 'other' }]), 'ids that people chose are compared')
  t.end()
})
