import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { deltas, follow, serve } from './fixtures/app.js'
import { documents, echo, isTask, noHits } from './fixtures/description.js'

test('every frame of sendSubscribe is a task_update with the whole task, from submitted to the end', async t => {
  const served = await serve(t, async function * (_question, _vac, _history, { taskId }) {
    yield 'one '
    await until(async () => {
      const task = await served.tasks.get('anyone', String(taskId))
      return task?.skill === 'vac_query_docs' || task?.messages[1] !== undefined
    }, 'the text is in the task')
    yield { progress: 0.5 }
    yield { progress: 0.2 }
    yield 'two'
    return { answer: 'one two', source_documents: documents }
  }, { vacs: { parts: { docs: { memory: noHits } } } })
  for (const [skillName, input, artifact] of [
    ['vac_stream_docs', { query: 'x' }, 'streaming_response'], ['vac_query_docs', { query: 'x' }, 'response'], ['vac_memory_search_docs', { search_query: 'x' }, 'search_results']
  ] as const) {
    const { status, headers, text } = await served.rpc('tasks/sendSubscribe', { skillName, input, clientMetadata: { a: 1 } })
    t.equal(status, 200)
    t.match(headers['content-type'], /^text\/event-stream/)
    t.notMatch(text, /^event:|\[DONE\]/m)
    const frames = await served.frames('tasks/sendSubscribe', { skillName, input })
    t.strictSame(frames.map(({ id }) => id), frames.map((_, i) => i + 1), 'ids run from 1 without a gap')
    t.equal(frames[0]?.data.state, 'submitted')
    t.equal(frames.at(-1)?.data.state, 'completed')
    t.equal(new Set(frames.map(({ taskId }) => taskId)).size, 1)
    for (const [i, { type, taskId, data }] of frames.entries()) {
      t.equal(type, 'task_update')
      t.equal(data.taskId, taskId)
      t.ok(isTask.Check(data), 'a whole record')
      t.ok(data.progress >= (frames[i - 1]?.data.progress ?? 0), 'progress never goes down')
      t.strictSame(data.artifacts.map(({ name }) => name), data.state === 'completed' ? [artifact] : [], 'artifacts once completed')
    }
    t.equal(frames.at(-1)?.data.progress, 1)
    if (skillName !== 'vac_stream_docs') continue
    t.ok(frames.some(({ data }) => data.progress === 0.5))
    t.equal(deltas(frames), 'one two')
    let soFar = ''
    for (const { data } of frames) {
      soFar += data.delta ?? ''
      t.equal(data.messages[1]?.parts[0]?.text ?? '', soFar, 'messages grow by the delta')
    }
    t.ok(frames.some(({ data }) => data.delta === 'one '), 'text comes while it is made')
  }
})

test('resubscribe sends the present task, or what came after Last-Event-ID, and ends', async t => {
  const served = await serve(t, echo)
  const sent = await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  const { taskId } = sent[0] ?? { taskId: '' }
  const last = sent.at(-1)?.id ?? 0
  for (let seen = 0; seen < last; seen++) {
    t.strictSame(await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': String(seen) } }), sent.slice(seen), `after ${seen}`)
  }
  t.strictSame(await served.frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': String(last) } }), sent.slice(-1), 'who has all is told the end again')
  t.strictSame(await served.frames('tasks/resubscribe', { taskId }), sent.slice(-1), 'without a number')
})

test('a followed stream stays open while the task waits for input, and sends the rest', async t => {
  const served = await serve(t, async function * (question) { yield question; return question === 'yes' ? { answer: 'done' } : { input_required: 'Sure?' } })
  const stream = await follow(served, 'tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'go' } })
  const { taskId, data } = await stream.first(({ data }) => data.state === 'input-required')
  t.match(data.messages.at(-1)?.parts, [{ text: 'Sure?' }])
  const reply = await served.frames('tasks/sendSubscribe', { taskId, input: { query: 'yes' } })
  await stream.ended
  t.strictSame(stream.frames.map(({ id }) => id), stream.frames.map((_, i) => i + 1))
  t.match(stream.frames.at(-1)?.data, { state: 'completed', messages: [{ parts: [{ text: 'go' }] }, { parts: [{ text: 'go' }] }, { parts: [{ text: 'Sure?' }] }, { parts: [{ text: 'yes' }] }, { parts: [{ text: 'yes' }] }] })
  t.strictSame(reply.at(-1), stream.frames.at(-1))
})
