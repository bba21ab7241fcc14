import { test } from 'tap'
import { join } from 'node:path'
import { root } from './fixtures/pages.js'
import { startHost } from './fixtures/service.js'
import { until } from './fixtures/until.js'

interface Reply { readonly status: number, readonly text: string }

async function post (url: string, body: object, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  return { status: response.status, text: await response.text() }
}

const nested = (levels: number): object => levels === 0 ? { kind: 5 } : { kind: 'a', children: [nested(levels - 1)] }

test('arguments that take exponential time against the schema of a server reach the server, and the host lives on', async t => {
  const config = {
    kind: 'vacConfig',
    apiVersion: 'v1',
    service: { enable_mcp_server: true, mcp_servers: [{ name: 'bad', command: process.execPath, args: [join(root, 'packages/mcp-gateway/test/fixtures/bad-server.mjs')] }] }
  }
  const folder = t.testdir({ 'vac_config.yaml': JSON.stringify(config) })
  const host = await startHost(folder, ['--log-level', 'warn'])
  t.teardown(() => host.close())

  const deep = await post(`${host.url}/mcp/call`, { server: 'bad', tool: 'render', arguments: { root: nested(14) } })
  t.equal(deep.status, 200, deep.text)
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bad__render', arguments: { root: nested(14) }, _meta } }
  const mcp = await post(`${host.url}/mcp`, call, {
    accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'bad__render'
  })
  t.match(mcp.text, /"content"/)
  const wrong = { kind: 'a', children: Array.from({ length: 1_500 }, () => ({ kind: 5 })) }
  const siblings = await post(`${host.url}/mcp/call`, { server: 'bad', tool: 'render', arguments: { root: wrong } })
  t.equal(siblings.status, 400)
  t.match(siblings.text, /arguments\/root: must match a schema in anyOf.*MCP_INVALID_ARGUMENTS/)
  t.ok(siblings.text.length < 8_000, 'the text of the problems is short')
  await until(() => /"tools":\["render"\].*input schemas can take too many steps/.test(host.output), 'the log names the tool')
  t.equal((await fetch(`${host.url}/health`)).status, 200)
})
