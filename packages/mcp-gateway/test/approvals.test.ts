import Fastify from 'fastify'
import { createVacs, type Principal } from '@polyvac/core'
import { askApproval } from '@polyvac/core/plugin'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { createGateway, mcpGatewayPlugin, type McpServerConfig } from '../src/index.js'
import { folder, journal } from './fixtures/app.js'

/** A server whose tool `delete` writes what it deletes into the file of its argument. */
const SERVER = `
const { appendFileSync } = require('node:fs')
const object = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const tools = [{ name: 'delete', inputSchema: object }, { name: 'read', inputSchema: object, annotations: { readOnlyHint: true } }, { name: 'add', inputSchema: object, annotations: { destructiveHint: false } }]
const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'files', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: { path } }) => { appendFileSync(process.argv[1], name + ' ' + path + '\\n'); return { content: [{ type: 'text', text: name + ' ' + path }] } }
}
require('node:readline').createInterface(process.stdin).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: methods[method]?.(params) ?? {} }) + '\\n')
})`

const CALLERS: Record<string, Principal> = {
  ann: { owner: 'ann' },
  'ann without the tool': { owner: 'ann', scopes: ['tool:files__read'] },
  bob: { owner: 'bob' },
  boss: { owner: 'boss', scopes: ['admin'] },
  'somebody of the tool': { owner: 'carol', scopes: ['tool:files__delete'] }
}

async function serve (t: Test, entry: Partial<McpServerConfig> = {}) {
  const log = join(folder(t), 'calls.log')
  const store = sqliteTaskStore({ path: ':memory:' })
  await store.open()
  t.teardown(() => store.close())
  const server: McpServerConfig = { name: 'files', command: process.execPath, args: ['-e', SERVER, log], approve: ['destructive'], ...entry }
  const gateway = createGateway({ servers: [server], approvals: store.approvals })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpGatewayPlugin, { gateway, authenticate: ({ headers }) => CALLERS[String(headers.caller)] })
  app.addHook('preClose', () => gateway.close())
  t.teardown(() => app.close())
  gateway.start()
  const send = async (caller: string, url: string, payload?: object): Promise<{ status: number, body: any, text: string }> => {
    const { statusCode, body } = await app.inject({ method: payload === undefined ? 'GET' : 'POST', url, headers: { caller }, ...payload !== undefined && { payload } })
    return { status: statusCode, body: JSON.parse(body), text: body }
  }
  const call = async (caller: string, tool: string, path: unknown, more: object = {}) => await send(caller, '/mcp/call', { server: 'files', tool, arguments: { path }, ...more })
  return { gateway, store, send, call, calls: () => journal(log) }
}

test('a direct call waits for an approval of its owner, and runs once with it', async t => {
  const { send, call, calls } = await serve(t)
  t.match(await call('ann', 'read', 'a'), { status: 200 })
  t.match(await call('ann', 'add', 'a'), { status: 200 })
  const refused = await call('ann', 'delete', 'a')
  t.match(refused, { status: 403, body: { code: 'APPROVAL_REQUIRED', server: 'files', tool: 'delete', details: { approval: /^[\w-]{22}$/, input: { path: 'a' }, expires_at: /Z$/ } } })
  const { approval } = refused.body.details
  t.match(await call('ann', 'delete', 'a', { approval }), { status: 403, body: { code: 'APPROVAL_REQUIRED', details: { approval } } }, 'nobody has approved it')
  t.match((await send('ann', `/approvals/${approval}`)).body, { id: approval, server: 'files', tool: 'delete', input: { path: 'a' }, state: 'waiting' })
  t.match(await send('ann', `/approvals/${approval}`, { approved: true }), { status: 200, body: { state: 'approved' } })
  t.match(await send('ann', `/approvals/${approval}`, { approved: true }), { status: 409, body: { code: 'APPROVAL_NOT_OPEN' } })
  t.match(await call('ann', 'delete', 'b', { approval }), { status: 409, body: { code: 'APPROVAL_NOT_OPEN', error: /with other arguments/ } })
  t.match(await call('bob', 'delete', 'a', { approval }), { status: 404, body: { code: 'APPROVAL_NOT_FOUND' } })
  const both = await Promise.all([call('ann', 'delete', 'a', { approval }), call('ann', 'delete', 'a', { approval })])
  t.strictSame(both.map(({ status }) => status).sort(), [200, 409])
  t.match(await call('ann', 'delete', 'a', { approval }), { status: 409, body: { error: /was used/ } })
  t.match((await send('ann', `/approvals/${approval}`)).body, { state: 'used' })
  t.strictSame(calls(), ['read a', 'add a', 'delete a'])
})

test('an administrator answers for others; for all other callers an approval does not exist', async t => {
  const { store, send, call, calls } = await serve(t)
  const { approval } = (await call('ann', 'delete', 'a')).body.details
  const unknown = 'A'.repeat(22)
  // that of a VAC is answered in its conversation
  const { id: ofVac } = await askApproval(store.approvals!, 'ann', { server: 'files', tool: 'delete', input: {} }, 60_000, { vac: 'shop' })
  for (const body of [undefined, { approved: true }]) {
    const [other, none] = [await send('ann', `/approvals/${ofVac}`, body), await send('ann', `/approvals/${unknown}`, body)]
    t.match(other, { status: 404, body: { error: /calls that a caller makes of the gateway: the question of a VAC is answered by `yes` or `no` where it was asked/ } })
    t.equal(other.text, none.text)
  }
  for (const caller of ['bob', 'ann without the tool', 'somebody of the tool']) {
    for (const body of [undefined, { approved: true }]) {
      const [foreign, none] = [await send(caller, `/approvals/${approval}`, body), await send(caller, `/approvals/${unknown}`, body)]
      t.equal(foreign.status, 404)
      t.equal(foreign.text, none.text, caller)
    }
  }
  t.match(await send('boss', `/approvals/${approval}`, { approved: true }), { status: 200 })
  t.match(await call('ann', 'delete', 'a', { approval }), { status: 200 })
  t.strictSame(calls(), ['delete a'])
})

test('what is declined, has expired or could not be called is not called', async t => {
  const { send, call, calls } = await serve(t, { approval_ttl: 0.3 })
  t.match(await call('ann', 'delete', 7), { status: 400, body: { code: 'MCP_INVALID_ARGUMENTS' } }, 'no person is asked about it')
  t.match(await call('ann', 'none', 'a'), { status: 404, body: { code: 'MCP_TOOL_NOT_FOUND' } })
  const declined = (await call('ann', 'delete', 'a')).body.details.approval
  t.match(await send('ann', `/approvals/${declined}`, { approved: false }), { body: { state: 'declined' } })
  t.match(await call('ann', 'delete', 'a', { approval: declined }), { status: 403, body: { code: 'APPROVAL_DECLINED' } })
  const late = (await call('ann', 'delete', 'a')).body.details.approval
  await new Promise(resolve => setTimeout(resolve, 350))
  t.match(await send('ann', `/approvals/${late}`, { approved: true }), { status: 409, body: { error: /has expired/ } })
  t.match(await call('ann', 'delete', 'a', { approval: late }), { status: 409, body: { error: /has expired/ } })
  t.strictSame(calls(), [])
})

test('the tools of the server wait in the VACs, too, and no other way calls them', async t => {
  const { gateway, store, calls, send } = await serve(t)
  await t.rejects(gateway.call('files', 'delete', { path: 'a' }), { code: 'APPROVAL_REQUIRED' })
  t.match(await send('ann', '/mcp/tools/files/delete', { path: 'a' }), { status: 403, body: { code: 'APPROVAL_REQUIRED' } })
  const context = { principal: undefined, signal: new AbortController().signal, era: 'legacy', ask: async () => ({}), log: gateway.log } as never
  t.match(await gateway.toolSource().call('files__delete', { path: 'a' }, context), { isError: true, content: [{ text: /^APPROVAL_REQUIRED: / }] })
  t.strictSame(calls(), [])
  const vacs = createVacs({
    vacs: ['shop'],
    streamInterpreter: async (_question, _name, _history, { callTool }) => (await callTool!('files', 'delete', { path: 'a' })).content.map(({ text }: any) => text).join(''),
    callTool: gateway.call,
    listTools: gateway.listTools,
    approvals: store.approvals
  })
  const principal = { owner: 'ann' }
  const asked = await vacs.get('shop').ask({ question: 'go', principal })
  t.match(asked, { approval: { tool: 'delete', server: 'files', input: { path: 'a' } } })
  t.match(await vacs.get('shop').ask({ question: 'yes', history: [{ role: 'user', content: 'go' }, { role: 'assistant', content: asked.answer }], principal }), { answer: 'delete a' })
  t.match(await send('boss', `/approvals/${(asked.approval as { id: string }).id}`), { status: 404 }, 'the question of a VAC is answered where it was asked')
  t.strictSame(calls(), ['delete a'])
})

test('a server with `approve` needs a store for approvals', t => {
  t.throws(() => createGateway({ servers: [{ name: 'files', command: 'x', approve: ['destructive'] }] }), { code: 'MCP_GATEWAY_OPTIONS', message: /"files" has `approve`, and approvals need a task store/ })
  t.end()
})
