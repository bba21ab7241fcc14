import Fastify from 'fastify'
import { createVacs } from '@polyvac/core'
import type { TaskStore } from '@polyvac/tasks'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { a2aPlugin } from '../src/index.js'

type Call = (method: string, params: object) => Promise<{ readonly id: string, readonly taskId: string, readonly state: string, readonly error?: { readonly code: string } }>

async function replica (t: Test, tasks: TaskStore, vacs: readonly string[], isAnswering = true): Promise<{ close: () => Promise<void>, call: Call }> {
  await tasks.open()
  const app = Fastify()
  app.addHook('onClose', () => tasks.close())
  await app.register(a2aPlugin, {
    tasks,
    vacs: createVacs({
      vacs,
      async * streamInterpreter (_question, name, _history, { signal }) {
        if (isAnswering) yield name
        else await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('stopped')) }) })
      }
    })
  })
  await app.ready()
  t.teardown(async () => { await app.close() })
  const call: Call = async (method, params) => {
    const answered = await app.inject({ method: 'POST', url: `/a2a/${method}`, payload: { jsonrpc: '2.0', id: 1, method, params } })
    return answered.json<{ result: Awaited<ReturnType<Call>> }>().result
  }
  return { close: async () => { await app.close() }, call }
}

const stores: Record<string, (t: Test) => Promise<() => TaskStore>> = {
  SQLite: async t => {
    const path = `${t.testdir()}/tasks.db`
    return () => sqliteTaskStore({ path })
  },
  PostgreSQL: async t => {
    const url = await testDatabase(t)
    return () => postgresTaskStore({ url })
  }
}

for (const [kind, makeStores] of Object.entries(stores)) {
  test(`${kind}: a replica leaves tasks of a VAC that it lacks to one that has it, and fails those of a skill that does not exist`, async t => {
    const open = await makeStores(t)
    const old = await replica(t, open(), ['support'])
    const next = await replica(t, open(), ['support', 'billing'], false)
    const { taskId } = await next.call('tasks/send', { skillName: 'vac_stream_billing', input: { query: 'x' } })
    await until(async () => (await next.call('tasks/get', { taskId })).state === 'working', 'the new replica has begun the task')
    await next.close()
    const known = await old.call('tasks/send', { skillName: 'vac_query_support', input: { query: 'x' } })
    t.equal(known.state, 'completed')
    t.match(await old.call('tasks/send', { skillName: 'vac_query_none', input: { query: 'x' } }), { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND' } })
    t.equal((await old.call('tasks/get', { taskId })).state, 'working')
    const again = await replica(t, open(), ['support', 'billing'])
    await until(async () => (await again.call('tasks/get', { taskId })).state === 'completed', 'the task is completed by a replica that has the VAC')
  })
}
