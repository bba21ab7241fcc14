import { isAnswerObject } from '../vac/chunk.js'
import { BYTES_PER_CHAR, type HeldBytes } from '../limits/memory-budget.js'
import type { InterpreterCallback } from '../vac/interpreter.js'
import type { Step } from '../vac/step.js'

/** Awaited pushes wait while more characters than this are unread: back-pressure. */
const HIGH_WATER_CHARS = 64 * 1024

/** A step in its place among the text. */
export interface PushedStep {
  readonly step: Step
  readonly chars: number
}

/** The text that an interpreter pushes by callback, and the steps of its tools, until they are read. */
export class PushedText {
  readonly callback: InterpreterCallback
  /** The argument of `on_llm_end`. */
  ended: unknown
  // @keyed none: a list in order, of the unread text and steps of one answer; maxUnreadChars, counted in the memory
  //   budget of its owner
  readonly #tokens: Array<string | PushedStep> = []
  #taken = 0
  /** All that were pushed, and all that were taken. */
  #pushedCount = 0
  #takenCount = 0
  #unread = 0
  // @keyed none: a list in order, of the pushes of one interpreter that wait for the reader
  #writers: Array<() => void> = []
  #closed = false

  /**
   * @param maxUnread most characters held; past it, and where `held` cannot count more, `onOverflow` is called
   * @param held counts the unread text
   * @param onText called when there is text to read
   */
  constructor (
    readonly maxUnread: number, readonly held: HeldBytes, readonly onText: () => void, readonly onOverflow: (err?: Error) => void
  ) {
    // the deltas of a model have chunks without content
    const push = (token?: string | null): Promise<void> => this.#push(String(token ?? ''))
    const finish = async (result?: unknown): Promise<void> => {
      if (isAnswerObject(result) || typeof result === 'string') this.ended = result
    }
    this.callback = { on_llm_new_token: push, on_llm_end: finish, async_on_llm_new_token: push, async_on_llm_end: finish }
  }

  /** What was pushed until now: the place of what the interpreter yields next to it. */
  get mark (): number { return this.#pushedCount }

  /** The next text or step, of those before a mark; undefined where all is read. */
  take (mark = Infinity): string | PushedStep | undefined {
    if (this.#taken === this.#tokens.length || this.#takenCount >= mark) return undefined
    const token = this.#tokens[this.#taken++]!
    this.#takenCount++
    this.#unread -= sizeOf(token)
    if (this.#taken === this.#tokens.length) this.#tokens.length = this.#taken = 0
    if (this.#unread <= HIGH_WATER_CHARS) this.#release()
    return token
  }

  /** The reader has stopped: later pushes are dropped, waiting ones resolve. */
  close (): void {
    this.#closed = true
    this.#release()
  }

  #push (token: string): Promise<void> {
    if (this.#closed || token === '') return Promise.resolve()
    this.#add(token)
    if (this.#unread > this.maxUnread) this.onOverflow()
    else if (this.#unread > HIGH_WATER_CHARS && !this.held.tryResize(this.#unread * BYTES_PER_CHAR)) this.onOverflow(this.held.refusal())
    else this.onText()
    if (this.#closed || this.#unread <= HIGH_WATER_CHARS) return Promise.resolve()
    return new Promise(resolve => { this.#writers.push(resolve) })
  }

  /** Adds a step; false where the queue is full. A step never fails the answer. */
  pushStep (step: PushedStep): boolean {
    if (this.#closed) return true
    const unread = this.#unread + step.chars
    if (unread > this.maxUnread || (unread > HIGH_WATER_CHARS && !this.held.tryResize(unread * BYTES_PER_CHAR))) return false
    this.#add(step)
    this.onText()
    return true
  }

  #add (token: string | PushedStep): void {
    this.#tokens.push(token)
    this.#pushedCount++
    this.#unread += sizeOf(token)
  }

  #release (): void {
    this.held.release()
    if (this.#writers.length > 0) for (const resolve of this.#writers.splice(0)) resolve()
  }
}

function sizeOf (token: string | PushedStep): number {
  return typeof token === 'string' ? token.length : token.chars
}
