// Starts the app, uses its tools, kills a server by hand, and ends it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const folder = await mkdtemp(join(tmpdir(), 'polyvac-example-'))
const server = spawn(process.execPath, ['server.js'], {
  cwd: import.meta.dirname, env: { ...process.env, PORT: '0', MEMORY_FILE: join(folder, 'memory.jsonl') }, stdio: ['ignore', 'pipe', 'inherit']
})
try {
  const url = await addressOf(server)

  // the tools of both servers, each with its server; only the allowed ones
  const { tools } = await get(`${url}/mcp/tools`)
  assert.deepEqual(tools.filter(tool => tool.server === 'files').map(tool => tool.name), ['list_directory', 'read_text_file', 'search_files'])
  assert.ok(tools.some(tool => tool.server === 'memory' && tool.name === 'create_entities'))
  for (const tool of tools) assert.equal(tool.inputSchema.type, 'object')

  // a document, and a note
  const read = await call(url, 'files', 'read_text_file', { path: 'opening-hours.md' })
  assert.equal(read.status, 200)
  assert.match(read.body.result.content[0].text, /from nine to five/)
  await call(url, 'memory', 'create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['comes on Mondays'] }] })
  const graph = await call(url, 'memory', 'read_graph', {})
  assert.match(JSON.stringify(graph.body), /comes on Mondays/)

  // errors name the problem and the nearest known name
  assert.deepEqual([(await call(url, 'files', 'write_file', {})).status, (await call(url, 'file', 'x', {})).status], [404, 404])
  assert.match((await call(url, 'file', 'x', {})).body.error, /did you mean "files"/)
  assert.equal((await call(url, 'files', 'read_text_file', {})).status, 400)
  const missing = await call(url, 'files', 'read_text_file', { path: 'nowhere.md' })
  assert.equal(missing.status, 500)
  assert.equal(missing.body.code, 'MCP_TOOL_FAILED')

  // a server that is killed is restarted
  const { pid } = await state(url, 'files')
  process.kill(pid, 'SIGKILL')
  while ((await state(url, 'files')).pid === pid) await delay(20)
  assert.equal((await call(url, 'files', 'read_text_file', { path: 'opening-hours.md' })).status, 200)

  const { servers } = await get(`${url}/mcp/servers`)
  server.kill('SIGTERM')
  const [code] = await once(server, 'exit')
  assert.equal(code, 0)
  for (const { pid } of servers) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  process.stdout.write('mcp-gateway: all as expected\n')
} finally {
  server.kill()
  await rm(folder, { recursive: true, force: true })
}

async function get (url) {
  return await (await fetch(url, { headers: { connection: 'close' } })).json()
}

async function call (url, server, tool, args) {
  const response = await fetch(`${url}/mcp/call`, {
    method: 'POST', headers: { connection: 'close', 'content-type': 'application/json' }, body: JSON.stringify({ server, tool, arguments: args })
  })
  return { status: response.status, body: await response.json() }
}

async function state (url, name) {
  return (await get(`${url}/mcp/servers`)).servers.find(server => server.name === name)
}

async function addressOf ({ stdout }) {
  let text = ''
  for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
    text += piece
    const [, address] = /listening on (http\S+)/.exec(text) ?? []
    if (address !== undefined) { stdout.resume(); return address }
  }
  throw new Error(`the server did not start: ${text}`)
}
