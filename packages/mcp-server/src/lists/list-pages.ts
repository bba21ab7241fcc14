import type { Principal } from '@polyvac/core'
import { LISTS, type ListKind, type Revision } from '@polyvac/mcp-protocol'
import { projectDefinition } from '../protocol/projection.js'
import type { CacheHint, ResultTexts } from '../protocol/result-text.js'
import { invalidParams } from '../protocol/rpc.js'
import type { Definitions } from '../tool-source.js'
import { idOf, type Catalog } from './catalog.js'
import type { Registry } from './registry.js'

/** The serialized pages of one list for one revision, by the number of their first entry. */
type Pages = Map<number, string>

/** Characters of pages that are kept: callers with different scopes and sign-ins see different lists. */
const MAX_CHARS = 32 * 1024 * 1024

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
  // @keyed list, revision and number of the first entry, which a cursor names | holds: a page as text | whose:
  //   callers who see the same list | bound: MAX_CHARS, then all leave; a cursor that the list did not issue makes no
  //   entry | share: of no owner: a page that left is made again | test: packages/mcp-server/test/modern.test.ts:
  //   long lists have pages in a fixed order
  #pages = new WeakMap<object, Map<Revision, Pages>>()
  #chars = 0

  constructor (options: ListPagesOptions) {
    this.#options = options
  }

  /** The result of a list method. @throws RpcError -32602 for a cursor that this list did not issue */
  async page (kind: ListKind, revision: Revision, cursor: unknown, principal: Principal | undefined): Promise<string> {
    const catalog = await this.#options.registry.listedTo(kind, principal)
    let revisions = this.#pages.get(catalog)
    if (revisions === undefined) this.#pages.set(catalog, revisions = new Map())
    let pages = revisions.get(revision)
    if (pages === undefined) revisions.set(revision, pages = new Map())
    const start = cursor === undefined ? 0 : startAfter(catalog, cursor)
    let page = pages.get(start)
    if (page === undefined) {
      pages.set(start, page = this.#serialize(catalog, revision, start))
      this.#keep(page.length)
    }
    return page
  }

  /** Forgets all pages past MAX_CHARS: those of the lists in use are made again. */
  #keep (chars: number): void {
    this.#chars += chars
    if (this.#chars <= MAX_CHARS) return
    this.#pages = new WeakMap()
    this.#chars = 0
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
