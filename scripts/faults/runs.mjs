// Runs whose process is killed while readers follow them.
import { setTimeout as delay } from 'node:timers/promises'
import { jsonOf, post, send } from '../attack/client.mjs'
import { until } from '../attack/host.mjs'
import { isPassing, readStream } from './load.mjs'

/** Runs at once: the share that one owner has of the places of a process. */
const AT_ONCE = 4
const WORDS = 40
const QUESTION = `same ${WORDS} 15`
const MAX_RUN_MS = 60_000
const RETRY_MS = 50
const MAX_ROUNDS = 3

/**
 * Kills processes until `count` runs have lost theirs while a reader had a part of their text.
 * @returns `{ runs, resumed, seconds, lost, duplicated, problems }`
 */
export async function killExecutors (replicas, count) {
  const began = performance.now()
  const seen = { runs: 0, resumed: 0, lost: 0, duplicated: 0, problems: [] }
  const undisturbed = await follow(replicas.url, await start(replicas.url), () => {})
  for (let round = 0; seen.runs < count && round < MAX_ROUNDS * count; round++) await killOne(replicas, undisturbed.text, round, seen)
  if (seen.runs < count) seen.problems.push(`only ${seen.runs} runs of ${count} lost their process`)
  seen.seconds = (performance.now() - began) / 1000
  return seen
}

/** Kills the process that answers a run once its reader has some words, a different number in each round. */
async function killOne (replicas, expected, round, seen) {
  const { url } = replicas
  const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => start(url)))
  const words = 1 + round * 7 % (WORDS - 10)
  let killed
  const kill = text => {
    if (killed !== undefined || !text.includes(`word ${words} `)) return
    killed = replicas.executed().findLast(({ run }) => run === ids[0])?.pid
    replicas.replicas.find(({ host }) => host.pid === killed)?.host.kill()
  }
  const readers = await Promise.all(ids.map((id, i) => follow(url, id, i === 0 ? kill : () => {}).catch(err => ({ problems: [err.message] }))))
  const executed = replicas.executed()
  for (const [i, id] of ids.entries()) {
    const attempts = executed.filter(({ run }) => run === id)
    if (attempts[0]?.pid === killed && attempts.length > 1) seen.runs++
    const { text, answers = 0, resumed = 0, problems } = readers[i]
    seen.resumed += resumed
    const late = await follow(url, id, () => {})
    const run = jsonOf(await get(url, `/vac/demo/runs/${id}`))
    const wrong = [...problems]
    if (answers !== 1) wrong.push(`its reader got ${answers} ends`)
    if (text !== expected) wrong.push(`its reader has ${JSON.stringify(text)}`)
    if (late.text !== expected) wrong.push(`a late reader has ${JSON.stringify(late.text)}`)
    if (run?.state !== 'completed' || run.answer !== expected) wrong.push(`it is ${run?.state}: ${JSON.stringify(run?.answer)}`)
    if (new Set(attempts.map(({ attempt }) => attempt)).size < attempts.length) wrong.push('an attempt was made twice')
    if ((text ?? '').length < expected.length || answers === 0) seen.lost++
    else if (text !== expected || answers > 1) seen.duplicated++
    seen.problems.push(...wrong.map(text => `run ${id} after ${words} words: ${text}`))
  }
}

async function get (url, path) {
  return await answered(() => send(url, { path, alone: true }))
}

export async function start (url, vac = 'demo', question = QUESTION) {
  // a request that is cut may have started a run that is not read
  const response = await answered(() => post(url, `/vac/${vac}`, { user_input: question, background: true }, {}, { alone: true }))
  return jsonOf(response).run_id
}

/** A request until it is answered: while its process is started again, the service is away. */
async function answered (ask) {
  const response = await until(async () => {
    const response = await ask()
    if (response.status !== 0 && !isPassing(response)) return response
    await delay(RETRY_MS)
    return undefined
  }, MAX_RUN_MS)
  if (response === undefined || response.status >= 300) throw new Error(`answered with ${response?.status} ${response?.text.slice(0, 300)}`)
  return response
}

/** Reads a run to its end as an EventSource does: a reader whose stream is cut sends the id of its last event. */
export async function follow (url, id, onText, vac = 'demo') {
  const reader = { text: '', answers: 0, resumed: 0, problems: [] }
  const deadline = Date.now() + MAX_RUN_MS
  let cursor
  let isBack = false
  while (reader.answers === 0) {
    if (Date.now() > deadline) throw new Error(`no end after ${MAX_RUN_MS / 1000} s, ${JSON.stringify(reader.text)} at event ${cursor}`)
    const onEvent = ({ id, event, data }) => {
      if (data === '[DONE]') return
      const { chunk, answer, error } = JSON.parse(data)
      if (isBack) reader.resumed++
      isBack = false
      if (id !== undefined) cursor = id
      if (event === 'restart') reader.text = ''
      if (answer !== undefined) reader.answers++
      if (event === 'error' && error.code !== 'TASK_STORE_UNAVAILABLE' && error.code !== 'SHUTTING_DOWN') reader.problems.push(`its reader got ${error.code}`)
      if (chunk === undefined) return
      reader.text += chunk
      onText(reader.text)
    }
    const response = await readStream(url, `/vac/${vac}/runs/${id}/stream`, undefined, cursor === undefined ? {} : { 'last-event-id': cursor }, onEvent)
    isBack = cursor !== undefined
    if (response !== undefined && !isPassing(response)) throw new Error(`the stream is answered with ${response.status} ${response.text.slice(0, 300)}`)
    if (reader.answers === 0) await delay(RETRY_MS)
  }
  return reader
}
