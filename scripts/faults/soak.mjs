// `npm run soak -- --minutes N --postgres`: three replicas behind a load balancer, all protocols, 50 tasks in a second,
// and a SIGKILL of a random replica every 20 s. The history of each minute is checked as soon as its tasks have ended.
import { setTimeout as delay } from 'node:timers/promises'
import { PostgresServer } from '../../test/fixtures/postgres-server.mjs'
import { checkHistory } from './history.mjs'
import { ALL_PROTOCOLS, Load, startReceiver } from './load.mjs'
import { Replicas } from './replicas.mjs'

const RATE = 50
const KILL_MS = 20_000
const PART_MS = 60_000

/** Resolves to `{ requests, problems, text }`. */
export async function soakReplicas ({ minutes, log = () => {} }) {
  const server = await PostgresServer.start(['-c', 'max_connections=300'])
  const receiver = await startReceiver()
  const problems = []
  const sums = { tasks: 0, events: 0, webhooks: 0, lost: 0, duplicated: 0 }
  let requests = 0
  let kills = 0
  let replicas
  const check = async load => {
    const history = await load.finish()
    const seen = checkHistory([...history, ...replicas.executed().filter(({ task }) => load.has(task))])
    problems.push(...load.problems, ...seen.problems.map(({ guarantee, task, text }) => `${guarantee}: task ${task}: ${text}`))
    for (const name of Object.keys(sums)) sums[name] += seen[name]
    requests += load.times.length
    log(`${seen.tasks} tasks checked, ${problems.length} problems, ${kills} SIGKILLs so far`)
  }
  try {
    replicas = await Replicas.start({ databaseUrl: server.url(), revive: true })
    const killer = setInterval(() => {
      const alive = replicas.replicas.filter(({ host }) => host.alive)
      alive[Math.floor(Math.random() * alive.length)]?.host.kill()
      kills++
    }, KILL_MS)
    const checks = []
    for (const end = Date.now() + minutes * 60_000; Date.now() < end;) {
      const load = new Load(replicas.url, receiver, ALL_PROTOCOLS)
      load.begin(RATE)
      await delay(Math.min(PART_MS, end - Date.now()))
      load.end()
      checks.push(check(load))
    }
    clearInterval(killer)
    await Promise.all(checks)
  } finally {
    await replicas?.close()
    receiver.close()
    await server.stop()
  }
  const { tasks, events, webhooks, lost, duplicated } = sums
  const text = `${requests} requests in ${minutes} min, ${kills} SIGKILLs; ${tasks} tasks, ${events} events and ${webhooks} webhooks checked: ${lost} lost, ${duplicated} duplicated`
  log(text)
  return { requests, problems, text }
}
