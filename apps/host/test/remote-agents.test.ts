import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { test, type Test } from 'tap'
import { SigningKeys } from '@polyvac/a2a'
import type { ConfigError } from '@polyvac/core'
import { canonicalCard, canonicalJson } from '@polyvac/core/plugin'
import { agent as httpAgent, card, json, rawAgent, status, stream, task, artifact, COMPLETED, WORKING, type Agent, type Json } from '../../../packages/a2a-client/test/fixtures/agent.js'
import { authority } from '../../../packages/a2a-client/test/fixtures/certificates.js'
import { fakeModel } from '../../../packages/agent/test/fixtures/model.js'
import { published } from '../../../packages/a2a-client/test/fixtures/published.js'
import { questions } from '../../../test/probes/index.mjs'
import { until } from '../../../test/fixtures/until.js'
import '../../../test/fixtures/timeout.mjs'
import { createHost, parseConfig, type HostOptions } from '../src/index.js'

const file = (agents: string, more = ''): string => `kind: vacConfig\nservice:\n  stream_interpreter: echo\n${more}  a2a_agents:\n${agents}vac: { demo: {} }\n`
const parse = (text: string, env = {}) => parseConfig(text, '/app/vac_config.yaml', { env })
function problems (text: string): string[] {
  try {
    parse(text)
    return []
  } catch (err) {
    return (err as ConfigError).problems.map(({ line, column, message, hint }) => `${line}:${column} ${message}${hint === undefined ? '' : ` | ${hint}`}`)
  }
}

async function host (t: Test, options: HostOptions) {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', server: { logger: false }, tasks: { store: 'memory' }, ...options })
  t.teardown(() => app.close())
  return app
}

const ask = async (app: Awaited<ReturnType<typeof host>>, vac: string, body: Json = {}) =>
  await app.inject({ method: 'POST', url: `/vac/${vac}`, payload: { user_input: 'hello', ...body } })

test('mistakes in a2a_agents are reported with their places and remedies', t => {
  t.strictSame(problems(file('    - { name: a, url: "http://a", tmeout: 3 }\n')), ['5:35 unknown key "tmeout" in service.a2a_agents.0 | did you mean "timeout"?'])
  t.strictSame(problems(file('    - { name: a }\n')), ['5:7 service.a2a_agents.0 has no "url" | add "url:"'])
  t.strictSame(problems(file('    - { name: demo, url: "http://a" }\n')), ['5:15 service.a2a_agents.0.name: there is a VAC named "demo" | rename one of them'])
  t.strictSame(problems(file('    - { name: a, url: "http://a" }\n    - { name: a, url: "http://b" }\n')), ['6:15 service.a2a_agents.1.name: two agents are named "a" | rename one of them'])
  t.strictSame(problems(file('    - { name: files__x, url: "http://a" }\n', '  mcp_servers: [{ name: files, command: x }]\n')),
    ['6:15 service.a2a_agents.0.name: the tools of the MCP server "files" have such names | rename one of them'])
  t.match(problems(file('    - { name: a/b, url: "ftp://a" }\n')), [/^5:15 service\.a2a_agents\.0\.name: "a\/b" cannot be the name of a VAC/, /^5:25 service\.a2a_agents\.0\.url: expected an http\(s\) address$/])
  t.strictSame(problems(file('    - { name: a, url: "http://u:p@a" }\n')), ['5:23 service.a2a_agents.0.url: the address has a user name | use `auth:`'])
  const form = 'api_key; token; username and password; client_id and client_secret; or cert and key'
  t.strictSame(problems(file('    - { name: a, url: "http://a", auth: { basic: { username: u } } }\n')),
    [`5:50 service.a2a_agents.0.auth.basic: expected one credential: ${form} | add "password:"`])
  t.strictSame(problems(file('    - { name: a, url: "http://a", auth: { key: { api_key: k, token: t } } }\n')), [`5:48 service.a2a_agents.0.auth.key: expected one credential: ${form}`])
  t.match(problems(file('    - { name: a, url: "https://a", auth: { m: { cert: c.pem } } }\n')), [/auth\.m: expected one credential: .* \| add "key:"$/])
  t.match(problems(file('    - { name: a, url: "https://a", auth: { m: { cert: c, key: k }, n: { cert: c, key: k } } }\n')), [/auth\.n: a connection has one certificate \| leave one of them out$/])
  t.match(problems(file('    - { name: a, url: "http://a", protocol: 2 }\n')), [/protocol/])
  t.match(problems(file('    - { name: a, url: "http://a", verify: require }\n')), [/^5:\d+ service\.a2a_agents\.0\.verify: there are no keys to verify signatures with \| add "keys:"$/])
  t.match(problems(file('    - { name: a, url: "http://a", verify: always, keys: x.json }\n')), [/verify/])
  t.match(parse(file('    - { name: a, url: "http://a", verify: off }\n')).service.a2a_agents, [{ verify: 'off' }])
  t.match(problems('kind: vacConfig\nservice: { a2a_vac_names: [a, b], a2a_agents: [{ name: a, url: "http://a" }] }\n'), [/^2:31 there is no VAC "b"; known: a$/], 'an agent is a VAC, and enough to serve')
  // eslint-disable-next-line no-template-curly-in-string
  const { service } = parse(file('    - { name: a, url: "http://a", protocol: 1.0, auth: { key: { api_key: "${KEY}" } } }\n'), { KEY: 'secret' })
  t.match(service.a2a_agents, [{ protocol: 1, auth: { key: { api_key: 'secret' } } }])
  t.end()
})

test('names that programs give twice are refused at the start', async t => {
  const a2a_agents = [{ name: 'demo', url: 'http://127.0.0.1:1' }]
  await t.rejects(host(t, { a2a_agents }), { code: 'A2A_AGENTS', message: 'service.a2a_agents.0.name: there is a VAC named "demo"; rename one of them' })
  const { defineTools } = await import('@polyvac/core')
  const tools = defineTools([{ name: 'peer', inputSchema: { type: 'object' }, handler: () => '' }])
  await t.rejects(host(t, { tools, a2a_agents: [{ name: 'peer', url: 'http://127.0.0.1:1' }] }), { code: 'A2A_AGENTS', message: /"peer" is an agent and a tool of the application; rename one/ })
  await t.rejects(host(t, { a2a_agents: [{ name: 'peer' }] as never }), { code: 'HOST_OPTIONS' })
})

for (const version of ['1.0', '0.3'] as const) {
  test(`an agent of SDK ${version} answers on every protocol, and stands in every list`, async t => {
    const peer = await published(t, version)
    const app = await host(t, { a2a_agents: [{ name: 'peer', url: peer.url }], enable_a2a_agent: true, enable_mcp_server: true, enable_playground: false })
    t.match((await app.inject('/vac')).json().vacs[1], { name: 'peer', display_name: 'peer', agent: 'a2a', remote: { ready: false } }, 'its card is not known yet')
    t.match((await app.inject('/ready')).json(), { status: 'ready', reasons: [{ part: 'a2a.peer', reason: 'its card was not read yet' }] })
    await app.listen({ port: 0, host: '127.0.0.1' })
    await until(() => app.polyvac.vacs.get('peer').config.display_name === `peer ${version}`, 'the card has come')
    t.strictSame((await app.inject('/ready')).json(), { status: 'ready', reasons: [] })
    t.match((await app.inject('/vac')).json().vacs[1], { name: 'peer', display_name: `peer ${version}`, description: 'A peer', remote: { ready: true, protocol: `${version} JSONRPC` } })
    t.match((await app.inject('/openai/v1/models')).json().data.map(({ id }: Json) => id), ['demo', 'peer'])
    t.match((await app.inject('/.well-known/agent.json')).payload, /vac_stream_peer/)
    t.match((await app.inject('/a2a/vacs/peer/.well-known/agent-card.json')).json(), { name: `peer ${version}` })
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } }
    const listed = await app.inject({ method: 'POST', url: '/mcp', payload: rpc, headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' } })
    t.match(listed.payload, /vac_query_peer/)
    for (const [what, { path, body, headers }, probe] of questions('hello', 'peer')) {
      const { payload } = await app.inject({ method: 'POST', url: path, payload: body, headers: { ...headers } })
      t.equal(probe.textOf(payload), 'You said: hello', what)
    }
    t.equal(new Set(peer.messages.map(({ messageId }) => messageId)).size, peer.messages.length)
  })
}

test('a credential of the environment goes to the agent; without it only this agent fails, with a code', async t => {
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } }]), {
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } }, securityRequirements: [{ schemes: { key: { list: [] } } }]
  })
  const text = file(`    - { name: peer, url: "${raw.origin}", headers: { x-more: a }, timeout: 9, auth: { key: { api_key: "\${PEER_KEY}" } } }\n`)
  const open = async (env: object) => await host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config: parse(text, env) })
  const app = await open({ PEER_KEY: 'secret' })
  t.match((await ask(app, 'peer')).json(), { answer: 'Yes.' })
  t.match(raw.came.at(-1)!.headers, { 'x-key': 'secret', 'x-more': 'a' })
  const { warnings } = parse(text)
  t.match(warnings, [{ line: 5, message: 'the environment variable PEER_KEY is not set; this agent is not asked without it' }])
  const without = await open({})
  const calls = raw.came.length
  const refused = await ask(without, 'peer')
  t.equal(refused.statusCode, 502)
  t.match(refused.json(), { error: { code: 'A2A_AGENT_NOT_CONFIGURED' } })
  t.notMatch(refused.payload, /PEER_KEY/)
  t.match((await without.inject('/ready')).json(), { status: 'ready', reasons: [{ part: 'a2a.peer', reason: 'it cannot be asked: A2A_AGENT_NOT_CONFIGURED' }] })
  t.match((await ask(without, 'demo')).statusCode, 200)
  t.equal(raw.came.length, calls)
})

test('a card is verified with the keys of a file next to the configuration; without them only this agent fails', async t => {
  const keys = await SigningKeys.generate()
  const peer: Agent = await httpAgent(t, async ({ method, body }, response) => {
    if (method === 'POST') return json(response, 200, { jsonrpc: '2.0', id: body.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })
    const made = card(peer.origin)
    return json(response, 200, { ...made, signatures: [await keys.signCard(canonicalJson(canonicalCard(made)), `${peer.origin}/keys`)] })
  })
  const folder = t.testdir()
  const config = parseConfig(file(`    - { name: peer, url: "${peer.origin}", keys: keys.json }\n`), join(folder, 'vac_config.yaml'), { env: {} })
  const app = await host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config })
  const refused = await ask(app, 'peer')
  t.equal(refused.statusCode, 502)
  t.match(refused.json(), { error: { code: 'REMOTE_AGENT_SIGNATURE', message: /the file of its `keys` cannot be read; correct the path/ } })
  t.notMatch(refused.payload, folder)
  t.strictSame((await app.inject('/ready')).json(), { status: 'ready', reasons: [{ part: 'a2a.peer', reason: 'it cannot be asked: REMOTE_AGENT_SIGNATURE' }] })
  t.equal((await ask(app, 'demo')).statusCode, 200)
  t.strictSame(peer.calls(), [])
  await writeFile(join(folder, 'keys.json'), JSON.stringify(keys.publicJwks()))
  await until(async () => (await ask(app, 'peer')).json().answer === 'Yes.', 'the keys are read')
  t.strictSame((await app.inject('/ready')).json(), { status: 'ready', reasons: [] })
})

test('mutual TLS: a certificate of files next to the configuration, and PEM of the environment', async t => {
  const ca = authority('authority')
  const { cert, key } = ca.issue('polyvac')
  const seen: unknown[] = []
  const peer: Agent = await httpAgent(t, ({ method, body }, response, request) => {
    if (method === 'GET') return json(response, 200, card(peer.origin, { securitySchemes: { m: { mtlsSecurityScheme: {} } }, securityRequirements: [{ schemes: { m: { list: [] } } }] }))
    seen.push((request.socket as TLSSocket).getPeerCertificate().subject.CN)
    return json(response, 200, { jsonrpc: '2.0', id: body.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })
  }, { ...ca.issue('agent'), ca: ca.cert, requestCert: true, rejectUnauthorized: true })
  const folder = t.testdir({ 'cert.pem': cert, tls: { 'ca.pem': ca.cert } })
  const text = file(`    - { name: peer, url: "${peer.origin}", auth: { m: { cert: cert.pem, key: "\${PEER_PEM}", ca: tls/ca.pem } } }\n`)
  const app = await host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config: parseConfig(text, join(folder, 'vac_config.yaml'), { env: { PEER_PEM: key } }) })
  t.match((await ask(app, 'peer')).json(), { answer: 'Yes.' })
  t.strictSame(seen, ['polyvac'])
})

test('an agent that is this service is refused, and others go on', async t => {
  const options: HostOptions = { enable_a2a_agent: true }
  const first = await host(t, options)
  const url = await first.listen({ port: 0, host: '127.0.0.1' })
  const { port } = new URL(url)
  await first.close()
  const app = await host(t, { ...options, a2a_agents: [{ name: 'self', url: `http://localhost:${port}` }] })
  await app.listen({ port: Number(port), host: '127.0.0.1' })
  const refused = await ask(app, 'self')
  t.equal(refused.statusCode, 508)
  t.match(refused.json(), { error: { code: 'REMOTE_AGENT_LOOP' } })
  await until(async () => /REMOTE_AGENT_LOOP/.test((await app.inject('/ready')).payload), '/ready has the reason')
  t.equal((await ask(app, 'demo')).statusCode, 200)
})

test('misbehaving agents: a coded error each, never 500, and the other VACs answer', async t => {
  const odd = async (answer: Parameters<typeof httpAgent>[1]) => (await httpAgent(t, answer)).origin
  const elsewhere = await httpAgent(t, (_came, response) => json(response, 200, card('http://127.0.0.1:9/')))
  const rpc = (reply: (call: Json, response: Parameters<Parameters<typeof httpAgent>[1]>[1]) => unknown) => rawAgent(t, reply).then(({ origin }) => origin)
  const huge = 'x'.repeat(1024 * 1024)
  const agents: Record<string, readonly [url: string, code: RegExp]> = {
    silent: [await odd(() => true), /REMOTE_AGENT_TIMEOUT/],
    mute: [await rpc(() => true), /REMOTE_AGENT_TIMEOUT/],
    html: [await rpc((_call, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'); return true }), /REMOTE_AGENT_/],
    image: [await rpc((_call, response) => { response.writeHead(200, { 'content-type': 'image/png' }).end('\x89PNG'); return true }), /REMOTE_AGENT_/],
    huge: [await rpc(({ id }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: {"id":${JSON.stringify(id)},`)
      const more = (): void => { if (!response.destroyed) response.write(huge, more) }
      more()
      return true
    }), /REMOTE_AGENT_ANSWER/],
    away: [await odd((_came, response) => { response.writeHead(302, { location: `${elsewhere.origin}/.well-known/agent-card.json` }).end(); return true }), /REMOTE_AGENT_/],
    'no-url': [await odd((_came, response) => json(response, 200, { ...card(''), supportedInterfaces: [{ protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] })), /REMOTE_AGENT_CARD/],
    'private-url': [await odd((_came, response) => json(response, 200, card('http://10.0.0.1/'))), /REMOTE_AGENT_CARD/],
    dead: ['http://127.0.0.1:9', /REMOTE_AGENT_UNAVAILABLE/],
    forgets: [await rpc(({ id, method }, response) => method === 'SendStreamingMessage'
      ? stream(response, id, [task(WORKING)])
      : json(response, 200, { jsonrpc: '2.0', id, error: { code: -32001, message: 'no such task' } })), /REMOTE_AGENT_TASK_LOST/],
    nothing: [await rpc(({ id }, response) => json(response, 200, { jsonrpc: '2.0', id, result: { strange: true } })), /REMOTE_AGENT_ANSWER/]
  }
  const app = await host(t, { a2a_agents: Object.entries(agents).map(([name, [url]]) => ({ name, url, timeout: 4 })) })
  await app.listen({ port: 0, host: '127.0.0.1' })
  await Promise.all(Object.entries(agents).map(async ([name, [, code]]) => {
    const answer = await ask(app, name)
    t.match(answer.json().error?.code, code, `${name}: ${answer.payload.slice(0, 300)}`)
    t.ok([502, 503, 504].includes(answer.statusCode), `${name}: ${answer.statusCode}`)
    t.notMatch(answer.payload, /127\.0\.0\.1/, 'no address of a network')
    const other = await ask(app, 'demo')
    t.equal(other.statusCode, 200)
  }))
  t.equal(elsewhere.came.length, 0, 'the redirect to elsewhere is not followed')
  const ready = await app.inject('/ready')
  t.equal(ready.statusCode, 200)
  t.match(ready.payload, /"a2a.no-url","reason":"it cannot be asked: REMOTE_AGENT_CARD"/)
})

test('an agent that closes in the middle is read on, and the answer is whole', async t => {
  let reads = 0
  const raw = await rawAgent(t, ({ id, method }, response) => {
    if (method === 'SendStreamingMessage') {
      stream(response, id, [task(WORKING), artifact('one ')], false)
      setTimeout(() => response.destroy(), 50)
      return true
    }
    return method === 'SubscribeToTask' && ++reads > 1
      ? stream(response, id, [task(WORKING, { artifacts: [{ artifactId: 'a', parts: [{ text: 'one two' }] }] }), status(COMPLETED)])
      : stream(response, id, [])
  })
  const app = await host(t, { a2a_agents: [{ name: 'peer', url: raw.origin }] })
  t.match((await ask(app, 'peer')).json(), { answer: 'one two' })
})

test('a host with agents that never answer starts and closes at once', async t => {
  const dead = await httpAgent(t, () => true)
  const mute = await rawAgent(t, ({ id }, response) => stream(response, id, [task(WORKING)], false))
  const app = await host(t, { a2a_agents: [{ name: 'dead', url: dead.origin }, { name: 'mute', url: mute.origin }] })
  const began = performance.now()
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.ok(performance.now() - began < 2_000, 'the start does not wait for cards')
  await until(() => dead.came.length > 0 && app.polyvac.vacs.get('mute').remote!().ready, 'the cards are asked for')
  for (const vac of ['dead', 'mute']) {
    void fetch(`${url}/vac/streaming/${vac}/sse`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"user_input":"hi"}' }).then(async response => await response.text()).catch(() => {})
  }
  await until(() => mute.calls().length > 0, 'the message came')
  const closing = performance.now()
  await app.close()
  const took = performance.now() - closing
  t.ok(took < 1_000, `closed within a second: ${took}`)
})

test('a reload adds, changes and removes agents, and keeps the others', async t => {
  const one = await published(t, '1.0')
  const two = await published(t, '0.3')
  const configOf = (...agents: Array<[string, string]>) => parse(file(agents.map(([name, url]) => `    - { name: ${name}, url: "${url}" }\n`).join('')))
  const app = await host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config: configOf(['a', one.url]) })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.match((await ask(app, 'a')).json(), { answer: 'You said: hello' })
  await app.polyvac.reload(configOf(['b', two.url]))
  t.equal((await ask(app, 'a')).statusCode, 404)
  t.match((await ask(app, 'b')).json(), { answer: 'You said: hello' })
  await until(() => app.polyvac.vacs.get('b').config.display_name === 'peer 0.3', 'its card is read')
})

test('`tools` of an agent without code: another VAC and a remote agent, with the rights of the caller', async t => {
  const peer = await published(t, '0.3')
  const { url, requests } = await fakeModel(t, ({ messages }) => messages.at(-1)!.role === 'tool'
    ? { says: 'Done.' }
    : { calls: [{ name: 'vac_demo', args: { message: 'one' } }, { name: 'peer', args: { message: 'two' } }, { name: 'peer', args: { message: 'two' } }] })
  const yaml = file(`    - { name: peer, url: "${peer.url}" }\n`).replace('vac: { demo: {} }', `vac:
  demo: {}
  front: { interpreter: agent, model: fake, openai: { base_url: "${url}" }, tools: ["vac:demo", peer] }
`)
  const app = await host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config: parse(yaml) })
  t.match((await ask(app, 'front')).json(), { answer: 'Done.' })
  t.match(requests[1]!.messages.slice(-3).map(({ content }) => content), [/one/, /You said: two/, /You said: two/])
  t.equal(new Set(peer.messages.map(({ messageId }) => messageId)).size, 2, 'two calls are two messages')
  await t.rejects(host(t, { vacs: undefined, stream_interpreter: undefined, tasks: undefined, config: parse(yaml.replace('"vac:demo", peer', '"vac:demo", per')) }),
    { code: 'VAC_TOOLS', message: /there is no tool, MCP server or agent "per"; did you mean "peer"\?/ })
})
