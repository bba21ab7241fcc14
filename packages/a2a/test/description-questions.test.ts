import { test } from 'tap'
import type { ChatTurn, Interpreter } from '@polyvac/core'
import { ENDED, serve } from './fixtures/app.js'

test('a task that asks for input waits, and the next tasks/send with its id goes on', async t => {
  const seen: { question: string, history: ChatTurn[] }[] = []
  const served = await serve(t, async function * (question, _vac, history) {
    seen.push({ question, history })
    if (question === 'Paris') return { answer: `Flying to ${question}` }
    yield 'Let me see. '
    return { input_required: 'Where to?' }
  })
  const chat_history = [{ role: 'user', content: 'hi' }]
  for (const kind of ['query', 'stream'] as const) {
    seen.length = 0
    const skillName = `vac_${kind}_docs`
    const sent = await served.task('tasks/send', { skillName, input: { query: 'Book a flight', chat_history } })
    const waiting = await served.reached(sent.taskId, ['input-required'])
    const { taskId } = waiting
    t.match(waiting, { completedAt: null, artifacts: [], error: null })
    t.match(waiting.messages.at(-1), { role: 'agent', parts: [{ type: 'text', text: 'Where to?' }] })
    t.match(await served.task('tasks/get', { taskId }), { state: 'input-required' })

    for (const [params, code, message] of [
      [{ taskId }, -32602, /params\/input\/query/], [{ taskId, input: {} }, -32602, /query/], [{ taskId, input: { query: '  ' } }, -32602, /query/],
      [{ taskId, skillName: 'vac_query_other', input: { query: 'Paris' } }, -32602, /skillName/],
      [{ taskId: 'nope', input: { query: 'Paris' } }, -32001, /no task/]
    ] as const) t.match((await served.rpc('tasks/send', params)).body.error, { code, message }, JSON.stringify(params))
    t.match(await served.task('tasks/get', { taskId }), { state: 'input-required' }, 'a bad reply changes nothing')

    const reply = await served.task('tasks/send', { taskId, skillName, input: { query: ' Paris ' } })
    t.equal(reply.taskId, taskId)
    if (kind === 'query') t.equal(reply.state, 'completed', 'it is waited for')
    const ended = await served.reached(taskId, ENDED)
    t.match(ended, { state: 'completed', artifacts: [{ content: kind === 'query' ? { answer: 'Flying to Paris' } : { final_answer: 'Flying to Paris' } }] })
    t.equal(seen[1]?.question, 'Paris', 'the reply is the question now')
    const before = kind === 'stream' ? [{ role: 'assistant', content: 'Let me see. ' }] : []
    t.strictSame(seen[1]?.history, [{ role: 'user', content: 'hi' }, { role: 'user', content: 'Book a flight' }, ...before, { role: 'assistant', content: 'Where to?' }])
    t.match((await served.rpc('tasks/send', { taskId, input: { query: 'Paris' } })).body.error, { code: -32602, message: /completed/, data: { code: 'A2A_TASK_NOT_WAITING' } })
  }
})

test('a question that was streamed is said once', async t => {
  const served = await serve(t, (question: string) => question === 'yes' ? 'done' : { input_required: 'Sure?' })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'go' } })
  let task = await served.task('tasks/get', { taskId })
  while (task.state !== 'input-required') task = await served.task('tasks/get', { taskId })
  t.strictSame(task.messages.map(({ parts }) => parts[0]?.text), ['go', 'Sure?'])
})

test('a question is said once, whether it was streamed before or not', async t => {
  const forms: Record<string, Interpreter> = {
    'not streamed': () => ({ input_required: 'Sure?' }),
    streamed: async function * () { yield 'Su'; yield 're?'; return { input_required: 'Sure?' } }
  }
  for (const [name, interpreter] of Object.entries(forms)) {
    const served = await serve(t, interpreter)
    for (const kind of ['query', 'stream']) {
      const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query: 'go' } })
      const { messages } = await served.reached(taskId, ['input-required'])
      t.strictSame(messages.map(({ role, parts }) => [role, parts[0]?.text]), [['user', 'go'], ['agent', 'Sure?']], `${kind}, ${name}`)
    }
  }
})

test('of many answers to one question, one is taken', async t => {
  const asked: string[] = []
  const served = await serve(t, question => { asked.push(question); return question === 'go' ? { input_required: 'Which?' } : question })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'go' } })
  const answers = await Promise.all(Array.from({ length: 10 }, async (_, i) => await served.rpc('tasks/send', { taskId, input: { query: `answer ${i}` } })))
  const taken = answers.filter(({ body }) => body.result !== undefined)
  t.equal(taken.length, 1)
  t.match(answers.filter(answer => !taken.includes(answer)).map(({ body }) => body.error), Array.from({ length: 9 }, () => ({ code: -32602, data: { code: 'A2A_TASK_NOT_WAITING' } })))
  t.equal(asked.length, 2)
  t.match(taken[0]?.body.result, { state: 'completed', artifacts: [{ content: { answer: asked[1] } }] })
})
