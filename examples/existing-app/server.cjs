// The same server for an application in CommonJS. Node.js 20.19 and newer load ES modules with require.
const bearerAuth = require('@fastify/bearer-auth')
const { vacPlugin } = require('@polyvac/vac')
const { vacs } = require('./agents.js')
const { buildApp } = require('./app.js')

async function start () {
  const app = await buildApp({ logger: true })
  await app.register(vacPlugin, { prefix: '/agents', vacs })
  await app.register(async partners => {
    await partners.register(bearerAuth, { keys: new Set([process.env.PARTNER_KEY ?? 'demo-key']) })
    await partners.register(vacPlugin, { vacs })
  }, { prefix: '/partners' })

  const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
  process.stdout.write(`listening on ${address}\n`)
  process.once('SIGTERM', () => app.close())
}

start()
