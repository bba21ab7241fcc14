import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test, type Test } from 'tap'

// the built command line, as desktop clients start it; `npm test` builds first
const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const require = createRequire(import.meta.url)
const everything = join(require.resolve('@modelcontextprotocol/server-everything/package.json'), '..', 'dist', 'index.js')

async function folder (t: Test, files: Record<string, string>): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'polyvac-mcp-'))
  t.teardown(() => rm(made, { recursive: true, force: true, maxRetries: 5 }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(made, name), text)
  return made
}

const CONFIG = `kind: vacConfig
service:
  stream_interpreter: ./interpreter.mjs
  mcp_servers: [{ name: everything, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(everything)}], inherit_env: [] }]
vac:
  noisy: { display_name: Noisy }
`
const NOISY = `console.log('loaded')
process.stdout.write('on standard output')
export async function * stream_interpreter (question) {
  console.log('asked')
  for (const word of ['Heard: ', question]) {
    yield word
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
`

const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } })

test('published clients of both eras start the command and call VACs and tools of other servers, also when an interpreter prints', async t => {
  const made = await folder(t, { 'vac_config.yaml': CONFIG, 'interpreter.mjs': NOISY })
  const me = { name: 'test', version: '1' }
  const command = { command: process.execPath, args: [cli, 'mcp', made], stderr: 'pipe' as const }
  const legacy = new Client(me)
  await legacy.connect(new StdioClientTransport(command))
  t.teardown(() => legacy.close())
  const modern = new ModernClient(me, { versionNegotiation: { mode: 'auto' } })
  await modern.connect(new ModernStdio(command))
  t.teardown(() => modern.close())
  for (const [revision, client] of Object.entries({ '2025-11-25': legacy, '2026-07-28': modern })) {
    const { tools } = await client.listTools()
    t.ok(['vac_query_noisy', 'everything__echo'].every(name => tools.some(tool => tool.name === name)), revision)
    const said: string[] = []
    const options = { onprogress: ({ message = '' }: { message?: string | undefined }) => { said.push(message) } }
    const result = client instanceof ModernClient
      ? await client.callTool({ name: 'vac_stream_noisy', arguments: { query: 'hi' } }, options)
      : await client.callTool({ name: 'vac_stream_noisy', arguments: { query: 'hi' } }, undefined, options)
    t.match(result, { structuredContent: { final_answer: 'Heard: hi' } })
    t.equal(said.join(''), 'Heard: hi')
    t.match(await client.callTool({ name: 'everything__echo', arguments: { message: 'x' } }), { content: [{ text: 'Echo: x' }] })
  }
  t.equal(modern.getNegotiatedProtocolVersion?.(), '2026-07-28')
})

test('a folder without configuration is served, standard output has only protocol lines, and the command ends with its input', async t => {
  const made = await folder(t, { 'hours.md': '# Hours\n\nThe shop opens at nine.\n' })
  const child = spawn(process.execPath, [cli, 'mcp', made], { stdio: ['pipe', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => { out += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { err += chunk.toString() })
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'list_available_vacs', arguments: {}, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } }
  child.stdin.end(`${initialize}\n${JSON.stringify(call)}\n`)
  const [code] = await once(child, 'close') as [number]
  t.equal(code, 0, err)
  const answers = out.trim().split('\n').map(line => JSON.parse(line) as { id: number })
  t.strictSame(answers.map(({ id }) => id).sort(), [1, 2])
  t.match(out, /polyvac-mcp/)
})

test('SIGTERM ends the command and its child processes', async t => {
  const made = await folder(t, { 'vac_config.yaml': CONFIG, 'interpreter.mjs': NOISY })
  const child = spawn(process.execPath, [cli, 'mcp', made], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.write(`${initialize}\n`)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [code, signal] = await once(child, 'exit') as [number, string | null]
  t.strictSame([code, signal], [0, null])
})

test('an invalid configuration is reported on standard error', async t => {
  const child = spawn(process.execPath, [cli, 'mcp', join(tmpdir(), 'polyvac-no-such-folder')], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => { out += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { err += chunk.toString() })
  const [code] = await once(child, 'close') as [number]
  t.strictSame([code, out], [1, ''])
  t.match(err, /there is no such folder or file/)
})
