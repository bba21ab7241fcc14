import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { z } from 'zod'
import { authorizationServer, Browser, protectedServer } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { post, started } from './sign-in-service.js'

test('a sign-in is asked for over A2A and MCP, the call continues after it, and a restart of the host keeps it', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const path = join(await emptyFolder(t), 'tasks.db')
  const { app, base } = await started(t, path, upstream.url, as.base)

  // A2A: the task waits for the authorization, and continues without another message
  const rpc = async (method: string, params: object): Promise<any> =>
    (await post(base, '/a2a', 'alice', { jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': '1.0' })).result
  const { task } = await rpc('SendMessage', { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Who am I?' }] } })
  t.equal(task.status.state, 'TASK_STATE_AUTH_REQUIRED')
  const { parts } = task.status.message
  t.match(parts, [{ text: /needs a sign-in/ }, { data: { signIn: { server: 'mail' } } }])
  t.match(await new Browser().signIn(parts[1].data.signIn.url, 'alice@mail'), { status: 200 })
  const ended = await until(async () => {
    const now = await rpc('GetTask', { id: task.id })
    return now.status.state === 'TASK_STATE_COMPLETED' ? now : undefined
  }, 'the task ends')
  t.match(JSON.stringify(ended.artifacts), /you are alice@mail/)

  // REST of the VACs: the answer states what is needed
  t.match(await post(base, '/vac/demo', 'bob', { user_input: 'Who am I?' }), { auth_required: /needs a sign-in/ })

  // MCP, revision 2025-11-25: the client opens the address, and the call goes on
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } })
  let asked: any
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked = params
    new Browser().signIn((params as unknown as { url: string }).url, 'bob@mail').catch(() => {})
    return { action: 'accept' }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers: { 'x-owner': 'bob' } } }))
  const namesOf = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name).filter(name => name.startsWith('mail'))
  t.strictSame(await namesOf(), ['mail__sign_in'])
  t.match(await client.callTool({ name: 'mail__sign_in' }), { content: [{ text: /signed in to mail/ }] })
  t.match(asked, { mode: 'url', url: /\/mcp\/sign-in\?ticket=/, elicitationId: /./ })
  t.strictSame(await namesOf(), ['mail__whoami'])
  t.match(await client.callTool({ name: 'mail__whoami' }), { content: [{ text: 'bob@mail' }] })
  const unknown = async (owner: string): Promise<string> => JSON.stringify((await post(base, '/mcp', owner, {
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'mail__whoamx', arguments: {}, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } }
  }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'mail__whoamx' })).error)
  t.match(await unknown('bob'), /mail__whoami/)
  t.notMatch(await unknown('dave'), /mail__whoami/, 'no names of what others see after their sign-in')
  await client.close()

  // MCP, revision 2026-07-28: the result asks, and the same call is sent again
  const modern = async (capabilities: object, more: object = {}): Promise<any> => await post(base, '/mcp', 'carol', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'mail__whoami', arguments: {}, ...more, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities }
    }
  }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'mail__whoami' })
  const plain = await modern({})
  t.match(plain.result, { isError: true, content: [{ text: /^MCP_SIGN_IN_REQUIRED: .*\/mcp\/sign-in\?ticket=/ }] }, 'a client that opens no addresses')
  const { result } = await modern({ elicitation: { url: {} } })
  const [[key, question]] = Object.entries<any>(result.inputRequests) as [[string, any]]
  t.match(question, { method: 'elicitation/create', params: { mode: 'url' } })
  t.match((await modern({ elicitation: { url: {} } }, { requestState: result.requestState, inputResponses: { [key]: { action: 'decline' } } })).result, { isError: true })
  t.match(await new Browser().signIn(question.params.url, 'carol@mail'), { status: 200 })
  const answered = await modern({ elicitation: { url: {} } }, { requestState: result.requestState, inputResponses: { [key]: { action: 'accept' } } })
  t.match(answered.result, { resultType: 'complete', content: [{ text: 'carol@mail' }] })

  await app.close()
  const again = await started(t, path, upstream.url, as.base)
  for (const owner of ['alice', 'bob', 'carol']) {
    t.match(await post(again.base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} }), { result: { content: [{ text: `${owner}@mail` }] } })
  }
})

test('over MCP, an owner sees and calls what the server offers only to that owner', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as, (server, account) => {
    const answer = (): { content: Array<{ type: 'text', text: string }> } => ({ content: [{ type: 'text', text: account }] })
    server.registerTool(`only_${account}`, { description: 'A tool of one account.' }, answer)
    server.registerTool('shared', { description: `A tool of ${account}.`, inputSchema: { [`of_${account}`]: z.string() } }, answer)
    server.registerResource('note', `note://${account}`, {}, () => ({ contents: [{ uri: `note://${account}`, text: account }] }))
    server.registerPrompt(`prompt_${account}`, {}, () => ({ messages: [{ role: 'user', content: { type: 'text', text: account } }] }))
  })
  const { base } = await started(t, join(await emptyFolder(t), 'tasks.db'), upstream.url, as.base)
  const mcp = async (owner: string, method: string, params: Record<string, unknown> = {}): Promise<any> => {
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
    const { id: _id, ...answer } = await post(base, '/mcp', owner, { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, {
      'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...'name' in params && { 'mcp-name': String(params.name) }, ...'uri' in params && { 'mcp-name': String(params.uri) }
    })
    return answer
  }
  for (const owner of ['alice', 'bobby']) {
    const { details } = await post(base, '/mcp/call', owner, { server: 'mail', tool: 'whoami', arguments: {} })
    t.match(await new Browser().signIn(details.url, owner), { status: 200 })
  }
  for (const [owner, other] of [['alice', 'bobby'], ['bobby', 'alice']] as const) {
    const lists = await Promise.all(['tools', 'prompts', 'resources'].map(async kind => (await mcp(owner, `${kind}/list`)).result[kind].filter(({ name, uri }: any) => /^mail|^note/.test(uri ?? name))))
    t.strictSame(lists.map(list => list.map(({ name, uri }: any) => uri ?? name)), [[`mail__only_${owner}`, 'mail__shared', 'mail__whoami'], [`mail__prompt_${owner}`], [`note://${owner}`]])
    t.notMatch(JSON.stringify(lists), other)
    t.match((await mcp(owner, 'tools/call', { name: 'mail__shared', arguments: { [`of_${owner}`]: 'x' } })).result, { content: [{ text: owner }] })
    t.match((await mcp(owner, 'tools/call', { name: `mail__only_${owner}`, arguments: {} })).result, { content: [{ text: owner }] })
    t.notMatch(JSON.stringify(await mcp(owner, 'tools/call', { name: 'mail__shared', arguments: {} })), other, 'problems are those of the own schema')
    t.match((await mcp(owner, 'prompts/get', { name: `mail__prompt_${owner}` })).result, { messages: [{ content: { text: owner } }] })
  }
  // a name of another owner is answered like one that does not exist, before the sign-in and after it
  const asked = async (owner: string, name: string): Promise<string> => {
    const answers = [
      await mcp(owner, 'tools/call', { name: `mail__only_${name}`, arguments: {} }),
      await mcp(owner, 'prompts/get', { name: `mail__prompt_${name}` }),
      await mcp(owner, 'resources/read', { uri: `note://${name}` })
    ]
    return JSON.stringify(answers).replaceAll(name, 'NAME').replace(/ticket=[\w.-]+/g, 'TICKET')
  }
  for (const owner of ['alice', 'carol']) t.equal(await asked(owner, 'bobby'), await asked(owner, 'nobod'), owner)
})

/** The interpreter of `started`, as a module for worker threads. */
const MODULE = `export async function stream_interpreter (question, vac, history, { callTool }) {
  const { content: [{ text }] } = await callTool('mail', 'whoami', {})
  return { answer: 'you are ' + text }
}
`

test('a VAC in a worker thread asks for the sign-in to a server of HTTP with SSE, and continues after it', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as, undefined, { isSse: true })
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'interpreter.mjs'), MODULE)
  const { base } = await started(t, join(folder, 'tasks.db'), upstream.url, as.base, {
    stream_interpreter: join(folder, 'interpreter.mjs'), vac_interpreter: undefined, async_stream: false
  })
  const rpc = async (method: string, params: object): Promise<any> =>
    (await post(base, '/a2a', 'alice', { jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': '1.0' })).result
  const { task } = await rpc('SendMessage', { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Who am I?' }] } })
  t.match(task.status, { state: 'TASK_STATE_AUTH_REQUIRED', message: { parts: [{ text: /needs a sign-in/ }, { data: { signIn: { server: 'mail' } } }] } })
  t.match(await new Browser().signIn(task.status.message.parts[1].data.signIn.url, 'alice@mail'), { status: 200 })
  const ended = await until(async () => {
    const now = await rpc('GetTask', { id: task.id })
    return now.status.state === 'TASK_STATE_COMPLETED' ? now : undefined
  }, 'the task ends')
  t.match(JSON.stringify(ended.artifacts), /you are alice@mail/)

  const ask = async (): Promise<object> => await post(base, '/vac/demo', 'bob', { user_input: 'Who am I?' })
  const asked = await ask() as { auth_required: string }
  t.match(asked, { auth_required: /needs a sign-in/ })
  t.match(await new Browser().signIn(/http\S+/.exec(asked.auth_required)![0], 'bob@mail'), { status: 200 })
  t.match(await ask(), { answer: 'you are bob@mail' }, 'the same request again')
})
