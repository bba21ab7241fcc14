import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { MAX_PROGRESS_CHARS } from '../../runs/src/execute/stream-answer.js'
import { follow, gate, serve, type Served } from './fixtures/app.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

const reports: Interpreter = async function * () {
  yield { progress: 0.2, message: 'Reading 3 pages' }
  yield { progress: 0.2, message: 'Comparing' }
  yield 'text '
  yield { progress: 0.6 }
  yield { progress: 0.1, message: 'x'.repeat(MAX_PROGRESS_CHARS + 1) }
  yield 'and more'
}

test('the progress and its message reach the caller of A2A as status updates', async t => {
  const served = await serve(t, reports)
  const statuses = async (method: string, params: Json, version: string): Promise<Json[]> =>
    events((await rpc(served, method, params, { version })).payload).map(({ data: { result } }) => result.statusUpdate ?? result)
      .filter(({ metadata, status }) => status !== undefined && metadata?.progress !== undefined && metadata.skillName === undefined)
  for (const [found, part] of [
    [await statuses('SendStreamingMessage', { message: message('x') }, '1.0'), {}],
    [await statuses('message/stream', { message: message03('x') }, ''), { kind: 'text' }]
  ] as const) {
    t.match(found.map(({ metadata, status }) => [metadata.progress, status.message?.parts]), [
      [0.2, [{ ...part, text: 'Reading 3 pages' }]], [0.2, [{ ...part, text: 'Comparing' }]], [0.6, undefined], [0.6, [{ ...part, text: 'x'.repeat(MAX_PROGRESS_CHARS) }]]
    ])
    const messages = found.flatMap(({ status }) => status.message ?? [])
    t.equal(new Set(messages.map(({ messageId }) => messageId)).size, 3, 'each message has its own id')
    t.match(messages[0].role, /agent$/i)
  }
  const frames = await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  t.strictSame(frames.flatMap(({ data }) => (data as Json).progressMessage ?? []).slice(0, 2), ['Reading 3 pages', 'Comparing'])
})

test('a task shows its progress message until its state changes, and keeps it out of the history', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * () { yield { progress: 0.5, message: 'Half done' }; yield 'text'; await opened })
  const stream = await follow(served, 'tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  const { taskId: id } = await stream.first(({ data }) => data.delta === 'text')
  t.match(await result(served, 'GetTask', { id }), { status: { state: 'TASK_STATE_WORKING', message: { parts: [{ text: 'Half done' }] } } })
  open()
  await stream.ended
  const task = await result(served, 'GetTask', { id })
  t.match(task, { status: { state: 'TASK_STATE_COMPLETED', message: undefined }, artifacts: [{ parts: [{ text: 'text' }] }] })
  t.notMatch(JSON.stringify(task), /Half done/)
})

test('the log of an interpreter has the ids of the task and of the request, and so has the line of its run', async t => {
  const logs: Interpreter = (_question, _vac, _history, { log }) => {
    log.info({ from: 'interpreter' }, 'a line')
    log.child({ step: 1 }).info('step %s', 'one')
    return 'x'
  }
  const server = { genReqId: ({ headers }: { headers: Json }) => String(headers['x-id'] ?? 'none') }
  const linesOf = (served: Served, message: string): Json[] =>
    served.logged().split('\n').filter(line => line.includes(`"msg":"${message}"`)).map(line => JSON.parse(line) as Json)
  for (const [label, options] of [['reqId', server], ['requestId', { ...server, requestIdLogLabel: 'requestId' }]] as const) {
    const served = await serve(t, logs, { server: options as never })
    const headers = { 'x-id': 'request 1' }
    const { task } = await result(served, 'SendMessage', { message: message('x') }, { headers })
    const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }, { headers: { 'x-id': 'request 2' } })
    for (const line of ['a line', 'step one', 'task run']) {
      t.match(linesOf(served, line), [{ taskId: task.id, [label]: 'request 1' }, { taskId, [label]: 'request 2' }], line)
    }
    t.notMatch(JSON.stringify(await served.task('tasks/get', { taskId })), /request 2/, 'callers do not get the id')
    t.notMatch(JSON.stringify(await result(served, 'GetTask', { id: task.id })), /request 1/)
  }
})
