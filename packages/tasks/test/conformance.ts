import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { report } from '../../../test/fixtures/report.mjs'
import { until } from '../../../test/fixtures/until.js'
import { conversations } from './conversations.js'
import { MAX_OPEN_APPROVALS } from '../src/contract/approval-records.js'
import { ANYONE, foldTask, isTaskError, type TaskEvent, type TaskHandler, type TaskPart, type TaskQuery, type TaskRecord, type TaskStore, type TaskUpdate } from '../src/index.js'

export interface ConformanceSettings { readonly maxTasks?: number, readonly maxBytes?: number, readonly inputTtlMs?: number, readonly maxTaskChars?: number, readonly deadAfterMs?: number, readonly ownerShare?: number, readonly leaseMs?: number, readonly conversationTtlMs?: number, readonly maxConversations?: number, readonly maxConversationBytes?: number, readonly maxTurns?: number, readonly purgeMs?: number }
/** Opens an empty store with short leases (about half a second) and sees to its end. */
export type StoreFactory = (t: Test, settings?: ConformanceSettings) => Promise<TaskStore>

const ASK = { skill: 'vac_query_docs', input: { question: 'why?' } }

export async function collect<T> (items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** A handler that waits for its signal, and what it saw. */
function waiting (): { handler: TaskHandler, started: Promise<void>, aborted: Promise<Error> } {
  let start: () => void
  let abort: (reason: Error) => void
  const started = new Promise<void>(resolve => { start = resolve })
  const aborted = new Promise<Error>(resolve => { abort = resolve })
  return {
    started,
    aborted,
    async handler (task, { signal }) {
      start()
      await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
      abort(signal.reason as Error)
      await delay(50)
      throw new Error('stopped')
    }
  }
}

/** What every TaskStore must do, whatever it keeps its tasks in. */
export function conformance (t: Test, kind: string, open: StoreFactory): void {
  const test = (sentence: string, body: (t: Test) => Promise<void>): void => { t.test(`${kind}: ${sentence}`, body).catch(() => {}) }

  conversations(test, open)

  test('a sign-in belongs to one owner and server, and one of two replacements wins', async t => {
    const signIns = (await open(t)).signIns!
    t.equal(await signIns.get('alice', 'mail'), undefined)
    // either may win: they are on different connections
    const race = async (before: string | undefined, texts: readonly string[]): Promise<string> => {
      const won = await Promise.all(texts.map(async text => await signIns.replace('alice', 'mail', before, text)))
      t.equal(won.filter(Boolean).length, 1)
      return texts[won.indexOf(true)] as string
    }
    const first = await race(undefined, ['one', 'two'])
    const second = await race(first, ['three', 'four'])
    t.equal(await signIns.get('alice', 'mail'), second)
    for (const [owner, server] of [['bob', 'mail'], ['alice', 'calendar']] as const) t.equal(await signIns.get(owner, server), undefined)
    t.equal(await signIns.replace('bob', 'mail', second, undefined), false)
    t.equal(await signIns.replace('alice', 'mail', second, undefined), true)
    t.equal(await signIns.replace('alice', 'mail', undefined, undefined), true)
    t.equal(await signIns.get('alice', 'mail'), undefined)
  })

  test('an approval belongs to one owner, and one of two replacements wins', async t => {
    const approvals = (await open(t)).approvals!
    const soon = Date.now() + 600_000
    await approvals.create('alice', 'one', 'asked', soon)
    t.strictSame({ ...await approvals.get('alice', 'one') }, { value: 'asked', status: '' })
    const won = await Promise.all(['yes', 'no'].map(async text => await approvals.replace('alice', 'one', '', text)))
    t.equal(won.filter(Boolean).length, 1)
    t.match(await approvals.get('alice', 'one'), { status: won[0] === true ? 'yes' : 'no' })
    for (const owner of ['bob', 'anyone', undefined]) {
      t.equal(await approvals.get(owner, 'one'), undefined)
      t.equal(await approvals.replace(owner, 'one', '', 'yes'), false)
    }
    t.strictSame([await approvals.locate('one'), await approvals.locate('two')], [{ owner: 'alice' }, undefined])
    await approvals.create('alice', 'late', 'asked', Date.now() - 1)
    t.equal(await approvals.get('alice', 'late'), undefined)
    for (let i = 0; i < MAX_OPEN_APPROVALS; i++) await approvals.create('alice', `next ${i}`, 'asked', soon)
    t.equal(await approvals.get('alice', 'one'), undefined, 'the oldest one of an owner leaves')
    t.match(await approvals.get('alice', 'next 0'), { value: 'asked' })
    await approvals.create('bob', 'one', 'asked', soon)
    t.match(await approvals.get('alice', 'next 0'), { value: 'asked' }, 'and never one of another owner')
  })

  test('a task is created, executed and read back; its log folds to the same record', async t => {
    const store = await open(t)
    store.work(async (task, { attempt, turn, emit }) => {
      t.strictSame([attempt, turn, task.input], [0, 0, ASK.input])
      t.equal(await emit({ progress: 0.5, delta: 'be', step: { tool_call: { name: 'f' } } }), 3)
      t.equal(await emit([{ delta: 'cause' }, { message: { role: 'agent', parts: [{ type: 'text', text: 'so' }] } }]), 5)
      await emit({ state: 'completed', artifact: { name: 'response', content: { answer: 'because' } } })
    })
    const { task, created } = await store.create('alice', { ...ASK, contextId: 'c', metadata: { a: 1 }, message: { parts: [{ type: 'text', text: 'why?' }] } })
    t.ok(created)
    t.match(task, { owner: 'alice', ...ASK, contextId: 'c', state: 'submitted', seq: 1, attempt: -1, turn: 0, progress: 0, completedAt: null, error: null })
    const events = await collect(store.events('alice', task.id))
    t.strictSame(events.map(({ seq, state }) => [seq, state]), [[1, 'submitted'], [2, 'working'], [3, undefined], [4, undefined], [5, undefined], [6, 'completed']])
    const ended = await store.get('alice', task.id)
    t.strictSame(ended, foldTask(task, events))
    t.strictSame(events.map(({ step }) => step), [undefined, undefined, { tool_call: { name: 'f' } }, undefined, undefined, undefined])
    t.notMatch(JSON.stringify(ended), 'tool_call', 'the record has no steps')
    t.match(ended, { state: 'completed', progress: 1, seq: 6, attempt: 0, artifacts: [{ name: 'response', type: 'json', content: { answer: 'because' } }] })
    t.strictSame(ended?.messages.map(({ role, parts }) => [role, parts[0]?.text]), [['user', 'why?'], ['agent', 'because'], ['agent', 'so']])
    t.equal(ended?.completedAt, events.at(-1)?.at)
    const head = { id: task.id, owner: 'alice', skill: ASK.skill, contextId: 'c', metadata: { a: 1 }, state: 'completed', seq: 6, attempt: 0, turn: 0 }
    t.strictSame(await store.head('alice', task.id), head, 'without what was said')
  })

  test('a handler that ends its task synchronously ends it in its first attempt', async t => {
    const store = await open(t)
    store.work(async (task, { emit }) => { await emit({ state: 'failed', error: { code: 'NO', message: 'no' } }) })
    for (const key of [undefined, undefined, undefined, 'k1', 'k2']) {
      const { task } = await store.create('alice', { ...ASK, ...(key === undefined ? {} : { idempotencyKey: key }) })
      await collect(store.events('alice', task.id))
      t.match(await store.get('alice', task.id), { state: 'failed', attempt: 0, seq: 3 })
    }
  })

  test('every method handles a task of another owner like an unknown one', async t => {
    const store = await open(t)
    const { task } = await store.create('alice', ASK)
    await store.setPush('alice', task.id, { id: 'p', url: 'https://a.example' })
    const codeOf = async (call: Promise<unknown>): Promise<unknown> => await call.then(value => value, (error: Error & { code: string }) => [error.code, error.message.replaceAll(/'[^']*'/g, '')])
    const ask = async (id: string): Promise<unknown[]> => await Promise.all([
      store.get('bob', id), store.head('bob', id), store.cancel('bob', id), store.provideInput('bob', id, { parts: [] }), store.getPush('bob', id, 'p'), store.listPush('bob', id),
      store.deletePush('bob', id, 'p'), codeOf(store.setPush('bob', id, { url: 'https://b.example' })), codeOf(collect(store.events('bob', id)))
    ])
    t.strictSame(await ask(task.id), await ask('nothing-of-that-name'))
    t.strictSame((await store.list('bob')).tasks, [])
    t.equal((await store.get('alice', task.id))?.state, 'submitted')
    t.strictSame(await Promise.all([store.ownerOf?.(task.id), store.ownerOf?.('nothing-of-that-name'), store.ownerOf?.('a\0b')]), ['alice', undefined, undefined], 'administrators find it')
    await t.rejects(store.create('bob', { ...ASK, id: task.id }), { code: 'TASK_CONFLICT', statusCode: 409 })
  })

  test('a task has the time since a reader noted that it had it, which no other owner reads or sets', async t => {
    const store = await open(t)
    const { task: { id } } = await store.create('alice', ASK)
    const before = await store.get('alice', id)
    const unread = async (): Promise<number | undefined> => (await store.lastRead('alice', id))?.agoMs
    await store.markRead('bob', id, 0)
    await store.markRead('alice', 'nothing-of-that-name', 0)
    t.equal(await unread(), undefined)
    await store.markRead('alice', id, 60_000)
    const long = await until(async () => { const ms = await unread(); return ms! > 100 && ms }, 'some time has passed')
    await store.markRead('alice', id, 60_000)
    t.ok(await unread() as number >= long, 'it was noted a moment ago')
    await until(async () => { await store.markRead('alice', id, 0); return await unread() as number < long }, 'it is noted again')
    for (const [owner, of] of [['bob', id], ['alice', 'nothing-of-that-name'], ['alice', 'a\0b']] as const) t.equal(await store.lastRead(owner, of), undefined)
    t.strictSame(await store.get('alice', id), before, 'the log has nothing of it')
  })

  test('a name with a NUL or a lone surrogate is refused for a new task and config, and is that of no task', async t => {
    const store = await open(t)
    const { task } = await store.create('alice', { ...ASK, contextId: 'c' })
    for (const name of ['a\0b', 'a\ud800b', '\0']) {
      for (const bad of [{ id: name }, { contextId: name }, { skill: name }, { idempotencyKey: name }, { push: { url: name } }]) {
        await t.rejects(store.create('alice', { ...ASK, ...bad }), { code: 'TASK_INVALID', statusCode: 400 })
      }
      await t.rejects(store.setPush('alice', task.id, { id: name, url: 'https://a.example' }), { code: 'TASK_INVALID' })
      await t.rejects(collect(store.events('alice', name)), { code: 'TASK_NOT_FOUND' })
      t.strictSame(await Promise.all([
        store.get('alice', name), store.head('alice', name), store.cancel('alice', name), store.provideInput('alice', name, { parts: [] }), store.listPush('alice', name),
        store.getPush('alice', task.id, name), store.deletePush('alice', task.id, name)
      ]), [null, null, { outcome: 'not-found', task: null }, { outcome: 'not-found', task: null }, [], null, false])
      t.strictSame(await store.list('alice', { contextId: name, count: true }), { tasks: [], total: 0 })
      t.strictSame(await store.list('alice', { skills: [name], count: true }), { tasks: [], total: 0 })
    }
  })

  test('20 concurrent creates with one key make one task and one execution; another body is a conflict, another owner gets another task', async t => {
    const store = await open(t)
    let runs = 0
    store.work(() => { runs++ })
    const made = await Promise.all(Array.from({ length: 20 }, async () => await store.create('alice', { ...ASK, idempotencyKey: 'k' })))
    t.equal(new Set(made.map(({ task }) => task.id)).size, 1)
    t.equal(made.filter(({ created }) => created).length, 1)
    await collect(store.events('alice', made[0]?.task.id ?? ''))
    await delay(50)
    t.equal(runs, 1)
    await t.rejects(store.create('alice', { ...ASK, input: 'other', idempotencyKey: 'k' }), { code: 'TASK_CONFLICT' })
    t.equal((await store.create('bob', { ...ASK, input: 'other', idempotencyKey: 'k' })).created, true)
    t.equal((await store.create('alice', { ...ASK, input: 'one', idempotencyKey: 'n', isNamedByKey: true })).created, true)
    const named = await store.create('alice', { ...ASK, input: 'other', contextId: 'c', idempotencyKey: 'n', isNamedByKey: true })
    t.match(named, { created: false, task: { input: 'one' } })
    await t.rejects(store.create('alice', { ...ASK, skill: 'other', idempotencyKey: 'n', isNamedByKey: true }), { code: 'TASK_CONFLICT' })
    const ordered = await store.create('alice', { skill: 's', input: { a: 1, b: [{ c: 1, d: 2 }] }, idempotencyKey: 'o' })
    t.equal((await store.create('alice', { skill: 's', input: { b: [{ d: 2, c: 1 }], a: 1 }, idempotencyKey: 'o' })).task.id, ordered.task.id)
  })

  test('a cancel aborts the handler before it resolves, and is the last event', async t => {
    const store = await open(t)
    const { handler, started, aborted } = waiting()
    let signal: AbortSignal | undefined
    store.work(async (task, context) => {
      signal = context.signal
      await Promise.resolve(handler(task, context)).catch(() => {})
      await t.rejects(context.emit({ delta: 'late' }), { code: 'TASK_FENCED' })
    })
    const { task } = await store.create('alice', ASK)
    const events = collect(store.events('alice', task.id))
    await started
    t.match(await store.cancel('alice', task.id, 'not needed'), { outcome: 'canceled', task: { state: 'canceled', error: { message: 'not needed' } } })
    t.ok(signal?.aborted)
    t.equal(((await aborted) as Error & { code: string }).code, 'TASK_CANCELED')
    t.strictSame((await events).at(-1)?.state, 'canceled')
    t.match(await store.cancel('alice', task.id), { outcome: 'terminal', task: { state: 'canceled' } })
    await delay(100)
    t.equal((await store.get('alice', task.id))?.seq, 3)
  })

  test('a task canceled before its start is never executed', async t => {
    const store = await open(t)
    const { task } = await store.create('alice', ASK)
    await store.cancel('alice', task.id)
    let runs = 0
    store.work(() => { runs++ })
    await delay(150)
    t.equal(runs, 0)
  })

  test('300 races of a cancel and a completion each give one terminal state, which both sides see', async t => {
    const store = await open(t)
    const written = new Map<string, boolean>()
    store.work(async (task, { emit }) => {
      await delay(Math.random() * 3)
      written.set(task.id, await emit({ state: 'completed' }).then(() => true, () => false))
    }, { concurrency: 32 })
    await Promise.all(Array.from({ length: 300 }, async () => {
      const { task } = await store.create('alice', ASK)
      await delay(Math.random() * 6)
      const { outcome } = await store.cancel('alice', task.id)
      const events = await collect(store.events('alice', task.id))
      const ends = events.filter(({ state }) => state === 'completed' || state === 'canceled')
      const last = await store.get('alice', task.id)
      if (ends.length !== 1 || ends[0] !== events.at(-1) || last?.state !== ends[0]?.state) t.fail('more than one end')
      if ((outcome === 'canceled') !== (last?.state === 'canceled')) t.fail('the cancel had another result')
      if (written.has(task.id) && written.get(task.id) !== (last?.state === 'completed')) t.fail('the handler had another result')
    }))
    t.pass('300 races')
  })

  test('every reader gets the same events without a gap, from any number on, while they are written and afterwards', async t => {
    const store = await open(t)
    store.work(async (task, { emit }) => {
      for (let i = 0; i < 120; i++) {
        emit(Array.from({ length: i % 13 + 1 }, (_, j) => ({ delta: `${i}.${j} ` }))).catch(() => {})
        if (i % 10 === 0) await delay(1)
      }
    })
    const { task } = await store.create('alice', ASK)
    const readers = await Promise.all([0, 0, 1, 2, 100, 600, 700, 5_000].map(async after => [after, await collect(store.events('alice', task.id, { after }))] as const))
    const all = await collect(store.events('alice', task.id))
    t.strictSame(all.map(({ seq }) => seq), all.map((_, i) => i + 1))
    for (const [after, events] of readers) t.strictSame(events, all.slice(after))
    t.strictSame(await store.get('alice', task.id), foldTask(task, all))
    for (const after of [-1, NaN, 1.5]) t.equal((await collect(store.events('alice', task.id, { after }))).length, all.length - Math.max(0, Math.trunc(after) || 0))
  })

  test('a reader ends when its signal aborts, when it leaves, and when the store closes; the task goes on', async t => {
    const store = await open(t)
    const { handler, started } = waiting()
    store.work(handler)
    const { task } = await store.create('alice', ASK)
    const controller = new AbortController()
    const read: TaskEvent[][] = [[], []]
    const readers = [{ signal: controller.signal }, {}].map(async (options, i) => {
      for await (const event of store.events('alice', task.id, options)) read[i]!.push(event)
    })
    await started
    await until(() => read.every(({ length }) => length === 2), 'both have read all')
    const leaving = store.events('alice', task.id, { after: 2 })[Symbol.asyncIterator]()
    const next = leaving.next()
    await leaving.return?.()
    t.strictSame((await next).done, true)
    controller.abort()
    await readers[0]
    t.equal((await store.get('alice', task.id))?.state, 'working')
    await store.close()
    await readers[1]
    t.strictSame(read.map(({ length }) => length), [2, 2])
  })

  test('a handler that throws fails the task without its text; an emitted error keeps its text; a return completes', async t => {
    const store = await open(t)
    const ways: Record<string, TaskHandler> = {
      throws: () => { throw new Error('secret') },
      rejects: async () => await Promise.reject(new Error('secret')),
      nothing: async () => { throw undefined }, // eslint-disable-line no-throw-literal
      later: async (task, { emit }) => { await emit({ delta: 'x' }); throw new Error('secret') },
      says: async (task, { emit }) => { await emit({ state: 'failed', error: { code: 'NO_VAC', message: 'no such VAC' } }) },
      rejected: async (task, { emit }) => { await emit({ state: 'rejected' }) },
      returns: () => {}
    }
    store.work(async (task, context) => { await ways[task.skill]?.(task, context) })
    const ended: Record<string, string> = {}
    for (const skill of Object.keys(ways)) {
      const { task } = await store.create('alice', { skill, input: null })
      await collect(store.events('alice', task.id))
      const { state, error } = await store.get('alice', task.id) ?? {}
      ended[skill] = `${state} ${error?.code ?? ''}`.trim()
      t.notMatch(JSON.stringify(error), 'secret')
    }
    t.strictSame(ended, {
      throws: 'failed TASK_FAILED', rejects: 'failed TASK_FAILED', nothing: 'failed TASK_FAILED', later: 'failed TASK_FAILED', says: 'failed NO_VAC', rejected: 'rejected', returns: 'completed'
    })
  })

  test('the backlog counts the tasks that have not ended, by state', async t => {
    const store = await open(t)
    t.strictSame(await store.backlog(), [])
    const before = Date.now()
    for (let i = 0; i < 3; i++) await store.create('alice', { skill: 'x', input: null })
    const [submitted, ...others] = await store.backlog()
    t.match(submitted, { state: 'submitted', tasks: 3 })
    t.ok(Number(submitted?.since) >= before - 1_000)
    t.strictSame(others, [])
    store.work(async (_task, { emit }) => { await emit({ state: 'input-required' }) })
    await until(async () => (await store.backlog())[0]?.state === 'input-required', 'a task waits for input')
    t.match(await store.backlog(), [{ state: 'input-required', tasks: Number }])
  })

  test('the record of a task keeps the usage that its last run reported', async t => {
    const store = await open(t)
    const usage = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }
    store.work(async (_task, { emit }) => { await emit({ state: 'completed', usage }) })
    const { task } = await store.create('alice', { skill: 'x', input: null })
    const events = await collect(store.events('alice', task.id))
    t.strictSame(events.at(-1)?.usage, usage)
    t.strictSame((await store.get('alice', task.id))?.usage, usage)
  })

  test('a handler that never ends and ignores its signal fails in time and frees its place', async t => {
    const store = await open(t)
    let signal: AbortSignal | undefined
    store.work(async (task, context) => {
      if (task.skill !== 'hang') return
      signal = context.signal
      await new Promise(() => {})
    }, { concurrency: 1, timeoutMs: 100 })
    const { task } = await store.create('alice', { skill: 'hang', input: null })
    const { task: next } = await store.create('alice', { skill: 'quick', input: null })
    await collect(store.events('alice', next.id))
    t.match(await store.get('alice', task.id), { state: 'failed', error: { code: 'TASK_TIMEOUT' } })
    t.equal(signal?.aborted, true)
  })

  test('a queue has its own workers', async t => {
    const store = await open(t)
    const seen: string[] = []
    const worker = (queue?: string) => store.work(task => { seen.push(`${queue ?? 'none'} runs ${task.skill}`) }, { queue })
    worker()
    const make = async (skill: string, queue?: string): Promise<string> => (await store.create('alice', { skill, input: null, queue })).task.id
    const [waits, runs] = [await make('early', 'apart'), await make('plain')]
    await collect(store.events('alice', runs))
    t.equal((await store.get('alice', waits))?.state, 'submitted')
    worker('apart')
    await collect(store.events('alice', waits))
    await collect(store.events('alice', await make('late', 'apart')))
    t.strictSame(seen, ['none runs plain', 'apart runs early', 'apart runs late'])
    await t.rejects(make('x', ''), { code: 'TASK_INVALID' })
  })

  test('a worker takes only tasks whose skill it serves; it passes over the others, and takes them once it serves them', async t => {
    const store = await open(t)
    const skills = ['old']
    const ran: string[] = []
    const serves = (skill: string): boolean => skills.includes(skill)
    const create = async (skill: string): Promise<string> => (await store.create('alice', { skill, input: null })).task.id
    const begun = waiting()
    const leaving = store.work(begun.handler)
    const left = await create('new')
    await begun.started
    store.work(({ skill, attempt }) => { ran.push(`${skill} ${attempt}`) }, { serves })
    await leaving.stop()
    const news = await Promise.all(Array.from({ length: 100 }, async () => await create('new')))
    for (let i = 0; i < 3; i++) await collect(store.events('alice', await create('old')))
    t.strictSame(ran, ['old 0', 'old 0', 'old 0'])
    t.match(await store.get('alice', left), { state: 'working', attempt: 0 })
    for (const id of news) t.match(await store.get('alice', id), { state: 'submitted', seq: 1 })
    skills.push('new')
    for (const id of [left, ...news]) await collect(store.events('alice', id))
    t.strictSame(ran.slice(3).sort(), [...news.map(() => 'new 0'), 'new 1'])
  })

  test('a task that no worker serves fails after `inputTtlMs`, also one that a worker has begun and left', async t => {
    const store = await open(t, { inputTtlMs: 200 })
    const begun = waiting()
    const leaving = store.work(begun.handler)
    const left = await store.create('alice', ASK)
    await begun.started
    store.work(() => {}, { serves: () => false, timeoutMs: 100 })
    await leaving.stop()
    const never = await store.create('alice', ASK)
    for (const { task: { id } } of [left, never]) {
      t.equal((await collect(store.events('alice', id))).at(-1)?.error?.code, 'TASK_NOT_STARTED')
    }
  })

  test('a task that gets no input fails after `inputMs`, only in that queue', async t => {
    const store = await open(t)
    const ask: TaskHandler = async (task, { turn, emit }) => { if (turn === 0) await emit({ state: 'input-required' }) }
    store.work(ask, { queue: 'bounded', inputMs: 50 })
    store.work(ask)
    const unbounded = (await store.create('alice', { skill: 'ask', input: null })).task.id
    await until(async () => (await store.get('alice', unbounded))?.state === 'input-required', 'the other task waits for input')
    const bounded = (await store.create('alice', { skill: 'ask', input: null, queue: 'bounded' })).task.id
    const last = (await collect(store.events('alice', bounded))).at(-1)
    t.match(last, { state: 'failed', error: { code: 'TASK_INPUT_TIMEOUT', message: /had no answer for/ } })
    t.equal((await store.provideInput('alice', bounded, { parts: [] })).outcome, 'not-waiting')
    t.equal((await store.get('alice', unbounded))?.state, 'input-required')
  })

  test('a process that blocks its event loop for longer than a lease keeps its tasks', async t => {
    const store = await open(t)
    const attempts: number[] = []
    store.work(async (task, { attempt, emit }) => {
      attempts.push(attempt)
      if (task.skill === 'block') {
        await delay(20)
        const until = Date.now() + 1_500
        while (Date.now() < until);
      }
      for (let i = 0; i < 5; i++) {
        await delay(20)
        await emit({ progress: i / 5 })
      }
    })
    const made = await Promise.all(['wait', 'block', 'wait'].map(async skill => (await store.create('alice', { skill, input: null })).task))
    for (const { id } of made) await collect(store.events('alice', id))
    for (const { id } of made) t.match(await store.get('alice', id), { state: 'completed', attempt: 0 })
    t.strictSame(attempts, [0, 0, 0])
  })

  test('a page of large tasks ends early and continues with its cursor', async t => {
    const store = await open(t)
    for (let i = 0; i < 8; i++) await store.create('alice', { skill: 's', input: `${i}${'x'.repeat(900_000)}` })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await store.list('alice', { cursor, limit: 100 })
      t.ok(page.tasks.length <= 4)
      seen.push(...page.tasks.map(({ input }) => String(input).charAt(0)))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    t.strictSame(seen, ['7', '6', '5', '4', '3', '2', '1', '0'])
  })

  test('a task that asks for input holds no place, and continues with the next turn once input is provided', async t => {
    const store = await open(t)
    store.work(async (task, { turn, emit }) => {
      if (turn === 0) await emit([{ delta: 'which ' }, { delta: 'one?' }, { state: 'input-required' }])
      else await emit({ state: 'completed', artifact: { name: 'response', content: task.messages.at(-1)?.parts[0]?.text } })
    }, { concurrency: 1 })
    const { task } = await store.create('alice', ASK)
    for await (const { state } of store.events('alice', task.id)) if (state === 'input-required') break
    t.match(await store.get('alice', task.id), { state: 'input-required', completedAt: null, turn: 0 })
    const answers = await Promise.all([1, 2].map(async () => await store.provideInput('alice', task.id, { parts: [{ type: 'text', text: 'the first' }] })))
    t.strictSame(answers.map(({ outcome }) => outcome).sort(), ['accepted', 'not-waiting'])
    const events = await collect(store.events('alice', task.id))
    const ended = await store.get('alice', task.id)
    t.match(ended, { state: 'completed', turn: 1, attempt: 0, artifacts: [{ content: 'the first' }] })
    t.strictSame(ended, foldTask(task, events))
    t.equal((await store.provideInput('alice', task.id, { parts: [] })).outcome, 'not-waiting')
  })

  test('`stop` fires together with `signal`, created before or after it', async t => {
    const store = await open(t)
    const seen: unknown[] = []
    const done = new Promise<void>(resolve => {
      store.work(async (task, context) => {
        const early = task.skill === 'early' ? context.signal : undefined
        const ignored = (): void => { seen.push('removed') }
        context.stop.addEventListener('abort', ignored)
        context.stop.removeEventListener('abort', ignored)
        await new Promise<void>(resolve => { context.stop.addEventListener('abort', resolve) })
        const { signal, stop } = context
        seen.push([task.skill, early?.aborted ?? true, signal.aborted, stop.aborted, signal.reason === stop.reason])
        if (seen.length === 2) resolve()
      }, { concurrency: 2 })
    })
    for (const skill of ['early', 'late']) {
      const { task } = await store.create('alice', { skill, input: null })
      for await (const { state } of store.events('alice', task.id)) if (state === 'working') break
      await store.cancel('alice', task.id)
    }
    await done
    t.strictSame(seen, [['early', true, true, true, true], ['late', true, true, true, true]])
  })

  test('a task that waits for an authorization continues the same way, and keeps its readers', async t => {
    const store = await open(t)
    store.work(async (_task, { turn, emit }) => { await emit({ state: turn === 0 ? 'auth-required' : 'completed' }) })
    const { task } = await store.create('alice', ASK)
    const states: unknown[] = []
    for await (const { state } of store.events('alice', task.id)) {
      states.push(state)
      if (state !== 'auth-required') continue
      t.match(await store.list('alice', { states: ['auth-required'] }), { tasks: [{ id: task.id, completedAt: null }] })
      t.equal((await store.provideInput('alice', task.id, { parts: [] })).outcome, 'accepted')
    }
    t.strictSame(states, ['submitted', 'working', 'auth-required', 'submitted', 'working', 'completed'])
  })

  test('invalid updates are refused, and the task can still end', async t => {
    const store = await open(t, { maxTaskChars: 20_000 })
    store.work(async (task, { emit }) => {
      const bad = [[], Array.from({ length: 1_001 }, () => ({ progress: 0 })), { state: 'working' }, { state: 'canceled' }, { progress: 2 }, { progress: NaN },
        [{ state: 'completed' }, { delta: 'x' }], { artifact: { name: 'a', content: 1n } }, { step: 1n }] as TaskUpdate[]
      for (const updates of bad) await t.rejects(emit(updates), { code: 'TASK_INVALID' })
      await t.rejects(emit({ delta: 'x'.repeat(9_000_000) }), { code: 'TASK_TOO_LARGE' })
      for (let i = 0; i < 3; i++) await emit({ delta: 'x'.repeat(6_000) })
      await emit({ delta: 'x'.repeat(6_000) })
    })
    const { task } = await store.create('alice', ASK)
    await collect(store.events('alice', task.id))
    t.match(await store.get('alice', task.id), { state: 'failed', error: { code: 'TASK_TOO_LARGE' } })
    for (const wrong of [{ skill: '' }, { id: '' }, { idempotencyKey: 'x'.repeat(300) }, { input: 1n }, { push: { url: '' } }]) {
      await t.rejects(store.create('alice', { ...ASK, ...wrong }), { code: 'TASK_INVALID', statusCode: 400 })
    }
    await t.rejects(store.create('', ASK), { code: 'TASK_INVALID' })
  })

  test('any text is returned unchanged', async t => {
    const store = await open(t)
    const text = 'a\n\r\u2028data:\0\ud800"\u{1f600}\ufeff'
    store.work(async (task, { emit }) => { await emit({ delta: text }) })
    const { task } = await store.create('alice', { skill: 's', input: { [text]: text }, metadata: { text } })
    await collect(store.events('alice', task.id))
    const got = await store.get('alice', task.id)
    t.strictSame([got?.input, got?.metadata, got?.messages[0]?.parts[0]?.text], [{ [text]: text }, { text }, text])
    for (const bad of ['\0', '\ud800']) await t.rejects(store.create('alice', { ...ASK, contextId: bad }), { code: 'TASK_INVALID' })
    t.equal((await store.create('alice', { ...ASK, contextId: '\u{1f600}' })).task.contextId, '\u{1f600}')
  })

  test('of a text longer than the limit of records, the record has the beginning and the log everything', async t => {
    const store = await open(t)
    const text = '0123456\u{1f600}'.repeat(40_000)
    const most = 256 * 1024
    let meanwhile: Promise<TaskRecord | null> | undefined
    store.work(async (task, { emit }) => {
      await emit([{ delta: 'xx' }, { delta: text.slice(0, 1_000) }])
      for (let i = 1_000; i < text.length; i += 10_007) await emit({ delta: text.slice(i, i + 10_007) })
      meanwhile = store.get('alice', task.id)
      await meanwhile
      await emit([{ message: { role: 'agent', parts: [] } }, { delta: 'another' }])
    })
    const { task } = await store.create('alice', ASK)
    const events = await collect(store.events('alice', task.id))
    t.ok(events.map(({ delta = '' }) => delta).join('') === `xx${text}another`, 'the log')
    const ended = await store.get('alice', task.id)
    const shown = ended?.messages.map(({ parts }) => parts[0]?.text)
    // the pair that the bound parts is left out whole
    const beginning = `xx${text}`.slice(0, most - 1)
    t.ok(/[\ud800-\udbff]/.test(`xx${text}`[most - 1] ?? ''), 'a pair lies on the bound')
    t.ok(shown?.[0] === beginning && shown.length === 3 && shown[2] === 'another', 'the record')
    t.ok((await meanwhile)?.messages[0]?.parts[0]?.text === beginning, 'the record meanwhile')
    t.ok(JSON.stringify(ended) === JSON.stringify(foldTask(task, events)), 'the fold')
  })

  test('pages list all tasks of an owner once, newest status first, by state and context', async t => {
    const store = await open(t)
    for (let i = 0; i < 25; i++) await store.create('alice', { ...ASK, input: i, contextId: i % 2 === 0 ? 'even' : 'odd' })
    await store.create('bob', ASK)
    const pages: unknown[][] = []
    let cursor: string | undefined
    do {
      const page = await store.list('alice', { limit: 10, cursor })
      pages.push(page.tasks.map(({ input }) => input))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    t.strictSame(pages.map(({ length }) => length), [10, 10, 5])
    t.strictSame(pages.flat(), Array.from({ length: 25 }, (_, i) => 24 - i))
    t.equal((await store.list('alice', { contextId: 'even' })).tasks.length, 13)
    const [newest] = (await store.list('alice', { limit: 1 })).tasks
    await store.cancel('alice', newest?.id ?? '')
    t.equal((await store.list('alice', { states: ['canceled'] })).tasks.length, 1)
    t.equal((await store.list('alice', { states: ['submitted', 'canceled'], contextId: 'even' })).tasks.length, 13)
    t.equal((await store.list('alice', { states: [] })).tasks.length, 0)
    for (const bad of ['x', '', 'MTIz', '!!']) await t.rejects(store.list('alice', { cursor: bad }), { code: 'TASK_INVALID_CURSOR', statusCode: 400 })
    for (const limit of [0, -1, 101, 1.5, NaN]) await t.rejects(store.list('alice', { limit }), { code: 'TASK_INVALID' })
  })

  test('pages can be filtered by skills and time, and have a total; a task without a context has its id as context', async t => {
    const store = await open(t)
    const { task: first } = await store.create('alice', { ...ASK, skill: 'a' })
    const { task: second } = await store.create('alice', { ...ASK, skill: 'b', contextId: first.id })
    await store.create('bob', { ...ASK, contextId: first.id })
    const ids = async (query: TaskQuery): Promise<string[]> => (await store.list('alice', query)).tasks.map(({ id }) => id)
    t.strictSame(new Set(await ids({ contextId: first.id })), new Set([first.id, second.id]))
    t.strictSame(await ids({ contextId: second.id }), [], 'one that has another context is not in its own')
    t.strictSame(await ids({ skills: ['b', 'c'] }), [second.id])
    t.strictSame(await ids({ skills: [] }), [])
    t.strictSame(await ids({ statusSince: second.statusAt + 1 }), [])
    t.ok((await ids({ statusSince: second.statusAt })).includes(second.id), 'of that time, or later')
    t.equal((await store.list('alice', { count: true, limit: 1 })).total, 2)
    t.equal((await store.list('alice', { count: true, contextId: first.id, skills: ['a'] })).total, 1)
    t.notOk('total' in await store.list('alice'))
  })

  test('files and data are returned unchanged, and belong to the request of an idempotency key', async t => {
    const store = await open(t)
    const parts: TaskPart[] = [{ type: 'text', text: 'look', mediaType: 'text/plain' }, { type: 'file', bytes: 'dGNr', filename: 'a.png' }, { type: 'data', data: [1, null] }]
    const message = { id: 'm', parts, metadata: { a: 1 }, extensions: ['urn:x'], referenceTaskIds: ['t'] }
    const { task } = await store.create('alice', { ...ASK, message, idempotencyKey: 'k' })
    t.match((await store.get('alice', task.id))?.messages, [{ role: 'user', ...message }])
    t.equal((await store.create('alice', { ...ASK, message, idempotencyKey: 'k' })).created, false)
    await t.rejects(store.create('alice', { ...ASK, message: { ...message, parts: parts.slice(0, 2) }, idempotencyKey: 'k' }), { code: 'TASK_CONFLICT' })
    store.work(async (_task, { emit }) => { await emit({ state: 'completed', artifact: { name: 'made', description: 'd', parts, metadata: { b: 2 } } }) })
    await collect(store.events('alice', task.id))
    t.match((await store.get('alice', task.id))?.artifacts, [{ name: 'made', description: 'd', content: null, parts, metadata: { b: 2 } }])
  })

  test('20,000 pieces of an answer take linear time, and reading them meanwhile gives the same as afterwards', async t => {
    // on a busy machine the pieces that wait for each other can hold the event loop for longer than a lease
    const store = await open(t, { leaseMs: 600_000 })
    let half: Promise<unknown> | undefined
    // where each piece costs in proportion to the pieces before it, the last quarter costs seven times the first
    const quarters: number[] = []
    let before = process.cpuUsage()
    store.work(async (task, { emit }) => {
      let last: Promise<number> | undefined
      for (let i = 1; i <= 20_000; i++) {
        last = emit({ delta: `piece ${i} ` })
        if (i % 64 === 0) await last
        if (i % 5_000 === 0) {
          await last
          const { user, system } = process.cpuUsage(before)
          quarters.push((user + system) / 1000)
          before = process.cpuUsage()
        }
        if (i === 10_000) half = store.get('alice', task.id)
      }
      await last
    })
    const { task } = await store.create('alice', ASK)
    let count = 0
    for await (const event of store.events('alice', task.id)) count = event.seq
    t.equal(count, 20_003)
    const [first = 0, , , fourth = Infinity] = quarters
    report({ what: `the last 5,000 of 20,000 pieces of ${kind} in % of the first`, value: fourth / first * 100, most: 300 })
    const whole = (await store.get('alice', task.id))?.messages[0]?.parts[0]?.text ?? ''
    t.equal(whole.length, Array.from({ length: 20_000 }, (_, i) => `piece ${i + 1} `).join('').length)
    const part = (await half as { messages: { parts: { text: string }[] }[] }).messages[0]?.parts[0]?.text ?? ''
    t.ok(part.length > 80_000 && whole.startsWith(part))
  })

  test('purge deletes only ended tasks, oldest first, and ends their readers', async t => {
    const store = await open(t)
    const { handler, started } = waiting()
    store.work(async (task, context) => {
      if (task.skill === 'wait') await handler(task, context)
      if (task.skill === 'ask') await context.emit({ state: 'input-required' })
    })
    const of = async (skill: string): Promise<string> => (await store.create('alice', { skill, input: null })).task.id
    const [running, asking, ...ended] = [await of('wait'), await of('ask'), await of('a'), await of('b'), await of('c')]
    for (const id of ended) await collect(store.events('alice', id))
    await started
    const slow = store.events('alice', ended[0] ?? '')[Symbol.asyncIterator]()
    await slow.next()
    t.equal(await store.purge({ maxTasks: 4 }), 1)
    t.equal(await store.get('alice', ended[0] ?? ''), null)
    t.equal((await slow.next()).done ?? false, false, 'the page that it holds')
    t.equal(await store.purge({ terminalOlderThanMs: 60_000 }), 0)
    await delay(5)
    t.equal(await store.purge({ terminalOlderThanMs: 0, maxTasks: 1 }), 2)
    for (const id of [running, asking]) t.notOk((await store.get('alice', id))?.completedAt)
    t.equal((await store.list('alice')).tasks.length, 2)
    while ((await slow.next()).done !== true);
  })

  test('a task that has ended is deleted by its owner, with its log and its idempotency key', async t => {
    const store = await open(t)
    const { handler, started } = waiting()
    store.work(async (task, context) => { if (task.skill === 'wait') await handler(task, context) })
    const running = (await store.create('alice', { skill: 'wait', input: null })).task.id
    const { id } = (await store.create('alice', { skill: 'a', input: null, idempotencyKey: 'k' })).task
    await collect(store.events('alice', id))
    await started
    t.equal(await store.delete('alice', running), 'not-ended')
    t.equal(await store.delete('bob', id), 'not-found')
    t.equal(await store.delete('alice', 'nothing'), 'not-found')
    t.equal(await store.delete('alice', id), 'deleted')
    t.equal(await store.delete('alice', id), 'not-found')
    t.equal(await store.get('alice', id), null)
    await t.rejects(collect(store.events('alice', id)), { code: 'TASK_NOT_FOUND' })
    t.equal((await store.create('alice', { skill: 'a', input: null, idempotencyKey: 'k' })).created, true)
    t.ok(await store.get('alice', running))
  })

  test('a full store deletes ended tasks for new ones, and refuses new ones when none has ended', async t => {
    const store = await open(t, { maxTasks: 5 })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await store.create(ANYONE, ASK)).task.id)
    await t.rejects(store.create(ANYONE, ASK), { code: 'TASK_TOO_MANY', statusCode: 503 })
    await store.cancel(ANYONE, ids[3] ?? '')
    await store.create(ANYONE, ASK)
    t.equal(await store.get(ANYONE, ids[3] ?? ''), null)
    t.equal((await store.list(ANYONE)).tasks.length, 5)
  })

  test('an owner at its share of the tasks loses its own oldest ended task, never one of another owner', async t => {
    const store = await open(t, { maxTasks: 20 })
    const make = async (owner: string): Promise<string> => {
      const { task: { id } } = await store.create(owner, ASK)
      await store.cancel(owner, id)
      return id
    }
    // as many as he may have: another rule would take hers
    const hers: string[] = []
    for (let i = 0; i < 5; i++) hers.push(await make('alice'))
    const his: string[] = []
    for (let i = 0; i < 60; i++) his.push(await make('bob'))
    for (const id of hers) t.ok(await store.get('alice', id))
    t.strictSame((await store.list('bob')).tasks.map(({ id }) => id).sort(), his.slice(-5).sort())
  })

  test('an owner whose tasks all wait is refused at its share, and others still create tasks', async t => {
    const store = await open(t, { maxTasks: 20 })
    store.work(async (task, { emit }) => { await emit({ state: 'input-required' }) })
    const made = await Promise.allSettled(Array.from({ length: 40 }, async () => await store.create('bob', ASK)))
    t.equal(made.filter(({ status }) => status === 'fulfilled').length, 5)
    const { reason } = made.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    t.match(reason, { code: 'TASK_TOO_MANY', statusCode: 503, message: /this owner has 5 tasks/ })
    for (let i = 0; i < 5; i++) t.ok((await store.create('alice', ASK)).created)
  })

  test('`ownerShare` is the part of one owner, of the tasks and of the places of a worker', async t => {
    const store = await open(t, { maxTasks: 20, ownerShare: 0.5 })
    const running: string[] = []
    store.work(async ({ owner }, { signal }) => {
      running.push(owner)
      await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
    }, { concurrency: 4 })
    const made = await Promise.allSettled(Array.from({ length: 20 }, async () => await store.create('bob', ASK)))
    t.equal(made.filter(({ status }) => status === 'fulfilled').length, 10)
    await until(() => running.length === 2, 'two of his tasks run')
    await store.create('alice', ASK)
    await until(() => running.includes('alice'), 'her task runs')
    t.strictSame(running, ['bob', 'bob', 'alice'])
    for (const ownerShare of [0, -1, 1.5, NaN, '1' as never]) await t.rejects(async () => await open(t, { ownerShare }), { code: 'TASK_STORE_OPTION', message: /ownerShare/ })
  })

  test('in a full store, the owner with most ended tasks makes room for an owner with fewer', async t => {
    const store = await open(t, { maxTasks: 16 })
    for (const owner of ['a', 'b', 'c', 'd']) {
      for (let i = 0; i < 4; i++) await store.cancel(owner, (await store.create(owner, ASK)).task.id)
    }
    for (let i = 0; i < 3; i++) t.ok((await store.create('alice', ASK)).created)
    const left = await Promise.all(['a', 'b', 'c', 'd'].map(async owner => (await store.list(owner)).tasks.length))
    t.strictSame(left.sort(), [3, 3, 3, 4])
  })

  test('a task that waits for its caller, or for a worker, fails after `inputTtlMs`, and its webhook gets the end', async t => {
    const store = await open(t, { inputTtlMs: 200 })
    const pushed: string[] = []
    store.deliver(async ({ taskId, event }) => {
      if (event.error !== undefined) pushed.push(`${taskId} ${event.error.code}`)
      return 'delivered'
    })
    store.work(async ({ skill }, { emit }) => { await emit({ state: skill as 'input-required' }) })
    const ids = await Promise.all(['input-required', 'auth-required', 'never'].map(async (skill, i) =>
      (await store.create('bob', { skill, input: null, push: { url: 'https://a.example' }, ...(i === 2 ? { queue: 'of-no-worker' } : {}) })).task.id))
    await until(() => pushed.length === 3, 'all three have ended')
    t.strictSame(pushed.sort(), ids.map((id, i) => `${id} ${i === 2 ? 'TASK_NOT_STARTED' : 'TASK_INPUT_TIMEOUT'}`).sort())
    for (const id of ids) t.equal((await store.get('bob', id))?.state, 'failed')
  })

  test('owners with waiting tasks are served in turn: after 10,000 tasks of one, the task of another starts next', async t => {
    const store = await open(t)
    await Promise.all(Array.from({ length: 10_000 }, async () => await store.create('bob', { skill: 'his', input: null })))
    // before and after his name: owners are served in the order of their names, from the last one on
    const hers = [await store.create('alice', { skill: 'hers', input: null }), await store.create('carol', { skill: 'hers', input: null })]
    const order: string[] = []
    const worker = store.work(async ({ skill }) => {
      order.push(skill)
      await delay(1)
    }, { concurrency: 1 })
    for (const { task: { owner, id } } of hers) await collect(store.events(owner, id))
    t.ok(order.lastIndexOf('hers') <= 2, `after ${order.lastIndexOf('hers')} others`)
    await worker.stop()
  })

  test('one owner holds a quarter of the slots of a worker, so that another begins at once', async t => {
    const store = await open(t)
    const running: string[] = []
    store.work(async ({ owner }, { signal }) => {
      running.push(owner)
      await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
    }, { concurrency: 8 })
    for (let i = 0; i < 20; i++) await store.create('bob', ASK)
    await until(() => running.length === 2, 'two of his tasks run')
    await store.create('alice', ASK)
    await until(() => running.includes('alice'), 'her task runs')
    t.strictSame(running, ['bob', 'bob', 'alice'])
    for (let i = 0; i < 8; i++) await store.create(ANYONE, ASK)
    await until(() => running.length === 8, 'callers without an identity take all places that are left')
  })

  test('a task waits while the memory does not suffice for it, unless its owner runs no other task', async t => {
    const store = await open(t)
    const running: string[] = []
    let held = 0
    const hold = (owner: string, bytes: number): (() => void) | undefined => {
      t.ok(bytes > 10_000, `${owner} needs ${bytes} bytes`)
      if (held > 0) return undefined
      held++
      return () => { held-- }
    }
    let end = (): void => {}
    const ended = new Promise<void>(resolve => { end = resolve })
    store.work(async ({ owner }) => {
      running.push(owner)
      await ended
    }, { hold })
    const big = { skill: 's', input: 'x'.repeat(10_000) }
    const made = [await store.create('bob', big), await store.create('bob', big), await store.create('alice', big)]
    await until(() => running.length === 2, 'two tasks run')
    t.equal((await store.get('bob', made[1]!.task.id))?.state, 'submitted')
    end()
    for (const { task: { owner, id } } of made) await collect(store.events(owner, id))
    await until(() => held === 0, 'all memory is free again')
    t.strictSame(running, ['bob', 'alice', 'bob'])
  })

  test('past its size limit, a store deletes ended tasks of the owner with most', async t => {
    const store = await open(t, { maxBytes: 4 * 1024 * 1024 })
    const hers: string[] = []
    const make = async (owner: string): Promise<string> => {
      const { task: { id } } = await store.create(owner, { skill: 's', input: 'x'.repeat(40_000) })
      await store.cancel(owner, id)
      return id
    }
    for (let i = 0; i < 3; i++) hers.push(await make('alice'))
    for (let i = 0; i < 200; i++) await make('bob')
    const kept = (await store.list('bob', { count: true, limit: 1 })).total ?? 0
    t.ok(kept < 30, `${kept} tasks of bob`)
    for (const id of hers) t.ok(await store.get('alice', id))
  })

  test('where nothing has ended, a store past its size limit refuses tasks and events, and takes them again later', async t => {
    const store = await open(t, { maxBytes: 2 * 1024 * 1024 })
    const big = { skill: 's', input: 'x'.repeat(100_000) }
    const ids: string[] = []
    const fill = async (owner: string): Promise<unknown> => {
      for (let i = 0; i < 100; i++) {
        try { ids.push((await store.create(owner, big)).task.id) } catch (error) { return error }
      }
      return undefined
    }
    t.match(await fill('bob'), { code: 'TASK_STORE_FULL', statusCode: 503, message: /share of this owner/ })
    t.ok((await store.create('alice', big)).created, 'the owner has a share only')
    t.match(await fill(ANYONE), { code: 'TASK_STORE_FULL', statusCode: 503, message: /^the task store/ })
    t.match(await store.health(), { ok: false, detail: /is full/ })
    for (const id of ids) await store.cancel(ANYONE, id)
    await until(async () => await store.create('alice', ASK).then(() => true, () => false), 'tasks are taken again')
    t.strictSame(await store.health(), { ok: true })
  })

  test('a large ended task is deleted in parts, and the event loop goes on', async t => {
    const store = await open(t)
    store.work(async ({ skill }, { emit }) => {
      if (skill === 'large') for (let i = 0; i < 40; i++) await emit({ delta: 'x'.repeat(1_000_000) })
    })
    const { task } = await store.create(ANYONE, { skill: 'large', input: null, idempotencyKey: 'k' })
    await collect(store.events(ANYONE, task.id))
    let turns = 0
    let over = false
    const count = (): void => { turns++; if (!over) setImmediate(count) }
    count()
    await delay(2)
    turns = 0
    t.equal(await watchLoop(() => store.purge({ terminalOlderThanMs: 0 }), { what: 'the purge' }), 1)
    over = true
    // PostgreSQL deletes in another process: how many turns this one has meanwhile depends on the load of the machine
    if (kind !== 'postgres') t.ok(turns > 20, `${turns} turns of the event loop`)
    t.equal(await store.get(ANYONE, task.id), null)
    t.strictSame((await store.list(ANYONE)).tasks, [])
    t.ok((await store.create(ANYONE, { skill: 'small', input: null, idempotencyKey: 'k' })).created)
  })

  test('stop waits for runs that end in time and releases the rest to the next worker, without counting a failed attempt', async t => {
    // longer than a test may take: the next worker does not get the task because its lease has run out
    const store = await open(t, { leaseMs: 600_000 })
    const { handler, started } = waiting()
    const worker = store.work(async (task, context) => { if (task.skill === 'quick') await delay(60); else await handler(task, context) })
    const { task: quick } = await store.create('alice', { skill: 'quick', input: null })
    const { task: long } = await store.create('alice', { skill: 'long', input: null })
    await started
    await worker.stop({ drainMs: 150 })
    t.equal((await store.get('alice', quick.id))?.state, 'completed')
    t.match(await store.get('alice', long.id), { state: 'working', attempt: 0 })
    store.work(async (task, { attempt, emit }) => { await emit({ state: 'completed', artifact: { name: 'attempt', content: attempt } }) })
    const events = await collect(store.events('alice', long.id))
    t.strictSame(events.map(({ state, retry }) => retry ?? state), ['submitted', 'working', 1, 'completed'])
    t.match(await store.get('alice', long.id), { attempt: 1, artifacts: [{ content: 1 }] })
  })

  test('what an attempt keeps is there in the next attempt and in later turns, and has a bound', async t => {
    const store = await open(t, { leaseMs: 600_000 })
    const { handler, started } = waiting()
    const worker = store.work(async (task, context) => {
      await t.rejects(context.emit({ kept: 'x'.repeat(64 * 1024) }), { code: 'TASK_TOO_LARGE' })
      await context.emit({ kept: { at: 1 } })
      await context.emit({ kept: { at: 2 } })
      await handler(task, context)
    })
    const { task } = await store.create('alice', { ...ASK, metadata: { a: 1 } })
    await started
    await worker.stop()
    const found: unknown[] = []
    store.work(async ({ metadata }, { turn, emit }) => {
      found.push(metadata)
      await emit({ state: turn === 0 ? 'input-required' : 'completed' })
    })
    for await (const { state } of store.events('alice', task.id)) if (state === 'input-required') break
    await store.provideInput('alice', task.id, { parts: [] }, { b: 2 })
    const events = await collect(store.events('alice', task.id))
    t.strictSame(found, [{ a: 1, kept: { at: 2 } }, { a: 1, kept: { at: 2 }, b: 2 }])
    t.strictSame(await store.get('alice', task.id), foldTask(task, events))
  })

  test('close during work aborts it, may be called twice, and refuses later calls', async t => {
    const store = await open(t)
    const { handler, started, aborted } = waiting()
    store.work(handler)
    const { task } = await store.create('alice', ASK)
    await started
    await Promise.all([store.close(), store.close()])
    t.equal(((await aborted) as Error & { code: string }).code, 'TASK_WORKER_STOPPED')
    await t.rejects(store.create('alice', ASK), { code: 'TASK_STORE_CLOSED' })
    await t.rejects(store.get('alice', task.id), { code: 'TASK_STORE_CLOSED' })
    await t.rejects(collect(store.events('alice', task.id)), { code: 'TASK_STORE_CLOSED' })
    t.match(await store.health(), { ok: false })
  })

  test('health writes a probe and reports success', async t => {
    t.strictSame(await (await open(t)).health(), { ok: true })
  })

  test('push: every wanted event is delivered once and in order, and retried with the same id', async t => {
    const store = await open(t)
    const got: { id: string, seq: number, tries: number, secrets: unknown }[] = []
    let fails = 2
    store.work(async (task, { emit }) => {
      await emit({ step: { tool_call: 'not told' } })
      await emit([{ artifact: { name: 'a', content: 1 } }, { progress: 0.5 }, { artifact: { name: 'b', content: 2 } }])
    })
    const { task } = await store.create('alice', { ...ASK, push: { id: 'p', url: 'https://a.example', settings: { kind: 'x' }, secrets: { token: 'canary' } } })
    const done = new Promise<void>(resolve => {
      store.deliver(async ({ id, event, tries, secrets, config }) => {
        got.push({ id, seq: event.seq, tries, secrets })
        t.match(config, { id: 'p', url: 'https://a.example', settings: { kind: 'x' } })
        if (event.seq === 4 && fails-- > 0) return { retryAt: Date.now() + 30 }
        if (event.state === 'completed') setTimeout(resolve, 100)
        return 'delivered'
      })
    })
    await done
    t.strictSame(got.map(({ seq, tries }) => [seq, tries]), [[2, 0], [4, 0], [4, 1], [4, 2], [6, 0], [7, 0]])
    t.equal(new Set(got.filter(({ seq }) => seq === 4).map(({ id }) => id)).size, 1)
    t.equal(new Set(got.map(({ id }) => id)).size, 4)
    t.strictSame(got[0]?.secrets, { token: 'canary' })
    const listed = [await store.getPush('alice', task.id, 'p'), ...await store.listPush('alice', task.id)]
    t.match(listed, [{ id: 'p', taskId: task.id, cursor: 7, disabled: null }, { id: 'p' }])
    t.notMatch(JSON.stringify(listed), 'canary')
  })

  test('push: the events between those that are wanted are passed over in a large log, too', async t => {
    const store = await open(t)
    const got: number[] = []
    store.work(async (_task, { emit }) => {
      for (let i = 0; i < 40; i++) await emit({ delta: 'not told '.repeat(2_000) })
      await emit({ artifact: { name: 'a', content: 1 } })
      for (let i = 0; i < 10; i++) await emit({ delta: 'not told' })
    })
    store.deliver(async ({ event: { seq } }) => {
      got.push(seq)
      return 'delivered'
    })
    const { task: { id } } = await store.create('alice', { ...ASK, push: { id: 'p', url: 'https://a.example' } })
    await until(async () => (await store.getPush('alice', id, 'p'))?.cursor === 54, 'the last event is delivered')
    t.strictSame(got, [2, 43, 54])
  })

  test('push: a receiver that ends its config gets nothing more, one that fails for too long is disabled, and none delays another', async t => {
    const store = await open(t, { deadAfterMs: 300 })
    const deliveries: Record<string, number> = { gone: 0, dead: 0, throws: 0, fine: 0 }
    store.deliver(async ({ config }) => {
      deliveries[config.id] = (deliveries[config.id] ?? 0) + 1
      if (config.id === 'gone') return { disable: '410' }
      if (config.id === 'dead') return { retryAt: Date.now() + 20 }
      if (config.id === 'throws') throw new Error('no')
      return 'delivered'
    })
    const { task } = await store.create('alice', ASK)
    for (const id of Object.keys(deliveries)) await store.setPush('alice', task.id, { id, url: 'https://a.example', after: 0 })
    await store.cancel('alice', task.id)
    const isSettled = async (): Promise<boolean> => {
      const configs = await store.listPush('alice', task.id)
      return configs.filter(({ disabled }) => disabled !== null).length === 2 && configs.some(({ cursor }) => cursor === 2)
    }
    await until(isSettled, 'two configs are disabled and one has all events')
    const configs = Object.fromEntries((await store.listPush('alice', task.id)).map(({ id, disabled, cursor }) => [id, [disabled?.slice(0, 9), cursor]]))
    t.strictSame(configs, { gone: ['410', 0], dead: ['it failed', 0], throws: [undefined, 0], fine: [undefined, 2] })
    t.match(deliveries, { gone: 1, throws: 1, fine: 2 })
    t.ok((deliveries.dead ?? 0) > 2)
    t.equal(await store.deletePush('alice', task.id, 'fine'), true)
    t.equal(await store.deletePush('alice', task.id, 'fine'), false)
  })

  test('push: owners are served in turn, and one owner has a quarter of the deliveries at once', async t => {
    const store = await open(t)
    const configs = Array.from({ length: 300 }, (_, i) => ({ id: 'p', url: `https://receiver-${i}.example` }))
    for (const push of configs) await store.cancel('bob', (await store.create('bob', { ...ASK, push })).task.id)
    const begun: string[] = []
    const worker = store.deliver(async ({ owner }, signal) => {
      begun.push(owner)
      if (owner === 'bob') await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
      return 'delivered'
    }, { concurrency: 64 })
    await until(() => begun.length === 16, 'his share is used')
    await store.cancel('alice', (await store.create('alice', { ...ASK, push: { id: 'p', url: 'https://receiver-0.example' } })).task.id)
    await until(() => begun.includes('alice'), 'hers is delivered')
    t.equal(begun.filter(owner => owner === 'bob').length, 16)
    await worker.stop()
  })

  test('push: one place for all deliveries is given to owners in turn', async t => {
    const store = await open(t)
    for (const owner of [...Array.from({ length: 20 }, () => 'bob'), 'alice', 'carol']) {
      await store.cancel(owner, (await store.create(owner, { ...ASK, push: { url: `https://${owner}.example` } })).task.id)
    }
    const begun: string[] = []
    const worker = store.deliver(async ({ owner }) => {
      begun.push(owner)
      return 'delivered'
    }, { concurrency: 1 })
    await until(() => ['alice', 'carol'].every(owner => begun.includes(owner)), 'theirs are delivered')
    t.strictSame(begun.slice(0, 3).sort(), ['alice', 'bob', 'carol'])
    await worker.stop()
  })

  test('push: one host has a quarter of the deliveries at once', async t => {
    const store = await open(t)
    for (let i = 0; i < 60; i++) await store.cancel(ANYONE, (await store.create(ANYONE, { ...ASK, push: { url: 'https://hangs.example/a' } })).task.id)
    await store.cancel(ANYONE, (await store.create(ANYONE, { ...ASK, push: { url: 'https://answers.example' } })).task.id)
    const begun: string[] = []
    const worker = store.deliver(async ({ config: { url } }, signal) => {
      begun.push(url)
      if (url.includes('hangs')) await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
      return 'delivered'
    }, { concurrency: 16 })
    await until(() => begun.includes('https://answers.example'), 'the other host is served')
    await until(() => begun.length === 5, 'the share of the first is used')
    t.equal(begun.filter(url => url.includes('hangs')).length, 4)
    await worker.stop()
  })

  test('push: one owner has half of the deliveries to a host', async t => {
    const store = await open(t)
    const url = 'https://shared.example'
    for (let i = 0; i < 40; i++) await store.cancel('bob', (await store.create('bob', { ...ASK, push: { url } })).task.id)
    await store.cancel('bob', (await store.create('bob', { ...ASK, push: { url: 'https://other.example' } })).task.id)
    const begun: string[] = []
    const worker = store.deliver(async ({ owner, config }, signal) => {
      begun.push(`${owner} ${config.url}`)
      if (owner === 'bob' && config.url === url) await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
      return 'delivered'
    }, { concurrency: 32 })
    const hanging = (): number => begun.filter(one => one === `bob ${url}`).length
    await until(() => hanging() === 4, 'his half is used')
    await until(() => begun.includes('bob https://other.example'), 'his other receiver is served')
    await store.cancel('alice', (await store.create('alice', { ...ASK, push: { url } })).task.id)
    await until(() => begun.includes(`alice ${url}`), 'the same receiver is served for her')
    t.equal(hanging(), 4)
    await worker.stop()
  })

  test('push: a task has at most ten configs; a replaced one keeps its place', async t => {
    const store = await open(t)
    const { task } = await store.create('alice', ASK)
    for (let i = 0; i < 10; i++) await store.setPush('alice', task.id, { id: `p${i}`, url: 'https://a.example' })
    await t.rejects(store.setPush('alice', task.id, { url: 'https://a.example' }), { code: 'TASK_TOO_MANY_PUSH_CONFIGS', statusCode: 400 })
    await store.cancel('alice', task.id)
    t.match(await store.setPush('alice', task.id, { id: 'p3', url: 'https://b.example' }), { url: 'https://b.example', cursor: 1 })
    t.equal((await store.listPush('alice', task.id)).length, 10)
  })

  test('events appended in any grouping fold to the record', async t => {
    const { default: fc } = await import('fast-check')
    const store = await open(t)
    const text = fc.string({ unit: 'binary', maxLength: 8 })
    const update = fc.oneof(
      fc.record({ delta: text }), fc.record({ progress: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ message: fc.record({ role: fc.constantFrom('user', 'agent'), parts: fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 2 }) }) }),
      fc.record({ artifact: fc.record({ name: text, content: fc.jsonValue() }) }), fc.record({ delta: text, error: fc.record({ code: text, message: text }) }))
    const groups = fc.array(fc.array(update, { minLength: 1, maxLength: 5 }), { maxLength: 8 })
    const plans = new Map<string, TaskUpdate[][]>()
    store.work(async (task, { turn, emit }) => {
      for (const group of plans.get(task.id) ?? []) await emit(group)
      await emit({ state: turn === 0 ? 'input-required' : 'failed' })
    })
    await fc.assert(fc.asyncProperty(groups, async plan => {
      const id = crypto.randomUUID()
      plans.set(id, plan as TaskUpdate[][])
      const { task } = await store.create('alice', { ...ASK, id })
      const seen: TaskEvent[] = []
      for await (const event of store.events('alice', id)) {
        seen.push(event)
        if (event.state === 'input-required') await store.provideInput('alice', id, { parts: [] })
      }
      // what JSON keeps: -0 is 0
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
      t.strictSame(plain(await store.get('alice', id)), plain(foldTask(task, seen)))
      t.strictSame(plain(await collect(store.events('alice', id))), plain(seen))
    }), { numRuns: 40 })
  })

  test('errors of the store are distinguished by their codes', async t => {
    const store = await open(t)
    const error: unknown = await collect(store.events('alice', 'none')).catch((error: unknown) => error)
    t.ok(isTaskError(error) && isTaskError(error, 'TASK_NOT_FOUND') && !isTaskError(error, 'TASK_FENCED'))
  })
}
