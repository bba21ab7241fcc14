// The work of the task scenarios, the same for both servers. The question of a stream is its number of chunks.
import { setTimeout as delay } from 'node:timers/promises'
import { CHUNK, END, instant, made } from './interpreters.mjs'

export const WORD_CHARS = 20
export const BLOCK_CHARS = 64 * 1024
export const TICK_MS = 250

/** No two words are the same, so that a lost, doubled or swapped one shows in the text. */
export const word = i => `word ${i} `.padEnd(WORD_CHARS, '.')

export const text = chunks => Array.from({ length: chunks }, (_, i) => word(i)).join('')

const BLOCK = Buffer.from(text(BLOCK_CHARS / 16)).subarray(0, BLOCK_CHARS)

/** The text of every chunk of `flood`. */
export const block = () => BLOCK.toString('latin1')

/** How many of `ticking` run now, and the maximum so far. */
export const atOnce = { now: 0, most: 0 }

/** Ready-made words. */
async function * words (question) {
  for (let i = 0; i < Number(question); i++) yield word(i)
  return END
}

/** Ready-made chunks of 100 bytes. */
async function * chunks (question) {
  for (let i = 0; i < Number(question); i++) yield CHUNK
  return END
}

/** Large chunks, as fast as the reader takes them, each a new string as from a model. */
async function * flood (question) {
  for (let i = 0; i < Number(question); i++) {
    made.chunks++
    yield block()
  }
  return END
}

/** A word every quarter of a second. */
async function * ticking (question) {
  atOnce.most = Math.max(atOnce.most, ++atOnce.now)
  try {
    for (let i = 0; i < Number(question); i++) {
      await delay(TICK_MS)
      yield word(i)
    }
  } finally {
    atOnce.now--
  }
  return END
}

export const interpreters = { instant, words, chunks, flood, ticking }
