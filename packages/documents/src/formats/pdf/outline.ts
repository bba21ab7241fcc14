import type { Heading } from './layout.js'

/** Entries of the outline that are read, and their levels. */
const MAX_OUTLINE = 5_000
const MAX_LEVEL = 6
/** Longest title, in characters. */
const MAX_TITLE = 300

/** The part of a document of pdfjs that this needs. */
export interface OutlinedDocument {
  readonly getOutline: () => Promise<readonly Entry[] | null>
  readonly getDestination: (name: string) => Promise<readonly unknown[] | null>
  readonly getPageIndex: (reference: never) => Promise<number>
}

interface Entry { readonly title?: string, readonly dest?: string | readonly unknown[] | null, readonly items?: readonly Entry[] }

/** The headings of the outline, by the number of their page; empty where the file has none, or a damaged one. */
export async function outlineOf (document: OutlinedDocument): Promise<Map<number, Heading[]>> {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_OUTLINE
  const pages = new Map<number, Heading[]>()
  let left = MAX_OUTLINE
  const add = async (entries: readonly Entry[], level: number): Promise<void> => {
    for (const { title = '', dest, items = [] } of entries) {
      if (left-- <= 0) return
      const place = await placeOf(document, dest)
      const text = title.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE)
      if (place !== undefined && text !== '') pages.set(place.page, [...pages.get(place.page) ?? [], { level, title: text, y: place.y }])
      if (level < MAX_LEVEL) await add(items, level + 1)
    }
  }
  try {
    await add(await document.getOutline() ?? [], 1)
  } catch {
    // the pages have their text without it
  }
  return pages
}

async function placeOf (document: OutlinedDocument, dest: Entry['dest']): Promise<{ page: number, y: number | undefined } | undefined> {
  try {
    const target = typeof dest === 'string' ? await document.getDestination(dest) : dest
    if (target === null || target === undefined) return undefined
    const [reference, kind, first, second] = target as [unknown, { readonly name?: string } | undefined, unknown, unknown]
    const page = typeof reference === 'number' ? reference : await document.getPageIndex(reference as never)
    const y = kind?.name === 'XYZ' ? second : kind?.name === 'FitH' || kind?.name === 'FitBH' ? first : undefined
    return { page: page + 1, y: typeof y === 'number' ? y : undefined }
  } catch {
    return undefined
  }
}
