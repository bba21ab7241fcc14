import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { Task } from '../src/index.js'
import { ENDED, gate, serve } from './fixtures/app.js'
import { isTask } from './fixtures/description.js'

test('tasks/list: newest status first, by state, in pages that together are all', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * (question) { if (question === 'wait') await opened; if (question === 'throw') throw new Error('x'); yield question })
  const ids: string[] = []
  for (const query of ['1', '2', 'throw', '3']) ids.push((await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query } })).taskId)
  ids.push((await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'wait' } })).taskId)
  interface Page { tasks: Task[], nextCursor?: string }
  const list = async (params: unknown): Promise<Page> => (await served.rpc('tasks/list', params)).body.result as Page
  t.strictSame((await list({})).tasks.map(({ taskId }) => taskId), ids.toReversed())
  t.strictSame((await list(undefined)).tasks.length, 5, 'params may be left out')
  t.ok((await list({})).tasks.every(task => isTask.Check(task)))
  t.strictSame((await list({ state: 'failed' })).tasks.map(({ taskId }) => taskId), [ids[2]])
  t.strictSame((await list({ state: 'working' })).tasks.map(({ taskId }) => taskId), [ids[4]])
  t.strictSame((await list({ state: 'canceled' })).tasks, [])
  const pages: string[] = []
  for (let cursor: string | undefined, n = 0; n < 9; n++) {
    const page = await list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(...page.tasks.map(({ taskId }) => taskId))
    cursor = page.nextCursor
    if (cursor === undefined) break
  }
  t.strictSame(pages, ids.toReversed())
  open()
})

test('tasks/send waits no longer than it may, and the task goes on', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async () => { await opened; return 'late' }, { plugin: { sendTimeoutMs: 50 } })
  const { state, taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.equal(state, 'working')
  open()
  t.match(await served.reached(taskId, ENDED), { state: 'completed', artifacts: [{ content: { answer: 'late' } }] })
})

test('a request with an idempotency key is one task, however often and however it is sent', async t => {
  let runs = 0
  const served = await serve(t, async question => { runs++; await delay(20); return question }, { plugin: { authenticate: request => ({ owner: String(request.headers.who ?? 'alice') }) } })
  const params = { skillName: 'vac_query_docs', input: { query: 'x', context: { a: 1, b: 2 } } }
  const headers = { 'idempotency-key': 'k1' }
  const all = await Promise.all(Array.from({ length: 20 }, async () => await served.task('tasks/send', params, { headers })))
  t.equal(new Set(all.map(({ taskId }) => taskId)).size, 1)
  t.ok(all.every(({ state }) => state === 'completed'), 'each waits for the end')
  t.equal(runs, 1)
  const [{ taskId }] = all as [Task]
  t.equal((await served.task('tasks/send', { input: { context: { b: 2, a: 1 }, query: 'x' }, skillName: 'vac_query_docs' }, { headers })).taskId, taskId, 'whatever the order of its keys')
  t.match(await served.frames('tasks/sendSubscribe', params, { headers }), [{ taskId, data: { state: 'completed' } }], 'also as a stream')
  for (const other of [{ ...params, input: { query: 'y' } }, { ...params, skillName: 'vac_stream_docs' }]) {
    for (const method of ['tasks/send', 'tasks/sendSubscribe'] as const) {
      t.match((await served.rpc(method, other, { headers })).body, { error: { code: -32602, data: { code: 'TASK_CONFLICT' } } }, 'another request is not mistaken for it')
    }
  }
  t.not((await served.task('tasks/send', params, { headers: { ...headers, who: 'bob' } })).taskId, taskId, 'another owner has keys of his own')
  for (const key of ['', 'x'.repeat(257)]) t.match((await served.rpc('tasks/send', params, { headers: { 'idempotency-key': key } })).body.error, { code: -32602, message: /Idempotency-Key/ })
  t.equal((await served.rpc('tasks/list', {})).text.match(/"taskId"/g)?.length, 1)
  t.equal(runs, 2)
})
