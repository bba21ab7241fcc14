// The task store on PostgreSQL: a server and two replicas on this machine, next to DBOS Transact and bare inserts.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { PostgresServer, query } from '../test/fixtures/postgres-server.mjs'
import { bareInserts, tablesThatGrew } from './parts/bare-inserts.mjs'
import { databaseCpuMs, notificationCpuUs } from './parts/database-cpu.mjs'
import { figure } from './parts/figure.mjs'
import { installPeers } from './parts/mcp-peers.mjs'
import { max, median, quantile } from './parts/statistics.mjs'

const REPLICA = fileURLToPath(new URL('./parts/postgres-replica.mjs', import.meta.url))
const ROUNDS = 3
/** Rounds of writes until V8 has compiled what they run: their rate rises for about so long. */
const WARM_ROUNDS = 5
const EVENTS = 4
const TASKS = 400
/** Creates of a replica at once, which is also the batch of the bare loop. */
const WIDTH = 64
const CREATES = 3_000
const STREAMS = 16
const BATCH = 20
const BATCHES = 60
const READERS = 500
const EVENTS_PER_SECOND = 1_000
const PACED = 12
/** The first events of each reader come while others still start. */
const SKIP = 4
const TAKEN_OVER = 20
const POLL_MS = 10
const MAX_WAIT_MS = 60_000

export const title = `tasks in PostgreSQL: two replicas, ${WIDTH} creates at once each`

export async function run () {
  installPeers()
  const server = await PostgresServer.start(['-c', 'max_connections=200'])
  try {
    const ratio = await wholeTasks(server)
    const [created, appended] = await writes(server)
    return [ratio, created, appended, ...await latency(server), await takeover(server, 'SIGKILL', 5), await takeover(server, 'SIGSTOP', 20)]
  } finally {
    await server.stop()
  }
}

/** Create, claim, 4 events, end: from the first create to the end of the last task, by the tables of each. */
async function wholeTasks (server) {
  const ended = {
    polyvac: "SELECT count(*)::int AS n FROM polyvac.task WHERE state = 'completed'",
    dbos: "SELECT count(*)::int AS n FROM dbos.workflow_status WHERE status = 'SUCCESS'"
  }
  const rates = { polyvac: [], dbos: [] }
  const cpu = { replica: [], database: [] }
  const sides = []
  try {
    for (const kind of ['polyvac', 'dbos']) {
      const side = await startReplicas(server, kind, 2)
      sides.push({ kind, ...side })
      for (const replica of side.replicas) await replica.ask('work', { queue: 'short' })
    }
    for (let round = 0; round <= ROUNDS; round++) {
      for (const { kind, observe, replicas } of sides) {
        const before = await observe(ended[kind])
        const cpuBefore = await cpuOf(replicas, server)
        const from = performance.now()
        await Promise.all(replicas.map(replica => replica.ask('create', { queue: 'short', input: { events: EVENTS }, count: TASKS / 2, width: WIDTH })))
        await until(async () => await observe(ended[kind]) === before + TASKS, `${TASKS} tasks of ${kind} have ended`)
        // the first round only warms up
        if (round === 0) continue
        rates[kind].push(TASKS / (performance.now() - from) * 1000)
        if (kind === 'dbos') continue
        const spent = await cpuOf(replicas, server)
        for (const name of Object.keys(cpu)) cpu[name].push((spent[name] - cpuBefore[name]) / TASKS)
      }
    }
  } finally {
    for (const { replicas } of sides) for (const replica of replicas) replica.end()
  }
  const ratios = rates.polyvac.map((rate, i) => rate / rates.dbos[i])
  const capacity = { replicaMs: median(cpu.replica), databaseMs: median(cpu.database), notificationUs: await notificationCpuUs(server) }
  const more = { ratios, perSecond: median(rates.polyvac), peer: { perSecond: median(rates.dbos) }, capacity }
  return figure(`whole task with ${EVENTS} events, multiple of DBOS Transact (${Math.round(more.perSecond)} and ${Math.round(more.peer.perSecond)} tasks/s)`,
    median(ratios), '×', { atLeast: 4 }, more)
}

/**
 * Creates and appends of one replica next to the insertion of the same rows into the same tables, in batches. Both
 * sides are warm, as a server is: for `WARM_ROUNDS` each of the two processes has done the same.
 */
async function writes (server) {
  const creates = { shares: [], perSecond: [] }
  const appends = { shares: [], perSecond: [], databaseUs: [] }
  const events = STREAMS * BATCHES * BATCH
  const { url, replicas: [replica] } = await startReplicas(server, 'polyvac', 1)
  const create = async () => await replica.ask('create', { queue: 'idle', input: { query: 'hello' }, count: CREATES, width: WIDTH })
  const append = async () => await replica.ask('append', { count: STREAMS, batches: BATCHES, size: BATCH })
  try {
    await replica.ask('work', { queue: 'batches', concurrency: STREAMS })
    for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
      const perSecond = await create()
      const bare = await bareInserts(url, await tablesThatGrew(url, CREATES), { units: CREATES, batch: WIDTH })

      const before = databaseCpuMs(server)
      const appendRate = await append()
      const cpuUs = (databaseCpuMs(server) - before) * 1000 / events
      const isEvent = ({ name }) => name === 'event'
      const bareAppends = await bareInserts(url, (await tablesThatGrew(url, 1)).filter(isEvent), { units: events, batch: STREAMS * BATCH })
      if (round < 0) continue
      creates.shares.push(perSecond / bare * 100)
      creates.perSecond.push(perSecond)
      appends.shares.push(appendRate / bareAppends * 100)
      appends.perSecond.push(appendRate)
      appends.databaseUs.push(cpuUs)
    }
  } finally {
    replica.end()
  }
  return [
    figure(`durable creates, share of the same inserts in batches of ${WIDTH} (${Math.round(median(creates.perSecond))} creates/s)`, median(creates.shares), '%', { atLeast: 50 }, creates),
    figure(`appended events, share of the same inserts in batches of ${STREAMS * BATCH} (${Math.round(median(appends.perSecond))} events/s)`, median(appends.shares), '%', { atLeast: 70 }, appends)
  ]
}

/** From before the emit on one replica to the reader on the other one. */
async function latency (server) {
  const { replicas: [writer, reader] } = await startReplicas(server, 'polyvac', 2)
  try {
    const everyMs = READERS / EVENTS_PER_SECOND * 1000
    const inputs = Array.from({ length: READERS }, (_, i) => ({ events: PACED, everyMs, offsetMs: i / READERS * everyMs }))
    const ids = await writer.ask('createAndName', { queue: 'paced', inputs })
    const before = await reader.ask('cpuMs')
    const read = reader.ask('read', { ids, skip: SKIP })
    await writer.ask('work', { queue: 'paced', concurrency: READERS })
    const times = await read
    const readUs = (await reader.ask('cpuMs') - before) * 1000 / READERS / PACED
    if (times.length !== READERS * (PACED - SKIP)) throw new Error(`${times.length} events arrived`)
    const [p50, p99] = [median(times), quantile(times, 0.99)]
    return [
      figure(`event to a reader on the other replica, ${EVENTS_PER_SECOND} events/s, ${READERS} readers: p50`, p50, 'ms', { atMost: 2 }, { p50, p99, readUs }),
      figure('the same: p99', p99, 'ms', { atMost: 15 }, { p50, p99 })
    ]
  } finally {
    writer.end()
    reader.end()
  }
}

/** From the signal to the next attempt of the last of the tasks that a replica executed. */
async function takeover (server, signal, atMost) {
  const { replicas: [first, second] } = await startReplicas(server, 'polyvac', 2)
  try {
    await first.ask('work', { queue: 'endless', concurrency: TAKEN_OVER })
    await first.ask('create', { queue: 'endless', count: TAKEN_OVER, width: TAKEN_OVER })
    await until(() => first.began.length === TAKEN_OVER, 'all tasks run')
    await second.ask('work', { queue: 'endless', concurrency: TAKEN_OVER })
    const at = performance.timeOrigin + performance.now()
    first.kill(signal)
    await until(() => second.began.length === TAKEN_OVER, 'all tasks are taken over')
    const seconds = second.began.map(began => (began.at - at) / 1000)
    return figure(`takeover of ${TAKEN_OVER} tasks after ${signal}`, max(seconds), 's', { atMost }, { p50: median(seconds) * 1000, p99: max(seconds) * 1000 })
  } finally {
    first.end()
    second.end()
  }
}

/** Processor time of all replicas and of the server, in ms. */
async function cpuOf (replicas, server) {
  const times = await Promise.all(replicas.map(replica => replica.ask('cpuMs')))
  return { replica: times.reduce((sum, ms) => sum + ms, 0), database: databaseCpuMs(server) }
}

let databases = 0

/** Replicas with an empty database. */
async function startReplicas (server, kind, count) {
  const name = `bench_${++databases}`
  await query(server.url(), `CREATE DATABASE ${name}`)
  const url = server.url(name)
  const client = new pg.Client({ connectionString: url })
  // it ends with the server
  client.on('error', () => {})
  await client.connect()
  /** The number `n` that a query counts, over a connection that stays: opening one costs the server more. */
  const observe = async sql => (await client.query(sql)).rows[0].n
  const replicas = []
  // the first one creates the tables
  for (let i = 0; i < count; i++) replicas.push(await startReplica(kind, url))
  return { url, observe, replicas }
}

async function startReplica (kind, url) {
  const child = fork(REPLICA, [kind, url])
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const pending = new Map()
  const began = []
  let count = 0
  let ready
  const isReady = new Promise(resolve => { ready = resolve })
  child.on('message', message => {
    if (message.ready) ready()
    else if (message.began !== undefined) began.push(message.began)
    else {
      const { resolve, reject } = pending.get(message.id)
      message.error === undefined ? resolve(message.answer) : reject(new Error(message.error))
    }
  })
  const died = once(child, 'exit').then(([code, signal]) => { throw new Error(`a replica ended with ${signal ?? `exit code ${code}`}`) })
  died.catch(() => {})
  await Promise.race([isReady, died])
  return {
    began,
    ask (command, options) {
      const answer = new Promise((resolve, reject) => { pending.set(++count, { resolve, reject }) })
      child.send({ id: count, command, options })
      return Promise.race([answer, died])
    },
    kill: signal => child.kill(signal),
    end () {
      process.off('exit', end)
      end()
    }
  }
}

async function until (condition, what) {
  for (const end = performance.now() + MAX_WAIT_MS; !await condition(); await delay(POLL_MS)) {
    if (performance.now() > end) throw new Error(`waited ${MAX_WAIT_MS} ms in vain until ${what}`)
  }
}
