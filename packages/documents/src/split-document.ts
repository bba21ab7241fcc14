import { extname } from 'node:path'
import { cutHtml } from './html.js'
import { cutMarkdown } from './markdown.js'
import { PassageBuilder, type Passage } from './passages.js'

/** Raised whenever the same file would be cut or worded differently: an older index is then built anew. */
export const SPLITTER_VERSION = 3

/** Cuts a document into passages; the file's extension decides how. What is not Markdown or HTML is plain text. */
export function splitDocument (source: string, text: string): Passage[] {
  switch (extname(source).toLowerCase()) {
    case '.md': case '.markdown': return cutMarkdown(text)
    case '.mdx': return cutMarkdown(text, true)
    case '.html': case '.htm': return cutHtml(text)
    default: return cutText(text)
  }
}

function cutText (text: string): Passage[] {
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
