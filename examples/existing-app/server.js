import vac from '@polyvac/vac'
import { vacs } from './agents.js'
import { buildApp } from './app.js'

const app = await buildApp({ logger: true })

// The only new line. All routes of the plugin are under /agents.
await app.register(vac, { prefix: '/agents', vacs })

const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
