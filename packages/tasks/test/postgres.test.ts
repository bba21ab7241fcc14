import { test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { conformance } from './conformance.js'
import { openPostgresStore } from './fixtures/postgres-store.js'

test('the store in PostgreSQL', async t => {
  conformance(t, 'postgres', async (t, settings = {}) => await openPostgresStore(t, { url: await testDatabase(t), ...settings }))
})
