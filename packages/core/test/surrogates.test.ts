import { test } from 'tap'
import fc from 'fast-check'
import { equal, ok } from 'node:assert'
import { createVacs, isAnswer, type Answer, type Chunk, type Interpreter, type Progress, type VacsOptions } from '../src/index.js'
import { searchMemory } from '../src/plugin.js'
import { commentText, jsonString, jsonText } from '../src/http/stream-text.js'

const vacOf = (streamInterpreter: Interpreter, more: Partial<VacsOptions> = {}) => createVacs({ vacs: ['docs'], streamInterpreter, ...more }).get('docs')

async function read (chunks: AsyncIterable<Chunk>): Promise<{ texts: string[], progress: Progress[], answer: Answer }> {
  const texts: string[] = []
  const progress: Progress[] = []
  for await (const chunk of chunks) {
    if (typeof chunk === 'string') texts.push(chunk)
    else if (isAnswer(chunk)) return { texts, progress, answer: chunk }
    else if ('progress' in chunk) progress.push(chunk)
  }
  throw new Error('no answer')
}

test('a text that is cut anywhere, also within surrogate pairs, arrives whole', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '日', '👍🏽', '😀', '🇩🇪', '\u200d'), maxLength: 12 })
  await fc.assert(fc.asyncProperty(text, fc.array(fc.nat(20)), fc.constantFrom('generator', 'callback', 'mixed', 'progress'), async (text, cuts, form) => {
    const places = [0, ...cuts.map(cut => Math.min(cut, text.length)).sort((a, b) => a - b), text.length]
    const pieces = places.map((place, i) => text.slice(place, places[i + 1] ?? place))
    const vac = vacOf(async function * (_q, _v, _h, { callback }) {
      for (const [i, piece] of pieces.entries()) {
        if (form === 'progress') yield { progress: i / pieces.length, message: '…' }
        if (form === 'callback' || (form === 'mixed' && i % 2 === 0)) await callback.on_llm_new_token(piece)
        else yield piece
      }
      if (text === '') return ''
    })
    const { texts, answer } = await read(vac.stream({ question: 'q' }))
    ok(texts.every(text => text !== '' && text.isWellFormed()))
    equal(texts.join(''), text)
    equal(answer.answer, text)
    equal((await vac.ask({ question: 'q' })).answer, text)
  }), { numRuns: 200 })
})

test('a text that a running sync generator pushes does not pull its next item', async t => {
  const vac = vacOf(function * (_q, _v, _h, { callback }) {
    callback.on_llm_new_token('\ud83d')
    yield '\ude00'
    callback.on_llm_new_token('a')
  })
  t.equal((await read(vac.stream({ question: 'q' }))).texts.join(''), '😀a')
  t.equal((await vac.ask({ question: 'q' })).answer, '😀a')
})

test('a half that stays unpaired becomes U+FFFD, in chunks and in the answer', async t => {
  for (const [pieces, whole] of [
    [['a\ud83d'], 'a\ufffd'], [['\ud83d'], '\ufffd'], [['\ude00'], '\ufffd'], [['\ud83d', 'a'], '\ufffda'], [['\ud83d', '\ud83d', '\ude00'], '\ufffd😀'],
    [['a', '\ude00\ud83d', '', '\ude00'], 'a\ufffd😀'], [['\ud83d', '\ude00\ud83d'], '😀\ufffd']
  ] as const) {
    const vac = vacOf(function * () { yield * pieces })
    const { texts, answer } = await read(vac.stream({ question: 'q' }))
    t.strictSame([texts.join(''), answer.answer, (await vac.ask({ question: 'q' })).answer], [whole, whole, whole], JSON.stringify(pieces))
    t.ok(texts.every(text => text.isWellFormed()))
  }
  const { texts, answer } = await read(vacOf(async function * () { yield 'a\ud83d'; return { answer: 'whole \ud83d' } }).stream({ question: 'q' }))
  t.strictSame([texts.join(''), answer.answer], ['a\ufffd', 'whole \ufffd'])
})

test('half of a pair becomes U+FFFD in every other text of an interpreter', async t => {
  const half = 'x\ud83d'
  const given = {
    answer: half,
    source_documents: [half, { page_content: half, metadata: { source: half } }],
    artifacts: [{ name: half, description: half, parts: [{ text: half }] }],
    metadata: { [half]: [half, { deep: half }] },
    sign_in: { url: half }
  }
  const vac = vacOf(async function * () {
    yield { progress: 0.5, message: half }
    yield `[[HEARTBEAT]]${half}[[/HEARTBEAT]]`
    yield given
  })
  const { texts, progress, answer } = await read(vac.stream({ question: 'q' }))
  const told: Progress[] = []
  const asked = await vac.ask({ question: 'q', onProgress: progress => { told.push(progress) } })
  for (const value of [texts, progress, told, answer, asked]) t.notMatch(JSON.stringify(value), /\\ud83d/)
  t.strictSame(texts, ['x\ufffd'])
  t.match(asked, { source_documents: [{ page_content: 'x\ufffd' }, { metadata: { source: 'x\ufffd' } }], artifacts: [{ name: 'x\ufffd' }], metadata: { 'x\ufffd': ['x\ufffd'] } })
  for (const result of [half, { input_required: half }, { auth_required: half }, { output: { content: half } }]) {
    t.notMatch(JSON.stringify(await vacOf(async () => result as never).ask({ question: 'q' })), /\\ud83d/)
  }
  const search = async () => [{ content: half, score: 1, metadata: { heading: half, list: [half] } }]
  const found = await searchMemory({ ...vac, memory: { search } }, { search_query: 'q' }, { signal: new AbortController().signal, timeoutMs: 10_000 })
  t.strictSame(found.results, [{ content: 'x\ufffd', score: 1, metadata: { heading: 'x\ufffd', list: ['x\ufffd'] } }])
})

test('a bound on the text of an answer does not cut a pair', async t => {
  const limits = { maxStreamedChars: 4 }
  const { texts, answer } = await read(vacOf(async function * () { yield 'abc'; yield '😀'; yield 'd' }, { limits }).stream({ question: 'q' }))
  t.strictSame(texts, ['abc', '😀', 'd'])
  t.strictSame([answer.answer, answer.metadata], ['abc', { truncated: true }])
})

test('nothing is an empty chunk, from a generator and by callback', async t => {
  const vac = vacOf(async function * (_q, _v, _h, { callback }) {
    for (const delta of ['a', undefined, null, '', 'b']) yield delta as string
    await callback.on_llm_new_token(undefined as never)
    await callback.on_llm_new_token(null as never)
    yield 'c'
  })
  const { texts, answer } = await read(vac.stream({ question: 'q' }))
  t.strictSame([texts, answer.answer], [['a', 'b', 'c'], 'abc'])
  t.equal((await vac.ask({ question: 'q' })).answer, 'abc')
  await t.rejects(vacOf(function * () { yield undefined as never }).ask({ question: 'q' }), { code: 'VAC_INVALID_RESULT', message: /no answer at all/ })
})

test('the JSON of a text is that of JSON.stringify', t => {
  for (let unit = 0; unit <= 0xffff; unit++) {
    const text = `a${String.fromCharCode(unit)}b`
    if (jsonString(text) !== JSON.stringify(text)) t.fail(`U+${unit.toString(16)}`)
  }
  for (const text of ['', 'a', '"', '\ud83d\ude00', '\ude00\ud83d', 'a\n']) t.equal(jsonString(text), JSON.stringify(text))
  t.end()
})

test('a comment of an event stream is one line, whatever its text', t => {
  t.equal(commentText('a\n\ndata: b'), ': a data: b\n')
  t.equal(jsonText('data: ', { a: 1 }, '\n\n'), 'data: {"a":1}\n\n')
  t.end()
})
