import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { createVacs } from '@polyvac/core'
import { searchMemory } from '@polyvac/core/plugin'
import { openDatabase } from '@polyvac/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { combineMemories, documentsInterpreter, openFolder, type FolderMemory, type FolderOptions } from '../src/index.js'
import { bytesOf, unitOf, VectorCodes } from '../src/search/vector-codes.js'
import { ask } from './fixtures/ask.js'
import { embeddingServer, vectorOf, type EmbeddingServer } from '../../../test/fixtures/embedding-server.js'
import { folderOf } from './fixtures/folder.js'

const NOTES = {
  'harbour.md': '# Harbour\n\n## Fees\n\nA berth costs 63 guilders for each night.\n\n## Water\n\nThe tap stands behind the shed.\n',
  'tasks.md': '# Orders\n\nTo abort a job, post its number to the office.\n',
  'bakery.md': '# Bakery\n\nThe rye loaf is sold from seven.\n'
}
/** It shares no word with its passage, nor a synonym. */
const QUESTION = 'How do I withdraw an errand?'

/** An open folder whose passages are all embedded. */
async function embedded (t: Test, server: EmbeddingServer, path: string, options: Partial<FolderOptions> = {}): Promise<FolderMemory> {
  const memory = await openFolder({
    path, indexFile: ':memory:', watch: false, embed: { model: 'test-embed', openai: { base_url: server.url, api_key: 'sk-secret' } }, ...options
  })
  t.teardown(async () => { await memory.close() })
  await memory.ready
  await until(() => memory.stats().embedded === memory.stats().passages, 'all passages are embedded')
  return memory
}

/** A memory that waits for a server which hangs: the vector of one passage is missing. */
async function waiting (t: Test): Promise<{ server: EmbeddingServer, memory: FolderMemory }> {
  const server = await embeddingServer(t)
  const path = await folderOf(t, NOTES)
  const memory = await embedded(t, server, path)
  server.state = 'hangs'
  await writeFile(join(path, 'new.md'), '# Choir\n\nThe hymn is sung on Sunday.\n')
  await memory.refresh()
  return { server, memory }
}

/** A search with the reason why it is degraded. */
async function search (memory: FolderMemory, query: string): Promise<{ sources: unknown[], degraded: string | undefined, scores: number[] }> {
  let degraded: string | undefined
  const hits = await memory.search({ query, threshold: 0, limit: 3, onDegraded (reason) { degraded = reason } })
  return { sources: hits.map(({ metadata }) => metadata['source']), degraded, scores: hits.map(({ score }) => score) }
}

test('a passage without the words of the question is found by its meaning', async t => {
  const server = await embeddingServer(t)
  const path = await folderOf(t, NOTES)
  const words = await openFolder({ path, indexFile: ':memory:', watch: false })
  t.teardown(async () => { await words.close() })
  t.strictSame((await search(words, QUESTION)).sources, [])
  const memory = await embedded(t, server, path)
  const { sources, degraded } = await search(memory, QUESTION)
  t.equal(sources[0], 'tasks.md')
  t.equal(degraded, undefined)
  const [best] = await memory.search({ query: QUESTION, threshold: 0 })
  t.match(best?.metadata, { source: 'tasks.md', lines: '3', likeness: Number })
  t.ok((best?.metadata['likeness'] as number) > 0.5)
  t.equal(server.headers[0]?.authorization, 'Bearer sk-secret')
  const both = combineMemories([memory, words])
  t.match(await both.search({ query: QUESTION, threshold: 0 }), [{ metadata: { source: 'tasks.md' } }])
})

test('an answer without a model quotes a passage that only its meaning has found', async t => {
  const server = await embeddingServer(t)
  const memory = await embedded(t, server, await folderOf(t, NOTES))
  const { final } = await ask(documentsInterpreter(memory, { threshold: 0.1 }), QUESTION)
  t.match(final.answer, /To abort a job, post its number to the office\. \[1\]/)
  t.match(final.source_documents[0]?.metadata, { source: 'tasks.md', likeness: Number })
  t.match((await ask(documentsInterpreter(memory), 'How far is the moon?')).final.metadata, { answered: false })
})

test('meanings raise the score of a passage that has the words, too', async t => {
  const server = await embeddingServer(t)
  const memory = await embedded(t, server, await folderOf(t, NOTES))
  const question = 'What is the price of a berth?'
  const { sources, scores: [score = 0] } = await search(memory, question)
  t.equal(sources[0], 'harbour.md')
  server.state = 'down'
  const { scores: [less = 1] } = await search(memory, `${question} `)
  t.ok(score > less, `${score} above ${less}`)
})

test('vectors are stored: after a restart only changed passages are embedded', async t => {
  const server = await embeddingServer(t)
  const path = await folderOf(t, NOTES)
  const indexFile = join(path, '..', 'index.db')
  await (await embedded(t, server, path, { indexFile })).close()
  const all = server.texts().length
  const second = await embedded(t, server, path, { indexFile })
  t.equal(server.texts().length, all)
  t.equal((await search(second, QUESTION)).sources[0], 'tasks.md')
  server.requests.length = 0
  await writeFile(join(path, 'harbour.md'), NOTES['harbour.md'].replace('behind the shed', 'beside the crane'))
  await rename(join(path, 'bakery.md'), join(path, 'bread.md'))
  await rm(join(path, 'tasks.md'))
  await second.refresh()
  await until(() => second.stats().embedded === second.stats().passages, 'all passages are embedded')
  t.strictSame(server.texts(), ['Harbour > Water\nThe tap stands beside the crane.'])
  await second.close()
  const database = await openDatabase(indexFile)
  t.teardown(() => { database.close() })
  t.strictSame(database.prepare('SELECT count(*) FROM vector').column(), [3], 'vectors of texts that are gone are deleted')
})

test('another model embeds all passages again', async t => {
  const server = await embeddingServer(t)
  const path = await folderOf(t, NOTES)
  const indexFile = join(path, '..', 'index.db')
  await (await embedded(t, server, path, { indexFile })).close()
  server.requests.length = 0
  const memory = await openFolder({ path, indexFile, watch: false, embed: { model: 'nomic-embed-text', openai: { base_url: server.url } } })
  t.teardown(async () => { await memory.close() })
  await until(() => server.texts().some(text => text.startsWith('search_document: ')) && memory.stats().embedded === memory.stats().passages,
    'the other model has embedded all passages')
  t.equal((await search(memory, QUESTION)).sources[0], 'tasks.md')
  t.equal(server.texts().filter(text => text.startsWith('search_document: ')).length, 4)
  t.equal(server.texts().at(-1), `search_query: ${QUESTION}`, 'as the card of this model demands')
})

test('while the server is down searches compare words and report it; afterwards they recover', async t => {
  const server = await embeddingServer(t)
  server.state = 'down'
  const path = await folderOf(t, NOTES)
  const warnings: string[] = []
  const log = { debug () {}, info () {}, error () {}, warn (_fields: object, message = '') { warnings.push(message) } }
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log, embed: { model: 'test-embed', openai: { base_url: server.url, api_key: 'sk-secret' } } })
  t.teardown(async () => { await memory.close() })
  await memory.ready
  await until(() => warnings.length > 0, 'the failure is logged')
  t.match(warnings, [/^the documents cannot be embedded; searches compare only words/])
  t.match(memory.stats(), { ready: true, embedded: 0, embeddingProblem: /^(?:connection failed|the connection broke|the server)/ })
  const found = await search(memory, 'What does a berth cost?')
  t.equal(found.sources[0], 'harbour.md')
  t.match(found.degraded, /^embeddings: (?:connection failed|the connection broke|the server)/)
  const vacs = createVacs({ vacs: ['docs'], parts: { docs: { streamInterpreter: documentsInterpreter(memory), memory } } })
  const result = await searchMemory(vacs.get('docs'), { search_query: 'What does a berth cost?', similarity_threshold: 0 }, { signal: new AbortController().signal, timeoutMs: 5_000 })
  t.equal(result.degraded, found.degraded)
  const { final } = await ask(documentsInterpreter(memory), 'What does a berth cost?')
  t.match(final, { answer: /63 guilders/, metadata: { answered: true, degraded: found.degraded } })
  t.match((await ask(documentsInterpreter(memory), 'How far is the moon?')).final.metadata, { answered: false, degraded: found.degraded })
  t.notMatch(JSON.stringify([result, final]), /sk-secret|127\.0\.0\.1/)
  server.state = 'works'
  await until(() => memory.stats().embedded === memory.stats().passages, 'all passages are embedded')
  await until(async () => (await search(memory, QUESTION)).sources[0] === 'tasks.md', 'questions are embedded again')
  t.equal((await search(memory, QUESTION)).degraded, undefined)
  await until(() => memory.stats().embeddingProblem === undefined, 'no passage waits')
  t.equal(warnings.length, 1)
})

for (const [state, reason] of [
  ['down', /^embeddings: (?:connection failed|the connection broke|the server)/], ['nonsense', 'embeddings: the server sent an unreadable response'],
  ['endless', 'embeddings: the response is too long'], ['hangs', 'embeddings: no vectors within 3 s']
] as const) {
  test(`a server that is later ${state} degrades only the search, and is not asked for some seconds`, async t => {
    const server = await embeddingServer(t)
    const memory = await embedded(t, server, await folderOf(t, NOTES))
    server.state = state
    t.match(await search(memory, 'Who sells the rye loaf?'), { sources: ['bakery.md'], degraded: reason })
    const requests = server.arrived
    t.match(await search(memory, 'Where is the tap?'), { sources: ['harbour.md'], degraded: reason })
    t.equal(server.arrived, requests)
  })
}

test('texts that the model refuses are shortened, and the others are embedded', async t => {
  const server = await embeddingServer(t)
  server.longest = 600
  const long = `The song is about ships. ${'word '.repeat(220)}`
  const memory = await embedded(t, server, await folderOf(t, { ...NOTES, 'long.md': `# Long\n\n${long}\n` }))
  t.match((await search(memory, 'hymn vessel')).sources[0], 'long.md')
  server.longest = 100
  const refused = await embedded(t, server, await folderOf(t, { ...NOTES, 'long.md': `# Long\n\n${long}\n` }))
  t.equal((await search(refused, QUESTION)).sources[0], 'tasks.md')
})

test('auto takes the first embedding model of the configured server, and is silent without a server', async t => {
  const server = await embeddingServer(t)
  const memory = await embedded(t, server, await folderOf(t, NOTES), { embed: { model: 'auto', openai: { base_url: server.url } } })
  t.equal((await search(memory, QUESTION)).sources[0], 'tasks.md')
  const chatOnly = await embeddingServer(t, ['chat-model'])
  const none = await openFolder({ path: await folderOf(t, NOTES), indexFile: ':memory:', watch: false, embed: { model: 'auto', openai: { base_url: chatOnly.url } } })
  t.teardown(async () => { await none.close() })
  t.match(await search(none, 'What does a berth cost?'), { sources: ['harbour.md'], degraded: undefined })
})

test('a search is degraded until all passages are embedded', async t => {
  const { server, memory } = await waiting(t)
  await search(memory, 'a first question waits in vain')
  server.state = 'works'
  await until(async () => (await search(memory, QUESTION)).sources[0] === 'tasks.md', 'questions are embedded again')
  t.match((await search(memory, QUESTION)).degraded, /^embeddings: 4 of 5 passages are embedded so far$/)
})

test('closing ends a request for vectors, and an aborted search does not wait for one', async t => {
  const { memory } = await waiting(t)
  const stop = new AbortController()
  const left = t.rejects(memory.search({ query: 'first', signal: stop.signal }), { message: 'left' })
  const closed = t.rejects(memory.search({ query: 'second' }), { code: 'DOCUMENTS_CLOSED' })
  stop.abort(new Error('left'))
  await left
  await memory.close()
  await closed
})

test('a search that closing interrupts while it reads vectors answers, or fails with DOCUMENTS_CLOSED', async t => {
  const server = await embeddingServer(t)
  // so many that their vectors are read in several turns
  const path = await folderOf(t, { 'many.md': Array.from({ length: 3_000 }, (_, at) => `# Job ${at}\n\nShip ${at}.\n`).join('\n') })
  const indexFile = join(path, '..', 'index.db')
  await (await embedded(t, server, path, { indexFile })).close()
  const ends = new Set<string>()
  const turn = async (count: number): Promise<void> => { for (let at = 0; at < count; at++) await setImmediate() }
  for (let turns = 0; turns < 30; turns++) {
    const memory = await embedded(t, server, path, { indexFile })
    // closing would wait for the look for passages without a vector
    await turn(100)
    const { answered } = server
    const end = memory.search({ query: QUESTION, threshold: 0 }).then(() => 'answered', (error: { code?: string }) => String(error.code))
    while (server.answered === answered) await turn(1)
    await turn(turns)
    await memory.close()
    ends.add(await end)
  }
  t.strictSame([...ends].filter(end => end !== 'DOCUMENTS_CLOSED' && end !== 'answered'), [])
})

test('in a language that the model does not know only the words decide', async t => {
  const server = await embeddingServer(t)
  const memory = await embedded(t, server, await folderOf(t, { 'порт.md': '# Порт\n\nСтоянка стоит 63 гульдена за ночь.\n', 'хлеб.md': '# Хлеб\n\nРжаной хлеб продают с семи часов.\n' }))
  t.match(await search(memory, 'Сколько стоит стоянка?'), { sources: ['порт.md'], degraded: 'embeddings: the model does not know the language of the question' })
  t.match(await ask(documentsInterpreter(memory), 'Где находится музей?'), { final: { metadata: { answered: false } } })
})

test('options of the embedding are checked', async t => {
  const path = await folderOf(t, NOTES)
  for (const embed of ['', 7, {}, { model: '' }, { model: 'x', openai: 'http://127.0.0.1' }, { model: 'x', openai: null }, { model: 'x', ownPort: -1 }]) {
    await t.rejects(openFolder({ path, indexFile: ':memory:', embed: embed as never }), { code: 'DOCUMENTS_INVALID_OPTION', message: /embed/ })
  }
})

test('codes find the vectors that are nearest, also where the numbers of a model have one sign', async t => {
  let state = 7
  const random = (): number => { state = (state * 48_271) % 0x7fffffff; return state / 0x7fffffff }
  const vectors = Array.from({ length: 1_000 }, () => Array.from({ length: 96 }, () => 0.5 + random()))
  const stored = vectors.map((vector, at) => ({ passage: at + 1, value: bytesOf(vector) }))
  const many = new VectorCodes(stored.slice(0, 200).map(({ value }) => value))
  many.add(stored.slice(0, 300))
  many.add(stored.slice(300))
  for (const wanted of [0, 299, 300, 999]) {
    const near = (vectors[wanted] as number[]).map(number => number + 0.3 * random())
    const nearest = await many.nearest(unitOf(bytesOf(near)), 50)
    t.ok(nearest.includes(wanted + 1), `passage ${wanted + 1}`)
    t.ok(nearest.length >= 50 && nearest.length < 200 && new Set(nearest).size === nearest.length, `${nearest.length} passages`)
  }
  t.strictSame(await new VectorCodes([]).nearest(Float32Array.of(1), 5), [])
  const codes = new VectorCodes([bytesOf(vectorOf('a berth'))])
  codes.add([{ passage: 1, value: bytesOf([1, 2]) }])
  t.strictSame(await codes.nearest(Float32Array.from(vectorOf('a berth')), 5), [], 'vectors of another length are left out')
})
