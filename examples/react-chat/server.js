import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { buildApp } from './app.js'

const app = await buildApp({
  secret: process.env.JWT_SECRET ?? randomBytes(32).toString('hex'),
  path: fileURLToPath(new URL('chat.db', import.meta.url)),
  page: fileURLToPath(new URL('dist', import.meta.url)),
  logger: true
})
const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
