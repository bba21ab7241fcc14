import { test } from 'tap'
import Fastify from 'fastify'
import { mcpGatewayPlugin, type Gateway, type McpServerConfig } from '../src/index.js'
import { bad, lives, started, testedGateway, until } from './fixtures/app.js'
import { contextOf } from './fixtures/hand-written.js'

/** Scopes of the callers that are not administrators. */
const SERVERS = ['bad', 'nowhere', 'fine'].map(name => `tool:${name}`)

type Asked = (url: string, caller?: string, payload?: object) => Promise<string>

/** An app whose callers are named by a header; `admin` has the scope, the others lack it. */
async function serve (t: { teardown (work: () => Promise<void>): void }, servers: McpServerConfig[], isAuthenticated: boolean): Promise<{ ask: Asked, gateway: Gateway }> {
  const gateway = testedGateway({ servers, restartDelayMs: 20, restartDelayMaxMs: 30 })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpGatewayPlugin, {
    gateway,
    ...isAuthenticated && { authenticate: request => ({ owner: String(request.headers.caller), scopes: request.headers.caller === 'admin' ? ['admin'] : SERVERS }) }
  })
  app.addHook('preClose', () => gateway.close())
  t.teardown(() => app.close())
  gateway.start()
  const ask: Asked = async (url, caller = 'bob', payload) => {
    const forwarded = caller === 'proxied' ? { 'x-forwarded-for': '203.0.113.9' } : {}
    return (await app.inject({ method: payload === undefined ? 'GET' : 'POST', url, headers: { caller, ...forwarded }, ...payload !== undefined && { payload } })).body
  }
  return { ask, gateway }
}

const call = (server: string, tool = 'echo'): object => ({ server, tool, arguments: { message: 'x' } })

test('what a server printed and how it ended reach only callers with the scope admin', async t => {
  const { ask, gateway } = await serve(t, [bad({ crash: 7 }), { name: 'nowhere', command: '/no/such/path/of-mine' }, bad({}, { name: 'fine' })], true)
  await until(() => gateway.get('bad').status().crashLoop && gateway.get('nowhere').status().crashLoop && gateway.get('fine').status().state === 'ready')
  const paths = [['/mcp/servers'], ['/mcp/call', call('bad')], ['/mcp/call', call('nowhere')], ['/mcp/call', call('fine', 'exit')]] as const
  const all = async (caller: string): Promise<string> => (await Promise.all(paths.map(async ([url, payload]) => await ask(url, caller, payload)))).join('\n')
  const forBob = await all('bob')
  t.notMatch(forBob, /cannot read the settings|last words|code 7|exitCode|no\/such\/path|"pid"/)
  t.match(forBob, /"cause":"EXITED"/)
  t.match(forBob, /"cause":"COMMAND_NOT_FOUND"/)
  t.match(forBob, /is not ready: its process ended/)
  t.match(forBob, /MCP_SERVER_GONE/)
  await until(() => gateway.get('fine').status().state === 'ready')
  const forAdmin = await all('admin')
  for (const part of [/cannot read the settings/, /last words/, /exited with code 7/, /no\/such\/path/]) t.match(forAdmin, part)
  for (const [caller, mayRestart] of [['bob', false], ['admin', true]] as const) {
    t.match(JSON.parse(await ask('/mcp/servers', caller)), { mayRestart }, caller)
  }
  const source = gateway.toolSource()
  t.notMatch(JSON.stringify(await source.call('fine__exit', {}, contextOf({ principal: { owner: 'bob' } }))), /code 3|last words/)
})

test('with errorHandler: app the app answers errors in its own shape, with what the caller may read', async t => {
  const gateway = testedGateway({ servers: [bad({ crash: 7 })], restartDelayMs: 50 })
  const app = Fastify()
  app.addHook('preClose', () => gateway.close())
  t.teardown(() => app.close())
  const seen: Error[] = []
  app.setErrorHandler((err: Error & { statusCode?: number, code?: string, server?: string }, _request, reply) => {
    seen.push(err)
    reply.code(err.statusCode ?? 500).send({ teapot: err.message, code: err.code, server: err.server })
  })
  const authenticate = ({ headers: { caller } }: { headers: Record<string, unknown> }) => ({ owner: String(caller), scopes: caller === 'admin' ? ['admin'] : undefined })
  await app.register(mcpGatewayPlugin, { gateway, errorHandler: 'app', authenticate })
  gateway.start()
  await until(() => gateway.get('bad').status().crashLoop)
  const ask = async (caller: string, payload: object): Promise<[number, string]> => {
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp/call', headers: { caller }, payload })
    return [statusCode, body]
  }
  t.match(await ask('bob', call('bad')), [500, /"teapot":.*"server":"bad"/])
  t.match(seen[0]?.cause, Error, 'the log of the app has the cause')
  t.notMatch((await ask('bob', call('bad')))[1], /code 7|cannot read/)
  t.match((await ask('admin', call('bad')))[1], /code 7/)
  t.match(await ask('bob', call('bda')), [404, /"teapot":.*"code":"MCP_SERVER_NOT_FOUND"/])
  t.match(await ask('bob', {}), [400, /"teapot":"body\/server/])
  const plain = Fastify()
  t.teardown(() => plain.close())
  await plain.register(mcpGatewayPlugin, { gateway, errorHandler: 'app' })
  t.match((await plain.inject({ method: 'POST', url: '/mcp/call', payload: call('bda') })).json(), { statusCode: 404, error: 'Not Found', code: 'MCP_SERVER_NOT_FOUND' }, 'the error handler of Fastify')
  t.match((await plain.inject('/mcp/tools/nix')).json(), { statusCode: 404, message: String })
})

test('without authenticate the details are for callers on this machine, and not for those behind a proxy', async t => {
  const { ask, gateway } = await serve(t, [bad({ crash: 7 })], false)
  await until(() => gateway.get('bad').status().crashLoop)
  t.match(await ask('/mcp/servers'), /cannot read the settings/)
  t.match(await ask('/mcp/call', 'bob', call('bad')), /exited with code 7/)
  t.notMatch(await ask('/mcp/servers', 'proxied'), /cannot read the settings|exitCode/)
  t.notMatch(await ask('/mcp/call', 'proxied', call('bad')), /code 7|cannot read/)
})

test('an administrator restarts a running, a waiting and a failed server', async t => {
  const { app, gateway } = await started(t, [
    bad({}, { name: 'fine' }), bad({ crash: 7 }, { name: 'crashing' }), bad({}, { name: 'once', restart: false })
  ], { restartDelayMs: 60_000, restartDelayMaxMs: 60_000 })
  const status = (name: string): ReturnType<ReturnType<typeof gateway.get>['status']> => gateway.get(name).status()
  const restart = async (name: string): Promise<unknown> => {
    const { statusCode, body } = await app.inject({ method: 'POST', url: `/mcp/servers/${name}/restart`, payload: {} })
    return { statusCode, ...JSON.parse(body) }
  }
  await until(() => status('fine').state === 'ready' && status('crashing').state === 'waiting' && status('once').state === 'ready')
  const { pid } = status('fine')

  const call = app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'fine', tool: 'hang' } })
  await until(() => status('fine').callsInFlight === 1)
  t.match(await restart('fine'), { statusCode: 202, name: 'fine', state: 'starting' })
  const { statusCode, body } = await call
  t.match({ statusCode, ...JSON.parse(body) }, { statusCode: 500, code: 'MCP_SERVER_GONE', error: /an administrator restarted it/ })
  await until(() => status('fine').state === 'ready')
  t.not(status('fine').pid, pid)
  t.notOk(lives(pid!))
  t.match(status('fine'), { restarts: 1, attempt: 1 })
  t.ok(await gateway.call('fine', 'echo', { message: 'x' }))

  t.match(await restart('crashing'), { statusCode: 202, name: 'crashing' })
  await until(() => status('crashing').restarts === 1 && status('crashing').state === 'waiting')
  t.match(status('crashing'), { attempt: 1, stderr: [/cannot read the settings/] })

  process.kill(status('once').pid!, 'SIGKILL')
  await until(() => status('once').state === 'failed')
  t.match(await restart('once'), { statusCode: 202, name: 'once', state: 'starting' })
  await until(() => status('once').state === 'ready')
  t.match(await restart('twice'), { statusCode: 404, code: 'MCP_SERVER_NOT_FOUND', error: /once/ })
})

test('a restart needs the rights of an administrator and a JSON body', async t => {
  const { ask, gateway } = await serve(t, [bad()], true)
  await until(() => gateway.get('bad').status().state === 'ready')
  t.match(await ask('/mcp/servers/bad/restart', 'bob', {}), /MCP_RESTART_REFUSED/)
  t.match(await ask('/mcp/servers/nope/restart', 'bob', {}), /MCP_RESTART_REFUSED/)
  const { app, gateway: local } = await started(t, [bad()])
  await until(() => local.get('bad').status().state === 'ready')
  const url = '/mcp/servers/bad/restart'
  const send = async (headers: Record<string, string>, payload?: string): Promise<number> => (await app.inject({ method: 'POST', url, headers, ...payload !== undefined && { payload } })).statusCode
  t.equal(await send({}), 400)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) t.equal(await send({ 'content-type': type }, '{}'), 415, type)
  t.equal(await send({ 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' }, '{}'), 403)
  t.equal((await app.inject({ url })).statusCode, 405)
  t.equal(gateway.get('bad').status().restarts + local.get('bad').status().restarts, 0)
  t.match(await ask(url, 'admin', {}), /"state":"starting"/)
})

test('many restarts at once leave one process', async t => {
  const { gateway } = await started(t, [bad()])
  const upstream = gateway.get('bad')
  const pids = new Set<number | undefined>()
  for (let i = 0; i < 8; i++) {
    await Promise.all([upstream.restart(), upstream.restart(), i % 3 === 0 ? upstream.settled() : undefined])
    pids.add(upstream.status().pid)
  }
  await until(() => upstream.status().state === 'ready')
  const { pid } = upstream.status()
  t.strictSame([...pids].filter(other => other !== undefined && other !== pid && lives(other)), [])
  await gateway.close()
  await t.rejects(upstream.restart(), { code: 'SHUTTING_DOWN' })
})
