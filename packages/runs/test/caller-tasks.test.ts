import { createVacs, type Authenticate, type Principal } from '@polyvac/core'
import { callerFields, silentLog } from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test, type Test } from 'tap'
import { CallerTasks, skillRunner, type TaskProtocol } from '../src/index.js'

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))
const alice: Principal = { owner: 'alice' }
const jobs: TaskProtocol = {
  name: 'jobs',
  problemOf: (vacs, { skill }) => vacs.list().some(({ name }) => skill.endsWith(`_${name}`)) ? undefined : { code: 'JOBS_SKILL', message: 'no such skill' },
  credentialEnded: { code: 'JOBS_CREDENTIAL', message: 'the credential ended' },
  failure: { code: 'JOBS_FAILED' }
}

async function begin (t: Test): Promise<{ store: TaskStore, tasks: CallerTasks }> {
  const store = sqliteTaskStore({ path: ':memory:' })
  await store.open()
  t.teardown(async () => { await store.close() })
  return { store, tasks: new CallerTasks(store) }
}

function scoped (...vacs: string[]): Principal {
  return { owner: 'alice', scopes: vacs.map(vac => `vac:${vac}`) }
}

test('a task does not exist for another owner, and for a caller that may not use its VAC', async t => {
  const { store, tasks } = await begin(t)
  const { task } = await tasks.create(alice, { skill: 'vac_query_docs', input: { query: 'x' } })
  for (const caller of [{ owner: 'bob' }, undefined, scoped('other'), { owner: 'alice', scopes: [] }]) {
    const who = JSON.stringify(caller)
    t.equal(await tasks.get(caller, task.id), undefined, who)
    t.match(await tasks.cancel(caller, task.id), { outcome: 'not-found', task: null }, who)
    t.strictSame((await tasks.list(caller, {})).tasks, [], who)
    t.strictSame((await tasks.list(caller, {}, 'docs')).tasks, [], who)
  }
  for (const caller of [alice, scoped('docs')]) {
    t.match(await tasks.get(caller, task.id), { state: 'submitted' })
    t.match(await tasks.list(caller, {}, 'docs'), { tasks: [{ id: task.id }] })
    t.strictSame((await tasks.list(caller, {}, 'other')).tasks, [])
  }
  t.match(await store.get('alice', task.id), { state: 'submitted' }, 'no refused cancel touched it')
  t.match(await tasks.cancel(scoped('docs'), task.id), { outcome: 'canceled', task: { state: 'canceled' } })
  t.match(await tasks.cancel(alice, task.id), { outcome: 'terminal', task: { state: 'canceled' } })
})

test('an idempotency key holds for the credential that used it', async t => {
  const { tasks } = await begin(t)
  const task = { skill: 'vac_query_docs', input: { query: 'x' }, idempotencyKey: 'key' }
  const ids = new Map<string, string>()
  for (const [who, caller] of Object.entries({ alice, docs: scoped('docs'), both: scoped('docs', 'other'), bob: { owner: 'bob' } })) {
    const first = await tasks.create(caller, task)
    t.ok(first.created, who)
    t.match(await tasks.create(caller, task), { created: false, task: { id: first.task.id } }, `${who} again`)
    await t.rejects(tasks.create(caller, { ...task, input: { query: 'y' } }), { code: 'TASK_CONFLICT' }, `${who} with another input`)
    ids.set(who, first.task.id)
  }
  t.equal(new Set(ids.values()).size, 4)
  const hidden = scoped('other')
  t.not((await tasks.create(hidden, task)).task.id, (await tasks.create(hidden, task)).task.id, 'a task of a hidden VAC has no key')
})

test('a task ends with the codes of its protocol, and its interpreter gets the name of that', async t => {
  const { store, tasks } = await begin(t)
  const seen: unknown[] = []
  const vacs = createVacs({
    vacs: { docs: {}, bad: {} },
    async * streamInterpreter (question, vacName, _history, { protocol }) {
      seen.push(protocol)
      if (vacName === 'bad') throw new Error('a secret')
      yield `you asked ${question}`
    }
  })
  const authenticate: Authenticate = Object.assign(() => undefined, { current: (principal: Principal) => principal.credential === 'removed' ? undefined : principal })
  store.work(skillRunner({ protocol: jobs, vacs, tasks: store, authenticate, timeoutMs: 120_000, log: silentLog, idLabel: 'reqId' }))
  const ask = async (skill: string, caller = alice, input: Record<string, unknown> = { query: 'why?' }) => {
    const task = { skill, input, metadata: { caller: callerFields(caller) } }
    return await tasks.settle(await tasks.create(caller, task), new AbortController().signal)
  }
  t.match(await ask('vac_stream_docs'), { state: 'completed', artifacts: [{ name: 'streaming_response', content: { final_answer: 'you asked why?' } }] })
  t.match(await ask('vac_query_docs'), { state: 'completed', artifacts: [{ name: 'response', content: { answer: 'you asked why?' } }] })
  const failed = await ask('vac_query_bad')
  t.match(failed, { state: 'failed', error: { code: 'VAC_INTERPRETER_FAILED' } })
  t.notMatch(JSON.stringify(failed), 'a secret')
  t.match(await ask('vac_query_docs', alice, {}), { state: 'failed', error: { code: 'JOBS_FAILED' } }, 'a failure that has no code for callers')
  t.match(await ask('vac_query_none'), { state: 'failed', error: { code: 'JOBS_SKILL', message: 'no such skill' } })
  t.strictSame(seen, ['jobs', 'jobs', 'jobs'])
  t.match(await ask('vac_query_docs', { ...alice, credential: 'removed' }), { state: 'failed', error: { code: 'JOBS_CREDENTIAL' } })
  t.match(await ask('vac_query_docs', { ...scoped('bad'), credential: 'kept' }), { state: 'failed', error: { code: 'JOBS_SKILL' } }, 'with the rights of its caller')
  t.equal(seen.length, 3)
})

test('readers follow a task from any event, and its steps can be read one by one', async t => {
  const { store, tasks } = await begin(t)
  const vacs = createVacs({ vacs: { docs: {} }, async * streamInterpreter () { yield 'text' } })
  store.work(skillRunner({ protocol: jobs, vacs, tasks: store, timeoutMs: 120_000, log: silentLog, idLabel: 'reqId' }))
  const { signal } = new AbortController()
  const { task } = await tasks.create(alice, { skill: 'vac_stream_docs', input: { query: 'why?' } })
  const read = async (after: number) => {
    const numbers = []
    for await (const { event, task: { input } } of tasks.follow(task, after, signal)) {
      t.equal(input, undefined, 'no step holds the input')
      numbers.push(event.seq)
    }
    return numbers
  }
  const all = await read(0)
  t.strictSame(all, all.map((_seq, index) => index + 1))
  for (const after of [1, 2, all.length - 1, all.length]) t.strictSame(await read(after), all.slice(after))
  t.match(await tasks.stepAt('alice', task.id, all.length, signal), { event: { seq: all.length, state: 'completed' }, task: { state: 'completed' } })
  t.equal(await tasks.stepAt('alice', 'none', 1, signal), undefined)
})

test('no source knows a protocol', t => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  t.ok(files.length > 10)
  for (const name of files) t.notMatch(readFileSync(`${SOURCES}/${name}`, 'utf8'), /\b(?:a2a|mcp|openai|fastify|acp|grpc)\b/i, name)
  t.end()
})
