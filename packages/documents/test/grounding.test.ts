import fc from 'fast-check'
import { test } from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { checkGrounding } from '../src/grounding.js'
import { documentsInterpreter } from '../src/index.js'
import { ask } from './fixtures/ask.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'
import { fakeOpenai } from './fixtures/openai-server.js'

const hit = (content: string, heading = 'Limits'): { content: string, score: number, metadata: object } => ({ content, score: 1, metadata: { source: 'limits.md', heading } })
const LIMITS = hit('A task may run for 1,000 seconds. After that the server cancels it, and `TASK_TIMEOUT` is its error. Redis is not needed.')
const NIGHT = hit('The lighthouse keeper counts the ships at night. He writes them into a book.', 'Keeper')
const check = (answer: string, question = 'How long may a task run?'): ReturnType<typeof checkGrounding> => checkGrounding(answer, [LIMITS, NIGHT] as never, question)

for (const [what, answer] of Object.entries({
  'repeats a passage': 'A task may run for 1,000 seconds [1].',
  'paraphrases it': 'The server cancels tasks that run for longer than 1000 seconds [1].',
  'cites behind the full stop': 'A task may run for 1,000 seconds. [1] The keeper counts the ships. [2]',
  'cites at the end of the paragraph': 'A task may run for 1,000 seconds. After that the server cancels it [1].',
  'is a list': 'The limits:\n\n- A task runs for 1.000 seconds [1]\n- Ships are counted at night [2]',
  'has code of the passage': 'The error of the task is `TASK_TIMEOUT` [1].\n\n```\nanything("here [2]")\n```',
  'joins two passages': 'The server cancels a task, and the keeper counts ships [1][2].',
  'takes a name from the question': 'In Polyvac a task may run for 1,000 seconds [1].'
})) {
  test(`an answer that ${what} is supported`, async t => {
    const { share, unsupported } = await check(answer, 'How long may a task of Polyvac run?') ?? {}
    t.strictSame({ share, unsupported }, { share: 1, unsupported: [] })
  })
}

for (const [what, [answer, missing]] of Object.entries({
  'another number': ['A task may run for 2,000 seconds [1].', ['2000']],
  'another name': ['The task runs in Kubernetes for 1,000 seconds [1].', ['Kubernetes']],
  'other code': ['The error of the task is `TASK_STALLED` [1].', ['TASK_STALLED']],
  'other words': ['Every operator should configure monitoring dashboards beforehand [1].', []],
  'the wrong passage': ['A task may run for 1,000 seconds [2].', ['1000']],
  'no passage': ['A task may run for 1,000 seconds.\n\nThe keeper counts ships [2].', ['1000']]
} satisfies Record<string, [string, string[]]>)) {
  test(`a sentence with ${what} is named as unsupported`, async t => {
    const { unsupported = [], share = 1 } = await check(answer) ?? {}
    t.equal(unsupported.length, 1)
    t.strictSame(unsupported[0]?.missing, missing)
    t.ok(share < 1)
  })
}

test('what states nothing is not counted', async t => {
  t.equal(await check('Yes. Of course! What else?'), undefined)
  t.equal(await check('# A heading\n\nHere is how:'), undefined)
  t.match(await check('Yes. A task may run for 1,000 seconds [1].'), { sentences: 1, supported: 1 })
})

test('in another language than the passages facts are compared, words are not', async t => {
  t.match(await check('Eine Aufgabe darf 1.000 Sekunden laufen, und dann wird sie von dem Server beendet [1].'), { share: 1 })
  t.match(await check('Eine Aufgabe darf 3.000 Sekunden laufen, und dann wird sie von dem Server beendet [1].'), { share: 0, unsupported: [{ missing: ['3000'] }] })
})

test('any text is checked, and at most twenty sentences are named', async t => {
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(fc.string(), fc.constantFrom('[1]', '. ', '\n', '`', '```', '- ', 'Ä', '日本語。', '1,0', '?'))), async parts => {
    const found = await check(parts.join(''))
    return found === undefined || (found.supported <= found.sentences && found.unsupported.length <= Math.min(20, found.sentences - found.supported))
  }))
  const many = await check('Every operator should configure monitoring dashboards beforehand [1].\n'.repeat(30))
  t.match(many, { sentences: 30, supported: 0 })
  t.equal(many?.unsupported.length, 20)
})

test('no answer keeps the event loop for a long step, however it is written and whatever it cites', async t => {
  const passages = Array.from({ length: 100 }, () => hit(LIMITS.content.repeat(30)))
  const all = passages.map((_, i) => `[${i + 1}]`).join('')
  for (const piece of ['.', '.!?', '. ', '. [1', '. [1]', ' ', '1,', '1.', '`', '`a', '[', '[a](', '*a ', '_a ', '> ', '- ', '|', 'a B', '日本語。', 'No task runs here. ', `Zebras count unknown boats daily ${all}. `]) {
    const answer = piece.repeat(32_000 / piece.length)
    await watchLoop(t, () => checkGrounding(answer, passages as never, 'How long may a task run?'), { what: JSON.stringify(piece.slice(0, 40)) })
  }
})

test('an answer of a model reports how much of it rests on its passages', async t => {
  const server = await fakeOpenai(t, 'none', ['To cancel a task, post `tasks/cancel` [1]. ', 'It takes 99 minutes [1].'])
  const vac = { model: 'fake-model', openai: { base_url: server.url } }
  const { final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac })
  t.match(final.metadata, {
    answered: true, grounding: { sentences: 2, supported: 1, share: 0.5, unsupported: [{ sentence: 'It takes 99 minutes.', citations: [1], missing: ['99'] }] }
  })
  const silent = await fakeOpenai(t, 'none', ['The passages do not answer this question at all.'])
  const { final: { metadata } } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac: { ...vac, openai: { base_url: silent.url } } })
  t.match(metadata, { answered: false, grounding: undefined })
})
