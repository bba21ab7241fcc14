import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const SERVE = fileURLToPath(new URL('serve.mjs', import.meta.url))

/**
 * A server in a process of its own, so that load and server do not share an event loop or a heap.
 * @param {'polyvac' | 'bare'} kind
 */
export async function startServer (kind) {
  const child = fork(SERVE, [kind], { execArgv: ['--expose-gc', ...(process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter(Boolean)] })
  const pending = new Map()
  let count = 0
  child.on('message', ({ id, answer }) => {
    pending.get(id)?.(answer)
    pending.delete(id)
  })
  const died = once(child, 'exit').then(([code]) => { throw new Error(`the ${kind} server ended with exit code ${code}`) })
  died.catch(() => {})
  const [{ port }] = await Promise.race([once(child, 'message'), died])
  return {
    kind,
    port,
    /** Asks the server about itself; the questions are those of serve.mjs. */
    ask (question) {
      const answer = new Promise(resolve => { pending.set(++count, resolve) })
      child.send({ id: count, question })
      return Promise.race([answer, died])
    },
    async stop () {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    }
  }
}

/** Runs `work` with servers of these kinds and ends them, whatever happens. */
export async function withServers (kinds, work) {
  const servers = []
  try {
    for (const kind of kinds) servers.push(await startServer(kind))
    return await work(...servers)
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}
