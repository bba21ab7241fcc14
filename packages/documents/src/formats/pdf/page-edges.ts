import { textOf, type Line } from './lines.js'

/** Lines at the top and at the bottom of a page that may repeat on others. */
const EDGE = 2
/** A line on as many pages before is not read again. */
const REPEATED = 2
/** Texts that are remembered. */
const MAX_TEXTS = 20_000

/** The page headers and footers of a file: lines that stand at the edge of many of its pages. */
export class PageEdges {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_TEXTS
  readonly #pages = new Map<string, number>()

  /** The lines of a page without its number, and without those that earlier pages have at their edges. */
  without (lines: readonly Line[]): Line[] {
    const edge = new Set([...lines.slice(0, EDGE), ...lines.slice(-EDGE)])
    return lines.filter(line => !edge.has(line) || !this.#repeats(textOf(line)))
  }

  #repeats (text: string): boolean {
    const key = text.replace(/\p{N}+/gu, '0').replace(/\s+/g, ' ').trim()
    // only the number of the page
    if (/^[-–—[(]?\s*(?:0|[ivxlc]+)\s*[-–—\])]?$/i.test(key)) return true
    const pages = this.#pages.get(key) ?? 0
    if (pages > 0 || this.#pages.size < MAX_TEXTS) this.#pages.set(key, pages + 1)
    return pages >= REPEATED
  }
}
