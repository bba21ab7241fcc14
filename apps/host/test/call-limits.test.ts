import { createToken } from '@polyvac/auth'
import { writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { createHost } from '../src/index.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { questions } from '../../../test/probes/index.mjs'

/** It counts what runs for each owner, and ignores its signal until a question is `release`. */
const INTERPRETER = `
const running = {}
const most = {}
const waiting = []
export async function * stream_interpreter (question, vac, history, { principal: { owner } }) {
  if (question === 'state') return { answer: JSON.stringify({ running, most }) }
  if (question === 'release') {
    for (const go of waiting.splice(0)) go()
    return { answer: 'released' }
  }
  if (question === 'short') return { answer: 'short' }
  running[owner] = (running[owner] ?? 0) + 1
  most[owner] = Math.max(most[owner] ?? 0, running[owner])
  try {
    yield 'begun'
    await new Promise(resolve => { waiting.push(resolve) })
    return { answer: 'begun' }
  } finally {
    running[owner]--
  }
}
`

const alice = createToken('alice')
const bob = createToken('bob')
type Person = typeof alice
interface State { readonly running: Record<string, number>, readonly most: Record<string, number> }

/** A started host with these limits. */
async function started (t: Test, limits: object, service: object = {}) {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), INTERPRETER)
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({
    kind: 'vacConfig',
    service: {
      stream_interpreter: './agent.mjs',
      enable_mcp_server: true,
      enable_a2a_agent: true,
      tasks: { store: 'memory' },
      auth: { tokens: [alice.entry, bob.entry] },
      limits,
      ...service
    },
    vac: { docs: {} }
  }))
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), server: { logger: false } })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const post = async (path: string, body: unknown, who: Person = alice, headers: Record<string, string> = {}) => await fetch(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${who.token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream', connection: 'close', ...headers }
  })
  const ask = async (question: string, who: Person = bob): Promise<string> => {
    const answered = await post('/vac/docs', { user_input: question }, who)
    return answered.status === 200 ? (await answered.json() as { answer: string }).answer : String(answered.status)
  }
  /** A raw request, whose sender may leave at any time. */
  const send = async (path: string, body: object, headers: Readonly<Record<string, string>>): Promise<Socket> => {
    const text = JSON.stringify(body)
    const all = { host: 'localhost', authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), connection: 'close', ...headers }
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {}).resume()
    await once(socket, 'connect')
    socket.write(`POST ${path} HTTP/1.1\r\n${Object.entries(all).map(pair => `${pair.join(': ')}\r\n`).join('')}\r\n${text}`)
    return socket
  }
  const state = async (): Promise<State> => JSON.parse(await ask('state'))
  const isServed = async (): Promise<boolean> => await ask('short', alice) === 'short'
  /** Ends all interpreters, and waits until alice is served. */
  const rest = async (): Promise<void> => {
    await until(async () => {
      await ask('release')
      return ((await state()).running.alice ?? 0) === 0 && await isServed()
    }, 'the places of alice are free')
  }
  return { url, post, ask, send, state, rest, isServed }
}

const call = (id: number, query: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'vac_query_docs', arguments: { query } } })
const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }

test('an owner has as many calls in progress as at_once allows, however it sends them and leaves', async t => {
  const { url, post, send, state, rest } = await started(t, { owner: { at_once: 2 } })
  const inSession = { 'mcp-session-id': (await post('/mcp', initialize)).headers.get('mcp-session-id')! }

  const batch = post('/mcp', [1, 2, 3, 4, 5, 6].map(id => call(id, 'wait')), alice, inSession)
  await until(async () => (await state()).running.alice === 2, 'two members of the batch run')
  t.match((await post('/vac/docs', { user_input: 'short' })).status, 503, 'no place is left')
  t.equal((await post('/vac/docs', { user_input: 'short' }, bob)).status, 200, 'another owner has one')
  await post('/vac/docs', { user_input: 'release' }, bob)
  const answers = (await (await batch).json()) as Array<{ id: number, result?: object, error?: { data: object } }>
  t.equal(answers.filter(({ result }) => result !== undefined).length, 2)
  t.equal(answers.filter(({ error }) => error !== undefined).length, 4)
  for (const { error } of answers.filter(({ error }) => error !== undefined)) t.match(error, { code: -32603, message: /one owner/, data: { code: 'OWNER_SHARE_USED', status: 503, retryAfter: Number } })
  await rest()

  const older = { accept: 'application/json, text/event-stream', ...inSession }
  for (const [what, { path, body, headers }] of [
    // a task or a run waits for its place, which is a separate one
    ...questions('wait', 'docs').filter(([, , { isTask, isKept }]) => isTask !== true && isKept !== true),
    ['a session of MCP', { path: '/mcp', body: call(1, 'wait'), headers: older }] as const,
    ['a session of MCP: events', { path: '/mcp', body: { ...call(1, 'wait'), params: { ...call(1, 'wait').params, _meta: { progressToken: 1 } } }, headers: older }] as const
  ]) {
    for (let i = 1; i <= 5; i++) {
      const socket = await send(path, body, headers)
      if (i <= 2) await until(async () => (await state()).running.alice === i, `${what}: interpreter ${i} runs`)
      else await until(() => socket.readableEnded || socket.closed, `${what}: it is refused`)
      socket.destroy()
    }
    t.equal((await state()).running.alice, 2, `${what}: the interpreters of callers that left go on, and count`)
    await rest()
  }

  // HTTP+SSE answers each POST at once, and the call goes on
  const left = new AbortController()
  const opened = await fetch(`${url}/mcp`, { headers: { authorization: `Bearer ${alice.token}`, accept: 'text/event-stream' }, signal: left.signal })
  const reader = opened.body!.pipeThrough(new TextDecoderStream()).getReader()
  const endpoint = /data: (\S+)/.exec((await reader.read()).value!)![1]!
  await post(endpoint, initialize)
  for (let i = 0; i < 5; i++) await post(endpoint, call(10 + i, 'wait'))
  await until(async () => (await state()).running.alice === 1, 'the stream has a place, and one call')
  left.abort()
  await reader.read().catch(() => {})
  await rest()
  t.strictSame((await state()).most, { alice: 2 }, 'never more')
})

test('an owner gets as many answers in a minute as its rate allows, each member of a batch counted', async t => {
  const { post } = await started(t, { owner: { requests_per_minute: 12 } })
  const session = (await post('/mcp', initialize)).headers.get('mcp-session-id')!
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: id % 3 === 0 ? 'no/such' : 'ping' })
  const answers: Array<{ error?: { data?: object } }> = []
  for (const start of [0, 100, 200]) answers.push(...await (await post('/mcp', Array.from({ length: 8 }, (_none, i) => ping(start + i)), alice, { 'mcp-session-id': session })).json().then(json => Array.isArray(json) ? json : []))
  const isLimited = ({ error }: typeof answers[number]): boolean => (error?.data as { code?: string } | undefined)?.code === 'RATE_LIMIT'
  t.equal(answers.filter(answer => !isLimited(answer)).length, 11, 'with `initialize` that is 12')
  for (const { error } of answers.filter(isLimited)) t.match(error, { message: /in a minute/, data: { status: 429, retryAfter: Number } })
  t.equal(answers.filter(isLimited).length, 5)
  t.match(await post('/vac/docs', { user_input: 'short' }), { status: 429 })
  t.equal((await post('/vac/docs', { user_input: 'short' }, bob)).status, 200)
})

test('requests that wait behind others on a connection give their places back when it closes', async t => {
  const { url, state, rest, isServed } = await started(t, { owner: { at_once: 3 } })
  const body = '{"user_input":"wait"}'
  const head = `POST /vac/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  for (const time of ['first', 'second']) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.write((head + body).repeat(5))
    await until(async () => (await state()).running.alice === 3, `three of five run, the ${time} time`)
    t.notOk(await isServed())
    socket.destroy()
    await rest()
  }
  t.strictSame((await state()).most, { alice: 3 })
})
