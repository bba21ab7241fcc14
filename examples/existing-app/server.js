import bearerAuth from '@fastify/bearer-auth'
import vac from '@polyvac/vac'
import { vacs } from './agents.js'
import { buildApp } from './app.js'

const app = await buildApp({ logger: true })

// One new line for customers. All routes of the plugin are under /agents, and the sign-in of the shop guards them.
await app.register(vac, { prefix: '/agents', vacs })

// Partners call the same agent with a key.
await app.register(async partners => {
  await partners.register(bearerAuth, { keys: new Set([process.env.PARTNER_KEY ?? 'demo-key']) })
  await partners.register(vac, { vacs })
}, { prefix: '/partners' })

const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
