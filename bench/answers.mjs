// How well questions are answered: from documentation that npm packages ship, and from own folders of short notes. The
// weights of the score were fitted to every second question, and the figures are those of the others. These others are
// not unseen: the strength of the fit, the threshold of an answer and the bounds of the spelling correction were chosen
// with a look at both halves. `wrong` is the share of the questions from elsewhere that are answered, `nearby` that of
// the questions about the subject that the documents do not answer.
// With OPENAI_BASE_URL and EMBED, the name of a model on that server, passages and questions are embedded as well.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { documentsInterpreter, PassageIndex, splitDocument } from '@polyvac/documents'
import { FolderEmbedding } from '../packages/documents/dist/folder/folder-embedding.js'
import { figure } from './parts/figure.mjs'
import { PEERS } from './answers/peers.mjs'

const MODULES = fileURLToPath(new URL('../node_modules/', import.meta.url))
const RANKS = 10
/** The share of the questions without an answer that are about the subject, in the calibration. */
const NEARBY_SHARE = 1 / 3
const { EMBED, OPENAI_BASE_URL, OPENAI_API_KEY: apiKey } = process.env

export const title = 'Answers from documents'

export async function run () {
  const { results, calibration } = await measure(question => question.number % 2 === 1)
  process.stdout.write(`${report(results)}\n${calibrationTable(calibration)}\n`)
  const notes = total(results.filter(({ group }) => group === 'notes'))
  const docs = total(results.filter(({ group }) => group === 'docs'))
  const folder = total(results.filter(({ group }) => group === 'folder'))
  const article = total(results.filter(({ group }) => group === 'article'))
  const languages = results.filter(({ group }) => group === 'languages')
  const others = total(languages)
  return [
    figure('questions about the subject of the documents that they do not answer: answered', total(results.filter(({ group }) => group !== 'folder')).nearby, '%', {}),
    ...[['folders of notes', notes, 93, 87, 3], ['one article', article, 90, 82, 5], ['all notes in one folder', folder, 90, 82, 12], ['documentation', docs, 90, 82, 12], ['languages', others, 80, 70, 6]]
      .flatMap(([name, { answered, correct, wrong }, ...targets]) => [
        figure(`${name}: answered`, answered, '%', { atLeast: targets[0] }),
        figure(`${name}: correct`, correct, '%', { atLeast: targets[1] }),
        figure(`${name}: questions from elsewhere answered`, wrong, '%', { atMost: targets[2] })
      ]),
    figure('worst decile of the calibration with 20 questions or more', Math.max(...deciles(calibration).filter(({ count }) => count >= 20).map(({ error }) => error)), '', { atMost: 0.05 }),
    figure('hit@1 lost by one typing error', total(results).hit1 - total(results).typo, 'points', { atMost: 8 })
  ]
}

/** Asks the questions that `wanted` accepts, in every corpus. */
export async function measure (wanted, corpora = readCorpora()) {
  const results = []
  const calibration = []
  for (const corpus of corpora) {
    const answerable = corpus.questions.filter(question => question.gold !== undefined && wanted(question))
    const near = corpus.questions.filter(question => question.gold === undefined && wanted(question))
    const foreign = elsewhere(corpus, corpora).filter(wanted)
    // for the calibration a third of the questions have no answer, and a third of these are about the subject
    const nearby = near.length > 0 ? NEARBY_SHARE : 0
    const weights = { nearby: nearby * answerable.length / 2 / near.length, foreign: (1 - nearby) * answerable.length / 2 / foreign.length }
    const index = await PassageIndex.open(':memory:')
    await index.upsert(corpus.documents)
    const search = EMBED === undefined ? query => index.search(query) : await embedded(index, corpus.name)
    const passages = corpus.documents.flatMap(({ source, passages }) => passages.map(passage => ({ source, ...passage })))
    const figures = { name: corpus.name, group: corpus.group, passages: passages.length, questions: answerable.length, nearby: near.length, foreign: foreign.length }
    const texts = async query => (await search({ query, threshold: 0, limit: RANKS })).map(({ content }) => content)
    Object.assign(figures, await ranks(answerable, texts))
    figures.typo = (await ranks(answerable, question => texts(misspell(question)))).hit1
    figures.peers = {}
    for (const [name, open] of Object.entries(PEERS)) {
      const peer = await open(passages)
      figures.peers[name] = await ranks(answerable, question => peer(question, RANKS))
    }
    let answered = 0
    let correct = 0
    const wrong = { nearby: 0, foreign: 0 }
    for (const question of answerable) {
      const { text, isAnswered, score } = await answerOf(index, search, question.text)
      if (isAnswered) answered++
      if (isAnswered && question.gold.test(text)) correct++
      calibration.push({ score, weight: 1, isAnswerable: true })
    }
    for (const [kind, questions] of Object.entries({ nearby: near, foreign })) {
      for (const question of questions) {
        const { isAnswered, score } = await answerOf(index, search, question.text)
        if (isAnswered) wrong[kind]++
        calibration.push({ score, weight: weights[kind], isAnswerable: false })
      }
    }
    Object.assign(figures, { answered, correct, wrongNearby: wrong.nearby, wrongForeign: wrong.foreign })
    results.push(figures)
    await index.close()
  }
  return { results, calibration }
}

/** Questions that a corpus cannot answer: of folders of notes, or for those of packages. */
function elsewhere (corpus, corpora) {
  const isForeign = other => corpus.group === 'languages'
    ? other !== corpus && other.language === corpus.language
    : corpus.group === 'folder' ? ['docs', 'article'].includes(other.group) : other.group === 'notes' && subjectOf(other) !== subjectOf(corpus)
  return corpora.filter(isForeign).flatMap(({ questions }) => questions.filter(({ gold }) => gold !== undefined))
}

/** Two folders about one subject, such as 'ward' and 'ward-2', may answer each other's questions. */
function subjectOf ({ name }) { return name.replace(/-2$/, '') }

export function readCorpora () {
  const read = name => readFileSync(new URL(`answers/${name}.txt`, import.meta.url), 'utf8').split(/^@ /m).slice(1).map(part => {
    const [head, ...lines] = part.split('\n')
    const documents = []
    const questions = []
    for (const line of lines) {
      const [, mark, rest] = /^([=?!]) (.*)$/.exec(line) ?? []
      if (mark === '=') documents.push({ source: rest, text: '' })
      else if (mark === '!') questions.push({ text: rest, number: questions.length })
      else if (mark === '?') questions.push({ ...questionOf(rest), number: questions.length })
      else if (documents.length > 0) documents.at(-1).text += `${line}\n`
    }
    return { head: head.split(' '), documents: documents.map(({ source, text }) => ({ source, passages: splitDocument(source, text) })), questions }
  })
  const foldersOf = name => read(name).map(({ head, ...rest }) => ({ ...rest, name: head[0], group: 'notes', language: 'en' }))
  const notes = foldersOf('notes-en')
  return [
    ...notes,
    ...foldersOf('notes-en-2'),
    ...foldersOf('notes-en-3'),
    {
      name: 'all notes',
      parts: notes.map(({ name }) => name),
      group: 'folder',
      language: 'en',
      documents: notes.flatMap(({ name, documents }) => documents.map(({ source, passages }) => ({ source: `${name}/${source}`, passages }))),
      // what a folder does not answer, another does not either
      questions: notes.flatMap(({ questions }) => questions)
    },
    ...read('notes-more').map(({ head, ...rest }) => ({ ...rest, name: head[0], group: 'languages', language: head[0] })),
    ...read('packages').map(({ head, questions }) => {
      const documents = markdownOf(head[1])
      return { name: head[0], group: documents.length === 1 ? 'article' : 'docs', language: 'en', documents, questions }
    })
  ]
}

/** A question and what is right, of a line with ` | ` between them. */
export function questionOf (line) {
  const at = line.lastIndexOf(' | ') > 0 ? line.indexOf(' | ') : line.length
  return { text: line.slice(0, at), gold: new RegExp(line.slice(at + 3), 'iu') }
}

function markdownOf (path) {
  const root = join(MODULES, path)
  const files = statSync(root).isFile() ? [''] : readdirSync(root, { recursive: true }).filter(file => /\.md$/.test(file)).sort()
  return files.map(file => ({ source: file || path.split('/').at(-1), passages: splitDocument('a.md', readFileSync(join(root, file), 'utf8')) }))
}

/** A search that compares meanings as well. */
async function embedded (index, folder) {
  const log = { info () {}, warn: ({ reason }) => process.stderr.write(`${reason}\n`), error: ({ err }) => process.stderr.write(`${err.stack}\n`) }
  const server = { baseUrl: OPENAI_BASE_URL, model: EMBED, apiKey }
  const embedding = new FolderEmbedding({ vectors: () => index.vectors, findServer: async () => server, isNamed: true, folder, log, onProgress () {} })
  embedding.start()
  const { passages } = index.stats()
  while (index.vectors.count() < passages) await delay(50)
  return async query => index.search({ ...query, ...await embedding.meaningOf(query.query, passages, new AbortController().signal) })
}

/** The answer to a question, by a search of an index. */
export async function answerOf (index, search, question, history = []) {
  const memory = {
    search: async query => (await search(query)).map(({ content, score, likeness, source, heading }) => ({
      content, score, metadata: { source, heading, ...likeness !== undefined && { likeness } }
    })),
    terms: async (query, context) => index.terms(query, context)
  }
  const extra = { signal: new AbortController().signal, log: console, vac: {} }
  let last
  for await (const chunk of documentsInterpreter(memory)(question, 'bench', history, extra)) last = chunk
  const isAnswered = last.metadata?.answered === true
  return { text: last.answer, isAnswered, score: isAnswered ? last.metadata.score : last.metadata?.nearest?.score ?? 0 }
}

async function ranks (questions, search) {
  const places = []
  for (const { text, gold } of questions) places.push((await search(text)).findIndex(content => gold.test(content)))
  const share = test => places.filter(test).length
  return { hit1: share(place => place === 0), hit5: share(place => place >= 0 && place < 5), mrr: places.reduce((sum, place) => sum + (place < 0 ? 0 : 1 / (place + 1)), 0) }
}

/** Two letters in the middle of the longest word are exchanged. */
function misspell (question) {
  const longest = question.match(/[\p{L}\p{M}]+/gu).reduce((best, word) => word.length > best.length ? word : best, '')
  const at = Math.floor(longest.length / 2)
  return question.replace(longest, longest.slice(0, at - 1) + longest[at] + longest[at - 1] + longest.slice(at + 1))
}

/** Percentages over the questions of several corpora. */
function total (results) {
  const sum = key => results.reduce((all, one) => all + one[key], 0)
  const part = (key, of) => 100 * sum(key) / (sum(of) || 1)
  return {
    ...Object.fromEntries(['hit1', 'hit5', 'mrr', 'typo', 'answered', 'correct'].map(key => [key, part(key, 'questions')])),
    wrong: part('wrongForeign', 'foreign'),
    nearby: part('wrongNearby', 'nearby')
  }
}

export function report (results) {
  const rows = []
  for (const group of new Set(results.map(one => one.group))) {
    const members = results.filter(one => one.group === group)
    for (const one of [...members, ...members.length > 1 ? [{ ...merged(members), name: `all ${group}` }] : []]) {
      const { hit1, hit5, mrr, typo, answered, correct, wrong, nearby } = total([one])
      rows.push([one.name, one.passages, one.questions, ...[hit1, hit5, mrr, typo, answered, correct, wrong, nearby].map(value => value.toFixed(1)),
        Object.values(one.peers).map(peer => [peer.hit1, peer.mrr].map(value => (100 * value / one.questions).toFixed(0)).join('/')).join(' ')])
    }
  }
  const head = ['corpus', 'passages', 'questions', 'hit@1', 'hit@5', 'MRR', 'typo hit@1', 'answered', 'correct', 'wrong', 'nearby', `hit@1/MRR of ${Object.keys(PEERS).join(' ')}`]
  return [head, ...rows].map(row => row.map((cell, at) => at === 11 ? cell : String(cell).padEnd(at === 0 ? 14 : 10)).join(' ')).join('\n')
}

function merged (members) {
  const sum = (list, key) => list.reduce((all, one) => all + one[key], 0)
  const keys = ['passages', 'questions', 'nearby', 'foreign', 'hit1', 'hit5', 'mrr', 'typo', 'answered', 'correct', 'wrongNearby', 'wrongForeign']
  return {
    ...Object.fromEntries(keys.map(key => [key, sum(members, key)])),
    peers: Object.fromEntries(Object.keys(PEERS).map(name => [name, Object.fromEntries(['hit1', 'hit5', 'mrr'].map(key => [key, sum(members.map(one => one.peers[name]), key)]))]))
  }
}

function deciles (calibration) {
  return Array.from({ length: 10 }, (_, at) => {
    const inside = calibration.filter(({ score }) => Math.min(9, Math.floor(score * 10)) === at)
    const sum = value => inside.reduce((all, one) => all + one.weight * value(one), 0)
    const predicted = sum(({ score }) => score) / sum(() => 1)
    const observed = sum(({ isAnswerable }) => isAnswerable ? 1 : 0) / sum(() => 1)
    const deviation = Math.sqrt(observed * (1 - observed) * sum(({ weight }) => weight)) / sum(() => 1)
    return { at, count: inside.length, predicted, observed, deviation, error: Math.abs(predicted - observed) }
  })
}

export function calibrationTable (calibration) {
  return ['score      questions predicted observed standard error', ...deciles(calibration).map(({ at, count, predicted, observed, deviation }) =>
    `${(at / 10).toFixed(1)} to ${((at + 1) / 10).toFixed(1)} ${String(count).padEnd(9)} ${[predicted, observed, deviation].map(value => value.toFixed(2).padEnd(9)).join('')}`.trimEnd())].join('\n')
}
