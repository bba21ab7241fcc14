import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { start, type TaskService } from './task-service.js'

/** `ask` asks back; `12 words, 100 ms` yields so many words, with pauses. */
const INTERPRETER = `import { setTimeout } from 'node:timers/promises'

export async function * stream_interpreter (question, name, history, { signal }) {
  if (question === 'ask' && history.length === 0) return { input_required: 'Which one?' }
  if (!/\\d/.test(question)) return { answer: question }
  const [words, pause] = question.match(/\\d+/g).map(Number)
  for (let word = 1; word <= words; word++) {
    yield \`word\${word} \`
    await setTimeout(pause, undefined, { signal })
  }
}
`

const words = (count: number): string => Array.from({ length: count }, (_none, i) => `word${i + 1} `).join('')

async function folderOf (t: Test, database: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-mcp-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await writeFile(join(folder, 'interpreter.mjs'), INTERPRETER)
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({
    kind: 'vacConfig',
    service: {
      stream_interpreter: './interpreter.mjs', enable_mcp_server: true, tasks: { store: 'postgres', url: database }, state_key: 'a key of all replicas, 32 bytes long'
    },
    vac: { demo: { display_name: 'Demo' } }
  }))
  return folder
}

interface Backend { readonly service: TaskService, requests: number, isDown: boolean }

/** Two hosts on one database, behind a proxy that gives each request to the next one that accepts connections. */
async function replicas (t: Test): Promise<{ url: string, backends: Backend[], last: { call?: Backend | undefined } }> {
  const folder = await folderOf(t, await testDatabase(t))
  const backends: Backend[] = (await Promise.all([start(t, folder), start(t, folder)])).map(service => ({ service, requests: 0, isDown: false }))
  const last: { call?: Backend | undefined } = {}
  let turn = 0
  const proxy = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => { chunks.push(chunk) }).on('end', () => {
      const body = Buffer.concat(chunks)
      const pass = (tries: number): void => {
        const backend = backends[turn++ % backends.length] as Backend
        if (backend.isDown && tries > 0) return pass(tries - 1)
        const { hostname, port } = new URL(backend.service.url)
        const forwarded = httpRequest({ hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers, agent: false }, (answer: IncomingMessage) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.on('data', (chunk: Buffer) => outgoing.write(chunk)).on('end', () => outgoing.end()).on('error', () => outgoing.destroy())
        })
        forwarded.on('error', (err: NodeJS.ErrnoException) => {
          if (err.code === 'ECONNREFUSED' && tries > 0) return pass(tries - 1)
          if (outgoing.headersSent) outgoing.destroy()
          else outgoing.writeHead(502).end()
        })
        outgoing.on('close', () => forwarded.destroy())
        backend.requests++
        if (body.includes('"tools/call"')) last.call = backend
        forwarded.end(body)
      }
      pass(backends.length)
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(async () => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`, backends, last }
}

/** The client 1.x of the SDK, with what its user sees of a failure. */
async function connect (t: Test, url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { reply: 'the second' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
  t.teardown(() => client.close())
  return client
}

const textOf = (result: unknown): string => (result as { content: Array<{ text?: string }> }).content.map(({ text }) => text ?? '').join()
const ask = async (client: Client, query: string, kind = 'query'): Promise<string> => textOf(await client.callTool({ name: `vac_${kind}_demo`, arguments: { query } }))

/** A tool call of the inspector. */
async function inspect (url: string): Promise<unknown> {
  const inspector = fileURLToPath(new URL('index.js', import.meta.resolve('@modelcontextprotocol/inspector-cli')))
  const call = ['--method', 'tools/call', '--tool-name', 'vac_query_demo', '--tool-arg', 'query=hello']
  const { stdout } = await promisify(execFile)(process.execPath, [inspector, url, '--transport', 'http', ...call], { env: { ...process.env, NODE_OPTIONS: '' } })
  return JSON.parse(stdout)
}

test('two replicas serve MCP behind a balancer without affinity, and a SIGKILL shows no error', async t => {
  const { url, backends, last } = await replicas(t)
  const [a, b] = backends.map(({ service }) => `${service.url}/mcp`) as [string, string]
  const client = await connect(t, url)
  await t.test('tasks, and state that a client holds, reach both replicas', async t => {
    const send = async (url: string, method: string, params: Record<string, unknown>, extensions: object = {}): Promise<any> => {
      const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions } }
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(params.name ?? params.taskId)
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
      })
      return (await response.json() as { result: unknown }).result
    }
    const tasks = { 'io.modelcontextprotocol/tasks': {} }
    const call = (query: string): Record<string, unknown> => ({ name: 'vac_query_demo', arguments: { query } })
    const { taskId } = await send(a, 'tools/call', call('hello'), tasks)
    const done = await until(async () => {
      const task = await send(b, 'tasks/get', { taskId }, tasks)
      return task?.status === 'completed' && task
    }, 'the other replica shows the result')
    t.equal(textOf(done.result), 'hello')
    const { requestState, inputRequests } = await send(a, 'tools/call', call('ask'))
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, { action: 'accept', content: { reply: 'the second' } }]))
    t.equal(textOf(await send(b, 'tools/call', { ...call('ask'), requestState, inputResponses })), 'the second')
  })
  await t.test('a stream that breaks is resumed at the other replica', async t => {
    const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const post = (url: string, message: object, signal?: AbortSignal): Promise<Response> =>
      fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }), ...signal !== undefined && { signal } })
    const opened = await post(a, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } })
    headers['mcp-session-id'] = opened.headers.get('mcp-session-id') as string
    const params = { name: 'vac_stream_demo', arguments: { query: '30 words, 20 ms' }, _meta: { progressToken: 'p' } }
    const leave = new AbortController()
    const broken = await read(await post(a, { id: 2, method: 'tools/call', params }, leave.signal), text => { if (text.includes('word7')) leave.abort() })
    let last = broken.id
    let text = broken.text
    let result: string | undefined
    // back and forth, three words at a time
    for (let url = b, tries = 100; result === undefined && tries > 0; url = url === a ? b : a, tries--) {
      const leave = new AbortController()
      const response = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': last }, signal: leave.signal })
      const part = await read(response, text => { if (text.split(' ').length > 3) leave.abort() })
      text += part.text
      if (part.id !== '') last = part.id
      result = part.result
    }
    t.equal(text, words(30))
    t.match(result, words(30).trim())
  })
  await t.test('the inspector calls a tool', async t => {
    t.match(await inspect(url), { content: [{ text: 'hello' }] })
  })
  await t.test('requests alternate', async t => {
    for (const question of ['a', 'b', 'c', 'd']) t.equal(await ask(client, question), question)
    t.match((await client.listTools()).tools.map(({ name }) => name), ['list_available_vacs'])
    t.ok(backends.every(({ requests }) => requests > 2))
    await client.setLoggingLevel('error')
  })
  await t.test('a question is answered through the other replica', async t => {
    t.equal(await ask(client, 'ask'), 'the second')
    t.equal(await ask(client, 'ask'), 'the second')
  })
  await t.test('a call whose replica is killed in the middle', async t => {
    let text = ''
    const call = client.callTool({ name: 'vac_stream_demo', arguments: { query: '20 words, 50 ms' } }, undefined, { onprogress: ({ message = '' }) => { text += message } })
    await until(() => text.includes('word5'), 'the text has begun')
    const killed = last.call as Backend
    killed.service.kill('SIGKILL')
    killed.isDown = true
    t.equal((await call).isError, undefined)
    t.equal(text, words(20), 'the text is whole, and nothing of it comes twice')
  })
  await t.test('calls after it', async t => {
    for (const question of ['e', 'f', 'g']) t.equal(await ask(client, question), question)
    t.equal(await ask(client, 'ask'), 'the second')
  })
  await t.test('the inspector after it', async t => {
    t.match(await inspect(url), { content: [{ text: 'hello' }] })
  })
})

/** What comes until the stream ends or breaks: the joined messages of progress, the last id, the text of the result. */
async function read (response: Response, onText: (text: string) => void): Promise<{ text: string, id: string, result?: string | undefined }> {
  const read: { text: string, id: string, result?: string | undefined } = { text: '', id: '' }
  let rest = ''
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) {
        const [, id] = /^id: (.*)$/m.exec(block) ?? []
        const [, data = ''] = /^data: (.+)$/m.exec(block) ?? []
        if (id !== undefined) read.id = id
        if (data === '') continue
        const { params, result } = JSON.parse(data) as { params?: { message?: string }, result?: unknown }
        read.text += params?.message ?? ''
        if (result !== undefined) read.result = textOf(result)
        onText(read.text)
      }
    }
  } catch {
    // the test has left
  }
  return read
}
