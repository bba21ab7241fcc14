import { mcpServerPlugin } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import Fastify from 'fastify'

/** An application with the plugin over these sources, and with tasks where they are wanted. */
export async function appOver (sources, { name, withTasks }) {
  const app = Fastify({ logger: { level: 'warn' } })
  const tasks = withTasks ? sqliteTaskStore({ path: ':memory:' }) : undefined
  await tasks?.open()
  app.addHook('onClose', async () => { await tasks?.close() })
  await app.register(mcpServerPlugin, { sources, tasks, name })
  return app
}
