import { createVacs, type NewRun, type RunCaller, type Vacs } from '@polyvac/core'
import { LightAbort } from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { once } from 'node:events'
import { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import '../../../test/fixtures/timeout.mjs'
import { until } from '../../../test/fixtures/until.js'
import { createRuns, type OwnRuns } from '../src/index.js'

// Runs that end when no reader has them.

const caller: RunCaller = { principal: { owner: 'alice' }, isLocal: false, isAdmin: false }

interface Replica { readonly tasks: TaskStore, readonly vacs: Vacs, readonly runs: OwnRuns, readonly notes: () => number, readonly aborted: () => number }

async function replica (t: Test, tasks: TaskStore): Promise<Replica> {
  let [notes, aborted] = [0, 0]
  const { markRead } = tasks
  tasks.markRead = async (...args) => { notes++; await markRead.apply(tasks, args) }
  await tasks.open()
  t.teardown(async () => { await tasks.close() })
  const vacs = createVacs({
    vacs: ['docs'],
    async * streamInterpreter (_question, _vac, _history, { signal }) {
      yield 'begun'
      await once(signal, 'abort')
      aborted++
    }
  })
  return { tasks, vacs, runs: createRuns({ vacs, tasks }), notes: () => notes, aborted: () => aborted }
}

function question ({ vacs }: Replica, unreadMs?: number): NewRun {
  return { vac: vacs.get('docs'), question: 'wait', history: [], extra: {}, protocol: 'toy', requestId: 'r', isWhole: false, unreadMs }
}

const stateOf = async ({ tasks }: Replica, id: string): Promise<string | undefined> => (await tasks.get(' runs alice', id))?.state

test('a run that no reader has is cancelled, and its error names that; any other goes on', async t => {
  const one = await replica(t, sqliteTaskStore({ path: ':memory:' }))
  const { run: other } = await one.runs.start(caller, question(one))
  const { run } = await one.runs.start(caller, question(one, 200))
  await until(() => one.aborted() === 1, 'the interpreter is aborted')
  await until(async () => await stateOf(one, run.id) === 'canceled', 'the run is cancelled')
  const error = { code: 'RUN_CANCELLED', message: 'the run was cancelled: no reader has followed it or read its state for 0.2 s; ask again' }
  t.match((await one.runs.get(caller, 'docs', run.id)).error, error)
  await t.rejects(async () => { for await (const item of one.runs.follow(caller, 'docs', run.id, 0, new LightAbort())) t.match(item, { chunk: 'begun' }) }, error)
  t.equal((await one.runs.get(caller, 'docs', other.id)).state, 'running')
  t.equal(one.notes(), 0, 'readers of runs that have ended, and of those that no time ends, note nothing')
  await one.runs.cancel(caller, 'docs', other.id)
  t.equal((await one.runs.get(caller, 'docs', other.id)).error?.message, 'the run was cancelled; ask again')
})

for (const [kind, open] of [
  ['two stores on one file', async (t: Test) => { const path = `${t.testdir()}/tasks.db`; return () => sqliteTaskStore({ path }) }],
  ['two stores on PostgreSQL', async (t: Test) => { const url = await testDatabase(t); return () => postgresTaskStore({ url }) }]
] as const) {
  test(`${kind}: a reader of one keeps a run of the other one; after a restart it is cancelled as well`, async t => {
    const make = await open(t)
    const [first, second] = [await replica(t, make()), await replica(t, make())]
    await second.runs.stop()
    const { run } = await first.runs.start(caller, question(first, 3_000))
    const signal = new LightAbort()
    const read = (async () => { for await (const { seq } of second.runs.follow(caller, 'docs', run.id, 0, signal)) t.ok(seq) })()
    // as many as there are in one and a half times the time that would end it
    await until(() => second.notes() > 7, 'the reader notes that it reads')
    t.equal(await stateOf(first, run.id), 'working')
    t.equal((await second.runs.get(caller, 'docs', run.id)).state, 'running')
    signal.abort(new Error('left'))
    await read.catch(() => {})
    await first.tasks.close()
    createRuns({ vacs: second.vacs, tasks: second.tasks })
    await until(() => second.aborted() === 1, 'the next attempt is aborted')
    await until(async () => await stateOf(second, run.id) === 'canceled', 'the run is cancelled')
    t.match((await second.runs.get(caller, 'docs', run.id)).error, { message: /no reader has followed it/ })
  })
}
