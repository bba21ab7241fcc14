import { createToken, jwtAuthentication } from '@polyvac/auth'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs, type Principal } from '@polyvac/core'
import { callerFields } from '@polyvac/core/plugin'
import { createHost, type HostOptions } from '@polyvac/host'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { createRuns } from '@polyvac/runs'
import { ownerKey } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { emptyFolder, polyvac } from '../fixtures/command.js'
import { until } from '../fixtures/until.js'
import { PROBES, questions, VAC_PROTOCOLS } from '../probes/index.mjs'

const AGENT = `export async function * stream_interpreter (question, vac, history, { signal }) {
  yield 'begun '
  if (question === 'wait') await new Promise(resolve => signal.addEventListener('abort', resolve))
  return { answer: 'begun ended', source_documents: [] }
}\n`

const bearer = ({ token }: { token: string }): Record<string, string> => ({ authorization: `Bearer ${token}` })

/** A stream that is read until it ends. */
class Reader {
  text = ''
  hasEnded = false
  status = 0

  constructor (url: string, init: RequestInit) {
    this.#read(url, init).catch(() => {}).finally(() => { this.hasEnded = true })
  }

  async #read (url: string, init: RequestInit): Promise<void> {
    const response = await fetch(url, init)
    this.status = response.status
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) this.text += decoder.decode(chunk as Uint8Array, { stream: true })
  }
}

const asked = (headers: Record<string, string>, body: object): RequestInit =>
  ({ method: 'POST', headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers }, body: JSON.stringify(body) })
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

/** The streams of each protocol that a credential opens. */
async function openStreams (base: string, credential: Record<string, string>): Promise<Record<string, Reader>> {
  const streams = questions('wait', 'docs', PROBES, ['stream']).map(([what, { path, body, headers }]) => [what, new Reader(base + path, asked({ ...headers, ...credential }, body))])
  const { run_id: id } = await (await fetch(`${base}/vac/docs`, asked(credential, { user_input: 'wait', background: true }))).json() as { run_id: string }
  return {
    ...Object.fromEntries(streams),
    'a run': new Reader(`${base}/vac/docs/runs/${id}/stream`, { headers: credential }),
    'HTTP+SSE': new Reader(`${base}/mcp`, { headers: { accept: 'text/event-stream', ...credential } })
  }
}

async function begun (streams: Record<string, Reader>): Promise<void> {
  await until(() => Object.values(streams).every(({ text }) => text.includes('begun') || text.includes('endpoint')), 'every stream has begun')
}

async function fileOf (folder: string, tokens: readonly object[], more = ''): Promise<void> {
  const text = `kind: vacConfig
service:
  stream_interpreter: ./agent.mjs
  enable_a2a_agent: true
  enable_mcp_server: true
  tasks: { store: memory }
  auth: { tokens: ${JSON.stringify(tokens)} }
vac: { docs: {} }
${more}`
  await writeFile(join(folder, 'vac_config.yaml'), text)
}

/**
 * Writes a good file until it is in force. A host that is too busy to read one within its bound refuses it, and reads
 * no more until the file changes.
 */
async function putInForce (folder: string, tokens: readonly object[], isInForce: () => Promise<boolean>, what: string): Promise<void> {
  await until(async () => {
    await fileOf(folder, tokens)
    return await until(isInForce, what, { ms: 20_000 }).catch(() => false)
  }, what)
}

test('streams and sessions end with the token that opened them, also where the rest of the changed file is refused', async t => {
  const [alice, bob, root] = [createToken('alice'), createToken('bob'), createToken('root', ['admin'])]
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  await fileOf(folder, [alice.entry, bob.entry, root.entry])
  const { url } = polyvac(t, ['start'], folder)
  const base = await url()
  const status = async (headers: Record<string, string>): Promise<number> => (await fetch(`${base}/vac`, { headers })).status
  const ready = async (headers = {}): Promise<any> => await (await fetch(`${base}/ready`, { headers })).json()
  const client = new Client({ name: 't', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers: bearer(alice) } })
  await client.connect(transport)
  t.teardown(async () => { await client.close() })
  const session = { ...bearer(alice), 'mcp-session-id': transport.sessionId!, 'mcp-protocol-version': '2025-11-25' }
  const standing = new Reader(`${base}/mcp`, { headers: { accept: 'text/event-stream', ...session } })

  const hers = await openStreams(base, bearer(alice))
  const his = await openStreams(base, bearer(bob))
  await begun({ ...hers, ...Object.fromEntries(Object.entries(his).map(([name, reader]) => [`${name} of bob`, reader])) })
  for (const [what, more] of [['a wrong key', 'unknown_key: 1\n'], ['no YAML', ' a: [\n']] as const) {
    await fileOf(folder, what === 'a wrong key' ? [bob.entry, root.entry] : [root.entry], more)
    const [gone, kept] = what === 'a wrong key' ? [alice, bob] : [bob, root]
    await until(async () => await status(bearer(gone)) === 401, `${what}: the token is removed`)
    t.equal(await status(bearer(kept)), 200, `${what}: the others stay`)
    for (const [name, reader] of Object.entries(gone === alice ? { ...hers, standing } : his)) {
      await until(() => reader.hasEnded, `${what}: ${name} ends`)
      t.notOk(reader.text.includes('ended'), `${what}: ${name} ends before its answer`)
    }
    if (gone === alice) {
      t.notOk(Object.values(his).some(({ hasEnded }) => hasEnded), 'the streams of the other token go on')
      t.equal((await fetch(`${base}/mcp`, asked({ ...session, ...bearer(root), accept: 'application/json, text/event-stream' }, rpc('ping', {})))).status, 404, 'the session has ended')
    }
    await until(async () => (await ready()).reasons.some(({ part }: { part: string }) => part === 'configuration'), '/ready shows the refused file')
    t.equal((await ready()).configuration, undefined)
    t.ok((await ready(bearer(root))).configuration.length > 0, 'an administrator reads the problems')
  }
  await fileOf(folder, [{ ...root.entry, owner: ' x' }, bob.entry], 'unknown_key: 1\n')
  await until(async () => await status(bearer(root)) === 401, 'an entry that cannot be read ends')
  t.equal(await status(bearer(bob)), 200, 'and costs the other nothing')
  await fileOf(folder, [{ ...bob.entry, scopes: [] }], 'unknown_key: 1\n')
  await until(async () => (await (await fetch(`${base}/vac`, { headers: bearer(bob) })).json() as { vacs: unknown[] }).vacs.length === 0, 'scopes of a refused file count')
  await putInForce(folder, [alice.entry], async () => await status(bearer(alice)) === 200, 'the mended file is in force')
  const more = Array.from({ length: 1_001 }, (_item, i) => createToken(`owner ${i}`).entry)
  for (const [what, tokens, rest] of [
    ['scopes as a text', [{ ...bob.entry, scopes: 'tool:administer' }], ''], ['scopes without a value', [{ ...bob.entry, scopes: null }], ''],
    ['scopes that are no list', [{ ...bob.entry, scopes: 5 }], 'unknown_key: 1\n'], ['the same token twice', [alice.entry, { ...alice.entry, owner: 'eve' }], ''],
    ['more tokens than there may be', [alice.entry, ...more], ''], ['more tokens, and a wrong key', [alice.entry, ...more], 'unknown_key: 1\n']
  ] as const) {
    await putInForce(folder, [alice.entry, bob.entry], async () => await status(bearer(alice)) === 200 && await status(bearer(bob)) === 200, `${what}: both tokens count`)
    const stream = new Reader(`${base}/vac/streaming/docs`, asked(bearer(bob), { user_input: 'wait' }))
    await until(() => stream.text.includes('begun'), `${what}: a stream is open`)
    await fileOf(folder, what.startsWith('scopes') ? [alice.entry, ...tokens] : tokens, rest)
    await until(() => stream.hasEnded, `${what}: the stream ends`)
    t.equal(await status(bearer(bob)), 401, what)
    t.equal(await status(bearer(alice)), 200, `${what}: the other stays`)
  }
  for (const [what, change] of [['auth', / auth:/], ['service', /^service:/m], ['tokens', /tokens:/]] as const) {
    await putInForce(folder, [alice.entry, bob.entry], async () => await status(bearer(bob)) === 200, `${what}: both tokens count`)
    await fileOf(folder, [alice.entry])
    const text = await readFile(join(folder, 'vac_config.yaml'), 'utf8')
    await writeFile(join(folder, 'vac_config.yaml'), text.replace(change, name => name.replace(/[a-z]+/, word => `${word}x`)))
    await until(async () => await status(bearer(bob)) === 401, `the key ${what} misspelt: the removed token ends`)
    t.equal(await status(bearer(alice)), 200, `the key ${what} misspelt: the other stays`)
  }
  await putInForce(folder, [alice.entry], async () => (await ready()).reasons.length === 0, 'the mended file is in force')
  t.strictSame((await ready()).reasons, [])
})

test('streams end when their JWT expires, after the tolerance of clocks', async t => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...await exportJWK(publicKey), alg: 'ES256', kid: 'k' }] })
  const server = createServer((_request, response) => { response.end(keys) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const authenticate = jwtAuthentication({ issuer, audience: 'here', jwks: issuer })
  const sign = async (subject: string, expires: number): Promise<{ token: string }> =>
    ({ token: await new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid: 'k' }).setIssuer(issuer).setAudience('here').setSubject(subject).setExpirationTime(Math.floor(Date.now() / 1000) + expires).sign(privateKey) })
  const { base } = await listening(t, { authenticate })
  const his = await openStreams(base, bearer(await sign('bob', 3_600)))
  // the tolerance is 30 s: the first token ends in 4 s, which a busy machine may need before the streams begin
  let hadBegun = false
  for (const expires of [-26, 10, 70]) {
    const hers = await openStreams(base, bearer(await sign('alice', expires)))
    await until(() => Object.values(hers).every(({ hasEnded }) => hasEnded), 'the streams of the expired token end')
    hadBegun = Object.values(hers).every(({ text, status }) => status === 200 && text !== '')
    if (hadBegun) break
  }
  t.ok(hadBegun, 'they had begun')
  await begun(his)
  t.notOk(Object.values(his).some(({ hasEnded }) => hasEnded), 'the others go on')
})

test('queued work reads the scopes of its credential again when it starts', async t => {
  const named = (credential: string): Principal => ({ owner: credential, scopes: ['vac:docs'], credential })
  const current = new Map<string, readonly string[]>([['same', ['vac:docs']], ['wider', ['vac:docs', 'admin']], ['narrower', []]])
  const authenticate = Object.assign(() => undefined, {
    current: ({ credential = '', ...principal }: Principal) => current.has(credential) ? { ...principal, credential, scopes: current.get(credential) } : undefined
  })
  const seen: unknown[] = []
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: (_question, _vac, _history, { principal, protocol }) => { seen.push([protocol, principal?.owner, principal?.scopes]); return 'done' } })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  // before any worker runs, as after a restart
  const made = new Map<string, [owner: string, id: string]>()
  for (const credential of ['same', 'wider', 'narrower', 'removed']) {
    const { task } = await tasks.create(ownerKey(credential), { skill: 'vac_query_docs', input: { query: 'x' }, metadata: { caller: callerFields(named(credential)) } })
    made.set(`a2a ${credential}`, [task.owner, task.id])
    const input = { name: 'vac_query_docs', arguments: { query: 'x' }, capabilities: {}, protocolVersion: '2025-11-25', principal: named(credential) }
    const { task: call } = await tasks.create(` mcp ${credential}`, { skill: 'tools/call', queue: 'mcp', input })
    made.set(`mcp ${credential}`, [call.owner, call.id])
    const { task: run } = await tasks.create(` runs ${credential}`, {
      skill: 'vac_stream_docs',
      queue: 'runs',
      input: { question: 'x', history: [], extra: {}, isWhole: true },
      metadata: { protocol: 'direct', requestId: 'r', owner: credential, caller: callerFields(named(credential)) }
    })
    made.set(`run ${credential}`, [run.owner, run.id])
  }
  // of an earlier version, which stored only the scopes, and no identity where callers are not authenticated
  for (const [owner, metadata] of [['earlier', { scopes: ['vac:docs'] }], ['anyone', {}]] as const) {
    made.set(`a2a ${owner}`, [owner, (await tasks.create(owner, { skill: 'vac_query_docs', input: { query: 'x' }, metadata })).task.id])
  }
  const app = Fastify()
  t.teardown(async () => { await app.close(); await tasks.close() })
  await app.register(a2aPlugin, { vacs, tasks, authenticate, push: false })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)], tasks, authenticate })
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS, runs: createRuns({ vacs, tasks, authenticate }), authenticate })
  await app.ready()
  const ended: Record<string, unknown> = {}
  for (const [name, [owner, id]] of made) {
    const task = await until(async () => {
      const task = await tasks.get(owner, id)
      return task?.completedAt === null ? undefined : task ?? undefined
    }, `${name} ends`)
    ended[name] = task.error?.code ?? task.state
  }
  t.strictSame(ended, {
    'a2a same': 'completed',
    'mcp same': 'completed',
    'run same': 'completed',
    'a2a wider': 'completed',
    'mcp wider': 'completed',
    'run wider': 'completed',
    'a2a narrower': 'A2A_SKILL_NOT_FOUND',
    'mcp narrower': '-32602',
    'run narrower': 'VAC_NOT_FOUND',
    'a2a removed': 'A2A_CREDENTIAL_ENDED',
    'mcp removed': '-32602',
    'run removed': 'UNAUTHENTICATED',
    'a2a earlier': 'completed',
    'a2a anyone': 'completed'
  })
  const scopes = (protocol: string, owner: string | undefined): unknown => (seen as Array<[string, string, unknown]>).find(([a, b]) => a === protocol && b === owner)?.[2]
  t.strictSame([scopes('a2a', 'same'), scopes('a2a', 'wider'), scopes('mcp', 'wider'), scopes('direct', 'wider'), scopes('a2a', 'earlier')], [['vac:docs'], ['vac:docs', 'admin'], ['vac:docs', 'admin'], ['vac:docs', 'admin'], ['vac:docs']])
  t.equal(seen.length, 8, 'no interpreter ran for the others')
})

test('a task that another credential of its owner continues goes on with the scopes of that one', async t => {
  const credentials: Record<string, Principal> = {
    wide: { owner: 'alice', scopes: ['vac:docs', 'tool:vac_query_docs', 'admin'], credential: 'wide' },
    narrow: { owner: 'alice', scopes: ['vac:docs', 'tool:vac_query_docs'], credential: 'narrow' },
    unbound: { owner: 'alice' }
  }
  const authenticate = Object.assign(({ headers: { authorization = '' } }: FastifyRequest) => credentials[authorization], {
    current: ({ credential }: Principal) => credentials[credential ?? 'unbound']
  })
  const seen: unknown[] = []
  const vacs = createVacs({
    vacs: ['docs'],
    streamInterpreter: (_question, _vac, _history, { principal, protocol }) => { seen.push([protocol, principal?.scopes]); return { input_required: 'What?' } }
  })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify()
  t.teardown(async () => { await app.close(); await tasks.close() })
  await app.register(a2aPlugin, { vacs, tasks, authenticate, push: false })
  const post = async (caller: string, url: string, method: string, params: object): Promise<any> =>
    (await app.inject({ method: 'POST', url, headers: { authorization: caller }, payload: rpc(method, params) })).json().result
  const waits = async (taskId: string, turn: number): Promise<void> => {
    await until(async () => {
      const task = await tasks.get('alice', taskId)
      return task?.turn === turn && task.state === 'input-required'
    }, `turn ${turn} waits for input`)
  }
  const { taskId } = await post('wide', '/a2a/tasks/send', 'tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  await waits(taskId, 0)
  const message = (messageId: string) => ({ kind: 'message', messageId, taskId, role: 'user', parts: [{ kind: 'text', text: 'y' }] })
  for (const [turn, caller] of ['narrow', 'unbound', 'wide'].entries()) {
    await post(caller, '/a2a', 'message/send', { message: message(caller) })
    await waits(taskId, turn + 1)
  }
  t.strictSame(seen, ['wide', 'narrow', 'unbound', 'wide'].map(caller => ['a2a', credentials[caller]!.scopes]))
})

test('the key of a request shows nothing of a task that another credential of its owner sent with it', async t => {
  const scopes: Record<string, readonly string[] | undefined> = { all: undefined, docs: ['vac:docs'], both: ['vac:docs', 'vac:hidden'] }
  const authenticate = ({ headers: { authorization = '' } }: FastifyRequest): Principal => ({ owner: 'alice', scopes: scopes[authorization] })
  const vacs = createVacs({ vacs: ['docs', 'hidden'], streamInterpreter: () => 'done' })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify()
  t.teardown(async () => { await app.close(); await tasks.close() })
  await app.register(a2aPlugin, { vacs, tasks, authenticate, push: false })
  const send = async (caller: string, vac: string, query = 'x'): Promise<any> => {
    const payload = rpc('tasks/send', { skillName: `vac_query_${vac}`, input: { query } })
    return (await app.inject({ method: 'POST', url: '/a2a/tasks/send', headers: { authorization: caller, 'idempotency-key': 'k' }, payload })).json()
  }
  for (const caller of ['all', 'both']) {
    const { result: { taskId } } = await send(caller, 'hidden')
    t.equal((await send(caller, 'hidden')).result.taskId, taskId, 'the same caller finds its task')
    t.match(await send(caller, 'docs'), { error: { data: { code: 'TASK_CONFLICT' } } })
  }
  const { result: { taskId } } = await send('docs', 'docs')
  t.type(taskId, 'string')
  t.equal((await send('docs', 'docs')).result.taskId, taskId)
  t.match(await send('docs', 'docs', 'y'), { error: { data: { code: 'TASK_CONFLICT' } } })
})

test('a webhook gets nothing more once the credential that set it is removed', async t => {
  const got: string[] = []
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => { body += String(chunk) }).on('end', () => {
      got.push(`${String(request.headers['x-a2a-notification-token'])} ${/"state":"([a-z-]+)"/.exec(body)?.[1]}`)
      response.end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const valid = new Set(['first', 'second'])
  const named = (credential: string): Principal => ({ owner: 'alice', scopes: ['vac:docs'], credential })
  const authenticate = Object.assign(({ headers: { authorization = '' } }: FastifyRequest) => valid.has(authorization) ? named(authorization) : undefined, {
    current: ({ credential = '' }: Principal) => valid.has(credential) ? named(credential) : undefined
  })
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: () => ({ input_required: 'What?' }) })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify()
  t.teardown(async () => { await app.close(); await tasks.close() })
  await app.register(a2aPlugin, { vacs, tasks, authenticate, push: { allow: ['127.0.0.1'] } })
  const post = async (caller: string, method: string, params: object): Promise<any> =>
    (await app.inject({ method: 'POST', url: `/a2a/${method}`, headers: { authorization: caller }, payload: rpc(method, params) })).json().result
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const { taskId } = await post('first', 'tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' }, pushNotificationConfig: { id: 'a', url, token: 'first' } })
  await post('second', 'tasks/pushNotification/set', { taskId, pushNotificationConfig: { id: 'b', url, token: 'second' } })
  await until(() => got.includes('first input-required') && got.includes('second input-required'), 'both webhooks are called')
  valid.delete('first')
  await post('second', 'tasks/cancel', { taskId })
  await until(() => got.includes('second canceled'), 'the webhook of the other credential is called')
  await until(async () => (await tasks.getPush('alice', taskId, 'a'))?.disabled !== null, 'the webhook is disabled')
  t.notOk(got.includes('first canceled'))
  t.match(await tasks.getPush('alice', taskId, 'a'), { disabled: /credential/ })
  t.equal((await tasks.getPush('alice', taskId, 'b'))?.disabled, null)
})

test('a `current` that fails or returns a promise ends nothing, and does not end the process', async t => {
  const named: Principal = { owner: 'alice', scopes: ['vac:docs'], credential: 'c' }
  const answers: Array<() => unknown> = [() => { throw new Error('down') }, async () => named, () => 5, () => undefined]
  let asked = 0
  const authenticate = Object.assign(() => named, { current: () => { asked++; return answers[0]!() as Principal } })
  const { base } = await listening(t, { authenticate })
  const stream = new Reader(`${base}/vac/streaming/docs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user_input: 'wait' }) })
  await until(() => stream.text.includes('begun'), 'the stream is open')
  while (answers.length > 1) {
    const before = asked
    await until(() => asked > before + 1, 'it is asked again')
    t.notOk(stream.hasEnded)
    answers.shift()
  }
  await until(() => stream.hasEnded, 'the stream ends')
})

async function listening (t: Test, options: HostOptions): Promise<{ app: FastifyInstance, base: string }> {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  const app = await createHost({ vacs: ['docs'], stream_interpreter: join(folder, 'agent.mjs'), enable_a2a_agent: true, enable_mcp_server: true, tasks: { store: 'memory' }, ...options })
  t.teardown(() => app.close())
  return { app, base: await app.listen({ host: '127.0.0.1', port: 0 }) }
}
