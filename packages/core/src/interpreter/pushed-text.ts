import { isAnswerObject } from '../vac/chunk.js'
import { BYTES_PER_CHAR, type HeldBytes } from '../limits/memory-budget.js'
import type { InterpreterCallback } from '../vac/interpreter.js'

/** Awaited pushes wait while more characters than this are unread: back-pressure. */
const HIGH_WATER_CHARS = 64 * 1024

/** The text that an interpreter pushes by callback, until it is read. */
export class PushedText {
  readonly callback: InterpreterCallback
  /** The argument of `on_llm_end`. */
  ended: unknown
  // @keyed none: a list in order, of the unread text of one answer; maxUnreadChars, counted in the memory budget of
  //   its owner
  readonly #tokens: string[] = []
  #taken = 0
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

  /** The next token, or undefined where all is read. */
  take (): string | undefined {
    if (this.#taken === this.#tokens.length) return undefined
    const token = this.#tokens[this.#taken++] as string
    this.#unread -= token.length
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
    this.#tokens.push(token)
    this.#unread += token.length
    if (this.#unread > this.maxUnread) this.onOverflow()
    else if (this.#unread > HIGH_WATER_CHARS && !this.held.tryResize(this.#unread * BYTES_PER_CHAR)) this.onOverflow(this.held.refusal())
    else this.onText()
    if (this.#closed || this.#unread <= HIGH_WATER_CHARS) return Promise.resolve()
    return new Promise(resolve => { this.#writers.push(resolve) })
  }

  #release (): void {
    this.held.release()
    if (this.#writers.length > 0) for (const resolve of this.#writers.splice(0)) resolve()
  }
}
