import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema, SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { authorizationServer, Browser, protectedServer } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { post, started } from './sign-in-service.js'

/** Each account has a tool and a resource with its name, and a resource whose URI all have. */
function setUp (server: McpServer, account: string): void {
  const content = () => ({ contents: [{ uri: 'note://inbox', text: account }] })
  server.registerTool(`ledger_${account}`, {}, () => ({ content: [] }))
  server.registerResource('own', `note://${account}`, {}, content)
  server.registerResource('inbox', 'note://inbox', {}, content)
  server.server.registerCapabilities({ resources: { subscribe: true } })
  for (const schema of [SubscribeRequestSchema, UnsubscribeRequestSchema]) server.server.setRequestHandler(schema, () => ({}))
}

/** A host at which alice and bob are signed in, each to an account with the name of the owner. */
async function serve (t: Test) {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as, setUp)
  const { base } = await started(t, join(await emptyFolder(t), 'tasks.db'), upstream.url, as.base)
  for (const owner of ['alice', 'bob']) {
    const { details } = await post(base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} })
    t.match(await new Browser().signIn(details.url, owner), { status: 200 })
    t.match(await post(base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} }), { result: { content: [{ text: owner }] } })
  }
  const connect = async (owner: string): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers: { 'x-owner': owner } } }))
    t.teardown(() => client.close())
    return client
  }
  return { base, upstream, connect }
}

test('no suggestion names a tool that only another owner sees', async t => {
  const { base, connect } = await serve(t)
  const rest = async (owner: string, tool: string): Promise<string> => JSON.stringify(await post(base, '/mcp/call', owner, { server: 'mail', tool, arguments: {} }))
  const clients = { alice: await connect('alice'), bob: await connect('bob') }
  const mcp = async (owner: 'alice' | 'bob', name: string): Promise<string> => await clients[owner].callTool({ name }).then(result => JSON.stringify(result), (err: Error) => err.message)
  t.match(await rest('alice', 'ledger_alic'), /ledger_alice/)
  t.match(await mcp('alice', 'mail__ledger_alic'), /ledger_alice/)
  for (const text of [await rest('bob', 'ledger_alic'), await mcp('bob', 'mail__ledger_alic')]) t.notMatch(text, /ledger_alice/)
})

test('an update of a resource reaches the owner in whose name the server sent it, and no other', async t => {
  const { upstream, connect } = await serve(t)
  const seen: Record<string, string[]> = { alice: [], bob: [] }
  for (const owner of ['alice', 'bob']) {
    const client = await connect(owner)
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params: { uri } }) => { seen[owner]!.push(uri) })
    for (const uri of ['note://alice', 'note://inbox']) await client.subscribeResource({ uri })
  }
  await until(async () => await upstream.update('alice', 'note://alice') > 0, 'the connection of alice has a stream')
  await until(() => seen.alice!.includes('note://alice'), 'alice gets the update')
  await until(async () => await upstream.update('alice', 'note://inbox') > 0 && seen.alice!.includes('note://inbox'), 'alice gets the update of a shared URI')
  t.strictSame(seen.bob, [])
  await until(async () => await upstream.update('bob', 'note://inbox') > 0 && seen.bob!.includes('note://inbox'), 'bob gets an update')
  t.strictSame([...new Set(seen.bob)], ['note://inbox'])
})
