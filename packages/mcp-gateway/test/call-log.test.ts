import Fastify from 'fastify'
import { test } from 'tap'
import { fileURLToPath } from 'node:url'
import { createGateway, mcpGatewayPlugin } from '../src/index.js'
import { published } from './fixtures/app.js'

test('each call of a tool has one log line, over POST /mcp/call and from code, without arguments, results and fields of streams', async t => {
  const lines: Array<Record<string, unknown>> = []
  const logger = { level: 'info', stream: { write (line: string) { lines.push(JSON.parse(line)) } } }
  const app = Fastify({ logger, forceCloseConnections: true })
  const gateway = createGateway({ servers: [published('everything')], log: app.log as never })
  app.addHook('preClose', () => gateway.close())
  await app.register(mcpGatewayPlugin, { gateway })
  t.teardown(() => app.close())
  gateway.start()
  await gateway.settled()
  const calls = () => lines.splice(0).filter(({ msg }) => msg === 'tool call')
  const post = async (server: string, tool: string, args: object, accept = 'application/json') => await app.inject({
    method: 'POST', url: '/mcp/call', payload: { server, tool, arguments: args }, headers: { accept }
  })
  await post('everything', 'echo', { message: 'CANARY' })
  await post('everything', 'echo', { message: 'CANARY' }, 'text/event-stream')
  await post('everything', 'echo', {})
  await post('everything', 'ecko', {})
  await post('nowhere', 'echo', {})
  const seen = calls()
  t.match(seen, [
    { server: 'everything', tool: 'echo', protocol: 'mcp-gateway', outcome: 'completed', ms: Number, reqId: String },
    { tool: 'echo', outcome: 'completed' },
    { tool: 'echo', outcome: 'MCP_INVALID_ARGUMENTS' },
    { tool: 'ecko', outcome: 'MCP_TOOL_NOT_FOUND' }
  ])
  t.equal(seen.length, 4, 'a server that is not configured gets no call')
  t.notMatch(JSON.stringify(seen), /CANARY|firstByteMs|chunks|answerChars|sources/)
  await gateway.call('everything', 'echo', { message: 'CANARY' }, { principal: { owner: 'alice' } })
  await t.rejects(gateway.call('everything', 'x'.repeat(10_000), {}))
  t.match(calls(), [
    { server: 'everything', tool: 'echo', protocol: 'code', owner: 'alice', outcome: 'completed' }, { tool: 'x'.repeat(128), outcome: 'MCP_TOOL_NOT_FOUND' }
  ])
})

test('a failed call is logged with its reason, without the result of the tool', async t => {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({ logger: { stream: { write (line: string) { lines.push(JSON.parse(line)) } } }, forceCloseConnections: true })
  const args = [fileURLToPath(new URL('fixtures/bad-server.mjs', import.meta.url))]
  const gateway = createGateway({ servers: { odd: { command: process.execPath, args } }, log: app.log as never })
  app.addHook('preClose', () => gateway.close())
  await app.register(mcpGatewayPlugin, { gateway })
  t.teardown(() => app.close())
  gateway.start()
  await gateway.settled()
  const { statusCode, payload } = await app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'odd', tool: 'fail', arguments: {} } })
  t.equal(statusCode, 500)
  t.match(payload, 'structuredContent', 'the caller has the whole result')
  t.match(lines.find(({ code }) => code === 'MCP_TOOL_FAILED'), { level: 40, mcpServer: 'odd', tool: 'fail', msg: /the disk is full/ })
  t.notMatch(JSON.stringify(lines), /structuredContent|isError/)
})
