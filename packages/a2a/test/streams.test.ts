import { deepEqual, equal, ok } from 'node:assert'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import fc from 'fast-check'
import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { a2aPlugin, type Task } from '../src/index.js'
import { deltas, ENDED, follow, gate, open, readFrames, serve, type Frame, type Served } from './fixtures/app.js'

const ask = { skillName: 'vac_stream_docs', input: { query: 'x' } }
const from = (id: number): Record<string, string> => ({ 'last-event-id': String(id) })
const agentText = ({ messages }: Task): string => messages.filter(({ role }) => role === 'agent').map(({ parts }) => parts.map(({ text }) => text).join('')).join('')

async function hasNoConnection ({ app: { server } }: Served): Promise<void> {
  const isIdle = (): Promise<boolean> => new Promise(resolve => { server.getConnections((_err, count) => { resolve(count === 0) }) })
  await until(isIdle, 'no connection is open')
}

/** Words, one by one, at a pace that leaves time to read some before the last is made. */
const words = Array.from({ length: 120 }, (_, i) => `word ${i} `)
const slowly: Interpreter = async function * () { for (const word of words) { yield word; await delay(4) } }

test('a client that leaves does not stop its task, be it followed or waited for', async t => {
  const { opened, open: release } = gate()
  const seen = { aborted: 0, started: 0 }
  const served = await serve(t, async function * (_question, _vac, _history, { signal }) {
    seen.started++
    signal.addEventListener('abort', () => { seen.aborted++ })
    yield 'begun'
    await opened
    return { answer: 'done' }
  })
  const stream = await follow(served, 'tasks/sendSubscribe', ask)
  const { taskId } = await stream.first(({ data }) => data.delta === 'begun')
  stream.request.destroy()
  const sent = await open(served, 'tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  await until(() => seen.started === 2, 'both interpreters have started')
  sent.request.destroy()
  await Promise.all([stream.ended, t.rejects(sent.response)])
  await hasNoConnection(served)
  release()
  t.match(await served.reached(taskId, ENDED), { state: 'completed', artifacts: [{ content: { final_answer: 'done' } }] })
  const { tasks } = (await served.rpc('tasks/list', {})).body.result as { tasks: Task[] }
  const other = tasks.find(task => task.taskId !== taskId)
  t.match(await served.reached(other?.taskId ?? '', ENDED), { state: 'completed', artifacts: [{ content: { answer: 'done' } }] })
  t.equal(seen.aborted, 0)
})

test('a stream that is cut again and again goes on where it was, and lacks and doubles nothing', async t => {
  const served = await serve(t, slowly)
  for (const again of ['tasks/resubscribe', 'tasks/sendSubscribe'] as const) {
    const frames: Frame[] = []
    const headers = { 'idempotency-key': again }
    let stream = await follow(served, 'tasks/sendSubscribe', ask, headers)
    const { taskId } = await stream.first(() => true)
    for (let cut = 1; cut <= 5; cut++) {
      // some of it, never the end
      await stream.first(({ id }) => id > (frames.at(-1)?.id ?? 0) + 1)
      frames.push(...stream.frames.slice(0, 3))
      stream.request.destroy()
      await stream.ended
      stream = await follow(served, again, again === 'tasks/resubscribe' ? { taskId } : ask, { ...headers, ...from(frames.at(-1)?.id ?? 0) })
    }
    await stream.ended
    frames.push(...stream.frames)
    t.strictSame(frames.map(({ id }) => id), frames.map((_, i) => i + 1), `${again}: ids without a gap`)
    t.ok(frames.every(frame => frame.taskId === taskId))
    t.equal(deltas(frames), words.join(''))
    t.match(frames.at(-1)?.data, { state: 'completed', artifacts: [{ content: { final_answer: words.join('') } }] })
  }
})

test('twenty subscribers, whenever they come, see the same', async t => {
  let made = 0
  const served = await serve(t, async function * () {
    for (const word of words) {
      yield word
      made++
      await delay(4)
    }
  })
  const { taskId } = await served.task('tasks/send', ask)
  const streams = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    await until(() => made >= i * 5, `${i * 5} words are made`)
    return await follow(served, 'tasks/resubscribe', { taskId }, from(0))
  }))
  const late = await follow(served, 'tasks/resubscribe', { taskId })
  await Promise.all([...streams, late].map(async ({ ended }) => { await ended }))
  const [first, ...others] = streams.map(({ frames }) => frames)
  t.equal(deltas(first ?? []), words.join(''))
  for (const frames of others) t.strictSame(frames, first)
  t.strictSame(late.frames.slice(1), first?.slice(-late.frames.length + 1 || first.length), 'who came without a number, too, from then on')
  t.equal(late.frames[0]?.data.delta, undefined, 'and its first frame is the task as it stood')
})

test('a reader without Last-Event-ID gets the present task, and then what is new', async t => {
  const { opened, open: release } = gate()
  const served = await serve(t, async function * () { yield 'before '; await opened; yield 'after' })
  const { taskId } = await served.task('tasks/send', ask)
  const first = await follow(served, 'tasks/resubscribe', { taskId }, from(0))
  const { id } = await first.first(({ data }) => data.delta === 'before ')
  const late = await follow(served, 'tasks/resubscribe', { taskId })
  const { id: lateId, data } = await late.first(() => true)
  t.equal(lateId, id)
  t.equal(data.delta, undefined, 'text that is in the record already is not told as new')
  t.equal(agentText(data), 'before ')
  release()
  await late.ended
  t.equal(agentText(data) + deltas(late.frames), 'before after')
})

test('text of any shape is framed so that readers get it whole', async t => {
  const served = await serve(t, async function * (_question, _vac, _history, { chunks }) { for (const chunk of chunks as string[]) { yield chunk; if (chunk.length % 3 === 0) await delay(5) } })
  const odd = ['\n', '\r', '\r\n\r\n', '\u2028\u2029', 'data: {"x":1}\n\n', 'id: 7\n', ': comment\n', 'event: done\n\n', '\0', '\ufeff', '😀', '\ud83d', '\ude00', '[DONE]', '"}', '\\u0000', '\u0085', '[[HEARTBEAT]]', '</script>', '__proto__']
  const check = async (chunks: readonly string[]): Promise<void> => {
    const { text } = await served.rpc('tasks/sendSubscribe', { ...ask, input: { query: 'x', chunks } })
    ok(text.split('\n').every(line => /^(retry: \d+|id: \d+|data: \{[^\r\0]*\}|)$/.test(line)))
    const frames = readFrames(text)
    const whole = chunks.join('').toWellFormed()
    deepEqual([deltas(frames), agentText(frames.at(-1)?.data as Task), (frames.at(-1)?.data.artifacts[0]?.content as { final_answer?: string } | undefined)?.final_answer], [whole, whole, whole])
  }
  await check(odd)
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(fc.constantFrom(...odd), fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 6 }).filter(chunks => chunks.join('') !== ''), check), { numRuns: 40 })
  t.pass()
})

test('keep-alive comments come by wait_time, and none where it is 0', async t => {
  const { opened, open: release } = gate()
  const served = await serve(t, async function * () { await opened; yield 'x' })
  const [often, never, byDefault] = await Promise.all([{ wait_time: 0.1 }, { wait_time: 0 }, undefined].map(async stream_settings =>
    await follow(served, 'tasks/sendSubscribe', { ...ask, input: { query: 'x', ...(stream_settings === undefined ? {} : { stream_settings }) } })))
  await until(() => (often?.comments.length ?? 0) >= 3, 'three comments have come')
  t.strictSame(never?.comments, [])
  t.strictSame(byDefault?.comments, [])
  release()
  for (const stream of [often, never, byDefault]) {
    await stream?.ended
    t.match(stream?.frames.at(-1)?.data, { state: 'completed' })
  }
})

test('the headers of a stream keep it out of caches', async t => {
  const served = await serve(t, () => 'x')
  const { response, ended } = await follow(served, 'tasks/sendSubscribe', ask)
  await ended
  t.match(response.headers, { 'content-type': /^text\/event-stream/, 'cache-control': /no-cache/ })
  t.equal(response.headers['content-length'], undefined)
  for (const accept of ['text/event-stream', 'application/json', '*/*', 'application/json, text/event-stream', 'text/html;q=0.1']) {
    t.match((await served.rpc('tasks/sendSubscribe', ask, { headers: { accept } })).headers['content-type'], /^text\/event-stream/, `whatever is accepted: ${accept}`)
  }
})

test('ten thousand tiny chunks make few events, and progress only rises', async t => {
  const served = await serve(t, function * () {
    for (let i = 0; i < 10_000; i++) yield String(i % 10)
    for (const progress of [0.3, 0.6, 0.1, 7, -1, 0.2]) yield { progress }
  })
  const frames = await served.frames('tasks/sendSubscribe', ask)
  t.ok(frames.length < 1_000, `${frames.length} events, less than a tenth`)
  t.equal(deltas(frames), '0123456789'.repeat(1_000))
  for (const [i, { data: { progress } }] of frames.entries()) t.ok(progress >= (frames[i - 1]?.data.progress ?? 0) && progress <= 1)
  t.equal(frames.at(-1)?.data.progress, 1)
})

test('a text longer than a record shows is streamed whole, and the record is marked as truncated', async t => {
  const piece = 'x'.repeat(9_999) + '😀'
  const served = await serve(t, async function * () { for (let i = 0; i < 40; i++) yield piece })
  const frames = await served.frames('tasks/sendSubscribe', ask)
  t.equal(deltas(frames), piece.repeat(40))
  const { messages, artifacts } = frames.at(-1)?.data as Task
  t.ok(piece.repeat(40).startsWith(agentText({ messages } as Task)) && agentText({ messages } as Task).length > 200_000)
  t.match(artifacts, [{ content: { metadata: { truncated: true } } }])
})

test('a chunk larger than an event becomes several; an answer larger than one fails its task by a name, and the next task is served', async t => {
  const served = await serve(t, async function * (question) { yield 'begun'; await delay(30); yield question === 'large' ? 'x'.repeat(9 * 2 ** 20) : 'small' })
  const frames = await served.frames('tasks/sendSubscribe', { ...ask, input: { query: 'large' } })
  t.match(frames.at(-1)?.data, { state: 'completed', artifacts: [{ content: { metadata: { truncated: true } } }] })
  t.ok(deltas(frames) === 'begun' + 'x'.repeat(9 * 2 ** 20))
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'large' } }), { state: 'failed', error: { code: 'TASK_TOO_LARGE' } })
  t.equal(deltas(await served.frames('tasks/sendSubscribe', { ...ask, input: { query: 'x' } })), 'begunsmall')
  t.equal(served.vacs.running, 0)
})

test('a reader that takes nothing for too long is disconnected; its task goes on, and it may resume', async t => {
  const piece = 'x'.repeat(30_000)
  const served = await serve(t, async function * () { for (let i = 0; i < 100; i++) { yield piece; await delay(1) } return { answer: 'done' } }, { plugin: { stallMs: 150 } })
  const stream = await follow(served, 'tasks/sendSubscribe', ask)
  const { taskId } = await stream.first(() => true)
  stream.response.pause()
  const { socket } = stream.response
  await hasNoConnection(served)
  t.match(await served.reached(taskId, ENDED), { state: 'completed' })
  stream.response.resume()
  await stream.ended
  t.not(stream.frames.at(-1)?.data.state, 'completed', 'it had not all')
  const frames = [...stream.frames]
  // on a busy machine it may be too slow again
  while (frames.at(-1)?.data.state !== 'completed') {
    const rest = await follow(served, 'tasks/resubscribe', { taskId }, from(frames.at(-1)?.id ?? 0))
    await rest.ended
    frames.push(...rest.frames)
  }
  t.strictSame(frames.map(({ id }) => id), frames.map((_, i) => i + 1))
  t.equal(deltas(frames).length, 100 * piece.length)
  socket.destroy()
})

test('an interpreter that reports its progress 100,000 times writes a bounded number of events, and the last report', async t => {
  const served = await serve(t, async function * () {
    for (let i = 1; i <= 100_000; i++) yield { progress: i / 100_001, message: `step ${i}` }
    yield 'done'
  })
  const frames = await served.frames('tasks/sendSubscribe', ask)
  const steps = frames.filter(({ data }) => data.progress > 0 && data.state === 'working')
  t.ok(frames.length < 1_000, `${frames.length} events`)
  t.equal(steps.at(-1)?.data.progress, 100_000 / 100_001)
  t.equal(frames.at(-1)?.data.state, 'completed')
})

test('closing the application ends streams and waiting sends in time, and leaves their tasks to others', async t => {
  const { opened, open: release } = gate()
  const attempts: unknown[] = []
  const served = await serve(t, async function * (_question, _vac, _history, { attempt }) {
    attempts.push(attempt)
    yield `attempt ${String(attempt)}`
    await opened
  })
  const params = { skillName: 'vac_query_docs', input: { query: 'x' } }
  const stream = await follow(served, 'tasks/sendSubscribe', ask)
  const { taskId } = await stream.first(({ data }) => data.delta !== undefined)
  const sends = await Promise.all(Array.from({ length: 5 }, async () => await open(served, 'tasks/send', params)))
  await until(() => attempts.length === 6, 'six interpreters have started')
  await served.app.close()
  await stream.ended
  t.match(stream.frames.at(-1)?.data, { state: 'working' }, 'no end is made up')
  t.match(stream.comments.at(-1), /the task goes on; subscribe to it again/)
  t.match(stream.text, /^retry: 1000\n(id: \d+\n)?data: /, 'a field of an event with data')
  t.match(stream.text, /\n\n: the service closes[^\n]*\n$/, 'a comment ends no event')
  for (const { response } of sends) {
    const answer = await response
    const [body] = await once(answer.setEncoding('utf8'), 'data') as [string]
    t.equal(answer.statusCode, 200)
    t.match(JSON.parse(body), { result: { state: /working|submitted/ } }, 'the task as it stands')
  }
  const next = Fastify()
  await next.register(a2aPlugin, { vacs: served.vacs, tasks: served.tasks })
  t.teardown(() => next.close())
  release()
  await next.ready()
  const frames = await follow({ app: next }, 'tasks/resubscribe', { taskId }, from(stream.frames.at(-1)?.id ?? 0))
  await frames.ended
  t.equal(frames.frames[0]?.id, (stream.frames.at(-1)?.id ?? 0) + 1)
  t.match(frames.frames.at(-1)?.data, { state: 'completed', artifacts: [{ content: { final_answer: 'attempt 1' } }] }, 'the next one takes over')
  t.equal(attempts.filter(attempt => attempt === 1).length, attempts.length - 6)
  t.equal((await next.inject({ method: 'POST', url: '/a2a/tasks/get', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } } })).json().result.state, 'completed')
})

test('a new attempt makes void what the one before had said', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-a2a-'))
  t.teardown(async () => { await rm(folder, { recursive: true, force: true }) })
  const path = join(folder, 'tasks.db')
  // an executor of another process, which writes two events and stalls
  const lost = sqliteTaskStore({ path })
  await lost.open()
  t.teardown(() => lost.close())
  const said = gate()
  lost.work(async (_task, { emit }) => {
    await emit({ delta: 'old ', progress: 0.4 })
    await emit({ message: { role: 'agent', parts: [{ type: 'text', text: 'older' }] } })
    said.open()
    await new Promise(() => {})
  })
  const { task: { id: taskId } } = await lost.create('anyone', { skill: 'vac_stream_docs', input: { query: 'x' }, message: { parts: [{ type: 'text', text: 'x' }] } })
  await said.opened
  const { opened, open: release } = gate()
  const served = await serve(t, async function * () { await opened; yield 'new '; yield { progress: 0.1 }; yield 'text' }, { store: { path } })
  const stream = await follow(served, 'tasks/resubscribe', { taskId }, from(0))
  await stream.first(({ data }) => agentText(data) === 'old older')
  await lost.close()
  release()
  await stream.ended
  t.strictSame(stream.frames.map(({ id }) => id), stream.frames.map((_, i) => i + 1))
  const old = stream.frames.findLastIndex(({ data }) => agentText(data).includes('old'))
  const after = stream.frames.slice(old + 1)
  t.match(after[0]?.data, { state: 'working', messages: [{ role: 'user' }], artifacts: [] }, 'the record begins anew')
  t.equal(agentText(after[0]?.data as Task), '')
  t.equal(deltas(after), 'new text')
  t.equal(agentText(after.at(-1)?.data as Task), 'new text')
  for (const [i, { data: { progress } }] of stream.frames.entries()) t.ok(progress >= (stream.frames[i - 1]?.data.progress ?? 0), 'yet progress does not go back')
  t.match(after.at(-1)?.data, { state: 'completed', progress: 1, artifacts: [{ content: { final_answer: 'new text' } }] })
  equal(stream.frames.filter(({ data }) => data.state === 'completed').length, 1)
})

test('each of a hundred streams at once gets the text of only one task', async t => {
  const { opened, open: release } = gate()
  let started = 0
  const served = await serve(t, async function * (question) {
    yield question
    if (++started === 100) release()
    await opened
    yield '!'
  })
  const all = await Promise.all(Array.from({ length: 100 }, async (_, i) => await served.frames('tasks/sendSubscribe', { ...ask, input: { query: `q${i}` } })))
  t.strictSame(all.map(frames => deltas(frames)), all.map((_, i) => `q${i}!`))
  t.equal(new Set(all.map(([frame]) => frame?.taskId)).size, 100)
})
