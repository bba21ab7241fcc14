import fc from 'fast-check'
import { test, type Test } from 'tap'
import { splitDocument, PassageIndex } from '../src/index.js'

const TEXTS: Record<string, string> = {
  'tasks.md': '# Tasks\n\n## Cancel\n\nA task is canceled by its id. The worker stops.\n\n## Retry\n\nFailed work is tried again three times, with growing pauses.\n',
  'store.md': '# Store\n\nTasks are kept in SQLite, in a file with a write-ahead log. `max_tasks` bounds them; `bodyLimit` bounds a request.\n',
  'cats.md': '# Cats\n\nThe cat sleeps on the warm windowsill all afternoon.\n\n# 猫\n\n吾輩は猫である。名前はまだ無い。\n'
}

async function indexOf (t: Test, texts: Record<string, string>): Promise<PassageIndex> {
  const index = await PassageIndex.open(':memory:')
  t.teardown(async () => { await index.close() })
  await index.upsert(Object.entries(texts).map(([source, text]) => ({ source, passages: splitDocument(source, text) })))
  return index
}

test('the score is the share of the query\'s idf found in passage, headings and file name', async t => {
  const index = await indexOf(t, TEXTS)
  const [best] = index.search({ query: 'how do I cancel a task?' })
  t.equal(best?.heading, 'Tasks > Cancel')
  t.equal(best?.score, 1)
  const idf = (df: number): number => Math.log(1 + (5 - df + 0.5) / (df + 0.5))
  // "cat" is in one passage of five and in the name of the file of the other, "dog" in none
  const [half] = index.search({ query: 'sleeping dog', threshold: 0 })
  t.ok(Math.abs((half?.score ?? 0) - idf(1) / (idf(1) + idf(0))) < 1e-9)
})

test('words of headings and file names count as found in the passage', async t => {
  const index = await indexOf(t, TEXTS)
  t.equal(index.search({ query: 'store ahead log' })[0]?.source, 'store.md')
  t.equal(index.search({ query: 'retry growing pauses tasks' })[0]?.score, 1)
})

test('question words count only in a query without other words', async t => {
  const index = await indexOf(t, TEXTS)
  t.equal(index.search({ query: 'please tell me what the windowsill is about' })[0]?.score, 1)
  t.ok(index.search({ query: 'the' }).length > 0)
})

test('compound names are found whole and in parts', async t => {
  const index = await indexOf(t, TEXTS)
  for (const query of ['max_tasks', 'max tasks', 'bodyLimit', 'body limit', 'body_limit', 'bodylimit']) {
    t.equal(index.search({ query })[0]?.source, 'store.md', query)
  }
})

test('scripts without spaces are searched by word', async t => {
  const index = await indexOf(t, TEXTS)
  t.match(index.search({ query: '名前' })[0]?.content, /吾輩は猫である/)
  t.strictSame(index.search({ query: '犬' }), [])
})

test('accents and case are ignored', async t => {
  const index = await indexOf(t, { 'a.md': 'Ein Café in ZÜRICH.' })
  for (const query of ['cafe zurich', 'CAFÉ zürich']) t.equal(index.search({ query })[0]?.score, 1, query)
})

test('nonsense finds nothing, exact text has the score 1', async t => {
  const index = await indexOf(t, TEXTS)
  t.strictSame(index.search({ query: 'xyzzy plugh frotz' }), [])
  t.strictSame(index.search({ query: 'the capital of France' }), [])
  for (const [source, text] of Object.entries(TEXTS)) {
    for (const { content } of splitDocument(source, text)) t.ok((index.search({ query: content })[0]?.score ?? 0) >= 0.99, content)
  }
})

test('better coverage comes first, then BM25', async t => {
  const index = await indexOf(t, { 'a.md': 'apple and a lot of other words that make it long', 'b.md': 'apple', 'c.md': 'apple pear' })
  t.strictSame(index.search({ query: 'apple pear', threshold: 0 }).map(hit => hit.source), ['c.md', 'b.md', 'a.md'])
})

test('arguments out of range are refused with status 400', async t => {
  const index = await indexOf(t, TEXTS)
  for (const bad of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { limit: 1e9 }, { limit: NaN }, { limit: 1.5 }, { threshold: -0.1 }, { threshold: 1.1 }, { threshold: NaN }, { query: 7 as never }]) {
    t.throws(() => index.search({ query: 'task', ...bad }), { code: 'DOCUMENTS_INVALID_SEARCH', statusCode: 400 })
  }
  t.ok(index.search({ query: 'task', limit: 100, threshold: 0 }).length > 0)
})

test('a query longer than 2,000 characters is cut', async t => {
  const index = await indexOf(t, TEXTS)
  t.equal(index.search({ query: 'windowsill ' + 'cat '.repeat(2_000) })[0]?.source, 'cats.md')
  t.strictSame(index.search({ query: 'x'.repeat(100_000) }), [])
})

test('a query is never parsed as syntax: any string can be searched, with scores from the threshold to 1', async t => {
  const index = await indexOf(t, TEXTS)
  const hostile = fc.constantFrom('"', '""', '*', ' NEAR ', 'NEAR(', ' AND ', ' OR ', ' NOT ', '^', ':', '{head}:', '-', '+', '(', ')', '\0', "'", ';--', 'cat', 'task', '\ud800', 'ﬁ', '_', '__')
  const query = fc.oneof(fc.string({ unit: 'binary' }), fc.array(hostile, { maxLength: 12 }).map(parts => parts.join('')))
  fc.assert(fc.property(query, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 100 }), (text, threshold, limit) => {
    const hits = index.search({ query: text, threshold, limit })
    return hits.length <= limit && hits.every((hit, at) => hit.score >= threshold - 1e-9 && hit.score <= 1 && (at === 0 || hit.score <= (hits[at - 1]?.score ?? 1) + 1e-9))
  }), { numRuns: 500 })
})

test('a higher threshold only removes hits', async t => {
  const words = ['task', 'cat', 'store', 'sleep', 'worker', 'log', 'file', 'dog', 'pauses', 'max_tasks']
  const index = await indexOf(t, TEXTS)
  fc.assert(fc.property(fc.subarray(words, { minLength: 1 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (chosen, a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a]
    const found = (threshold: number): string[] => index.search({ query: chosen.join(' '), threshold, limit: 100 }).map(hit => hit.content)
    const many = found(low)
    return found(high).every(content => many.includes(content))
  }))
})

test('upsert replaces a document, and remove deletes it', async t => {
  const index = await indexOf(t, TEXTS)
  await index.upsert([{ source: 'cats.md', passages: splitDocument('cats.md', 'Now about elephants.') }])
  t.strictSame(index.search({ query: 'windowsill' }), [])
  t.equal(index.search({ query: 'elephant' })[0]?.source, 'cats.md')
  await index.remove(['cats.md'])
  t.strictSame(index.search({ query: 'elephant' }), [])
  t.strictSame(index.stats(), { files: 2, passages: 3 })
})

test('a write stops at its signal and leaves the index usable', async t => {
  const index = await indexOf(t, TEXTS)
  const controller = new AbortController()
  function * many (): Generator<{ source: string, passages: ReturnType<typeof splitDocument> }> {
    for (let number = 0; ; number++) {
      if (number === 2_000) controller.abort(new Error('enough'))
      yield { source: `${number}.md`, passages: splitDocument('a.md', `Document number ${number}.`) }
    }
  }
  await t.rejects(index.upsert(many(), { signal: controller.signal }), { message: 'enough' })
  t.equal(index.search({ query: 'windowsill' }).length, 1)
})

test('overlapping writes are not interleaved', async t => {
  const index = await indexOf(t, {})
  const version = (number: number): { source: string, passages: ReturnType<typeof splitDocument> }[] =>
    [{ source: 'a.md', passages: splitDocument('a.md', Array.from({ length: 500 }, (_, at) => `# ${at}\n\nversion${number}`).join('\n\n')) }]
  await Promise.all([1, 2, 3].map(async number => { await index.upsert(version(number)) }))
  t.equal(index.stats().passages, 500)
  t.equal(index.search({ query: 'version3', limit: 1 }).length, 1)
  t.strictSame(index.search({ query: 'version1' }), [])
})
