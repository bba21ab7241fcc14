// Calls of a tool over MCP: the plugin next to a bare route and other Fastify servers, and in front of a stdio server.
import autocannon from 'autocannon'
import { awake } from './parts/awake.mjs'
import { figure, shareFigure } from './parts/figure.mjs'
import { echoCall, installPeers, withPeers } from './parts/mcp-peers.mjs'
import { cpuSharesOf, inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { median } from './parts/statistics.mjs'

const CONNECTIONS = 32
const SECONDS = 1
const ROUNDS = 4
/** Some thousands of calls each, so that V8 has compiled the code; without that the figures halve. */
const WARM_UP_SECONDS = 2
const SESSIONS = 10_000
const AT_ONCE = 50
const KB = 1024

export const title = 'MCP server: tools/call at /mcp, echo tool'

export async function run () {
  installPeers()
  const inProcess = await withServers(['mcp-bare', 'mcp', 'mcp-stateless', 'mcp-sdk', 'fastify-mcp'], async (bare, ours, stateless, sdk, other) => await measure([
    { ...bare, way: 'rpc' },
    { ...ours, kind: 'session', way: 'session' },
    { ...stateless, kind: 'stateless', way: 'session' },
    { ...ours, kind: 'modern', way: 'modern' },
    { ...sdk, way: 'session' },
    { ...other, way: 'session' }
  ]))
  const idle = await withServers(['mcp'], idleSessions)
  const before = await withServers(['mcp-gateway'], gateway => withPeers(peers => measure([
    { ...gateway, kind: 'legacy', way: 'session', tool: 'everything__echo' },
    { ...gateway, kind: 'modern', way: 'modern', tool: 'everything__echo' },
    ...peers.map(peer => ({ ...peer, way: 'session' }))
  ]), ['supergateway', 'mcp-proxy']))
  const { 'mcp-bare': bare, 'mcp-sdk': sdk, 'fastify-mcp': other } = inProcess
  const shown = kind => ({ ...summary(inProcess[kind]), rss: inProcess[kind].rss })
  // of CPU time: rates depend on the load generator, which works as long for each of them
  const share = (kind, name) => {
    const rate = median(ratiosOf(inProcess[kind], bare)) * 100
    return shareFigure(`CPU time of a bare Fastify route, share of that of a call ${name}`, cpuSharesOf(inProcess[kind], bare), { atLeast: 85 }, { ...shown(kind), rate, bare: shown('mcp-bare') })
  }
  const peers = Object.fromEntries(['mcp-sdk', 'fastify-mcp'].map(kind => [kind, shown(kind)]))
  const gateways = Object.fromEntries(Object.entries(before).map(([kind, taken]) => [kind, summary(taken)]))
  return [
    share('session', 'with a session (2025-06-18)'),
    share('stateless', 'without sessions (2025-06-18)'),
    share('modern', 'of 2026-07-28'),
    figure('CPU time of a call with a session, multiple of a bare Fastify route', shown('session').cpuUs / shown('mcp-bare').cpuUs, '×', { atMost: 1.67 }, { cpuUs: shown('session').cpuUs }),
    figure('CPU time of a call of 2026-07-28, multiple of a bare Fastify route', shown('modern').cpuUs / shown('mcp-bare').cpuUs, '×', { atMost: 1.67 }, { cpuUs: shown('modern').cpuUs }),
    figure('calls/s with a session, multiple of fastify-mcp', median(ratiosOf(inProcess.session, other)), '×', { atLeast: 1.7 }, { peers }),
    figure('calls/s with a session, multiple of the SDK\'s transport under Fastify', median(ratiosOf(inProcess.session, sdk)), '×', { atLeast: 1.7 }),
    figure('calls/s before a server over stdio, multiple of supergateway', median(ratiosOf(before.legacy, before.supergateway)), '×', { atLeast: 4 }, { ...gateways.legacy, gateways }),
    figure('calls/s before a server over stdio, multiple of mcp-proxy', median(ratiosOf(before.legacy, before['mcp-proxy'])), '×', { atLeast: 4 }),
    figure('the same of 2026-07-28, multiple of mcp-proxy', median(ratiosOf(before.modern, before['mcp-proxy'])), '×', { atLeast: 4 }, gateways.modern),
    figure(`memory of an idle session, ${SESSIONS.toLocaleString('en')} open at once`, idle / KB, 'kB', { atMost: 10 })
  ]
}

/** Rates, times and CPU time of each kind of call. */
async function measure (ways) {
  const calls = new Map()
  for (const way of ways) {
    calls.set(way.kind, await echoCall(way))
    await autocannon({ ...calls.get(way.kind), connections: CONNECTIONS, duration: WARM_UP_SECONDS })
  }
  return await inRounds(ways, ROUNDS, async way => {
    const { requests, non2xx, errors, latency } = await awake(() => autocannon({ ...calls.get(way.kind), connections: CONNECTIONS, duration: SECONDS }))
    if (non2xx + errors > 0 || requests.total === 0) throw new Error(`${way.kind}: ${non2xx} answers were not 2xx, ${errors} requests failed, ${requests.total} were answered`)
    return { perSecond: requests.average, times: [latency.p50, latency.p99], count: requests.total }
  })
}

/** Bytes of a session that was created and is not used. */
async function idleSessions (server) {
  await begin(server, 500)
  const before = await server.ask('rssAfterGc')
  await begin(server, SESSIONS - 500)
  return (await server.ask('rssAfterGc') - before) / (SESSIONS - 500)
}

async function begin ({ port }, count) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'bench', version: '1' } } })
  const one = async () => await (await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body })).text()
  for (let begun = 0; begun < count; begun += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one))
}
