import { createVacs } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import { counted, instant } from './interpreters.mjs'

/** So many questions at once fill a store. */
const AT_ONCE = 64
const OF_ONE = 1_000

/**
 * Polyvac as an application with runs registers it.
 * @param place the path of a file, or the URL of a database of PostgreSQL
 * @param finished runs that have ended before it listens
 * @param conversations conversations of ten turns, `chat 0` and so on; 1,000 of one owner
 */
export async function runsApp (place, finished = 0, conversations = 0) {
  const options = { maxTasks: 1_000_000, ownerShare: 1 }
  const tasks = place.startsWith('postgres:') ? postgresTaskStore({ url: place, ...options }) : sqliteTaskStore({ path: place, ...options })
  await tasks.open()
  await talk(tasks.conversations, conversations)
  const app = Fastify()
  app.addHook('onClose', () => tasks.close())
  const vacs = createVacs({ vacs: ['counted', 'instant'], parts: { counted: { streamInterpreter: counted }, instant: { streamInterpreter: instant } } })
  const runs = createRuns({ vacs, tasks, concurrency: AT_ONCE })
  await app.register(vacPlugin, { vacs, runs, protocols: ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui'] })
  await fill(runs, vacs.get('instant'), finished)
  return app
}

async function fill (runs, vac, count) {
  const caller = { principal: undefined, isLocal: true }
  for (let made = 0; made < count; made += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, async () => {
      const { settle } = await runs.start(caller, { vac, question: 'What is a VAC?', history: [], extra: {}, protocol: 'direct', requestId: 'r', isWhole: true })
      await settle(new AbortController().signal)
    }))
  }
}

async function talk (conversations, count) {
  const turns = Array.from({ length: 10 }, (_, i) => ({ id: `turn ${i}`, question: `What is VAC number ${i}?`, answer: `It is an agent with the number ${i}. `.repeat(5), content: {}, state: 'completed', createdAt: i, endedAt: i + 1 }))
  for (let made = 0; made < count; made += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, async (_, i) => {
      const number = made + i
      const owner = number < OF_ONE ? 'anyone' : `owner ${Math.floor(number / OF_ONE)}`
      await conversations.import({ owner, vac: 'instant', id: `chat ${number}` }, { title: `Chat ${number}`, turns })
    }))
  }
}
