// Calls of a tool of a published MCP server over HTTP: next to a bare route and other gateways to the same server.
import autocannon from 'autocannon'
import { connect } from 'node:net'
import { once } from 'node:events'
import { figure, toMb } from './parts/figure.mjs'
import { echoCall, withPeers } from './parts/mcp-peers.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { max, median, quantile } from './parts/statistics.mjs'

const CONNECTIONS = 32
const SECONDS = 2
const ROUNDS = 4
/** Some thousands of calls each, so that V8 has compiled the code; without that the figures halve. */
const WARM_UP_SECONDS = 3
const ONE_BY_ONE = 1_200
/** For growth: as many as time allows; `BENCH_GATEWAY_CALLS=1000000` is about the calls of a day. */
const MANY_CALLS = Number(process.env.BENCH_GATEWAY_CALLS ?? 40_000)
const LARGE = 3_000_000
const LARGER = 8_000_000

export const title = 'MCP gateway: POST /mcp/call, echo tool over stdio'

export async function run () {
  return await withServers(['gateway-bare', 'gateway'], (bare, ours) => withPeers(async peers => {
    const servers = [bare, ours, ...peers]
    const calls = new Map()
    for (const server of servers) {
      calls.set(server.kind, await echoCall(server))
      await autocannon({ ...calls.get(server.kind), connections: CONNECTIONS, duration: WARM_UP_SECONDS })
    }
    const taken = await inRounds(servers, ROUNDS, server => load(calls.get(server.kind)))
    const { gateway } = taken
    const single = Object.fromEntries(servers.map(({ kind }) => [kind, []]))
    for (let round = 0; round < 3; round++) for (const server of [bare, ours, peers[0]]) single[server.kind].push(median(await oneByOne(server.port, calls.get(server.kind))))
    const alone = quantile(await during(ours, () => Promise.resolve(), 400), 0.99)
    const beside = quantile(await during(ours, () => large(ours, LARGER), 400), 0.99)
    const growth = await grow(ours, calls.get('gateway'))
    return [
      // the bar was set for the fastest peer
      ...peers.map(({ kind }) => figure(`calls/s, multiple of ${kind}`, median(ratiosOf(gateway, taken[kind])), '×', { atLeast: 1.8 }, { ...summary(gateway), rss: gateway.rss, peer: summary(taken[kind]) })),
      figure('calls/s, share of a bare Fastify route', median(ratiosOf(gateway, taken['gateway-bare'])) * 100, '%', { atLeast: 55 }, { ...summary(gateway), bare: summary(taken['gateway-bare']) }),
      figure('one call at a time, share of mcp-hub\'s median time', median(single.gateway) / median(single['mcp-hub']) * 100, '%', { atMost: 45 }, { p50: median(single.gateway), single }),
      figure('a result of 3 MB', median([await large(ours, LARGE), await large(ours, LARGE), await large(ours, LARGE)]), 'ms', { atMost: 150 }),
      figure('p99 of a neighbour of a result of 8 MB, more than by itself', Math.max(0, beside - alone), 'ms', { atMost: 50 }, { alone, beside }),
      figure(`memory after ${MANY_CALLS.toLocaleString('en')} calls more than after the first tenth of them`, toMb(growth), 'MB', { atMost: 10 })
    ]
  }))
}

/** Without `awake`: gateway and server are two processes, and a busy load generator would take a core from them. */
async function load (call) {
  const { requests, non2xx, errors, latency } = await autocannon({ ...call, connections: CONNECTIONS, duration: SECONDS })
  if (non2xx + errors > 0 || requests.total === 0) throw new Error(`${non2xx} answers were not 2xx, ${errors} requests failed, ${requests.total} were answered`)
  return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
}

/** Times in ms of sequential calls on one raw socket, which costs less than any client. */
async function oneByOne (port, { url, headers, body }) {
  const lines = Object.entries({ host: '127.0.0.1', 'content-length': Buffer.byteLength(body), ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST ${new URL(url).pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  const socket = connect(port, '127.0.0.1')
  const times = []
  for (let i = 0; i < ONE_BY_ONE; i++) {
    const start = performance.now()
    socket.write(request)
    await once(socket, 'data')
    if (i >= ONE_BY_ONE / 3) times.push(performance.now() - start)
  }
  socket.destroy()
  return times
}

/** The time in ms of a call whose result has `bytes` bytes. */
async function large ({ port }, bytes) {
  const start = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/mcp/call`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ server: 'large', tool: 'big', arguments: { bytes } }) })
  const { byteLength } = await response.arrayBuffer()
  if (byteLength < bytes) throw new Error(`${byteLength} bytes came of ${bytes}`)
  return performance.now() - start
}

/** Times of short calls while `other` runs repeatedly. */
async function during (server, other, calls) {
  const { url, headers, body } = await echoCall(server)
  const times = []
  const stop = new AbortController()
  const beside = (async () => { while (!stop.signal.aborted) { await other(); await new Promise(resolve => setTimeout(resolve, 20)) } })()
  for (let i = 0; i < calls; i++) {
    const start = performance.now()
    await (await fetch(url, { method: 'POST', headers, body })).arrayBuffer()
    times.push(performance.now() - start)
  }
  stop.abort()
  await beside
  return times
}

/** Bytes that many calls add to the process, after garbage collection. */
async function grow (server, call) {
  const tenth = Math.ceil(MANY_CALLS / 10)
  await autocannon({ ...call, connections: CONNECTIONS, amount: tenth })
  const before = await server.ask('rssAfterGc')
  await autocannon({ ...call, connections: CONNECTIONS, amount: MANY_CALLS - tenth })
  return max([0, await server.ask('rssAfterGc') - before])
}
