import { LISTS, type ListKind } from '@polyvac/mcp-protocol'

/** One entry of a list, unchanged. */
export type Item = Readonly<Record<string, unknown>>

/** Entries of one list: pages without end would exhaust the memory. */
export const MAX_ITEMS = 20_000
const MAX_PAGES = 2_000

/**
 * Reads all pages of a list, sorted by name or URI. The first of two entries with one name counts. Entries without a
 * name are left out.
 */
export async function readList (kind: ListKind, page: (params: object) => Promise<Record<string, unknown>>): Promise<Item[]> {
  const { key, id } = LISTS[kind]
  const items = new Map<string, Item>()
  const cursors = new Set<unknown>()
  let cursor: unknown
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { [key]: listed, nextCursor } = await page(cursor === undefined ? {} : { cursor })
    for (const item of Array.isArray(listed) ? listed as unknown[] : []) {
      const name = typeof item === 'object' && item !== null ? (item as Item)[id] : undefined
      if (typeof name === 'string' && name !== '' && !items.has(name) && items.size < MAX_ITEMS) items.set(name, item as Item)
    }
    // the empty string is a valid cursor; a repeated cursor would be an endless loop
    if (typeof nextCursor !== 'string' || cursors.has(nextCursor) || items.size >= MAX_ITEMS) break
    cursors.add(nextCursor)
    cursor = nextCursor
  }
  return [...items].sort(([a], [b]) => a < b ? -1 : 1).map(([, item]) => item)
}
