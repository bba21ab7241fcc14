import type { Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { isTaskError, turnAnswer, type ConversationKey, type ConversationRecords, type TaskHandler, type TaskStore } from '../src/index.js'
import type { StoreFactory } from './conformance.js'

const KEY: ConversationKey = { owner: 'alice', vac: 'docs', id: 'chat' }

/** A store, its conversations, and a function that asks a question of one of them. */
async function opened (t: Test, open: StoreFactory, settings: Parameters<StoreFactory>[1] = {}): Promise<{
  store: TaskStore, talks: ConversationRecords, ask: (question: string, key?: Partial<ConversationKey>, from?: number) => Promise<string>
}> {
  const store = await open(t, settings)
  return {
    store,
    talks: store.conversations!,
    ask: async (question, key = {}, from = undefined) => {
      const { owner, vac, id } = { ...KEY, ...key }
      return (await store.create(` runs ${owner}`, { skill: `vac_stream_${vac}`, input: { question }, contextId: id, turn: { owner, vac, question, from } })).task.id
    }
  }
}

/** Answers a question with its text, unless the text names another end. */
const answering: TaskHandler = async (task, { turn, emit }) => {
  const { question } = task.input as { question: string }
  const answer = turnAnswer(question === 'fail' ? undefined : `${question}!`, { said: question })
  if (question === 'which' && turn === 0) await emit({ state: 'input-required' }, answer)
  else if (question === 'fail') await emit({ state: 'failed', error: { code: 'NO', message: 'no' } }, answer)
  else await emit({ state: 'completed' }, answer)
}

async function settled (talks: ConversationRecords, count: number, key: ConversationKey = KEY): ReturnType<ConversationRecords['turns']> {
  return await until(async () => {
    const turns = await talks.turns(key)
    return turns.length === count && turns.every(({ endedAt }) => endedAt !== undefined) && turns
  }, `${count} turns have ended`)
}

/** What every store must do with conversations. */
export function conversations (test: (sentence: string, body: (t: Test) => Promise<void>) => void, open: StoreFactory): void {
  test('a question is a turn with its task, in the order of the questions, and ends as its task does', async t => {
    const { store, talks, ask } = await opened(t, open)
    for (const question of ['one', 'fail', 'stop', 'which']) await ask(question)
    const [which, stop] = await talks.turns(KEY)
    t.match(which, { number: 4, question: 'which', state: 'submitted', content: undefined })
    t.equal((await store.cancel(' runs alice', stop!.id)).outcome, 'canceled')
    store.work(answering)
    const turns = await settled(talks, 4)
    t.match(turns.map(({ question, state, answer, content, task }) => [question, state, answer, content, task?.owner]), [
      ['which', 'input-required', 'which!', { said: 'which' }, ' runs alice'], ['stop', 'canceled', undefined, undefined, ' runs alice'],
      ['fail', 'failed', undefined, { said: 'fail' }, ' runs alice'], ['one', 'completed', 'one!', { said: 'one' }, ' runs alice']
    ])
    for (const { id, createdAt, endedAt, task } of turns) {
      t.equal(id, task!.id)
      t.ok(endedAt! >= createdAt)
    }
    t.equal((await store.provideInput(' runs alice', which!.id, { parts: [{ type: 'text', text: 'that' }] }, {}, { question: 'that', files: [{ name: 'b' }] })).outcome, 'accepted')
    const [last, before] = await settled(talks, 5)
    t.match(last, { number: 5, id: `${which!.id}-1`, question: 'that', files: [{ name: 'b' }], state: 'completed', answer: 'which!' })
    t.match(before, { question: 'which', state: 'input-required' })
    t.match(await talks.get(KEY), { id: 'chat', title: 'one', turnCount: 5, last: 5 })
    t.match(await talks.turnOf(which!.id, 1), { question: 'that', conversation: KEY })
    t.equal(await talks.turnOf(which!.id, 2), undefined)
    t.equal(await store.delete(' runs alice', which!.id), 'deleted')
    t.match((await talks.turns(KEY))[0], { question: 'that', state: 'completed', answer: 'which!' })
  })

  test('a conversation of another owner or VAC does not exist, and the same id is another one', async t => {
    const { store, talks, ask } = await opened(t, open)
    store.work(answering)
    await ask('hers')
    const others = [{ ...KEY, owner: 'bob' }, { ...KEY, vac: 'other' }, { ...KEY, id: 'other' }, { ...KEY, id: 'a\0b' }, { ...KEY, id: 'x'.repeat(300) }]
    for (const key of others) {
      t.equal(await talks.get(key), undefined)
      t.strictSame(await talks.turns(key), [])
      t.equal(await talks.change(key, { title: 'mine' }), false)
      t.equal(await talks.move(key, 'moved'), false)
      t.equal(await talks.edit(key, undefined, () => ({ turn: null })), false)
      t.equal(await talks.delete(key), false)
    }
    await ask('his', { owner: 'bob' })
    await ask('of another VAC', { vac: 'other' })
    t.strictSame((await settled(talks, 1)).map(({ question }) => question), ['hers'])
    t.strictSame((await settled(talks, 1, { ...KEY, owner: 'bob' })).map(({ question }) => question), ['his'])
    t.strictSame((await talks.list('bob', 'docs', { limit: 10 })).conversations.map(({ title }) => title), ['his'])
    t.equal(await talks.change(KEY, { title: 'renamed' }), true)
    t.equal((await talks.get(KEY))?.title, 'renamed')
    t.equal(await talks.delete(KEY), true)
    t.strictSame([await talks.get(KEY), await talks.turns(KEY)], [undefined, []])
    t.equal((await talks.get({ ...KEY, owner: 'bob' }))?.title, 'his')
  })

  test('conversations are listed by their last change, in pages, and turns in pages of turns and of characters', async t => {
    const { store, talks, ask } = await opened(t, open)
    for (let i = 0; i < 5; i++) await ask(`question ${i}`, { id: `chat ${i}` })
    const { updatedAt } = (await talks.get({ ...KEY, id: 'chat 4' }))!
    await until(() => Date.now() > updatedAt, 'the clock goes on')
    await ask('again', { id: 'chat 1' })
    const seen: string[] = []
    for (let cursor: string | undefined, more = true; more;) {
      const page = await talks.list('alice', 'docs', { limit: 2, cursor })
      seen.push(...page.conversations.map(({ id }) => id))
      cursor = page.nextCursor
      more = cursor !== undefined
    }
    t.equal(seen[0], 'chat 1')
    t.strictSame([...seen].sort(), [0, 1, 2, 3, 4].map(i => `chat ${i}`))
    await t.rejects(talks.list('alice', 'docs', { limit: 2, cursor: 'no' }), { code: 'TASK_INVALID_CURSOR' })
    for (const question of ['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)]) await ask(question)
    const questions = async (query: object): Promise<string> => (await talks.turns(KEY, query)).map(({ question }) => question[0]).join('')
    t.strictSame([await questions({ limit: 2 }), await questions({ before: 3, limit: 9 }), await questions({ chars: 620 }), await questions({ chars: 1 })], ['cb', 'ba', 'cb', 'c'])
    await store.close()
  })

  test('a title is the first question in one line, shortened at a word', async t => {
    const { talks, ask } = await opened(t, open)
    const titles = new Map([
      ['  What\n is\tthis? ', 'What is this?'],
      [`word ${'another '.repeat(20)}`, `word ${'another '.repeat(9)}`.trim() + '…'],
      ['字'.repeat(200), '字'.repeat(79) + '…'],
      [`${'x'.repeat(78)}😀😀😀`, 'x'.repeat(78) + '…']
    ])
    for (const [question, title] of titles) {
      await ask(question, { id: title })
      t.equal((await talks.get({ ...KEY, id: title }))?.title, title)
    }
  })

  test('an edit deletes the later turns in the transaction of the question, and the title follows the first question', async t => {
    const { store, talks, ask } = await opened(t, open)
    for (const question of ['one', 'two', 'three']) await ask(question)
    await ask('another two', {}, 2)
    t.strictSame((await talks.turns(KEY)).map(({ number, question }) => [number, question]), [[4, 'another two'], [1, 'one']])
    t.match(await talks.get(KEY), { title: 'one', turnCount: 2 })
    await t.rejects(store.create('', { skill: 'x', input: null, contextId: 'chat', turn: { owner: 'alice', vac: 'docs', question: 'lost', from: 1 } }))
    t.equal((await talks.turns(KEY)).length, 2)
    await ask('first', {}, 1)
    t.match(await talks.get(KEY), { title: 'first', turnCount: 1 })
    await talks.change(KEY, { title: 'mine' })
    await ask('else', {}, 1)
    t.match(await talks.get(KEY), { title: 'mine', turnCount: 1 })
  })

  test('a repeated request adds no turn, and a later attempt replaces what an earlier one wrote', async t => {
    const { store, talks } = await opened(t, open)
    const task = { skill: 'vac_stream_docs', input: null, idempotencyKey: 'key', turn: { owner: 'alice', vac: 'docs', question: 'once', conversation: 'first' } }
    const [first, second] = [await store.create('alice', task), await store.create('alice', { ...task, turn: { ...task.turn, conversation: 'second' } })]
    t.strictSame([first.created, second.created, second.task.contextId], [true, false, 'first'])
    const key = { ...KEY, id: 'first' }
    t.strictSame([(await talks.turns(key)).length, await talks.get({ ...KEY, id: 'second' })], [1, undefined])
    for (const [attempt, answer] of [[1, 'second'], [0, 'late'], [1, 'third']] as const) await talks.answer(first.task.id, 0, attempt, turnAnswer(answer, {}))
    await talks.answer('unknown', 0, 0, turnAnswer('no', {}))
    t.match(await talks.turns(key), [{ answer: 'third' }])
  })

  test('an answer is in its turn once its end is durable; content that is too large is left out, and the text is not', async t => {
    const { store, talks, ask } = await opened(t, open)
    const seen: unknown[] = []
    store.work(async ({ input, artifacts }, { emit }) => {
      const { question } = input as { question: string }
      const content = question === 'large' ? { steps: 'x'.repeat(9 * 1024 * 1024) } : { said: question }
      const many = Array.from({ length: 3 }, (_, i) => ({ artifact: { name: `${i}`, content: 'y'.repeat(question === 'large' ? 200_000 : 1) } }))
      await emit([...many, { state: 'completed' }], turnAnswer(`${question}!`, content, { error: 'too large' }))
      seen.push(...(await talks.turns(KEY, { limit: 1 })).map(({ answer, state }) => [answer, state]), artifacts.length)
    })
    for (const [i, question] of ['small', 'large'].entries()) {
      await ask(question)
      await settled(talks, i + 1)
    }
    await until(() => seen.length === 4, 'both were read')
    t.strictSame(seen, [['small!', 'completed'], 0, ['large!', 'completed'], 0])
    t.match(await talks.turns(KEY), [{ content: { error: 'too large' } }, { content: { said: 'small' } }])
  })

  test('questions at once all become turns, each once, with increasing numbers', async t => {
    const { store, talks, ask } = await opened(t, open)
    store.work(answering)
    const ids = await Promise.all(Array.from({ length: 40 }, async (_, i) => await ask(`question ${i}`, { id: `chat ${i % 4}` })))
    const turns = await Promise.all([0, 1, 2, 3].map(async i => await settled(talks, 10, { ...KEY, id: `chat ${i}` })))
    t.strictSame(turns.flat().map(({ id }) => id).sort(), [...ids].sort())
    for (const some of turns) t.strictSame(some.map(({ number }) => number), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  test('an exclusive question is refused while another turn has not ended, and of some at once one is taken', async t => {
    const { store, talks } = await opened(t, open)
    const ask = async (question: string, more: object = {}, turn: object = {}): Promise<string> =>
      (await store.create('alice', { skill: 'vac_stream_docs', input: { question }, contextId: 'chat', ...more, turn: { owner: 'alice', vac: 'docs', question, isExclusive: true, ...turn } })).task.id
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, async (_, i) => await ask(`question ${i}`, { idempotencyKey: `key ${i}` })))
    const taken = outcomes.findIndex(({ status }) => status === 'fulfilled')
    t.strictSame(outcomes.map(({ status }) => status).sort(), ['fulfilled', ...Array.from({ length: 7 }, () => 'rejected')])
    for (const outcome of outcomes) if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'TASK_TURN_IN_PROGRESS', statusCode: 409 })
    t.equal((await talks.turns(KEY)).length, 1)
    const [first] = await talks.open(KEY)
    t.match(first, { question: `question ${taken}`, state: 'submitted' })
    t.equal(await ask(`question ${taken}`, { idempotencyKey: `key ${taken}` }), first!.id)
    await ask('in another conversation', { contextId: 'other' })
    await ask('side by side', {}, { isExclusive: false })
    t.equal((await talks.open(KEY)).length, 2)
    store.work(answering)
    await settled(talks, 2)
    t.strictSame(await talks.open(KEY), [])
    await ask('later')
    t.strictSame((await settled(talks, 3)).map(({ number }) => number), [3, 2, 1])
  })

  test('the history is the latest turns with an answer that fit, whole, oldest first', async t => {
    const { store, talks, ask } = await opened(t, open)
    store.work(answering)
    for (const question of ['1', '22', 'fail', '333', '4444']) {
      await ask(question)
      await until(async () => (await talks.open(KEY)).length === 0, 'the turn has ended')
    }
    const history = async (query: { limit: number, chars: number, before?: number }): Promise<unknown> => {
      const { turns, leftOut } = await talks.history(KEY, query)
      return [turns.map(({ question, answer }) => `${question} ${answer}`), leftOut]
    }
    t.strictSame(await history({ limit: 9, chars: 99 }), [['1 1!', '22 22!', '333 333!', '4444 4444!'], 0])
    t.strictSame(await history({ limit: 3, chars: 99 }), [['22 22!', '333 333!', '4444 4444!'], 1])
    t.strictSame(await history({ limit: 9, chars: 17 }), [['333 333!', '4444 4444!'], 2])
    t.strictSame(await history({ limit: 9, chars: 8 }), [[], 4])
    t.strictSame(await history({ limit: 9, chars: 99, before: 4 }), [['1 1!', '22 22!'], 0])
    t.strictSame(await talks.history({ ...KEY, id: 'other' }, { limit: 9, chars: 99 }), { turns: [], leftOut: 0 })
  })

  test('an export is imported once, with its times and states', async t => {
    const { talks, ask } = await opened(t, open)
    const turns = [
      { id: 'a', question: 'one', answer: '1', content: { sources: [] }, state: 'completed' as const, createdAt: 1_000, endedAt: 2_000 },
      { id: 'b', question: 'two', content: undefined, state: 'failed' as const, createdAt: 3_000, endedAt: 4_000 }
    ]
    t.strictSame([await talks.import(KEY, { title: 'old', turns }), await talks.import(KEY, { title: 'other', turns: [] })], [true, false])
    t.match(await talks.get(KEY), { title: 'old', turnCount: 2, createdAt: 1_000 })
    await ask('three')
    t.match((await talks.turns(KEY)).reverse(), [...turns.map((turn, i) => ({ ...turn, number: i + 1, task: undefined })), { number: 3, question: 'three' }])
  })

  test('a conversation has metadata, and moves with its turns to another VAC, where its id is free', async t => {
    const { talks, ask } = await opened(t, open)
    const key = { ...KEY, vac: '' }
    t.equal(await talks.import(key, { title: '', metadata: { topic: 'tea' }, turns: [] }), true)
    t.match(await talks.get(key), { title: '', metadata: { topic: 'tea' }, turnCount: 0 })
    t.equal(await talks.change(key, { metadata: { topic: 'coffee', size: 'large' } }), true)
    t.match(await talks.get(key), { title: '', metadata: { topic: 'coffee', size: 'large' } })
    t.equal(await talks.change(key, { metadata: null }), true)
    t.equal((await talks.get(key))?.metadata, undefined)
    t.strictSame(await Promise.all([['docs', 'other'], ['', 'docs'], []].map(async vacs => await talks.locate('alice', 'chat', vacs))), [undefined, '', undefined])
    t.equal(await talks.locate('bob', 'chat', ['']), undefined)
    t.strictSame((await Promise.all([talks.move(key, 'docs'), talks.move(key, 'docs')])).sort(), [false, true])
    t.strictSame([await talks.get(key), await talks.locate('alice', 'chat', ['', 'docs'])], [undefined, 'docs'])
    await ask('the first question')
    t.match(await talks.get(KEY), { title: 'the first question', turnCount: 1 })
    await ask('of another VAC', { vac: 'other' })
    t.strictSame([await talks.move(KEY, 'other'), (await talks.get({ ...KEY, vac: 'other' }))?.title], [false, 'of another VAC'])
  })

  test('an edit changes or deletes one turn, and adds turns after the last one', async t => {
    const { store, talks, ask } = await opened(t, open, { maxTurns: 4 })
    await talks.import(KEY, { title: '', turns: [] })
    const turn = (id: string, more: object = {}) => ({ id, question: id, answer: '', content: { items: [id] }, state: 'completed' as const, createdAt: 1_000, endedAt: 1_000, ...more })
    t.equal(await talks.edit(KEY, undefined, last => ({ added: last === undefined ? [turn('a', { question: '' }), turn('b')] : [] })), true)
    t.match(await talks.get(KEY), { title: 'b', turnCount: 2, last: 2 })
    // at once: each gets what the other one wrote
    await Promise.all(['x', 'y'].map(async more => {
      await talks.edit(KEY, undefined, last => ({ turn: { question: last!.question, answer: `${last!.answer}${more}`, content: last!.content } }))
    }))
    store.work(answering)
    await ask('c')
    await settled(talks, 3)
    t.match((await talks.turns(KEY))[1]?.answer, /^xy$|^yx$/)
    await talks.edit(KEY, 3, asked => ({ turn: { question: asked!.question, answer: undefined, content: undefined } }))
    t.match((await talks.turns(KEY))[0], { number: 3, question: 'c', answer: undefined, content: undefined, state: 'completed', task: { owner: ' runs alice' } })
    await talks.edit(KEY, 1, first => ({ turn: null, added: [turn(`after ${first!.id}`)] }))
    t.strictSame((await talks.turns(KEY)).map(({ number, question }) => [number, question]), [[4, 'after a'], [3, 'c'], [2, 'b']])
    t.match(await talks.get(KEY), { title: 'b', turnCount: 3, last: 4 })
    await talks.edit(KEY, 1, gone => {
      t.equal(gone, undefined)
      return { turn: null }
    })
    await talks.edit(KEY, undefined, () => ({ added: [turn('d'), turn('e')] }))
    const after = async (number: number, more = {}): Promise<string> => (await talks.turns(KEY, { after: number, ...more })).map(({ question }) => question).join()
    t.strictSame([await after(0), await after(3, { limit: 2 }), await after(3, { chars: 1 }), await after(9)], ['c,after a,d,e', 'after a,d', 'after a', ''])
    await t.rejects(talks.edit(KEY, undefined, () => ({ added: [turn('f', { content: 'x'.repeat(9 * 1024 * 1024) })] })), { code: 'TASK_TOO_LARGE' })
    t.equal((await talks.get(KEY))?.turnCount, 4)
  })

  test('an owner past its limits loses its oldest conversations, and no other owner', async t => {
    const { talks, ask } = await opened(t, open, { maxConversations: 3, maxTurns: 4, maxConversationBytes: 100_000 })
    await ask('of bob', { owner: 'bob' })
    for (let i = 0; i < 6; i++) await ask(`question ${i}`)
    t.strictSame((await talks.turns(KEY)).map(({ number }) => number), [6, 5, 4, 3])
    t.equal((await talks.get(KEY))?.turnCount, 4)
    // what an owner has is counted at random writes
    await until(async () => {
      await ask('more', { id: `chat ${Math.random()}` })
      return await talks.get(KEY) === undefined && (await talks.list('alice', 'docs', { limit: 100 })).conversations.length <= 3
    }, 'alice has three conversations')
    for (let i = 0; i < 3; i++) await ask('x'.repeat(90_000), { id: `large ${i}` })
    await until(async () => {
      await ask('y')
      return (await talks.list('alice', 'docs', { limit: 10 })).conversations.length <= 2
    }, 'alice has at most 100,000 bytes')
    t.equal(await talks.get({ ...KEY, id: 'large 1' }), undefined)
    t.equal((await talks.get({ ...KEY, owner: 'bob' }))?.title, 'of bob')
  })

  test('a conversation leaves when its time is over, whether its tasks are there or not', async t => {
    const { store, talks, ask } = await opened(t, open, { conversationTtlMs: 0, purgeMs: 50 })
    await ask('gone').catch(error => { if (!isTaskError(error)) throw error })
    await until(async () => await talks.get(KEY) === undefined, 'the conversation is deleted')
    await store.close()
  })
}
