import Fastify from 'fastify'
import { mcpServerPlugin } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { fixtureSource } from './source.mjs'

/** Serves the fixture on a free port, or on $PORT, and tells its address. */
const app = Fastify({ logger: { level: 'warn' } })
const tasks = sqliteTaskStore({ path: ':memory:' })
await tasks.open()
await app.register(mcpServerPlugin, { sources: [fixtureSource()], tasks, name: 'polyvac-conformance' })
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })}\n`)
