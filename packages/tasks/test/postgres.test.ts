import { test } from 'tap'
import { conformance } from './conformance.js'
import { openPostgresStore, taskDatabase } from './fixtures/postgres-store.js'

test('the store in PostgreSQL', async t => {
  conformance(t, 'postgres', async (t, settings = {}) => await openPostgresStore(t, { url: await taskDatabase(t), ...settings }))
})
