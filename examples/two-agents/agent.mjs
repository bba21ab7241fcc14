// A host with one agent, whose tasks are kept in memory.
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import Fastify from 'fastify'

/** Listens with one VAC; resolves to its address and a function that closes it. */
export async function host (name, config, streamInterpreter, port = 0) {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify({ logger: { level: 'warn', stream: process.stderr }, forceCloseConnections: true })
  app.addHook('onClose', () => tasks.close())
  await app.register(a2aPlugin, { vacs: createVacs({ vacs: { [name]: config }, streamInterpreter }), tasks })
  return { url: await app.listen({ port, host: '127.0.0.1' }), close: () => app.close() }
}
