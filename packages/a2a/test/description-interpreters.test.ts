import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import type { Task } from '../src/index.js'
import { deltas, serve } from './fixtures/app.js'
import { ISO } from './fixtures/description.js'

const forms: Record<string, Interpreter> = {
  'async generator': async function * () { yield 'he'; yield 'llo' },
  'async generator with an answer': async function * () { yield 'he'; yield 'llo'; return { answer: 'hello' } },
  'async generator that yields its answer': async function * () { yield 'hello'; yield { answer: 'hello' } },
  'sync generator': function * () { yield 'he'; yield 'llo' },
  'async function': async () => ({ answer: 'hello' }),
  'async function of text': async () => 'hello',
  'sync function': () => ({ answer: 'hello' }),
  callback: async (_question, _vac, _history, { callback }) => {
    await callback.on_llm_new_token('he')
    await callback.on_llm_new_token('llo')
    await callback.on_llm_end()
  },
  'callback that awaits nothing': (_question, _vac, _history, { callback }) => {
    for (const letter of 'hello') callback.on_llm_new_token(letter).catch(() => {})
    return { answer: 'hello' }
  }
}

test('an interpreter of any form answers queries and streams', async t => {
  for (const [name, interpreter] of Object.entries(forms)) {
    const served = await serve(t, interpreter)
    t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }),
      { state: 'completed', artifacts: [{ content: { answer: 'hello', source_documents: [] } }] }, name)
    const frames = await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })
    t.match(frames.at(-1)?.data, { state: 'completed', artifacts: [{ content: { final_answer: 'hello', stream_completed: true, source_documents: [] } }] }, name)
    t.equal(deltas(frames), 'hello', `${name}: all of its text, once`)
  }
})

test('a query goes to the vac interpreter where there is one, a stream never', async t => {
  const served = await serve(t, () => 'stream', { vacs: { vacInterpreter: () => ({ answer: 'static', metadata: { m: 1 }, extra: [1] }) } })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }), { artifacts: [{ content: { answer: 'static', metadata: { m: 1, extra: [1] } } }] })
  t.equal(deltas(await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })), 'stream')
})

test('an interpreter that fails in any way fails its task, and the reason stays hidden from callers', async t => {
  const bad: Record<string, Interpreter> = {
    throws: () => { throw new Error('SECRET') },
    rejects: async () => { throw new Error('SECRET') },
    'rejects with nothing': async () => await Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    'throws nothing': () => { throw undefined }, // eslint-disable-line no-throw-literal
    'throws null in a generator': async function * () { throw null }, // eslint-disable-line no-throw-literal
    'throws after the first chunk': async function * () { yield 'begun'; throw new Error('SECRET') },
    'throws an error of the task engine': async function * () { yield 'begun'; throw Object.assign(new Error('SECRET'), { code: 'TASK_FENCED' }) },
    'throws an error that names a VAC': () => { throw Object.assign(new Error('SECRET'), { code: 'VAC_TIMEOUT' }) },
    'has a status': () => { throw Object.assign(new Error('SECRET'), { statusCode: 400, code: 'X' }) }
  }
  const wrong: Record<string, Interpreter> = {
    'returns nothing': () => undefined,
    'returns a number': () => 7 as never,
    'returns a big integer': () => ({ answer: 'x', n: 1n }) as never,
    'returns a circle': () => { const circle: Record<string, unknown> = { answer: 'x' }; circle.self = circle; return circle as never },
    'yields a number': function * () { yield 7 as never },
    'yields an array': function * () { yield [] as never },
    'answers with no text': () => ({ answer: 7 }) as never
  }
  for (const [name, interpreter] of [...Object.entries(bad), ...Object.entries(wrong)]) {
    const served = await serve(t, interpreter)
    for (const task of [
      await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }),
      (await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })).at(-1)?.data as Task
    ]) {
      t.match(task, { state: 'failed', completedAt: ISO, artifacts: [], error: { code: name in bad ? 'VAC_INTERPRETER_FAILED' : 'VAC_INVALID_RESULT', message: /docs/, timestamp: ISO } }, name)
      t.notMatch(JSON.stringify(task), /SECRET|\\n +at /, name)
      if (name in bad) t.ok(task.error?.message.includes(task.taskId), 'the id by which the log tells more')
    }
    if (/SECRET/.test(String(interpreter))) t.match(served.logged(), /SECRET/, `${name}: the log has the cause`)
  }
})
