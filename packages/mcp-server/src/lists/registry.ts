import type { Log, Principal } from '@polyvac/core'
import { auditRefusal } from '@polyvac/core/plugin'
import { LIST_KINDS, type ListKind } from '@polyvac/mcp-protocol'
import { unknownName } from '../protocol/rpc.js'
import type { Definitions, ToolSource } from '../tool-source.js'
import { Catalog, Entry, idOf } from './catalog.js'
import { checkNames, distinctEntries } from './distinct-names.js'

/** The lists of all sources as one. Each is read at first use, and again once a source reports a change. */
export class Registry {
  readonly sources: readonly ToolSource[]
  readonly #log: Log
  readonly #catalogs = new Map<ListKind, Promise<Catalog<ListKind>>>()
  readonly #listeners = new Set<(kinds: readonly ListKind[]) => void>()
  readonly #stops: Array<() => void> = []

  /** @throws MCP_SERVER_OPTIONS */
  constructor (sources: readonly ToolSource[], log: Log) {
    this.sources = sources
    this.#log = log
    checkNames(sources)
    for (const source of sources) {
      const stop = source.onChange?.(kinds => this.#invalidate(kinds))
      if (stop !== undefined) this.#stops.push(stop)
    }
  }

  /** Whether a source has such a list. */
  offers (kind: ListKind): boolean {
    return this.sources.some(source => readerOf(kind, source) !== undefined)
  }

  /** What a caller sees of a list; it may use more of it where sources have `listedFor`. */
  async shownTo<K extends ListKind> (kind: K, principal: Principal | undefined): Promise<Catalog<K>> {
    const catalog = await this.catalogFor(kind, principal)
    const sources = this.sources.filter(({ listedFor }) => listedFor !== undefined)
    const filters = new Map(await Promise.all(sources.map(async source => [source, await source.listedFor?.(kind, principal)] as const)))
    if ([...filters.values()].every(filter => filter === undefined)) return catalog
    return catalog.part(({ source, sourceName, definition }) => filters.get(source)?.(sourceName ?? idOf(kind, definition)) ?? true)
  }

  /**
   * The entry of a tool or prompt that a caller may use.
   * @throws RpcError -32602, the same for a hidden name as for one that does not exist
   */
  async find<K extends 'tools' | 'prompts'> (kind: K, name: string, principal: Principal | undefined): Promise<Entry<Definitions[K]>> {
    const entry = (await this.catalogFor(kind, principal)).get(name)
    if (entry !== undefined) return entry
    const what = kind === 'tools' ? 'tool' : 'prompt'
    if ((await this.catalog(kind)).get(name) !== undefined) {
      auditRefusal(this.#log, { reason: 'SCOPE', owner: principal?.owner, what: `${what}:${name}` })
    }
    throw unknownName(what, name, (await this.shownTo(kind, principal)).ids)
  }

  /** The list that a caller may use. */
  async catalogFor<K extends ListKind> (kind: K, principal: Principal | undefined): Promise<Catalog<K>> {
    const catalog = await this.catalog(kind)
    return principal?.scopes === undefined ? catalog : catalog.of(principal)
  }

  catalog<K extends ListKind> (kind: K): Promise<Catalog<K>> {
    let catalog = this.#catalogs.get(kind)
    if (catalog === undefined) {
      const reading = catalog = this.#read(kind, () => {
        if (this.#catalogs.get(kind) === reading) this.#catalogs.delete(kind)
      }) as unknown as Promise<Catalog<ListKind>>
      this.#catalogs.set(kind, reading)
    }
    return catalog as unknown as Promise<Catalog<K>>
  }

  /** Whether a caller may learn of changes of a resource, which no list needs to name. */
  async maySubscribe (uri: string, principal: Principal | undefined): Promise<boolean> {
    if (principal?.scopes === undefined) return true
    const listed = (await this.catalog('resources')).get(uri)
    const sources = listed === undefined ? this.sources.filter(({ resources }) => resources?.subscribe !== undefined) : [listed.source]
    return sources.some(source => source.mayUse?.('resources', uri, principal) !== false)
  }

  onChange (listener: (kinds: readonly ListKind[]) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  close (): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#listeners.clear()
  }

  #invalidate (kinds: readonly ListKind[]): void {
    const changed = LIST_KINDS.filter(kind => kinds.includes(kind))
    for (const kind of changed) this.#catalogs.delete(kind)
    for (const listener of this.#listeners) listener(changed)
  }

  /** Reads a list. A source that fails is left out, and `onIncomplete` is called: the next use reads the list again. */
  async #read<K extends ListKind> (kind: K, onIncomplete: () => void): Promise<Catalog<K>> {
    let isComplete = true
    const lists = await Promise.all(this.sources.map(async source => {
      try {
        const definitions = await readerOf(kind, source)?.() ?? []
        return definitions.map(definition => new Entry(definition, source))
      } catch (err) {
        isComplete = false
        this.#log.error({ err, list: kind }, 'a tool source is left out of a list')
        return []
      }
    }))
    if (!isComplete) onIncomplete()
    return new Catalog(kind, distinctEntries(kind, lists))
  }
}

/** The function that reads a list of a source; undefined if the source does not have the list. */
function readerOf<K extends ListKind> (
  kind: K, source: ToolSource
): (() => readonly Definitions[K][] | Promise<readonly Definitions[K][]>) | undefined {
  const { resources, prompts } = source
  const readers = {
    tools: () => source.list(),
    resources: resources === undefined ? undefined : () => resources.list(),
    templates: resources?.templates === undefined ? undefined : () => resources.templates?.() ?? [],
    prompts: prompts === undefined ? undefined : () => prompts.list()
  }
  return readers[kind] as never
}
