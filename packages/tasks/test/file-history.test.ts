import { copyFile, rename, rm } from 'node:fs/promises'
import { openDatabase } from '@polyvac/sqlite'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { TaskEvent, TaskLogger, TaskStore } from '../src/index.js'
import { CLOSES_FILES } from '../src/sqlite/tables.js'
import { collect } from './conformance.js'
import { start } from './fixtures/processes.js'
import { fileOf, openStore } from './fixtures/store.js'

function recorder (): { readonly log: TaskLogger, readonly warnings: { path?: unknown, text: string }[] } {
  const warnings: { path?: unknown, text: string }[] = []
  const nothing = (): void => {}
  return { log: { debug: nothing, error: nothing, warn: (fields, text = '') => { warnings.push({ path: (fields as { path?: unknown }).path, text }) } } as TaskLogger, warnings }
}

/** The warnings of a store that opens and closes a file. */
async function warningsOf (t: Test, path: string): Promise<{ path?: unknown, text: string }[]> {
  const { log, warnings } = recorder()
  const store = await openStore(t, { path, log })
  await store.close()
  return warnings
}

const MISSING = [{ text: /write-ahead log of the tasks is missing/ }]

test('a file whose log was deleted after its process was killed is opened with a warning that names the log, once', async t => {
  for (const parts of [['-wal'], ['-wal', '-shm']]) {
    const path = await fileOf(t)
    await (await openStore(t, { path })).close()
    const killed = start(t, path, 'create on request')
    await killed.saw('created')
    await killed.kill('SIGKILL')
    for (const part of parts) await rm(path + part)
    const warnings = await warningsOf(t, path)
    t.match(warnings, MISSING)
    t.equal(warnings[0]?.path, `${path}-wal`)
    t.strictSame(await warningsOf(t, path), [], 'it is closed now')
  }
})

test('a copy of a file in use without its log is opened with that warning', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  await store.create('alice', { skill: 's', input: 1 })
  await copyFile(path, `${path}.copy`)
  t.match(await warningsOf(t, `${path}.copy`), MISSING)
  await store.close()
})

test('a file that was closed, by one process or by several at once, and one whose log is there are opened without a warning', async t => {
  const path = await fileOf(t)
  t.strictSame(await warningsOf(t, path), [], 'a new file')
  t.strictSame(await warningsOf(t, path), [], 'a closed one')
  for (let round = 0; round < 3; round++) {
    const processes = Array.from({ length: 3 }, () => start(t, path, 'work'))
    for (const { saw } of processes) await saw('ready')
    const beside = await openStore(t, { path })
    await beside.create('alice', { skill: 's', input: 1 })
    t.strictSame(await warningsOf(t, path), [], 'beside others')
    await Promise.all([beside.close(), ...processes.map(async ({ kill }) => { await kill('SIGTERM') })])
    t.strictSame(await warningsOf(t, path), [], 'closed by all at once')
  }
  const killed = start(t, path, 'create on request')
  await killed.saw('created')
  await killed.kill('SIGKILL')
  t.strictSame(await warningsOf(t, path), [], 'its log is there')
})

test('a file that a version before this one closed is opened without a warning', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  const { task } = await store.create('alice', { skill: 's', input: 1 })
  await store.close()
  const database = await openDatabase(path)
  database.exec(`DROP TABLE approval; DROP TRIGGER turn_state; DROP TABLE turn; DROP TABLE conversation; ALTER TABLE task DROP COLUMN read_at; PRAGMA user_version = ${CLOSES_FILES - 1}`)
  database.close()
  const { log, warnings } = recorder()
  const later = await openStore(t, { path, log })
  t.match(await later.get('alice', task.id), { state: 'submitted' })
  t.strictSame(warnings, [])
})

test('where an older copy replaces the file in use, open readers end, and no key of a lost task is given out again', async t => {
  const path = await fileOf(t)
  const before = await openStore(t, { path })
  await before.create('alice', { skill: 's', input: 'kept' })
  await before.close()
  await copyFile(path, `${path}.copy`)
  const first = await openStore(t, { path })
  const lost = await Promise.all(Array.from({ length: 5 }, async () => (await first.create('alice', { skill: 's', input: 'lost' })).task.id))
  const keysOf = async (path: string): Promise<number[]> => {
    const database = await openDatabase(path)
    try { return database.prepare('SELECT key FROM task').column<number>() } finally { database.close() }
  }
  const keysBefore = await keysOf(path)
  const seen: TaskEvent[] = []
  let open = lost.length
  const follow = async (store: TaskStore, id: string): Promise<void> => {
    for await (const event of store.events('alice', id)) seen.push(event)
    open--
  }
  for (const id of lost) follow(first, id).catch(() => {})
  await until(() => seen.length === lost.length, 'the readers have the first events')
  await rename(`${path}.copy`, path)
  for (const part of ['-wal', '-shm']) await rm(path + part, { force: true })
  const second = await openStore(t, { path })
  second.work(async (_task, { emit }) => { await emit({ delta: 'text of bob' }) })
  const ofBob = await Promise.all(Array.from({ length: 10 }, async () => (await second.create('bob', { skill: 's', input: 1 })).task.id))
  for (const id of ofBob) t.match(await collect(second.events('bob', id)), [{ seq: 1 }, { seq: 2 }, { delta: 'text of bob' }, { seq: 4, state: 'completed' }])
  await until(() => open === 0, 'the readers of the first file end')
  t.ok(seen.every(({ delta }) => delta === undefined))
  const keysAfter = await keysOf(path)
  t.equal(keysAfter.length, 11)
  t.strictSame(keysAfter.filter(key => keysBefore.includes(key)).length, 1, 'that of the task that both have')
})

test('a file with keys of an earlier version keeps its order: older tasks run first', async t => {
  const path = await fileOf(t)
  const before = await openStore(t, { path })
  const { task: { id } } = await before.create('alice', { skill: 's', input: 1 })
  await before.close()
  const database = await openDatabase(path)
  database.exec("PRAGMA foreign_keys = OFF; UPDATE task SET key = 1; UPDATE origin SET task = 1; UPDATE event SET task = 1; UPDATE sqlite_sequence SET seq = 1 WHERE name = 'task'")
  database.close()
  const store = await openStore(t, { path })
  const later = await store.create('alice', { skill: 's', input: 2 })
  const order: string[] = []
  store.work(task => { order.push(task.id) }, { concurrency: 1 })
  await collect(store.events('alice', later.task.id))
  t.strictSame(order, [id, later.task.id])
})
