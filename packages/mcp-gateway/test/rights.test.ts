import { test } from 'tap'
import Fastify from 'fastify'
import { createGateway, mcpGatewayPlugin, type McpServerConfig } from '../src/index.js'
import { bad, until } from './fixtures/app.js'
import { contextOf } from './fixtures/hand-written.js'

type Asked = (url: string, caller?: string, payload?: object) => Promise<string>

/** An app whose callers are named by a header; `admin` has the scope, the others lack it. */
async function serve (t: { teardown (work: () => Promise<void>): void }, servers: McpServerConfig[], isAuthenticated: boolean): Promise<{ ask: Asked, gateway: ReturnType<typeof createGateway> }> {
  const gateway = createGateway({ servers, restartDelayMs: 20, restartDelayMaxMs: 30 })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpGatewayPlugin, {
    gateway,
    ...isAuthenticated && { authenticate: request => ({ owner: String(request.headers.caller), scopes: request.headers.caller === 'admin' ? ['admin'] : [] }) }
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

test('what a server printed and how it ended reach callers with the scope admin alone', async t => {
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
  const source = gateway.toolSource()
  t.notMatch(JSON.stringify(await source.call('fine__exit', {}, contextOf({ principal: { owner: 'bob' } }))), /code 3|last words/)
})

test('without authenticate the details are for callers on this machine, and not for those behind a proxy', async t => {
  const { ask, gateway } = await serve(t, [bad({ crash: 7 })], false)
  await until(() => gateway.get('bad').status().crashLoop)
  t.match(await ask('/mcp/servers'), /cannot read the settings/)
  t.match(await ask('/mcp/call', 'bob', call('bad')), /exited with code 7/)
  t.notMatch(await ask('/mcp/servers', 'proxied'), /cannot read the settings|exitCode/)
  t.notMatch(await ask('/mcp/call', 'proxied', call('bad')), /code 7|cannot read/)
})

test('a server that refuses the handshake in each era is started a few times and then failed', async t => {
  const { gateway } = await serve(t, [bad({ 'refuse-start': -32022 })], false)
  await until(() => gateway.get('bad').status().state === 'failed')
  t.match(gateway.get('bad').status(), { cause: 'REFUSED', error: /spoken/ })
})
