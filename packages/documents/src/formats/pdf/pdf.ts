import { boundParts, takeRefused } from './bounds.js'
import { addPage } from './layout.js'
import { linesOf, textOf, withFields, type Field, type Item } from './lines.js'
import { PageEdges } from './page-edges.js'
import { outlineOf, type OutlinedDocument } from './outline.js'
import { Hyphens } from '../../text/hyphens.js'
import { PassageBuilder } from '../../text/passages.js'
import type { Emit, SplitFile } from '../format.js'

/** Pages of a PDF that are read. */
const MAX_PAGES = 5_000
/** Pieces of text of a page that are read. */
const MAX_PAGE_ITEMS = 50_000
/** Fields of forms on a page that are read, and the longest value, in characters. */
const MAX_FIELDS = 2_000
const MAX_FIELD = 10_000
/** Longest time for a page, where pdfjs lets go of the thread, and for all pages, in ms. */
const MAX_PAGE_MS = 10_000
const MAX_PDF_MS = 60_000
/** Numbers of pages that the log names. */
const MAX_NAMED = 20
/** Of the pages, those without text that make it a scan. */
const SCANNED = 0.2

/**
 * The pages of a PDF file, in a thread without other work; each is emitted when it is read. A page that cannot be read
 * costs only itself. @throws the error of unpdf, or of its import; where no page can be read
 */
export async function splitPdf (bytes: Uint8Array, emit: Emit): Promise<SplitFile> {
  const { getDocumentProxy } = await import('unpdf')
  boundParts(bytes)
  const document = await getDocumentProxy(bytes, { verbosity: 0 }).catch((error: unknown) => { throw takeRefused() ?? error })
  try {
    const started = performance.now()
    const headings = await outlineOf(document as unknown as OutlinedDocument)
    const hyphens = new Hyphens()
    const edges = new PageEdges()
    const missing = new MissingPages(document.numPages)
    let path: PassageBuilder['path'] = []
    takeRefused()
    for (let number = 1; number <= document.numPages; number++) {
      if (number > MAX_PAGES || performance.now() - started > MAX_PDF_MS) {
        missing.addRest(number, number > MAX_PAGES ? `the file has more than ${MAX_PAGES} pages` : 'the file takes too long')
        break
      }
      const builder = new PassageBuilder(path)
      try {
        const page = await document.getPage(number) as unknown as PageOfText
        const lines = withFields(linesOf(await itemsOf(page)), fieldsOf(await page.getAnnotations()))
        const refused = takeRefused()
        if (refused !== undefined) throw refused
        if (lines.length === 0) missing.addBlank()
        hyphens.learn(lines.map(textOf))
        addPage(builder, edges.without(lines), number, headings.get(number) ?? [], hyphens)
        page.cleanup()
      } catch (error) {
        missing.add(number, takeRefused() ?? error as Error)
        for (const { level, title } of headings.get(number) ?? []) builder.heading(level, title, number)
      }
      path = builder.path
      emit(builder.finish())
    }
    return { passages: [], missing: missing.finish() }
  } finally {
    await document.destroy()
  }
}

interface PageOfText {
  readonly streamTextContent: () => ReadableStream<{ readonly items: readonly Item[] }>
  readonly getAnnotations: () => Promise<readonly Annotation[]>
  readonly cleanup: () => void
}

interface Annotation { readonly fieldName?: unknown, readonly alternativeText?: unknown, readonly fieldValue?: unknown, readonly rect?: readonly number[] }

/** The fields of a form that have a text; the state of a button is none. */
function fieldsOf (annotations: readonly Annotation[]): Field[] {
  return annotations.slice(0, MAX_FIELDS).flatMap(({ fieldName, alternativeText, fieldValue, rect: [left = 0, bottom = 0, , top = 0] = [] }) => {
    const value = (Array.isArray(fieldValue) ? fieldValue.filter(one => typeof one === 'string').join(', ') : typeof fieldValue === 'string' ? fieldValue : '').replace(/\s+/g, ' ').trim()
    const name = [alternativeText, fieldName].find(one => typeof one === 'string' && one !== '') as string | undefined
    return value === '' || value === 'Off' ? [] : [{ name: name ?? '', value: value.slice(0, MAX_FIELD), left, bottom, top }]
  })
}

/** The pieces of text of a page, as they arrive. @throws an error where it takes too long */
async function itemsOf (page: PageOfText): Promise<Item[]> {
  const reader = page.streamTextContent().getReader()
  // @keyed none: a list in order, of one page of a document; MAX_PAGE_ITEMS
  const items: Item[] = []
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    reader.cancel(new Error('late')).catch(() => undefined)
  }, MAX_PAGE_MS)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw new Error('it takes too long')
      if (done) return items
      items.push(...value.items)
      if (items.length > MAX_PAGE_ITEMS) throw new Error(`it has over ${MAX_PAGE_ITEMS} pieces of text`)
    }
  } finally {
    clearTimeout(timer)
    reader.cancel(new Error('done')).catch(() => undefined)
  }
}

/** The pages that were not read, with the reasons. */
class MissingPages {
  readonly #count: number
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PAGES
  readonly #pages = new Map<string, string[]>()
  #failed = 0
  #blank = 0
  #first: Error | undefined

  constructor (count: number) {
    this.#count = count
  }

  add (number: number, error: Error): void {
    this.#failed++
    this.#first ??= error
    const pages = this.#pages.get(error.message) ?? []
    pages.push(String(number))
    this.#pages.set(error.message, pages)
  }

  addRest (first: number, reason: string): void {
    this.#pages.set(reason, [`${first} to ${this.#count}`])
  }

  addBlank (): void {
    this.#blank++
  }

  /** @throws the first reason where it is that of all pages */
  finish (): string | undefined {
    if (this.#failed === this.#count && this.#first !== undefined) throw this.#first
    const parts = Array.from(this.#pages, ([reason, pages]) => `page${pages.length > 1 || pages[0]?.includes(' ') === true ? 's' : ''} ${pages.slice(0, MAX_NAMED).join(', ')}${pages.length > MAX_NAMED ? ' …' : ''}: ${reason}`)
    if (this.#blank > 0 && this.#blank >= this.#count * SCANNED) parts.push(`${this.#blank} of ${this.#count} pages have no text (a scan?)`)
    return parts.length > 0 ? parts.join('; ') : undefined
  }
}
