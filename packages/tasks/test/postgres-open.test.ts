import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { test } from 'tap'
import { postgresServer, query, testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { migratePostgres, postgresTaskStore } from '../src/postgres/index.js'
import { Connection } from '../src/postgres/connection.js'
import { PAGE_BYTES } from '../src/log/log-page.js'
import { STEPS } from '../src/postgres/migrations.js'
import { postgresSettings } from '../src/postgres/options.js'
import { JobQueue, type TaskJob } from '../src/postgres/queue.js'
import { TaskLog } from '../src/postgres/task-log.js'
import type { TaskEvent } from '../src/index.js'
import { collect } from './conformance.js'
import { openPostgresStore } from './fixtures/postgres-store.js'

test('five stores that open one empty database at once migrate it once, and share its tasks', async t => {
  const url = await testDatabase(t)
  const stores = await Promise.all(Array.from({ length: 5 }, async () => await openPostgresStore(t, { url, maxConnections: 2 })))
  t.strictSame(await query(url, 'SELECT count(*)::int AS n FROM polyvac.version'), [{ n: 1 }])
  const { task } = await stores[0]!.create('alice', { skill: 's', input: 1 })
  stores[4]!.work(() => {})
  await collect(stores[2]!.events('alice', task.id))
  t.match(await stores[1]!.get('alice', task.id), { state: 'completed' })
})

test('a schema of a newer version is refused with both versions', async t => {
  const url = await testDatabase(t)
  await migratePostgres({ url, schema: 'other' })
  await query(url, 'UPDATE other.version SET version = 99')
  await t.rejects(openPostgresStore(t, { url, schema: 'other' }), { code: 'TASK_STORE_DATABASE', message: /'other'.*\(99, this one supports \d+\)/ })
})

test('a schema of each older version is migrated, and its tasks go on', async t => {
  for (let version = 1; version < STEPS.length; version++) {
    const url = await testDatabase(t)
    const steps = STEPS.slice(0, version).map(step => step.replaceAll('$.', 'polyvac.')).join(';')
    await query(url, `CREATE SCHEMA polyvac; CREATE TABLE polyvac.version (version integer NOT NULL); INSERT INTO polyvac.version VALUES (${version}); ${steps}`)
    await query(url, `INSERT INTO polyvac.task (id, owner, skill, queue, state, turn, attempt, losses, seq, status_at, job, bytes, pushes)
      VALUES ('old', 'alice', 's', '', 'input-required', 0, 0, 0, 3, ${Date.now()}, gen_random_uuid(), 1000, 0)`)
    await query(url, "INSERT INTO polyvac.origin SELECT key, '{\"a\":1}', '{}' FROM polyvac.task")
    await query(url, `INSERT INTO polyvac.event SELECT key, e.seq, data FROM polyvac.task, (VALUES (1, '{"at":1,"state":"submitted"}'),
      (2, '{"at":2,"message":{"role":"agent","parts":[{"type":"text","text":"kept"}],"timestamp":2}}'), (3, '{"at":3,"state":"input-required"}')) e(seq, data)`)
    const store = await openPostgresStore(t, { url })
    t.strictSame(await query(url, 'SELECT version FROM polyvac.version'), [{ version: STEPS.length }])
    t.match(await store.get('alice', 'old'), { state: 'input-required', input: { a: 1 }, messages: [{ parts: [{ text: 'kept' }] }], seq: 3 })
    t.match(await store.provideInput('alice', 'old', { parts: [{ type: 'text', text: 'go on' }] }), { outcome: 'accepted' })
    store.work(() => {})
    await collect(store.events('alice', 'old', { after: 4 }))
    t.match(await store.get('alice', 'old'), { state: 'completed', turn: 1 })
  }
})

test('stores on one given pool use its connections and leave it open', async t => {
  const url = await testDatabase(t)
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  const stores = await Promise.all(['one', 'two'].map(async schema => await openPostgresStore(t, { pool, schema })))
  for (const store of stores) {
    store.work(async (_task, { emit }) => { await emit({ delta: 'a' }) })
    const created = await Promise.all(Array.from({ length: 20 }, async (_, i) => await store.create('alice', { skill: 's', input: i })))
    for (const { task } of created) await collect(store.events('alice', task.id))
    t.match(await store.list('alice', { count: true }), { total: 20 })
  }
  t.ok(pool.totalCount <= 3)
  for (const store of stores) await store.close()
  t.strictSame((await pool.query('SELECT 1 AS one')).rows, [{ one: 1 }], 'the pool belongs to the caller')
  await pool.end()
})

test('a reader on another replica gets events of every size and text in their order', async t => {
  const url = await testDatabase(t)
  const [writer, follower] = [await openPostgresStore(t, { url }), await openPostgresStore(t, { url })]
  const texts = ['a', 'two\nlines, "quoted": 1:2:3', 'ä€😀\u0000', 'x'.repeat(900), 'y'.repeat(1_100), '€'.repeat(400), 'z'.repeat(7_990), 'w'.repeat(100_000)]
  let follow = (): void => {}
  const followed = new Promise<void>(resolve => { follow = resolve })
  writer.work(async (_task, { emit }) => {
    await emit({ progress: 0.1 })
    await followed
    for (const delta of texts) await emit({ delta })
    // several in one statement, and one behind the other
    await emit(texts.map(delta => ({ delta })))
    await Promise.all(texts.map(async delta => { await emit({ delta }) }))
  })
  const { task } = await writer.create('alice', { skill: 's', input: 1 })
  const seen: TaskEvent[] = []
  for await (const event of follower.events('alice', task.id)) {
    seen.push(event)
    if (event.progress !== undefined) follow()
  }
  t.strictSame(seen.map(({ seq }) => seq), seen.map((_, i) => i + 1))
  t.strictSame(seen.flatMap(({ delta }) => delta ?? []), [...texts, ...texts, ...texts])
  t.strictSame(seen, await collect(writer.events('alice', task.id)))
})

test('however large the events of many tasks are, a follower reads about a page of them at once', async t => {
  const url = await testDatabase(t)
  const [writer, follower] = [await openPostgresStore(t, { url }), await openPostgresStore(t, { url })]
  const deltas = Array.from({ length: 4 }, (_, i) => `${i} ${'x'.repeat(300_000)}`)
  let follow = (): void => {}
  const followed = new Promise<void>(resolve => { follow = resolve })
  writer.work(async (_task, { emit }) => {
    await emit({ progress: 0.1 })
    await followed
    await emit(deltas.map(delta => ({ delta })))
  }, { concurrency: 20, ownerConcurrency: 20 })
  const made = await Promise.all(Array.from({ length: 20 }, async () => await writer.create('alice', { skill: 's', input: 1 })))
  let waiting = made.length
  const read = await Promise.all(made.map(async ({ task }) => {
    const seen: TaskEvent[] = []
    for await (const event of follower.events('alice', task.id)) {
      seen.push(event)
      if (event.progress !== undefined && --waiting === 0) follow()
    }
    return seen
  }))
  for (const seen of read) t.strictSame(seen.flatMap(({ delta }) => delta ?? []), deltas)

  const settings = postgresSettings({ url })
  const connection = await Connection.open(settings)
  t.teardown(async () => { await connection.close() })
  const keys = (await query(url, 'SELECT key FROM polyvac.task')).map(({ key }) => Number(key))
  const rows = await new TaskLog(connection, () => {}).tails(keys.map(key => [key, 0]))
  t.ok(rows[0]?.cut && rows.length > 1)
  t.ok(rows.reduce((sum, { data }) => sum + data.length, 0) < PAGE_BYTES + 301_000, `${rows.length} of ${keys.length * 7} events`)
})

test('a role without the right to create works in a database that was migrated ahead, and is refused in another', async t => {
  const url = await testDatabase(t)
  const role = `polyvac_${Math.random().toString(36).slice(2)}`
  await query(url, `CREATE ROLE ${role} LOGIN PASSWORD 'canary-5521'`)
  const database = new URL(url).pathname.slice(1)
  t.teardown(async () => { await query(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`) })
  await query(url, `REVOKE CREATE ON DATABASE ${database} FROM PUBLIC, ${role}; REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
  const theirs = new URL(url)
  Object.assign(theirs, { username: role, password: 'canary-5521' })
  const refused: unknown = await openPostgresStore(t, { url: theirs.href }).catch((error: unknown) => error)
  t.match(refused, { code: 'TASK_STORE_DATABASE', message: /polyvac migrate/ })
  await migratePostgres({ url })
  for (const schema of ['polyvac', 'polyvac_jobs']) {
    await query(url, `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`)
  }
  const store = await openPostgresStore(t, { url: theirs.href })
  t.ok((await store.create('alice', { skill: 's', input: 1 })).created)
})

test('an address that cannot be used is refused with server, database and remedy, and without the password', async t => {
  const url = new URL(await testDatabase(t))
  url.password = 'canary-7813'
  const { host, pathname } = url
  const unknown = new URL(await testDatabase(t))
  unknown.pathname = '/no-such-database'
  const cases = [
    [{ url: url.href }, { code: 'TASK_STORE_DATABASE', message: /check user name and password/ }],
    [{ url: unknown.href }, { code: 'TASK_STORE_DATABASE', message: /CREATE DATABASE/ }],
    [{ url: 'postgres://me:canary-7813@127.0.0.1:1/x' }, { code: 'TASK_STORE_UNAVAILABLE', statusCode: 503, message: /127\.0\.0\.1:1 is not reachable \(ECONNREFUSED\)/ }],
    [{ url: 'postgres://me:canary-7813@127.0.0.1:99999999/x' }, { code: 'TASK_STORE_OPTION' }],
    [{ url: 'http://me:canary-7813@127.0.0.1/x' }, { code: 'TASK_STORE_OPTION' }],
    [{ url: url.href, schema: 'a"; DROP' }, { code: 'TASK_STORE_OPTION', message: /'schema'/ }],
    [{ url: url.href, schema: 'x'.repeat(41) }, { code: 'TASK_STORE_OPTION' }],
    [{ url: url.href, maxConnections: 0 }, { code: 'TASK_STORE_OPTION', message: /from 2/ }],
    [{}, { code: 'TASK_STORE_OPTION' }]
  ] as const
  t.ok(host.length > 0 && pathname.length > 1)
  for (const [options, expected] of cases) {
    const error: unknown = await (async () => { await postgresTaskStore(options).open() })().catch((error: unknown) => error)
    t.match(error, expected)
    t.notMatch(`${String((error as Error).message)} ${String((error as Error).stack)}`, 'canary')
  }
})

test('while the server is away, calls are refused with 503; afterwards the same store goes on, and readers miss nothing', async t => {
  const server = await postgresServer(t)
  const store = await openPostgresStore(t, { url: server.url() })
  let go = (): void => {}
  const ready = new Promise<void>(resolve => { go = resolve })
  store.work(async (_task, { emit }) => {
    await emit({ delta: 'a' })
    await ready
    await emit({ delta: 'b' })
  })
  const { task } = await store.create('alice', { skill: 's', input: 1 })
  const events = collect(store.events('alice', task.id))
  await until(async () => (await store.get('alice', task.id))?.seq === 3, 'the handler has written')
  await server.crash()
  await t.rejects(store.create('alice', { skill: 's', input: 2 }), { code: 'TASK_STORE_UNAVAILABLE', statusCode: 503 })
  t.match(await store.health(), { ok: false })
  await server.start()
  await until(async () => (await store.health()).ok, 'the store is back')
  go()
  const seen = await events
  t.strictSame(seen.map(({ seq }) => seq), seen.map((_, i) => i + 1))
  t.match(await store.get('alice', task.id), { state: 'completed' })
})

test('an owner keeps its place in the order while its jobs are not committed yet', async t => {
  const url = await testDatabase(t)
  await migratePostgres({ url })
  const settings = postgresSettings({ url })
  const connection = await Connection.open(settings)
  const queue = await JobQueue.open(connection, settings.log)
  t.teardown(async () => {
    await queue.close()
    await connection.close()
  })
  await queue.prepare('')
  const job = (id: string): TaskJob & { owner: string } => ({ id, key: 1, turn: 0, owner: 'bob' })
  const [first, second] = [randomUUID(), randomUUID()]
  await connection.transaction(async transaction => {
    await queue.insert(transaction, '', [job(first)])
    await queue.readRanks()
  })
  await connection.transaction(async transaction => { await queue.insert(transaction, '', [job(second)]) })
  t.strictSame(await query(url, 'SELECT id, priority FROM polyvac_jobs.job ORDER BY priority DESC'), [{ id: first, priority: -1 }, { id: second, priority: -2 }])
})
