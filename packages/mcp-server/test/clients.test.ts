import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { test } from 'tap'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { serve } from './fixtures/wire.js'

const answers = {
  elicitation: { action: 'accept', content: { username: 'ann', email: 'ann@example.com', name: 'Ann' } },
  sampling: { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test' },
  roots: { roots: [{ uri: 'file:///tmp', name: 'tmp' }] }
} as const

async function listen (t: Parameters<typeof serve>[0]): Promise<URL> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = await serve(t, { sources: [fixtureSource()], tasks })
  t.teardown(() => tasks.close())
  return new URL(`${await app.listen({ host: '127.0.0.1', port: 0 })}/mcp`)
}

const textOf = (result: unknown): string => (result as { content: Array<{ text?: string }> }).content.map(({ text }) => text ?? '').join()

test('the SDK\'s legacy client lists, calls, reads, answers and gets notifications of changes', async t => {
  const url = await listen(t)
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {}, roots: {} } })
  t.teardown(() => client.close())
  client.setRequestHandler(ElicitRequestSchema, async () => answers.elicitation as never)
  client.setRequestHandler(CreateMessageRequestSchema, async () => answers.sampling as never)
  client.setRequestHandler(ListRootsRequestSchema, async () => answers.roots as never)
  const transport = new StreamableHTTPClientTransport(url)
  await client.connect(transport as unknown as Transport)
  t.ok(transport.sessionId)
  t.equal(client.getServerVersion()?.name, 'polyvac')
  t.match((await client.listTools()).tools.map(({ name }) => name), ['test_simple_text'])
  t.equal(textOf(await client.callTool({ name: 'test_simple_text' })), 'This is a simple text response for testing.')
  const progress: number[] = []
  await client.callTool({ name: 'test_tool_with_progress' }, undefined, { onprogress: ({ progress: at }) => { progress.push(at) } })
  t.strictSame(progress, [0, 50, 100])
  t.match(textOf(await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })), /action=accept.*ann@example.com/)
  t.match(textOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 'Capital?' } })), /Paris/)
  t.match(textOf(await client.callTool({ name: 'test_input_required_result_list_roots' })), /file:\/\/\/tmp/)
  t.match(textOf(await client.callTool({ name: 'test_reconnection' })), /this is the answer/)
  t.match((await client.readResource({ uri: 'test://template/7/data' })).contents, [{ text: /"id":"7"/ }])
  await t.rejects(client.readResource({ uri: 'test://none' }), { code: -32002 })
  t.match(await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }), { messages: [{ content: { text: /arg1='a'/ } }] })
  t.strictSame((await client.complete({ ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'pari' } })).completion.values, ['paris'])
  const changed = new Promise<void>(resolve => { client.setNotificationHandler(ToolListChangedNotificationSchema, () => { resolve() }) })
  await client.callTool({ name: 'test_trigger_tool_change' })
  await changed
  const controller = new AbortController()
  const cancelled = client.callTool({ name: 'slow_compute', arguments: { seconds: 30 } }, undefined, { signal: controller.signal })
  setTimeout(() => { controller.abort('enough') }, 50)
  await t.rejects(cancelled, /enough/)
  const stream = client.experimental.tasks.callToolStream({ name: 'slow_compute', arguments: { seconds: 0.1, label: 'task' } }, undefined, { task: {} })
  const kinds: string[] = []
  for await (const message of stream) kinds.push(message.type === 'result' ? textOf(message.result) : message.type)
  t.equal(kinds[0], 'taskCreated')
  t.equal(kinds.at(-1), 'task took 0.1 s')
  await transport.terminateSession()
})

for (const mode of ['legacy', 'auto'] as const) {
  test(`the dual-era client does the same, negotiating ${mode}`, async t => {
    const url = await listen(t)
    const client = new ModernClient({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode } })
    t.teardown(() => client.close())
    client.setRequestHandler('elicitation/create', async () => answers.elicitation as never)
    client.setRequestHandler('sampling/createMessage', async () => answers.sampling as never)
    client.setRequestHandler('roots/list', async () => answers.roots as never)
    await client.connect(new ModernTransport(url))
    t.equal(client.getNegotiatedProtocolVersion(), mode === 'auto' ? '2026-07-28' : '2025-11-25')
    t.ok((await client.listTools()).tools.length > 20)
    const progress: number[] = []
    await client.callTool({ name: 'test_tool_with_progress' }, { onprogress: ({ progress: at }: { progress: number }) => { progress.push(at) } })
    t.strictSame(progress, [0, 50, 100])
    t.match(textOf(await client.callTool({ name: 'test_input_required_result_multi_round' })), /Ann likes/)
    t.match(textOf(await client.callTool({ name: 'test_input_required_result_multiple_inputs' })), /Paris.*file:\/\/\/tmp/)
    t.match(textOf(await client.callTool({ name: 'test_header_tool', arguments: { region: 'Århus ' } })), 'region: Århus ')
    t.match(await client.getPrompt({ name: 'test_input_required_result_prompt' }), { messages: [{ content: { text: /In the context of/ } }] })
    t.match((await client.readResource({ uri: 'test://static-text' })).contents, [{ text: /static text/ }])
    t.match(await client.callTool({ name: 'test_error_handling' }), { isError: true })
  })
}

test('the inspector lists the tools and calls one', async t => {
  const url = await listen(t)
  const inspector = fileURLToPath(new URL('index.js', import.meta.resolve('@modelcontextprotocol/inspector-cli')))
  for (const transport of ['http', 'sse']) {
    const inspect = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await promisify(execFile)(process.execPath, [inspector, String(url), '--transport', transport, '--method', ...words], { env: { ...process.env, NODE_OPTIONS: '' } })).stdout)
    t.match(await inspect('tools/list'), { tools: [{ name: 'test_simple_text' }] }, transport)
    t.match(await inspect('tools/call', '--tool-name', 'greet', '--tool-arg', 'name=World'), { content: [{ text: 'Hello, World!' }] }, transport)
  }
})
