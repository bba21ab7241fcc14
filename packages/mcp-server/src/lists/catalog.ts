import type { Principal } from '@polyvac/core'
import { accessKey } from '@polyvac/core/plugin'
import { JsonSchema } from '@polyvac/core/json-schema'
import { LISTS, readHeaderParameters, type HeaderParameter, type ListKind } from '@polyvac/mcp-protocol'
import type { Definitions, ToolDefinition, ToolSource } from '../tool-source.js'

let lastNumber = 0

/** One entry of a list, with its source. What calls need of its schema is made at first use. */
export class Entry<D extends object> {
  readonly definition: D
  readonly source: ToolSource
  /** Its name at its source, if it is offered under another. */
  readonly sourceName: string | undefined
  /** Distinct for each entry of this process. */
  readonly number = ++lastNumber
  #schema: JsonSchema | undefined
  #headerParameters: readonly HeaderParameter[] | undefined

  constructor (definition: D, source: ToolSource, sourceName?: string) {
    this.definition = definition
    this.source = source
    this.sourceName = sourceName
  }

  /** The name of a tool or prompt at its source. */
  get nameAtSource (): string { return this.sourceName ?? (this.definition as Partial<ToolDefinition>).name! }

  /** The input schema of a tool. */
  get schema (): JsonSchema {
    this.#schema ??= new JsonSchema((this.definition as Partial<ToolDefinition>).inputSchema)
    return this.#schema
  }

  /** The arguments of a tool that clients repeat as headers. */
  get headerParameters (): readonly HeaderParameter[] {
    this.#headerParameters ??= readHeaderParameters((this.definition as Partial<ToolDefinition>).inputSchema).parameters
    return this.#headerParameters
  }
}

/** Most parts of a list for different callers that are kept. */
const MAX_PARTS = 64

/** One list at one moment. It is never changed, only replaced. */
export class Catalog<K extends ListKind> {
  readonly kind: K
  readonly entries: ReadonlyArray<Entry<Definitions[K]>>
  readonly #byId: ReadonlyMap<string, Entry<Definitions[K]>>
  /** By the other names that calls may use. */
  readonly #byAlias: ReadonlyMap<string, Entry<Definitions[K]>>
  // @keyed scopes of a caller as JSON, or the numbers of the entries that it sees | holds: a part of a list |
  //   whose: callers with the same scopes or sign-ins | bound: MAX_PARTS, then all leave; scopes are at most as long
  //   as a token | share: of no owner: a part that left is made again | test:
  //   packages/mcp-server/test/kept-lists.test.ts: the lists of callers with other scopes are kept up to a bound, and
  //   made again after it
  readonly #parts = new Map<string, Catalog<K>>()

  /** The first of two entries with the same id counts, and an id before another name. */
  constructor (kind: K, entries: ReadonlyArray<Entry<Definitions[K]>>) {
    const byId = new Map<string, Entry<Definitions[K]>>()
    for (const entry of entries) {
      const id = idOf(kind, entry.definition)
      if (!byId.has(id)) byId.set(id, entry)
    }
    this.kind = kind
    this.#byId = byId
    this.#byAlias = new Map([...byId.values()].flatMap(entry => aliasesOf(entry).map(alias => [alias, entry] as const)).reverse())
    this.entries = [...byId.values()]
  }

  get (id: string): Entry<Definitions[K]> | undefined {
    return this.#byId.get(id) ?? this.#byAlias.get(id)
  }

  /** The part of the list that a caller with scopes may use; this list where that is all of it. */
  of (principal: Principal): Catalog<K> {
    return this.#part(`scopes ${accessKey(principal)}`, () => this.entries.filter(({ source, sourceName, definition }) =>
      source.mayUse?.(this.kind, sourceName ?? idOf(this.kind, definition), principal) !== false))
  }

  /** A list of these entries in place of this one: one object for all callers with the same entries. */
  part (entries: ReadonlyArray<Entry<Definitions[K]>>): Catalog<K> {
    return this.#part(`entries ${entries.map(({ number }) => number).join()}`, () => entries)
  }

  #part (key: string, read: () => ReadonlyArray<Entry<Definitions[K]>>): Catalog<K> {
    const known = this.#parts.get(key)
    if (known !== undefined) return known
    const entries = read()
    const isAll = entries.length === this.entries.length && entries.every((entry, i) => entry === this.entries[i])
    const part = isAll ? this : new Catalog(this.kind, entries)
    if (this.#parts.size >= MAX_PARTS) this.#parts.clear()
    this.#parts.set(key, part)
    return part
  }

  get ids (): string[] {
    return [...this.#byId.keys()]
  }
}

function aliasesOf ({ sourceName, definition: { formerName } }: Entry<Definitions[ListKind]>): string[] {
  return [sourceName, formerName].filter(name => typeof name === 'string')
}

export function idOf<K extends ListKind> (kind: K, definition: Definitions[K]): string {
  return (definition as unknown as Record<string, string>)[LISTS[kind].id]!
}
