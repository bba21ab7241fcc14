import { formatOf, isBytes } from './table.js'
import { splitText } from './plain/text.js'
import type { Passage } from '../text/passages.js'

/** Raised when the same file gives other passages: older indexes are then rebuilt. */
export const SPLITTER_VERSION = 11

/**
 * Splits a document into passages, by the extension of its file; an unknown one is plain text.
 * @example const passages = splitDocument('guide.md', '# Install\n\nRun npm install.')
 */
export function splitDocument (source: string, text: string): Passage[] {
  const format = formatOf(source)
  // a caller passes text: that of a PDF file is plain text, not a PDF file
  return isBytes(format) ? splitText(text) : format.split(text, source)
}
