import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { foldTask, type TaskStore } from '../src/index.js'
import { collect } from './conformance.js'
import { start } from './fixtures/processes.js'

export interface ProcessSettings {
  /** Creates a place for a store: the path of a file, or the address of a database. */
  readonly newPlace: (t: Test) => Promise<string>
  readonly open: (t: Test, place: string, options?: { retries?: number }) => Promise<TaskStore>
}

/** What several processes that share a store must do when one of them is killed, frozen or ended. */
export function processCases (t: Test, kind: string, { newPlace, open }: ProcessSettings): void {
  const test = (sentence: string, body: (t: Test) => Promise<void>): void => { t.test(`${kind}: ${sentence}`, body).catch(() => {}) }

  test('a killed executor is replaced: the next attempt starts from the beginning, and readers see no gap', async t => {
    const place = await newPlace(t)
    const store = await open(t, place)
    const executor = start(t, place, 'work')
    const { task } = await store.create('alice', { skill: 'talk', input: 1 })
    const events = collect(store.events('alice', task.id))
    await until(async () => ((await store.get('alice', task.id))?.seq ?? 0) >= 10, 'the executor has written')
    await executor.kill('SIGKILL')
    const killed = performance.now()
    store.work(async (task, { attempt, emit }) => { await emit([{ delta: `attempt ${attempt}` }]) })
    const seen = await events
    t.comment(`the next attempt has ended ${Math.round(performance.now() - killed)} ms after the end of the executor`)
    t.strictSame(seen.map(({ seq }) => seq), seen.map((_, i) => i + 1))
    t.ok(seen.filter(({ delta }) => delta?.startsWith('0:')).length > 3)
    const ended = await store.get('alice', task.id)
    t.match(ended, { state: 'completed', attempt: 1 })
    t.strictSame(ended?.messages.map(({ parts }) => parts[0]?.text), ['attempt 1'])
    t.strictSame(ended, foldTask(task, seen))
  })

  test('a task that kills every executor fails after its attempts', async t => {
    const place = await newPlace(t)
    const store = await open(t, place, { retries: 2 })
    const { task } = await store.create('alice', { skill: 'poison', input: 1 })
    const attempts: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const executor = start(t, place, 'work')
      attempts.push((await executor.saw('started')).attempt)
      await executor.exited
    }
    t.strictSame(attempts, [0, 1, 2])
    let runs = 0
    store.work(() => { runs++ })
    await collect(store.events('alice', task.id))
    t.match(await store.get('alice', task.id), { state: 'failed', error: { code: 'TASK_EXECUTOR_LOST' } })
    t.equal(runs, 0)
  })

  test('a frozen executor that wakes after it was replaced cannot write, and its signal aborts', async t => {
    const place = await newPlace(t)
    const store = await open(t, place)
    const frozen = start(t, place, 'work')
    const { task } = await store.create('alice', { skill: 'talk', input: 'freeze' })
    await frozen.saw('started')
    let ended = false
    const worker = store.work(async (task, { emit }) => {
      await emit({ delta: 'mine' })
      await frozen.kill('SIGCONT')
      await frozen.saw('refused')
      await emit({ delta: ' alone' })
      ended = true
    })
    const events = await collect(store.events('alice', task.id))
    t.ok(ended)
    const taken = events.findIndex(({ retry }) => retry === 1)
    t.strictSame(events.slice(taken + 1).map(({ delta, state }) => delta ?? state), ['mine', ' alone', 'completed'])
    t.match(await frozen.saw('refused'), { refused: 'TASK_FENCED', aborted: true })
    await worker.stop()
  })

  test('a cancel reaches the executor in another process', async t => {
    const place = await newPlace(t)
    const store = await open(t, place)
    const executor = start(t, place, 'work')
    const { task } = await store.create('alice', { skill: 'silent', input: 1 })
    await executor.saw('started')
    const before = performance.now()
    t.match(await store.cancel('alice', task.id), { outcome: 'canceled' })
    t.match(await executor.saw('aborted'), { aborted: 'TASK_CANCELED' })
    t.comment(`the executor in another process stopped ${Math.round(performance.now() - before)} ms after the cancel`)
    await delay(200)
    t.match(await store.get('alice', task.id), { state: 'canceled', seq: 3 })
  })

  test('processes that open, create and execute in one new place at once do not fail on locks, and share keys and tasks', async t => {
    const place = await newPlace(t)
    const all = Array.from({ length: 3 }, () => start(t, place, 'create 500'))
    for (const one of all) t.strictSame((await one.saw('errors')).errors, [])
    const store = await open(t, place)
    // a page is by the time of the last status, so what is still executed would move between pages
    const isDone = async (): Promise<boolean> =>
      (await store.list('alice', { states: ['submitted', 'working'], limit: 1 })).tasks.length === 0
    await until(isDone, 'all tasks are executed')
    const tasks = new Map<string, string>()
    for (let cursor: string | undefined, more = true; more;) {
      const page = await store.list('alice', { limit: 100, cursor })
      for (const { id, input } of page.tasks) tasks.set(id, String(input))
      cursor = page.nextCursor
      more = cursor !== undefined
    }
    t.equal(new Set(tasks.values()).size, 500)
    t.equal(tasks.size, 500)
    const executions = all.flatMap(({ messages }) => messages.flatMap(({ started, attempt }) => started === undefined ? [] : [`${String(started)} ${String(attempt)}`]))
    // on a machine so busy that a lease runs out there is a second attempt, but never the same one twice
    t.equal(new Set(executions).size, executions.length, 'no attempt twice')
  })

  test('an executor that gets SIGTERM releases its task at once', async t => {
    const place = await newPlace(t)
    const store = await open(t, place)
    const executor = start(t, place, 'work with a long lease')
    const { task } = await store.create('alice', { skill: 'talk', input: 1 })
    await executor.saw('started')
    await executor.kill('SIGTERM')
    t.equal(executor.child.exitCode, 0)
    store.work(() => {})
    await collect(store.events('alice', task.id))
    t.match(await store.get('alice', task.id), { state: 'completed', attempt: 1 })
  })

  test('a delivery whose process dies before its outcome is written is repeated with the same id', async t => {
    const place = await newPlace(t)
    const store = await open(t, place)
    await store.create('alice', { skill: 'x', input: 1, push: { id: 'p', url: 'https://a.example', after: 0 } })
    const first = start(t, place, 'deliver')
    const { delivery } = await first.saw('delivery')
    await first.exited
    const again = new Promise(resolve => {
      store.deliver(async ({ id }) => {
        resolve(id)
        return 'delivered'
      })
    })
    t.equal(await again, delivery)
  })
}
