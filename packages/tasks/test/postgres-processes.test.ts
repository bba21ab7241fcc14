import { test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { openPostgresStore } from './fixtures/postgres-store.js'
import { processCases } from './process-cases.js'

test('processes that share a database', async t => {
  processCases(t, 'postgres', { newPlace: testDatabase, open: async (t, url, options) => await openPostgresStore(t, { url, ...options }), takeoverMs: 9_000 })
})
