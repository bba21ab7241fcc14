/** The time that somebody may be silent. It begins anew with every sign of life, and stands still while it is paused. */
export class Patience {
  readonly #ms: number
  readonly #over: () => void
  #timer: NodeJS.Timeout | undefined
  #pauses = 0
  #ended = false

  constructor (ms: number, over: () => void) {
    this.#ms = ms
    this.#over = over
    this.#timer = setTimeout(over, ms)
  }

  refresh (): void {
    this.#timer?.refresh()
  }

  pause (): void {
    this.#pauses++
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  resume (): void {
    if (--this.#pauses === 0 && !this.#ended) this.#timer = setTimeout(this.#over, this.#ms)
  }

  end (): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }
}
