// One whole answer: POST /vac/<name> next to a bare JSON route.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inPairs } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'

const QUESTION = 'What is a VAC?'
const CONNECTIONS = 32
const SECONDS = 3
const ROUNDS = 5

export const title = 'One whole answer, 32 connections'

export async function run () {
  const { ratio, ...rest } = await withServers(['bare', 'polyvac'], (bare, polyvac) => inPairs(bare, polyvac, ROUNDS, load))
  const { p50, p99, cpuUs } = rest.polyvac
  return [figure('requests/s, share of a bare Fastify route', ratio * 100, '%', { atLeast: 80 }, { p50, p99, cpuUs, ...rest })]
}

async function load ({ port }) {
  const { requests, non2xx, errors, mismatches, latency } = await awake(() => autocannon({
    url: `http://127.0.0.1:${port}/vac/instant`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user_input: QUESTION }),
    expectBody: JSON.stringify({ answer: QUESTION, source_documents: [] }),
    connections: CONNECTIONS,
    duration: SECONDS
  }))
  if (non2xx + errors + mismatches > 0) throw new Error(`${non2xx} answers were not 2xx, ${mismatches} wrong, ${errors} requests failed`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}
