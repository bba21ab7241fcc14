import { isTerminal, isWaiting, type TaskEvent, type TaskHead, type TaskStore } from '@polyvac/tasks'

/** What an event changes for readers: text that follows what they have, or all of it after a restart. */
interface Change { readonly text: string, readonly isRestart?: boolean }

/**
 * The text that the readers of a run have, over its attempts. A new attempt answers again from the beginning: while its
 * text repeats what readers have nothing is sent, and where it differs they begin anew.
 */
export class SentText {
  #sent = ''
  /** Characters of the present attempt, while they repeat what was sent. Undefined: its text is what was sent. */
  #repeated: number | undefined

  /** The text before the event with number `seq`, a new attempt. */
  static async before (store: TaskStore, { owner, id }: TaskHead, seq: number): Promise<SentText> {
    const text = new SentText()
    for await (const event of store.events(owner, id)) {
      if (event.seq >= seq) break
      text.apply(event)
    }
    return text
  }

  apply ({ delta, retry, state }: TaskEvent): Change {
    if (state === 'submitted') {
      this.#sent = ''
      this.#repeated = undefined
    }
    if (retry !== undefined) this.#repeated = 0
    let change: Change = { text: '' }
    if (delta !== undefined) change = this.#add(delta)
    const isEnd = state !== undefined && (isTerminal(state) || isWaiting(state)) && state !== 'canceled' && state !== 'failed'
    // the answer is shorter than what readers have
    if (isEnd && this.#repeated !== undefined && this.#repeated < this.#sent.length) change = this.#restart('')
    return change
  }

  #add (delta: string): Change {
    if (this.#repeated === undefined) {
      this.#sent += delta
      return { text: delta }
    }
    const expected = this.#sent.slice(this.#repeated, this.#repeated + delta.length)
    if (!delta.startsWith(expected)) return this.#restart(delta)
    this.#repeated += expected.length
    if (this.#repeated < this.#sent.length) return { text: '' }
    const rest = delta.slice(expected.length)
    if (rest !== '') this.#repeated = undefined
    this.#sent += rest
    return { text: rest }
  }

  #restart (delta: string): Change {
    this.#sent = this.#sent.slice(0, this.#repeated) + delta
    this.#repeated = undefined
    return { text: this.#sent, isRestart: true }
  }
}
