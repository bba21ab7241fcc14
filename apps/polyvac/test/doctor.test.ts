import { AGENT_CARD_PATH } from '@a2a-js/sdk'
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { test } from 'tap'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, request, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { emptyFolder, published, runPolyvac } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'
import { findingsOf } from '../src/commands/doctor.js'
import { createHost, parseConfig } from '@polyvac/host'
import { checkNode } from '../src/doctor/environment.js'
import { checkAgUi, checkAiSdk } from '../src/doctor/front-ends.js'
import { checkModels } from '../src/doctor/models.js'
import { checkResponses } from '../src/doctor/responses.js'
import { checkRuns } from '../src/doctor/runs.js'
import { checkService } from '../src/doctor/service.js'
import { checkPackages, isInstalled } from '../src/doctor/packages.js'
import type { Check, Finding } from '../src/doctor/finding.js'
import type { HostOptions } from '@polyvac/host'
import { HttpClient, MAX_REPLY_BYTES } from '../src/client/http-client.js'

type Teardown = { teardown: (end: () => unknown) => void }
/** What a proxy does to a response before its body is sent. */
type Change = (response: IncomingMessage, reply: ServerResponse, path: string) => boolean

async function serve (t: Teardown, handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function host (t: Teardown, publicUrl?: string, more: Partial<HostOptions> = {}): Promise<string> {
  const app = await createHost({
    ...more,
    config: parseConfig('kind: vacConfig\nvac: { own: { display_name: Own } }\n', 'vac_config.yaml'),
    stream_interpreter: async function * () { yield 'text' },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    ...publicUrl === undefined ? {} : { public_url: publicUrl },
    server: { logger: false, forceCloseConnections: true }
  })
  t.teardown(() => app.close())
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

/** A reverse proxy that sends each response at its end, or unchanged where `change` returns false. */
function proxy (t: Teardown, target: string, change: Change): Promise<string> {
  return serve(t, (incoming, reply) => {
    const path = incoming.url!
    const upstream = request(`${target}${path}`, { method: incoming.method, headers: incoming.headers }, response => {
      const isBuffered = change(response, reply, path)
      const { 'transfer-encoding': _, ...headers } = response.headers
      if (!isBuffered) {
        reply.writeHead(response.statusCode!, headers)
        response.pipe(reply)
        return
      }
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => reply.writeHead(response.statusCode!, headers).end(Buffer.concat(pieces)))
    })
    upstream.flushHeaders()
    upstream.on('error', () => reply.destroy())
    reply.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
}

async function examine (url: string, { headers = [], maxMs }: { headers?: string[], maxMs?: number } = {}): Promise<Finding[]> {
  const findings: Finding[] = []
  for await (const finding of findingsOf(new HttpClient(url, headers, maxMs))) findings.push(finding)
  return findings
}

const bad = (findings: Finding[]): Finding[] => findings.filter(({ level }) => level === 'problem' || level === 'warning')

test('a host with all protocols has no warnings and no problems', async t => {
  const findings = await examine(await host(t))
  t.strictSame(bad(findings), [])
  t.strictSame([...new Set(findings.map(({ check }) => check))],
    ['reachable', 'health', 'ready', 'clock', 'card', 'card url', 'a2a 1.0', 'a2a 0.3', 'a2a tasks', 'mcp 2026-07-28', 'mcp', 'mcp tools',
      'mcp 2026-07-28 tools', 'stream headers', 'streams', 'mcp requests', 'runs', 'responses', 'ai sdk', 'ag-ui', 'body limit', 'cors'])
  t.match(findings.filter(({ level }) => level === 'ok').map(({ text }) => text).join(), /revision 2025-11-25[^]*first event[^]*text\/plain answers 415, Accept: text\/plain answers 406[^]*refused with 413/)
  t.strictSame(findings.filter(({ level }) => level === 'not checked'), [])
})

test('a proxy that buffers streams, or compresses them, or drops headers, is found', async t => {
  const target = await host(t)
  const isStream = ({ headers }: IncomingMessage): boolean => headers['content-type']?.startsWith('text/event-stream') === true
  const buffering = await proxy(t, target, isStream)
  const holding = await serve(t, (incoming, reply) => {
    const upstream = request(`${target}${incoming.url!}`, { method: incoming.method, headers: incoming.headers }, response => {
      const { 'transfer-encoding': _, ...headers } = response.headers
      reply.writeHead(response.statusCode!, headers)
      reply.flushHeaders()
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => reply.end(Buffer.concat(pieces)))
    })
    upstream.flushHeaders()
    upstream.on('error', () => reply.destroy())
    reply.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
  const [buffered, held] = await Promise.all([buffering, holding].map(url => examine(url, { maxMs: 20_000 })))
  t.match(bad(buffered!), [{ check: 'streams', level: 'problem', remedy: /proxy_buffering off/ }])
  t.match(bad(held!), [{ check: 'streams', level: 'problem', text: /the head of a stream arrives, and its first event does not/ }])
  const packing = await proxy(t, target, response => {
    if (isStream(response)) response.headers['content-encoding'] = 'gzip'
    return false
  })
  t.match(bad(await examine(packing)).find(({ check }) => check === 'stream headers'), { level: 'warning', text: /compressed with gzip/ })
  const stripping = await proxy(t, target, response => {
    delete response.headers['mcp-session-id']
    return false
  })
  t.match(bad(await examine(stripping)), [{ check: 'mcp tools', level: 'problem', remedy: /Mcp-Session-Id/ }])
})

test('an MCP server may send the JSON of an event over several lines', async t => {
  const target = await host(t)
  for (const end of ['\n', '\r\n', '\r']) {
    const spreading = await serve(t, (incoming, reply) => {
      const { method, headers, url } = incoming
      const upstream = request(`${target}${url!}`, { method, headers }, response => {
        const { 'transfer-encoding': _, 'content-length': __, ...others } = response.headers
        if (url !== '/mcp' || method !== 'POST' || response.statusCode !== 200) return response.pipe(reply.writeHead(response.statusCode!, others))
        const spread = (body: string): void => {
          const value: unknown = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body)
          const lines = JSON.stringify(value, undefined, 1).split('\n').map(line => `data: ${line}${end}`)
          reply.writeHead(200, { ...others, 'content-type': 'text/event-stream' }).end(`event: message${end}${lines.join('')}${end}`)
        }
        // doctor may leave before the end of a stream
        text(response).then(spread).catch(() => { reply.destroy() })
      })
      upstream.on('error', () => reply.destroy())
      reply.on('close', () => upstream.destroy())
      incoming.pipe(upstream)
    })
    const found = await examine(spreading)
    for (const check of ['mcp', 'mcp tools', 'mcp 2026-07-28', 'mcp 2026-07-28 tools']) t.match(found.find(one => one.check === check), { level: 'ok' }, `${check}, ${JSON.stringify(end)}`)
  }
})

test('a card that names an address that does not answer is a problem', async t => {
  const dead = await serve(t, (_request, reply) => { reply.writeHead(404).end() })
  const found = bad(await examine(await host(t, dead)))
  t.ok(found.length > 0 && found.every(({ check, level }) => ['card url', 'a2a 1.0', 'a2a 0.3'].includes(check) && level === 'problem'))
  t.match(found[0], { remedy: /public_url/ })
})

test('a service that is dead, silent, or sends endless bodies ends the checks', async t => {
  const dead = createServer()
  await new Promise<void>(resolve => dead.listen(0, '127.0.0.1', resolve))
  const { port } = dead.address() as AddressInfo
  await new Promise(resolve => dead.close(resolve))
  t.match(await examine(`http://127.0.0.1:${port}`), [{ check: 'reachable', level: 'problem', text: /ECONNREFUSED/, remedy: /start the service/ }])
  t.match(await examine(await serve(t, () => {}), { maxMs: 200 }), [{ check: 'reachable', level: 'problem', text: /no reply in time/ }])
  const plain = await serve(t, () => {})
  t.match(await examine(plain.replace('http:', 'https:')), [{ level: 'problem', text: /wrong version|packet length/, remedy: /try http:/ }])
  const other = createTcpServer(socket => { socket.on('error', () => {}).end('220 ready\r\n') })
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { other.close() })
  t.match(await examine(`http://127.0.0.1:${(other.address() as AddressInfo).port}`), [{ level: 'problem', remedy: /speaks HTTP/ }])
  const endless = await serve(t, (_request, reply) => {
    const more = (): void => { while (!reply.destroyed && reply.write('x'.repeat(64 * 1024))); }
    reply.on('drain', more)
    more()
  })
  const dripping = await serve(t, (_request, reply) => {
    const timer = setInterval(() => { reply.write('data: {}\n\n') }, 20)
    reply.on('close', () => { clearInterval(timer) })
  })
  t.match(await examine(dripping, { maxMs: 200 }), [{ check: 'reachable', level: 'problem', text: /no reply in time/ }])
  const reply = await new HttpClient(endless).send('health')
  t.ok(reply.isCut && reply.text.length < MAX_REPLY_BYTES * 2)
})

test('doctor waits for MCP servers that are starting, and reports what /ready names of the configuration', async t => {
  const starting = { reasons: [{ part: 'mcp.files', reason: 'is starting' }] }
  const problems = [{ file: 'vac_config.yaml', line: 7, column: 3, message: 'unknown key "agnet"', hint: 'did you mean "agent"?' }]
  const answers: object[] = [starting, starting, { reasons: [], left_out: [{ vac: 'docs', text: '1 file left out: 1 .wpd' }], configuration: problems }]
  const look = async (signal?: AbortSignal): Promise<Finding[]> => {
    const url = await serve(t, ({ url: path }, reply) => { reply.end(path === '/ready' ? JSON.stringify(answers.shift() ?? starting) : '{}') })
    const findings: Finding[] = []
    for await (const finding of checkService(new HttpClient(url), signal)) findings.push(finding)
    return findings.filter(({ check }) => ['ready', 'configuration', 'documents'].includes(check))
  }
  t.match(await look(), [
    { check: 'ready', level: 'ok' },
    { check: 'documents', level: 'warning', text: 'docs: 1 file left out: 1 .wpd' },
    { check: 'configuration', level: 'warning', text: 'vac_config.yaml:7: unknown key "agnet"', remedy: 'did you mean "agent"?' }
  ])
  t.match(await look(AbortSignal.abort()), [{ check: 'ready', level: 'warning', text: 'mcp.files: is starting' }], 'the wait has an end')
})

test('the headers of --header reach only the named origin, and redirects are reported', async t => {
  const seen: Array<string | undefined> = []
  const other = await serve(t, ({ headers }, reply) => { seen.push(headers.authorization); reply.writeHead(404).end() })
  const redirecting = await serve(t, (_request, reply) => { reply.writeHead(301, { location: `${other}/x` }).end() })
  const headers = ['authorization: Bearer secret']
  t.match(await examine(redirecting, { headers }), [{ level: 'problem', text: /301 redirects to .*POST as GET/ }])
  await new HttpClient(redirecting, headers).send(other)
  t.strictSame(seen, [undefined])
  t.throws(() => new HttpClient(other, ['authorization: a\nsecret']), { code: 'USAGE', message: /^--header takes 'name: value'(?!.*secret)/ })
})

test('a preflight that does not allow DELETE is a warning', async t => {
  for (const [methods, expected] of [['GET,HEAD,POST', 1], ['GET, POST, DELETE', 0], ['*', 0]] as const) {
    const url = await serve(t, ({ method }, reply) => {
      const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*', 'access-control-allow-methods': methods }
      if (method === 'OPTIONS') reply.writeHead(204, headers).end()
      else reply.writeHead(200, { ...headers, 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}')
    })
    t.equal((await examine(url)).filter(({ check, remedy }) => check === 'cors' && remedy?.includes('DELETE')).length, expected, methods)
  }
})

test('401 without WWW-Authenticate and credentials for every origin are problems', async t => {
  const url = await serve(t, ({ method }, reply) => {
    reply.writeHead(method === 'POST' ? 401 : 404, { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' }).end()
  })
  t.match(bad(await examine(url)), [
    { check: 'authentication', level: 'problem', text: /no WWW-Authenticate/ }, { check: 'cors', level: 'problem', text: /any origin may send credentials/ }
  ])
})

test('a 401 leads to metadata of the resource, and inconsistent metadata is a problem', async t => {
  const authenticate = (): undefined => undefined
  const good = await host(t, undefined, { authenticate, protectedResource: { authorizationServers: ['https://issuer.example'] } })
  const findings = await examine(good)
  t.strictSame(bad(findings), [])
  t.match(findings.find(({ check }) => check === 'authentication'), { level: 'ok', text: /1 authorization servers/ })
  const challenge = (url: string): string => `Bearer resource_metadata="${url}/metadata"`
  for (const [metadata, text] of [
    [{ resource: 'https://other.invalid/mcp', authorization_servers: ['https://issuer.example'] }, /names the resource https:\/\/other\.invalid/],
    [{ authorization_servers: ['http://issuer.example'] }, /no authorization server with https/]
  ] as const) {
    const url = await serve(t, ({ url: path, headers }, reply) => {
      const own = `http://${headers.host}`
      if (path === '/metadata') reply.end(JSON.stringify(Object.assign({ resource: `${own}/mcp` }, metadata)))
      else reply.writeHead(path === '/mcp' ? 401 : 404, { 'www-authenticate': challenge(own) }).end()
    })
    t.match(bad(await examine(url)), [{ check: 'authentication', level: 'problem', text }])
  }
  const lost = await serve(t, (_request, reply) => { reply.writeHead(401, { 'www-authenticate': challenge('http://127.0.0.1:1') }).end() })
  const guarded = await examine(lost)
  t.match(guarded.filter(({ check }) => check === 'health' || check === 'ready'), ['health', 'ready'].map(check => ({ level: 'not checked', text: `GET /${check} answers 401; send a token with --header` })))
  t.match(bad(guarded).find(({ check }) => check === 'authentication'), { level: 'problem', text: /resource_metadata http.*(?:ECONNREFUSED|bad port)/ })
})

test('a host with service.auth is checked up to its 401, and with --header to the end', async t => {
  const tokens = [{ owner: 'alice', sha256: createHash('sha256').update('sesame').digest('hex'), scopes: ['vac:own'] }]
  const closed = ['a2a 1.0', 'a2a 0.3', 'mcp', 'runs', 'responses', 'ai sdk', 'ag-ui']
  for (const [auth, expected] of [
    [{ tokens, jwt: { issuer: 'https://issuer.example', audience: 'https://own.example' } }, { level: 'ok', text: /1 authorization servers/ }],
    [{ tokens }, { level: 'warning', text: /answers 404/, remedy: /oauth-protected-resource .*--header/ }]
  ] as const) {
    const url = await host(t, undefined, { auth, cors: true })
    const findings = await examine(url)
    t.match(findings.find(({ check }) => check === 'authentication'), expected)
    t.strictSame(findings.filter(({ text }) => text === 'the service answers 401; send a token with --header').map(({ check }) => check), closed)
    t.strictSame(bad(findings).map(({ check }) => check), expected.level === 'ok' ? [] : ['authentication'])
    const known = await examine(url, { headers: ['authorization: Bearer sesame'] })
    t.strictSame(known.filter(({ level }) => level !== 'ok'), [])
    t.ok(closed.every(name => known.some(({ check }) => check === name)))
  }
})

type Answer = (incoming: IncomingMessage, reply: ServerResponse) => boolean

const json = (reply: ServerResponse, status: number, body: object): true => { reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)); return true }

const events = (reply: ServerResponse, text: string): true => { reply.writeHead(200, { 'content-type': 'text/event-stream' }).end(text); return true }

/** What a check finds behind a proxy that answers some requests itself. */
async function findingOf (t: Teardown, target: string, check: Check, answer: Answer): Promise<Finding | undefined> {
  const url = await serve(t, (incoming, reply) => {
    if (answer(incoming, reply)) return
    incoming.pipe(request(`${target}${incoming.url!}`, { method: incoming.method, headers: incoming.headers }, response => {
      reply.writeHead(response.statusCode!, response.headers)
      response.pipe(reply)
    }).on('error', () => { reply.destroy() }))
  })
  const { value } = await check(new HttpClient(url))[Symbol.asyncIterator]().next()
  return value as Finding | undefined
}

test('a response is begun where a service serves them, and is not kept', async t => {
  const target = await host(t)
  const responsesOf = async (answer: Answer): Promise<Finding | undefined> => await findingOf(t, target, checkResponses, answer)
  const isAsked = ({ url }: IncomingMessage): boolean => url === '/openai/v1/responses'
  t.match(await responsesOf(() => false), { level: 'ok', text: 'a response of own is begun, and not kept' })
  t.strictSame(await (await fetch(`${target}/vac/own/runs`)).json(), { runs: [] })
  t.match(await responsesOf((incoming, reply) => isAsked(incoming) && events(reply, 'data: {}\n\n')), { level: 'problem', text: /does not begin with response\.created \(its first event is \{\}\)/, remedy: /let the proxy pass POST/ })
  t.match(await responsesOf((incoming, reply) => isAsked(incoming) && json(reply, 500, {})), { level: 'problem', text: /answers 500 without events/ })
  t.match(await responsesOf(({ url }, reply) => url === '/openai/v1/models' && json(reply, 404, {})), { level: 'not checked', text: /models answers 404 without a model/ })
  const off = await examine(await host(t, undefined, { protocols: { responses: false } }))
  t.match(off.find(({ check }) => check === 'responses'), { level: 'not checked', text: 'POST /openai/v1/responses answers 501: the service does not serve it' })
})

test('a message of the AI SDK and a run of AG-UI are begun where a service serves them, and leave nothing', async t => {
  const target = await host(t)
  const aiOf = async (answer: Answer): Promise<Finding | undefined> => await findingOf(t, target, checkAiSdk, answer)
  t.match(await aiOf(() => false), { level: 'ok', text: 'a message of own is begun, and not kept' })
  const isAsked = ({ url }: IncomingMessage): boolean => url === '/ai/own'
  t.match(await aiOf((incoming, reply) => isAsked(incoming) && events(reply, 'data: {"type":"start"}\n\n')), { level: 'warning', text: /without the header x-vercel-ai-ui-message-stream: v1/ })
  t.match(await aiOf((incoming, reply) => isAsked(incoming) && events(reply, 'data: {"type":"error"}\n\n')), { level: 'problem', text: /begin with start \(its first event is \{"type":"error"\}\)/, remedy: /below \/ai\// })
  t.match(await aiOf((incoming, reply) => isAsked(incoming) && events(reply, ': open\n\ndata: {"type":"sta')), { level: 'problem', text: /begin with start \(the stream ended\)/ })
  t.match(await aiOf(({ url }, reply) => url === '/vac' && json(reply, 404, {})), { level: 'not checked', text: 'GET /vac answers 404 without a VAC' })

  const agUiOf = async (answer: Answer): Promise<Finding | undefined> => await findingOf(t, target, checkAgUi, answer)
  t.match(await agUiOf(() => false), { level: 'ok', text: 'a run of own is begun' })
  const isInfo = ({ url }: IncomingMessage): boolean => url === '/ag-ui/info'
  t.match(await agUiOf((incoming, reply) => isInfo(incoming) && json(reply, 200, { agents: ['own'] })), { level: 'problem', text: /another form than CopilotKit reads/, remedy: /an object for each name/ })
  t.match(await agUiOf((incoming, reply) => isInfo(incoming) && json(reply, 200, { agents: {} })), { level: 'not checked', text: /lists no agent/ })
  t.match(await agUiOf(({ url }, reply) => url === '/ag-ui/own' && json(reply, 503, { error: { code: 'TASK_STORE_UNAVAILABLE' } })), { level: 'problem', text: /503 TASK_STORE_UNAVAILABLE without events/ })
  for (const list of ['runs', 'conversations']) t.strictSame(await (await fetch(`${target}/vac/own/${list}`)).json(), { [list]: [] }, list)

  const off = await examine(await host(t, undefined, { protocols: { ai_sdk: false, ag_ui: false } }))
  t.match(off.find(({ check }) => check === 'ai sdk'), { level: 'not checked', text: 'POST /ai/own answers 501: the service does not serve it' })
  t.match(off.find(({ check }) => check === 'ag-ui'), { level: 'not checked', text: /GET \/ag-ui\/info answers 501 .*without agents/ })
  const unkept = await host(t, undefined, { conversations: { store: false } })
  t.match((await examine(unkept)).find(({ check }) => check === 'ag-ui'), { level: 'ok' })
  t.strictSame(await (await fetch(`${unkept}/vac/own/runs`)).json(), { runs: [] })
})

test('answers in the background are checked where a service has them, and leave nothing', async t => {
  const target = await host(t)
  t.match((await examine(target)).find(({ check }) => check === 'runs'), { level: 'ok', text: /own in the background is started, followed and deleted/ })
  t.strictSame(await (await fetch(`${target}/vac/own/runs`)).json(), { runs: [] })
  const runsOf = async (answer: Answer): Promise<Finding | undefined> => await findingOf(t, target, checkRuns, answer)
  const isAsked = ({ method, url }: IncomingMessage): boolean => method === 'POST' && url === '/vac/own'
  t.match(await runsOf((incoming, reply) => isAsked(incoming) && json(reply, 200, { answer: 'a' })), { level: 'not checked', text: /answers 200: the service has no runs/ })
  t.match(await runsOf((incoming, reply) => isAsked(incoming) && json(reply, 501, { error: { code: 'RUNS_NOT_CONFIGURED' } })), { level: 'not checked', text: /501 RUNS_NOT_CONFIGURED/ })
  t.match(await runsOf((incoming, reply) => isAsked(incoming) && json(reply, 503, { error: { code: 'TASK_STORE_UNAVAILABLE' } })), { level: 'problem', text: /503 TASK_STORE_UNAVAILABLE/ })
  t.match(await runsOf(({ method }, reply) => method === 'DELETE' && json(reply, 405, {})), { level: 'problem', text: /^DELETE .* answers 405/, remedy: /let the proxy pass POST, DELETE/ })
  t.match(await runsOf(({ url }, reply) => url!.endsWith('/stream') && json(reply, 404, {})), { level: 'problem', text: /stream answers 404 without events/ })
})

test('published servers have no problems', async t => {
  const card = {
    name: 'peer',
    description: 'A peer',
    version: '1.0.0',
    supportedInterfaces: [] as Array<Record<string, string>>,
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: []
  }
  const requestHandler = new DefaultRequestHandler(card as never, new InMemoryTaskStore(), { execute: async () => {}, cancelTask: async () => {} })
  const app = express()
  // no log of refused bodies
  app.set('env', 'test')
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const peer = await serve(t, app)
  card.supportedInterfaces.push({ url: peer, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' })
  const found = await examine(peer)
  t.strictSame(bad(found).filter(({ level }) => level === 'problem'), [])
  t.match(found.find(({ check }) => check === 'a2a 1.0'), { level: 'ok' })
  t.match(found.find(({ check }) => check === 'a2a 0.3'), { level: 'not checked' })

  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  const [command, ...args] = published('everything', 'streamableHttp')
  const server = spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => { server.kill('SIGKILL') })
  const everything = `http://127.0.0.1:${port}`
  await until(() => fetch(everything).then(() => true, () => false), 'the server listens')
  const findings = await examine(everything)
  t.strictSame(bad(findings).filter(({ level }) => level === 'problem'), [])
  t.match(findings.find(({ check }) => check === 'mcp'), { level: 'ok', text: /2025-11-25/ })
  t.match(findings.find(({ check }) => check === 'mcp 2026-07-28'), { level: 'not checked' })
  t.match(findings.find(({ check }) => check === 'streams'), { level: 'ok', text: /when its events arrive is not checked/ })
})

test('polyvac doctor without an address checks the configuration, also one that does not start', async t => {
  const cwd = await emptyFolder(t)
  await writeFile(join(cwd, 'vac_config.yaml'), 'kind: vacConfig\nservice: { tasks: { store: memory }, enable_mcp_server: true }\nvac: { own: { interpreter: echo } }\n')
  const good = await runPolyvac(['doctor', '--json'], cwd)
  t.equal(good.code, 0)
  const findings = good.stdout.trim().split('\n').map(line => JSON.parse(line) as Finding)
  t.match(findings, [{ check: 'node.js', level: 'ok' }, { check: 'packages', level: 'ok' }])
  t.strictSame(bad(findings), [])
  await writeFile(join(cwd, 'vac_config.yaml'), 'kind: vacConfig\nvac: { own: { interpreter: ./missing.mjs } }\n')
  const broken = await runPolyvac(['doctor'], cwd)
  t.equal(broken.code, 1)
  t.match(broken.stdout, /problem {6}configuration: .*missing\.mjs[^]*1 problems/)
  t.match(checkNode('18.0.0'), { level: 'problem', remedy: /install Node\.js/ })
})

test('the model servers of the configuration are asked for their models', async t => {
  const server = createServer((request, response) => {
    const isAllowed = request.headers.authorization !== 'Bearer wrong-key'
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isAllowed ? { data: [{ id: 'qwen3:latest' }, { id: 'nomic-embed-text' }] } : { error: { message: 'no such key' } }))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const vac = {
    plain: {},
    good: { model: 'qwen3', openai: { base_url: `${url}/v1` } },
    first: { model: 'auto', embed: 'auto', openai: { base_url: `${url}/v1` } },
    absent: { model: 'qwen4', openai: { base_url: `${url}/v1` } },
    refused: { openai: { base_url: `${url}/v1`, model: 'qwen3', api_key: 'wrong-key' } },
    down: { embed: 'nomic', openai: { base_url: 'http://127.0.0.1:1/v1' } }
  }
  const found: Array<readonly [string, string, string]> = []
  for await (const { check, level, text } of checkModels(parseConfig(JSON.stringify({ kind: 'vacConfig', vac }), 'vac_config.json'))) found.push([check, level, text])
  t.match(found, [
    ['model of good', 'ok', `${url}: lists qwen3`],
    ['model of first', 'ok', `${url}: lists qwen3:latest`],
    ['embed of first', 'ok', `${url}: lists nomic-embed-text`],
    ['model of absent', 'problem', `${url}: the server does not list "qwen4"; it lists qwen3:latest, nomic-embed-text`],
    ['model of refused', 'problem', `${url}: the list of the server has HTTP 401: no such key`],
    ['embed of down', 'problem', /^http:\/\/127\.0\.0\.1:1: the server cannot be reached/]
  ])
})

test('each optional package that a switch needs and that is missing is a problem', t => {
  const service = '{ a2a: { grpc: { port: 0 } }, cors: true, helmet: true, enable_a2a_agent: true, enable_mcp_server: true, enable_playground: true, mcp_servers: [{ name: x, command: y }], telemetry: { prometheus: true }, tasks: { store: postgres, url: "postgres://db/x" } }'
  const config = parseConfig(`kind: vacConfig\nservice: ${service}\nvac: { own: {} }\n`, 'vac_config.yaml')
  const found = [...checkPackages(config, {}, () => false)]
  t.ok(found.every(({ check, level }) => check === 'packages' && level === 'problem'))
  t.match(found.find(({ text }) => text.startsWith('a2a.grpc')), { text: 'a2a.grpc needs @grpc/grpc-js and protobufjs, not installed', remedy: 'run `npm install @grpc/grpc-js@1 protobufjs@7`, or remove a2a.grpc' })
  t.strictSame(found.map(({ text }) => text.split(' ')[0]), [
    'enable_a2a_agent', 'enable_mcp_server', 'mcp_servers', 'enable_playground', 'enable_a2a_agent', 'a2a.grpc', 'cors', 'helmet', 'tasks.url', 'telemetry.prometheus'
  ])
  t.strictSame([...checkPackages(config, {}, name => name !== '@fastify/cors')].map(({ text }) => text), ['cors needs @fastify/cors, not installed'])
  t.match([...checkPackages(config, {})], [{ level: 'ok' }], 'they are found from the packages that import them')
  t.notOk(isInstalled('no-such-package', '@polyvac/a2a') || isInstalled('pg', 'no-such-package'))
  t.end()
})

test('a service that answers one request and then none, or waits for every body, ends the checks', async t => {
  const mute = await serve(t, ({ url }, reply) => { if (url === '/health') reply.end('{}') })
  const found = await examine(mute, { maxMs: 1_000 })
  t.match(found.filter(({ level }) => level === 'problem').map(({ check }) => check), ['service', 'a2a', 'mcp', 'runs', 'responses', 'ai sdk', 'ag-ui', 'cors'])
  t.match(found.find(({ check }) => check === 'body limit'), { level: 'warning', text: /waits for a body of 1 GiB/ })
  const page = await serve(t, (_request, reply) => { reply.end('<h1>Welcome</h1>') })
  t.match((await examine(page)).find(({ check }) => check === 'body limit'), { level: 'not checked', text: /answered with 200 before it arrives/ })
})
