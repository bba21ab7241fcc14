import { isRecord } from '@polyvac/core/plugin'
import { cleanText } from './clean-text.js'

type Item = Readonly<Record<string, unknown>>

/** Longest name or URI of an entry, in characters: those of tools have 128 at most (MCP 2025-11-25). */
const MAX_NAME_CHARS = 1_000
/** Longest definition of one entry as JSON, in characters. */
const MAX_ITEM_CHARS = 256 * 1024
/** Deepest nesting of a definition. */
const MAX_ITEM_DEPTH = 64

/** A definition without hidden characters and with bounded texts, or why it is left out. */
export type CleanItem = { readonly item: Item, readonly chars: number } | { readonly problem: string }

/** @param id the key of its name or URI, which callers repeat: it is not changed */
export function cleanItem (item: Item, id: string): CleanItem {
  const name = item[id] as string
  if (name.length > MAX_NAME_CHARS) return { problem: `its ${id} is longer than ${MAX_NAME_CHARS} characters` }
  if (cleanText(name) !== name || /[\n\t]/.test(name)) return { problem: `its ${id} has characters that are not visible` }
  const state = { isTooDeep: false }
  const clean = cleaned(item, state, 0) as Item
  if (state.isTooDeep) return { problem: `its definition is nested deeper than ${MAX_ITEM_DEPTH} levels` }
  const chars = JSON.stringify(clean).length
  return chars > MAX_ITEM_CHARS ? { problem: `its definition is longer than ${MAX_ITEM_CHARS} characters` } : { item: clean, chars }
}

function cleaned (value: unknown, state: { isTooDeep: boolean }, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_ITEM_DEPTH || state.isTooDeep) {
    state.isTooDeep = true
    return undefined
  }
  if (Array.isArray(value)) return value.map(one => cleaned(one, state, depth + 1))
  // the image of an icon has its own length
  return Object.fromEntries(Object.entries(isRecord(value) ? value : {}).map(([key, one]) => [cleanText(key), key === 'src' ? one : cleaned(one, state, depth + 1)]))
}
