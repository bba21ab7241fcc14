import { createVacs } from '@polyvac/core'
import { test } from 'tap'
import { vacTools } from '../src/index.js'
import { initialize, LegacySession, modern, post, says, serve, sourceOf, Wire } from './fixtures/wire.js'

const source = sourceOf({ who: { run: (_args, { principal }) => says(principal?.owner ?? 'nobody') } })
const authenticate = ({ headers }: { headers: { authorization?: string | undefined } }): { owner: string, scopes: string[] } | undefined => {
  const [owner, ...scopes] = headers.authorization?.replace('Bearer ', '').split('+') ?? []
  return owner === undefined ? undefined : { owner, scopes }
}
const as = (owner: string): Record<string, string> => ({ authorization: `Bearer ${owner}` })

test('on a loopback address, other hosts and pages of other sites are refused', async t => {
  const app = await serve(t, { sources: [source] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = async (headers: Record<string, string>): Promise<{ status: number | undefined, text: string }> => {
    const wire = new Wire(app, initialize('2025-11-25'), headers)
    const { statusCode } = await wire.head
    await wire.ended
    return { status: statusCode, text: wire.text }
  }
  t.equal((await ask({})).status, 200)
  t.equal((await ask({ host: 'localhost:1234' })).status, 200)
  t.equal((await ask({ host: '[::1]:1234' })).status, 200)
  t.equal((await ask({ origin: 'http://localhost:3000' })).status, 200)
  for (const headers of [{ host: 'evil.example.com' }, { host: 'localhost.evil.example.com' }, { origin: 'https://evil.example.com' }, { origin: 'null' }] as Array<Record<string, string>>) {
    const { status, text } = await ask(headers)
    t.equal(status, 403, JSON.stringify(headers))
    t.match(JSON.parse(text), { jsonrpc: '2.0', id: null, error: { code: -32600 } })
  }
})

test('allowedHosts and allowedOrigins replace the defaults', async t => {
  const app = await serve(t, { sources: [source], allowedHosts: ['mcp.example.com'], allowedOrigins: ['https://app.example.com'] })
  const ask = async (headers: Record<string, string>): Promise<number> => (await post(app, initialize('2025-11-25'), headers)).status
  t.equal(await ask({ host: 'mcp.example.com' }), 200)
  t.equal(await ask({ host: 'MCP.example.com:8443', origin: 'https://app.example.com' }), 200)
  t.equal(await ask({ host: 'localhost' }), 403)
  t.equal(await ask({ host: 'mcp.example.com', origin: 'https://app.example.com.evil.example.com' }), 403)
})

test('a session belongs to the caller that initialized it', async t => {
  const app = await serve(t, { sources: [source], authenticate: request => authenticate(request) })
  t.equal((await post(app, initialize('2025-11-25'))).status, 401)
  const session = await LegacySession.open(app, { headers: as('ann') })
  t.match((await session.request('tools/call', { name: 'who' })).json.result, says('ann'))
  const foreign = { ...session.headers, ...as('bob') }
  t.equal((await post(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'who' } }, foreign)).status, 404)
  t.equal((await app.inject({ method: 'DELETE', url: '/mcp', headers: foreign })).statusCode, 404)
  t.equal((await app.inject({ method: 'GET', url: '/mcp', headers: { ...foreign, accept: 'text/event-stream' } })).statusCode, 404)
  t.equal((await session.request('ping')).status, 200)
  t.equal((await app.inject({ method: 'DELETE', url: '/mcp', headers: session.headers })).statusCode, 204)
  t.equal((await session.request('ping')).status, 404)
})

test('the metadata and each 401 name where to get a token', async t => {
  const app = await serve(t, {
    sources: [source],
    authenticate: request => authenticate(request),
    protectedResource: { authorizationServers: ['https://login.example.com'], resource: 'https://mcp.example.com/mcp', scopes: ['mcp'] }
  })
  const refused = await modern(app, 'tools/call', { name: 'who' })
  t.equal(refused.status, 401)
  t.equal(refused.json.error?.data.code, 'UNAUTHENTICATED')
  t.equal(refused.headers['www-authenticate'], 'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp"')
  const lacking = await modern(app, 'tools/call', { name: 'who' }, { headers: as('ann') })
  t.equal(lacking.status, 403)
  t.match(lacking.headers['www-authenticate'], /^Bearer error="insufficient_scope"/)
  t.match((await modern(app, 'tools/call', { name: 'who' }, { headers: as('ann+mcp') })).json.result, says('ann'))
  for (const url of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
    t.match((await app.inject(url)).json(), { resource: 'https://mcp.example.com/mcp', authorization_servers: ['https://login.example.com'], scopes_supported: ['mcp'] })
  }
})

test('forms and plain text of web pages are refused', async t => {
  const app = await serve(t, { sources: [source] })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    t.equal((await post(app, initialize('2025-11-25'), { 'content-type': type })).status, 415, type)
  }
})

test('lists are public without `authenticate`, private with it', async t => {
  const open = await serve(t, { sources: [source] })
  t.match((await modern(open, 'tools/list')).json.result, { cacheScope: 'public', ttlMs: 60_000 })
  const closed = await serve(t, { sources: [source], authenticate: request => authenticate(request) })
  t.match((await modern(closed, 'tools/list', {}, { headers: as('ann') })).json.result, { cacheScope: 'private' })
})

test('an invalid option stops the start', async t => {
  for (const [options, words] of [
    [{ sources: undefined }, /needs the option `sources`: a list of tool sources/],
    [{ sources: [{}] }, /sources must be a list of tool sources/],
    [{ sources: [source], source: [] }, /has no option "source"; did you mean "sources"/],
    [{ sources: [source], tasks: {} }, /tasks must be an open task store/],
    [{ sources: [source], sessions: 'no' }, /sessions must be true or false; it is "no"/],
    [{ sources: [source], bodyLimit: Infinity }, /bodyLimit must be a whole number of at least 1; it is Infinity/],
    [{ sources: [source], limits: { maxSession: 1 } }, /has no option "limits.maxSession"; did you mean "maxSessions"/],
    [{ sources: [source], limits: { maxSessions: 0 } }, /limits.maxSessions must be/],
    [{ sources: [source], limits: { questionTtlMs: 3e9 } }, /limits.questionTtlMs must be a whole number from 1 to 2147483647; it is 3000000000/],
    [{ sources: [source], limits: { taskTimeoutMs: 1.5 } }, /limits.taskTimeoutMs must be/],
    [{ sources: [source], protectedResource: { authorizationServers: [], scopes: ['a'] } }, /needs `authenticate`/]
  ] as Array<[never, RegExp]>) await t.rejects(serve(t, options), { code: 'MCP_SERVER_OPTIONS', message: words })
})

test('announced scopes are published, and a call that lacks one is refused with its name', async t => {
  const vacs = createVacs({ vacs: ['docs', 'other'], streamInterpreter: question => question })
  const options = {
    sources: [vacTools(vacs)],
    authenticate: ({ headers }: { headers: Record<string, unknown> }) => ({ owner: 'ann', scopes: String(headers.authorization).split(' ') }),
    protectedResource: { authorizationServers: ['https://login.example.com'], resource: 'https://mcp.example.com/mcp' }
  }
  const announcing = await serve(t, { ...options, protectedResource: { ...options.protectedResource, announcedScopes: () => ['vac:docs', 'vac:other'] } } as never)
  const silent = await serve(t, options as never)
  const metadata = async (app: typeof silent): Promise<any> => (await app.inject('/.well-known/oauth-protected-resource/mcp')).json()
  t.strictSame([(await metadata(announcing)).scopes_supported, (await metadata(silent)).scopes_supported], [['vac:docs', 'vac:other'], undefined])
  const call = (app: typeof silent, name: string, authorization = 'vac:docs x'): ReturnType<typeof modern> => modern(app, 'tools/call', { name, arguments: { query: 'hi' } }, { headers: { authorization } })
  const refused = await call(announcing, 'vac_query_other')
  t.match(refused, { status: 403, json: { error: { message: /lack vac:other/, data: { code: 'MCP_INSUFFICIENT_SCOPE' } } } })
  t.match(refused.headers['www-authenticate'], /^Bearer error="insufficient_scope", resource_metadata="https:\/\/mcp\.example\.com\/.*", scope="vac:docs x vac:other"$/)
  t.match(await call(announcing, 'vac_query_other', 'vac:docs x vac:other'), { status: 200, json: { result: {} } }, 'a token with the scope may')
  t.match(await call(announcing, 'vac_query_docs'), { status: 200, json: { result: {} } })
  const session = await LegacySession.open(announcing, { headers: { authorization: 'vac:docs' } })
  t.match(await session.request('tools/call', { name: 'vac_query_other', arguments: { query: 'hi' } }), { status: 403, headers: { 'www-authenticate': /scope="vac:docs vac:other"/ } })
  const unknown = await call(announcing, 'vac_query_nothing')
  t.match([unknown.status, unknown.headers['www-authenticate']], [200, undefined], 'no scope helps')
  for (const name of ['vac_query_other', 'vac_query_nothing']) {
    const { status, headers, json } = await call(silent, name)
    t.strictSame([status, headers['www-authenticate'], json.error?.code], [200, undefined, -32602], 'by default a hidden name is an unknown one')
  }
})
