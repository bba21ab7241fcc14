import t from 'tap'
import { postgresServer, query, testDatabase } from './fixtures/postgres.js'

t.test('a test has a separate, empty database', async t => {
  const url = await testDatabase(t)
  await query(url, 'CREATE TABLE a (b text)')
  const other = await testDatabase(t)
  t.strictSame(await query(other, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [])
})

t.test('a server that crashed keeps what was committed', async t => {
  const server = await postgresServer(t)
  await query(server.url(), 'CREATE TABLE a AS SELECT 1 AS b')
  await server.crash()
  await t.rejects(query(server.url(), 'SELECT 1'))
  await server.start()
  t.strictSame(await query(server.url(), 'SELECT b FROM a'), [{ b: 1 }])
})
