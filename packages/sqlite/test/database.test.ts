import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { isBusy, isCorrupt, isFull, openDatabase } from '../src/index.js'

test('transactions roll back, and both drivers bind the same values', async t => {
  const database = await openDatabase(':memory:')
  t.teardown(() => { database.close() })
  database.exec('CREATE TABLE t (a, b)')
  const insert = database.prepare('INSERT INTO t VALUES (?, ?)')
  t.throws(() => database.transaction(() => {
    insert.run(1, null)
    throw new Error('no')
  }), { message: 'no' })
  t.equal(database.transaction(() => insert.run('x', new Uint8Array([1]))).changes, 1)
  t.match(database.prepare('SELECT a, b FROM t').all<{ a: string, b: Uint8Array }>(), [{ a: 'x' }])
  t.strictSame(database.prepare('SELECT a FROM t').column(), ['x'])
  t.equal(database.prepare('SELECT a FROM t WHERE a = ?').get('y'), undefined)
  database.close()
})

test('full, busy and damaged databases are distinguished, and a full one works again once there is space', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-sqlite-'))
  t.teardown(async () => { await rm(folder, { recursive: true }) })
  const path = join(folder, 'a.db')
  const [one, other] = [await openDatabase(path), await openDatabase(path)]
  t.teardown(() => { one.close(); other.close() })
  one.exec('CREATE TABLE t (a)')
  const insert = one.prepare('INSERT INTO t VALUES (?)')
  const problemOf = (work: () => unknown): unknown => {
    try { return work() } catch (error) { return error }
  }
  one.exec('PRAGMA max_page_count = 10')
  const full = problemOf(() => one.transaction(() => { for (let i = 0; i < 100; i++) insert.run('x'.repeat(1000)) }))
  t.strictSame([isFull(full), isBusy(full), isCorrupt(full)], [true, false, false])
  one.exec('PRAGMA max_page_count = 1000')
  t.equal(insert.run('x').changes, 1)
  t.strictSame(one.prepare('SELECT count(*) FROM t').column(), [1])

  other.exec('PRAGMA busy_timeout = 0')
  one.transaction(() => {
    const busy = problemOf(() => other.transaction(() => {}))
    t.strictSame([isFull(busy), isBusy(busy), isCorrupt(busy)], [false, true, false])
  })

  await writeFile(join(folder, 'b.db'), 'no database at all, '.repeat(100))
  const damaged = await openDatabase(join(folder, 'b.db')).catch((error: unknown) => error)
  t.strictSame([isFull(damaged), isBusy(damaged), isCorrupt(damaged)], [false, false, true])
  t.strictSame([undefined, null, 'x', new Error('x')].map(isFull), [false, false, false, false])
})
