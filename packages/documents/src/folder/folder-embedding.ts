import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@polyvac/core'
import { beginning } from '@polyvac/core/plugin'
import { embedTexts, prefixesOf } from '../model/embedding-model.js'
import { codedCause, ModelError } from '../model/model-client.js'
import type { ModelServer } from '../model/model-server.js'
import { unrelatedCosines } from '../language/unrelated-texts.js'
import type { BarePassage, Meaning, NewVector, Vectors } from '../search/vectors.js'

/** Passages of one request. Local servers need about 100 ms for each. */
const BATCH_PASSAGES = 16
/** Longest text of a passage for a model, in characters: many models read 512 tokens. */
const MAX_TEXT = 2_000
/** A text that is refused is halved down to this length, in characters. */
const MIN_TEXT = 250
/** Longest wait for the vectors of passages, in ms: the first request loads the model. */
const BATCH_TIMEOUT_MS = 120_000
/** Longest wait for the vector of a question, in ms: its answer waits. */
const QUESTION_TIMEOUT_MS = 3_000
/** Time in ms without requests of questions after one has failed. */
const PAUSE_MS = 5_000
/** Time in ms to the next attempt to embed the passages, doubled after each failure. */
const RETRY_MS = 2_000
const MAX_RETRY_MS = 60_000
/** Questions whose vectors are kept: an answer searches more than once. */
const MAX_QUESTIONS = 50
/** A server that answers this way may not take the text. */
const REFUSED = /^HTTP (?:400|413|422|500)(?::|$)/

export interface FolderEmbeddingOptions {
  /** The vectors of the current index. */
  readonly vectors: () => Vectors
  readonly findServer: (signal: AbortSignal) => Promise<ModelServer | { readonly reason: string }>
  /** Whether the lack of a server is a problem: it is none with `auto`. */
  readonly isNamed: boolean
  readonly folder: string
  readonly log: Log
  readonly onProgress: (embedded: number) => void
}

type Text = Pick<NewVector, 'passage' | 'text'>

/** Fills the vectors of a folder in the background, and embeds questions. */
export class FolderEmbedding {
  readonly #options: FolderEmbeddingOptions
  readonly #closing = new AbortController()
  // @keyed model, and question of a caller | holds: the vector of the question | whose: all callers of the folder |
  //   bound: MAX_QUESTIONS; a question has at most maxQueryLength characters | share: of no owner: the vector of one
  //   that left is asked for again | test: packages/documents/test/kept-questions.test.ts: the vectors of questions
  //   are kept up to a bound, and the oldest one is asked for again
  readonly #questions = new Map<string, readonly number[]>()
  #onAttempt = (): void => {}
  /** Resolves with the first attempt: the passages have vectors, or the model server failed. */
  readonly attempted = new Promise<void>(resolve => { this.#onAttempt = resolve })
  /** Why the passages have no vectors yet; undefined while they are embedded, and for `auto` without a server. */
  waitsFor: string | undefined
  #running: Promise<void> | undefined
  #isWaiting = false
  /** Why passages or questions may have no vector. */
  #problem: string | undefined
  #pausedUntil = 0

  constructor (options: FolderEmbeddingOptions) {
    this.#options = options
  }

  /** Embeds the passages without a vector, now and until all have one. */
  start (): void {
    if (this.#closing.signal.aborted) return
    this.#isWaiting = true
    this.#running ??= this.#run(this.#closing.signal).catch((err: unknown) => {
      if (!this.#closing.signal.aborted) this.#options.log.error({ err, folder: this.#options.folder }, 'the documents cannot be embedded')
    }).finally(() => { this.#running = undefined })
  }

  async close (): Promise<void> {
    this.#closing.abort(new Error('closed'))
    this.#onAttempt()
    await this.#running
  }

  /**
   * How near the passages are to a question. `degraded` is the reason where that is not known, or not for all passages;
   * with `auto` and no server it is absent, since nothing works less than before.
   */
  async meaningOf (question: string, passages: number, signal: AbortSignal, owner?: string): Promise<{ readonly meaning?: Meaning, readonly degraded?: string }> {
    const vectors = this.#options.vectors()
    const model = vectors.model()
    const server = await this.#options.findServer(signal)
    if ('reason' in server) return model === undefined && !this.#options.isNamed ? {} : degraded(server.reason)
    if (passages === 0) return {}
    const embedded = model?.name === server.model ? vectors.count() : 0
    if (model === undefined || embedded === 0) return degraded(this.#problem ?? `0 of ${passages} passages are embedded so far`)
    let vector: readonly number[]
    try {
      vector = await this.#vectorOf(question, server, signal, owner)
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      return degraded(error.reason)
    }
    const meaning = await vectors.meaningOf(question, vector, model)
    return {
      ...meaning === undefined ? degraded('the model does not know the language of the question') : { meaning },
      ...embedded < passages && degraded(`${embedded} of ${passages} passages are embedded so far`)
    }
  }

  async #vectorOf (question: string, server: ModelServer, signal: AbortSignal, owner: string | undefined): Promise<readonly number[]> {
    const text = prefixesOf(server.model).question + question
    const key = `${server.model} ${text}`
    const known = this.#questions.get(key)
    if (known !== undefined) return known
    if (performance.now() < this.#pausedUntil) throw new ModelError(this.#problem ?? 'the server failed')
    try {
      const [vector = []] = await embedTexts({ server, texts: [text], signal, owner, timeoutMs: QUESTION_TIMEOUT_MS })
      for (const oldest of this.#questions.keys()) {
        if (this.#questions.size < MAX_QUESTIONS) break
        this.#questions.delete(oldest)
      }
      this.#questions.set(key, vector)
      return vector
    } catch (error) {
      if (error instanceof ModelError) {
        this.#problem = error.reason
        this.#pausedUntil = performance.now() + PAUSE_MS
      }
      throw error
    }
  }

  async #run (signal: AbortSignal): Promise<void> {
    const { findServer, isNamed, folder, log } = this.#options
    let wait = RETRY_MS
    while (this.#isWaiting) {
      this.#isWaiting = false
      const server = await findServer(signal)
      try {
        if ('reason' in server) throw new ModelError(server.reason)
        await this.#fill(server, signal)
        this.#problem = this.waitsFor = undefined
        this.#onAttempt()
        wait = RETRY_MS
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        this.#onAttempt()
        const { reason } = error
        const cause = codedCause(error)
        const isExpected = 'reason' in server && !isNamed
        if (!isExpected && this.#problem !== reason) log.warn({ folder, reason, ...cause !== undefined && { err: cause } }, 'the documents cannot be embedded; searches compare only words until the server answers')
        this.#problem = reason
        this.waitsFor = isExpected ? undefined : reason
        this.#isWaiting = true
        await delay(wait, undefined, { signal, ref: false })
        wait = Math.min(MAX_RETRY_MS, 2 * wait)
      }
    }
  }

  async #fill (server: ModelServer, signal: AbortSignal): Promise<void> {
    const { folder, log, onProgress } = this.#options
    const vectors = this.#options.vectors()
    const started = performance.now()
    if (vectors.model()?.name !== server.model) {
      const unrelated = await unrelatedCosines(async texts => await embedTexts({ server, texts, signal, timeoutMs: BATCH_TIMEOUT_MS }))
      vectors.setModel({ name: server.model, unrelated })
    }
    const { passage: prefix } = prefixesOf(server.model)
    let added = 0
    for await (const bare of vectors.bare()) {
      const missing = bare.map(passage => ({ passage: passage.id, text: prefix + textOf(passage) }))
        .filter(({ passage, text }) => !vectors.reuse(passage, text))
      for (let at = 0; at < missing.length; at += BATCH_PASSAGES) {
        const batch = missing.slice(at, at + BATCH_PASSAGES)
        vectors.add(await embedPassages(batch, server, signal))
        added += batch.length
        onProgress(vectors.count())
      }
    }
    await vectors.sweep()
    if (added > 0) log.info({ folder, model: server.model, passages: added, ms: Math.round(performance.now() - started) }, 'documents embedded')
  }
}

function degraded (reason: string): { degraded: string } {
  return { degraded: `embeddings: ${reason}` }
}

/** The text of a passage for a model. */
function textOf ({ source, heading, content }: BarePassage): string {
  return beginning(`${heading === '' ? source.replace(/\.[^./]*$/, '') : heading}\n${content}`, MAX_TEXT)
}

/** Texts that the model refuses are embedded one by one, and shorter. */
async function embedPassages (batch: readonly Text[], server: ModelServer, signal: AbortSignal): Promise<NewVector[]> {
  const request = { server, signal, timeoutMs: BATCH_TIMEOUT_MS }
  try {
    const vectors = await embedTexts({ ...request, texts: batch.map(({ text }) => text) })
    return batch.map((one, at) => ({ ...one, vector: vectors[at] }))
  } catch (error) {
    if (!(error instanceof ModelError) || !REFUSED.test(error.reason)) throw error
    // a server that fails for any text is down
    await embedTexts({ ...request, texts: ['text'] })
    const alone: NewVector[] = []
    for (const one of batch) alone.push({ ...one, vector: await embedShortened(one.text, request) })
    return alone
  }
}

async function embedShortened (text: string, request: { readonly server: ModelServer, readonly signal: AbortSignal, readonly timeoutMs: number }): Promise<number[] | undefined> {
  for (let length = text.length; length >= Math.min(MIN_TEXT, text.length); length = Math.floor(length / 2)) {
    try {
      return (await embedTexts({ ...request, texts: [beginning(text, length)] }))[0]
    } catch (error) {
      if (!(error instanceof ModelError) || !REFUSED.test(error.reason)) throw error
    }
  }
  return undefined
}
