// Calls the app like a program with a token, like another agent and like an MCP client, with a token and without.
import assert from 'node:assert/strict'
import { Message } from '@a2a-js/sdk'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { buildApp } from './app.js'

const app = await buildApp({ secret: 'a secret of the test' })
const url = await app.listen({ port: 0, host: '127.0.0.1' })
const json = { 'content-type': 'application/json' }
const post = async (path, body, headers = {}) => await fetch(url + path, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
try {
  const { token } = await (await post('/sign-in', { name: 'ada' })).json()
  const bearer = { authorization: `Bearer ${token}` }

  // the app's hook refuses, in the shape of the app
  const question = { user_input: 'Who am I?' }
  const stranger = await post('/api/vac/helpdesk', question)
  assert.equal(stranger.status, 401)
  assert.equal((await stranger.json()).ok, false)
  assert.equal((await (await post('/api/vac/helpdesk', question, bearer)).json()).answer, 'Hello ada.')
  const unknown = await post('/api/vac/helpdeks', question, bearer)
  assert.equal(unknown.status, 404)
  assert.match((await unknown.json()).reason, /did you mean "helpdesk"/)

  // the agent card is public, at the root, and names the scheme
  const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
  assert.match(JSON.stringify(card), /bearer/i)
  assert.match(card.skills.map(({ description }) => description).join(), /Answers questions about orders/)

  // another agent: 401 with WWW-Authenticate without a token, an answer with it
  const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Who am I?' }] } } }
  const refused = await post('/a2a', rpc, { 'a2a-version': '1.0' })
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer'])
  const fetchImpl = (address, init) => fetch(address, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...bearer } })
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports: [new JsonRpcTransportFactory({ fetchImpl })] })
  const agent = await new ClientFactory(options).createFromUrl(url)
  const { artifacts } = await agent.sendMessage({ tenant: '', message: Message.fromJSON(rpc.params.message) })
  assert.equal(artifacts[0].parts[0].content.value, 'Hello ada.')

  // an MCP client
  const anonymous = new Client({ name: 'example', version: '1.0.0' })
  await assert.rejects(anonymous.connect(new StreamableHTTPClientTransport(new URL('/mcp', url))), { code: 401 })
  const client = new Client({ name: 'example', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers: bearer } }))
  const { tools } = await client.listTools()
  assert.match(tools.find(({ name }) => name === 'vac_query_helpdesk').description, /Answers questions about orders/)
  const { content } = await client.callTool({ name: 'vac_query_helpdesk', arguments: { query: 'Who am I?' } })
  assert.equal(content[0].text, 'Hello ada.')
  await client.close()
  process.stdout.write('jwt-app: all as expected\n')
} finally {
  await app.close()
}
