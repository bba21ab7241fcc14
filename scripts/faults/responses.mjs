// Streams of responses that are disturbed in their middle: read again from any event, they are complete.
import { setTimeout as delay } from 'node:timers/promises'
import { jsonOf, send } from '../attack/client.mjs'
import { until } from '../attack/host.mjs'
import { isPassing, readStream } from './load.mjs'

/** Responses at once: the share that one owner has of the places of a process. */
const AT_ONCE = 4
const WORDS = 40
/** The text of an undisturbed response. */
const TEXT = Array.from({ length: WORDS }, (_, i) => `word ${i} `).join('')
const BODY = { model: 'demo', input: `same ${WORDS} 15`, stream: true }
const MAX_RUN_MS = 60_000
const RETRY_MS = 50
const MAX_ROUNDS = 3

const ROUTE = '/openai/v1/responses'

/** What happens in the middle of a stream, by its name; `cuts` ends the connection of its reader. */
const DISTURBANCES = {
  reload: { cuts: true },
  'second reader': { async cause (_replicas, { url, id, number }) { return problemsOf(await follow(url, { id, number: Math.floor(number / 2) }), TEXT, 'a second reader') } },
  'change of replica': { cuts: true, changes: true },
  stop: { async cause (replicas, { id }) { await replicas.restart(executorOf(replicas, id)) } },
  crash: { async cause (replicas, { id }) { executorOf(replicas, id)?.host.kill() } }
}

/**
 * Disturbs `count` streams in each way.
 * @returns `{ streams, resumed, seconds, lost, duplicated, problems }`
 */
export async function disturbResponses (replicas, count) {
  const began = performance.now()
  const seen = { streams: 0, resumed: 0, lost: 0, duplicated: 0, problems: [] }
  const { text: expected } = await follow(replicas.url, {})
  if (expected !== TEXT) throw new Error(`an undisturbed response has ${JSON.stringify(expected)}`)
  for (const [name, disturbance] of Object.entries(DISTURBANCES)) {
    let done = 0
    for (let round = 0; done < count && round < MAX_ROUNDS * count; round++) {
      const endsProcess = name === 'stop' || name === 'crash'
      const n = endsProcess ? AT_ONCE : Math.min(AT_ONCE, count - done)
      const after = 1 + (round * 7 + done) % (WORDS - 10)
      const streams = await Promise.all(Array.from({ length: n }, (_, i) => disturb(replicas, disturbance, after, endsProcess && i > 0)))
      for (const [i, stream] of streams.entries()) {
        // a process that stops lets its answers end for a while
        if (!stream.isBack && (name === 'crash' || !stream.isDisturbed)) continue
        if (done++ >= count) continue
        seen.streams++
        seen.resumed += stream.resumed
        const late = await readWhole(replicas.url, stream.id)
        const wrong = [...stream.found, ...problemsOf(stream, expected, 'its reader'), ...late === expected ? [] : [`it is ${JSON.stringify(late)} later`]]
        if ((stream.text ?? '').length < expected.length) seen.lost++
        else if (stream.text !== expected) seen.duplicated++
        seen.problems.push(...wrong.map(text => `${name} after ${after} words, stream ${i}: ${text}`))
      }
    }
    if (done < count) seen.problems.push(`only ${done} streams of ${count} were disturbed by ${name}`)
  }
  seen.seconds = (performance.now() - began) / 1000
  return seen
}

/** A stream of a response with a disturbance once its reader has some words. */
async function disturb (replicas, { cuts = false, changes = false, cause }, after, isWitness) {
  let caused
  let isDisturbed = false
  const urlOf = connection => changes ? replicas.replicas[connection % replicas.replicas.length].host.url : replicas.url
  const reader = await follow(urlOf, {}, (text, { id, number }) => {
    if (isDisturbed || isWitness || !text.includes(`word ${after} `)) return false
    isDisturbed = true
    caused = cause?.(replicas, { url: replicas.url, id, number })
    return cuts
  })
  return { ...reader, isDisturbed, isBack: reader.resumed > 0, found: await caused ?? [] }
}

function executorOf (replicas, id) {
  const run = id.slice('resp_'.length, -2).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  const pid = replicas.executed().findLast(execution => execution.run === run)?.pid
  return replicas.replicas.find(({ host }) => host.pid === pid)
}

function problemsOf ({ text, pieces, problems }, expected, who) {
  return [
    ...problems.map(problem => `${who} got ${problem}`),
    ...text === expected ? [] : [`${who} has ${JSON.stringify(text)}`],
    ...pieces === undefined || expected.endsWith(pieces) ? [] : [`the events of ${who} have ${JSON.stringify(pieces)}`]
  ]
}

/**
 * Reads a response until its end, over as many connections as it takes.
 * @param url an address, or a function of the number of the connection
 * @param reader `id` and `number`, the last event that the reader has; without them the response is created
 * @param onText called with the text so far; true cuts the connection
 * @returns `{ id, number, text, pieces, resumed, problems }`: `text` is the last one, `pieces` that of its events
 */
async function follow (url, { id, number = -1 }, onText = () => false) {
  const reader = { id, number, text: undefined, resumed: 0, problems: [] }
  const texts = new Map()
  const deadline = Date.now() + MAX_RUN_MS
  for (let connection = 0; reader.text === undefined; connection++) {
    if (Date.now() > deadline) throw new Error(`no end after ${MAX_RUN_MS / 1000} s at event ${reader.number}`)
    if (reader.id !== undefined && connection > 0) reader.resumed++
    const onEvent = ({ data }) => {
      if (data === '[DONE]') return undefined
      const { type, sequence_number: next, response, item_id: item, delta, error } = JSON.parse(data)
      if (type === 'response.in_progress' && next === reader.number) return undefined
      if (next !== reader.number + 1) reader.problems.push(`event ${next} after ${reader.number}`)
      reader.number = next
      reader.id ??= response?.id
      if (type === 'error') reader.problems.push(error.code)
      if (type === 'response.completed') {
        const [message] = response.output
        reader.text = textOf(response)
        reader.pieces = texts.get(message.id) ?? ''
      }
      if (type !== 'response.output_text.delta') return undefined
      const text = (texts.get(item) ?? '') + delta
      texts.set(item, text)
      return onText(text, reader)
    }
    const address = typeof url === 'function' ? url(connection) : url
    const refused = reader.id === undefined
      ? await readStream(address, ROUTE, BODY, {}, onEvent)
      : await readStream(address, `${ROUTE}/${reader.id}?stream=true&starting_after=${reader.number}`, undefined, {}, onEvent)
    if (refused !== undefined && !isPassing(refused) && !/shutting_down|task_store_unavailable/.test(refused.text)) throw new Error(`the stream is answered with ${refused.status} ${refused.text.slice(0, 300)}`)
    if (reader.text === undefined) await delay(RETRY_MS)
  }
  return reader
}

async function readWhole (url, id) {
  const response = await until(async () => {
    const response = await send(url, { path: `${ROUTE}/${id}`, alone: true })
    if (response.status === 200) return response
    await delay(RETRY_MS)
    return undefined
  }, MAX_RUN_MS)
  return response === undefined ? undefined : textOf(jsonOf(response))
}

const textOf = ({ output }) => output.flatMap(({ content }) => content?.map(({ text }) => text) ?? []).join('')
