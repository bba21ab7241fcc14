import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { Memory } from '@polyvac/core'
import { until } from '../../../test/fixtures/until.js'
import type { Task } from '../src/index.js'
import { ENDED, follow, gate, serve } from './fixtures/app.js'
import { ISO, isTask } from './fixtures/description.js'

test('a waiting task can be canceled', async t => {
  const served = await serve(t, () => ({ input_required: 'Sure?' }))
  const { taskId, state } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'go' } })
  t.equal(state, 'input-required')
  t.match(await served.task('tasks/cancel', { taskId }), { state: 'canceled', completedAt: ISO })
  t.match((await served.rpc('tasks/send', { taskId, input: { query: 'yes' } })).body.error, { code: -32602, message: /canceled/ })
})

test('a cancel is final: the signal of the interpreter aborts, and nothing that it does later counts', async t => {
  const { opened, open } = gate()
  const [aborted, ended] = [gate(), gate()]
  const served = await serve(t, async function * (_question, _vac, _history, { signal }) {
    signal.addEventListener('abort', () => { aborted.open() })
    try {
      yield 'before'
      await opened
      yield 'after'
      return { answer: 'after all' }
    } finally {
      ended.open()
    }
  })
  const stream = await follow(served, 'tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  const { taskId } = await stream.first(({ data }) => data.delta === 'before')
  const canceled = await served.task('tasks/cancel', { taskId })
  t.match(canceled, { taskId, state: 'canceled', completedAt: ISO, artifacts: [], error: null })
  t.ok(isTask.Check(canceled))
  await aborted.opened
  open()
  await stream.ended
  t.match(stream.frames.at(-1)?.data, { state: 'canceled' }, 'followers see it, and their streams end')
  await ended.opened
  t.strictSame(await served.task('tasks/get', { taskId }), canceled)
  for (let again = 0; again < 2; again++) {
    t.match((await served.rpc('tasks/cancel', { taskId })).body.error, { code: -32002, message: /canceled/, data: { code: 'A2A_TASK_NOT_CANCELABLE' } })
  }
  const { taskId: done } = await served.task('tasks/send', { skillName: 'vac_query_nope', input: {} })
  t.match((await served.rpc('tasks/cancel', { taskId: done })).body.error, { code: -32002, message: /failed/ })
  t.equal(served.vacs.running, 0)
})

test('a cancel answers who waits for the task, and stops a search of the memory, too', async t => {
  const told: string[] = []
  const memory: Memory = { search: async ({ signal }) => { signal?.addEventListener('abort', () => { told.push('search') }); return await new Promise(() => {}) } }
  const served = await serve(t, async (_question, _vac, _history, { signal }) => { signal.addEventListener('abort', () => { told.push('query') }); return await new Promise(() => {}) }, { vacs: { parts: { docs: { memory } } } })
  for (const [skillName, input] of [['vac_query_docs', { query: 'x' }], ['vac_memory_search_docs', { search_query: 'x' }]] as const) {
    const sent = served.task('tasks/send', { skillName, input })
    const { taskId } = await until(async () => ((await served.rpc('tasks/list', { state: 'working' })).body.result as { tasks: Task[] }).tasks[0], 'a task is working')
    const canceled = await served.task('tasks/cancel', { taskId })
    t.strictSame(await sent, canceled, skillName)
  }
  t.strictSame(told, ['query', 'search'])
})

test('an interpreter that ignores its cancel or its time limit holds no place of others', async t => {
  const served = await serve(t, async function * (question) { if (question !== 'last') await new Promise(() => {}); yield question }, { plugin: { concurrency: 1 } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'stuck' } })
  const late = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'late', stream_settings: { timeout: 1 } } })
  await served.task('tasks/cancel', { taskId })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'last' } }), { state: 'completed' })
  t.match(await served.task('tasks/get', { taskId: late.taskId }), { state: 'failed', error: { code: 'VAC_TIMEOUT' } })
})

test('a task that waits for its turn is canceled without being run', async t => {
  const { opened, open } = gate()
  const asked: string[] = []
  const served = await serve(t, async question => { asked.push(question); await opened; return 'x' }, { plugin: { concurrency: 1 } })
  const first = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'first' } })
  const second = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'second' } })
  t.match(second, { state: 'submitted', progress: 0 })
  t.match(await served.task('tasks/cancel', { taskId: second.taskId }), { state: 'canceled' })
  open()
  await served.reached(first.taskId, ['completed'])
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'third' } }), { state: 'completed' })
  t.strictSame(asked, ['first', 'third'])
})

test('a cancel that races the end leaves one end, and every answer agrees with it', async t => {
  const served = await serve(t, async () => { await delay(Math.random() * 3); return 'x' })
  const ends = new Set<string>()
  await Promise.all(Array.from({ length: 200 }, async () => {
    const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'x' } })
    await delay(Math.random() * 6)
    const { body } = await served.rpc('tasks/cancel', { taskId })
    const { state } = await served.task('tasks/get', { taskId })
    ends.add(state)
    const agrees = body.error === undefined ? state === 'canceled' : body.error.code === -32002 && state === 'completed'
    if (!agrees) t.fail(`${state}: ${JSON.stringify(body)}`)
    const frames = await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': '0' } })
    if (frames.filter(({ data }) => (ENDED as readonly string[]).includes(data.state)).length !== 1 || frames.at(-1)?.data.state !== state) t.fail('more than one end')
  }))
  t.ok(ends.size >= 1, [...ends].join(', '))
})
