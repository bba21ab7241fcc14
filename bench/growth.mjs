// Whether a request costs the same among few and many: streams, tasks, tools, sessions, conversations.
import { figure } from './parts/figure.mjs'
import { echoCall } from './parts/mcp-peers.mjs'
import { leastTimeIn } from './parts/server-process.mjs'
import { jsonRequest as json, mcpRequest, WIRES } from './parts/wires.mjs'

const QUESTION = 'What is a VAC?'
/** Processes of each size; the largest takes longer to make than the request is measured. */
const PROCESSES = 2
const FEW_PROCESSES = 10_000
const DIRECT = json('/vac/instant', { user_input: QUESTION })
const TASK = WIRES['tasks-memory'].send('instant', QUESTION)
const CALL = mcpRequest('tools/call', { name: 'echo', arguments: { message: QUESTION } })
const INITIALIZE = mcpRequest('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } })

/** What grows, the server of a size, what there is besides the request, and the request. */
const GROWTHS = [
  ['open streams', [1, 100, 1_000, 10_000], () => 'growth-streams', () => ['open', json('/vac/streaming/waiting', { user_input: QUESTION })], DIRECT],
  ['tasks', [1, 100, 1_000, 10_000], () => 'tasks-memory', () => ['fill', TASK], TASK],
  ['tools', [1, 100, 1_000], count => `growth-tools-${count}`, undefined, CALL],
  ['sessions of MCP', [1, 100, 1_000, 10_000], () => 'growth-sessions', () => ['fill', INITIALIZE], callInSession],
  ['conversations', [1, 100, 1_000, 10_000, 100_000], count => `growth-talks-${count}`, undefined, json('/vac/instant', { user_input: QUESTION, conversation_id: 'chat 0' })]
]

export const title = 'Growth: CPU time of a request among many, multiple of one among few'
/** It makes 100,000 conversations. */
export const longestMs = 900_000

export async function run () {
  const figures = []
  for (const [what, sizes, kindOf, prepare, request] of GROWTHS) {
    const points = []
    for (const count of sizes) points.push({ count, us: await leastOf(kindOf(count), prepare?.(), count, request) })
    // one among few: the smallest process may have compiled less of the code
    const few = Math.min(...points.slice(0, -1).map(({ us }) => us))
    const most = points.at(-1)
    figures.push(figure(`with ${most.count.toLocaleString('en')} ${what}`, most.us / few, '×', { atMost: 1.1 }, { cpuUs: most.us, points: points.map(({ count, us }) => ({ count, us, multiple: us / few })) }))
  }
  return figures
}

async function callInSession ({ port, kind }) {
  const { headers, body } = await echoCall({ kind, port, way: 'session' })
  return { path: '/mcp', headers, body }
}

/** The least time of a request, in several processes of the server. */
async function leastOf (kind, prepared, count, request) {
  let least = Infinity
  for (let made = 0; made < (count > FEW_PROCESSES ? 1 : PROCESSES); made++) {
    least = Math.min(least, await leastTimeIn(kind, request, async server => {
      if (prepared !== undefined) await server.ask(prepared[0], { request: prepared[1], count })
    }))
  }
  return least
}
