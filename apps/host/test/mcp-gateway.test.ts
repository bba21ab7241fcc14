import { test, type Test } from 'tap'
import type { McpServerConfig } from '@polyvac/mcp-gateway'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { banner } from '../../polyvac/src/banner.js'
import { createHost, parseConfig, readConfig, type HostOptions } from '../src/index.js'
import { runPolyvac } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'

const cli = fileURLToPath(new URL('../../polyvac/dist/cli.js', import.meta.url))
const endWithParent = new URL('../../../test/fixtures/end-with-parent.mjs', import.meta.url).href
const require = createRequire(import.meta.url)
const published = (name: string, ...args: string[]): McpServerConfig => ({
  name, command: process.execPath, args: [join(require.resolve(`@modelcontextprotocol/server-${name}/package.json`), '..', 'dist', 'index.js'), ...args], inherit_env: []
})

async function host (t: Test, options: HostOptions) {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', server: { logger: false }, ...options })
  t.teardown(() => app.close())
  return app
}

test('mcp_servers offers the tools of the configured servers, and interpreters call them', async t => {
  const app = await host(t, {
    mcp_servers: [published('everything')],
    async * stream_interpreter (question, name, history, { callTool, listTools }) {
      const echo = (await listTools!()).find(({ name }) => name === 'echo')!
      const { content } = await callTool!(echo.server, echo.name, { message: question })
      for (const block of content) if (block.type === 'text') yield block.text
    }
  })
  t.strictSame(app.polyvac.protocols, ['@polyvac/mcp-gateway'])
  const { tools } = (await app.inject('/mcp/tools')).json()
  t.ok(tools.some((tool: { name: string, server: string }) => tool.name === 'echo' && tool.server === 'everything'))
  t.match((await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'hello' } })).json(), { answer: 'Echo: hello' })
  t.ok('/mcp/call' in (await app.inject('/openapi.json')).json().paths)
})

test('an interpreter calls tools also in a host that does not listen', async t => {
  const app = await host(t, {
    mcp_servers: { everything: published('everything') },
    async stream_interpreter (question, name, history, { callTool }) { return { answer: JSON.stringify(await callTool!('everything', 'get-sum', { a: 2, b: 3 })) } }
  })
  t.match(await app.polyvac.vacs.get('demo').ask({ question: 'x' }), { answer: /5/ })
})

test('without mcp_servers there are no routes and no callTool', async t => {
  for (const mcp_servers of [[], null, undefined]) {
    const app = await host(t, { mcp_servers, async stream_interpreter (question, name, history, { callTool }) { return { answer: typeof callTool } } })
    t.equal((await app.inject('/mcp/tools')).statusCode, 404)
    t.match((await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'x' } })).json(), { answer: 'undefined' })
  }
})

test('callers of the gateway are authenticated, like those of every protocol', async t => {
  const app = await host(t, { mcp_servers: [published('everything')], authenticate: ({ headers }) => headers.authorization === undefined ? undefined : { owner: 'ada' } })
  t.match((await app.inject('/mcp/tools')).json(), { code: 'UNAUTHENTICATED' })
  t.equal((await app.inject({ url: '/mcp/tools', headers: { authorization: 'x' } })).statusCode, 200)
})

test('a server without its credential is reported in /mcp/servers, the banner and, without its name, /ready, and everything else works', async t => {
  const yaml = `kind: vacConfig
service:
  stream_interpreter: echo
  mcp_servers:
    - { name: github, command: node, args: [-e, "process.exit(1)"], env: { GITHUB_TOKEN: "\${POLYVAC_TEST_NO_SUCH_TOKEN}" } }
    - ${JSON.stringify(published('everything'))}
vac:
  demo: { display_name: Demo }
`
  const config = parseConfig(yaml, join(process.cwd(), 'vac_config.yaml'), { env: {} })
  t.match(config.warnings, [{ message: /POLYVAC_TEST_NO_SUCH_TOKEN is not set; this MCP server is not started/ }])
  const app = await createHost({ config, server: { logger: false } })
  t.teardown(() => app.close())
  await app.ready()
  await until(() => app.polyvac.gateway?.get('everything').status().state === 'ready', 'the server "everything" is ready')
  t.match((await app.inject('/mcp/servers')).json().servers, [{ name: 'github', state: 'failed', missingEnv: ['POLYVAC_TEST_NO_SUCH_TOKEN'] }, { name: 'everything', state: 'ready' }])
  t.match(await banner(app, config, 'http://host'), /^ {2}server {3}github {2}\(.*POLYVAC_TEST_NO_SUCH_TOKEN.*\)\n {2}server {3}everything {2}\(is ready\)$/m)
  const ready = await app.inject('/ready')
  t.equal(ready.statusCode, 200)
  t.match(ready.json(), { status: 'ready', reasons: [{ part: 'mcp.github', reason: 'has failed: MISSING_VARIABLE' }] }, 'a stranger reads no name of a variable')
  t.equal((await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: 'x' } })).statusCode, 200)
  t.ok((await app.inject('/mcp/tools')).json().tools.length > 0)
})

test('names that a server does not have are a warning once, a reason of /ready, and have their line', async t => {
  const lines: Array<{ msg: string, problems?: string[] }> = []
  const stream = { write (line: string) { lines.push(JSON.parse(line)) } }
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-names-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const server = { ...published('filesystem', '.'), approve: ['reed_file', 'write_file', 'destructive'], deny: ['move_fil', 'edit_file'] }
  await writeFile(join(folder, 'vac_config.yaml'), `kind: vacConfig
service: { stream_interpreter: agent, tasks: { store: memory }, mcp_servers: [${JSON.stringify(server)}, { name: gone, url: "http://127.0.0.1:9/mcp" }] }
vac:
  wrong: { tools: [filesystem__read_text_file, filesystem__edit_file, gone__any], approve: [filesystem__writ_file] }
  right: { tools: [filesystem], approve: [filesystem__write_file, gone__any] }
`)
  const config = await readConfig(join(folder, 'vac_config.yaml'))
  const app = await createHost({ config, server: { logger: { level: 'warn', stream } } })
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const ready = async () => (await app.inject('/ready')).json<{ reasons: Array<{ part: string, reason: string }>, configuration?: Array<{ line: number, message: string }> }>()
  await until(async () => (await ready()).reasons.some(({ part }) => part === 'vac.wrong'), 'the lists are compared')
  const { reasons, configuration } = await ready()
  t.match(reasons.filter(({ part }) => part !== 'mcp.gone').sort((a, b) => a.part < b.part ? -1 : 1), [
    { part: 'mcp.filesystem', reason: 'is ready: UNKNOWN_TOOLS' },
    { part: 'vac.wrong', reason: 'its `tools` or `approve` name what its MCP servers do not have; the log has the names' }
  ])
  t.match(configuration, [
    { line: 4, message: /^the MCP server "filesystem" has no tool "edit_file"; / },
    { line: 4, message: /^the MCP server "filesystem" has no tool "writ_file"; did you mean "write_file"\?$/ }
  ])
  await app.polyvac.reload(config)
  await app.polyvac.gateway!.get('filesystem').restart()
  await until(() => app.polyvac.gateway!.get('filesystem').status().state === 'ready', 'the server is ready again')
  await app.inject('/mcp/tools')
  const warned = lines.map(({ msg, problems = [] }) => `${msg} ${problems.join(' ')}`).filter(line => /has no tool|that it does not have/.test(line))
  t.match(warned.sort(), [
    /vac_config\.yaml:4 {2}the MCP server "filesystem" has no tool "edit_file"/,
    /vac_config\.yaml:4 {2}the MCP server "filesystem" has no tool "writ_file"/,
    /names tools that it does not have `deny` names "move_fil", which is not a tool of the server; did you mean "move_file"\? `approve` names "reed_file", which is not a tool of the server; did you mean "read_file"\?$/
  ])
  t.equal(warned.length, 3)
  t.match(await banner(app, config, 'http://host'), /server {3}filesystem {2}\(`deny` names "move_fil"[^)]*; `approve` names "reed_file"/)
})

test('variables that the configuration refers to reach only servers that name them', async t => {
  const env = { SIGNING_KEY: 'of-our-own', HOME: process.env.HOME, PATH: process.env.PATH, PROVIDER_KEY: 'for-servers' }
  // eslint-disable-next-line no-template-curly-in-string
  const yaml = 'kind: vacConfig\nservice: { stream_interpreter: echo, mcp_servers: [SERVER] }\nvac: { demo: { display_name: "${SIGNING_KEY}" } }\n'
  const { inherit_env: none, ...bare } = published('everything')
  const config = parseConfig(yaml.replace('SERVER', JSON.stringify(bare)), join(process.cwd(), 'vac_config.yaml'), { env })
  const before = { ...process.env }
  Object.assign(process.env, env)
  t.teardown(() => { process.env = before })
  const app = await createHost({ config, server: { logger: false } })
  t.teardown(() => app.close())
  const { result } = (await app.inject({ method: 'POST', url: '/mcp/call', payload: { server: 'everything', tool: 'get-env', arguments: {} } })).json()
  t.match(result.content[0].text, /PROVIDER_KEY/)
  t.notMatch(result.content[0].text, /of-our-own/)
})

async function workspace (t: Test, servers: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-mcp-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await writeFile(join(folder, 'note.md'), '# Tides\n\nThe tide turns at six.\n')
  await writeFile(join(folder, 'vac_config.yaml'), configuration(servers))
  return folder
}

const configuration = (servers: string): string => `kind: vacConfig\nservice: { stream_interpreter: echo, enable_a2a_agent: false, mcp_servers: ${servers} }\nvac: { demo: { display_name: Demo } }\n`

function run (t: Test, args: string[], cwd: string) {
  const { NODE_OPTIONS, ...env } = process.env
  const child = spawn(process.execPath, ['--import', endWithParent, cli, ...args], { cwd, env: { ...env, PORT: '0' }, stdio: ['pipe', 'pipe', 'pipe'] })
  t.teardown(() => { child.kill('SIGKILL') })
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  const ended = new Promise<number | null>(resolve => { child.on('close', resolve) })
  return { child, out, ended }
}

test('polyvac tools and polyvac call use the servers of the configuration', async t => {
  const folder = await workspace(t, JSON.stringify([published('filesystem', '.')]))
  const tools = await runPolyvac(['tools'], folder)
  t.equal(tools.code, 0, tools.stderr)
  t.match(tools.stdout, /^ {2}filesystem read_text_file +Read/m)
  const call = await runPolyvac(['call', 'filesystem', 'read_text_file', '{"path":"note.md"}'], folder)
  t.equal(call.code, 0, call.stderr)
  t.match(JSON.parse(call.stdout), { content: [{ text: /The tide turns/ }] })
  const bad = await runPolyvac(['call', 'filesystem', 'read_text_fil'], folder)
  t.equal(bad.code, 1)
  t.match(bad.stderr, /did you mean "read_text_file"/)
  const broken = await runPolyvac(['call', 'filesystem', 'read_text_file', '{path}'], folder)
  t.equal(broken.code, 2)
  t.match(broken.stderr, /not JSON/)
})

test('a killed server is restarted; a reload changes the servers; no process is left at the end', async t => {
  const folder = await workspace(t, JSON.stringify([published('filesystem', '.')]))
  const { child, out, ended } = run(t, ['start'], folder)
  const url = await until(() => /http:\/\/127\.0\.0\.1:\d+(?=\/mcp\/tools)/.exec(out.stdout)?.[0], 'the banner shows the address')
  t.match(out.stdout, /^ {2}server {3}filesystem {2}\(is (?:ready|starting)\)$/m)
  const get = async (path: string): Promise<any> => await (await fetch(url + path, { headers: { connection: 'close' } })).json()
  const read = async (): Promise<any> => await (await fetch(`${url}/mcp/call`, {
    method: 'POST', headers: { 'content-type': 'application/json', connection: 'close' }, body: JSON.stringify({ server: 'filesystem', tool: 'read_text_file', arguments: { path: 'note.md' } })
  })).json()
  t.match(await read(), { result: { content: [{ text: /The tide turns/ }] } })
  const pid = (await get('/mcp/servers')).servers[0].pid
  process.kill(pid, 'SIGKILL')
  await until(async () => (await get('/mcp/servers')).servers[0].pid !== pid, 'the killed server has a new process')
  t.match(await read(), { result: { content: [{ text: /The tide turns/ }] } })
  await writeFile(join(folder, 'vac_config.yaml'), configuration(JSON.stringify([published('filesystem', '.'), published('memory')])))
  await until(async () => (await get('/mcp/servers')).servers[1]?.state === 'ready', 'the added server is ready')
  const servers = (await get('/mcp/servers')).servers
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  for (const { pid } of servers) t.throws(() => process.kill(pid, 0))
})
