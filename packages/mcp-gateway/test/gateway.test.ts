import { test } from 'tap'
import Fastify from 'fastify'
import { createVacs, type Interpreter } from '@polyvac/core'
import { serverToolName } from '@polyvac/core/plugin'
import mcpGateway, { createGateway, type McpServerConfig } from '../src/index.js'
import { bad, lives, started, textOf, until } from './fixtures/app.js'

test('a new configuration stops and starts only what changed', async t => {
  const { gateway, call, get } = await started(t, [bad({ one: true }, { name: 'kept' }), bad({ two: true }, { name: 'changed' }), bad({ three: true }, { name: 'gone' })])
  await until(() => gateway.status().every(({ state }) => state === 'ready'))
  const before = new Map(gateway.status().map(({ name, pid }) => [name, pid!]))
  const hanging = call('gone', 'hang')
  await until(() => gateway.get('gone').status().callsInFlight === 1)
  await gateway.replace([{ ...bad({ four: true }), name: 'new' }, bad({ one: true }, { name: 'kept' }), bad({ other: true }, { name: 'changed' })])
  t.match(await hanging, { status: 500, body: { server: 'gone' } })
  await until(() => gateway.status().every(({ state }) => state === 'ready'))
  t.strictSame(gateway.names, ['new', 'kept', 'changed'])
  t.equal(gateway.get('kept').status().pid, before.get('kept'))
  t.not(gateway.get('changed').status().pid, before.get('changed'))
  t.notOk(lives(before.get('gone')!))
  t.notOk(lives(before.get('changed')!))
  t.match(await call('gone', 'echo'), { status: 404 })
  t.equal(textOf(await call('changed', 'argv')), '["--other"]')
  await t.rejects(gateway.replace([{ name: 'x' }]), { code: 'MCP_GATEWAY_OPTIONS' })
  t.equal((await get('/mcp/tools')).status, 200)
  t.strictSame(gateway.names, ['new', 'kept', 'changed'], 'a bad configuration changes nothing')
})

test('names are the same at every start, and two long ones are not alike', t => {
  t.equal(serverToolName('a', 'b'), 'a__b')
  t.equal(serverToolName('a', 'x'.repeat(100)), serverToolName('a', 'x'.repeat(100)))
  t.not(serverToolName('a', 'x'.repeat(100)), serverToolName('a', 'x'.repeat(101)))
  t.not(serverToolName('a b', 'c'), serverToolName('a_b', 'c'))
  t.equal(serverToolName('a', 'x'.repeat(100)).length, 64)
  t.not(serverToolName('a__b', 'c'), serverToolName('a', 'b__c'))
  t.not(serverToolName('a_', 'b'), serverToolName('a', '_b'))
  t.end()
})

test('an interpreter calls a tool, and its signal cancels', async t => {
  const { gateway: { call } } = await started(t, [bad()])
  t.match(await call('bad', 'echo', { message: 'x' }), { content: [{ text: 'x' }] })
  await t.rejects(call('bad', 'fail', {}), { code: 'MCP_TOOL_FAILED' })
  await t.rejects(call('bad', 'hang', {}, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  await t.rejects(call('bad', 'hang', {}, { signal: AbortSignal.abort(new Error('too late')) }), { message: 'too late' })
})

test('an interpreter lists the tools and reads their results without casts', async t => {
  const server = bad({}, { deny: ['fail'] })
  const { gateway } = await started(t, [server, { name: 'down', command: '/does/not/exist' }])
  const streamInterpreter: Interpreter = async function * (_question, _vector, _history, { listTools, callTool, signal }) {
    const tools = await listTools?.() ?? []
    const echo = tools.find(({ name, inputSchema: { properties } }) => name === 'echo' && properties !== undefined)
    if (echo === undefined || callTool === undefined) return 'no tool'
    yield `${tools.some(({ name }) => name === 'fail') ? 'denied tools, ' : ''}${echo.server}: `
    const { content, structuredContent } = await callTool<{ sum: number }>(echo.server, echo.name, { message: 'x' }, { signal })
    for (const block of content) if (block.type === 'text') yield block.text.toUpperCase()
    yield structuredContent === undefined ? '' : structuredContent.sum.toFixed(1)
    const { structuredContent: other } = await callTool(echo.server, echo.name, { message: 'y' })
    yield String(other?.sum)
  }
  const vacs = createVacs({ vacs: ['demo'], streamInterpreter, callTool: gateway.call, listTools: gateway.listTools })
  t.match(await vacs.get('demo').ask({ question: 'q' }), { answer: 'bad: Xundefined' })
})

test('the plugin starts and ends its servers itself, keeps to its prefix and does not change the app', async t => {
  const app = Fastify()
  await app.register(mcpGateway, { prefix: '/tools', servers: [bad()] as McpServerConfig[] })
  app.setErrorHandler((err, request, reply) => reply.code(418).send({ mine: (err as Error).message }))
  app.post('/mine', { schema: { body: { type: 'object', properties: { n: { type: 'integer' } } } } }, async ({ body }) => body)
  app.get('/broken', async () => { throw new Error('mine') })
  t.strictSame((await app.inject({ method: 'POST', url: '/mine', payload: { n: '7' } })).json(), { n: 7 }, 'the app still converts')
  t.strictSame((await app.inject('/broken')).json(), { mine: 'mine' })
  t.equal((await app.inject('/mcp/tools')).statusCode, 404)
  const { servers } = (await app.inject('/tools/mcp/servers')).json()
  t.equal((await app.inject({ method: 'POST', url: '/tools/mcp/call', payload: { server: 'bad', tool: 'echo', arguments: { message: 'x' } } })).statusCode, 200)
  await app.close()
  t.notOk(lives(servers[0].pid))
})

test('callers are authenticated if the application requires it, and a caller cannot resume the call of another', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpGateway, { servers: [bad()], authenticate: ({ headers: { authorization } }) => authorization === undefined ? undefined : { owner: authorization } })
  const post = async (authorization: string | undefined, more = {}): Promise<{ statusCode: number, json (): any }> => await app.inject({
    method: 'POST', url: '/mcp/call', headers: authorization === undefined ? {} : { authorization }, payload: { server: 'bad', tool: 'ask', arguments: {}, ...more }
  })
  t.match((await app.inject('/mcp/tools')).json(), { code: 'UNAUTHENTICATED', error: String })
  t.equal((await post(undefined)).statusCode, 401)
  const asked = await post('ada')
  const { requestState } = asked.json()
  const inputResponses = { 'input-1': { action: 'decline' } }
  t.match((await post('eve', { requestState, inputResponses })).json(), { code: 'MCP_INVALID_STATE' })
  t.equal((await post('ada', { requestState, inputResponses })).statusCode, 200)
})

test('the plugin is refused without servers, and without a gateway', async t => {
  for (const options of [{}, { servers: [], gateway: createGateway({ servers: [] }) }, { servers: [{ name: 'x' }] }]) {
    await t.rejects(async () => await Fastify().register(mcpGateway, options), { code: 'MCP_GATEWAY_OPTIONS' })
  }
})

test('a body that is too large or nested too deep is refused', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpGateway, { servers: [bad()], bodyLimit: 10_000 })
  const post = async (args: string): Promise<{ statusCode: number, json (): any }> => await app.inject({ method: 'POST', url: '/mcp/call', headers: { 'content-type': 'application/json' }, payload: `{"server":"bad","tool":"echo","arguments":{"message":${args}}}` })
  t.equal((await post(`"${'x'.repeat(20_000)}"`)).statusCode, 413)
  t.match((await post(`${'['.repeat(100)}${']'.repeat(100)}`)).json(), { code: 'BODY_TOO_DEEP', error: /64 levels deep/ })
})
