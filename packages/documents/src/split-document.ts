import { extname } from 'node:path'
import { splitHtml } from './html.js'
import { splitMarkdown } from './markdown.js'
import { PassageBuilder, type Passage } from './passages.js'

/** Raised when the same file gives other passages: older indexes are then rebuilt. */
export const SPLITTER_VERSION = 4

/**
 * Splits a document into passages, by the extension of its file. Files other than Markdown and HTML are plain text.
 * @example const passages = splitDocument('guide.md', '# Install\n\nRun npm install.')
 */
export function splitDocument (source: string, text: string): Passage[] {
  switch (extname(source).toLowerCase()) {
    case '.md': case '.markdown': return splitMarkdown(text)
    case '.mdx': return splitMarkdown(text, true)
    case '.html': case '.htm': return splitHtml(text)
    default: return splitText(text)
  }
}

function splitText (text: string): Passage[] {
  const builder = new PassageBuilder()
  for (const [index, line] of text.split(/\r?\n/).entries()) builder.line(line, index + 1)
  return builder.finish()
}

/** The media type of a document, by its extension. */
export function mimeTypeOf (source: string): string {
  switch (extname(source).toLowerCase()) {
    case '.md': case '.markdown': case '.mdx': return 'text/markdown'
    case '.html': case '.htm': return 'text/html'
    default: return 'text/plain'
  }
}
