// What a request costs in the process of the server, without sockets: fast enough, and steady enough, for each change.
import { figure } from './parts/figure.mjs'
import { leastTimeIn } from './parts/server-process.mjs'
import { jsonRequest as json, mcpRequest, WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
const DIRECT = json('/vac/instant', { user_input: QUESTION })

/** Of each server, in turn. */
const PROCESSES = 3

/** By the kind of server: what is asked, and what it may cost, in bare Fastify routes. */
const PRICES = [
  ['polyvac', 'POST /vac/<name>', DIRECT, 2.2],
  ['host', 'the same through the host with its defaults', DIRECT, 4.5],
  ['polyvac', 'chat completions', json('/openai/v1/chat/completions', { model: 'instant', messages: [{ role: 'user', content: QUESTION }] }), 4],
  ['polyvac', 'Responses API', json('/openai/v1/responses', { model: 'instant', input: QUESTION }), 8],
  ['mcp-stateless', 'tools/call without a session', mcpRequest('tools/call', { name: 'echo', arguments: { message: QUESTION } }, { 'mcp-protocol-version': '2025-06-18' }), 3],
  ['tasks-memory', 'tasks/send, the task in memory', WIRES['tasks-memory'].send('instant', QUESTION), 30]
]

export const title = 'Price of a request without its socket, least of 3 processes of 40 rounds, in bare Fastify routes'

export async function run () {
  let bare = Infinity
  const least = PRICES.map(() => Infinity)
  for (let round = 0; round < PROCESSES; round++) {
    bare = Math.min(bare, await leastTimeIn('bare', DIRECT))
    for (const [i, [kind, , request]] of PRICES.entries()) least[i] = Math.min(least[i], await leastTimeIn(kind, request))
  }
  return PRICES.map(([, what, , atMost], i) => figure(what, least[i] / bare, '×', { atMost }, { cpuUs: least[i] }))
}
