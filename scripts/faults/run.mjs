// `npm run faults`: three replicas on PostgreSQL behind a load balancer, a steady load, and one fault after another.
// What the clients saw is checked against the guarantees. Arguments are names of faults; default: all. `--write` keeps
// the figures for docs/explain/faults.md, `--runs=<n>` kills processes under so many runs,
// `--conversations=<n>` under so many questions of conversations, `--chats=<n>` under so many answers of each protocol
// of chats, `--agents=<n>` under so many runs with remote tasks, `--responses=<n>` disturbs so many streams in each
// way. Ends with `N held, 0 failed`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { PostgresServer } from '../../test/fixtures/postgres-server.mjs'
import { endAll } from '../attack/host.mjs'
import { ALONE, newDatabase, UNDER_LOAD } from './faults.mjs'
import { checkHistory } from './history.mjs'
import { Load, startReceiver } from './load.mjs'
import { Replicas } from './replicas.mjs'

const MAX_RUN_MS = 40 * 60_000
/** Tasks begun in a second: clients, replicas and database share two cores. */
const RATE = 10
/** The load before a fault, and the shortest load from a fault on: throughput is compared over the same time. */
const BEFORE_MS = 1_000
const WINDOW_MS = 8_000
const BASELINE_MS = 8_000
const MIN_THROUGHPUT = 0.95
/** A task is late that takes so much longer than the slowest of the baseline. */
const LATE = 1.5
const LATE_MS = 500
const FAULTY = ['burst', 'poison']
const MAX_SHOWN = 4
const SCHEMA = 'polyvac'
const RESULTS = new URL('./results.json', import.meta.url)

const totals = { held: 0, failed: 0 }
const rows = []

/** A load with a fault in it. `durations` has how long each task took, and its end since the fault, in ms. */
async function runLoad (context, cause = async () => {}, windowMs = WINDOW_MS) {
  const load = new Load(context.replicas.url, context.receiver)
  load.begin(RATE)
  await delay(BEFORE_MS)
  const at = performance.now()
  const problems = []
  await Promise.all([delay(windowMs), cause({ ...context, load }).catch(err => problems.push(err.message))])
  const windowEnd = performance.now()
  const history = await load.finish()
  const seen = checkHistory([...history, ...context.replicas.executed().filter(({ task }) => load.has(task))])
  return {
    ...seen,
    problems: [...problems, ...load.problems, ...seen.problems.map(({ guarantee, task, text }) => `${guarantee}: task ${task}: ${text}`)],
    perSecond: load.times.filter(({ ended }) => ended > at && ended <= windowEnd).length / (windowEnd - at) * 1000,
    // those of a fault are long by themselves
    durations: load.times.filter(({ kind }) => !FAULTY.includes(kind)).map(({ began, ended }) => ({ took: ended - began, at: ended - at }))
  }
}

/** A load with a fault in it. `durations` has how long each task took, and its end since the fault (ms). */
const recoveryOf = ({ durations }, usualMs) => Math.max(0, ...durations.filter(({ took }) => took > usualMs).map(({ at }) => at)) / 1000

async function runUnderLoad (faults) {
  if (faults.length === 0) return
  const url = await newDatabase(context.server)
  context.replicas = await Replicas.start({ databaseUrl: url, revive: true })
  try {
    const measureBaseline = async () => await runLoad(context, undefined, BASELINE_MS)
    let baseline = await measureBaseline()
    // the first tasks of a process are slow
    baseline = await measureBaseline()
    const usualMs = Math.max(...baseline.durations.map(({ took }) => took)) * LATE + LATE_MS
    note('no fault', baseline, [], { throughput: 1, seconds: 0, rate: baseline.perSecond })
    for (const fault of faults) {
      const seen = await runLoad({ ...context, url, schema: SCHEMA }, fault.cause)
      const seconds = recoveryOf(seen, usualMs)
      const throughput = seen.perSecond / baseline.perSecond
      const slow = []
      if (seconds > fault.maxSeconds) slow.push(`tasks were late until ${seconds.toFixed(1)} s after the fault, at most ${fault.maxSeconds} s`)
      if (throughput < (fault.minThroughput ?? MIN_THROUGHPUT)) slow.push(`throughput was ${Math.round(throughput * 100)} % of the baseline`)
      note(fault.name, seen, slow, { what: fault.what, seconds, throughput })
    }
  } finally {
    await context.replicas.close()
  }
}

/**
 * Prints a fault and counts its properties: all clients got an end, nothing lost, nothing duplicated or out of order.
 * Recovery and throughput depend on the machine: they are printed and kept, and fail nothing.
 */
function note (name, { problems, tasks, events, webhooks, lost, duplicated }, slow, { what, seconds, throughput, rate }) {
  for (const problem of problems.slice(0, MAX_SHOWN)) process.stdout.write(`FAILED ${name}: ${problem}\n`)
  if (problems.length > MAX_SHOWN) process.stdout.write(`FAILED ${name}: ${problems.length - MAX_SHOWN} more\n`)
  for (const text of slow) process.stdout.write(`slow ${name}: ${text}\n`)
  const failed = problems.length
  const held = Math.max(0, 3 - failed)
  totals.held += held
  totals.failed += failed
  rows.push({ name, what, seconds, throughput, rate, tasks, lost, duplicated })
  const counted = tasks === undefined ? '' : `, ${tasks} tasks, ${events} events, ${webhooks} webhooks`
  const share = throughput === undefined ? '' : `, throughput ${Math.round(throughput * 100)} %`
  process.stdout.write(`${name}: recovery ${seconds.toFixed(1)} s${share}, ${lost} lost, ${duplicated} duplicated${counted}: ${held} held, ${failed} failed\n`)
}

async function runAlone (fault) {
  try {
    const seen = await fault.run(context)
    const slow = seen.seconds > fault.maxSeconds ? [`it took ${seen.seconds.toFixed(1)} s, at most ${fault.maxSeconds} s`] : []
    note(fault.name, seen, slow, { what: fault.what, seconds: seen.seconds })
  } catch (err) {
    note(fault.name, { problems: [err.stack], lost: 0, duplicated: 0 }, [], { what: fault.what, seconds: 0 })
  }
}

/** Puts the figures of this run in the place of those of the same faults. */
function keep () {
  const before = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).rows : []
  const order = ['no fault', ...[...UNDER_LOAD, ...ALONE].map(({ name }) => name)]
  const all = order.flatMap(name => [...rows, ...before].find(row => row.name === name) ?? [])
  const where = `${cpus().length} shared cores, Node ${process.versions.node}`
  writeFileSync(RESULTS, `${JSON.stringify({ date: new Date().toISOString().slice(0, 10), where, rate: RATE, rows: all }, undefined, 2)}\n`)
}

async function finish () {
  context.receiver?.close()
  endAll()
  await context.server?.stop().catch(() => {})
  const failed = totals.failed + (totals.held === 0 ? 1 : 0)
  if (isWriting) keep()
  process.stdout.write(`${totals.held} held, ${failed} failed\nfaults: ${totals.held} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}

const isWriting = process.argv.includes('--write')
const counts = Object.fromEntries(process.argv.flatMap(word => /^--(?:runs|responses|conversations|chats|agents)=\d+$/.test(word) ? [word.slice(2).split('=')] : []).map(([name, count]) => [name, Number(count)]))
const wanted = process.argv.slice(2).filter(name => !name.startsWith('--'))
const unknown = wanted.find(name => ![...UNDER_LOAD, ...ALONE].some(fault => fault.name === name))
if (unknown !== undefined) {
  process.stderr.write(`no fault is named ${JSON.stringify(unknown)}; faults: ${[...UNDER_LOAD, ...ALONE].map(({ name }) => name).join(', ')}\n`)
  process.exit(2)
}
const isWanted = ({ name }) => wanted.length === 0 || wanted.includes(name)
setTimeout(() => {
  totals.failed++
  process.stdout.write(`FAILED the run did not end within ${MAX_RUN_MS / 60_000} minutes\n`)
  finish()
}, MAX_RUN_MS)
const context = { ...counts }
try {
  context.server = await PostgresServer.start(['-c', 'max_connections=300'])
  context.receiver = await startReceiver()
  for (const fault of ALONE.filter(isWanted)) await runAlone(fault)
  await runUnderLoad(UNDER_LOAD.filter(isWanted))
} catch (err) {
  totals.failed++
  process.stdout.write(`FAILED ${err.stack}\n`)
}
await finish()
