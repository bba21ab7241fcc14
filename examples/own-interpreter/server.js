// The host inside your own program: the same service as `polyvac start`, and a Fastify app to extend.
import { createHost } from '@polyvac/host'
import { join } from 'node:path'

const app = await createHost({
  config: join(import.meta.dirname, 'vac_config.yaml'),
  server: { logger: { level: 'info', stream: process.stderr } }
})

app.get('/about', async () => ({ agents: app.polyvac.vacs.names }))

const address = await app.listen({ port: Number(process.env.PORT ?? 8080) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
