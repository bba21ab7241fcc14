import Fastify, { type FastifyInstance } from 'fastify'
import type { TaskStore } from '@polyvac/tasks'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { mcpServerPlugin, type ToolSource } from '../src/index.js'
import { modern, says, sourceOf } from './fixtures/wire.js'

const able = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } }

type Tools = Parameters<typeof sourceOf>[0]
const answering: Tools[string] = { taskSupport: 'optional', run: async () => says('done') }
const busy: Tools[string] = {
  taskSupport: 'optional',
  run: async (_args, { signal }) => await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('stopped')) }) })
}

async function replica (t: Test, tasks: TaskStore, ...sources: ToolSource[]): Promise<FastifyInstance> {
  await tasks.open()
  const app = Fastify()
  app.addHook('onClose', () => tasks.close())
  t.teardown(async () => { await app.close() })
  await app.register(mcpServerPlugin, { sources, tasks })
  await app.ready()
  return app
}

async function begin (app: FastifyInstance, name: string): Promise<string> {
  return (await modern(app, 'tools/call', { name, arguments: {} }, able)).json.result?.taskId as string
}

async function statusOf (app: FastifyInstance, taskId: string): Promise<string> {
  return (await modern(app, 'tasks/get', { taskId }, able)).json.result?.status as string
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
  test(`${kind}: a replica leaves tasks of a tool that it lacks to one that has it, also under a former name`, async t => {
    const open = await makeStores(t)
    const old = await replica(t, open(), sourceOf({ report: answering }))
    const next = await replica(t, open(), sourceOf({ report: answering, bill: busy, 'bill.all': busy }))
    const left = [await begin(next, 'bill'), await begin(next, 'bill.all')]
    await until(async () => (await Promise.all(left.map(async id => await statusOf(next, id)))).every(status => status === 'working'), 'the new replica has begun the tasks')
    await next.close()
    // the claim after the one that could take them
    for (let i = 0; i < 3; i++) {
      const known = await begin(old, 'report')
      await until(async () => await statusOf(old, known) === 'completed', 'the old replica runs what it has')
    }
    for (const id of left) t.equal(await statusOf(old, id), 'working')
    const again = await replica(t, open(), sourceOf({ report: answering, bill: answering, 'bill.all': answering }))
    for (const id of left) await until(async () => await statusOf(again, id) === 'completed', 'a replica that has the tool completes the task')
  })
}

test('a replica takes the tasks of a tool once its source lists it', async t => {
  const path = `${t.testdir()}/tasks.db`
  const open = (): TaskStore => sqliteTaskStore({ path })
  const next = await replica(t, open(), sourceOf({ bill: busy }))
  const taskId = await begin(next, 'bill')
  const tools: Tools = { report: answering }
  let changed = (): void => {}
  const source = sourceOf(tools, { onChange: listener => { changed = () => { listener(['tools']) }; return () => {} } })
  const old = await replica(t, open(), source)
  await next.close()
  const known = await begin(old, 'report')
  await until(async () => await statusOf(old, known) === 'completed', 'it runs what it has')
  t.equal(await statusOf(old, taskId), 'working')
  tools.bill = answering
  changed()
  await until(async () => await statusOf(old, taskId) === 'completed', 'it takes the task')
})
