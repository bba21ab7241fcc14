import { formatOf, isBytes } from '../formats/table.js'
import type { Passage } from '../text/passages.js'
import type { DocumentSplitter } from './document-splitter.js'
import { readDocument, type FoundFile } from './files.js'
import type { FolderSettings } from './folder-options.js'

/** Pages that are compared, and the fewest with a line that is furniture: it also stands on half of them. */
const MAX_COMPARED = 20
const MIN_PAGES = 3
/** A longer page is not compared, in bytes. */
const MAX_BYTES = 256 * 1024
/** Lines at the beginning and at the end of a page among which furniture is; a longer line, in characters, is none. */
const FIRST = 3
const LAST = 6
const MAX_LINE = 200
/** A way to reach someone stands on all pages of a site, and is asked for. */
const CONTACT = /@|\+?\d[\d\s()/.-]{5,}\d(?!\d)|\b\d{1,2}[:.]\d{2}\s?(?:[-–]|to|bis|am|pm)/i
const DATE = /\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}/

export type Furniture = ReadonlySet<string>

/**
 * The lines at the edges of HTML pages that stand on half of the pages of a folder, and on three: licences, links, days
 * of changes. A sample of pages shows them, without their figures; empty where a folder has fewer pages.
 */
export async function findFurniture (files: readonly FoundFile[], settings: FolderSettings, splitter: DocumentSplitter, signal: AbortSignal): Promise<Furniture> {
  const pages = files.filter(file => isPage(file.source) && file.size <= MAX_BYTES)
  if (pages.length < MIN_PAGES) return new Set()
  const step = Math.max(1, pages.length / MAX_COMPARED)
  const sample = Array.from({ length: Math.min(MAX_COMPARED, pages.length) }, (_, index) => pages[Math.floor(index * step)] as FoundFile)
  // @keyed none: the values are lines of at most MAX_COMPARED documents of a folder of the configuration
  const counts = new Map<string, number>()
  for (const file of sample) {
    const text = await readDocument(file, settings, signal)
    if (typeof text !== 'string') continue
    const { passages } = await splitter.split(file.source, text, signal)
    const keys = new Set(edgesOf(typeof passages === 'function' ? passages() : passages).map(({ key }) => key))
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return new Set([...counts].filter(([, count]) => count >= MIN_PAGES && count * 2 >= sample.length).map(([key]) => key))
}

/** The passages of a page without furniture. */
export function withoutFurniture (source: string, passages: Passage[] | (() => Passage[]), furniture: Furniture): Passage[] | (() => Passage[]) {
  if (furniture.size === 0 || !isPage(source)) return passages
  return typeof passages === 'function' ? () => clean(passages(), furniture) : clean(passages, furniture)
}

function clean (passages: readonly Passage[], furniture: Furniture): Passage[] {
  const dropped = edgesOf(passages).filter(({ key }) => furniture.has(key))
  const kept = passages.map((passage, at) => {
    const lines = new Set(dropped.filter(edge => edge.passage === at).map(({ line }) => line))
    return lines.size === 0 ? passage : { ...passage, content: passage.content.split('\n').filter((_, line) => !lines.has(line)).join('\n').trim() }
  })
  return kept.filter(({ content }) => content !== '')
}

interface Edge { readonly passage: number, readonly line: number, readonly key: string }

function edgesOf (passages: readonly Passage[]): Edge[] {
  const all: Edge[] = []
  for (const [passage, { content }] of passages.entries()) {
    if (passage >= FIRST && passage < passages.length - LAST) continue
    for (const [line, text] of content.split('\n').entries()) {
      const key = text.length > MAX_LINE ? '' : text.toLowerCase().replace(/\d+/g, '0').replace(/\s+/g, ' ').trim()
      if (text.trim() !== '') all.push({ passage, line, key: CONTACT.test(text) && !DATE.test(text) ? '' : key })
    }
  }
  return [...all.slice(0, FIRST), ...all.slice(Math.max(FIRST, all.length - LAST))].filter(({ key }) => key !== '')
}

function isPage (source: string): boolean {
  const format = formatOf(source)
  return !isBytes(format) && format.mimeType === 'text/html'
}
