import Fastify from 'fastify'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { createVacs, type Interpreter, type Vac } from '@polyvac/core'
import { withRunTurn } from '@polyvac/core/plugin'
import { a2aPlugin } from '@polyvac/a2a'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { processTasks, remoteAgents } from '../src/index.js'
import { json, rawAgent, stream, task, WORKING, type Json } from './fixtures/agent.js'
import { hear, open, wire } from './fixtures/remote.js'

/** A service of Polyvac with one VAC, over A2A. */
async function service (t: Test, interpreter: Interpreter, asked: string[] = []): Promise<string> {
  const app = Fastify()
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const streamInterpreter: Interpreter = (question, ...rest) => {
    asked.push(question)
    return interpreter(question, ...rest)
  }
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter })
  await app.register(a2aPlugin, { vacs, tasks })
  t.teardown(async () => {
    await app.close()
    await tasks.close()
  })
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

const documents: Interpreter = async function * (question) {
  yield `About ${question}: `
  yield { progress: 0.5, message: 'half' }
  yield 'all of it'
  return { answer: `About ${question}: all of it`, source_documents: [{ page_content: 'p', metadata: { source: 'a.md' } }] }
}

for (const protocol of ['1.0', '0.3'] as const) {
  test(`an agent of Polyvac over ${protocol}: text once, progress, sources`, async t => {
    const url = await service(t, documents)
    const { text, chunks, answer } = await hear(open(t, url, { protocol }).vac, 'cats')
    t.equal(text, 'About cats: all of it')
    t.match(answer, { answer: text, source_documents: [{ page_content: 'p', metadata: { source: 'a.md' } }] })
    t.match(chunks.filter(chunk => typeof chunk === 'object' && 'progress' in chunk), [{ progress: 0.5, message: 'half' }])
  })

  test(`a question of an agent of Polyvac over ${protocol}, its reply, and a failure`, async t => {
    const url = await service(t, async (question, _vac, history) => {
      if (question === 'fail') throw Object.assign(new Error('no cats here'), { code: 'NO_CATS', statusCode: 400 })
      return history.length === 0 ? { input_required: 'Which one?' } : { answer: `${question} after ${history.length} turns` }
    })
    const { vac } = open(t, url, { protocol })
    const extra = withRunTurn({}, { id: 'r1', turn: 0 })
    t.match(await vac.ask({ question: 'cat', extra }), { input_required: 'Which one?' })
    const history = [{ role: 'user' as const, content: 'cat' }, { role: 'assistant' as const, content: 'Which one?' }]
    t.equal((await vac.ask({ question: 'the black one', history, extra })).answer, 'the black one after 2 turns')
    await t.rejects(vac.ask({ question: 'fail' }), { code: 'REMOTE_AGENT_FAILED', message: /no cats here/ })
  })
}

test('a skill of the entry, and the artifacts of an answer', async t => {
  const url = await service(t, async question => question === 'file'
    ? { answer: '', artifacts: [{ name: 'file', parts: [{ bytes: 'AAAA', filename: 'a.png', media_type: 'image/png' }] }] }
    : documents(question, 'docs', [], {} as never) as never)
  t.match(await open(t, url).vac.ask({ question: 'file' }), { artifacts: [{ name: 'file', parts: [{ bytes: 'AAAA', filename: 'a.png' }] }] })
  const { answer } = await hear(open(t, url, { skill: 'vac_query_docs' }).vac, 'cats')
  t.equal(answer.answer, 'About cats: all of it')
})

test('the context of the agent goes on after its answer, and not after another one', async t => {
  const url = await service(t, async (question, _vac, history) => ({ answer: `${question} after ${history.length} turns` }))
  const { vac } = open(t, url)
  const conversation = 'c1'
  const user = (content: string): { role: 'user', content: string } => ({ role: 'user', content })
  const agent = (content: string): { role: 'assistant', content: string } => ({ role: 'assistant', content })
  const first = await vac.ask({ question: 'a', conversation })
  const second = await vac.ask({ question: 'b', conversation, history: [user('a'), agent(first.answer)] })
  t.equal((second.metadata as Json).remote.context_id, (first.metadata as Json).remote.context_id)
  t.equal(second.answer, 'b after 2 turns', 'the agent has the earlier turns')
  const guessed = await vac.ask({ question: 'c', conversation })
  t.not((guessed.metadata as Json).remote.context_id, (first.metadata as Json).remote.context_id)
})

test('the reply in a conversation goes to the task that asked, also where each turn is another run', async t => {
  const url = await service(t, async (question, _vac, history) => {
    if (question === 'fail') throw Object.assign(new Error('no'), { code: 'NO', statusCode: 400 })
    return history.length === 0 ? { input_required: 'Which one?' } : { answer: `${question} after ${history.length} turns` }
  })
  const { vac } = open(t, url)
  const taskOf = ({ metadata }: { metadata?: unknown }): string => (metadata as Json).remote.task_id
  const turn = (question: string, asked: string, conversation = 'c1', extra = {}) =>
    vac.ask({ question, conversation, extra, history: [{ role: 'user', content: 'cat' }, { role: 'assistant', content: asked }] })
  const asked = await vac.ask({ question: 'cat', conversation: 'c1', extra: withRunTurn({}, { id: 'r1', turn: 0 }) })
  const told = await turn('the black one', 'Some text.\n\nWhich one?', 'c1', withRunTurn({}, { id: 'r2', turn: 0 }))
  t.equal(told.answer, 'the black one after 2 turns')
  t.equal(taskOf(told), taskOf(asked))
  t.not(taskOf(await turn('the white one', 'Which one?')), taskOf(asked), 'the task takes one reply')
  const again = await vac.ask({ question: 'dog', conversation: 'c2' })
  t.not(taskOf(await turn('the black one', 'What else?', 'c2')), taskOf(again), 'of an edited conversation')
  const third = await vac.ask({ question: 'cow', conversation: 'c3' })
  await t.rejects(turn('fail', 'Which one?', 'c3'), { code: 'REMOTE_AGENT_FAILED' })
  t.not(taskOf(await turn('the black one', 'Which one?', 'c3')), taskOf(third), 'a task that failed takes no reply')
})

test('the connection to an agent of Polyvac breaks in the middle: no text is lost or doubled, and it answers once', async t => {
  const asked: string[] = []
  let go = (): void => {}
  const released = new Promise<void>(resolve => { go = resolve })
  const url = await service(t, async function * () {
    yield 'one '
    await released
    yield 'two'
  }, asked)
  const line = await wire(t, url)
  let text = ''
  for await (const chunk of open(t, line.url).vac.stream({ question: 'hi' })) {
    if (typeof chunk === 'string') text += chunk
    if (chunk !== 'one ') continue
    line.cut()
    go()
  }
  t.equal(text, 'one two')
  t.strictSame(asked, ['hi'])
})

test('a run goes on with its remote task after its worker stopped', async t => {
  const asked: string[] = []
  let go = (): void => {}
  const released = new Promise<void>(resolve => { go = resolve })
  const url = await service(t, async function * (_question, _vac, _history, { signal }) {
    yield 'one '
    await Promise.race([released, new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))])
    yield 'two'
  }, asked)
  // what both processes have
  const tasks = processTasks()
  const extra = withRunTurn({}, { id: 'r1', turn: 0 })
  const stop = new AbortController()
  await t.rejects(async () => {
    for await (const chunk of open(t, url, {}, { tasks }).vac.stream({ question: 'hi', extra, signal: stop.signal })) {
      if (chunk === 'one ') stop.abort(Object.assign(new Error('this worker stops'), { code: 'TASK_WORKER_STOPPED' }))
    }
  }, { code: 'TASK_WORKER_STOPPED' })
  const again = hear(open(t, url, {}, { tasks }).vac, 'hi', { extra: { ...extra, attempt: 1 } })
  go()
  t.equal((await again).text, 'one two')
  t.strictSame(asked, ['hi'], 'the agent was asked once')
})

test('a durable run of the engine goes on in another process, which follows the same remote task', async t => {
  const asked: string[] = []
  let go = (): void => {}
  const released = new Promise<void>(resolve => { go = resolve })
  const url = await service(t, async function * () {
    yield 'one '
    await released
    yield 'two'
  }, asked)
  const path = join(t.testdir(), 'tasks.db')
  const caller = { principal: undefined } as never
  const begin = async (): Promise<{ runs: ReturnType<typeof createRuns>, vac: Vac, end: () => Promise<void> }> => {
    const tasks = sqliteTaskStore({ path })
    await tasks.open()
    const remote = remoteAgents({ agents: [{ name: 'peer', url }] })
    const vacs = createVacs({ vacs: ['peer'], streamInterpreter: remote.interpreters.peer! })
    const end = async (): Promise<void> => {
      await tasks.close()
      await remote.close()
    }
    t.teardown(end)
    return { runs: createRuns({ vacs, tasks }), vac: vacs.get('peer'), end }
  }
  const first = await begin()
  const { run } = await first.runs.start(caller, { vac: first.vac, question: 'hi', history: [], extra: {}, protocol: 'code', requestId: 'q', isWhole: false })
  for await (const item of first.runs.follow(caller, 'peer', run.id, 0, new AbortController().signal)) if ('chunk' in item && item.chunk === 'one ') break
  await first.end()
  const second = await begin()
  go()
  const seen: unknown[] = []
  for await (const item of second.runs.follow(caller, 'peer', run.id, 0, new AbortController().signal)) seen.push('chunk' in item ? item.chunk : 'restart')
  t.notOk(seen.includes('restart'))
  t.equal(seen.filter(chunk => typeof chunk === 'string').join(''), 'one two')
  t.strictSame(asked, ['hi'], 'the agent was asked once')
})

test('the reply to a durable run goes to the remote task that asked, in another process as well', async t => {
  const url = await service(t, async (question, _vac, history) => history.length === 0 ? { input_required: 'Which one?' } : { answer: `${question} after ${history.length} turns` })
  const path = join(t.testdir(), 'tasks.db')
  const caller = { principal: undefined } as never
  let id = ''
  for (const process of [1, 2]) {
    const tasks = sqliteTaskStore({ path })
    await tasks.open()
    const { remote } = open(t, url)
    const vacs = createVacs({ vacs: ['peer'], streamInterpreter: remote.interpreters.peer! })
    const runs = createRuns({ vacs, tasks })
    const settled = async (): Promise<Json> => await until(async () => {
      const run = await runs.get(caller, 'peer', id)
      return run.state !== 'running' && run.state !== 'queued' && run
    }, 'the run is settled')
    if (process === 1) {
      ({ run: { id } } = await runs.start(caller, { vac: vacs.get('peer'), question: 'cat', history: [], extra: {}, protocol: 'code', requestId: 'q', isWhole: false }))
      t.match(await settled(), { state: 'input_required', answer: { input_required: 'Which one?' } })
    } else {
      await runs.continue(caller, 'peer', id, 'the black one')
      t.match(await settled(), { state: 'completed', answer: { answer: 'the black one after 2 turns' } })
    }
    await tasks.close()
  }
})

test('a durable run over the engine: cancelling it cancels the remote task', async t => {
  const canceled: string[] = []
  const raw = await rawAgent(t, ({ id, method, params }, response) => {
    if (method === 'CancelTask') canceled.push(params.id)
    return method === 'CancelTask' ? json(response, 200, { jsonrpc: '2.0', id, result: task('TASK_STATE_CANCELED').task }) : stream(response, id, [task(WORKING)], false)
  })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  t.teardown(async () => { await tasks.close() })
  const slow = remoteAgents({ agents: [{ name: 'peer', url: raw.origin }] })
  t.teardown(async () => { await slow.close() })
  const vacs = createVacs({ vacs: ['peer'], streamInterpreter: slow.interpreters.peer! })
  const runs = createRuns({ vacs, tasks })
  const caller = { principal: undefined } as never
  const { run } = await runs.start(caller, { vac: vacs.get('peer'), question: 'hi', history: [], extra: {}, protocol: 'code', requestId: 'q', isWhole: false })
  await until(() => raw.calls().length > 0, 'the message came')
  t.match(raw.calls()[0], { params: { message: { messageId: new RegExp(`^${run.id}-`) } } })
  await runs.cancel(caller, 'peer', run.id)
  await until(() => canceled.length > 0, 'the remote task is canceled')
  t.strictSame(canceled, ['task-1'])
})

test('files and data of the caller go to the agent, and earlier turns as data where it takes them', async t => {
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } }]), { defaultInputModes: ['text/plain', 'application/json'] })
  const extra = { files: [{ filename: 'a.png', media_type: 'image/png', bytes: 'AAAA' }, { url: 'https://a.example/b' }, {}], data: [{ a: 1 }] }
  const history = [{ role: 'user' as const, content: 'x'.repeat(32_001) }, { role: 'assistant' as const, content: 'earlier' }]
  await open(t, raw.origin).vac.ask({ question: 'hi', extra, history })
  t.strictSame(raw.calls()[0]!.params.message.parts, [
    { text: 'hi' }, { raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' }, { url: 'https://a.example/b' }, { data: { a: 1 } }, { data: { chat_history: [{ role: 'assistant', content: 'earlier' }] } }
  ])
})

test('a run is the one that answers: callers, two owners or two without a name, name none by their fields', async t => {
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } }]))
  const { vac } = open(t, raw.origin)
  const idsFor = async (extra: () => object): Promise<string[]> => {
    for (const principal of [undefined, undefined, { owner: 'alice' }, { owner: 'bob' }]) await vac.ask({ question: 'hi', principal, extra: extra() as Json })
    return raw.calls().splice(-4).map(({ params }) => params.message.messageId)
  }
  for (const fields of [{ runId: 'r1' }, { taskId: 'r1' }, { run: 'r1', message: { id: 'm', metadata: { runId: 'r1', taskId: 'r1' } } }]) {
    const ids = await idsFor(() => fields)
    t.equal(new Set(ids).size, 4, JSON.stringify(fields))
    t.notMatch(ids.join(), /r1/)
  }
  const [first, again, alice, bob] = await idsFor(() => withRunTurn({ runId: 'of the caller' }, { id: 'r1', turn: 0 }))
  t.match(first, /^r1-/)
  t.equal(again, first, 'another attempt')
  t.equal(new Set([first, alice, bob]).size, 3)
})

test('a message that has passed eight agents is refused', async t => {
  const url = await service(t, documents)
  const { vac } = open(t, url)
  const message = (hops: number): Json => ({ message: { id: 'x', metadata: { 'polyvac/hops': hops } } })
  t.equal((await vac.ask({ question: 'cats', extra: message(7) })).answer, 'About cats: all of it')
  await t.rejects(vac.ask({ question: 'cats', extra: message(8) }), { code: 'REMOTE_AGENT_LOOP', statusCode: 508 })
})
