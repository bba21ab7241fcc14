// Many tasks at once, each with a subscriber of its own: all must come through whole, and the server must stay awake.
import { followTask } from './parts/events.mjs'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { median, quantile } from './parts/statistics.mjs'
import { text, TICK_MS } from './parts/task-interpreters.mjs'
import { WIRES } from './parts/wires.mjs'

const TASKS = 1_000
const TICKS = 16
const CONNECT_AT_ONCE = 100

export const title = `A2A: ${TASKS.toLocaleString('en')} tasks at once, each with a subscriber`

export async function run () {
  const peer = await withServers(['a2a-js'], follow)
  const { loop, times, rss, atOnce } = await withServers(['tasks-file'], follow)
  const [p50, p99] = [median(times), quantile(times, 0.99)]
  return [
    figure('tasks that ran at the same time', atOnce, 'tasks', { atLeast: TASKS }),
    figure('delay of the event loop, p99', loop.p99, 'ms', { atMost: 100 }, { loop, rss, peer: { loop: peer.loop, rss: peer.rss } }),
    figure('time of a task, p99, share of what its interpreter takes', p99 / (TICKS * TICK_MS) * 100, '%', { atMost: 150 }, { p50, p99 })
  ]
}

async function follow (server) {
  const one = () => followOne(server)
  // code and pools that the first ones bring
  await Promise.all(Array.from({ length: 20 }, one))
  await server.ask('watchLoop')
  const followed = []
  for (let i = 0; i < TASKS; i += CONNECT_AT_ONCE) {
    followed.push(...Array.from({ length: CONNECT_AT_ONCE }, one))
    await new Promise(resolve => setImmediate(resolve))
  }
  const times = (await Promise.all(followed)).map(({ ms }) => ms)
  return { loop: await server.ask('loopDelay'), times, rss: await server.ask('rss'), atOnce: await server.ask('atOnce') }
}

async function followOne ({ port, kind }) {
  const wire = WIRES[kind]
  let told = ''
  const followed = await followTask(port, wire, wire.subscribe('ticking', String(TICKS)), delta => { told += delta })
  if (told !== text(TICKS)) throw new Error(`${kind}: ${told.length} characters arrived, or not as they were said`)
  return followed
}
