import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Log } from '@polyvac/core'
import { deadlineSignal, isMissingThread } from '@polyvac/core/plugin'
import type { Passage } from '../text/passages.js'
import { splitDocument } from '../formats/split-document.js'
import type { SplitJob, SplitPart } from '../formats/split-thread.js'
import { damageOf } from '../formats/table.js'

/** A longer document, in characters, is split in a thread, since splitting it would block the event loop. */
const MAX_SPLIT_IN_PLACE = 16 * 1024

/** Longest time for splitting a document, or until its next part, in ms; a hostile one may need hours. */
const MAX_SPLIT_MS = 60_000

/** Heap of the thread, in MiB. */
const MAX_THREAD_MIB = 256

function reasonOf (err: unknown): string {
  return isMissingThread(err)
    ? 'its thread has no file in a bundle: leave @polyvac/documents out of the bundle (`external`) and install it next to it'
    : (err as Error).message
}

const NO_TEXT = 'it has no text'

/** The passages of a document, or why there are none. */
export interface SplitDocument {
  readonly passages: Passage[] | (() => Passage[])
  readonly problem?: string
  /** Whether splitting took too long, which may be due to a busy machine. */
  readonly isLate?: boolean
}

/** Splits the documents of one refresh; close it at its end. */
export class DocumentSplitter {
  readonly #log: Log
  #thread: Worker | undefined

  constructor (log: Log) {
    this.#log = log
  }

  /**
   * The passages of a document; a short one is split when they are asked for. On a failure, which is logged, there are
   * none, and `problem` is the reason.
   */
  async split (source: string, text: string | Uint8Array, signal: AbortSignal): Promise<SplitDocument> {
    if (typeof text === 'string' && text.length <= MAX_SPLIT_IN_PLACE) {
      const problem = damageOf(source, text)
      if (problem === undefined) return { passages: () => this.#splitInPlace(source, text) }
      this.#logDamage(source, problem)
      return { passages: [], problem }
    }
    const limit = deadlineSignal(MAX_SPLIT_MS, signal)
    const passages: Passage[] = []
    try {
      const thread = this.#thread ??= new Worker(new URL('../formats/split-thread.js', import.meta.url), {
        resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MIB }
      })
      const parts = on(thread, 'message', { signal: limit.signal }) as AsyncIterableIterator<[SplitPart]>
      thread.postMessage({ source, text } satisfies SplitJob)
      for await (const [{ passages: some, end, leftOut, missing, problem }] of parts) {
        limit.renew()
        if (problem !== undefined) {
          this.#logDamage(source, problem)
          return { passages: [], problem }
        }
        passages.push(...some)
        if (!end) continue
        if (missing !== undefined) this.#log.warn({ source, missing }, 'a part of the file is left out')
        if (leftOut > 0) this.#log.warn({ source, leftOut }, 'the end of the file is left out: it has too many passages')
        if (typeof text !== 'string' && passages.length === 0 && missing === undefined) return { passages, problem: NO_TEXT }
        return { passages }
      }
    } catch (err) {
      await this.close()
      signal.throwIfAborted()
      const problem = limit.signal.aborted ? 'it takes too long' : reasonOf(err)
      if (passages.length > 0) {
        this.#log.warn({ source, missing: `what follows its first ${passages.length} passages: ${problem}` }, 'a part of the file is left out')
        return { passages }
      }
      this.#logProblem(source, problem)
      return { passages, problem, isLate: limit.signal.aborted }
    } finally {
      limit.end()
    }
    return { passages }
  }

  /** What one file has must not end the refresh of all. */
  #splitInPlace (source: string, text: string): Passage[] {
    try {
      return splitDocument(source, text)
    } catch (err) {
      this.#logProblem(source, (err as Error).message)
      return []
    }
  }

  #logProblem (source: string, reason: string): void {
    this.#log.warn({ source, reason }, 'file left out: it cannot be split into passages')
  }

  #logDamage (source: string, reason: string): void {
    this.#log.warn({ source, reason }, 'file left out: it cannot be read')
  }

  /** Ends the thread. */
  async close (): Promise<void> {
    await this.#thread?.terminate()
    this.#thread = undefined
  }
}
