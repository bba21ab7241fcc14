import { telemetryNames } from '@polyvac/core/plugin'
import { test } from 'tap'
import { createHost } from '../src/index.js'
import { recordSpans, takeSpans } from '../../../test/fixtures/traces.js'
import { until } from '../../../test/fixtures/until.js'
import { questions } from '../../../test/probes/index.mjs'

/** What a caller or an operator keeps secret, by the place where it is put. Each has the word CANARY. */
const secret = (place: string): string => `CANARY-${place}`

recordSpans()

test('no log line, no metric and no span has a secret of a caller or of the configuration', async t => {
  process.env.TEST_CANARY_KEY = secret('environment')
  t.teardown(() => { delete process.env.TEST_CANARY_KEY })
  const lines: string[] = []
  const app = await createHost({
    vacs: { demo: { openai: { base_url: `http://user:${secret('base-url-password')}@127.0.0.1:9/v1`, api_key: secret('api-key') } } } as never,
    stream_interpreter: async function * (question, _vac, _history, { callTool }) {
      yield 'text '
      if (question.includes('fail')) throw Object.assign(new Error('the interpreter failed'), { code: 'UPSTREAM' })
      if (question.includes('tool')) await callTool?.('broken', 'x', { password: question })
      yield question
    },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    state_key: secret('state-key-that-is-32-bytes-long'),
    mcp_servers: {
      broken: { command: process.execPath, args: ['-e', 'process.exit(1)', secret('argument')], env: { KEY: secret('child-environment') } },
      remote: { url: `http://user:${secret('url-password')}@127.0.0.1:9/mcp?token=${secret('url-query')}`, headers: { authorization: `Bearer ${secret('upstream-header')}` } }
    } as never,
    tasks: { store: 'memory' },
    telemetry: { prometheus: true },
    authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: 'alice', scopes: ['admin', 'vac:*', 'tool:remote'] },
    server: { logger: { level: 'trace', stream: { write (line: string) { lines.push(line) } } } }
  })
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${secret('authorization')}`, cookie: `session=${secret('cookie')}`, 'x-api-key': secret('x-api-key') }
  const query = `?token=${secret('query')}`
  const statuses: number[] = []
  const post = async (url: string, payload: object | string, more: object = {}): Promise<void> => {
    const { statusCode } = await app.inject({ method: 'POST', url: `${url}${query}`, payload, headers: { 'content-type': 'application/json', ...headers, ...more } })
    statuses.push(statusCode)
  }
  const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
  for (const question of ['ask', 'fail', 'tool']) {
    const text = `${question} ${secret('question')}`
    await post('/vac/demo', { user_input: text, password: secret('field') })
    for (const [, { path, body, headers }] of questions(text, 'demo')) await post(path, { ...body, user: secret('user') }, headers)
    await post('/a2a', rpc('SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] },
      configuration: { taskPushNotificationConfig: { url: `https://user:${secret('webhook-password')}@hook.example.org/?k=${secret('webhook-query')}`, token: secret('push-token') } }
    }), { 'a2a-version': '1.0' })
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' } }
    await post('/mcp', rpc('tools/call', { name: 'no_such_tool', arguments: { key: secret('tool-argument') }, _meta: meta }),
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'no_such_tool', accept: 'application/json, text/event-stream' })
    await post('/mcp/call', { server: 'remote', tool: 'x', arguments: { key: secret('tool-argument') } })
  }
  await post('/vac/demo', `{"user_input": "${secret('bad-json')}`)
  await post(`/vac/${secret('path')}`, { user_input: 'x' })
  await post('/vac/demo', { user_input: ['x', secret('wrong-type')] })
  await until(() => app.polyvac.gateway?.status().every(({ state }) => state !== 'starting'), 'both MCP servers have failed')
  t.ok(statuses.includes(200) && statuses.includes(400) && statuses.includes(404), 'calls succeeded and failed')
  const { payload } = await app.inject({ url: '/metrics', headers })
  t.match(payload, 'http_server_request_duration')
  t.notMatch(payload, /CANARY/)
  t.ok(lines.some(line => line.includes('"task run"')))
  const taken = await takeSpans()
  const documented = new Set<unknown>(Object.values(telemetryNames))
  t.strictSame(taken.flatMap(({ attributes }) => Object.keys(attributes)).filter(name => !documented.has(name)), [], 'all names are in the table of the documentation')
  const spans = taken.map(({ name, attributes, events, status, links }) => JSON.stringify({ name, attributes, events, status, links }))
  for (const name of ['invoke_agent demo', 'run_task', 'execute_tool x', 'POST /mcp/call']) t.ok(spans.some(span => span.includes(name)), name)
  t.strictSame(spans.filter(span => /CANARY-(?!path)/.test(span)), [])
  // the path of an unknown VAC is not a secret
  t.strictSame(lines.filter(line => /CANARY-(?!path)/.test(line)), [])
})
