// Questions in users' own words, conversations of two turns, and questions that the documents do not answer. The sets
// were written from documents, before anything was asked. What was tuned read those with an even number; `npm run bench
// -- questions` asks the others.
import { readFileSync } from 'node:fs'
import { PassageIndex, splitDocument } from '@polyvac/documents'
import { answerOf, questionOf } from './answers.mjs'
import { PEERS } from './answers/peers.mjs'
import { readUserSets } from './answers/users/documents.mjs'
import { figure } from './parts/figure.mjs'

const RANKS = 10
/** Samples of the bootstrap, and the seed of its random numbers. */
const SAMPLES = 10_000
const SEED = 1

export const title = "Questions in users' own words"
export const longestMs = 900_000

export async function run () {
  const isKept = ({ number }) => number % 2 === 1
  const sets = await measureSets(isKept)
  const { table, best, interval, ...all } = summary(sets)
  const talks = await measureConversations(isKept)
  const misses = await measureNearMisses(isKept)
  process.stdout.write(`${table}\n${best}: ${interval.map(points => points.toFixed(1)).join(' to ')} points\n${fifths(sets)}\n`)
  return [
    figure("in users' words: hit@1", all.hit1, '%', { atLeast: 50 }),
    figure(`in users' words: hit@1 more than ${best}, lower end of 95 %`, interval[0], 'points', { atLeast: 0 }),
    figure("in users' words: hit@5", all.hit5, '%', { atLeast: 82 }),
    figure("in users' words: correct", all.right, '%', { atLeast: 62 }),
    figure("in users' words: without an answer, answered", all.wrong, '%', { atMost: 12 }),
    figure('conversations: a changed subject is answered as if asked by itself', talks.changed.same, `of ${talks.changed.count}`, { atLeast: talks.changed.count }),
    figure('conversations: references resolved', talks.refers.right, `of ${talks.refers.count}`, { atLeast: 0.8 * talks.refers.count }),
    figure('near misses answered', misses.answered, `of ${misses.count}`, { atMost: 2 }),
    figure('questions next to them answered rightly', misses.right, `of ${misses.count}`, {})
  ]
}

/** For each set the places of the right passages, here and among peers, and what was answered. */
export async function measureSets (wanted, sets = readUserSets(), peers = PEERS) {
  const results = []
  for (const { name, documents, questions } of sets) {
    const index = await PassageIndex.open(':memory:')
    await index.upsert(documents)
    const passages = documents.flatMap(({ source, passages }) => passages.map(passage => ({ source, ...passage })))
    const engines = Object.fromEntries(await Promise.all(Object.entries(peers).map(async ([peer, open]) => [peer, await open(passages)])))
    const asked = []
    for (const question of questions.filter(wanted)) {
      const found = index.search({ query: question.text, threshold: 0, limit: RANKS }).map(({ content }) => content)
      const places = {}
      for (const [peer, search] of Object.entries(engines)) places[peer] = placeOf(question, await search(question.text, RANKS))
      asked.push({ ...question, place: placeOf(question, found), places, ...await answer(index, question) })
    }
    results.push({ name, passages: passages.length, asked })
    await index.close()
  }
  return results
}

function placeOf ({ gold }, texts) { return gold === undefined ? -1 : texts.findIndex(text => gold.test(text)) }

async function answer (index, { text, gold }, history) {
  const { text: reply, isAnswered: answered, score } = await answerOf(index, query => index.search(query), text, history)
  return { reply, answered, right: answered && gold?.test(reply) === true, score }
}

/** Percentages over all sets, the best peer, and the interval of 95 % of the difference to it in hit@1, in points. */
export function summary (sets) {
  const of = asked => {
    const answerable = asked.filter(({ gold }) => gold !== undefined)
    const others = asked.filter(({ gold }) => gold === undefined)
    const share = (list, test) => 100 * list.filter(test).length / (list.length || 1)
    return {
      questions: answerable.length,
      hit1: share(answerable, ({ place }) => place === 0),
      hit5: share(answerable, ({ place }) => place >= 0 && place < 5),
      answered: share(answerable, ({ answered }) => answered),
      right: share(answerable, ({ right }) => right),
      wrong: share(others, ({ answered }) => answered),
      peers: Object.fromEntries(Object.keys(asked[0].places).map(peer => [peer, share(answerable, ({ places }) => places[peer] === 0)]))
    }
  }
  const everything = sets.flatMap(({ asked }) => asked)
  const all = of(everything)
  const best = Object.keys(all.peers).sort((a, b) => all.peers[b] - all.peers[a])[0]
  const rows = [...sets.map(({ name, passages, asked }) => [name, passages, of(asked)]), ['all', '', all]].map(([name, passages, one]) =>
    [name.padEnd(20), String(passages).padEnd(9), ...['questions', 'hit1', 'hit5', 'answered', 'right', 'wrong'].map(key => one[key].toFixed(key === 'questions' ? 0 : 1).padEnd(9)),
      Object.entries(one.peers).map(([peer, value]) => `${peer} ${value.toFixed(1)}`).join(' ')].join(' '))
  const head = ['set'.padEnd(20), ...['passages', 'questions', 'hit@1', 'hit@5', 'answered', 'right', 'wrong', 'hit@1 of peers'].map(word => word.padEnd(9))].join(' ')
  const differences = everything.filter(({ gold }) => gold !== undefined).map(({ place, places }) => (place === 0) - (places[best] === 0))
  return { ...all, best, interval: best === undefined ? [NaN, NaN] : bootstrap(differences), table: [head, ...rows].join('\n') }
}

function bootstrap (values) {
  let state = SEED
  // the generator of Park and Miller: a run gives the same interval each time
  const random = () => (state = state * 48271 % 2147483647) / 2147483647
  const means = Array.from({ length: SAMPLES }, () => {
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random() * values.length)]
    return 100 * sum / values.length
  }).sort((a, b) => a - b)
  return [means[Math.floor(0.025 * SAMPLES)], means[Math.floor(0.975 * SAMPLES)]]
}

/** What the score promises, and how many of the questions with it have an answer. */
export function fifths (sets) {
  const asked = sets.flatMap(({ asked }) => asked)
  return ['score      questions predicted observed', ...Array.from({ length: 5 }, (_, at) => {
    const inside = asked.filter(({ score }) => Math.min(4, Math.floor(score * 5)) === at)
    const mean = value => inside.reduce((sum, one) => sum + value(one), 0) / (inside.length || 1)
    return `${(at / 5).toFixed(1)} to ${((at + 1) / 5).toFixed(1)} ${String(inside.length).padEnd(9)} ${mean(({ score }) => score).toFixed(2).padEnd(9)} ${mean(({ gold }) => gold === undefined ? 0 : 1).toFixed(2)}`
  })].join('\n')
}

/** Whether the second turn is answered as if asked by itself, and rightly. */
export async function measureConversations (wanted, report = () => undefined, file = 'conversations') {
  const result = { changed: { count: 0, same: 0, right: 0 }, refers: { count: 0, same: 0, right: 0 } }
  const numbers = { changed: 0, refers: 0 }
  for (const { index, lines } of await foldersOf(file)) {
    for (const [at, line] of lines.entries()) {
      if (!line.startsWith('> ')) continue
      const [kind, text, gold] = line.slice(2).split(' | ')
      if (!wanted({ number: ++numbers[kind] })) continue
      const first = { text: lines[at - 1].slice(2).split(' | ')[0] }
      const second = { text, ...gold !== '-' && { gold: new RegExp(gold, 'iu') } }
      const history = [{ role: 'user', content: first.text }, { role: 'assistant', content: (await answer(index, first)).reply }]
      const [single, inTalk] = [await answer(index, second), await answer(index, second, history)]
      const isRight = gold === '-' ? !inTalk.answered : inTalk.right
      result[kind].count++
      if (single.reply === inTalk.reply) result[kind].same++
      if (isRight) result[kind].right++
      report({ kind, first: first.text, second: text, gold, isRight, isSame: single.reply === inTalk.reply, reply: inTalk.reply, score: inTalk.score, single })
    }
    await index.close()
  }
  return result
}

/** How many near misses are answered, and how many of the questions next to them rightly. */
export async function measureNearMisses (wanted, report = () => undefined, file = 'near-misses') {
  const result = { count: 0, answered: 0, right: 0 }
  let number = 0
  for (const { index, lines } of await foldersOf(file)) {
    for (const line of lines) {
      const isMiss = line.startsWith('!')
      if (isMiss) number++
      if (!wanted({ number })) continue
      const question = isMiss ? { text: line.slice(2) } : questionOf(line.slice(2))
      const got = await answer(index, question)
      if (isMiss) result.count++
      if (isMiss && got.answered) result.answered++
      if (got.right) result.right++
      report({ isMiss, question, ...got })
    }
    await index.close()
  }
  return result
}

/** The folders of a file, each with an index, and the lines of its questions. */
async function foldersOf (file) {
  return await Promise.all(readFileSync(typeof file === 'string' && !file.startsWith('/') ? new URL(`answers/${file}.txt`, import.meta.url) : file, 'utf8').split(/^@ .*\n/m).slice(1).map(async part => {
    const [documents, lines] = [[], []]
    for (const line of part.split('\n')) {
      if (line.startsWith('= ')) documents.push({ source: line.slice(2), text: '' })
      else if (/^[?!>] /.test(line)) lines.push(line)
      else if (documents.length > 0) documents.at(-1).text += `${line}\n`
    }
    const index = await PassageIndex.open(':memory:')
    await index.upsert(documents.map(({ source, text }) => ({ source, passages: splitDocument(source, text) })))
    return { index, lines }
  }))
}
