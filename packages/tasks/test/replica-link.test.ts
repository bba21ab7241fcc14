import { test, type Test } from 'tap'
import { query, testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { Connection } from '../src/postgres/connection.js'
import { migrate } from '../src/postgres/migrations.js'
import { PostgresReplicaLink } from '../src/postgres/replica-link.js'
import type { LinkEntry } from '../src/index.js'

/** As the store has it, but shorter. */
const FROZEN_MS = 1_000
const log = { debug () {}, info () {}, warn () {}, error () {} }
const brief = { owner: 'ann', ttlMs: 60_000 }

interface Replica { readonly link: PostgresReplicaLink, readonly connection: Connection, close (): Promise<void> }

async function replica (t: Test, url: string, number: number): Promise<Replica> {
  const connection = await Connection.open({ url, schema: 'polyvac', maxConnections: 4, log })
  await migrate(connection, async () => {})
  await connection.listener.start(number, 'test', async () => {
    await connection.run('INSERT INTO polyvac.replica (id) OVERRIDING SYSTEM VALUE VALUES ($1) ON CONFLICT DO NOTHING', [number])
  })
  const link = new PostgresReplicaLink({ log, ownerShare: 0.25 })
  await link.open(connection, number, FROZEN_MS)
  const close = async (): Promise<void> => {
    await link.close()
    await connection.close()
  }
  t.teardown(close)
  return { link, connection, close }
}

async function pair (t: Test): Promise<{ a: PostgresReplicaLink, b: PostgresReplicaLink, url: string, closeA: () => Promise<void> }> {
  const url = await testDatabase(t)
  const [a, b] = [await replica(t, url, 1), await replica(t, url, 2)]
  return { a: a.link, b: b.link, url, closeA: a.close }
}

const texts = (entries: readonly LinkEntry[]): string[] => entries.map(({ seq, text }) => `${seq} ${text}`)

test('a follower on another replica gets the entries so far, then later ones', async t => {
  const { a, b } = await pair(t)
  await a.append('s', ['one', 'two'], brief)
  await b.append('s', ['three'], brief)
  const later: LinkEntry[] = []
  const { entries, seq, stop } = await b.follow('s', 1, entries => { later.push(...entries) })
  t.strictSame(texts(entries), ['2 two', '3 three'])
  t.equal(seq, 3)
  await Promise.all(Array.from({ length: 100 }, async (_none, i) => { await (i % 2 === 0 ? a : b).append('s', [`x${i}`], brief) }))
  await until(() => later.length === 100, 'all have come')
  t.strictSame(later.map(({ seq }) => seq), Array.from({ length: 100 }, (_none, i) => i + 4))
  stop()
  const newest = await a.follow('s', undefined, () => {})
  t.strictSame(newest.entries, [])
  t.equal(newest.seq, 103)
  newest.stop()
  await a.append('s', ['unheard'], brief)
  t.equal(later.length, 100)
})

test('a stream that does not exist yet can be followed', async t => {
  const { a, b } = await pair(t)
  const later: LinkEntry[] = []
  const { entries, seq, stop } = await b.follow('new', 0, entries => { later.push(...entries) })
  t.strictSame({ entries, seq }, { entries: [], seq: 0 })
  await a.append('new', ['x'], brief)
  await until(() => later.length === 1, 'it has come')
  stop()
})

test('a writer sets the numbers, and entry 0 stays when a stream is cut', async t => {
  const { a, b, url } = await pair(t)
  const append = async (after: number, text: string): Promise<void> => { await a.append('numbered', [text], { ...brief, after }) }
  await Promise.all([append(-1, 'request'), ...Array.from({ length: 1_500 }, async (_none, i) => { await append(i, 'y'.repeat(10)) })])
  const { entries, seq, stop } = await b.follow('numbered', -1, () => {})
  stop()
  t.equal(seq, 1_500)
  t.match(entries[0], { seq: 0, text: 'request' })
  t.ok(entries.length < 700, `${entries.length} entries are kept`)
  t.equal(entries.at(-1)?.seq, 1_500)
  await query(url, `WITH added AS (INSERT INTO polyvac.entry SELECT s.id, 1500 + n, repeat('z', 5 * 1024 * 1024) FROM polyvac.stream s, generate_series(1, 8) n RETURNING data)
    UPDATE polyvac.stream SET seq = 1508, entries = entries + 8, chars = chars + (SELECT sum(length(data) + 100) FROM added)`)
  await append(1_508, 'last')
  const [row] = await query<{ entries: number, chars: string, count: string, sum: string }>(url, `SELECT s.entries, s.chars, count(e.*), sum(length(e.data) + 100)
    FROM polyvac.stream s JOIN polyvac.entry e ON e.stream = s.id GROUP BY s.id`)
  t.match(row, { entries: 8, chars: row?.sum, count: '8' }, 'entry 0, the last one, and as many of 5 Mi as fit in 32 Mi')
})

test('streams are deleted by age, and beyond the share of their owner', async t => {
  const { a, url } = await pair(t)
  await a.append('old', ['x'], { owner: 'ann', ttlMs: 0 })
  await a.append('kept', ['x'], { owner: 'ann', ttlMs: 60_000 })
  for (let i = 0; i < 3; i++) await a.append(`bob ${i}`, ['x'], { owner: 'bob', ttlMs: 60_000 + i })
  await query(url, "UPDATE polyvac.stream SET chars = 40 * 1024 * 1024 WHERE owner = 'bob'")
  await a.purge()
  t.strictSame(await query(url, 'SELECT name FROM polyvac.stream ORDER BY name'), [{ name: 'bob 2' }, { name: 'kept' }])
  t.same(await query(url, 'SELECT count(*) FROM polyvac.entry'), [{ count: '2' }])
})

test('a replica is alive as long as the others have not taken its tasks', async t => {
  const { a, b, url, closeA } = await pair(t)
  t.ok(await b.isAlive(a.id))
  t.ok(await a.isAlive(a.id))
  await query(url, 'DELETE FROM polyvac.replica WHERE id = 1')
  for (const other of [a.id, '77', 'x', '9'.repeat(40)]) t.notOk(await b.isAlive(other))
  await closeA()
  await t.rejects(a.append('s', ['x'], brief), { code: 'TASK_STORE_CLOSED' })
})

test('a replica that writes no heartbeat is not alive, once the others have written theirs for as long', async t => {
  const { a, b, url } = await pair(t)
  await a.beat()
  await b.beat()
  await query(url, "UPDATE polyvac.replica SET seen_at = now() - interval '1 hour' WHERE id = 1")
  t.ok(await b.isAlive(a.id), 'the database may have been away')
  await until(async () => {
    await b.beat()
    return !await b.isAlive(a.id)
  }, 'the frozen replica is noticed')
  t.ok(await b.isAlive(b.id))
  await a.beat()
  t.ok(await b.isAlive(a.id), 'it goes on')
  await query(url, 'UPDATE polyvac.replica SET seen_at = NULL WHERE id = 1')
  t.ok(await b.isAlive(a.id), 'one of an earlier version writes none')
})

test('an entry whose message was lost comes once the listener is back', async t => {
  const { a, b, url } = await pair(t)
  const later: LinkEntry[] = []
  const { stop } = await b.follow('s', 0, entries => { later.push(...entries) })
  await query(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')")
  await a.append('s', ['x'], brief)
  await until(() => later.length === 1, 'it has come')
  t.strictSame(texts(later), ['1 x'])
  stop()
})
