import { type ListKind, LISTS, type Revision } from '@polyvac/mcp-protocol'
import { Catalog, idOf } from './catalog.js'
import { projectDefinition } from '../protocol/projection.js'
import type { Registry } from './registry.js'
import type { CacheHint, ResultTexts } from '../protocol/result-text.js'
import { RpcError } from '../protocol/rpc.js'
import type { Definitions } from '../tool-source.js'

/** The pages of one list for one revision, as ready text, by the number of their first entry. */
type Pages = Map<number, string>

export interface ListPagesOptions {
  readonly registry: Registry
  readonly texts: ResultTexts
  readonly pageSize: number
  readonly hint: CacheHint
  readonly withTasks: boolean
}

/** The answers to the four lists. They are made once for each revision and list, and go with the list. */
export class ListPages {
  readonly #options: ListPagesOptions
  readonly #made = new WeakMap<object, Map<Revision, Pages>>()

  constructor (options: ListPagesOptions) {
    this.#options = options
  }

  /** The result of a list method. @throws RpcError -32602 for a cursor that is none of this list */
  async page (kind: ListKind, revision: Revision, cursor: unknown): Promise<string> {
    const catalog = await this.#options.registry.catalog(kind)
    let revisions = this.#made.get(catalog)
    if (revisions === undefined) this.#made.set(catalog, revisions = new Map())
    let pages = revisions.get(revision)
    if (pages === undefined) revisions.set(revision, pages = new Map())
    const start = cursor === undefined ? 0 : startAfter(catalog, cursor)
    let page = pages.get(start)
    if (page === undefined) pages.set(start, page = this.#make(catalog, revision, start))
    return page
  }

  #make<K extends ListKind> ({ kind, entries }: Catalog<K>, revision: Revision, start: number): string {
    const { texts, pageSize, hint, withTasks } = this.#options
    const page = entries.slice(start, start + pageSize)
    const items = page.map(({ definition }) => projectDefinition(kind, definition, revision, withTasks))
    const isLast = start + pageSize >= entries.length
    const nextCursor = isLast ? undefined : cursorAfter(idOf(kind, page[page.length - 1]!.definition as Definitions[K]))
    return texts.complete(revision, { [LISTS[kind].key]: items, nextCursor }, hint)
  }
}

/** A cursor names the last entry of its page, so that it outlives changes elsewhere in the list. */
function cursorAfter (id: string): string {
  return Buffer.from(id).toString('base64url')
}

/** The number of the entry after a cursor. @throws RpcError -32602 */
function startAfter ({ kind, entries }: Catalog<ListKind>, cursor: unknown): number {
  const at = typeof cursor !== 'string' ? -1 : entries.findIndex(({ definition }) => cursorAfter(idOf(kind, definition)) === cursor)
  if (at === -1) throw new RpcError('invalidParams', 'the cursor is none of this list, or the list has changed; begin again without one')
  return at + 1
}
