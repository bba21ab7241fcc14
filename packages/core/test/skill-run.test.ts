import { test } from 'tap'
import { createVacs, type Memory } from '../src/index.js'
import { questionOf, queryResult, searchMemory, skillFailure, LightAbort, streamResult, toolName, VacInterpreterFailedError, VacTimeoutError } from '../src/plugin.js'

const vacWith = (memory: Memory) => createVacs({ vacs: ['docs'], streamInterpreter: async () => 'yes', parts: { docs: { memory } } }).get('docs')
const hit = (score: number) => ({ content: `c${score}`, score, metadata: { source: 'a.md' }, more: 'left out' })

test('an input is split into question, history and further fields for the interpreter', async t => {
  t.strictSame(questionOf({ query: ' why? ', chat_history: [['a', 'b']], stream_settings: { timeout: 3 }, context: { x: 1 } } as never), {
    question: 'why?', history: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }], extra: { context: { x: 1 } }
  })
})

test('further keys of an interpreter are metadata of the result', async t => {
  const answer = { answer: 'a', source_documents: [], metadata: { model: 'm' }, cost: 1 }
  t.strictSame(queryResult(answer), { answer: 'a', source_documents: [], metadata: { cost: 1, model: 'm' } })
  t.strictSame(streamResult(answer), { final_answer: 'a', stream_completed: true, source_documents: [], metadata: { cost: 1, model: 'm' } })
  t.strictSame(streamResult({ answer: 'a', source_documents: [] }), { final_answer: 'a', stream_completed: true, source_documents: [] })
})

test('results of a memory are cut to the limit and the threshold', async t => {
  const vac = vacWith({ search: async () => [hit(0.9), hit(0.8), hit(0.75), hit(0.1)] })
  const found = await searchMemory(vac, { search_query: 'x', limit: 2 }, { signal: new LightAbort(), timeoutMs: 1_000 })
  t.strictSame(found, { results: [0.9, 0.8].map(score => ({ content: `c${score}`, score, metadata: { source: 'a.md' } })), total_results: 2, query: 'x', limit: 2, similarity_threshold: 0.7 })
})

test('an abort and a timeout end the search of a memory that ignores its signal', async t => {
  const vac = vacWith({ search: () => new Promise(() => {}) })
  const stop = new LightAbort()
  const left = searchMemory(vac, { search_query: 'x' }, { signal: stop, timeoutMs: 10_000 })
  stop.abort(new Error('left'))
  await t.rejects(left, { message: 'left' })
  await t.rejects(searchMemory(vac, { search_query: 'x' }, { signal: stop, timeoutMs: 10_000 }), { message: 'left' }, 'aborted before it began')
  await t.rejects(searchMemory(vac, { search_query: 'x' }, { signal: new LightAbort(), timeoutMs: 10 }), { code: 'VAC_TIMEOUT' })
})

test('callers read the text of an exposed error, and a reference to the log for any other', async t => {
  t.match(skillFailure(new VacTimeoutError('"docs"', 3), 'docs', 'the id 1'), { code: 'VAC_TIMEOUT', message: /raise the timeout/ })
  t.match(skillFailure(new VacInterpreterFailedError('"docs"'), 'docs', 'the id 1'), { code: 'VAC_INTERPRETER_FAILED', message: /the log has the cause under the id 1/ })
  for (const foreign of [new Error('secret'), undefined, 'secret']) t.strictSame(skillFailure(foreign, 'docs', 'the id 1'), { message: 'the VAC "docs" failed; the log has the cause under the id 1' })
})

test('a name that clients do not accept becomes a valid one, constant and unique', async t => {
  t.equal(toolName('vac_query_docs'), 'vac_query_docs')
  const [long, longer, accented, plain] = [`vac_memory_search_${'x'.repeat(60)}`, `vac_memory_search_${'x'.repeat(61)}`, 'vac_query_Überblick', 'vac_query__berblick'].map(toolName)
  t.equal(new Set([long, longer, accented, plain]).size, 4)
  for (const name of [long, longer, accented, plain]) t.match(name, /^[A-Za-z0-9_-]{1,64}$/)
  t.equal(toolName('vac_query_Überblick'), accented)
})

test('listeners are called when the VACs are replaced', async t => {
  const vacs = createVacs({ vacs: ['a'], streamInterpreter: async () => 'yes' })
  const seen: string[][] = []
  const stop = vacs.onReplace(() => { seen.push([...vacs.names]) })
  await vacs.replace({ vacs: ['b'], streamInterpreter: async () => 'yes' })
  stop()
  await vacs.replace({ vacs: ['c'], streamInterpreter: async () => 'yes' })
  t.strictSame(seen, [['b']])
})
