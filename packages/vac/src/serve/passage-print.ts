import { createHash } from 'node:crypto'
import { extname } from 'node:path'

/** How many letters and digits a passage has, and a digest of them: the document may have other marks around them. */
export type Print = readonly [length: number, digest: string]

const DIGEST_CHARS = 11
/** A passage that has moved is not looked for in a longer document, in characters. */
const MAX_SEARCHED_CHARS = 1024 * 1024
/** Most characters of which digests are made to find a passage that has moved. */
const MAX_COMPARED_CHARS = 16 * 1024 * 1024

export function printOf (content: string): Print {
  const letters = lettersOf(content).join('')
  return [letters.length, digestOf(letters)]
}

/**
 * The lines of a passage in the text of its document: those that were cited, if they are the passage, otherwise the
 * first ones that are. Lines that were cited and are not the passage are the answer where it is nowhere.
 */
export function findPassage (text: string, [length, digest]: Print, cited: readonly [first: number, last: number] | undefined): {
  readonly lines: readonly [first: number, last: number] | undefined
  readonly isFound: boolean
} {
  const all = text.split(/\r?\n/)
  const isInside = cited !== undefined && cited[0] >= 1 && cited[0] <= cited[1] && cited[0] <= all.length
  const inside = isInside ? [cited[0], Math.min(cited[1], all.length)] as const : undefined
  if (inside !== undefined && digestOf(lettersOf(all.slice(inside[0] - 1, inside[1]).join('\n')).join('')) === digest) return { lines: inside, isFound: true }
  if (length === 0 || text.length > MAX_SEARCHED_CHARS) return { lines: inside, isFound: false }
  const lines = lettersOf(text)
  const isPassage = (first: number, last: number): boolean => digestOf(lines.slice(first - 1, last).join('')) === digest
  // a window of the right length moves over the lines that have letters
  let chars = 0
  let first = 1
  let compared = 0
  for (const [i, letters] of lines.entries()) {
    chars += letters.length
    while (first <= i && (chars > length || lines[first - 1] === '')) chars -= lines[first++ - 1]!.length
    if (chars !== length || letters === '') continue
    if (isPassage(first, i + 1)) return { lines: [first, i + 1], isFound: true }
    compared += length
    if (compared > MAX_COMPARED_CHARS) break
  }
  return { lines: inside, isFound: false }
}

/** Whether passages of a document have the letters of its lines: other formats are read before they are split. */
export function isTextAs (source: string, mediaType: string): boolean {
  return mediaType === 'text/markdown' || (mediaType === 'text/plain' && ['', '.txt', '.text', '.log'].includes(extname(source).toLowerCase()))
}

/** The letters and digits of each line, without what Markdown does not show: comments, fences, targets of links. */
function lettersOf (text: string): string[] {
  return withoutComments(text).split(/\r?\n/).map(line => /^\s*(?:`{3}|~{3})/.test(line) ? '' : line.replace(/\]\([^()]*\)/g, ']').replace(/[^\p{L}\p{N}]+/gu, ''))
}

/** With as many lines as before. An expression would read on to the end from each comment that does not end. */
function withoutComments (text: string): string {
  let shown = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('<!--', at)
    const end = start === -1 ? -1 : text.indexOf('-->', start + 4)
    if (end === -1) return shown + text.slice(at)
    shown += text.slice(at, start) + text.slice(start, end).replace(/[^\n]+/g, '')
    at = end + 3
  }
}

function digestOf (letters: string): string {
  return createHash('sha256').update(letters).digest('base64url').slice(0, DIGEST_CHARS)
}
