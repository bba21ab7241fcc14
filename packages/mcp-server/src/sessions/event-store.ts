/** Bounds of what is kept for readers that come back. */
export interface EventStoreLimits {
  /** Events of one stream. */
  readonly perStream: number
  /** Events of all streams. */
  readonly events: number
  /** Text of all events, in characters. */
  readonly chars: number
}

interface Stored { readonly stream: string, readonly seq: number, readonly text: string }

/** The last events of each stream, oldest first. When a bound is reached, the oldest of all goes. */
export class EventStore {
  readonly #limits: EventStoreLimits
  readonly #streams = new Map<string, Stored[]>()
  /** In the order in which they came; a stream that is dropped leaves its events here, to be passed over. */
  readonly #all = new Set<Stored>()
  #chars = 0

  constructor (limits: EventStoreLimits) {
    this.#limits = limits
  }

  get size (): number { return this.#all.size }
  get chars (): number { return this.#chars }

  add (stream: string, seq: number, text: string): void {
    const { perStream, events, chars } = this.#limits
    const event = { stream, seq, text }
    let own = this.#streams.get(stream)
    if (own === undefined) this.#streams.set(stream, own = [])
    own.push(event)
    this.#all.add(event)
    this.#chars += text.length
    if (own.length > perStream) this.#forget(own[0]!)
    while (this.#all.size > events || this.#chars > chars) this.#forget(this.#all.values().next().value!)
  }

  /** What came after number `seq`; undefined where some of it is gone. */
  after (stream: string, seq: number): Array<{ readonly seq: number, readonly text: string }> | undefined {
    const own = this.#streams.get(stream) ?? []
    const rest = own.filter(event => event.seq > seq)
    return rest.length > 0 && rest[0]!.seq !== seq + 1 ? undefined : rest
  }

  drop (stream: string): void {
    for (const event of this.#streams.get(stream) ?? []) {
      this.#all.delete(event)
      this.#chars -= event.text.length
    }
    this.#streams.delete(stream)
  }

  /** The oldest of a stream. */
  #forget (event: Stored): void {
    const own = this.#streams.get(event.stream)
    own?.shift()
    if (own?.length === 0) this.#streams.delete(event.stream)
    this.#all.delete(event)
    this.#chars -= event.text.length
  }
}
