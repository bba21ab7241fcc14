// What each layer of a request costs: CPU profiles of the server, next to a bare route for the same bytes.
import autocannon from 'autocannon'
import { readFile, writeFile } from 'node:fs/promises'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { GARBAGE, LAYERS, REST } from './parts/layers.mjs'
import { echoCall } from './parts/mcp-peers.mjs'
import { withServers } from './parts/server-process.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const CONNECTIONS = 8
/** Times instead of numbers of requests: the scenario ends on any machine. */
const WARM_UP_SECONDS = 3
const SECONDS = 2
const MESSAGES = [{ role: 'user', content: QUESTION }]

const PAGE = new URL('../docs/explain/performance.md', import.meta.url)
const TABLE = /(?<=<!-- layers -->\n)[^]*(?=<!-- \/layers -->)/

const post = (path, body) => async () => ({ path, body: JSON.stringify(body) })
const chat = { model: 'instant', messages: MESSAGES }
const tool = way => server => echoCall({ ...server, way })

/** Title of the column, server, request. */
const COLUMNS = [
  ['bare', 'bare', post('/vac/instant', { user_input: QUESTION })],
  ['direct', 'polyvac', post('/vac/instant', { user_input: QUESTION })],
  ['chat', 'polyvac', post('/openai/v1/chat/completions', chat)],
  ['responses', 'polyvac', post('/openai/v1/responses', { model: 'instant', input: QUESTION, store: false })],
  ['AI SDK', 'polyvac', post('/ai/instant', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: QUESTION }] }] })],
  ['A2A', 'tasks-memory', async () => WIRES.v1.send('instant', QUESTION)],
  ['MCP', 'mcp-stateless', tool('session')],
  ['gateway', 'gateway', tool('bare')]
]

export const title = 'What each layer costs, in µs of CPU for each request'
export const longestMs = 300_000

export async function run () {
  const columns = []
  for (const [name, kind, makeCall] of COLUMNS) columns.push({ name, ...await withServers([kind], server => measure(server, makeCall)) })
  const table = tableOf(columns)
  process.stdout.write(`\n${table}`)
  if (process.argv.includes('--keep')) await writeFile(PAGE, (await readFile(PAGE, 'utf8')).replace(TABLE, `\n${table}\n`))
  return columns.map(({ name, cpuUs, layers }) => figure(`${name}: CPU of a request`, cpuUs, 'µs', {}, { layers }))
}

async function measure (server, makeCall) {
  const { url, path, body, headers = { 'content-type': 'application/json' }, setupClient } = await makeCall(server)
  const call = { url: url ?? `http://127.0.0.1:${server.port}${path}`, method: 'POST', headers, body, setupClient, connections: CONNECTIONS }
  const load = async duration => {
    const { requests: { total }, non2xx, errors } = await awake(() => autocannon({ ...call, duration }))
    if (non2xx + errors > 0) throw new Error(`${server.kind}: ${non2xx} answers were not 2xx, ${errors} requests failed`)
    return total
  }
  await load(WARM_UP_SECONDS)
  const before = await server.ask('cpuMs')
  const cpuUs = await load(SECONDS).then(async total => (await server.ask('cpuMs') - before) * 1000 / total)
  await server.ask('startProfile')
  await load(SECONDS)
  const times = await server.ask('stopProfile')
  // the profiler costs time too: its shares of the time that a request takes without it
  const all = Object.values(times).reduce((sum, time) => sum + time, 0)
  return { cpuUs, layers: Object.fromEntries(Object.entries(times).map(([layer, time]) => [layer, time / all * cpuUs])) }
}

function tableOf (columns) {
  const line = cells => `| ${cells.join(' | ')} |\n`
  const rows = [...LAYERS.map(([name]) => name), GARBAGE, REST].map(layer => [layer, ...columns.map(({ layers }) => (layers[layer] ?? 0).toFixed(1))])
  return line(['layer', ...columns.map(({ name }) => name)]) + line(['---', ...columns.map(() => '---:')]) + rows.map(line).join('') +
    line(['all', ...columns.map(({ cpuUs }) => cpuUs.toFixed(1))])
}
