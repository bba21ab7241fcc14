import type { SharedValues, TaskStore } from '@polyvac/tasks'
import { test } from 'tap'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environmentOptions } from '../../polyvac/src/environment.js'
import { createHost, parseConfig } from '../src/index.js'
import { folderConfig } from '../../polyvac/src/load-config.js'
import { databaseName } from '../src/tasks/database-address.js'
import { checkStateKey, shareStateKey } from '../src/tasks/state-key.js'
import { WaitingStore } from '../src/tasks/waiting-store.js'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder, runPolyvac } from '../../../test/fixtures/command.js'

const CANARY = 'c4n4ry'

test('a database is named without its password, and an address that hides a part of one is refused', t => {
  for (const [url, name] of [
    [`postgres://ann:${CANARY}@db.example.org:5432/tasks`, 'db.example.org:5432/tasks'],
    [`postgresql://ann:${CANARY}%40%2F%23@[::1]/tasks?sslmode=require`, '[::1]/tasks'],
    [`postgres://db/tasks?user=ann&password=${CANARY}`, 'db/tasks'],
    [`postgres:///tasks?host=/run/postgresql&password=${CANARY}`, '/run/postgresql/tasks'],
    [`postgres://ann:${CANARY}@/tasks?host=/cloudsql/a:b:c`, '/cloudsql/a:b:c/tasks']
  ] as const) t.equal(databaseName(url), name)
  for (const url of [
    '', undefined, CANARY, `mysql://ann:${CANARY}@db/tasks`, `postgres://ann:${CANARY}/x@db/tasks`, `postgres://ann:1/${CANARY}@db/tasks`,
    `postgres://ann:1#${CANARY}@db/tasks`, `postgres://ann:1?${CANARY}@db/tasks`, `postgres://ann:${CANARY}@/${CANARY}@db/tasks`, `postgres://ann:${CANARY}%zz@db/tasks`
  ]) {
    const error = t.throws(() => databaseName(url), { code: 'TASKS_SETTINGS' }) as unknown as Error
    t.notMatch(error.message, CANARY)
  }
  t.end()
})

test('DATABASE_URL selects PostgreSQL only where the configuration names no store', t => {
  const url = 'postgres://db/tasks'
  const chosen = (tasks: string, env: NodeJS.ProcessEnv = { DATABASE_URL: url }) => {
    const config = parseConfig(`kind: vacConfig\nservice: { tasks: ${tasks} }\nvac: { demo: {} }\n`, '/x/vac_config.yaml')
    return environmentOptions(config, env).tasks
  }
  t.strictSame(chosen('{}'), { url })
  t.strictSame(chosen('{ ttl: 7d }'), { ttl: '7d', url })
  t.strictSame(chosen('{ store: postgres, schema: agents }'), { store: 'postgres', schema: 'agents', url })
  for (const tasks of ['{ store: sqlite }', '{ store: memory }', '{ path: tasks.db }', '{ url: "postgres://other/tasks" }']) t.equal(chosen(tasks), undefined, tasks)
  t.equal(chosen('{}', { DATABASE_URL: '' }), undefined)
  const key = 'a key for this test, of 32 bytes or more'
  const keyed = parseConfig(`kind: vacConfig\nservice: { state_key: "${key}" }\nvac: { demo: {} }\n`, '/x/vac_config.yaml')
  t.equal(environmentOptions(keyed, { POLYVAC_STATE_KEY: 'other' }).state_key, key)
  t.equal(environmentOptions(folderConfig('/x', {}), { POLYVAC_STATE_KEY: key }).state_key, key)
  t.strictSame(environmentOptions(folderConfig('/x', { DATABASE_URL: url }), { DATABASE_URL: url }).tasks, { url }, 'a folder without a configuration')
  t.end()
})

/** A store that opens at the given attempt. */
function storeOf (opensAt: number): { store: TaskStore, calls: string[] } {
  const calls: string[] = []
  let attempts = 0
  const note = (name: string) => (): never => { calls.push(name); return name as never }
  const store = {
    async open () { if (++attempts < opensAt) throw Object.assign(new Error(`refused ${attempts}`), { code: 'TASK_STORE_UNAVAILABLE' }) },
    async close () { calls.push('close') },
    health: async () => ({ ok: true }),
    get: note('get'),
    work: () => { calls.push('work'); return { stop: async () => { calls.push('stop') } } }
  } as unknown as TaskStore
  return { store, calls }
}

test('a store whose database comes later refuses calls until it is open, and starts its workers then', async t => {
  const { store, calls } = storeOf(3)
  const failures: string[] = []
  const waiting = new WaitingStore(store, {
    makeRefusal: () => new Error('not yet'),
    onOpen: async () => { calls.push('open') },
    onFailure: error => { failures.push(error.message) }
  })
  const worker = waiting.work(async () => {})
  const stopped = waiting.work(async () => {})
  await stopped.stop()
  await t.rejects(waiting.get('ann', 'x'), { message: 'not yet' })
  t.throws(() => waiting.events('ann', 'x'), { message: 'not yet' })
  t.strictSame(await waiting.health(), { ok: false, detail: 'not yet' })
  await waiting.open()
  t.strictSame(failures, ['refused 1', 'refused 2'])
  await until(() => calls.includes('work'), 'the worker runs')
  t.equal(await waiting.get('ann', 'x'), 'get' as never)
  t.strictSame(await waiting.health(), { ok: true })
  await worker.stop()
  await waiting.close()
  t.strictSame(calls, ['open', 'work', 'get', 'stop', 'close'], 'a worker that was stopped before does not start')
})

test('closing ends the wait for a database at once', async t => {
  const { store } = storeOf(Infinity)
  const waiting = new WaitingStore(store, { makeRefusal: () => new Error('not yet'), onOpen: async () => {}, onFailure: () => {} })
  const opening = waiting.open()
  await waiting.close()
  await opening
  t.pass()
})

/** Shared values in memory. */
function valuesOf (values = new Map<string, string>()): SharedValues {
  return {
    get: async name => values.get(name),
    async putIfAbsent (name, value) {
      if (!values.has(name)) values.set(name, value)
      return values.get(name)!
    },
    async replace (name, before, value) {
      if (values.get(name) !== before) return false
      values.set(name, value)
      return true
    }
  }
}

test('replicas share a key through their database, and one with another key is reported once', async t => {
  const warnings: string[] = []
  const log = { warn: (text: string) => { warnings.push(text) } } as never
  const shared = valuesOf()
  const key = await shareStateKey(shared, undefined, log)
  t.equal(await shareStateKey(shared, undefined, log), key)
  t.ok(Buffer.byteLength(key) >= 32)
  t.strictSame(warnings, [])
  const other = 'a key for this test, of 32 bytes or more'
  t.equal(await shareStateKey(shared, other, log), other)
  t.equal(await shareStateKey(shared, other, log), other)
  t.match(warnings, [/another replica of this database used another key/])
  t.equal(warnings.length, 1)
  await shareStateKey(undefined, undefined, log)
  t.match(warnings[1], /replicas of this service do not share the key/)
  t.notMatch(warnings.join(), other)
  t.equal(checkStateKey(''), undefined)
  t.throws(() => checkStateKey(CANARY), { code: 'STATE_KEY_TOO_SHORT', message: /has 6 bytes/ })
})

test('a start with settings that cannot be used ends with the reason, and never falls back to another store', async t => {
  const cases = [
    [{ store: 'postgres' }, /service\.tasks: the store `postgres` needs the address/],
    [{ url: `postgres://ann:${CANARY}/x@db/tasks` }, /service\.tasks: the address of the database cannot be read/],
    [{ url: 'postgres://db/tasks', pool: 0 }, /`tasks`|tasks/],
    [{ url: 'postgres://db/tasks', schema: 'no such; schema' }, /`tasks`|tasks/]
  ] as const
  for (const [tasks, message] of cases) {
    const error = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', enable_a2a_agent: true, tasks: tasks as never }).then(() => undefined, (err: Error) => err)
    t.match(error?.message, message)
    t.notMatch(error?.message, CANARY)
  }
})

test('the command names what is wrong with the database of its environment, without the password', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: echo, enable_a2a_agent: true }\nvac: { demo: {} }\n')
  for (const command of ['start', 'migrate', 'check']) {
    const { code, stdout, stderr } = await runPolyvac([command], folder, { env: { DATABASE_URL: `postgres://ann:1#${CANARY}@db/tasks` } })
    t.equal(code, 1, command)
    t.match(stderr, /polyvac: service\.tasks: the address of the database cannot be read; .* percent-encode/)
    t.notMatch(`${stdout}${stderr}`, CANARY)
  }
  await t.rejects(readFile(join(folder, '.polyvac', 'tasks.db')), { code: 'ENOENT' })
})
