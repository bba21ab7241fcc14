// The server process. It listens on a free port and answers the queries of server-process.mjs about itself.
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { aborts, made } from './interpreters.mjs'
import { leastTime, openStreams, sendMany } from './in-process.mjs'
import { profileLayers } from './layers.mjs'

const [kind, folder] = process.argv.slice(2)

/** Each loads only its own code: that of the others would count as its memory. */
const APPS = {
  bare: async () => (await import('./bare-app.mjs')).bareApp(),
  polyvac: async () => (await import('./polyvac-app.mjs')).polyvacApp(),
  host: async () => (await import('./host-app.mjs')).hostApp(),
  agent: async () => (await import('./agent-apps.mjs')).agentApp(),
  'agent-ai': async () => (await import('./agent-apps.mjs')).aiApp(),
  'a2a-js': async () => (await import('./a2a-js-app.mjs')).a2aJsApp(),
  'gateway-bare': async () => (await import('./gateway-app.mjs')).bareCallApp(),
  gateway: async () => (await import('./gateway-app.mjs')).gatewayApp(),
  'mcp-bare': async () => (await import('./mcp-apps.mjs')).bareMcpApp(),
  mcp: async () => (await import('./mcp-apps.mjs')).mcpApp({ sessions: true }),
  'mcp-stateless': async () => (await import('./mcp-apps.mjs')).mcpApp({ sessions: false }),
  'mcp-gateway': async () => (await import('./mcp-apps.mjs')).mcpGatewayApp(),
  'mcp-sdk': async () => (await import('./mcp-apps.mjs')).sdkApp(),
  'fastify-mcp': async () => (await import('./mcp-apps.mjs')).fastifyMcpApp(),
  'tasks-memory': async () => (await import('./tasks-app.mjs')).tasksApp(':memory:'),
  ...telemetryApps('', async () => (await import('./polyvac-app.mjs')).polyvacApp()),
  ...telemetryApps('host-', async () => (await import('./host-app.mjs')).hostApp()),
  ...telemetryApps('tasks-', async () => (await import('./tasks-app.mjs')).tasksApp(':memory:')),
  runs: async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db')),
  'runs-few': async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db'), 1_000),
  'runs-many': async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db'), 100_000),
  'talks-few': async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db'), 0, 1_000),
  'talks-many': async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db'), 0, 100_000),
  'talks-sent': async () => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db')),
  'growth-streams': async () => (await import('./growth-apps.mjs')).streamsApp(),
  'growth-sessions': async () => (await import('./growth-apps.mjs')).toolsApp(1, true),
  ...ofSizes('growth-tools', async count => (await import('./growth-apps.mjs')).toolsApp(count)),
  ...ofSizes('growth-talks', async count => (await import('./runs-app.mjs')).runsApp(join(folder, 'runs.db'), 0, count)),
  'talks-few-postgres': async () => (await import('./runs-app.mjs')).runsApp(await emptyDatabase('few'), 0, 1_000),
  'talks-many-postgres': async () => (await import('./runs-app.mjs')).runsApp(await emptyDatabase('many'), 0, 100_000),
  'tasks-file': async () => (await import('./tasks-app.mjs')).tasksApp(join(folder, 'tasks.db'))
}

/** The URL of a new database at the server of the benchmark, which ends with it. */
async function emptyDatabase (name) {
  const { query } = await import('../../test/fixtures/postgres-server.mjs')
  await query(process.env.BENCH_DATABASE_URL, `CREATE DATABASE ${name}`)
  return new URL(name, process.env.BENCH_DATABASE_URL).href
}

/** The same app with more of what it has, by its number. */
function ofSizes (prefix, make) {
  return Object.fromEntries([1, 100, 1_000, 10_000, 100_000].map(count => [`${prefix}-${count}`, () => make(count)]))
}

/** The same app in processes that differ in what they start of OpenTelemetry before it. */
function telemetryApps (prefix, make) {
  const after = async name => await (await import('./telemetry-apps.mjs'))[name]()
  const starts = { only: 'refuseOpenTelemetry', api: 'keepOpenTelemetry', sampled: 'startBoth' }
  return Object.fromEntries(Object.entries(starts).map(([side, start]) => [`${prefix}telemetry-${side}`, () => after(start).then(make)]))
}

const app = await APPS[kind]()
await app.listen({ port: 0, host: '127.0.0.1' })

/** Sampling interval of the event loop; an idle loop shows it as its delay. */
const LOOP_MS = 10
const loop = monitorEventLoopDelay({ resolution: LOOP_MS })

let endProfile

const answers = {
  rss: () => process.memoryUsage.rss(),
  async rssAfterGc () {
    // the second pass frees what the finalizers of the first one released
    for (let i = 0; i < 2; i++) {
      globalThis.gc()
      await delay(100)
    }
    return process.memoryUsage.rss()
  },
  cpuMs () {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  watchLoop () {
    loop.reset()
    return loop.enable()
  },
  /** The delay of the event loop since `watchLoop`, in ms. */
  loopDelay () {
    loop.disable()
    const late = ns => Math.max(0, ns / 1e6 - LOOP_MS)
    return { p50: late(loop.percentile(50)), p99: late(loop.percentile(99)), max: late(loop.max) }
  },
  fill: about => sendMany(app.server, about),
  open: about => openStreams(app.server, about),
  leastTime: request => leastTime(app.server, request),
  async startProfile () { endProfile = await profileLayers() },
  /** The µs of each layer since `startProfile`. */
  stopProfile: () => endProfile(),
  aborts: () => aborts.splice(0),
  made: () => made.chunks,
  atOnce: async () => (await import('./task-interpreters.mjs')).atOnce.most,
  async close () {
    const start = performance.now()
    await app.close()
    return performance.now() - start
  }
}

process.on('message', async ({ id, question, about }) => {
  process.send({ id, answer: await answers[question](about) })
})
process.on('disconnect', () => process.exit(0))
process.send({ port: app.server.address().port })
