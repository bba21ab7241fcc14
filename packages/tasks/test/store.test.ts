import { test } from 'tap'
import { conformance } from './conformance.js'
import { until } from '../../../test/fixtures/until.js'
import { fileOf, openStore } from './fixtures/store.js'

test('the store in memory', async t => {
  conformance(t, 'memory', async (t, settings = {}) => await openStore(t, { path: ':memory:', ...settings }))
})

test('the store in a file', async t => {
  conformance(t, 'file', async (t, settings = {}) => await openStore(t, { path: await fileOf(t), ...settings }))
})

test('a handler whose task another process has cancelled learns that by its next update', async t => {
  const path = await fileOf(t)
  const [worker, other] = [await openStore(t, { path }), await openStore(t, { path })]
  let learned: unknown
  worker.work(async (task, { emit, stop }) => {
    await other.cancel('alice', task.id)
    await t.rejects(emit({ state: 'completed' }), { code: 'TASK_FENCED' })
    learned = stop.reason
  })
  await worker.create('alice', { skill: 'x', input: null })
  await until(() => learned !== undefined, 'the update was refused')
  t.match(learned, { code: 'TASK_CANCELED' })
})
