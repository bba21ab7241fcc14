// A Fastify app with one agent, over the direct routes and as an A2A agent.
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'

/** Writes a story word by word, and asks back where the question names no person. */
async function * write (question, vectorName, chatHistory, { signal }) {
  const [hero] = /\b[A-Z]\w+$/.exec(question) ?? []
  if (hero === undefined) return { input_required: 'Who is the story about?' }
  for (const word of `Once ${hero} went into the wood and was never bored again.`.split(/(?<= )/)) {
    // the signal aborts when the task is canceled
    await delay(150, undefined, { signal })
    yield word
  }
}

const vacs = createVacs({ vacs: { stories: { display_name: 'Story writer' } }, streamInterpreter: write })

// a file instead of ':memory:' keeps tasks over a restart
const tasks = sqliteTaskStore({ path: ':memory:' })
await tasks.open()

const app = Fastify({ logger: { level: 'warn', stream: process.stderr } })
app.addHook('onClose', () => tasks.close())
await app.register(vacPlugin, { vacs })
await app.register(a2aPlugin, {
  vacs,
  tasks,
  // webhooks may go to this machine: the client's receiver is there
  push: { allow: ['127.0.0.1'] }
})

const address = await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' })
process.stdout.write(`listening on ${address}\n`)
process.once('SIGTERM', () => app.close())
