/** No owner. */
const NONE = Symbol('none')
/** More than one owner. */
const SEVERAL = Symbol('several')

type Owners = string | undefined | typeof NONE | typeof SEVERAL

/**
 * A server may send a question of one owner just after its answer to that owner, while another owner has a call open. A
 * `ping` distinguishes them where a connection has one order of messages: what comes before its response may be of
 * those who were answered before it was sent. One ping is in flight at a time.
 */
export class AnswerFence {
  readonly #ping: (answered: () => void) => void
  /** Whose work the server has answered since the last ping. */
  #answered: Owners = NONE
  /** Whose work it had answered before the ping in flight. */
  #pinged: Owners = NONE
  #isWaiting = false

  /** @param ping sends a ping, and calls its argument with the response */
  constructor (ping: (answered: () => void) => void) {
    this.#ping = ping
  }

  /** The server has answered an owner. */
  answered (owner: string | undefined): void {
    this.#answered = this.#answered === NONE || this.#answered === owner ? owner : SEVERAL
  }

  /** Called where another owner than those who were answered has work, or begins some. */
  raise (): void {
    if (this.#isWaiting || this.#answered === NONE) return
    this.#isWaiting = true
    this.#pinged = this.#answered
    this.#answered = NONE
    this.#ping(() => {
      this.#isWaiting = false
      this.#pinged = NONE
      this.raise()
    })
  }

  /** Whether what comes now can only be of this owner, as far as answers are concerned. */
  isPassed (owner: string | undefined): boolean {
    return [this.#answered, this.#pinged].every(owners => owners === NONE || owners === owner)
  }
}
