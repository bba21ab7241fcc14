import { cleanText, isRecord, yieldToEventLoop } from '@polyvac/core/plugin'
import { fitDefinition, LISTS, type ListKind } from '@polyvac/mcp-protocol'
import { cleanItem } from './clean-item.js'
import { fingerprintOf } from './fingerprint.js'

/** One entry of a list, without hidden characters. */
export type Item = Readonly<Record<string, unknown>>

/** A tool, or another entry, that a server lists and the gateway does not, and the reason. */
export interface LeftOutTool { readonly tool: string, readonly problem: string }

export interface ItemList { readonly items: readonly Item[], readonly leftOut: readonly LeftOutTool[] }

/** Gets the lists that may have changed. `of` is the caller whose lists they are; undefined: those of all callers. */
export type ChangeListener = (kinds: readonly ListKind[], of?: { readonly owner: string | undefined }) => void

/** Entries of one list: pages without end would exhaust the memory. */
export const MAX_ITEMS = 20_000
const MAX_PAGES = 2_000
/** Longest time in ms to read all pages. */
const MAX_LIST_MS = 60_000
/** All entries of a list together as JSON, in characters. */
const MAX_LIST_CHARS = 8 * 1024 * 1024
/** Entries that are named as left out. */
const MAX_LEFT_OUT = 20
/** Characters of the name of a left-out entry that are shown. */
const MAX_SHOWN_CHARS = 100
/** Characters that one turn of the event loop reads, a few ms; an entry counts as ENTRY_CHARS more. */
const TURN_CHARS = 128 * 1024
const ENTRY_CHARS = 200

/**
 * Reads all pages of a list, sorted by name or URI, and cleans the entries. The first of two entries with one name
 * counts. Optional fields that are null or of a wrong type are left out, and so are entries without a name. The work is
 * done in several turns of the event loop, with the fingerprints of the tools.
 */
export async function readList (kind: ListKind, page: (params: object) => Promise<Record<string, unknown>>): Promise<ItemList> {
  const { key, id } = LISTS[kind]
  const items = new Map<string, Item>()
  const leftOut: LeftOutTool[] = []
  const cursors = new Set<unknown>()
  const begun = performance.now()
  let chars = 0
  let turnChars = 0
  let entries = 0
  let isFull = false
  let cursor: unknown
  const leave = (name: string, problem: string): void => {
    if (leftOut.length < MAX_LEFT_OUT) leftOut.push({ tool: cleanText(name, MAX_SHOWN_CHARS), problem })
  }
  for (let pages = 0; ; pages++) {
    const { [key]: listed, nextCursor } = await page(cursor === undefined ? {} : { cursor })
    for (const item of Array.isArray(listed) ? listed as unknown[] : []) {
      entries++
      const name = isRecord(item) ? item[id] : undefined
      if (typeof name !== 'string' || name === '') {
        leave(`entry ${entries} of the list`, isRecord(item) ? `it has no ${id}` : 'it is not an object')
        continue
      }
      const clean = items.has(name) ? { problem: 'another one has the same name' } : cleanItem(item as Item, id)
      turnChars += ENTRY_CHARS + ('chars' in clean ? clean.chars : 0)
      if (turnChars > TURN_CHARS) {
        await yieldToEventLoop()
        turnChars = 0
      }
      const fitted = 'problem' in clean ? clean : fitDefinition(kind, clean.item)
      if ('problem' in clean) leave(name, clean.problem)
      else if ('problem' in fitted) leave(name, fitted.problem)
      else if (items.size >= MAX_ITEMS || chars + clean.chars > MAX_LIST_CHARS) {
        isFull = true
        leave(name, 'the list is too long')
      } else {
        items.set(name, fitted.definition)
        if (kind === 'tools') fingerprintOf(fitted.definition)
        chars += clean.chars
      }
    }
    // the empty string is a valid cursor; a repeated cursor would be an endless loop
    if (typeof nextCursor !== 'string' || cursors.has(nextCursor) || isFull) break
    if (pages >= MAX_PAGES || performance.now() - begun > MAX_LIST_MS) {
      leave('', 'the list has pages without end')
      break
    }
    cursors.add(nextCursor)
    cursor = nextCursor
  }
  return { items: [...items].sort(([a], [b]) => a < b ? -1 : 1).map(([, item]) => item), leftOut }
}
