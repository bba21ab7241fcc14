// The interpreters that are measured. Each is minimal, so that the figures are those of the protocol.
import { setTimeout as delay } from 'node:timers/promises'

/** 100 bytes of text with exactly one `@`, by which readers count chunks wherever a packet ends. */
export const CHUNK = `${'the quick brown fox jumps over the lazy dog '.repeat(3).slice(0, 99)}@`

const BYTES = Buffer.from(CHUNK)

/** The end of every stream here. Without it the text of a long stream would have to be kept for the answer. */
export const END = { answer: 'done', source_documents: [] }

/** When the signal of each interpreter aborted: the id from the request and the monotonic clock in ns. */
export const aborts = []

/** Chunks yielded by `endless`, to prove that a stalled reader stalls its source. */
export const made = { chunks: 0 }

export async function instant (question) {
  return { answer: question }
}

/**
 * @param extra `chunks`, `chars` of a chunk, default 100, and `waits`: for its signal, after the chunks; those of the
 *   Responses API are in `request`
 */
export async function * counted (question, name, history, extra) {
  const { chunks, chars = CHUNK.length, waits = false } = extra.chunks === undefined ? extra.request : extra
  const chunk = CHUNK.slice(-chars)
  for (let i = 0; i < chunks; i++) yield chunk
  if (waits) await aborted(extra.signal)
  return END
}

export async function * endless () {
  for (;;) {
    made.chunks++
    // a new string for each chunk, as from a model: one constant would hide the cost of keeping them
    yield BYTES.toString('latin1')
  }
}

/** Yields one chunk, then waits for its signal. */
export async function * waiting (question, name, history, { id, signal }) {
  yield CHUNK
  await aborted(signal, id)
}

/** Yields a chunk every 20 ms until its signal. */
export async function * ticking (question, name, history, { id, signal }) {
  const end = aborted(signal, id)
  while (!signal.aborted) {
    yield CHUNK
    await Promise.race([delay(20), end])
  }
}

function aborted (signal, id) {
  return new Promise(resolve => {
    signal.addEventListener('abort', () => {
      aborts.push([id, process.hrtime.bigint().toString()])
      resolve()
    }, { once: true })
  })
}
