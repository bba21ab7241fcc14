import type { Principal } from '@polyvac/core'
import { mayUse, ownerProblem } from '@polyvac/core/plugin'
import { createToken, jwtAuthentication, platformAuthentication, tokenAuthentication } from '@polyvac/auth'
import { createGateway } from '@polyvac/mcp-gateway'
import { createHost, parseConfig } from '@polyvac/host'
import { ownerKey, ownerOfKey } from '@polyvac/tasks'
import type { FastifyInstance } from 'fastify'
import fc from 'fast-check'
import { test, type Test } from 'tap'
import { until } from '../fixtures/until.js'

/** Texts that could pass for another owner, or break a line of the log. */
const REFUSED = [
  ' alice', 'alice ', '\u00a0alice', 'alice\u00a0', '\ufeffalice', 'alice\u2003', ' mcp alice', ' user anyone', ' mcp  anonymous', 'a\nb', 'a\tb', 'a\0b', 'a\u007fb',
  'a\u0085b', 'a\u009fb', 'a\u200bb', 'a\u202eb', 'a\u2028b', 'a\ud800', 'x'.repeat(257)
]
/** Texts that once had a meaning, and are names like others. */
const ORDINARY = ['anyone', 'mcp alice', 'anonymous', 'mcp  anonymous', 'session 1', 'user anyone', 'undefined', 'null', 'admin', 'vac:*', '__proto__', 'x'.repeat(256), 'ä b', '阿里']

/** As JSON, without what a header or a line of the report cannot have. */
const inAscii = (text: string): string => JSON.stringify(text).replace(/[^\x20-\x7e]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('the door refuses names that could pass for another one, for tokens, platforms and code alike', async t => {
  for (const owner of ['', ...REFUSED]) {
    const shown = inAscii(owner).slice(0, 30)
    t.ok(ownerProblem(owner), shown)
    t.throws(() => tokenAuthentication({ tokens: [{ owner, sha256: '0'.repeat(64) }] }), { code: 'AUTH_OPTIONS', message: /owner/ }, `a token of ${shown}`)
    t.throws(() => createToken(owner), { code: 'AUTH_OPTIONS' }, `a new token of ${shown}`)
  }
  for (const scopes of ['vac:documents', 'tool:administer', null, 5, [5], { a: 1 }] as never[]) {
    t.throws(() => tokenAuthentication({ tokens: [{ owner: 'a', sha256: '0'.repeat(64), scopes }] }), { code: 'AUTH_OPTIONS', message: /list of texts/ }, `scopes ${JSON.stringify(scopes)}`)
    const app = await createHost({ vacs: ['docs'], stream_interpreter: 'echo', authenticate: () => ({ owner: 'a', scopes }) })
    const { statusCode, body } = await app.inject('/vac')
    t.ok(statusCode === 500 && body.includes('INTERNAL_ERROR'), `from code: ${JSON.stringify(scopes)}`)
    await app.close()
  }
  const twice = { owner: 'a', sha256: 'A'.repeat(64) }
  t.throws(() => tokenAuthentication({ tokens: [twice, { ...twice, owner: 'b', sha256: 'a'.repeat(64) }] }), { code: 'AUTH_OPTIONS', message: /is that of tokens\[0\]/ })
  for (const owner of ORDINARY) {
    t.equal(ownerProblem(owner), undefined, owner.slice(0, 30))
    tokenAuthentication({ tokens: [{ owner, sha256: '0'.repeat(64) }] })
  }
  const app = await createHost({ vacs: ['docs'], stream_interpreter: 'echo', authenticate: ({ headers }) => ({ owner: JSON.parse(String(headers.authorization)) as string }) })
  t.teardown(() => app.close())
  const list = async (owner: string) => await app.inject({ url: '/vac', headers: { authorization: inAscii(owner) } })
  for (const owner of REFUSED) t.match(await list(owner), { statusCode: 401, body: /OWNER_REFUSED/ }, `from code: ${inAscii(owner).slice(0, 30)}`)
  for (const owner of ORDINARY) t.equal((await list(owner)).statusCode, 200, `from code: ${owner.slice(0, 30)}`)
  // a header arrives as Latin-1, without white space of ASCII at its ends
  const platform = platformAuthentication({ platform: { header: 'x-user' }, trustedProxies: ['127.0.0.1'] })
  const named = (value: string): unknown => platform({ headers: { 'x-user': value }, raw: { rawHeaders: ['x-user', value] }, socket: { remoteAddress: '127.0.0.1' } } as never)
  for (const owner of REFUSED) t.equal(named(owner), undefined, `a platform header: ${inAscii(owner).slice(0, 30)}`)
  t.match(named('anyone'), { owner: 'anyone' })
  t.type(jwtAuthentication({ issuer: 'https://issuer.example', audience: 'x' }).current, 'function')
})

test('the keys of a store have one caller each, whatever principals are named', t => {
  const owner = fc.oneof(fc.constantFrom(undefined, ...ORDINARY), fc.string().filter(text => ownerProblem(text) === undefined))
  fc.assert(fc.property(owner, owner, (a, b) => {
    t.equal(ownerOfKey(ownerKey(a)), a)
    return (ownerKey(a) === ownerKey(b)) === (a === b)
  }))
  t.end()
})

test('what a caller made is continued by its owner with the same scopes', t => {
  const of = (scopes: readonly string[] | undefined, owner = 'alice'): Principal => ({ owner, scopes })
  const may = (caller: Principal | undefined, maker: Principal | undefined): boolean => mayUse(caller, { maker })
  t.ok(may(undefined, undefined))
  t.notOk(may(undefined, of(undefined)) || may(of(undefined), undefined), 'with and without authentication are two')
  t.notOk(may(of(undefined, 'bob'), of([])) || may(of(['admin'], 'bob'), of([])), 'no other owner, not with `admin`')
  const different = [[], ['vac:a'], ['tool:x', 'vac:a'], ['vac:*'], undefined, ['admin']].map(scopes => of(scopes))
  for (const caller of different) t.strictSame(different.filter(maker => may(caller, maker)), [caller], JSON.stringify(caller.scopes))
  t.ok(may(of(['vac:a', 'tool:x']), of(['tool:x', 'vac:a', 'vac:a'])), 'in any order')
  t.end()
})

test('a scope has one meaning: servers whose names would make it two are refused', async t => {
  for (const [a, b] of [['git', 'git__hub'], ['git', 'git__'], ['git', 'git_'], ['a__b', 'a__b__c']] as const) {
    const servers = { [a]: { command: 'true' }, [b]: { command: 'true' } }
    t.throws(() => createGateway({ servers }), { code: 'MCP_GATEWAY_OPTIONS', message: /cannot both be served/ }, `${a}, ${b}`)
    const text = `kind: vacConfig\nservice:\n  mcp_servers:\n    - { name: ${a}, command: "true" }\n    - { name: ${b}, command: "true" }\nvac: { x: {} }\n`
    t.throws(() => parseConfig(text, '/x.yaml'), { code: 'CONFIG_INVALID', message: /x\.yaml:5:.*cannot both be served/ }, `in a file: ${a}, ${b}`)
  }
  for (const names of [['git', 'github'], ['git__hub', 'hub'], ['git__hub']]) {
    await createGateway({ servers: Object.fromEntries(names.map(name => [name, { command: 'true' }])) }).close()
  }
})

/** A host with one VAC of alice, and callers by name. */
async function serve (t: Test): Promise<{ app: FastifyInstance, task: (caller: string, method: string, params: object) => Promise<any>, mcp: (caller: string, method: string, params: object) => Promise<any> }> {
  const callers: Record<string, Principal> = { alice: { owner: 'alice' }, anyone: { owner: 'anyone', scopes: [] }, mcp: { owner: 'mcp alice' } }
  const app = await createHost({
    vacs: ['docs'],
    stream_interpreter: question => `heard ${question}`,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    authenticate: ({ headers: { authorization = '' } }) => callers[authorization]
  })
  t.teardown(() => app.close())
  const post = async (caller: string, url: string, payload: object, headers = {}): Promise<any> =>
    (await app.inject({ method: 'POST', url, payload, headers: { authorization: caller, accept: 'application/json, text/event-stream', ...headers } })).json()
  return {
    app,
    task: async (caller, method, params) => await post(caller, `/a2a/${method}`, { jsonrpc: '2.0', id: 1, method, params }),
    async mcp (caller, method, params) {
      const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String((params as Record<string, unknown>).name ?? (params as Record<string, unknown>).taskId) }
      return await post(caller, '/mcp', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers)
    }
  }
}

test('a principal named like the callers without identity, or like a prefix, has its own tasks and scopes', async t => {
  const { task, mcp } = await serve(t)
  const { result: { taskId } } = await task('alice', 'tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  const { result: made } = await mcp('alice', 'tools/call', { name: 'vac_query_docs', arguments: { query: 'secret' } })
  t.ok(made.taskId, 'alice has a task over MCP')
  await until(async () => (await mcp('alice', 'tasks/get', { taskId: made.taskId })).result.status === 'completed', 'the task ends')
  for (const caller of ['anyone', 'mcp']) {
    t.match(await task(caller, 'tasks/get', { taskId }), { error: { code: -32001 } }, caller)
    t.match(await task(caller, 'tasks/get', { taskId: made.taskId }), { error: { code: -32001 } }, `${caller}: the task of MCP over A2A`)
    t.strictSame((await task(caller, 'tasks/list', {})).result.tasks, [], caller)
  }
  const { result: failed } = await task('anyone', 'tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.match(failed, { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND' } }, 'the scopes of `anyone` count')
  t.match((await mcp('anyone', 'tools/call', { name: 'vac_query_docs', arguments: { query: 'x' } })).error, { message: /unknown tool/ })
})
