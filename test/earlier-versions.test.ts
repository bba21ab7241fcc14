import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { createRuns, type OwnRuns } from '@polyvac/runs'
import type { TaskStore } from '@polyvac/tasks'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { type FastifyInstance } from 'fastify'
import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { test, type Test } from 'tap'
import { testDatabase } from './fixtures/postgres.js'
import { until } from './fixtures/until.js'
import './fixtures/timeout.mjs'

// What a version without runs has left in a store, or shares it with.

interface Task { readonly id: string, readonly status: { readonly state: string }, readonly artifacts?: unknown, readonly history?: unknown }
interface Service { readonly app: FastifyInstance, readonly answered: string[], readonly vacs: ReturnType<typeof createVacs>, readonly runs: OwnRuns | undefined, readonly tasks: TaskStore }

/** A service over a store. @param hasRuns false: as versions before runs */
async function serve (t: Test, tasks: TaskStore, hasRuns: boolean): Promise<Service> {
  await tasks.open()
  const answered: string[] = []
  const vacs = createVacs({
    vacs: ['docs'],
    async * streamInterpreter (question, _name, history) {
      answered.push(question)
      yield 'heard: '
      yield question
      if (question === 'ask' && history.length === 0) return { input_required: 'which one?' }
    }
  })
  const app = Fastify()
  app.addHook('onClose', async () => { await tasks.close() })
  const runs = hasRuns ? createRuns({ vacs, tasks }) : undefined
  await app.register(a2aPlugin, { tasks, vacs })
  if (runs !== undefined) await app.register(vacPlugin, { vacs, runs })
  await app.ready()
  t.teardown(() => app.close())
  return { app, answered, vacs, runs, tasks }
}

async function call<Result = Task> ({ app }: Service, method: string, params: object): Promise<Result> {
  const response = await app.inject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': '1.0' }, payload: { jsonrpc: '2.0', id: 1, method, params } })
  return response.json().result as Result
}

async function ask (service: Service, text: string, more = {}): Promise<Task> {
  const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...more }
  return (await call<{ task: Task }>(service, 'SendMessage', { message })).task
}

const start = async ({ app }: Service, question: string): Promise<string> =>
  (await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: question, background: true } })).json().run_id as string
const readRun = async ({ app }: Service, id: string): Promise<{ state: string, answer?: string }> => (await app.inject(`/vac/docs/runs/${id}`)).json()
const isCompleted = (task: Task): boolean => task.status.state === 'TASK_STATE_COMPLETED'

test('a file that a version without runs has written opens with its tasks, and takes runs', async t => {
  // five tasks over A2A; its process was stopped while one of them was executed
  const file = gunzipSync(readFileSync(new URL('./fixtures/tasks-before-runs.db.gz', import.meta.url)))
  const path = `${t.testdir()}/tasks.db`
  writeFileSync(path, file)
  const service = await serve(t, sqliteTaskStore({ path }), true)
  const list = async (): Promise<Task[]> => (await call<{ tasks: Task[] }>(service, 'ListTasks', { historyLength: 10, includeArtifacts: true })).tasks
  const inState = async (state: string): Promise<Task> => (await list()).find(({ status }) => status.state === `TASK_STATE_${state}`)!
  await until(async () => (await list()).filter(isCompleted).length === 2, 'the task that was left is executed')
  t.strictSame(service.answered, ['wait'], 'no other one is')
  t.strictSame((await list()).map(({ status }) => status.state.slice('TASK_STATE_'.length)).sort(), ['CANCELED', 'COMPLETED', 'COMPLETED', 'FAILED', 'INPUT_REQUIRED'])
  for (const { id } of await list()) t.equal((await call(service, 'GetTask', { id })).id, id)
  t.match(JSON.stringify((await list()).filter(isCompleted)), /heard: hello/)
  const asking = await inState('INPUT_REQUIRED')
  t.equal((await ask(service, 'this one', { taskId: asking.id })).status.state, 'TASK_STATE_COMPLETED')

  const id = await start(service, 'a run')
  await until(async () => (await readRun(service, id)).state === 'completed', 'the run is complete')
  t.equal((await readRun(service, id)).answer, 'heard: a run')
  t.equal((await list()).length, 5, 'A2A does not list the run')
  t.equal((await service.app.inject('/vac/docs/runs')).json().runs.length, 1, 'the runs do not have the tasks')
})

test('a replica without runs leaves them to those that have them, and shares the tasks', async t => {
  const url = await testDatabase(t)
  const old = await serve(t, postgresTaskStore({ url }), false)
  const next = await serve(t, postgresTaskStore({ url }), true)
  await next.runs!.stop()
  const id = await start(next, 'a run')
  const made = [await ask(old, 'of the old one'), await ask(next, 'of the new one')]
  for (const task of made) {
    t.equal(task.status.state, 'TASK_STATE_COMPLETED')
    for (const service of [old, next]) t.equal((await call(service, 'GetTask', { id: task.id })).status.state, 'TASK_STATE_COMPLETED')
  }
  t.equal((await readRun(next, id)).state, 'queued', 'the old one has executed later tasks')
  createRuns({ vacs: next.vacs, tasks: next.tasks })
  await until(async () => (await readRun(next, id)).state === 'completed', 'the run is complete')
  t.notOk(old.answered.includes('a run'))
  t.ok(next.answered.includes('a run'))
  t.equal((await call<{ tasks: Task[] }>(old, 'ListTasks', {})).tasks.length, 2)
  await old.app.close()
  t.equal((await ask(next, 'after the update')).status.state, 'TASK_STATE_COMPLETED')
})
