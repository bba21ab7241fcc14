import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import Fastify from 'fastify'
import { interpreters } from './task-interpreters.mjs'

/** Longest log of one task: 200 MB of text exceed the default. */
const MAX_TASK_CHARS = 512 * 1024 * 1024

/** Polyvac's A2A agent as an application registers it, its tasks in memory or in a file. */
export async function tasksApp (path) {
  const tasks = sqliteTaskStore({ path, maxTaskChars: MAX_TASK_CHARS })
  await tasks.open()
  const app = Fastify()
  app.addHook('onClose', () => tasks.close())
  await app.register(a2aPlugin, {
    tasks,
    vacs: createVacs({
      vacs: Object.keys(interpreters),
      parts: Object.fromEntries(Object.entries(interpreters).map(([name, streamInterpreter]) => [name, { streamInterpreter }]))
    })
  })
  return app
}
