import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { z } from 'zod'
import { serverToolName } from '@polyvac/core/plugin'
import { authorizationServer, Browser, protectedServer } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { handWritten } from '../../../packages/mcp-gateway/test/fixtures/hand-written.js'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { post, started } from './sign-in-service.js'

const LONG = 'x'.repeat(70)

/** What only one account has has its name; `alice` has the URI of the server `notes` too. */
function setUp (server: McpServer, account: string): void {
  const content = (uri: string) => ({ contents: [{ uri, text: `mail of ${account}` }] })
  const text = () => ({ content: [{ type: 'text' as const, text: account }] })
  server.registerTool(`tool_${account}`, {}, text)
  server.registerTool(`${LONG}${account}`, {}, text)
  server.registerPrompt(`prompt_${account}`, { argsSchema: { who: completable(z.string(), () => [account]) } }, () => ({ messages: [{ role: 'user', content: { type: 'text', text: account } }] }))
  server.registerResource('own', `mail://${account}`, {}, ({ href }) => content(href))
  server.registerResource('of', new ResourceTemplate(`box://${account}/{id}`, { list: undefined, complete: { id: () => [account] } }), {}, ({ href }) => content(href))
  if (account !== 'alice') return
  server.registerResource('note', 'note://shared', {}, ({ href }) => content(href))
  server.registerResource('template', new ResourceTemplate('note://shared/{id}', { list: undefined }), {}, ({ href }) => content(href))
}

/** A host with `mail`, at which alice and bob are signed in, and `notes`, which all owners share. */
async function serve (t: Test) {
  const as = await authorizationServer(t)
  const mail = await protectedServer(t, as, setUp)
  const { url: notes } = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'resources/list') result({ resources: [{ uri: 'note://shared', name: 'note' }] })
    else if (method === 'resources/templates/list') result({ resourceTemplates: [{ uriTemplate: 'note://shared/{id}', name: 'template' }] })
    else if (method === 'resources/read') result({ contents: [{ uri: params.uri, text: 'note of all' }] })
    else return false
    return true
  }, { isModern: false })
  const { base } = await started(t, join(await emptyFolder(t), 'tasks.db'), mail.url, as.base, {
    mcp_servers: { mail: { url: mail.url, per_owner: true, oauth: { issuer: as.base } }, notes: { url: notes } }
  })
  const signIn = async (owner: string): Promise<void> => {
    const { details } = await post(base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} })
    t.match(await new Browser().signIn(details.url, owner), { status: 200 })
    t.match(await post(base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} }), { result: { content: [{ text: owner }] } })
  }
  for (const owner of ['alice', 'bob']) await signIn(owner)
  const connect = async (owner: string): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers: { 'x-owner': owner } } }))
    t.teardown(() => client.close())
    return client
  }
  return { base, connect, signIn }
}

async function modern (base: string, owner: string, method: string, params: Record<string, unknown>): Promise<any> {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  const { id: _id, ...answer } = await post(base, '/mcp', owner, { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, {
    'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...'name' in params && { 'mcp-name': String(params.name) }, ...'uri' in params && { 'mcp-name': String(params.uri) }
  })
  return answer
}

const complete = (base: string, owner: string, ref: object, name: string): Promise<any> => modern(base, owner, 'completion/complete', { ref, argument: { name, value: '' } })

test('a name, URI or template of another owner is answered like one that no owner has', async t => {
  const { base } = await serve(t)
  const cut = (name: string): string => serverToolName('mail', LONG + name)
  const asked = async (owner: string, name: string): Promise<string> => {
    const answers = [
      await complete(base, owner, { type: 'ref/prompt', name: `mail__prompt_${name}` }, 'who'),
      await complete(base, owner, { type: 'ref/resource', uri: `box://${name}/{id}` }, 'id'),
      await complete(base, owner, { type: 'ref/resource', uri: `mail://${name}` }, 'id'),
      await modern(base, owner, 'resources/read', { uri: `mail://${name}` }),
      await modern(base, owner, 'resources/read', { uri: `mcp://mail/mail://${name}` }),
      await modern(base, owner, 'tools/call', { name: `mail__tool_${name}`, arguments: {} }),
      await modern(base, owner, 'tools/call', { name: cut(name), arguments: {} }),
      await modern(base, owner, 'prompts/get', { name: `mail__prompt_${name}` }),
      await post(base, '/mcp/call', owner, { server: 'mail', tool: `tool_${name}`, arguments: {} }),
      await post(base, '/mcp/prompts/get', owner, { server: 'mail', prompt: `prompt_${name}` }),
      await post(base, '/mcp/resources/read', owner, { server: 'mail', uri: `mail://${name}` })
    ]
    t.notMatch(JSON.stringify(answers), `mail of ${name}`)
    return JSON.stringify(answers).replaceAll(cut(name), 'CUT').replaceAll(name, 'NAME').replace(/ticket=[\w.-]+/g, 'TICKET').replace(/"requestId":"[^"]+"/g, '').replace(/"expiresAt":"[^"]+"/g, '')
  }
  for (const owner of ['alice', 'carol']) t.equal(await asked(owner, 'bob'), await asked(owner, 'nob'), owner)

  // what belongs to the caller
  for (const owner of ['alice', 'bob']) {
    t.match(await complete(base, owner, { type: 'ref/prompt', name: `mail__prompt_${owner}` }, 'who'), { result: { completion: { values: [owner] } } })
    t.match(await complete(base, owner, { type: 'ref/resource', uri: `box://${owner}/{id}` }, 'id'), { result: { completion: { values: [owner] } } })
    t.match(await modern(base, owner, 'resources/read', { uri: `box://${owner}/1` }), { result: { contents: [{ text: `mail of ${owner}` }] } })
    t.match(await modern(base, owner, 'tools/call', { name: cut(owner), arguments: {} }), { result: { content: [{ text: owner }] } })
  }
})

test('a URI that one owner has at two servers stays unchanged for the others, who read it', async t => {
  const { base } = await serve(t)
  for (const [owner, uris, templates] of [
    ['bob', ['mail://bob', 'note://shared'], ['box://bob/{id}', 'note://shared/{id}']],
    ['carol', ['note://shared'], ['note://shared/{id}']],
    ['alice', ['mail://alice', 'mcp://mail/note://shared', 'mcp://notes/note://shared'], ['box://alice/{id}', 'mcp://mail/note://shared/{id}', 'mcp://notes/note://shared/{id}']]
  ] as const) {
    const { result: { resources } } = await modern(base, owner, 'resources/list', {})
    t.strictSame(resources.map(({ uri }: any) => uri).filter((uri: string) => /mail|note/.test(uri)).sort(), uris, owner)
    const { result: { resourceTemplates } } = await modern(base, owner, 'resources/templates/list', {})
    t.strictSame(resourceTemplates.map(({ uriTemplate }: any) => uriTemplate).filter((uri: string) => /box|note/.test(uri)).sort(), templates, owner)
  }
  for (const owner of ['bob', 'carol']) t.match(await modern(base, owner, 'resources/read', { uri: 'note://shared' }), { result: { contents: [{ uri: 'note://shared', text: 'note of all' }] } }, owner)
  t.match(await modern(base, 'alice', 'resources/read', { uri: 'mcp://mail/note://shared' }), { result: { contents: [{ text: 'mail of alice' }] } })
  t.match(await modern(base, 'alice', 'resources/read', { uri: 'mcp://notes/note://shared' }), { result: { contents: [{ text: 'note of all' }] } })
})

test('a sign-in notifies the sessions and streams of its owner, and changes the lists of no other', async t => {
  const { base, connect, signIn } = await serve(t)
  const changes: Record<string, number> = {}
  for (const owner of ['alice', 'carol', 'dave']) {
    const client = await connect(owner)
    await client.listTools()
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes[owner] = (changes[owner] ?? 0) + 1 })
  }
  const listen = async (owner: string): Promise<() => string> => {
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
    const response = await fetch(`${base}/mcp`, {
      method: 'POST',
      signal: stop.signal,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'x-owner': owner, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true }, _meta } })
    })
    let text = ''
    const read = async (): Promise<void> => { for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += String(chunk) }
    read().catch(() => {})
    await until(() => text.includes('acknowledged'), 'the stream begins')
    return () => text
  }
  const [bob, carol] = [await listen('bob'), await listen('carol')]
  const etagOf = async (owner: string): Promise<string | null> => (await fetch(`${base}/mcp/tools`, { headers: { 'x-owner': owner } })).headers.get('etag')
  const before = [await etagOf('alice'), await etagOf('carol')]
  await signIn('carol')
  await until(() => (changes.carol ?? 0) > 0 && carol().includes('list_changed'), 'carol is notified')
  await signIn('dave')
  await until(() => (changes.dave ?? 0) > 0, 'dave is notified')
  t.notOk(changes.alice, 'alice is not notified')
  t.notMatch(bob(), 'list_changed')
  t.equal(await etagOf('alice'), before[0])
  t.not(await etagOf('carol'), before[1])
})
