import { commentsOf, pageTextsOf } from './docx-parts.js'
import { Archive, archiveOf } from './zip.js'
import { splitHtml } from '../markup/html.js'
import type { Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Most XML of a DOCX file, inflated, in bytes: its tree takes about 20 times as much memory. */
const MAX_DOCX_BYTES = 16 * 1024 * 1024

/** What mammoth needs of a DOCX file; the images are the rest. */
const PART = /\.(?:xml|rels)$/i

/** The link from a footnote back to its place. */
const BACK_LINK = /\s*<a href="#(?:foot|end)note-ref-[^"]*">↑<\/a>/g

/**
 * The paragraphs of a DOCX file, between its page headers and footers, then the comments. @throws the error of mammoth,
 * or of its import
 */
export async function splitDocx (bytes: Uint8Array): Promise<SplitFile> {
  const { default: mammoth } = await import('mammoth')
  const archive = await Archive.open(bytes, MAX_DOCX_BYTES)
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_DOCX_BYTES
  const parts = new Map<string, Buffer>()
  for (const name of archive.names().filter(name => PART.test(name))) parts.set(name, await archive.bytes(name))
  // without its images, which are text of megabytes
  const image = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer: await archiveOf(parts) }, { convertImage: image })
  // each block is a line, so that a citation counts the paragraphs
  const body = splitHtml(value.replace(BACK_LINK, '').replace(/<\/(?:p|h[1-6]|li|tr|table)>/g, '$&\n'))
  const last = body.at(-1)?.last ?? 1
  return { passages: [...passageOf(pageTextsOf(parts, 'header'), 1), ...body, ...passageOf(commentsOf(parts), last), ...passageOf(pageTextsOf(parts, 'footer'), last)] }
}

/** Lines that no heading of the text is above. */
function passageOf (lines: readonly string[], line: number): Passage[] {
  return lines.length === 0 ? [] : [{ heading: '', first: line, last: line, content: lines.map(text => `- ${text}`).join('\n') }]
}
