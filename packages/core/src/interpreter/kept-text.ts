import { BYTES_PER_CHAR, memoryBudget, type HeldBytes } from '../limits/memory-budget.js'
import { beginning, SurrogateJoin } from '../basics/well-formed.js'

/** Characters of a block. */
const BLOCK_CHARS = 16 * 1024

/** Counts the text of an answer in progress. */
export function holdText (owner: string | undefined): HeldBytes {
  return memoryBudget.hold('the text of answers in progress', owner)
}

/**
 * The text of a run that is kept for its answer, where the interpreter gives none: complete blocks, and the chunks
 * since the last one. A string that grows by `+=` keeps an object for every chunk until it is read.
 */
export class KeptText {
  readonly pairs = new SurrogateJoin()
  /** Characters of all chunks, kept or not. */
  seen = 0
  #blocks = ''
  // @keyed none: a list in order, of the text of one answer; BLOCK_CHARS, then it is counted in the memory budget
  //   of its owner
  #pieces: string[] = []
  #kept = 0
  #held: HeldBytes | undefined
  /** Whether its bound or the memory budget allows no more; a stream then goes on, and its `answer` is truncated. */
  #isFull = false

  get isTruncated (): boolean { return this.seen > this.#kept }

  get text (): string { return this.#blocks + this.#pieces.join('') }

  /**
   * Adds a chunk, as far as `max` characters allow.
   * @param isWhole the reader waits for the whole text
   * @throws MEMORY_BUDGET_EXCEEDED for a reader of the whole text
   */
  add (chunk: string, max: number, isWhole: boolean, owner: string | undefined): void {
    this.seen += chunk.length
    const room = this.#isFull ? 0 : max - this.#kept
    if (room <= 0) return
    this.#isFull = room < chunk.length
    const text = this.#isFull ? beginning(chunk, room) : chunk
    this.#kept += text.length
    this.#pieces.push(text)
    const waiting = this.#kept - this.#blocks.length
    if (waiting < BLOCK_CHARS) return
    this.#held ??= holdText(owner)
    if (!this.#held.tryGrow(waiting * BYTES_PER_CHAR)) {
      if (isWhole) throw this.#held.refusal()
      this.#isFull = true
    }
    this.#blocks += this.#pieces.join('')
    this.#pieces = []
  }

  release (): void {
    this.#held?.release()
  }
}
