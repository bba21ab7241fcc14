import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SERVE = fileURLToPath(new URL('serve.mjs', import.meta.url))

/** A server whose event loop is blocked does not handle the signal that ends it. */
const LONGEST_STOP_MS = 3_000

/**
 * A server in a separate process, so that load and server do not share an event loop or a heap. It writes its files
 * into a folder that is deleted with it.
 * @param kind one of those of serve.mjs
 */
export async function startServer (kind) {
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-bench-'))
  const child = fork(SERVE, [kind, folder], { execArgv: ['--expose-gc', ...(process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter(Boolean)] })
  const end = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', end)
  const pending = new Map()
  let count = 0
  child.on('message', ({ id, answer }) => {
    pending.get(id)?.(answer)
    pending.delete(id)
  })
  const gone = once(child, 'exit')
  const died = gone.then(([code, signal]) => { throw new Error(`the ${kind} server ended with ${signal ?? `exit code ${code}`}`) })
  died.catch(() => {})
  const [{ port }] = await Promise.race([once(child, 'message'), died])
  return {
    kind,
    port,
    folder,
    /** Queries the server about itself; the queries are those of serve.mjs. */
    ask (question, about) {
      const answer = new Promise(resolve => { pending.set(++count, resolve) })
      child.send({ id: count, question, about })
      return Promise.race([answer, died])
    },
    async stop () {
      if (child.connected) child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_STOP_MS)
      await gone
      clearTimeout(timer)
      process.off('exit', end)
      end()
    }
  }
}

/** The least time of a request in µs in a new process of a server. @param prepare what it is asked to do before */
export async function leastTimeIn (kind, request, prepare = async () => {}) {
  return await withServers([kind], async server => {
    await prepare(server)
    return await server.ask('leastTime', typeof request === 'function' ? await request(server) : request)
  })
}

/** Runs `work` with servers of these kinds and ends them in any case. */
export async function withServers (kinds, work) {
  const servers = []
  try {
    for (const kind of kinds) servers.push(await startServer(kind))
    return await work(...servers)
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}
