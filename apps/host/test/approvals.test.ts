import { remoteAgents } from '@polyvac/a2a-client'
import { ask, type ProtocolName, type Update } from '@polyvac/client'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { fakeModel, type ModelRequest, type ModelStep } from '../../../packages/agent/test/fixtures/model.js'
import { read } from '../../../packages/client/test/fixtures/read.js'
import { createHost, readConfig } from '../src/index.js'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { start } from './task-service.js'
import '../../../test/fixtures/timeout.mjs'

/** It deletes what the question names, and then states what its tool returned. */
function deleting ({ messages }: ModelRequest): ModelStep {
  const result = messages.findLast(({ role }) => role === 'tool')
  if (result !== undefined) return { says: /declined/.test(String(result.content)) ? 'I left it.' : 'It is deleted.' }
  const [, path = ''] = /Delete (\S+)/.exec(JSON.stringify(messages.findLast(({ role }) => role === 'user')!.content).replace(/["\\]/g, ' ')) ?? []
  return { says: 'One moment.', calls: [{ name: 'delete_file', args: { path } }] }
}

const TOOLS = `import { appendFileSync } from 'node:fs'
export const tools = [{
  name: 'delete_file', description: 'Delete a file', inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  handler: ({ path }) => { appendFileSync(new URL('calls.log', import.meta.url), path + '\\n'); return 'deleted' }
}]
`

interface Folder { readonly folder: string, readonly calls: () => string[] }

/** A folder with an agent and its destructive tool. `service` is YAML, indented by two. */
async function workspace (t: Test, service = '', vac = ''): Promise<Folder> {
  const { url } = await fakeModel(t, deleting)
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-approvals-'))
  t.teardown(() => { rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) })
  writeFileSync(join(folder, 'tools.mjs'), TOOLS)
  writeFileSync(join(folder, 'calls.log'), '')
  writeFileSync(join(folder, 'vac_config.yaml'), `kind: vacConfig
service:
  enable_a2a_agent: true
  enable_mcp_server: true
  tools: ./tools.mjs
${service}vac:
  shop:
    interpreter: agent
    model: fake
    openai: { base_url: '${url}' }
    approve: [destructive]
${vac}`)
  return { folder, calls: () => readFileSync(join(folder, 'calls.log'), 'utf8').split('\n').slice(0, -1) }
}

async function host (t: Test, folder: string): Promise<string> {
  const app = await createHost({ config: await readConfig(join(folder, 'vac_config.yaml')), server: { logger: { level: 'silent' } } })
  t.teardown(() => app.close())
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

type Json = Record<string, any>

async function post (url: string, body: unknown, headers: Record<string, string> = {}): Promise<{ status: number, text: string, json: any }> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  const text = await response.text()
  let json: unknown
  try { json = JSON.parse(text) } catch {}
  return { status: response.status, text, json }
}

/** The frames of an event stream. */
const framesOf = (text: string): Json[] => text.split('\n').flatMap(line => /^data: ?\{/.test(line) ? [JSON.parse(line.replace(/^data: ?/, '')) as Json] : [])

interface Asked {
  /** All that the caller got. */
  readonly text: string
  readonly reply: (approved: boolean) => Promise<string>
}

const hash = (token: string): string => createHash('sha256').update(token).digest('hex')
const word = (approved: boolean): string => approved ? 'yes' : 'no'
const idIn = (text: string): string => /\(approval ([\w-]{22})\)/.exec(text)![1]!

/** How a client of a package asks, with text as its reply. */
function byClient (protocol: ProtocolName, hasReply: boolean) {
  return async (base: string, question: string): Promise<Asked> => {
    const { text, last, updates } = await read(ask(protocol, { base, vac: 'shop', text: question }))
    const history = [{ role: 'user' as const, content: question }, { role: 'assistant' as const, content: text }]
    const reply = JSON.parse(JSON.stringify(last.input ?? null)) as Update['input'] | null
    return {
      text: JSON.stringify([text, updates]),
      reply: async approved => (await read(ask(protocol, { base, vac: 'shop', text: word(approved), ...hasReply && reply !== null ? { reply } : { history } }))).text
    }
  }
}

const chat = (id: string, ...messages: Json[]): Json => ({ id, messages })
const user = (text: string): Json => ({ id: `u-${text}`, role: 'user', parts: [{ type: 'text', text }] })
const textOfFrames = (frames: readonly Json[], type: string): string => frames.flatMap(frame => frame.type === type ? [String(frame.delta)] : []).join('')
const a2a = (parts: Json[], more: Json = {}): Json => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more } } })

const AI_SDK_6 = 'ai_sdk: { version: 6 }'

/** Each way to ask and to answer. */
const FORMS: Record<string, (base: string, question: string, respond?: (approved: boolean) => Json) => Promise<Asked>> = {
  'client of direct': byClient('direct', false),
  'client of openai': byClient('openai', false),
  'client of responses': byClient('responses', true),
  'client of ai_sdk': byClient('ai_sdk', true),
  'client of ag_ui': byClient('ag_ui', true),
  'client of a2a': byClient('a2a', true),
  'client of mcp': byClient('mcp', true),
  async 'direct in a conversation' (base, question) {
    const conversation = crypto.randomUUID()
    const send = async (text: string) => await post(`${base}/vac/shop`, { user_input: text, conversation_id: conversation })
    return { text: (await send(question)).text, reply: async approved => (await send(word(approved))).json.answer }
  },
  async 'direct with data' (base, question) {
    const first = await post(`${base}/vac/shop`, { user_input: question })
    const { approval: { id } } = first.json
    return { text: first.text, reply: async approved => (await post(`${base}/vac/shop`, { user_input: '-', approval: { id, approved } })).json.answer }
  },
  async 'plain text' (base, question) {
    const send = async (body: Json) => (await post(`${base}/vac/streaming/shop`, { ...body, stream_only: true })).text
    const text = await send({ user_input: question })
    return { text, reply: async approved => await send({ user_input: word(approved), chat_history: [{ role: 'user', content: question }, { role: 'assistant', content: text }] }) }
  },
  async 'a run' (base, question) {
    const { json: { run_id: run, conversation_id: conversation } } = await post(`${base}/vac/shop`, { user_input: question, background: true })
    const text = await (await fetch(`${base}/vac/shop/runs/${run}/stream`)).text()
    return { text, reply: async approved => (await post(`${base}/vac/shop`, { user_input: word(approved), conversation_id: conversation })).json.answer }
  },
  async 'chat completions' (base, question) {
    const send = async (...messages: Json[]) => await post(`${base}/openai/v1/chat/completions`, { model: 'shop', messages })
    const first = await send({ role: 'user', content: question })
    const { message } = first.json.choices[0]
    return { text: first.text, reply: async approved => (await send({ role: 'user', content: question }, message, { role: 'user', content: word(approved) })).json.choices[0].message.content }
  },
  async responses (base, question) {
    const send = async (input: string, more: Json = {}) => await post(`${base}/openai/v1/responses`, { model: 'shop', input, ...more })
    const first = await send(question)
    return { text: first.text, reply: async approved => (await send(word(approved), { previous_response_id: first.json.id })).text }
  },
  async 'AI SDK: a text' (base, question) {
    const id = crypto.randomUUID()
    const first = await post(`${base}/ai/shop`, chat(id, user(question)))
    const text = textOfFrames(framesOf(first.text), 'text-delta')
    return { text: first.text, reply: async approved => (await post(`${base}/ai/shop`, chat(id, user(question), { id: 'a', role: 'assistant', parts: [{ type: 'text', text }] }, user(word(approved))))).text }
  },
  async 'AI SDK: a card' (base, question) {
    const id = crypto.randomUUID()
    const first = await post(`${base}/ai/shop`, chat(id, user(question)))
    const frames = framesOf(first.text)
    const { toolCallId, input } = frames.find(({ type, toolName }) => type === 'tool-input-available' && toolName === 'ask_user')!
    const { messageId } = frames.find(({ type }) => type === 'start')!
    const part = (approved: boolean): Json => ({ type: 'dynamic-tool', toolName: 'ask_user', toolCallId, input, state: 'output-available', output: word(approved) })
    return { text: first.text, reply: async approved => (await post(`${base}/ai/shop`, chat(id, user(question), { id: messageId, role: 'assistant', parts: [part(approved)] }))).text }
  },
  async 'AI SDK: an approval' (base, question) {
    const id = crypto.randomUUID()
    const first = await post(`${base}/ai/shop`, chat(id, user(question)))
    const frames = framesOf(first.text)
    const { toolCallId, approvalId } = frames.find(({ type }) => type === 'tool-approval-request')!
    const { messageId } = frames.find(({ type }) => type === 'start')!
    const part = (approved: boolean): Json => ({ type: 'dynamic-tool', toolName: 'ask_user', toolCallId, input: {}, state: 'approval-responded', approval: { id: approvalId, approved } })
    return { text: first.text, reply: async approved => (await post(`${base}/ai/shop`, chat(id, user(question), { id: messageId, role: 'assistant', parts: [part(approved)] }))).text }
  },
  async 'AG-UI: an interrupt' (base, question) {
    const threadId = crypto.randomUUID()
    const messages = [{ id: 'm', role: 'user', content: question }]
    const send = async (more: Json) => await post(`${base}/ag-ui/shop`, { threadId, runId: crypto.randomUUID(), messages, tools: [], context: [], state: {}, ...more }, { accept: 'text/event-stream' })
    const first = await send({})
    const { outcome: { interrupts: [interrupt] } } = framesOf(first.text).find(({ type }) => type === 'RUN_FINISHED')!
    const { id, reason, responseSchema, expiresAt, metadata: { approval } } = interrupt
    if (reason !== 'confirmation' || responseSchema.type !== 'boolean' || expiresAt !== approval.expires_at) throw new Error('another interrupt')
    return { text: first.text, reply: async approved => (await send({ resume: [{ interruptId: id, status: 'resolved', payload: { approved } }] })).text }
  },
  async 'AG-UI: data' (base, question) {
    const threadId = crypto.randomUUID()
    const messages = [{ id: 'm', role: 'user', content: question }]
    const send = async (more: Json) => await post(`${base}/ag-ui/shop`, { threadId, runId: crypto.randomUUID(), messages, tools: [], context: [], state: {}, ...more }, { accept: 'text/event-stream' })
    const first = await send({})
    const { outcome: { interrupts: [{ id, metadata: { approval } }] } } = framesOf(first.text).find(({ type }) => type === 'RUN_FINISHED')!
    return { text: first.text, reply: async approved => (await send({ resume: [{ interruptId: id, status: 'resolved', payload: { approval: { id: approval.id, approved } } }] })).text }
  },
  async 'A2A: a text' (base, question) {
    const headers = { 'a2a-version': '1.0' }
    const first = await post(`${base}/a2a`, a2a([{ text: question }]), headers)
    const { task: { id, contextId } } = first.json.result
    return { text: first.text, reply: async approved => (await post(`${base}/a2a`, a2a([{ text: word(approved) }], { taskId: id, contextId }), headers)).text }
  },
  async 'A2A: data' (base, question) {
    const headers = { 'a2a-version': '1.0' }
    const first = await post(`${base}/a2a`, a2a([{ text: question }]), headers)
    const { task: { id, contextId, status } } = first.json.result
    const { approval } = status.message.parts.find((part: Json) => part.data !== undefined).data
    return { text: first.text, reply: async approved => (await post(`${base}/a2a`, a2a([{ data: { approval: { id: approval.id, approved } } }], { taskId: id, contextId }), headers)).text }
  },
  async "A2A: the description's routes" (base, question) {
    const send = async (params: Json) => await post(`${base}/a2a/tasks/send`, { jsonrpc: '2.0', id: 1, method: 'tasks/send', params })
    const first = await send({ skillName: 'vac_query_shop', input: { query: question } })
    const { taskId } = first.json.result
    return { text: first.text, reply: async approved => (await send({ taskId, input: { query: word(approved) } })).text }
  },
  async 'MCP: a call in a conversation' (base, question) {
    const conversation = crypto.randomUUID()
    const call = async (query: string) => await mcp(base, { name: 'vac_query_shop', arguments: { query, conversation_id: conversation } })
    return { text: (await call(question)).text, reply: async approved => (await call(word(approved))).text }
  },
  async 'MCP: a call with its history' (base, question) {
    const call = async (args: Json) => await mcp(base, { name: 'vac_query_shop', arguments: args })
    const first = await call({ query: question })
    const { answer } = first.json.result.structuredContent
    const history = [{ role: 'user', content: question }, { role: 'assistant', content: answer }]
    return { text: first.text, reply: async approved => (await call({ query: word(approved), chat_history: history })).text }
  },
  async 'MCP: a declined elicitation' (base, question) {
    return await FORMS['MCP: an elicitation']!(base, question, approved => approved ? { action: 'accept', content: { reply: true } } : { action: 'decline' })
  },
  async 'MCP: an elicitation with a form' (base, question) {
    return await FORMS['MCP: an elicitation']!(base, question, approved => ({ action: 'accept', content: { reply: approved } }))
  },
  async 'MCP: an elicitation' (base, question, respond = approved => ({ action: 'accept', content: { reply: word(approved) } })) {
    const call = async (more: Json = {}) => await mcp(base, { name: 'vac_query_shop', arguments: { query: question }, ...more }, { elicitation: { form: {} } })
    const first = await call()
    const { inputRequests, requestState } = first.json.result
    const [[key, { params: { requestedSchema } }]] = Object.entries(inputRequests) as [[string, Json]]
    if (requestedSchema.properties.reply.type !== 'boolean') throw new Error('another form')
    // who closes the question has not answered it
    await call({ requestState, inputResponses: { [key]: { action: 'cancel' } } })
    return { text: first.text, reply: async approved => (await call({ requestState, inputResponses: { [key]: respond(approved) } })).text }
  },
  async 'MCP: a declined task' (base, question) {
    return await FORMS['MCP: a task']!(base, question, approved => approved ? { action: 'accept', content: { reply: true } } : { action: 'decline' })
  },
  async 'MCP: a task' (base, question, respond = approved => ({ action: 'accept', content: { reply: word(approved) } })) {
    const able = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const { taskId } = (await mcp(base, { name: 'vac_query_shop', arguments: { query: question } }, able)).json.result
    const untilStatus = async (status: string): Promise<Json> => await until(async () => {
      const { json } = await mcp(base, { taskId }, able, 'tasks/get')
      return json.result.status === status && json.result
    }, `the task is ${status}`)
    const { inputRequests } = await untilStatus('input_required')
    const [[key]] = Object.entries(inputRequests) as [[string, Json]]
    return {
      text: JSON.stringify(inputRequests),
      async reply (approved) {
        await mcp(base, { taskId, inputResponses: { [key]: respond(approved) } }, able, 'tasks/update')
        return JSON.stringify(await untilStatus('completed'))
      }
    }
  }
}

async function mcp (base: string, params: Json, capabilities: Json = {}, method = 'tools/call', headers: Record<string, string> = {}) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  const { text, json } = await post(`${base}/mcp`, { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.name ?? params.taskId, ...headers })
  return { text, json: json ?? framesOf(text).at(-1) }
}

test('every protocol asks in its form, shows the whole input, and calls the tool once', async t => {
  const { folder, calls } = await workspace(t, `  protocols: { ${AI_SDK_6} }\n`, '    steps: off\n')
  const base = await host(t, folder)
  const expected: string[] = []
  for (const [form, begin] of Object.entries(FORMS)) {
    for (const approved of [true, false]) {
      const path = `${form.replace(/\W+/g, '_')}_${String(approved)}`
      const { text, reply } = await begin(base, `Delete ${path}`)
      t.match(text, /May the tool \\*"delete_file\\*" be called with this input\?/, `${form}: ${text.slice(0, 500)}`)
      t.ok(text.replace(/\\n|\\|\s/g, '').includes(`{"path":"${path}"}`), form)
      t.strictSame(calls(), expected, `${form}: nothing is called before the answer`)
      if (approved) expected.push(path)
      t.match(await reply(approved), approved ? /It is deleted\./ : /I left it\./, `${form}: ${word(approved)}`)
      t.strictSame(calls(), expected, form)
      // again: whatever the form answers, the tool is not called a second time
      await reply(true).catch(() => {})
      t.strictSame(calls(), expected, `${form}: a second answer`)
    }
  }
})

test('an answer of another form is refused with its fields, and the question stays open', async t => {
  const { folder, calls } = await workspace(t)
  const base = await host(t, folder)
  const headers = { 'a2a-version': '1.0' }
  const direct = (await post(`${base}/vac/shop`, { user_input: 'Delete direct' })).json.approval
  const { id, contextId, status } = (await post(`${base}/a2a`, a2a([{ text: 'Delete a2a' }]), headers)).json.result.task
  const { approval } = status.message.parts.find((part: Json) => part.data !== undefined).data
  const wrong = (id: string): ReadonlyArray<readonly [unknown, RegExp]> => [
    [{ id, approved: 'yes' }, /approved: expected boolean/], [{ id }, /approved: is missing/], [{ id, approved: null }, /approved: expected boolean/],
    [{ id: 7, approved: true }, /id: expected string/], [{ approved: true }, /id: is missing/], [id, /approval: expected object/], [null, /approval: expected object/], [[{ id, approved: true }], /approval: expected object/]
  ]
  for (const [given, message] of wrong(direct.id)) {
    for (const path of ['/vac/shop', '/vac/streaming/shop', '/vac/streaming/shop/sse']) {
      t.match(await post(`${base}${path}`, { user_input: 'yes', approval: given }), { status: 400, json: { error: { code: 'BAD_REQUEST', message } } }, `${path} ${JSON.stringify(given)}`)
    }
    t.match(await post(`${base}/openai/v1/chat/completions`, { model: 'shop', messages: [{ role: 'user', content: 'yes' }], approval: given }), { status: 400, json: { error: { message } } })
  }
  for (const [given, message] of wrong(approval.id)) {
    t.match((await post(`${base}/a2a`, a2a([{ text: 'yes' }, { data: { approval: given } }], { taskId: id, contextId }), headers)).json, { error: { code: -32602, message } })
  }
  t.strictSame(calls(), [])
  t.match((await post(`${base}/vac/shop`, { user_input: '-', approval: { id: direct.id, approved: true } })).json, { answer: 'It is deleted.' })
  t.match((await post(`${base}/a2a`, a2a([{ data: { approval: { id: approval.id, approved: true } } }], { taskId: id, contextId }), headers)).text, /It is deleted/)
  t.strictSame(calls(), ['direct', 'a2a'])
})

test('a question is answered after the SIGKILL of its host', async t => {
  const { folder, calls } = await workspace(t, '  tasks: { store: sqlite, path: ./tasks.db }\n')
  const first = await start(t, folder)
  const asked = new Map<string, string>()
  const conversation = crypto.randomUUID()
  asked.set('direct', (await post(`${first.url}/vac/shop`, { user_input: 'Delete a', conversation_id: conversation })).text)
  const task = await post(`${first.url}/a2a`, a2a([{ text: 'Delete b' }]), { 'a2a-version': '1.0' })
  const { id: taskId, contextId } = task.json.result.task
  const response = await post(`${first.url}/openai/v1/responses`, { model: 'shop', input: 'Delete c' })
  for (const { text } of [{ text: asked.get('direct')! }, task, response]) t.match(text, /May the tool/)
  first.kill('SIGKILL')
  await first.ended
  const second = await start(t, folder)
  t.strictSame(calls(), [])
  t.match((await post(`${second.url}/vac/shop`, { user_input: 'yes', conversation_id: conversation })).json, { answer: 'It is deleted.' })
  t.match((await post(`${second.url}/a2a`, a2a([{ text: 'yes' }], { taskId, contextId }), { 'a2a-version': '1.0' })).text, /It is deleted/)
  t.match((await post(`${second.url}/openai/v1/responses`, { model: 'shop', input: 'no', previous_response_id: response.json.id })).text, /I left it/)
  t.strictSame(calls(), ['a', 'b'])
  t.match((await post(`${second.url}/vac/shop`, { user_input: '-', approval: { id: idIn(asked.get('direct')!), approved: true } })).json, { answer: /was answered before/ })
  t.strictSame(calls(), ['a', 'b'])
})

test('two replicas on one database: asked on one, answered on the other, and called once', async t => {
  const { folder, calls } = await workspace(t, `  tasks: { url: ${JSON.stringify(await testDatabase(t))} }\n`)
  const [one, two] = [await host(t, folder), await host(t, folder)]
  const direct = (await post(`${one}/vac/shop`, { user_input: 'Delete a' })).json.approval
  t.match((await post(`${two}/vac/shop`, { user_input: '-', approval: { id: direct.id, approved: true } })).json, { answer: 'It is deleted.' })
  const conversation = crypto.randomUUID()
  await post(`${one}/vac/shop`, { user_input: 'Delete b', conversation_id: conversation })
  t.match((await post(`${two}/vac/shop`, { user_input: 'yes', conversation_id: conversation })).json, { answer: 'It is deleted.' })
  const { id, contextId } = (await post(`${one}/a2a`, a2a([{ text: 'Delete c' }]), { 'a2a-version': '1.0' })).json.result.task
  t.match((await post(`${two}/a2a`, a2a([{ text: 'yes' }], { taskId: id, contextId }), { 'a2a-version': '1.0' })).text, /It is deleted/)
  t.strictSame(calls(), ['a', 'b', 'c'])
  // several answers at the same time, also different ones: one counts
  for (const path of ['d', 'e', 'f']) {
    const { approval: { id } } = (await post(`${one}/vac/shop`, { user_input: `Delete ${path}` })).json
    const answers = await Promise.all([one, two, one, two].map(async base => (await post(`${base}/vac/shop`, { user_input: '-', approval: { id, approved: true } })).json.answer))
    t.strictSame(answers.filter(answer => answer === 'It is deleted.').length, 1, answers.join())
    t.equal(answers.filter(answer => /was answered before/.test(answer)).length, 3)
    t.strictSame(calls().filter(call => call === path), [path])
  }
})

test('for another owner the question of somebody is one that does not exist, in each form', async t => {
  const { folder, calls } = await workspace(t, `  protocols: { ${AI_SDK_6} }\n  auth: { tokens: [{ owner: alice, sha256: ${hash('alices-token')} }, { owner: bob, sha256: ${hash('bobs-token')} }] }\n`)
  const base = await host(t, folder)
  const alice = { authorization: 'Bearer alices-token' }
  const bob = { authorization: 'Bearer bobs-token' }
  const byteIdentical = async (form: string, send: (id: string) => Promise<{ status: number, text: string }>, foreign: string, unknown: string): Promise<void> => {
    const plain = async (id: string): Promise<string> => { const { status, text } = await send(id); return `${status} ${text}`.replaceAll(id, 'ID').replace(/[0-9a-f]{8}-[\w-]{27}|"req[\w-]*"|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…') }
    t.equal(await plain(foreign), await plain(unknown), form)
  }
  const { approval: { id } } = (await post(`${base}/vac/shop`, { user_input: 'Delete a' }, alice)).json
  await byteIdentical('direct', async id => await post(`${base}/vac/shop`, { user_input: '-', approval: { id, approved: true } }, bob), id, 'A'.repeat(22))
  // the card and the approval of a chat
  const chatId = crypto.randomUUID()
  const frames = framesOf((await post(`${base}/ai/shop`, chat(chatId, user('Delete b')), alice)).text)
  const { toolCallId, approvalId } = frames.find(({ type }) => type === 'tool-approval-request')!
  const { messageId } = frames.find(({ type }) => type === 'start')!
  const part = { type: 'dynamic-tool', toolName: 'ask_user', toolCallId, input: {}, state: 'approval-responded', approval: { id: approvalId, approved: true } }
  const messages = [user('Delete b'), { id: messageId, role: 'assistant', parts: [part] }]
  t.notMatch((await post(`${base}/ai/shop`, chat(chatId, ...messages), bob)).text, /It is deleted/)
  t.strictSame(calls(), [])
  // a task of MCP, and the state of a call
  const able = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const { taskId } = (await mcp(base, { name: 'vac_query_shop', arguments: { query: 'Delete c' } }, able, 'tools/call', alice)).json.result
  const inputRequests = await until(async () => (await mcp(base, { taskId }, able, 'tasks/get', alice)).json.result.inputRequests, 'the task asks')
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'accept', content: { reply: true } } }
  await byteIdentical('MCP task', async taskId => ({ status: 0, text: (await mcp(base, { taskId, inputResponses }, able, 'tasks/update', bob)).text }), taskId, crypto.randomUUID())
  const { requestState, inputRequests: asked } = (await mcp(base, { name: 'vac_query_shop', arguments: { query: 'Delete d' } }, { elicitation: { form: {} } }, 'tools/call', alice)).json.result
  const stolen = await mcp(base, { name: 'vac_query_shop', arguments: { query: 'Delete d' }, requestState, inputResponses: { [Object.keys(asked)[0]!]: { action: 'accept', content: { reply: true } } } }, { elicitation: { form: {} } }, 'tools/call', bob)
  t.match(stolen.json, { error: { code: -32602 } })
  t.strictSame(calls(), [])
  t.match((await post(`${base}/ai/shop`, chat(chatId, ...messages), alice)).text, /It is deleted/)
  t.strictSame(calls(), ['b'])
})

test('an agent that asks another one passes its question on whole, and the reply to it', async t => {
  const { folder, calls } = await workspace(t)
  const base = await host(t, folder)
  const remote = remoteAgents({ agents: [{ name: 'shop', url: base, skill: 'vac_stream_shop' }] })
  t.teardown(() => remote.close())
  const app = await createHost({ vacs: ['peer'], stream_interpreter: remote.interpreters.shop!, enable_a2a_agent: true, server: { logger: { level: 'silent' } } })
  t.teardown(() => app.close())
  const near = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'a2a-version': '1.0' }
  for (const [path, parts] of [['one', () => [{ text: 'yes' }]], ['two', (id: string) => [{ data: { approval: { id, approved: true } } }]]] as const) {
    const { task } = (await post(`${near}/a2a`, a2a([{ text: `Delete ${path}` }]), headers)).json.result
    const { id, contextId, status } = task
    const { approval } = status.message.parts.find((part: Json) => part.data !== undefined).data
    t.match(approval, { tool: 'delete_file', input: { path }, id: /^[\w-]{22}$/ })
    t.match(JSON.stringify(task), /May the tool/)
    t.match((await post(`${near}/a2a`, a2a(parts(approval.id), { taskId: id, contextId }), headers)).text, /It is deleted/)
  }
  t.strictSame(calls(), ['one', 'two'])
})

test('`approve` names what there is, and a store that cannot be opened is reported with its place', async t => {
  const { folder } = await workspace(t, '  tasks: { path: ./calls.log/tasks.db }\n')
  await t.rejects(createHost({ config: await readConfig(join(folder, 'vac_config.yaml')), server: { logger: { level: 'silent' } } }),
    { code: 'CONFIG_INVALID', message: /vac_config\.yaml:12:5 {2}`approve` needs the task store, which keeps approvals: [^]*; or remove `approve`\n +12 \| {5}approve: \[destructive\]/ })
  await t.rejects(createHost({ vacs: { a: { approve: ['no_such_tool'] } }, stream_interpreter: 'echo' }), { code: 'VAC_TOOLS', message: /"no_such_tool"/ })
})
