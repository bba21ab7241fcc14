import { test } from 'tap'
import { createVacs, type Interpreter } from '../src/index.js'

const ask = async (interpreter: unknown): Promise<unknown> =>
  await createVacs({ vacs: ['demo'], streamInterpreter: interpreter as Interpreter }).get('demo').ask({ question: 'x' })

function nested (levels: number): unknown {
  let value: unknown = 'x'
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

test('an answer object that is too large or too deep fails its call, and is not converted', async t => {
  const cyclic: Record<string, unknown> = { answer: 'x' }
  cyclic.self = cyclic
  let converted = 0
  const counted = { toJSON () { converted++; return 'x' } }
  const results: Record<string, [result: unknown, problem: RegExp]> = {
    'a million sources': [{ answer: 'x', source_documents: Array(1_000_000).fill({ page_content: 'x', metadata: {} }), counted }, /more than 8388608 characters/],
    '50 MB in a key': [{ answer: 'x', data: ['x'.repeat(50_000_000)], counted }, /more than 8388608 characters/],
    '50 MB as the answer': [{ answer: 'x'.repeat(50_000_000) }, /more than 8388608 characters/],
    '100,000 levels': [{ answer: 'x', data: nested(100_000), counted }, /nested more than 128 levels deep/],
    'a cycle': [cyclic, /nested more than 128 levels deep, or contains itself/],
    'a getter that throws': [{ answer: 'x', get data () { throw new Error('no') } }, /cannot be converted to JSON/],
    'a large toJSON': [{ answer: 'x', data: { toJSON: () => 'x'.repeat(20_000_000) } }, /more than 8388608 characters/],
    'a typed array': [{ answer: 'x', data: new Uint8Array(10_000_000) }, /more than 8388608 characters/],
    'a text of 100 MB': ['x'.repeat(100_000_000), /a text of more than 16777216 characters/]
  }
  for (const [name, [result, message]] of Object.entries(results)) {
    await t.rejects(ask(() => result), { code: 'VAC_INVALID_RESULT', message }, name)
    await t.rejects(ask(async function * () { yield 'text'; return result }), { code: 'VAC_INVALID_RESULT', message }, `${name}, at the end of a stream`)
  }
  t.equal(converted, 0)
  await t.rejects(ask(function * () { yield 'x'.repeat(100_000_000) }), { code: 'VAC_INVALID_RESULT', message: /a chunk of more than 16777216 characters/ })
  t.match(await ask(() => ({ answer: 'x', data: nested(100), source_documents: Array(10_000).fill('a') })), { answer: 'x', source_documents: { length: 10_000 } })
})

test('an answer object with large texts becomes what JSON makes of it', async t => {
  const large = `\ud800"${'text '.repeat(100_000)}`
  const inherits = Object.assign(Object.create({ inherited: large }) as object, { own: large })
  const results: object[] = [
    { answer: large, source_documents: [], metadata: { list: [large, undefined, [large, 1]], at: new Date(0), missing: undefined } },
    { answer: 'x', source_documents: [], metadata: { inherits, toJson: { large, toJSON: () => 'short' }, map: new Map([['a', large]]) } },
    { answer: large, source_documents: [], metadata: JSON.parse(`{"__proto__":{"large":"${'x'.repeat(500_000)}"}}`) as object }
  ]
  // half of a surrogate pair is not text
  for (const result of results) t.ok(JSON.stringify(await ask(() => result)) === JSON.stringify(result).replaceAll('\\ud800', '\ufffd'))
})

test('an answer object becomes what JSON makes of it', async t => {
  class Source { page_content = 'x'; metadata = { at: new Date(0), no: undefined, run () {} } }
  const itself = { a: 1, toJSON () { return this } }
  const odd: object = {
    answer: 'x',
    source_documents: [],
    numbers: [-0, NaN, Infinity, 1e300, Object(1), Object(false), Object('text')],
    holes: [undefined, , Symbol('x'), () => {}], // eslint-disable-line no-sparse-arrays
    sets: [new Set([1]), new Map(), new Source(), Object.create(null), /x/, new Uint8Array(2), Buffer.from('x')],
    itself,
    keys: { toJSON: (key: string) => key },
    list: [{ toJSON: (key: string) => [key, typeof key] }],
    missing: { toJSON: () => undefined },
    [Symbol('x')]: 1
  }
  t.equal(JSON.stringify(await ask(() => odd)), JSON.stringify(odd))
  const given = { answer: 'x', metadata: { list: [1] } }
  const answer = await ask(() => given) as typeof given
  t.not(answer.metadata.list, given.metadata.list, 'a copy')
  await t.rejects(ask(() => ({ answer: 'x', data: 1n })), { code: 'VAC_INVALID_RESULT', message: /cannot be converted to JSON/ })
  await t.rejects(ask(() => ({ toJSON: () => ['x'] })), { code: 'VAC_INVALID_RESULT', message: /an array/ })
  await t.rejects(ask(() => ({ answer: 'x', data: { ['k'.repeat(9_000_000)]: 1 } })), { code: 'VAC_INVALID_RESULT', message: /more than 8388608/ })
})

test('interpreters that yield for ever without text do not block the event loop, and end at the timeout', async t => {
  const endless: Record<string, Interpreter> = {
    'a sync generator': function * () { for (;;) yield '' },
    'an async generator': async function * () { for (;;) yield '' },
    progress: async function * () { for (;;) yield { progress: 0 } }
  }
  for (const [name, interpreter] of Object.entries(endless)) {
    const vac = createVacs({ vacs: ['demo'], streamInterpreter: interpreter }).get('demo')
    await t.rejects(vac.ask({ question: 'x', timeoutMs: 100 }), { code: 'VAC_TIMEOUT' }, name)
  }
})
