import { defineTools } from '@polyvac/core'
import { test, type Test } from 'tap'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createHost, parseConfig, readConfig, type HostOptions } from '../src/index.js'

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

/** A host of a configuration in a file, and the warnings of its log. */
async function started (t: Test, tools: string, vac: string, service = '') {
  const folder = await folderOf(t, tools)
  await mkdir(join(folder, 'docs'))
  await writeFile(join(folder, 'docs/tea.md'), '# Tea\n')
  await writeFile(join(folder, 'vac_config.yaml'), `kind: vacConfig\nservice: { tools: ./tools.mjs, tasks: { store: memory }${service} }\nvac:\n${vac}`)
  const warnings: string[] = []
  const stream = { write (line: string) { warnings.push((JSON.parse(line) as { msg: string }).msg.replaceAll(folder, '')) } }
  const config = await readConfig(join(folder, 'vac_config.yaml'))
  const app = await createHost({ config, watchDocuments: false, server: { logger: { level: 'warn', stream } } })
  t.teardown(() => app.close())
  return { app, config, folder, warnings }
}

const described = (name: string): string => `{ name: '${name}', description: 'x', inputSchema: { type: 'object' }, handler: () => '' }`

test('a mistake in `tools` or `approve` has its line, and one name is a list of one', async t => {
  const tools = `export default [${described('echo')}]\n`
  for (const [vac, problem] of [
    ['  a:\n    interpreter: agent\n    tools: [echo, b]\n  b: {}\n', /vac_config\.yaml:6:19 {2}there is no tool, MCP server or agent "b"; did you mean "vac:b"\?\n/],
    ['  a:\n    interpreter: agent\n    approve: ecoh\n', /vac_config\.yaml:6:14 {2}there is no tool, MCP server or agent "ecoh"; did you mean "echo"\?\n/],
    ['  a:\n    interpreter: agent\n    tools:\n      - vac: b\n  b: {}\n', /vac_config\.yaml:7:9 {2}vac\.a\.tools\.0: expected string, got a map\n.*\n.*did you mean "vac:b"\?/],
    ['  a:\n    interpreter: agent\n    tools: "vac: b"\n  b: {}\n', /vac_config\.yaml:6:12 {2}there is no other VAC "vac: b"; known: vac:b\n.*\n.*did you mean "vac:b"\?/],
    ['  a:\n    interpreter: agent\n    tools: 7\n', /vac_config\.yaml:6:12 {2}vac\.a\.tools: expected array, got 7/]
  ] as const) await t.rejects(started(t, tools, vac), { code: 'CONFIG_INVALID', message: problem }, vac)
  const { config } = await started(t, tools, '  a: { interpreter: agent, tools: echo, approve: destructive }\n  b: {}\n', ', stream_interpreter: echo, mcp_servers: [{ name: files, url: "http://127.0.0.1:9/mcp", approve: destructive }]')
  t.match([config.vac.a, config.service.mcp_servers], [{ tools: ['echo'], approve: ['destructive'] }, [{ approve: ['destructive'] }]])
})

test('a single name of the environment is not shown', t => {
  // eslint-disable-next-line no-template-curly-in-string
  const text = 'kind: vacConfig\nvac:\n  a: { tools: "${NAME}" }\n  b: { approve: "${LONG}", tools: [{ vac: "${NAME}" }] }\n'
  const env = { NAME: 'vac:secret-name', LONG: 'secret-'.repeat(50) }
  t.throws(() => parseConfig(text, '/x/vac_config.yaml', { env }), { message: /:3:15 {2}there is no other VAC the value of \$\{NAME\}[^]*:4:17 {2}vac\.b\.approve\.0: expected string length [^\n]*, got the value of \$\{LONG\}\n[^]*:4:36 {2}vac\.b\.tools\.0: expected string, got a map\n(?![^]*secret)/ })
  t.end()
})

test('a tool with the name of one that an agent has itself is refused at the start', async t => {
  const docs = 'memory: [{ d: { vectorstore: folder, path: ./docs, index_file: ":memory:" } }]'
  for (const name of ['ask_user', 'search_tools', 'call_tool', 'search_documents']) {
    await t.rejects(started(t, `export default [${described(name)}]\n`, `  a: { interpreter: agent, ${docs} }\n`), { code: 'CONFIG_INVALID', message: new RegExp(`:4:3 {2}the tool of the application "${name}" has the name of a tool that an agent has itself; rename it`) })
  }
  await t.rejects(started(t, `export default [${described('ask_user')}]\n`, '  a: { interpreter: agent, tools: [ask_user] }\n'), { message: /:4:36 {2}the tool of the application "ask_user"/ })
  const agents = ', a2a_agents: [{ name: ask_user, url: "http://127.0.0.1:9" }]'
  await t.rejects(started(t, 'export default []\n', '  a: { interpreter: agent, tools: [ask_user] }\n', agents), { message: /the remote agent "ask_user" has the name/ })
  t.ok(await started(t, `export default [${described('search_documents')}, ${described('ask_user')}]\n`, '  a: { interpreter: agent, tools: [search_documents] }\n  b: { interpreter: echo }\n'), 'without documents, and where no agent has the tool')
})

test('what has no effect is a warning with its line and the remedy', async t => {
  const { warnings, app, config } = await started(t, `export default [${described('echo')}, { name: 'bare', inputSchema: { type: 'object' }, handler () {} }]\n`, `  a: { interpreter: echo, instructions: Be brief., tools: [echo], approve: [echo], max_steps: 3, tool_search: 9, max_tokens: 5 }
  b: { interpreter: ./agent.mjs, instructions: Be brief., tools: [echo], approve: [echo] }
  c: { interpreter: agent, instructions: rules.md, max_steps: 3 }
  d: { tools: [echo] }
  e: { interpreter: agent, instructions: Read rules.md, tools: [echo] }
  f: { interpreter: agent, instructions: ./docs/tea.md }
`, ', stream_interpreter: echo')
  const ignored = (key: string, line: number, vac = 'a') => `/vac_config.yaml:${line}  \`${key}\` of the VAC "${vac}" has no effect: its interpreter is \`echo\` (set \`interpreter: agent\`, or remove it)`
  const expected = [
    '/vac_config.yaml:2  a model chooses a tool by its description, and these have none: "bare" (add `description`)',
    ...['instructions', 'tools', 'approve', 'max_steps', 'tool_search', 'max_tokens'].map(key => ignored(key, 4)),
    '/vac_config.yaml:6  the instructions of the VAC "c" are the text "rules.md"; a file begins with ./ (did you mean "./rules.md"?)',
    ignored('tools', 7, 'd')
  ]
  t.strictSame(warnings, expected)
  await app.polyvac.reload(config)
  t.strictSame(warnings, expected, 'once')
  t.match((await app.inject('/ready')).json().configuration, expected.map(() => ({ line: Number, message: String })))
  const { warnings: none } = await started(t, 'export default []\n', '  a: { tools: [], max_steps: 3 }\n', ', stream_interpreter: echo, vac_interpreter: ./agent.mjs')
  t.strictSame(none, [], 'a module that answers once may read them')
})

test('a file of instructions that is not there is named with its line', async t => {
  for (const [file, reason] of [['./rules.md', /there is no file \S+\/rules\.md; paths are relative to the configuration file/], ['./docs', /is not a file|folder|directory/i]] as const) {
    await t.rejects(started(t, 'export default []\n', `  a:\n    interpreter: agent\n    instructions: ${file}\n`),
      { code: 'CONFIG_INVALID', message: new RegExp(`vac_config\\.yaml:6:5 {2}the instructions of the VAC "a" cannot be read from "${file}": [^]*${reason.source}`) })
  }
  await t.rejects(createHost({ vacs: { a: { interpreter: 'agent', instructions: './none.md' } } }), { code: 'INSTRUCTIONS_FILE' })
})
