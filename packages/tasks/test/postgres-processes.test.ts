import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { openPostgresStore, taskDatabase } from './fixtures/postgres-store.js'
import { start } from './fixtures/processes.js'
import { processCases } from './process-cases.js'

test('processes that share a database', async t => {
  processCases(t, 'postgres', { newPlace: taskDatabase, open: async (t, url, options) => await openPostgresStore(t, { url, ...options }) })
})

test('a delivery of a replica that dies is repeated once its death is noticed, not at the end of its lease', async t => {
  const url = await taskDatabase(t)
  const store = await openPostgresStore(t, { url })
  await store.create('alice', { skill: 'x', input: 1, push: { id: 'p', url: 'https://a.example', after: 0 } })
  const first = start(t, url, 'deliver slowly')
  const { delivery } = await first.saw('delivery')
  await first.exited
  const again: string[] = []
  store.deliver(async ({ id }) => {
    again.push(id)
    return 'delivered'
  })
  await until(() => again.length > 0, 'it is repeated; its lease lasts for 65 s')
  t.strictSame(again, [delivery])
})
