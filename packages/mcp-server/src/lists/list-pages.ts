import type { Principal } from '@polyvac/core'
import { LISTS, type ListKind, type Revision } from '@polyvac/mcp-protocol'
import { projectDefinition } from '../protocol/projection.js'
import type { CacheHint, ResultTexts } from '../protocol/result-text.js'
import { invalidParams } from '../protocol/rpc.js'
import type { Definitions } from '../tool-source.js'
import { Catalog, idOf } from './catalog.js'
import type { Registry } from './registry.js'

/** The serialized pages of one list for one revision, by the number of their first entry. */
type Pages = Map<number, string>

export interface ListPagesOptions {
  readonly registry: Registry
  readonly texts: ResultTexts
  readonly pageSize: number
  readonly hint: CacheHint
  readonly withTasks: boolean
}

/** The results of the four list methods, serialized once for each catalog and revision. */
export class ListPages {
  readonly #options: ListPagesOptions
  readonly #pages = new WeakMap<object, Map<Revision, Pages>>()

  constructor (options: ListPagesOptions) {
    this.#options = options
  }

  /** The result of a list method. @throws RpcError -32602 for a cursor that this list did not issue */
  async page (kind: ListKind, revision: Revision, cursor: unknown, principal: Principal | undefined): Promise<string> {
    const all = await this.#options.registry.catalogFor(kind, principal)
    const catalog = await listedFor(all, principal)
    if (catalog !== all) return this.#serialize(catalog, revision, cursor === undefined ? 0 : startAfter(catalog, cursor))
    let revisions = this.#pages.get(catalog)
    if (revisions === undefined) this.#pages.set(catalog, revisions = new Map())
    let pages = revisions.get(revision)
    if (pages === undefined) revisions.set(revision, pages = new Map())
    const start = cursor === undefined ? 0 : startAfter(catalog, cursor)
    let page = pages.get(start)
    if (page === undefined) pages.set(start, page = this.#serialize(catalog, revision, start))
    return page
  }

  #serialize<K extends ListKind> ({ kind, entries }: Catalog<K>, revision: Revision, start: number): string {
    const { texts, pageSize, hint, withTasks } = this.#options
    const page = entries.slice(start, start + pageSize)
    const items = page.map(({ definition }) => projectDefinition(kind, definition, revision, withTasks))
    const isLast = start + pageSize >= entries.length
    const nextCursor = isLast ? undefined : cursorAfter(idOf(kind, page[page.length - 1]!.definition as Definitions[K]))
    return texts.complete(revision, { [LISTS[kind].key]: items, nextCursor }, hint)
  }
}

/** The part of a list that a caller sees. */
async function listedFor<K extends ListKind> (catalog: Catalog<K>, principal: Principal | undefined): Promise<Catalog<K>> {
  const { kind, entries } = catalog
  const sources = [...new Set(entries.map(({ source }) => source))].filter(source => source.listedFor !== undefined)
  if (sources.length === 0) return catalog
  const filters = new Map(await Promise.all(sources.map(async source => [source, await source.listedFor?.(kind, principal)] as const)))
  if ([...filters.values()].every(filter => filter === undefined)) return catalog
  return new Catalog(kind, entries.filter(({ source, definition, sourceName }) => filters.get(source)?.(sourceName ?? idOf(kind, definition)) ?? true))
}

/** A cursor names the last entry of its page, so that changes elsewhere in the list do not invalidate it. */
function cursorAfter (id: string): string {
  return Buffer.from(id).toString('base64url')
}

/** The number of the entry after a cursor. @throws RpcError -32602 */
function startAfter ({ kind, entries }: Catalog<ListKind>, cursor: unknown): number {
  const at = entries.findIndex(({ definition }) => cursorAfter(idOf(kind, definition)) === cursor)
  if (at === -1) throw invalidParams('the list does not have this cursor, or no longer; begin without one')
  return at + 1
}
