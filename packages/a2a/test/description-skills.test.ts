import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { ChatTurn, InterpreterExtra, Memory, MemoryQuery } from '@polyvac/core'
import type { Task } from '../src/index.js'
import { ENDED, gate, serve } from './fixtures/app.js'
import { config, documents, echo, ISO, isTask, noHits, UUID } from './fixtures/description.js'

test('tasks/send of a query answers with the ended task', async t => {
  const served = await serve(t, echo)
  const { status, headers, body } = await served.rpc('tasks/send', { skillName: 'vac_query_docs', input: { query: ' What is new? ' }, clientMetadata: { source: 'cli', deep: [{ n: 1 }] } }, { id: 'abc' })
  t.equal(status, 200)
  t.match(headers['content-type'], /^application\/json/)
  t.match(body, { jsonrpc: '2.0', id: 'abc' })
  const task = body.result as Task
  t.ok(isTask.Check(task))
  t.strictSame(Object.keys(task).sort(), ['artifacts', 'completedAt', 'createdAt', 'error', 'messages', 'metadata', 'progress', 'state', 'taskId', 'updatedAt'])
  t.match(task, { taskId: UUID, state: 'completed', createdAt: ISO, updatedAt: ISO, completedAt: ISO, error: null, progress: 1 })
  t.strictSame(task.metadata, { skillName: 'vac_query_docs', isStreaming: false, clientMetadata: { source: 'cli', deep: [{ n: 1 }] } })
  t.match(task.messages[0], { role: 'user', parts: [{ type: 'text', text: 'What is new?' }], timestamp: ISO })
  t.equal(task.artifacts.length, 1)
  t.match(task.artifacts[0], { name: 'response', type: 'json', createdAt: ISO })
  t.strictSame(task.artifacts[0]?.content, { answer: 'You said: What is new?', source_documents: documents, metadata: {} })
  t.strictSame(await served.task('tasks/get', { taskId: task.taskId }), task)
})

test('tasks/send of a streaming skill answers at once, with an id to follow', async t => {
  const { opened, open } = gate()
  const served = await serve(t, async function * () { yield 'a'; await opened; yield 'b'; return { answer: 'ab', source_documents: documents, metadata: { tokens: 2 }, extra: true } })
  const task = await served.task('tasks/send', { skillName: 'vac_stream_docs', input: { query: 'x' } })
  t.ok(['submitted', 'working'].includes(task.state), task.state)
  t.match(task, { completedAt: null, artifacts: [], metadata: { isStreaming: true } })
  open()
  const ended = await served.reached(task.taskId, ENDED)
  t.match(ended, { state: 'completed', progress: 1, messages: [{ role: 'user' }, { role: 'agent', parts: [{ type: 'text', text: 'ab' }] }] })
  t.strictSame(ended.artifacts.map(({ name, type, content }) => ({ name, type, content })), [
    { name: 'streaming_response', type: 'json', content: { final_answer: 'ab', stream_completed: true, source_documents: documents, metadata: { tokens: 2, extra: true } } }
  ])
})

test('a memory search has the defaults of the description, and hits within its limits', async t => {
  const asked: MemoryQuery[] = []
  const hits = [0.95, 0.9, 0.8, 0.72, 0.5].map(score => ({ content: `at ${score}`, score, metadata: { score } }))
  const memory: Memory = { async search (query) { asked.push(query); return hits } }
  const served = await serve(t, echo, { vacs: { parts: { docs: { memory } } } })
  const search = async (input: object): Promise<Task> => await served.task('tasks/send', { skillName: 'vac_memory_search_docs', input })
  const task = await search({ search_query: 'fruit' })
  t.match(task, { state: 'completed', progress: 1, metadata: { isStreaming: false }, messages: [{ role: 'user', parts: [{ text: 'fruit' }] }] })
  t.equal(task.artifacts[0]?.name, 'search_results')
  t.strictSame(task.artifacts[0]?.content, { results: hits.slice(0, 4), total_results: 4, query: 'fruit', limit: 10, similarity_threshold: 0.7 })
  t.match(asked[0], { query: 'fruit', limit: 10, threshold: 0.7 })
  t.match(await search({ search_query: 'fruit', limit: 2, similarity_threshold: 0 }), { artifacts: [{ content: { results: hits.slice(0, 2), total_results: 2, limit: 2, similarity_threshold: 0 } }] })
  t.match(asked[1], { limit: 2, threshold: 0 })
  t.match(await search({ search_query: 'fruit', limit: 100, similarity_threshold: 1 }), { artifacts: [{ content: { results: [], total_results: 0 } }] })
})

test('a memory that fails in any way fails its task, and the reason stays hidden from callers', async t => {
  const search = async (search: Memory['search'], plugin = {}): Promise<Task> => {
    const served = await serve(t, echo, { vacs: { parts: { docs: { memory: { search } } } }, plugin })
    return await served.task('tasks/send', { skillName: 'vac_memory_search_docs', input: { search_query: 'x' } })
  }
  for (const [name, failing] of Object.entries<Memory['search']>({
    throws: () => { throw new Error('SECRET') },
    rejects: async () => { throw new Error('SECRET') },
    'rejects with nothing': async () => await Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    'rejects with a text': async () => await Promise.reject('SECRET'), // eslint-disable-line prefer-promise-reject-errors
    'rejects with a number for a code': async () => { throw Object.assign(new Error('SECRET'), { code: 23 }) },
    'gives no list': async () => 7 as never
  })) {
    const task = await search(failing)
    t.match(task, { state: 'failed', artifacts: [], error: { code: 'A2A_SKILL_FAILED', message: /docs/ } }, name)
    t.notMatch(JSON.stringify(task), /SECRET/, name)
  }
  t.match(await search(async ({ signal }) => { await delay(60_000, undefined, { signal }); return [] }, { timeoutMs: 100 }),
    { state: 'failed', error: { code: 'VAC_TIMEOUT' } }, 'too slow, and heeds its signal')
  t.match(await search(async () => await new Promise(() => {}), { timeoutMs: 100 }), { state: 'failed', error: { code: 'VAC_TIMEOUT' } }, 'too slow, and ignores its signal')
})

test('an input that breaks the schema of its skill makes a task that fails and names the problem', async t => {
  const served = await serve(t, echo, { vacs: { parts: { docs: { memory: noHits } } } })
  const memory = (more: object): object => ({ search_query: 'x', ...more })
  for (const [skillName, input, problem] of [
    ['vac_query_docs', {}, 'input/query'], ['vac_query_docs', undefined, 'input/query'], ['vac_query_docs', { query: 7 }, 'input/query'],
    ['vac_query_docs', { query: ' \n' }, 'input/query'], ['vac_query_docs', { query: 'x', chat_history: {} }, 'input/chat_history'],
    ['vac_query_docs', { query: 'x', chat_history: [7] }, 'input/chat_history'], ['vac_query_docs', { query: 'x', context: [] }, 'input/context'],
    ['vac_stream_docs', { query: null }, 'input/query'], ['vac_stream_docs', { query: 'x', stream_settings: null }, 'input/stream_settings'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: 0.5 } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: 3601 } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { timeout: '5' } }, 'input/stream_settings/timeout'],
    ['vac_stream_docs', { query: 'x', stream_settings: { wait_time: -1 } }, 'input/stream_settings/wait_time'],
    ['vac_stream_docs', { query: 'x', stream_settings: { wait_time: 1e15 } }, 'input/stream_settings/wait_time'],
    ['vac_memory_search_docs', {}, 'input/search_query'], ['vac_memory_search_docs', memory({ search_query: '' }), 'input/search_query'],
    ['vac_memory_search_docs', memory({ search_query: 'x'.repeat(2_001) }), 'input/search_query'],
    ...[0, 101, 1.5, '10', null, -1].map(limit => ['vac_memory_search_docs', memory({ limit }), 'input/limit'] as const),
    ...[-0.1, 1.1, null, 'NaN', '0.5'].map(similarity_threshold => ['vac_memory_search_docs', memory({ similarity_threshold }), 'input/similarity_threshold'] as const),
    ['vac_query_nope', { query: 'x' }, 'vac_query_nope'], ['vac_stream_nope', { query: 'x' }, 'vac_stream_nope'], ['docs', { query: 'x' }, 'docs'],
    ['__proto__', { query: 'x' }, '__proto__'], ['vac_query_constructor', { query: 'x' }, 'constructor'], ['vac_query_../docs', { query: 'x' }, 'vac_query_'],
    ['vac_query_', { query: 'x' }, 'vac_query_'], ['VAC_QUERY_DOCS', { query: 'x' }, 'VAC_QUERY_DOCS']
  ] as const) {
    const what = `${skillName} ${JSON.stringify(input)?.slice(0, 80)}`
    const params = { skillName, ...(input === undefined ? {} : { input }) }
    const task = await served.task('tasks/send', params)
    t.match(task, { taskId: UUID, state: 'failed', completedAt: ISO, artifacts: [], error: { code: /^A2A_(SKILL_NOT_FOUND|INPUT_INVALID)$/ } }, what)
    t.ok(task.error?.message.includes(problem), `${what}: ${task.error?.message}`)
    const frames = await served.frames('tasks/sendSubscribe', params)
    t.match(frames.at(-1)?.data, { state: 'failed', error: { code: task.error?.code, message: task.error?.message } }, `${what}, as a stream`)
  }
  t.equal(served.vacs.running, 0, 'no interpreter was asked')
  const without = await serve(t, echo)
  t.match(await without.task('tasks/send', { skillName: 'vac_memory_search_docs', input: { search_query: 'x' } }), { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND' } }, 'memory skill of a VAC without memory')
})

test('stream_settings.timeout stops the interpreter, heeding or not; the plugin\'s own limit does where there is none', async t => {
  const stopped: string[] = []
  const served = await serve(t, async function * (question, _vac, _history, { signal }) {
    signal.addEventListener('abort', () => { stopped.push(question) })
    yield 'begun'
    if (question === 'heeds') await new Promise(resolve => signal.addEventListener('abort', resolve))
    else await new Promise(() => {})
  }, { plugin: { timeoutMs: 1_500 } })
  const send = async (kind: string, query: string, stream_settings?: object): Promise<Task> =>
    await served.reached((await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query, ...(stream_settings === undefined ? {} : { stream_settings }) } })).taskId, ENDED)
  const [heeds, ignores, own, query] = await Promise.all([
    send('stream', 'heeds', { timeout: 1 }), send('stream', 'ignores', { timeout: 1, wait_time: 1 }), send('stream', 'own'), send('query', 'query')
  ])
  for (const task of [heeds, ignores]) t.match(task, { state: 'failed', error: { code: 'VAC_TIMEOUT', message: /docs.*1 s/ } })
  for (const task of [own, query]) t.match(task, { state: 'failed', error: { code: 'VAC_TIMEOUT', message: /1\.5 s/ } })
  t.strictSame(stopped.sort(), ['heeds', 'ignores', 'own', 'query'], 'every signal fired')
  t.equal(served.vacs.running, 0)
})

test('settings that only a stream has cannot harm a query', async t => {
  const served = await serve(t, async function * () { await delay(80); yield 'fine' })
  const odd = [null, 7, [], 'x', { timeout: 'x' }, { timeout: -1 }, { timeout: 1e300 }, { timeout: null }, { wait_time: 1e300 }, { wait_time: 1e7 }, { wait_time: -1 }, { wait_time: 'x' }]
  await Promise.all(odd.map(async stream_settings => {
    const what = JSON.stringify(stream_settings)
    const params = { skillName: 'vac_query_docs', input: { query: 'x', stream_settings } }
    t.match(await served.task('tasks/send', params), { state: 'completed' }, what)
    const { text } = await served.rpc('tasks/sendSubscribe', params)
    t.match(text, /"completed"/, what)
    t.ok((text.match(/^:/gm) ?? []).length < 3, `${what}: no flood of comments`)
  }))
})

test('chat_history reaches the interpreter in one shape, whatever its dialect', async t => {
  let seen: ChatTurn[] = []
  const served = await serve(t, (_question, _vac, history) => { seen = history; return 'x' })
  const turns = [{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'and?' }]
  for (const chat_history of [
    turns,
    [{ name: 'Human', content: 'hi' }, { name: 'AI', text: 'hello' }, { name: 'Human', text: 'and?' }],
    [{ human: 'hi', ai: 'hello' }, { human: 'and?' }],
    [['hi', 'hello'], ['and?']],
    [['hi', 'hello'], { name: 'Human', content: 'and?' }]
  ]) {
    for (const kind of ['query', 'stream']) {
      const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query: 'x', chat_history } })
      await served.reached(taskId, ['completed'])
      t.strictSame(seen, turns, `${kind} ${JSON.stringify(chat_history)}`)
    }
  }
  const long = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: String(i) }))
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x', chat_history: long } })
  t.strictSame(seen, long, 'every turn, in order')
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } })
  t.strictSame(seen, [], 'and nothing of anybody else\'s')
})

test('an interpreter is given the caller\'s fields, and always its own', async t => {
  let seen: InterpreterExtra | undefined
  const served = await serve(t, (_question, vac, _history, extra) => { seen = extra; return vac }, {
    vacs: { vacs: { docs: config } }, plugin: { authenticate: () => ({ owner: 'alice', scopes: ['read', 'vac:*'] }) }
  })
  const input = { query: 'x', context: { signal: 'no', a: 1 }, temperature: 0.2, signal: 'no', vac: 'no', principal: { owner: 'root' }, protocol: 'no', callback: 'no', log: 'no', taskId: 'no' }
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input })
  t.match(seen, { context: { signal: 'no', a: 1 }, temperature: 0.2, taskId, attempt: 0, protocol: 'a2a', principal: { owner: 'alice', scopes: ['read', 'vac:*'] }, vac: config })
  t.ok(seen?.signal instanceof AbortSignal)
  t.type(seen?.log.info, 'function')
  t.type(seen?.callback.on_llm_new_token, 'function')
})

test('what a caller may not choose is not chosen by params', async t => {
  const served = await serve(t, echo)
  const more = { owner: 'bob', state: 'completed', seq: 99, attempt: 9, progress: 1, id: 'mine', artifacts: [{}], error: { code: 'x' }, createdAt: 0, contextId: 'c' }
  const task = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x', ...more }, ...more })
  t.match(task, { taskId: UUID, state: 'completed', artifacts: [{ name: 'response', content: { answer: 'You said: x' } }], error: null })
  t.ok(Date.parse(task.createdAt) > 1e12)
})
