// Writes the table of docs/explain/one-function-many-protocols.md: how many files and functions of Polyvac one warm
// request of each kind calls. `npm run walk` takes some seconds, so `docs/generate.mjs --check` does not run it.
// `node docs/walk.mjs --files` prints the files of each row as well.
import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseConfig } from '@polyvac/core'
import { createHost } from '@polyvac/host'
import { PROBES } from '../test/probes/index.mjs'

const root = new URL('..', import.meta.url)
const page = new URL('explain/one-function-many-protocols.md', import.meta.url)
const MARKED = /(?<=^<!-- walk -->\n)[^]*?(?=^<!-- end -->$)/m

/** Requests of a kind before its count, and counted ones: what not all of them call is the work of a timer. */
const WARM = 3
const COUNTED = 10
/** Time in ms for what follows the last byte: the log line, the end of a task. */
const REST_MS = 60

const FAILED = /"error":\{|"isError":true|"state":"(?:failed|TASK_STATE_FAILED)"/

const serviceOf = (vac, options = {}) => createHost({
  config: parseConfig(`
kind: vacConfig
apiVersion: v1
service:
  enable_a2a_agent: true
  enable_mcp_server: true
  tasks: { store: memory }
  mcp_servers: [{ name: files, command: node, args: [docs/files-server.mjs, ./docs], inherit_env: [] }]
vac: { ${vac} }
`, fileURLToPath(new URL('vac_config.yaml', root))),
  server: { logger: { level: 'info', stream: { write () {} } } },
  ...options
})

const question = 'What aborts a call?'
const read = { path: 'README.md' }
const { direct, openai, a2a, mcp } = PROBES

/** A request of the MCP probe for another tool. */
function upstream () {
  const { path, body, headers } = mcp.ask.vac_query(question, 'demo')
  const name = 'files__read_text_file'
  return { path, body: { ...body, params: { ...body.params, name, arguments: read } }, headers: { ...headers, 'mcp-name': name } }
}

/** `[what, its package, the request]` */
const ROWS = [
  ['`POST /vac/streaming/<name>/sse`', 'vac', () => direct.stream.events(question, 'demo')],
  ['`POST /openai/v1/chat/completions`, streamed', 'vac', () => openai.stream.events(question, 'demo')],
  ['`GET /vac/<name>/search`', 'vac', () => ({ path: `/vac/docs/search?q=${encodeURIComponent(question)}` })],
  ['`POST /vac/<name>`, of documents', 'vac', () => direct.ask.whole(question, 'docs')],
  ['`POST /mcp/call`', 'mcp-gateway', () => ({ path: '/mcp/call', body: { server: 'files', tool: 'read_text_file', arguments: read } })],
  ['`POST /mcp`, a VAC as a tool', 'mcp-server', () => mcp.ask.vac_query(question, 'demo')],
  ['`POST /mcp`, a tool of an external server', 'mcp-server', upstream],
  ['`POST /a2a/tasks/sendSubscribe`', 'a2a', () => a2a.stream['tasks/sendSubscribe'](question, 'demo')],
  ['`POST /a2a`, `SendStreamingMessage`', 'a2a', () => a2a.stream.SendStreamingMessage(question, 'demo')]
]

/** The functions of Polyvac that `send` calls, by file and place; bodies of modules do not count. */
async function calledBy (send) {
  await session.post('Profiler.takePreciseCoverage')
  await send()
  await delay(REST_MS)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return new Map(result.flatMap(({ url, functions }) => {
    const [, folder, file] = url.startsWith(root.href) ? /\/(?:packages|apps)\/([^/]+)\/dist\/(.+)\.js$/.exec(url) ?? [] : []
    const called = file === undefined ? [] : functions.filter(({ ranges: [{ count, startOffset }] }) => count > 0 && startOffset > 0)
    return called.map(({ ranges: [{ startOffset }] }) => [`${url} ${startOffset}`, `${folder}/${file}`])
  }))
}

// they look for the work of other processes, and none may fall into a count
const { setInterval } = globalThis
globalThis.setInterval = (work, ms, ...given) => setInterval(work, 2 ** 31 - 1, ...given)

const apps = [
  await serviceOf('demo: {}', { stream_interpreter: async function * () { yield 'The caller '; yield 'does.' } }),
  await serviceOf('docs: { model: extractive, memory: [{ folder: { vectorstore: folder, path: ./docs/explain } }] }')
]
const addresses = await Promise.all(apps.map(app => app.listen({ host: '127.0.0.1', port: 0 })))
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const rows = []
for (const [what, own, make] of ROWS) {
  const send = async () => {
    const { path, body, headers } = make()
    const response = await fetch(addresses[path.startsWith('/vac/docs') ? 1 : 0] + path, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok || FAILED.test(text)) throw new Error(`${what} answers ${response.status}: ${text.slice(0, 500)}`)
  }
  for (let i = 0; i < WARM; i++) await send()
  let common = await calledBy(send)
  for (let i = 1; i < COUNTED; i++) {
    const next = await calledBy(send)
    common = new Map([...common].filter(([key]) => next.has(key)))
  }
  const files = [...new Set(common.values())].sort()
  const filesOf = name => files.filter(file => file.startsWith(`${name}/`)).length
  rows.push([what, files.length, common.size, `${own} ${filesOf(own)}`, filesOf('core'), files.length - filesOf(own) - filesOf('core')])
  if (process.argv.includes('--files')) process.stdout.write(`${what}\n  ${files.join('\n  ')}\n`)
}
await Promise.all(apps.map(app => app.close()))

const table = [['Request', 'Files', 'Functions', 'Of its package', 'Of core', 'Of others'], Array(6).fill('---'), ...rows].map(cells => `| ${cells.join(' | ')} |\n`).join('')
process.stdout.write(table)
writeFileSync(page, readFileSync(page, 'utf8').replace(MARKED, table))
