import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { createGateway, type McpServerConfig } from '@polyvac/mcp-gateway'
import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../test/fixtures/until.js'
import { fixtureSource } from './conformance-fixture/source.mjs'
import { modern, modernBody, modernHeaders, says, serve, sourceOf, Wire } from './fixtures/wire.js'
import { RpcError } from '../src/protocol/rpc.js'
import { behind } from './fixtures/behind.js'

const answers = {
  elicitation: { action: 'accept', content: { username: 'ann', email: 'ann@example.com', name: 'Ann', context: 'here' } },
  sampling: { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test' },
  roots: { roots: [{ uri: 'file:///tmp', name: 'tmp' }] }
} as const

const textOf = (result: unknown): string => (result as { content: Array<{ text?: string }> }).content.map(({ text }) => text ?? '').join()

type Test = Parameters<typeof serve>[0]

async function frontOf (t: Test, up: McpServerConfig): Promise<{ app: Awaited<ReturnType<typeof serve>>, gateway: ReturnType<typeof createGateway>, url: URL }> {
  const gateway = createGateway({ servers: { up } })
  gateway.start()
  t.teardown(() => gateway.close())
  const app = await serve(t, { sources: [gateway.toolSource()] })
  return { app, gateway, url: new URL(`${await app.listen({ host: '127.0.0.1', port: 0 })}/mcp`) }
}

for (const isLegacy of [true, false]) {
  for (const mode of ['legacy', 'auto'] as const) {
    test(`the dual-era client, negotiating ${mode}, with a ${isLegacy ? 'legacy' : 'modern'} upstream server`, async t => {
      const upstream = await serve(t, { sources: [fixtureSource()] })
      const { url } = await frontOf(t, { url: `${await behind(upstream, isLegacy)}/mcp` })
      const client = new ModernClient({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode } })
      t.teardown(() => client.close())
      client.setRequestHandler('elicitation/create', async () => answers.elicitation as never)
      client.setRequestHandler('sampling/createMessage', async () => answers.sampling as never)
      client.setRequestHandler('roots/list', async () => answers.roots as never)
      await client.connect(new ModernTransport(url))
      const progress: number[] = []
      await client.callTool({ name: 'up__test_tool_with_progress' }, { onprogress: ({ progress: at }: { progress: number }) => { progress.push(at) } })
      t.strictSame(progress, [0, 50, 100])
      t.match(textOf(await client.callTool({ name: 'up__test_elicitation', arguments: { message: 'Who?' } })), /action=accept.*ann@example.com/)
      t.match(textOf(await client.callTool({ name: 'up__test_sampling', arguments: { prompt: 'Capital?' } })), /Paris/)
      t.match(textOf(await client.callTool({ name: 'up__test_input_required_result_multi_round' })), /Ann likes/)
      if (!isLegacy) t.match(textOf(await client.callTool({ name: 'up__test_input_required_result_multiple_inputs' })), /Paris.*file:\/\/\/tmp/)
      t.match(textOf(await client.callTool({ name: 'up__test_header_tool', arguments: { region: 'Århus ' } })), 'region: Århus ')
      t.match(await client.getPrompt({ name: 'up__test_input_required_result_prompt' }), { messages: [{ content: { text: /In the context of/ } }] })
      t.match((await client.readResource({ uri: 'test://static-text' })).contents, [{ text: /static text/ }])
      t.match(await client.callTool({ name: 'up__test_error_handling' }), { isError: true })
      t.match(textOf(await client.callTool({ name: 'up__test_reconnection' })), /this is the answer/)
      t.match((await client.complete({ ref: { type: 'ref/prompt', name: 'up__test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'pari' } })).completion.values, ['paris'])
    })
  }
}

test('a call that failed after its progress is not resumed', async t => {
  let gets = 0
  const upstream = await serve(t, {
    sources: [sourceOf({
      fails: {
        async run (_args, context) {
          await context.progress({ progress: 1 })
          throw new RpcError('invalidParams', 'not this way')
        }
      },
      hangs: {
        async run (_args, context) {
          await context.progress({ progress: 1 })
          return await new Promise(resolve => { context.signal.addEventListener('abort', () => resolve(says(''))) })
        }
      }
    })]
  })
  const base = await behind(upstream, true)
  upstream.server.on('request', ({ method, headers }) => { if (method === 'GET' && headers['last-event-id'] !== undefined) gets++ })
  const { app, gateway } = await frontOf(t, { url: `${base}/mcp` })
  t.match((await modern(app, 'tools/call', { name: 'up__fails', arguments: {} })).json.result, { isError: true, content: [{ text: /not this way/ }] })
  const left = new Wire(app, modernBody('tools/call', { name: 'up__hangs', arguments: {} }, {}, { progressToken: 1 }), modernHeaders('tools/call', { name: 'up__hangs' }))
  await left.until('notifications/progress')
  left.leave()
  await until(() => gateway.get('up').status().callsInFlight === 0, 'no call is in flight')
  // the time in which a transport would resume the stream
  await delay(2_500)
  t.equal(gets, 0)
})

test('serverInfo of a result names the server that answers', async t => {
  const upstream = await serve(t, { sources: [sourceOf({ a: { run: () => ({ ...says(''), _meta: { own: 1 } }) } })], name: 'behind' })
  const { app } = await frontOf(t, { url: `${await behind(upstream, false)}/mcp` })
  const { _meta: meta } = (await modern(app, 'tools/call', { name: 'up__a', arguments: {} })).json.result!
  t.match(meta, { own: 1, 'io.modelcontextprotocol/serverInfo': { name: 'polyvac' } })
})

test('a prompt of a legacy server that asks twice gets an answer to each question', async t => {
  const form = (message: string): { method: string, params: Record<string, unknown> } => ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: { type: 'object', properties: { x: { type: 'string' } } } } })
  const upstream = await serve(t, {
    sources: [sourceOf({}, {
      prompts: {
        list: () => [{ name: 'twice' }],
        async get (_name, _args, context) {
          const one = await context.ask({ q: form('one') })
          const two = await context.ask({ q: form('two') })
          return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify([one.q.content, two.q.content]) } }] }
        }
      }
    })]
  })
  const { app } = await frontOf(t, { url: `${await behind(upstream, true)}/mcp` })
  const able = { capabilities: { elicitation: {} } }
  let params: Record<string, unknown> = { name: 'up__twice', arguments: {} }
  let result: Record<string, any> = {}
  for (let rounds = 0; rounds < 4; rounds++) {
    result = (await modern(app, 'prompts/get', params, able)).json.result!
    if (result.resultType !== 'input_required') break
    const inputResponses = Object.fromEntries(Object.entries(result.inputRequests as Record<string, { params: { message: string } }>).map(([key, question]) => [key, { action: 'accept', content: { x: question.params.message } }]))
    params = { name: 'up__twice', arguments: {}, inputResponses, requestState: result.requestState }
  }
  t.match(result.messages, [{ content: { text: '[{"x":"one"},{"x":"two"}]' } }])
})
