import type { Log, Principal } from '@polyvac/core'
import { auditRefusal, mayUseAll, yieldToEventLoop, toolName } from '@polyvac/core/plugin'
import { fitDefinition, LIST_KINDS, LISTS, type ListKind } from '@polyvac/mcp-protocol'
import { ScopeRefusal, unknownName, type Announcement } from '../protocol/rpc.js'
import type { ChangeListener, Definitions, ToolSource } from '../tool-source.js'
import { Catalog, Entry, idOf } from './catalog.js'
import { checkNames, distinctEntries } from './distinct-names.js'
import { ToolSearch, type ToolSearchOptions } from './tool-search.js'

/** Definitions that one turn of the event loop fits. */
const TURN_ENTRIES = 1_000

/** The lists of all sources as one. Each is read at first use, and again once a source reports a change. */
export class Registry {
  readonly sources: readonly ToolSource[]
  /** Undefined: lists have all tools. */
  readonly search: ToolSearch | undefined
  readonly #log: Log
  readonly #announcement: Announcement | undefined
  // @keyed none: the keys are the four kinds of lists
  readonly #catalogs = new Map<ListKind, Promise<Catalog<ListKind>> | Catalog<ListKind>>()
  /** The list of tools that was read last. */
  #tools: Catalog<'tools'> | undefined
  // @keyed none: the values are functions of the plugin, one for each open stream of changes; maxStreams
  readonly #listeners = new Set<ChangeListener>()
  // @keyed none: the values are functions of the sources
  readonly #stops: Array<() => void> = []
  /** Entries of definitions for one caller. */
  // @keyed none: the keys are definitions that a source keeps, and an entry ends with its definition
  readonly #own = new WeakMap<object, Entry<object>>()

  /** @throws MCP_SERVER_OPTIONS */
  constructor (given: readonly ToolSource[], log: Log, announcement?: Announcement, search?: ToolSearchOptions) {
    this.search = search && new ToolSearch(search, async principal => await this.shownTo('tools', principal))
    const sources = this.sources = this.search === undefined ? given : [this.search.source, ...given]
    this.#announcement = announcement
    this.#log = log
    checkNames(sources)
    for (const source of sources) {
      const stop = source.onChange?.((kinds, of) => this.#invalidate(kinds, of))
      if (stop !== undefined) this.#stops.push(stop)
    }
  }

  /** Whether a source has such a list. */
  offers (kind: ListKind): boolean {
    return this.sources.some(source => readerOf(kind, source) !== undefined)
  }

  /** What a caller reads of a list. */
  async listedTo<K extends ListKind> (kind: K, principal: Principal | undefined): Promise<Catalog<K>> {
    const shown = await this.shownTo(kind, principal)
    return kind === 'tools' && this.search !== undefined ? this.search.listed(shown as unknown as Catalog<'tools'>) as unknown as Catalog<K> : shown
  }

  /** What a caller may use of a list. */
  async shownTo<K extends ListKind> (kind: K, principal: Principal | undefined): Promise<Catalog<K>> {
    const catalog = await this.catalogFor(kind, principal)
    const own = new Map(await Promise.all(this.sources.map(async source => [source, await source.listFor?.(kind, principal)] as const)))
    if ([...own.values()].every(list => list === undefined)) return catalog
    const lists = this.sources.map(source => own.get(source)?.flatMap(definition => this.#entryOf(kind, definition, source) ?? []) ??
      catalog.entries.filter(entry => entry.source === source))
    return catalog.part(distinctEntries(kind, lists))
  }

  /**
   * The entry of a tool or prompt that a caller may use.
   * @throws RpcError -32602, the same for a hidden name as for one that does not exist, unless scopes are announced
   */
  find<K extends 'tools' | 'prompts'> (kind: K, name: string, principal: Principal | undefined): Promise<Entry<Definitions[K]>> | Entry<Definitions[K]> {
    const catalog = this.catalogFor(kind, principal)
    const entry = catalog instanceof Catalog ? catalog.get(name) : undefined
    // a promise for each step costs a short call more than the tool
    if (entry !== undefined && entry.source.listFor === undefined && mayUseEntry(kind, entry, principal)) return entry
    return this.#findOwn(kind, name, principal)
  }

  async #findOwn<K extends 'tools' | 'prompts'> (kind: K, name: string, principal: Principal | undefined): Promise<Entry<Definitions[K]>> {
    const entry = (await this.catalogFor(kind, principal)).get(name)
    const id = entry?.nameAtSource ?? name
    for (const source of entry === undefined ? this.sources : [entry.source]) {
      const own = await source.listFor?.(kind, principal, id)
      const ownEntry = own?.[0] === undefined ? undefined : this.#entryOf(kind, own[0], source)
      if (ownEntry !== undefined) {
        return entry?.sourceName === undefined ? ownEntry : new Entry({ ...ownEntry.definition, name: idOf(kind, entry.definition) }, source, id)
      }
      if (own === undefined && entry !== undefined && mayUseEntry(kind, entry, principal)) return entry
    }
    // two sources have the name, and the caller sees one of them under another
    const shown = await this.shownTo(kind, principal)
    const renamed = shown.get(name)
    if (renamed !== undefined) return renamed
    const what = kind === 'tools' ? 'tool' : 'prompt'
    const hidden = entry === undefined ? (await this.catalog(kind)).get(name) : undefined
    if (hidden !== undefined) {
      auditRefusal(this.#log, { reason: 'SCOPE', owner: principal?.owner, what: `${what}:${name}` })
      this.#announceScope(kind, hidden.sourceName ?? name, hidden.source, principal)
    }
    throw unknownName(what, name, shown.ids)
  }

  /** Names the scope that a caller lacks, where scopes are announced. @throws RpcError with status 403 */
  #announceScope (kind: ListKind, id: string, source: ToolSource, principal: Principal | undefined): void {
    if (this.#announcement === undefined || principal?.scopes === undefined) return
    const { scopes } = principal
    const lacked = this.#announcement.scopes().find(scope => source.mayUse?.(kind, id, { ...principal, scopes: [scope] }) === true)
    if (lacked !== undefined) throw new ScopeRefusal(lacked, [...scopes, lacked], this.#announcement)
  }

  /** The entry of a definition for one caller, with its schema compiled once; undefined for one that is left out. */
  #entryOf<K extends ListKind> (kind: K, definition: Definitions[K], source: ToolSource): Entry<Definitions[K]> | undefined {
    let entry = this.#own.get(definition)
    if (entry === undefined) {
      entry = this.#fit(kind, definition, source)
      if (entry !== undefined) this.#own.set(definition, entry)
    }
    return entry as Entry<Definitions[K]> | undefined
  }

  /**
   * The entry of a definition, under a name that model APIs accept. One that no client can read is left out, and must
   * not cost the others.
   */
  #fit<K extends ListKind> (kind: K, definition: Definitions[K], source: ToolSource): Entry<Definitions[K]> | undefined {
    const fitted = fitDefinition(kind, definition)
    if ('definition' in fitted) {
      const definition = fitted.definition as unknown as Definitions[K]
      if (LISTS[kind].id !== 'name') return new Entry(definition, source)
      const id = idOf(kind, definition)
      const name = toolName(id)
      return name === id ? new Entry(definition, source) : new Entry({ ...definition, name }, source, id)
    }
    const name = (definition as unknown as Record<string, unknown> | null)?.[LISTS[kind].id]
    this.#log.warn({ list: kind, name, problem: fitted.problem }, 'a definition of a tool source is left out of a list')
    return undefined
  }

  /** The list that a caller may use. */
  catalogFor<K extends ListKind> (kind: K, principal: Principal | undefined): Promise<Catalog<K>> | Catalog<K> {
    const catalog = this.catalog(kind)
    if (principal === undefined || mayUseAll(principal)) return catalog
    return catalog instanceof Catalog ? catalog.of(principal) : catalog.then(read => read.of(principal))
  }

  /** The list of all callers; a promise until it is read. */
  catalog<K extends ListKind> (kind: K): Promise<Catalog<K>> | Catalog<K> {
    let catalog = this.#catalogs.get(kind)
    if (catalog === undefined) {
      const reading = catalog = this.#read(kind, (read, isComplete) => {
        if (this.#catalogs.get(kind) !== reading) return
        if (kind === 'tools') this.#tools = read as unknown as Catalog<'tools'>
        if (isComplete) this.#catalogs.set(kind, read as unknown as Catalog<ListKind>)
        else this.#catalogs.delete(kind)
      }) as unknown as Promise<Catalog<ListKind>>
      this.#catalogs.set(kind, reading)
    }
    return catalog as unknown as Promise<Catalog<K>> | Catalog<K>
  }

  /** Whether the list of tools that was read last has this one. */
  listsTool (name: string): boolean {
    const catalog = this.catalog('tools')
    if (catalog instanceof Promise) catalog.catch(() => { /* its next reader gets the reason */ })
    return this.#tools?.get(name) !== undefined
  }

  /** Whether a caller may use a tool, also one that its source does not list at the moment. */
  async mayUseTool (name: string, principal: Principal | undefined): Promise<boolean> {
    if (mayUseAll(principal)) return true
    const entry = (await this.catalog('tools')).get(name)
    if (entry !== undefined) return entry.source.mayUse?.('tools', entry.nameAtSource, principal) !== false
    return this.sources.some(source => source.mayUse?.('tools', name, principal) === true)
  }

  /** Whether a caller may learn of changes of a resource, which no list needs to name. */
  async maySubscribe (uri: string, principal: Principal | undefined): Promise<boolean> {
    if (mayUseAll(principal)) return true
    if ((await this.shownTo('resources', principal)).get(uri) !== undefined) return true
    const listed = (await this.catalog('resources')).get(uri)
    const sources = listed === undefined ? this.sources.filter(({ resources }) => resources?.subscribe !== undefined) : [listed.source]
    return sources.some(source => source.mayUse?.('resources', uri, principal) !== false)
  }

  onChange (listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  close (): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#listeners.clear()
    this.search?.close().catch((err: unknown) => { this.#log.warn({ err }, 'an index of tools is not closed') })
  }

  #invalidate (...[kinds, of]: Parameters<ChangeListener>): void {
    const changed = LIST_KINDS.filter(kind => kinds.includes(kind))
    // the lists of one caller are not kept
    if (of === undefined) for (const kind of changed) this.#catalogs.delete(kind)
    for (const listener of this.#listeners) listener(changed, of)
  }

  /** Reads a list. A source that fails is left out, and the list is not complete: the next use reads it again. */
  async #read<K extends ListKind> (kind: K, onRead: (catalog: Catalog<K>, isComplete: boolean) => void): Promise<Catalog<K>> {
    let isComplete = true
    const lists = await Promise.all(this.sources.map(async source => {
      try {
        const definitions = await readerOf(kind, source)?.() ?? []
        const entries: Array<Entry<Definitions[K]>> = []
        for (const [i, definition] of definitions.entries()) {
          const entry = this.#fit(kind, definition, source)
          if (entry !== undefined) entries.push(entry)
          if ((i + 1) % TURN_ENTRIES === 0) await yieldToEventLoop()
        }
        return entries
      } catch (err) {
        isComplete = false
        this.#log.error({ err, list: kind }, 'a tool source is left out of a list')
        return []
      }
    }))
    const catalog = new Catalog(kind, distinctEntries(kind, lists))
    onRead(catalog, isComplete)
    return catalog
  }
}

function mayUseEntry<K extends 'tools' | 'prompts'> (kind: K, { source, nameAtSource }: Entry<Definitions[K]>, principal: Principal | undefined): boolean {
  return source.mayUse?.(kind, nameAtSource, principal) !== false
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
