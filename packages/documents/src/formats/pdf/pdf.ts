import { boundPdf } from './bounds.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Pages of a PDF that are read. */
const MAX_PAGES = 5_000

/** The pages of a PDF file, in a thread without other work. @throws the error of unpdf, or of its import */
export async function splitPdf (bytes: Uint8Array): Promise<SplitFile> {
  return { passages: await boundPdf(bytes, async () => await readPages(bytes)) }
}

async function readPages (bytes: Uint8Array): Promise<Passage[]> {
  const { getDocumentProxy } = await import('unpdf')
  const document = await getDocumentProxy(bytes, { verbosity: 0 })
  try {
    const passages: Passage[] = []
    for (let number = 1; number <= Math.min(document.numPages, MAX_PAGES); number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      const builder = new PassageBuilder()
      const text = items.map((item: { readonly str?: string, readonly hasEOL?: boolean }) => item.str !== undefined ? `${item.str}${item.hasEOL ? '\n' : ''}` : '').join('')
      for (const line of text.split('\n')) builder.line(line, number)
      passages.push(...builder.finish())
      page.cleanup()
    }
    return passages
  } finally {
    await document.destroy()
  }
}
