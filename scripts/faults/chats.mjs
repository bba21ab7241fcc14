// Answers over the protocols of chat front ends whose process is killed while they are read: each reader has the text
// of an undisturbed one in the end, over as many connections as it takes.
import { setTimeout as delay } from 'node:timers/promises'
import { agUi } from '@polyvac/client/ag-ui'
import { aiSdk } from '@polyvac/client/ai-sdk'

export const PROTOCOLS = { ai_sdk: aiSdk, ag_ui: agUi }

/** Answers at once: the share that one owner has of the places of a process. */
const AT_ONCE = 4
const WORDS = 40
const TEXT = Array.from({ length: WORDS }, (_, i) => `word ${i} `).join('')
const MAX_MS = 60_000
const RETRY_MS = 50

/**
 * Kills the process of `count` answers of each protocol in their middle.
 * @returns `{ answers, killed, seconds, lost, duplicated, problems }`: `answers` counts those of killed processes
 */
export async function killUnderChats (replicas, count) {
  const began = performance.now()
  const seen = { answers: 0, lost: 0, duplicated: 0, problems: [] }
  for (const [name, protocol] of Object.entries(PROTOCOLS)) {
    for (let done = 0, round = 0; done < count; round++) {
      if (round > 4 * count) {
        seen.problems.push(`${name}: only ${done} answers of ${count} lost their process`)
        break
      }
      const after = 1 + (round * 7) % (WORDS - 10)
      const readers = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => read(replicas, protocol, i === 0 ? after : undefined)))
      for (const [i, { text, run, problem }] of readers.entries()) {
        if (new Set(replicas.executed().filter(execution => execution.run === run).map(({ pid }) => pid)).size < 2) {
          if (problem !== undefined) seen.problems.push(`${name}, an answer that nothing disturbed: ${problem}`)
          continue
        }
        if (done++ >= count) continue
        seen.answers++
        if (text.length < TEXT.length) seen.lost++
        else if (text !== TEXT) seen.duplicated++
        if (problem !== undefined || text !== TEXT) seen.problems.push(`${name} after ${after} words, answer ${i}: ${problem ?? JSON.stringify(text)}`)
      }
    }
  }
  seen.seconds = (performance.now() - began) / 1000
  return seen
}

/** Reads an answer to its end. @param kills the word after which its process is killed */
async function read (replicas, protocol, kills) {
  const reader = { text: '', run: undefined, problem: undefined }
  const signal = AbortSignal.timeout(MAX_MS)
  try {
    for await (const { delta = '', text = reader.text + delta, run = reader.run } of begun(replicas, protocol, signal)) {
      Object.assign(reader, { text, run })
      if (kills === undefined || !text.includes(`word ${kills} `)) continue
      kills = undefined
      const pid = replicas.executed().findLast(execution => execution.run === run)?.pid
      replicas.replicas.find(({ host }) => host.pid === pid)?.host.kill()
    }
  } catch (err) {
    reader.problem = `${err.code ?? err.name}: ${err.message}`
  }
  return reader
}

/** The updates of an answer, which is asked for until a replica takes the question. */
async function * begun (replicas, protocol, signal) {
  for (let isBegun = false; !isBegun;) {
    try {
      for await (const update of protocol.ask({ base: replicas.url, vac: 'demo', text: `same ${WORDS} 15`, signal })) {
        isBegun = true
        yield update
      }
    } catch (err) {
      if (isBegun || signal.aborted) throw err
      await delay(RETRY_MS)
    }
  }
}
