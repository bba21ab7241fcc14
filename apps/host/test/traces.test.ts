import { test, type Test } from 'tap'
import type { InterpreterChunk, InterpreterExtra } from '@polyvac/core'
import type { McpServerConfig } from '@polyvac/mcp-gateway'
import type { FastifyInstance } from 'fastify'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createHost, type HostOptions } from '../src/index.js'
import { lineOf, linesOf, recordSpans, takeSpans } from '../../../test/fixtures/traces.js'
import { questions } from '../../../test/probes/index.mjs'
import { until } from '../../../test/fixtures/until.js'

const require = createRequire(import.meta.url)
const everything: McpServerConfig = {
  name: 'everything',
  command: process.execPath,
  args: [join(require.resolve('@modelcontextprotocol/server-everything/package.json'), '..', 'dist', 'index.js')],
  inherit_env: []
}
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${PARENT}-01`
const json = { 'content-type': 'application/json' }

recordSpans()

async function * answer (question: string, name: string, history: unknown, { callTool, signal }: InterpreterExtra): AsyncGenerator<InterpreterChunk> {
  if (question === 'fail') throw Object.assign(new Error('canary-cause'), { code: 'canary cause' })
  if (question === 'wait') await new Promise((resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('aborted')) }) })
  if (question.startsWith('tool')) {
    const { content } = await callTool!('everything', 'echo', { message: 'canary-argument' })
    yield JSON.stringify(content)
  }
  if (question === 'steps') {
    yield { tool_call: { id: 'a', name: 'search', input: { q: 'canary' } } }
    yield { tool_call: { id: 'b', name: 'read', input: {} } }
    yield { tool_result: { id: 'a', output: 'canary' } }
    yield { tool_result: { error: new Error('canary') } }
    yield { tool_result: { id: 'of no call', output: 1 } }
    yield { tool_call: { name: 'forgotten' } }
  }
  yield 'canary-answer '
  yield 'end'
}

async function host (t: Test, options: HostOptions = {}): Promise<{ app: FastifyInstance, url: string }> {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: answer, server: { logger: false }, ...options })
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, url }
}

async function post (url: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
  return await response.text()
}

test('each form of each protocol runs the VAC in one span, below its request or in a task that is linked to it', async t => {
  const { url } = await host(t, { enable_a2a_agent: true, enable_mcp_server: true })
  for (const [what, { path, body, headers }, { isTask, isKept }] of questions('hello', 'demo')) {
    t.notMatch(await post(`${url}${path}`, body, headers), /traceparent/, what)
    const spans = await takeSpans()
    const [call, ...others] = spans.filter(({ name }) => name === 'invoke_agent demo')
    t.strictSame(others, [], what)
    t.match(call?.attributes, { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'demo', 'polyvac.protocol': what.split(':')[0] }, what)
    const request = spans.find(({ name }) => name.startsWith('POST '))!
    t.match(request.attributes, { 'http.request.method': 'POST', 'http.response.status_code': 200 }, what)
    const line = lineOf(call!, spans)
    if (isTask !== true && isKept !== true) {
      t.ok(line.startsWith('INTERNAL invoke_agent demo < ') && line.endsWith(` < SERVER ${request.name}`), `${what}: ${line}`)
      t.equal(spans.length, line.split(' < ').length, `${what}: there are no others`)
      continue
    }
    const run = spans.find(({ name }) => name === 'run_task')!
    t.equal(line, 'INTERNAL invoke_agent demo < CONSUMER run_task', what)
    t.strictSame(run.links.map(({ context }) => context.spanId), [request.spanContext().spanId], `${what}: linked to the request`)
    t.not(run.spanContext().traceId, request.spanContext().traceId, `${what}: a trace apart`)
  }
})

test('a call continues the trace of its request', async t => {
  const { url } = await host(t)
  await post(`${url}/vac/streaming/demo/sse`, { user_input: 'canary-question' }, { traceparent, tracestate: 'vendor=1', baggage: 'secret=canary' })
  const spans = await takeSpans()
  t.strictSame(linesOf(spans), [
    `INTERNAL invoke_agent demo < SERVER POST /vac/streaming/:vector_name/sse < ${PARENT}`, `SERVER POST /vac/streaming/:vector_name/sse < ${PARENT}`
  ])
  t.ok(spans.every(span => span.spanContext().traceId === TRACE))
  for (const malformed of ['x', '00-0-0-0', `ff-${TRACE}-${PARENT}-01`, `00-${'0'.repeat(32)}-${PARENT}-01`, `${traceparent}-more`]) {
    await post(`${url}/vac/demo`, { user_input: 'x' }, { traceparent: malformed })
    t.notOk((await takeSpans()).some(span => span.spanContext().traceId === TRACE), malformed)
  }
})

test('a failed, a late and a cancelled call end their spans with only the code of the error', async t => {
  const { url } = await host(t)
  await post(`${url}/vac/demo`, { user_input: 'fail' })
  let spans = await takeSpans()
  t.strictSame(linesOf(spans), [
    'INTERNAL invoke_agent demo !VAC_INTERPRETER_FAILED < SERVER POST /vac/:vector_name', 'SERVER POST /vac/:vector_name !500'
  ])
  t.notMatch(JSON.stringify(spans.map(({ attributes, status, events }) => [attributes, status, events])), /canary/)
  await post(`${url}/vac/streaming/demo/sse`, { user_input: 'wait', stream_timeout: 1 })
  spans = await takeSpans()
  t.ok(linesOf(spans).some(line => line.startsWith('INTERNAL invoke_agent demo !VAC_TIMEOUT')), linesOf(spans).join())
  const abort = new AbortController()
  const call = fetch(`${url}/vac/demo`, { method: 'POST', headers: json, body: '{"user_input":"wait"}', signal: abort.signal })
  call.catch(() => {})
  await until(async () => (await fetch(`${url}/vac`)).status === 200, 'the service answers')
  abort.abort()
  await call.catch(() => {})
  spans = await takeSpans()
  t.ok(linesOf(spans).some(line => /^(?:INTERNAL invoke_agent demo !CALL_ABORTED|SERVER POST \/vac\/:vector_name !CLIENT_DISCONNECTED)/.test(line)), linesOf(spans).join())
  await post(`${url}/canary-path?canary=1`, {})
  spans = await takeSpans()
  t.strictSame(spans.map(({ name }) => name), ['POST'])
  t.notMatch(JSON.stringify(spans[0]?.attributes), /canary/)
})

test('a tool of a published server, called by an interpreter and through the MCP server', async t => {
  const { app, url } = await host(t, { mcp_servers: [everything], enable_mcp_server: true })
  await app.polyvac.gateway!.settled()
  await takeSpans()
  await post(`${url}/vac/demo`, { user_input: 'tool' })
  const http = 'SERVER POST /vac/:vector_name'
  let spans = await takeSpans()
  t.strictSame(linesOf(spans), [
    `CLIENT tools/call echo < INTERNAL execute_tool echo < INTERNAL invoke_agent demo < ${http}`,
    `INTERNAL execute_tool echo < INTERNAL invoke_agent demo < ${http}`,
    `INTERNAL invoke_agent demo < ${http}`,
    http
  ])
  t.notMatch(JSON.stringify(spans.map(({ name, attributes }) => [name, attributes])), /canary/)
  const { result } = JSON.parse(await post(`${url}/mcp`, {
    jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  }, { accept: 'application/json, text/event-stream' })) as { result: unknown }
  t.ok(result)
  await takeSpans()
  await post(`${url}/mcp`, {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: {
      _meta: {
        traceparent,
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' }
      },
      name: 'everything__echo',
      arguments: { message: 'canary' }
    }
  }, { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'everything__echo' })
  spans = await takeSpans()
  const server = `SERVER tools/call everything__echo < ${PARENT}`
  t.strictSame(linesOf(spans), [
    `CLIENT tools/call echo < INTERNAL execute_tool everything__echo < ${server}`,
    `INTERNAL execute_tool everything__echo < ${server}`,
    'SERVER POST /mcp',
    server
  ])
  const mcp = spans.find(span => lineOf(span, spans) === server)
  t.match(mcp?.attributes, { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'everything__echo' })
  t.equal(mcp?.links[0]?.context.spanId, spans.find(({ name }) => name === 'POST /mcp')?.spanContext().spanId, 'the request is linked')
})

test('tools that an interpreter yields have spans, whether its caller sees steps or not', async t => {
  const { url } = await host(t)
  for (const steps of [undefined, true]) {
    await post(`${url}/vac/demo`, { user_input: 'steps', steps })
    const spans = await takeSpans()
    const above = 'INTERNAL invoke_agent demo < SERVER POST /vac/:vector_name'
    t.strictSame(linesOf(spans), [
      `INTERNAL execute_tool forgotten !TOOL_UNFINISHED < ${above}`, `INTERNAL execute_tool read !tool_error < ${above}`,
      `INTERNAL execute_tool search < ${above}`, above, 'SERVER POST /vac/:vector_name'
    ])
    t.match(spans.find(({ name }) => name === 'execute_tool search')?.attributes, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' })
    t.notMatch(JSON.stringify(spans.map(({ name, attributes }) => [name, attributes])), /canary/)
  }
})

test('a tool that fails over MCP ends its spans with tool_error, and one whose caller leaves with CALL_ABORTED', async t => {
  const { app, url } = await host(t, { enable_mcp_server: true })
  const call = (query: string, signal?: AbortSignal): Promise<Response> => fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...json, accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'vac_query_demo' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'vac_query_demo',
        arguments: { query },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' }
        }
      }
    }),
    ...signal !== undefined && { signal }
  })
  const tool = (error: string): string => `INTERNAL invoke_agent demo !${error} < INTERNAL execute_tool vac_query_demo < SERVER tools/call vac_query_demo < SERVER POST /mcp`
  await (await call('fail')).text()
  t.strictSame(linesOf(await takeSpans()), [
    'INTERNAL execute_tool vac_query_demo !tool_error < SERVER tools/call vac_query_demo < SERVER POST /mcp',
    tool('VAC_INTERPRETER_FAILED'),
    'SERVER POST /mcp',
    'SERVER tools/call vac_query_demo !tool_error < SERVER POST /mcp'
  ])
  // over a connection that has carried calls: its first listener for disconnects is older than that of this request
  for (let i = 0; i < 3; i++) await (await call('hello')).text()
  await takeSpans()
  const abort = new AbortController()
  const left = call('wait', abort.signal)
  left.catch(() => {})
  await until(() => app.polyvac.vacs.running === 1, 'the interpreter runs')
  abort.abort()
  await left.catch(() => {})
  await until(() => app.polyvac.vacs.running === 0, 'the interpreter ends')
  t.strictSame(linesOf(await takeSpans()), [
    'INTERNAL execute_tool vac_query_demo !CALL_ABORTED < SERVER tools/call vac_query_demo < SERVER POST /mcp',
    tool('CALL_ABORTED'),
    'SERVER POST /mcp !CLIENT_DISCONNECTED',
    'SERVER tools/call vac_query_demo !CALL_ABORTED < SERVER POST /mcp'
  ])
})

test('an HTTP upstream gets the trace in its header and in _meta, and nothing else of the caller', async t => {
  const calls: { headers: IncomingHttpHeaders, meta: unknown }[] = []
  const upstream = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => { text += String(chunk) })
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text === '' ? '{}' : text) as { id?: number, method?: string, params?: { _meta?: unknown } }
      if (method === 'tools/call') calls.push({ headers: request.headers, meta: params?._meta })
      const results: Record<string, object> = {
        initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'u', version: '1' } },
        'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'hi' }] }
      }
      const result = results[method ?? '']
      if (request.method !== 'POST') response.writeHead(405).end()
      else if (id === undefined) response.writeHead(202).end()
      else response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, ...result === undefined ? { error: { code: -32601, message: 'no' } } : { result } }))
    })
  })
  await new Promise<void>(resolve => { upstream.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { upstream.closeAllConnections(); upstream.close() })
  const { port } = upstream.address() as AddressInfo
  const { app, url } = await host(t, { mcp_servers: [{ name: 'everything', url: `http://127.0.0.1:${port}/mcp` }] })
  await app.polyvac.gateway!.settled()
  await takeSpans()
  await post(`${url}/mcp/call`, { server: 'everything', tool: 'echo', arguments: {} }, { traceparent, 'x-secret': 'canary', baggage: 'a=canary' })
  const spans = await takeSpans()
  const client = spans.find(({ name }) => name === 'tools/call echo')!
  t.match(client.attributes, { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo' })
  const sent = `00-${TRACE}-${client.spanContext().spanId}-01`
  t.match(calls, [{ headers: { traceparent: sent }, meta: { traceparent: sent } }])
  t.notMatch(JSON.stringify(calls), /canary/)
})

test('a task of A2A 0.3 is linked to the traces that its message and the request name', async t => {
  const { url } = await host(t, { enable_a2a_agent: true })
  const message = { messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: 'hello' }], metadata: { traceparent } }
  await post(`${url}/a2a`, { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message, metadata: { traceparent: `00-${'7'.repeat(32)}-${PARENT}-01` } } })
  const run = (await takeSpans()).find(({ name }) => name === 'run_task')
  t.strictSame(run?.links.slice(1).map(({ context }) => context.traceId), [TRACE, '7'.repeat(32)])
})

test('with capture_content the spans have the first characters of texts, arguments and results', async t => {
  const { app, url } = await host(t, { mcp_servers: [everything], telemetry: { capture_content: true } })
  await app.polyvac.gateway!.settled()
  await takeSpans()
  await post(`${url}/vac/demo`, { user_input: `tool ${'q'.repeat(20_000)}` })
  const spans = await takeSpans()
  const call = spans.find(({ name }) => name === 'invoke_agent demo')!.attributes
  const messages = (kind: string): unknown => JSON.parse(call[`gen_ai.${kind}.messages`] as string)
  t.strictSame(messages('input'), [{ role: 'user', parts: [{ type: 'text', content: `tool ${'q'.repeat(8_187)}…` }] }])
  t.match(messages('output'), [{ role: 'assistant', parts: [{ type: 'text', content: /canary-answer end$/ }], finish_reason: 'stop' }])
  t.match(spans.find(({ name }) => name === 'execute_tool echo')?.attributes, {
    'gen_ai.tool.call.arguments': '{"message":"canary-argument"}', 'gen_ai.tool.call.result': /canary-argument/
  })
  await post(`${url}/vac/demo`, { user_input: 'steps' })
  t.match((await takeSpans()).find(({ name }) => name === 'execute_tool search')?.attributes, {
    'gen_ai.tool.call.arguments': '{"q":"canary"}', 'gen_ai.tool.call.result': 'canary'
  }, 'one that it yields')
  // the switch is one for the process
  await host(t)
})
