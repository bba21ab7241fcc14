// The comparison of the start: an app that has nothing but /health, started as the host is.
import Fastify from 'fastify'

const app = Fastify()
app.get('/health', async () => ({ status: 'ok' }))
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
