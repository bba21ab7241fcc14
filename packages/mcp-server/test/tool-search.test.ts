import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Principal } from '@polyvac/core'
import { indexTools } from '@polyvac/documents'
import { createGateway } from '@polyvac/mcp-gateway'
import type { FastifyInstance } from 'fastify'
import { test, type Test } from 'tap'
import { Catalog, Entry } from '../src/lists/catalog.js'
import { ToolSearch } from '../src/lists/tool-search.js'
import { behind } from './fixtures/behind.js'
import { modern, says, serve, sourceOf, type TestOptions } from './fixtures/wire.js'

const CALLERS: Readonly<Record<string, Principal>> = { alice: { owner: 'alice' }, bob: { owner: 'bob', scopes: ['tool:up__weigh_1', 'tool:up__weigh_2'] } }
const authenticate = ({ headers }: { headers: Record<string, unknown> }): Principal | undefined => CALLERS[String(headers.authorization)]

/** 30 tools of a server behind a gateway, and one of the application. */
async function start (t: Test, options: Partial<TestOptions> = {}): Promise<FastifyInstance> {
  const weighing = Object.fromEntries(Array.from({ length: 29 }, (_, i) => [`weigh_${i}`, { description: `Weigh parcel ${i}.`, run: () => says('1 kg') }]))
  const upstream = await serve(t, {
    sources: [sourceOf({
      ...weighing,
      open_vault: {
        description: 'Open the vault.',
        inputSchema: { type: 'object', properties: { code: { type: 'integer' } }, required: ['code'] },
        async run ({ code }, context) {
          await context.progress({ progress: 1, total: 2 })
          return { ...says(`opened with ${String(code)}`), structuredContent: { code } }
        }
      }
    })]
  })
  const gateway = createGateway({ servers: { up: { url: `${await behind(upstream, false)}/mcp` } } })
  await gateway.load()
  gateway.start()
  t.teardown(() => gateway.close())
  const own = sourceOf({ own_tool: { description: 'Open the vault of the application.', run: () => says('own') } })
  const app = await serve(t, { sources: [own, gateway.toolSource()], authenticate, ...options })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

async function clientOf (t: Test, app: FastifyInstance, authorization: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  t.teardown(() => client.close())
  const { port } = app.server.address() as { port: number }
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit: { headers: { authorization } } }) as unknown as Transport)
  return client
}

const namesOf = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name)
const call = async (client: Client, name: string, args: Record<string, unknown>): Promise<any> => await client.callTool({ name, arguments: args })
const found = async (client: Client, query: string): Promise<Array<{ name: string, inputSchema: object }>> => JSON.parse((await call(client, 'search_tools', { query })).content[0].text).tools

test('without the switch the list has all tools, and the two do not exist', async t => {
  const client = await clientOf(t, await start(t), 'alice')
  t.equal((await namesOf(client)).length, 31)
  await t.rejects(call(client, 'search_tools', { query: 'vault' }), { code: -32602, message: /unknown tool: "search_tools"/ })
  for (const toolSearch of [40, { above: -1, indexTools }, { above: 40 }]) await t.rejects(serve(t, { sources: [], toolSearch: toolSearch as never }), { code: 'MCP_SERVER_OPTIONS', message: /toolSearch/ })
})

test('with the switch the tools of gateways are found, called, and callable by their names', async t => {
  const app = await start(t, { toolSearch: { above: 29, indexTools } })
  const client = await clientOf(t, app, 'alice')
  t.strictSame(await namesOf(client), ['search_tools', 'call_tool', 'own_tool'])
  const [first] = await found(client, 'open the vault')
  t.match(first, { name: 'up__open_vault', inputSchema: { required: ['code'] } })
  const progress: number[] = []
  const opened = await client.callTool({ name: 'call_tool', arguments: { name: 'up__open_vault', arguments: { code: 1 } } }, undefined, { onprogress: ({ progress: at }) => { progress.push(at) } })
  t.strictSame([opened.structuredContent, progress], [{ code: 1 }, [1]])
  t.strictSame(await call(client, 'up__open_vault', { code: 1 }), opened, 'by its own name')
  t.match(await call(client, 'call_tool', { name: 'up__open_vault', arguments: { code: 'x' } }), { isError: true, content: [{ text: /input schema of up__open_vault: arguments\/code: must be integer/ }] })
  t.match(await call(client, 'call_tool', { arguments: {} }), { isError: true, content: [{ text: /input schema of call_tool: arguments\/name: is missing/ }] })
  t.match(await call(client, 'call_tool', { name: 'up__open_valt' }), { isError: true, content: [{ text: 'unknown tool: "up__open_valt"; did you mean "up__open_vault"?' }] })
  t.match(await call(client, 'call_tool', { name: 'own_tool' }), { content: [{ text: 'own' }] })
  t.match(await call(client, 'call_tool', { name: 'call_tool', arguments: { name: 'own_tool' } }), { isError: true })
  t.match((await modern(app, 'tools/call', { name: 'call_tool', arguments: { name: 'up__open_vault', arguments: { code: 2 } } }, { headers: { authorization: 'alice' } })).json.result, { structuredContent: { code: 2 } })
  const few = await clientOf(t, await start(t, { toolSearch: { above: 30, indexTools } }), 'alice')
  t.equal((await namesOf(few)).length, 31, 'not more than the switch')
})

test('a tool that a caller may not use is not found, and is to a call as one that does not exist', async t => {
  const app = await start(t, { toolSearch: { above: 1, indexTools } })
  const [alice, bob] = [await clientOf(t, app, 'alice'), await clientOf(t, app, 'bob')]
  t.match((await found(alice, 'open the vault'))[0], { name: 'up__open_vault' })
  t.strictSame(await namesOf(bob), ['search_tools', 'call_tool', 'own_tool'])
  t.notOk((await found(bob, 'open the vault')).some(({ name }) => name === 'up__open_vault'))
  t.match((await found(bob, 'weigh a parcel')).map(({ name }) => name).sort(), ['up__weigh_1', 'up__weigh_2'])
  const [foreign, unknown] = await Promise.all(['up__open_vault', 'up__open_other'].map(async name => JSON.stringify(await call(bob, 'call_tool', { name, arguments: { code: 1 } })).replaceAll(name, 'NAME')))
  t.equal(foreign, unknown)
  t.match(foreign, /unknown tool/)
})

test('the indexes of callers with other rights are kept up to a bound', async t => {
  const source = { ...sourceOf({}), isUpstream: true }
  const listOf = (i: number): Catalog<'tools'> => new Catalog('tools', [new Entry({ name: `t${i}`, description: 'Weigh.', inputSchema: {} }, source)])
  const open = new Set<object>()
  let shown = listOf(0)
  const search = new ToolSearch({
    above: 0,
    async indexTools (tools) {
      const index = { search: () => tools, close: async () => { open.delete(index) } }
      open.add(index)
      return index
    }
  }, async () => shown)
  const ask = async (): Promise<unknown> => await search.source.call('search_tools', { query: 'weigh' }, {} as never)
  for (let i = 0; i < 20; i++) {
    shown = listOf(i)
    const [first, second] = await Promise.all([ask(), ask()])
    t.strictSame(first, second)
    t.match(first, { content: [{ text: new RegExp(`"t${i}"`) }] })
  }
  t.equal(open.size, 8)
  await search.close()
  t.equal(open.size, 0)
})
