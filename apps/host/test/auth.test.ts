import { createToken } from '@polyvac/auth'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { until } from '../../../test/fixtures/until.js'
import { test, type Test } from 'tap'
import { createHost, parseConfig, type HostOptions } from '../src/index.js'
import { emptyFolder, polyvac, runPolyvac } from '../../../test/fixtures/command.js'
import { pathsOf } from '../../../test/probes/index.mjs'

const alice = createToken('alice')
const admin = createToken('root', ['admin'])
const bearer = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` })
const auth = { tokens: [alice.entry, admin.entry] as never[] }

async function hostWith (t: Test, options: HostOptions = {}) {
  const lines: Array<Record<string, unknown>> = []
  const stream = new Writable({ write (chunk, _encoding, done) { lines.push(JSON.parse(String(chunk)) as never); done() } })
  const app = await createHost({ vacs: ['docs', 'other'], stream_interpreter: 'echo', server: { logger: { level: 'info', stream } }, ...options })
  t.teardown(() => app.close())
  const get = async (url: string, headers: Record<string, string> = {}) => await app.inject({ url, headers })
  return { app, lines, get }
}

test('three lines of configuration make a public bind safe, with a token that the command prints', async t => {
  const folder = await emptyFolder(t)
  const made = await runPolyvac(['token', 'alice', 'vac:docs', 'admin'], folder)
  t.equal(made.code, 0)
  const [, token, entry] = /token, shown only here: (pv_\S{43})\n\n(service:\n[^]+)$/.exec(made.stdout) ?? []
  t.match(entry, /owner: "alice", sha256: "[0-9a-f]{64}", scopes: \["vac:docs","admin"\]/)
  t.notOk(entry!.includes(token!))
  await writeFile(join(folder, 'vac_config.yaml'), `kind: vacConfig\nvac: { docs: {} }\n${entry!.replace('service:', 'service:\n  stream_interpreter: echo')}`)
  const { url, child, ended, out } = polyvac(t, ['start', '--host', '0.0.0.0'], folder)
  const { port } = new URL(await url().catch(() => 'http://0.0.0.0'))
  const status = async (headers: Record<string, string>) => (await fetch(`http://127.0.0.1:${port}/vac`, { headers })).status
  t.equal(await status({}), 401)
  t.equal(await status({ authorization: `Bearer ${token}` }), 200)
  await until(() => /ask +curl -s \S+ -H "Authorization: Bearer \$TOKEN" -H/.test(out.stdout + out.stderr), 'the commands of the banner name the token')
  child.kill('SIGTERM')
  await ended
  for (const [args, message] of [[['token'], /needs the name of an owner/], [['token', 'a', 'read'], /"read" is not a scope/]] as const) {
    const wrong = await runPolyvac(args, folder)
    t.equal(wrong.code, 2)
    t.match(wrong.stderr, message)
  }
})

test('service.auth protects every protocol; /health is open, /ready and /metrics as configured', async t => {
  const all = { enable_a2a_agent: true, enable_mcp_server: true, enable_playground: true, tasks: { store: 'memory' }, telemetry: { prometheus: true } } as const
  const { app, get, lines } = await hostWith(t, { auth, ...all })
  for (const url of ['/vac', '/openai/v1/models', '/', '/metrics']) {
    t.match(await get(url), { statusCode: 401, headers: { 'www-authenticate': 'Bearer' } }, url)
    t.equal((await get(url, bearer(admin))).statusCode, 200, url)
  }
  const post = async (url: string, headers = {}) => (await app.inject({ method: 'POST', url, headers, payload: { jsonrpc: '2.0', id: 1, method: 'x' } })).statusCode
  for (const url of [...pathsOf('docs'), '/a2a/tasks/get']) {
    t.equal(await post(url), 401, url)
    t.not(await post(url, bearer(alice)), 401, url)
  }
  for (const url of ['/health', '/ready', '/openapi.json', '/.well-known/agent-card.json', '/playground/']) t.equal((await get(url)).statusCode, 200, url)
  t.match(await get('/metrics', bearer(alice)), { statusCode: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="admin"' } })
  const refusals = lines.filter(({ audit }) => audit === 'refused')
  t.match(refusals, [{ reason: 'UNAUTHENTICATED', address: '127.0.0.1', method: 'GET', route: '/vac' }, { reason: 'INSUFFICIENT_SCOPE', owner: 'alice', route: '/metrics' }])
  t.equal(refusals.length, 2, 'one line of a kind')
  t.notOk(JSON.stringify(lines).includes(alice.token))
  const open = await hostWith(t, { auth: { ...auth, open: ['/metrics'] }, ...all })
  t.strictSame([(await open.get('/ready')).statusCode, (await open.get('/metrics')).statusCode, (await open.get('/ready', bearer(admin))).statusCode], [401, 200, 200])
})

test('a reload adds and removes tokens at once, and never switches authentication off', async t => {
  const text = (service: object) => parseConfig(JSON.stringify({ kind: 'vacConfig', vac: { docs: {} }, service: { stream_interpreter: 'echo', ...service } }), '/x/vac_config.yaml')
  const { app, get } = await hostWith(t, { config: text({ auth: { tokens: [alice.entry] } }), vacs: undefined, stream_interpreter: undefined })
  const statuses = async () => [(await get('/vac', bearer(alice))).statusCode, (await get('/vac', bearer(admin))).statusCode, (await get('/vac')).statusCode]
  t.strictSame(await statuses(), [200, 401, 401])
  await app.polyvac.reload(text({ auth: { tokens: [admin.entry] } }))
  t.strictSame(await statuses(), [401, 200, 401])
  await app.polyvac.reload(text({}))
  t.strictSame(await statuses(), [401, 200, 401])
  await t.rejects(app.polyvac.reload(text({ auth: { tokens: [{ owner: 'a', sha256: 'b' }] } })), { code: 'AUTH_OPTIONS' })
  t.strictSame(await statuses(), [401, 200, 401])
})

test('a configuration that is not safe does not start', async t => {
  const start = async (options: HostOptions) => await createHost({ vacs: ['a'], stream_interpreter: 'echo', ...options })
  await t.rejects(start({ auth: {} }), { code: 'AUTH_WITHOUT_METHOD' })
  await t.rejects(start({ auth: { platform: 'cloud_run' } }), { code: 'AUTH_OPTIONS', message: /trusted_proxies/ })
  await t.rejects(start({ auth: { platform: { header: 'x-user' } }, trusted_proxies: ['0.0.0.0/0'] }), { code: 'AUTH_OPTIONS' })
  await t.rejects(start({ auth: { jwt: { issuer: 'https://a.example.org', audience: 'x', algorithms: ['HS256'] } } }), { code: 'AUTH_OPTIONS' })
  await t.rejects(start({ auth: { tokens: [{ owner: 'a', sha256: 'b', scopes: ['read'] }] } as never }), { code: 'HOST_OPTIONS' })
})

test('cards, OpenAPI and challenges announce how callers authenticate', async t => {
  const jwt = { issuer: 'https://login.example.org', audience: 'https://agents.example.org/mcp' }
  for (const [auth, bearerFormat] of [[{ tokens: [alice.entry] }, undefined], [{ jwt }, 'JWT'], [{ tokens: [alice.entry], jwt }, undefined]] as const) {
    const { get } = await hostWith(t, { auth: auth as never, enable_a2a_agent: true, tasks: { store: 'memory' } })
    const scheme = { scheme: /bearer/i, bearerFormat }
    const card = async (version: string) => (await get('/.well-known/agent-card.json', { 'a2a-version': version })).json()
    t.match(await card('1.0'), { securitySchemes: { bearer: { httpAuthSecurityScheme: scheme } }, securityRequirements: [{ schemes: { bearer: { list: [] } } }] })
    t.match(await card('0.3'), { securitySchemes: { bearer: { type: 'http', ...scheme } }, security: [{ bearer: [] }] })
    const { components, security, paths } = (await get('/openapi.json')).json()
    t.match(components.securitySchemes, { bearer: { type: 'http', ...scheme } })
    t.strictSame([security, paths['/health'].get.security, paths['/vac'].get.security], [[{ bearer: [] }], [], undefined])
  }
  const { get } = await hostWith(t)
  t.strictSame([(await get('/openapi.json')).json().security, (await get('/vac')).statusCode], [undefined, 200], 'without authentication')
})

test('a platform in front names the caller, and its addresses count for X-Forwarded-For', async t => {
  const { get, lines } = await hostWith(t, { auth: { platform: { header: 'x-user' } }, trusted_proxies: ['loopback'] })
  t.equal((await get('/vac', { 'x-user': 'alice' })).statusCode, 200)
  t.equal((await get('/vac', { 'x-forwarded-for': '203.0.113.7' })).statusCode, 401)
  t.match(lines.find(({ audit }) => audit === 'refused'), { address: '203.0.113.7' })
})

test('a host with an issuer publishes where callers get a token, with or without an MCP server', async t => {
  const jwt = { issuer: 'https://login.example.org', audience: 'https://agents.example.org/mcp' }
  for (const enabled of [false, true]) {
    const { get } = await hostWith(t, { auth: { jwt }, public_url: 'https://agents.example.org', enable_mcp_server: enabled })
    const { headers } = await get('/vac')
    t.equal(headers['www-authenticate'], 'Bearer resource_metadata="https://agents.example.org/.well-known/oauth-protected-resource"')
    t.match((await get('/.well-known/oauth-protected-resource')).json(), { authorization_servers: [jwt.issuer], resource: /^https:\/\/agents\.example\.org/ })
  }
})
