// The server process. It listens on a free port and answers the questions of server-process.mjs about itself.
import { setTimeout as delay } from 'node:timers/promises'
import { bareApp } from './bare-app.mjs'
import { aborts, made } from './interpreters.mjs'
import { polyvacApp } from './polyvac-app.mjs'

const app = await (process.argv[2] === 'bare' ? bareApp() : polyvacApp())
await app.listen({ port: 0, host: '127.0.0.1' })

const answers = {
  rss: () => process.memoryUsage.rss(),
  async rssAfterGc () {
    // the second pass frees what the first one's finalizers let go
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
  aborts: () => aborts.splice(0),
  made: () => made.chunks,
  async close () {
    const start = performance.now()
    await app.close()
    return performance.now() - start
  }
}

process.on('message', async ({ id, question }) => {
  process.send({ id, answer: await answers[question]() })
})
process.on('disconnect', () => process.exit(0))
process.send({ port: app.server.address().port })
