// Many tasks at once, each with its own subscriber: all events must arrive, and the event loop must stay responsive.
import { followTask } from './parts/events.mjs'
import { figure } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { median, quantile } from './parts/statistics.mjs'
import { text } from './parts/task-interpreters.mjs'
import { WIRES } from './parts/wires.mjs'

const TASKS = 1_000
/** Longer than all of them need to connect. */
const TICKS = 24
const WARM_UP = { tasks: 20, ticks: 4 }
const CONNECT_AT_ONCE = 100

export const title = `A2A: ${TASKS.toLocaleString('en')} tasks at once, each with a subscriber`

export async function run () {
  const peer = await withServers(['a2a-js'], follow).then(({ loop, rss, times }) => ({ ...loop, rss, tasksP50: median(times) }))
  const { loop, times, rss, atOnce } = await withServers(['tasks-file'], follow)
  return [
    figure('tasks that ran at the same time', atOnce, 'tasks', { atLeast: TASKS }, { p50: median(times), p99: quantile(times, 0.99) }),
    figure('delay of the event loop, p99', loop.p99, 'ms', { atMost: 100 }, { ...loop, rss, peer })
  ]
}

async function follow (server) {
  // the first ones load code and fill pools
  await Promise.all(Array.from({ length: WARM_UP.tasks }, () => followOne(server, WARM_UP.ticks)))
  await server.ask('watchLoop')
  const followed = []
  for (let i = 0; i < TASKS; i += CONNECT_AT_ONCE) {
    followed.push(...Array.from({ length: CONNECT_AT_ONCE }, () => followOne(server, TICKS)))
    await new Promise(resolve => setImmediate(resolve))
  }
  const times = (await Promise.all(followed)).map(({ ms }) => ms)
  return { loop: await server.ask('loopDelay'), times, rss: await server.ask('rss'), atOnce: await server.ask('atOnce') }
}

async function followOne ({ port, kind }, ticks) {
  const wire = WIRES[kind]
  let received = ''
  const followed = await followTask(port, wire, wire.subscribe('ticking', String(ticks)), delta => { received += delta })
  if (received !== text(ticks)) throw new Error(`${kind}: ${received.length} characters arrived, or in another order`)
  return followed
}
