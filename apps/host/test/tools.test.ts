import { defineTools } from '@polyvac/core'
import { test, type Test } from 'tap'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createHost, parseConfig, type HostOptions } from '../src/index.js'

const agent = 'export async function stream_interpreter (question, vac, history, { tools }) {\n  const { content: [{ text }] } = await tools[0].call({ q: question })\n  return text\n}\n'
const tool = (prefix: string): string => `{ name: 'echo', inputSchema: { type: 'object', properties: { q: { type: 'string' } } }, handler: ({ q }) => \`${prefix} \${q}\` }`
const file = (rest = ''): string => `kind: vacConfig\nservice:\n  stream_interpreter: ./agent.mjs\n  tools: ./tools.mjs\n${rest}`

async function folderOf (t: Test, tools: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-tools-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'agent.mjs'), agent)
  await writeFile(join(folder, 'tools.mjs'), tools)
  return folder
}

async function host (t: Test, tools: string, text = file('vac:\n  a: {}\n'), options: HostOptions = {}) {
  const folder = await folderOf(t, tools)
  const config = parseConfig(text, join(folder, 'vac_config.yaml'))
  const app = await createHost({ watchDocuments: false, config, ...options })
  t.teardown(() => app.close())
  return { app, folder, config }
}

const MODERN = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} }

const ask = async (app: FastifyInstance) => (await app.inject({ method: 'POST', url: '/vac/a', payload: { user_input: 'x' } })).json<{ answer: string }>().answer

test('the tools of a module are those of interpreters, also after a reload, and not of MCP clients', async t => {
  const { app, folder, config } = await host(t, `export default [${tool('first')}]\n`, file('  enable_mcp_server: true\nvac:\n  a: { tools: [echo] }\n'))
  t.equal(await ask(app), 'first x')
  const listed = await app.inject({ method: 'POST', url: '/mcp', headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }, payload: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: MODERN } } })
  t.match(listed.body, /vac_query_a/)
  t.notMatch(listed.body, /"echo"/)
  await writeFile(join(folder, 'tools.mjs'), `export const tools = [${tool('second')}]\n`)
  await utimes(join(folder, 'tools.mjs'), new Date(), new Date(Date.now() + 5_000))
  await app.polyvac.reload(config)
  t.equal(await ask(app), 'second x')
})

test('worker threads call them, and a program gives them itself', async t => {
  const { app } = await host(t, `export const tools = [${tool('thread')}]\n`, file('  async_stream: false\nvac:\n  a: {}\n'))
  t.equal(await ask(app), 'thread x')
  const tools = defineTools([{ name: 'own', inputSchema: { type: 'object' }, handler: () => 'own' }])
  const { app: program } = await host(t, '', undefined, { tools })
  t.equal(await ask(program), 'own')
})

test('a module that is wrong is reported with its place', async t => {
  for (const [tools, problem] of [
    ['export const x = 1\n', /the tools ".\/tools.mjs" cannot be used: it exports no tools; export const tools = defineTools/],
    [`export default [${tool('a')}, ${tool('b')}]\n`, /two tools are named "echo", the entries 0 and 1 of the tools; rename one/],
    ['export default [1]\n', /the entry 0 of the tools is not a tool/],
    ['const a = 1\nexport default b\n', /loading it failed\n\S+tools\.mjs:2:\d+ {2}b is not defined/]
  ] as const) await t.rejects(host(t, tools), { code: 'TOOLS_MODULE', message: problem })
  const missing = file('vac:\n  a: {}\n').replace('./tools.mjs', './none.mjs')
  await t.rejects(host(t, '', missing), { code: 'TOOLS_MODULE', message: /there is no file \S+none\.mjs; paths are relative to the configuration file$/ })
})

test('the list of a VAC names what there is, and no two tools of one name', async t => {
  const servers = '  mcp_servers: [{ name: files, url: "http://127.0.0.1:9/mcp" }]\n'
  const good = await host(t, `export default [${tool('a')}]\n`, file(`${servers}vac:\n  a: { tools: [files, files__read, echo, "vac:b"] }\n  b: {}\n`))
  t.ok(good.app, 'a server that does not answer is no mistake')
  for (const [list, problem] of [
    ['echos', /the VAC "a" cannot have its tools: there is no tool, MCP server or agent "echos"; did you mean "echo"\?/],
    ['file, other', /"file"; did you mean "files"\?; there is no tool, MCP server or agent "other"; there are: files, echo/]
  ] as const) await t.rejects(host(t, `export default [${tool('a')}]\n`, file(`${servers}vac:\n  a: { tools: [${list}] }\n`)), { code: 'VAC_TOOLS', message: problem })
  const both = `export default [${tool('a').replace('echo', 'vac_b')}]\n`
  await t.rejects(host(t, both, file('vac:\n  a: { tools: [vac_b, "vac:b"] }\n  b: {}\n')), { code: 'VAC_TOOLS', message: /the tool "vac_b" of the application and the VAC "b" would both be the tool "vac_b"/ })
  await t.rejects(createHost({ vacs: { a: { tools: 'echo' as never } }, stream_interpreter: 'echo' }), { code: 'VAC_TOOLS', message: /`tools` must be a list of texts/ })
  const self = 'kind: vacConfig\nvac:\n  a: { tools: ["vac:a", "vac:c"] }\n  b: {}\n'
  t.throws(() => parseConfig(self, '/x/vac_config.yaml'), { message: /:3:16 {2}there is no other VAC "vac:a"; known: vac:b[^]*:3:25 {2}there is no other VAC "vac:c"; known: vac:b/ })
})
