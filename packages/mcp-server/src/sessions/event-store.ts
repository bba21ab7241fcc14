/** Bounds of the events that are kept for clients that resume a stream. */
export interface EventStoreLimits {
  /** Events of one stream. */
  readonly perStream: number
  /** Events of all streams. */
  readonly events: number
  /** Text of all events, in characters. */
  readonly chars: number
}

interface StoredEvent { readonly stream: string, readonly seq: number, readonly text: string }

/** The last events of each stream, oldest first. When a bound is reached, the oldest of all is deleted. */
export class EventStore {
  readonly #limits: EventStoreLimits
  readonly #streams = new Map<string, StoredEvent[]>()
  /** All events in the order of their arrival. */
  readonly #all = new Set<StoredEvent>()
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
    if (own.length > perStream) this.#deleteOldest(own[0]!)
    while (this.#all.size > events || this.#chars > chars) this.#deleteOldest(this.#all.values().next().value!)
  }

  /** The events after number `seq`; undefined if some of them are deleted. */
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

  /** @param event the oldest of its stream */
  #deleteOldest (event: StoredEvent): void {
    const own = this.#streams.get(event.stream)
    own?.shift()
    if (own?.length === 0) this.#streams.delete(event.stream)
    this.#all.delete(event)
    this.#chars -= event.text.length
  }
}
