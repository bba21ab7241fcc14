import { LIST_KINDS, LISTS, type ListKind } from '@polyvac/mcp-protocol'
import { readList, type ItemList } from '../protocol/lists.js'

interface Entry {
  readonly value: Promise<ItemList>
  readonly at: number
}

/** The lists of one session: read lazily and kept until the server notifies of a change, or until they expire. */
export class ListCache {
  readonly #page: (method: string, params: object) => Promise<Record<string, unknown>>
  readonly #lifeMs: (kind: ListKind) => number
  // @keyed none: the keys are the four kinds of lists; a list has at most MAX_ITEMS and MAX_LIST_CHARS
  readonly #entries = new Map<ListKind, Entry>()

  constructor (page: (method: string, params: object) => Promise<Record<string, unknown>>, lifeMs: (kind: ListKind) => number) {
    this.#page = page
    this.#lifeMs = lifeMs
  }

  get (kind: ListKind): Promise<ItemList> {
    const known = this.#entries.get(kind)
    if (known !== undefined && performance.now() - known.at < this.#lifeMs(kind)) return known.value
    const value = readList(kind, params => this.#page(LISTS[kind].method, params))
    const entry = { value, at: performance.now() }
    this.#entries.set(kind, entry)
    value.catch(() => { if (this.#entries.get(kind) === entry) this.#entries.delete(kind) })
    return value
  }

  /** Age of a list in ms. */
  age (kind: ListKind): number {
    return performance.now() - (this.#entries.get(kind)?.at ?? -Infinity)
  }

  drop (kind: ListKind): void {
    this.#entries.delete(kind)
  }

  /** Drops the lists that a notification makes stale, and returns their kinds. */
  changed (method: string): ListKind[] {
    const kinds = LIST_KINDS.filter(kind => LISTS[kind].changed === method)
    for (const kind of kinds) this.drop(kind)
    return kinds
  }
}
