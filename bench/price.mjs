// What a request costs in the process of the server, without sockets: fast enough, and steady enough, for each change.
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const JSON_TYPE = { 'content-type': 'application/json' }
const json = (path, body, headers = {}) => ({ path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })
const DIRECT = json('/vac/instant', { user_input: QUESTION })
const task = WIRES['tasks-memory'].send('instant', QUESTION)

/** Of each server, in turn. */
const PROCESSES = 3

/** By the kind of server: what is asked, and what it may cost, in bare Fastify routes. */
const PRICES = [
  ['polyvac', 'POST /vac/<name>', DIRECT, 2.2],
  ['host', 'the same through the host with its defaults', DIRECT, 4.5],
  ['polyvac', 'chat completions', json('/openai/v1/chat/completions', { model: 'instant', messages: [{ role: 'user', content: QUESTION }] }), 4],
  ['polyvac', 'Responses API', json('/openai/v1/responses', { model: 'instant', input: QUESTION }), 8],
  ['mcp-stateless', 'tools/call without a session', json('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { message: QUESTION } } },
    { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }), 3],
  ['tasks-memory', 'tasks/send, the task in memory', task, 30]
]

export const title = 'Price of a request without its socket, least of 3 processes of 40 rounds, in bare Fastify routes'

export async function run () {
  const figures = []
  for (const [kind, what, request, atMost] of PRICES) {
    const times = { bare: [], ours: [] }
    for (let i = 0; i < PROCESSES; i++) {
      times.bare.push(await leastTimeOf('bare', DIRECT))
      times.ours.push(await leastTimeOf(kind, request))
    }
    const [bare, ours] = [times.bare, times.ours].map(some => Math.min(...some))
    figures.push(figure(what, ours / bare, '×', { atMost }, { cpuUs: ours }))
  }
  return figures
}

async function leastTimeOf (kind, request) {
  return await withServers([kind], async server => await server.ask('leastTime', request))
}
