import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '@polyvac/sqlite'
import { test } from 'tap'
import { ANYONE } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'
import { collect } from './conformance.js'
import { start } from './fixtures/processes.js'
import { fileOf, openStore } from './fixtures/store.js'
import { processCases } from './process-cases.js'

test('processes that share a file', async t => {
  processCases(t, 'file', { newPlace: fileOf, open: async (t, path, options) => await openStore(t, { path, ...options }) })
})

test('acknowledged tasks survive SIGKILL during writes, and are executed', async t => {
  const path = await fileOf(t)
  const acknowledged: string[] = []
  for (let i = 0; i < 4; i++) {
    const creator = start(t, path, 'create')
    await creator.saw('created')
    await delay(50 + 60 * i)
    await creator.kill('SIGKILL')
    acknowledged.push(...creator.messages.flatMap(({ created }) => created as string[] ?? []))
  }
  const store = await openStore(t, { path })
  t.ok(acknowledged.length > 50, `${acknowledged.length} tasks`)
  for (const id of acknowledged) if (await store.get('alice', id) === null) t.fail(`${id} is lost`)
  const database = await openDatabase(path)
  t.strictSame(database.prepare('PRAGMA integrity_check').column(), ['ok'])
  database.close()
  store.work(() => {}, { concurrency: 64 })
  for (const id of acknowledged) await collect(store.events('alice', id))
  for (const id of acknowledged) if ((await store.get('alice', id))?.state !== 'completed') t.fail(`${id} is not executed`)
})

test('with a full disk a caller that waits for a task learns that its end cannot be written', async t => {
  const store = await openStore(t, { path: await fileOf(t) }, 120)
  store.work(async ({ input }, { emit }) => { await emit({ state: 'completed', artifact: { name: 'a', content: 'x'.repeat(input as number) } }) })
  const { task: first } = await store.create('alice', { skill: 's', input: 1 })
  await collect(store.events('alice', first.id))
  const { task, attempt } = await store.create('alice', { skill: 's', input: 1_000_000 })
  await t.rejects(attempt!, { code: 'TASK_STORE_UNAVAILABLE', statusCode: 503, message: /the disk is full/ })
  t.match(await store.get('alice', task.id), { state: 'working' }, 'it runs again once there is space')
})

test('with a full disk no write is acknowledged, the file stays intact, and work continues once there is space', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path }, 120)
  const acknowledged: string[] = []
  const create = async (): Promise<void> => { acknowledged.push((await store.create('alice', { skill: 's', input: 'x'.repeat(2_000) })).task.id) }
  const results = await Promise.allSettled(Array.from({ length: 300 }, create))
  const refused = results.flatMap(result => result.status === 'rejected' ? [result.reason as { code: string, statusCode: number, message: string }] : [])
  t.ok(refused.length > 50 && acknowledged.length > 20)
  for (const { code, statusCode, message } of refused) t.match([code, statusCode, message], ['TASK_STORE_UNAVAILABLE', 503, /the disk is full/])
  for (const id of acknowledged) t.ok(await store.get('alice', id) !== null)
  await store.close()

  const roomy = await openStore(t, { path })
  t.strictSame(await roomy.health(), { ok: true })
  roomy.work(() => {}, { concurrency: 64 })
  let count = 0
  for (const id of acknowledged) {
    await collect(roomy.events('alice', id))
    count++
  }
  t.equal(count, acknowledged.length)
  t.match(await roomy.create('alice', { skill: 's', input: 1 }), { created: true })
})

test('work on a task whose creation failed on a full disk is aborted, and writes nothing', async t => {
  const store = await openStore(t, { path: await fileOf(t) }, 120)
  const begun = new Map<string, AbortSignal>()
  const late: unknown[] = []
  store.work(async (task, { signal, emit }) => {
    begun.set(task.id, signal)
    await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
    await emit({ state: 'completed' }).catch((error: unknown) => { late.push(error) })
  }, { concurrency: 1_000 })
  // the worker first checks for waiting tasks
  await delay(50)
  const created = await Promise.allSettled(Array.from({ length: 300 }, async () => (await store.create('alice', { skill: 's', input: 'x'.repeat(2_000) })).task.id))
  const acknowledged = created.flatMap(result => result.status === 'fulfilled' ? [result.value] : [])
  const refused = [...begun.keys()].filter(id => !acknowledged.includes(id))
  t.ok(refused.length > 50 && acknowledged.length > 20)
  await until(() => late.length === refused.length, 'every refused task is aborted')
  t.ok(refused.every(id => begun.get(id)?.aborted === true))
  t.ok(acknowledged.every(id => begun.get(id)?.aborted === false))
  t.equal(late.length, refused.length)
  for (const error of late) t.match(error, { code: 'TASK_FENCED' })
  for (const id of refused) t.equal(await store.get('alice', id), null)
  for (const id of acknowledged) t.match(await store.get('alice', id), { state: 'working', seq: 2 })
})

test('a task whose updates cannot be written on a full disk gets no end, and is executed again', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path }, 150)
  const problems: unknown[] = []
  const first = store.work(async (task, { emit }) => {
    for (;;) await emit({ artifact: { name: 'a', content: 'x'.repeat(20_000) } }).catch((error: unknown) => { problems.push(error); throw error })
  })
  const { task } = await store.create('alice', { skill: 's', input: 1 })
  await until(() => problems.length > 0, 'the disk is full')
  t.match(problems[0], { code: 'TASK_STORE_UNAVAILABLE' })
  await first.stop()
  t.match(await store.get('alice', task.id), { state: 'working' })
  await store.close()
  const roomy = await openStore(t, { path })
  roomy.work(async (task, { emit }) => { await emit({ artifact: { name: 'b', content: 1 } }) })
  await collect(roomy.events('alice', task.id))
  t.match(await roomy.get('alice', task.id), { state: 'completed', attempt: 1, artifacts: [{ name: 'b' }] })
})

test('a file that is deleted while in use refuses writes', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  const { task } = await store.create('alice', { skill: 's', input: 1 })
  await rm(path)
  await until(async () => !(await store.health()).ok, 'the store detects the deletion')
  await t.rejects(store.create('alice', { skill: 's', input: 2 }), { code: 'TASK_STORE_UNAVAILABLE', statusCode: 503, message: /deleted or replaced/ })
  t.match(await store.get('alice', task.id), { state: 'submitted' }, 'what is there can be read')
})

test('a log that is deleted while in use refuses writes, and what it held is rescued', async t => {
  const path = await fileOf(t)
  const writer = start(t, path, 'create on request')
  await writer.saw('created')
  await rm(`${path}-wal`)
  t.match(await writer.saw('refused'), { refused: 'TASK_STORE_UNAVAILABLE', health: false })
  t.notMatch(JSON.stringify(writer.messages), path, 'callers do not see the path')
  const acknowledged = writer.messages.flatMap(({ created }) => created as string[] ?? [])
  await writer.kill('SIGKILL')
  const store = await openStore(t, { path })
  for (const id of acknowledged) if (await store.get('alice', id) === null) t.fail(`${id} is lost`)
  t.ok(acknowledged.length > 0)
})

test('an empty file, and one that is missing next to its log, are refused and not changed', async t => {
  const path = await fileOf(t)
  const first = start(t, path, 'create on request')
  await first.saw('created')
  await first.kill('SIGKILL')
  await rename(path, `${path}.away`)
  await t.rejects(openStore(t, { path }), { code: 'TASK_STORE_FILE', message: /is missing and its log/ })
  await writeFile(path, '')
  await t.rejects(openStore(t, { path }), { code: 'TASK_STORE_FILE', message: /is empty/ })
  t.equal((await stat(path)).size, 0)
  await rm(path)
  await rename(`${path}.away`, path)
  const store = await openStore(t, { path })
  t.ok((await store.list('alice')).tasks.length > 0, 'with its file back, all tasks are there')
  t.strictSame((await readdir(dirname(path))).filter(name => name.endsWith('.new')), [])
})

test('health is not ok where a disk is too full for a task', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path }, 80)
  t.strictSame(await store.health(), { ok: true })
  const make = async (): Promise<string> => (await store.create(ANYONE, { skill: 's', input: 'x'.repeat(10_000) })).task.id
  while (await make().then(() => true, () => false));
  t.match(await store.health(), { ok: false, detail: /the disk is full/ })
})

test('after the clock was set back, a task of a dead process is taken over within a lease, and its webhook is called', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  const executor = start(t, path, 'work')
  const { task } = await store.create('alice', { skill: 'silent', input: 1, push: { id: 'p', url: 'https://a.example' } })
  await executor.saw('started')
  await executor.kill('SIGKILL')
  await store.close()
  const database = await openDatabase(path)
  const hour = 3_600_000
  database.exec(`UPDATE task SET due = due + ${hour} WHERE due > 0; UPDATE push SET due = ${Date.now() + 2 * hour}`)
  database.close()
  const later = await openStore(t, { path })
  later.work(() => {})
  const delivered: unknown[] = []
  later.deliver(async ({ event }) => {
    delivered.push(event.state)
    return 'delivered'
  })
  await collect(later.events('alice', task.id))
  t.match(await later.get('alice', task.id), { state: 'completed', attempt: 1 })
  await until(() => delivered.includes('completed'), 'the webhook gets the end')
})

test('after the clock was set back, an ended task is kept for its time from now, not longer', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path, ttlMs: 300 })
  const { task } = await store.create('alice', { skill: 's', input: 1 })
  await store.cancel('alice', task.id)
  const database = await openDatabase(path)
  database.exec('UPDATE task SET ended_at = ended_at + 3600000')
  database.close()
  await until(async () => await store.get('alice', task.id) === null, 'the task is deleted')
})

test('a file whose tasks were deleted gives its space back', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  for (let i = 0; i < 40; i++) await store.cancel(ANYONE, (await store.create(ANYONE, { skill: 's', input: 'x'.repeat(1_000_000) })).task.id)
  t.equal(await store.purge({ terminalOlderThanMs: -1 }), 40)
  await store.close()
  const { size } = await stat(path)
  t.ok(size < 8 * 1024 * 1024, `${size} bytes`)
})

test('a file of tasks is readable only by its user', async t => {
  const path = await fileOf(t)
  const store = await openStore(t, { path })
  await store.create('alice', { skill: 's', input: 1 })
  for (const suffix of ['', '-wal', '-shm']) t.equal((await stat(path + suffix)).mode & 0o777, 0o600, suffix)
})

test('a file of the version before queues is migrated, with its tasks', async t => {
  const path = await fileOf(t)
  const before = await openStore(t, { path })
  const { task: { id } } = await before.create('alice', { skill: 's', input: 1 })
  await before.close()
  const database = await openDatabase(path)
  database.exec('DROP TABLE approval; DROP TRIGGER turn_state; DROP TABLE turn; DROP TABLE conversation')
  for (const index of ['due', 'waiting', 'ended']) database.exec(`DROP INDEX task_${index}`)
  for (const column of ['queue', 'bytes', 'pushes', 'read_at']) database.exec(`ALTER TABLE task DROP COLUMN ${column}`)
  database.exec('DROP INDEX push_due; ALTER TABLE push DROP COLUMN host; ALTER TABLE push DROP COLUMN owner; ALTER TABLE probe DROP COLUMN filler')
  database.exec('CREATE INDEX push_due ON push (due) WHERE due IS NOT NULL; CREATE INDEX task_ended ON task (ended_at) WHERE ended_at IS NOT NULL')
  database.exec('DROP TABLE sign_in; CREATE INDEX task_due ON task (due) WHERE due IS NOT NULL; PRAGMA user_version = 1')
  database.close()
  const store = await openStore(t, { path })
  store.work(() => {})
  await collect(store.events('alice', id))
  t.equal((await store.get('alice', id))?.state, 'completed')
})

test('a file of another program, and one of a newer version, are refused and not changed', async t => {
  const path = await fileOf(t)
  await (await openStore(t, { path })).close()
  const database = await openDatabase(path)
  database.exec('PRAGMA user_version = 99')
  await t.rejects(openStore(t, { path }), { code: 'TASK_STORE_FILE', message: /newer version/ })
  database.exec('PRAGMA application_id = 7')
  await t.rejects(openStore(t, { path }), { code: 'TASK_STORE_FILE', message: /another program/ })
  database.close()
  await t.rejects(openStore(t, { path: '' }), { code: 'TASK_STORE_OPTION' })
  await t.rejects(openStore(t, { path, retries: -1 }), { code: 'TASK_STORE_OPTION' })
})
