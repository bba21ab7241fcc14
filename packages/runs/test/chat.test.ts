import { createVacs, type NewRun, type RunCaller, type RunItem } from '@polyvac/core'
import { LightAbort } from '@polyvac/core/plugin'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { test, type Test } from 'tap'
import type { TaskHead, TaskStore } from '@polyvac/tasks'
import { createRuns, type OwnRuns } from '../src/index.js'
import { runItems } from '../src/runs/run-items.js'
import '../../../test/fixtures/timeout.mjs'
import { until } from '../../../test/fixtures/until.js'

// What chats need of runs: the answer that they come back to, one answer at a time, and questions that are asked again.

const alice: RunCaller = { principal: { owner: 'alice' }, isLocal: false, isAdmin: false }
const bob: RunCaller = { principal: { owner: 'bob' }, isLocal: false, isAdmin: false }
const unknown: RunCaller = { principal: undefined, isLocal: false, isAdmin: false }

interface Chat {
  readonly runs: OwnRuns
  readonly ask: (question: string, more?: Partial<NewRun>, caller?: RunCaller) => ReturnType<OwnRuns['start']>
  readonly read: (id: string) => Promise<RunItem[]>
}

async function chat (t: Test): Promise<Chat> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  t.teardown(async () => { await tasks.close() })
  const vacs = createVacs({
    vacs: ['docs', 'other'],
    async * streamInterpreter (question, _vac, history, { signal }) {
      if (question === 'wait') await new Promise(resolve => { signal.addEventListener('abort', resolve) })
      if (question === 'ask') return { input_required: 'Which one?' }
      yield `${question}: ${history.map(({ content }) => content).join(' ')}`
    }
  })
  const runs = createRuns({ vacs, tasks })
  return {
    runs,
    ask: async (question, more = {}, caller = alice) => await runs.start(caller, {
      vac: vacs.get('docs'), question, history: [], extra: {}, protocol: 'toy', requestId: 'r', isWhole: false, conversation: 'c', ...more
    }),
    async read (id) {
      const items: RunItem[] = []
      for await (const item of runs.follow(alice, 'docs', id, 0, new LightAbort())) items.push(item)
      return items
    }
  }
}

test('the latest run of a conversation is found by its id and by that of the conversation, and only by its owner', async t => {
  const { runs, ask, read } = await chat(t)
  t.equal(await runs.latest(alice, 'docs', 'c'), undefined)
  const { run: first } = await ask('one')
  await read(first.id)
  const { run } = await ask('two')
  for (const id of ['c', run.id]) t.equal((await runs.latest(alice, 'docs', id))?.run.id, run.id, id)
  t.equal((await runs.latest(alice, 'docs', first.id))?.run.id, first.id)
  for (const [caller, vac] of [[bob, 'docs'], [unknown, 'docs'], [alice, 'other']] as const) {
    for (const id of ['c', run.id]) t.equal(await runs.latest(caller, vac, id), undefined)
  }
})

test('a run counts as read once a reader got its end, not while it is only followed or asks', async t => {
  const { runs, ask, read } = await chat(t)
  for (const [question, isRead] of [['one', true], ['ask', false]] as const) {
    const { run } = await ask(question, { unreadMs: 60_000 })
    await read(run.id)
    t.match(await runs.latest(alice, 'docs', 'c'), { isRead: false, run: { id: run.id } })
    await t.rejects(runs.noteEnd(bob, run.id), { code: 'RUN_NOT_FOUND' })
    await runs.noteEnd(alice, run.id)
    t.match(await runs.latest(alice, 'docs', 'c'), { isRead })
  }
  const { run } = await ask('wait')
  await runs.noteEnd(alice, run.id)
  t.match(await runs.latest(alice, 'docs', 'c'), { isRead: false, run: { id: run.id } }, 'a run that goes on has not ended')
  await runs.cancel(alice, 'docs', run.id)
})

test('a question takes the place of the one that is answered now', async t => {
  const { runs, ask, read } = await chat(t)
  const { run: first } = await ask('wait', { other: 'supersede' })
  await until(async () => (await runs.get(alice, 'docs', first.id)).state === 'running', 'it runs')
  const { run } = await ask('two', { other: 'supersede' })
  t.match(await runs.get(alice, 'docs', first.id), { state: 'cancelled' })
  t.match((await read(run.id)).at(-1), { chunk: { answer: 'two: ' } })
})

test('what takes the place of an answer is the latest run, while it waits, goes on, and afterwards', async t => {
  const { runs, ask } = await chat(t)
  for (let i = 0; i < 4; i++) {
    const { run: first } = await ask('wait', { other: 'supersede' })
    if (i % 2 === 0) await until(async () => (await runs.get(alice, 'docs', first.id)).state === 'running', 'it runs')
    const { run } = await ask('wait', { other: 'supersede' })
    const latest = async (): Promise<unknown> => (await runs.latest(alice, 'docs', 'c'))?.run.id
    t.equal(await latest(), run.id)
    await until(async () => (await runs.get(alice, 'docs', run.id)).state === 'running', 'it runs')
    t.equal(await latest(), run.id)
    await runs.cancel(alice, 'docs', run.id)
    t.equal(await latest(), run.id)
  }
})

test('a key whose run is deleted begins another run, next to the turn of the first', async t => {
  const { runs, ask, read } = await chat(t)
  const key = { name: 'r1', request: 'a', isId: true }
  const { run: first } = await ask('one', { key })
  await read(first.id)
  await runs.delete(alice, 'docs', first.id)
  const { run, isNew } = await ask('one', { key })
  t.ok(isNew)
  t.match((await read(run.id)).at(-1), { chunk: { answer: /^one: / } })
  t.match(await ask('one', { key }), { isNew: false, run: { id: run.id } })
  t.equal((await runs.conversations!.get(alice, 'docs', 'c')).turns.length, 2)
})

test('the reader of a run that is deleted before its first event gets an error', async t => {
  const gone = { async * events () {}, head: async () => null } as unknown as TaskStore
  const task = { id: 'x', owner: 'alice', seq: 1, attempt: 0, turn: 0 } as unknown as TaskHead
  await t.rejects(runItems(gone, task, { after: 0, signal: new LightAbort(), view: undefined }).next(), { code: 'RUN_NOT_FOUND' })
})

test('a conversation whose name no store can keep is refused by what is wrong with it', async t => {
  const { ask } = await chat(t)
  for (const conversation of ['', 'x'.repeat(257), 'a\0b', 'a\ud800']) {
    await t.rejects(ask('one', { conversation }), { code: 'BAD_REQUEST', message: /^the id of the conversation: must be a text of 1 to 256/ }, JSON.stringify(conversation))
  }
})

test('a question that is asked again or edited replaces its turn and the later ones', async t => {
  const { runs, ask, read } = await chat(t)
  for (const question of ['one', 'two', 'three']) await read((await ask(question)).run.id)
  const said = async (more: Partial<NewRun>): Promise<string[]> => {
    await read((await ask('again', { sendsAll: true, ...more })).run.id)
    return (await runs.conversations!.get(alice, 'docs', 'c')).turns.map(({ question }) => question)
  }
  t.strictSame(await said({}), ['one', 'two', 'three', 'again'], 'the new message only goes on')
  t.strictSame(await said({ replaces: 'last' }), ['one', 'two', 'three', 'again'])
  t.strictSame(await said({ replaces: 'next', history: [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'one: ' }] }), ['one', 'again'])
  t.strictSame(await said({ replaces: 'next' }), ['again'])
})

test('a key that is an id finds its run, whatever the request asks; of unknown callers, only the same request', async t => {
  const { ask } = await chat(t)
  const key = { name: 'r1', request: 'a', isId: true }
  const { run } = await ask('one', { key })
  for (const question of ['one', 'two']) t.match(await ask(question, { key: { ...key, request: question } }), { isNew: false, run: { id: run.id } })
  t.equal((await ask('one', { key }, bob)).isNew, true)
  const { run: first } = await ask('one', { key, conversation: undefined }, unknown)
  t.match(await ask('one', { key, conversation: undefined }, unknown), { isNew: false, run: { id: first.id } })
  t.equal((await ask('one', { key: { ...key, request: 'b' }, conversation: undefined }, unknown)).isNew, true)
})
