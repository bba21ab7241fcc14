import { randomBytes } from 'node:crypto'
import { buildApp } from './app.js'

const app = await buildApp({ secret: process.env.JWT_SECRET ?? randomBytes(32).toString('hex'), logger: true })
const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
