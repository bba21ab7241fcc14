// Conversations whose process is killed between a question and its answer.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { jsonOf, post, send } from '../attack/client.mjs'
import { until } from '../attack/host.mjs'
import { isPassing } from './load.mjs'

/** Conversations at once: the share that one owner has of the places of a process. */
const AT_ONCE = 4
/** Questions of a conversation. */
const TURNS = 5
const WORDS = 20
const ANSWER = Array.from({ length: WORDS }, (_, i) => `word ${i} `).join('')
const MAX_TURN_MS = 60_000
const RETRY_MS = 50
const MAX_ROUNDS = 5
/** Latest time of a kill after the question was sent, in ms: an answer takes 300. */
const MAX_KILL_MS = 250

/**
 * Kills processes until `count` questions have lost theirs before their answer. Clients repeat them with their keys.
 * @returns `{ turns, killed, seconds, lost, duplicated, problems }`
 */
export async function killBeforeAnswers (replicas, count) {
  const began = performance.now()
  const seen = { turns: 0, killed: 0, lost: 0, duplicated: 0, problems: [] }
  for (let round = 0; seen.killed < count && round < MAX_ROUNDS * count; round++) await talk(replicas, seen)
  if (seen.killed < count) seen.problems.push(`only ${seen.killed} questions of ${count} lost their process`)
  seen.seconds = (performance.now() - began) / 1000
  return seen
}

/** Some conversations side by side, with one kill in each turn. */
async function talk (replicas, seen) {
  const talks = Array.from({ length: AT_ONCE }, () => ({ id: randomUUID(), asked: [] }))
  for (let turn = 0; turn < TURNS; turn++) {
    const answers = talks.map(({ id, asked }) => {
      const question = `same ${WORDS} 15 ${id} ${turn}`
      asked.push(question)
      return ask(replicas.url, id, question).catch(err => ({ problem: err.message }))
    })
    await delay(Math.random() * MAX_KILL_MS)
    const victim = talks[turn % AT_ONCE].asked.at(-1)
    const pid = replicas.executed().findLast(({ question }) => question === victim)?.pid
    const replica = replicas.replicas.find(({ host }) => pid === undefined ? host.alive : host.pid === pid)
    replica?.host.kill()
    for (const [i, { answer, isCut, problem }] of (await Promise.all(answers)).entries()) {
      if (isCut) seen.killed++
      if (problem !== undefined) seen.problems.push(problem)
      else if (answer !== ANSWER) seen.problems.push(`${talks[i].asked.at(-1)} is answered ${JSON.stringify(answer)}`)
    }
  }
  const executed = replicas.executed()
  for (const { id, asked } of talks) await check(replicas.url, { id, asked, executed }, seen)
}

/** Compares the stored turns, and what interpreters got, with what was asked. */
async function check (url, { id, asked, executed }, seen) {
  seen.turns += asked.length
  const { turns = [] } = jsonOf(await answered(() => send(url, { path: `/vac/demo/conversations/${id}`, alone: true }))) ?? {}
  const stored = turns.map(({ question }) => question)
  seen.lost += asked.filter(question => !stored.includes(question)).length
  seen.duplicated += stored.length - new Set(stored).size
  if (JSON.stringify(stored) !== JSON.stringify(asked)) seen.problems.push(`conversation ${id} has ${JSON.stringify(stored)}, asked were ${JSON.stringify(asked)}`)
  for (const { question, state, answer } of turns) if (state !== 'completed' || answer !== ANSWER) seen.problems.push(`${question} is ${state}: ${JSON.stringify(answer)}`)
  for (const [i, question] of asked.entries()) {
    for (const { earlier, attempt } of executed.filter(({ kind, question: other }) => kind === 'answered' && other === question)) {
      if (JSON.stringify(earlier) !== JSON.stringify(asked.slice(0, i))) seen.problems.push(`attempt ${attempt} at ${question} got ${JSON.stringify(earlier)}`)
    }
  }
}

/** A question until it is answered. `isCut`: a process that had it, or was to have it, is gone. */
async function ask (url, id, question) {
  let isCut = false
  const response = await answered(async () => {
    const response = await post(url, '/vac/demo', { user_input: question, conversation_id: id }, { 'idempotency-key': question }, { alone: true })
    isCut ||= response.status === 0
    return response
  })
  return { answer: jsonOf(response)?.answer, isCut }
}

async function answered (send) {
  const response = await until(async () => {
    const response = await send()
    if (response.status !== 0 && !isPassing(response)) return response
    await delay(RETRY_MS)
    return undefined
  }, MAX_TURN_MS)
  if (response === undefined || response.status >= 300) throw new Error(`answered with ${response?.status} ${response?.text.slice(0, 300)}`)
  return response
}
