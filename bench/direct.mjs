// One whole answer: CPU time of the server for a request, next to a route that sends the same bytes.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { shareFigure } from './parts/figure.mjs'
import { inGenerations } from './parts/rounds.mjs'

const QUESTION = 'What is a VAC?'
const CONNECTIONS = 8
/** Of a round: a number instead of a time, so that a slow machine compiles as much of the code. */
const REQUESTS = 4_000

const DIRECT = { path: '/vac/instant', body: { user_input: QUESTION }, answer: `{"answer":"${QUESTION}","source_documents":[]}` }
const CHAT = { path: '/openai/v1/chat/completions', body: { model: 'instant', messages: [{ role: 'user', content: QUESTION }] }, answer: QUESTION }

/** What is compared, the first server with the second one. */
const PAIRS = [
  ['POST /vac/<name>, share of a bare Fastify route with the same schema', 'bare', 'polyvac', DIRECT, { atLeast: 90 }],
  ['the same through the host with its defaults, share of the plugin', 'polyvac', 'host', DIRECT, { atLeast: 80 }],
  ['chat completions, share of a bare Fastify route of the same bytes', 'bare', 'polyvac', CHAT, { atLeast: 85 }]
]

/** The three comparisons take a minute each on a machine that does other work, too. */
export const longestMs = 300_000
export const title = `One whole answer, ${CONNECTIONS} connections: CPU time of the server`

export async function run () {
  const figures = []
  for (const [what, other, ours, request, bar] of PAIRS) {
    const { [ours]: { ratios, ...rest } } = await inGenerations([other, ours], server => load(server, request))
    figures.push(shareFigure(what, ratios, bar, rest))
  }
  return figures
}

async function load ({ port }, { path, body, answer }) {
  const { requests, non2xx, errors, mismatches, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    verifyBody: body => body.includes(answer),
    connections: CONNECTIONS,
    amount: REQUESTS
  }))
  if (non2xx + errors + mismatches > 0) throw new Error(`${non2xx} answers were not 2xx, ${mismatches} wrong, ${errors} requests failed`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}
