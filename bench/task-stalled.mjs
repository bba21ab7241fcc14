// A subscriber that stops reading: its task must run to its end without filling the memory.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { followTask } from './parts/events.mjs'
import { figure, toMb } from './parts/figure.mjs'
import { withServers } from './parts/server-process.mjs'
import { block, BLOCK_CHARS } from './parts/task-interpreters.mjs'
import { WIRES } from './parts/wires.mjs'

const BYTES = 200 * 1024 * 1024
const BLOCKS = BYTES / BLOCK_CHARS
/** The first stream, which is read, loads code, fills pools and grows the young generation. */
const WARM_UP_BLOCKS = 320
/** How many are read once the subscriber reads again. */
const BLOCKS_AFTER = 64
const LOOK_MS = 100
/** Blocks that may not have been sent yet when the last one is yielded. */
const REST_MS = 1_000
const LONGEST_MS = 40_000

export const title = 'A2A: a stalled subscriber, 200 MB in chunks of 64 KiB'

export async function run () {
  const peer = await withServers(['a2a-js'], stall)
  const { grown, kept, rss, ms, stored } = await withServers(['tasks-file'], stall)
  const said = BYTES + WARM_UP_BLOCKS * BLOCK_CHARS
  if (stored < said) throw new Error(`only ${stored} bytes of ${said} are stored`)
  const more = { rss, ms, stored, keptMb: toMb(kept), peerMb: toMb(peer.grown), peerKeptMb: toMb(peer.kept) }
  return [figure('memory while the subscriber does not read', toMb(grown), 'MB', { atMost: 30 }, more)]
}

async function stall (server) {
  await follow(server, WARM_UP_BLOCKS, WARM_UP_BLOCKS)
  const before = await server.ask('rssAfterGc')
  let resume
  const hold = new Promise(resolve => { resume = resolve })
  const began = performance.now()
  const followed = follow(server, BLOCKS, BLOCKS_AFTER, hold)
  let failure
  followed.catch(err => { failure = err })
  let rss = before
  const look = async () => { rss = Math.max(rss, await server.ask('rss')) }
  while (await server.ask('made') < WARM_UP_BLOCKS + BLOCKS) {
    if (performance.now() - began > LONGEST_MS) failure ??= new Error(`${server.kind}: the task stalled with its subscriber, after ${await server.ask('made')} blocks`)
    if (failure !== undefined) throw failure
    await look()
    await delay(LOOK_MS)
  }
  const ms = performance.now() - began
  for (let waited = 0; waited < REST_MS; waited += LOOK_MS) {
    await delay(LOOK_MS)
    await look()
  }
  const kept = await server.ask('rssAfterGc') - before
  // the unread events are still in the log
  resume()
  await followed
  const stored = readdirSync(server.folder).reduce((bytes, file) => bytes + statSync(join(server.folder, file)).size, 0)
  return { grown: rss - before, kept, rss, ms, stored }
}

/** Requests a flood of `made` blocks and reads `read` of them. */
async function follow ({ port, kind }, made, read, hold) {
  const wire = WIRES[kind]
  const expected = block().repeat(read)
  let received = ''
  await followTask(port, wire, wire.subscribe('flood', String(made)), delta => {
    received += delta
    return read < made && received.length >= expected.length
  }, hold)
  if (!received.startsWith(expected)) throw new Error(`${kind}: ${received.length} characters arrived, or in another order`)
}
