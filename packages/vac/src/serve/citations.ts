import type { Answer, SourceDocument } from '@polyvac/core'
import { beginning } from '@polyvac/core/plugin'
import type { Citation } from '../protocol.js'

/** Most citations of an answer: a text may have far more markers than a reader follows. */
const MAX_CITATIONS = 1_000
const MAX_TITLE_CHARS = 200
const MAX_URL_CHARS = 2_000

const FENCE = /^ {0,3}(`{3,}|~{3,})/
/** An index in brackets, and not the text of a link. */
const MARKER = /\[([1-9]\d{0,3})\](?!\()/g

/** @param addressOf the address here of a source without one; undefined where it cannot be shown */
export function citationsOf ({ answer: text, source_documents: documents }: Pick<Answer, 'answer' | 'source_documents'>,
  addressOf: (source: SourceDocument) => string | undefined): readonly Citation[] {
  if (documents.length === 0) return []
  // @keyed none: it lives for one answer, and has at most its sources
  const known = new Map<number, Pick<Citation, 'url' | 'title'> | undefined>()
  const cited = (index: number): Pick<Citation, 'url' | 'title'> | undefined => {
    if (!known.has(index)) known.set(index, linkOf(documents[index]!, addressOf))
    return known.get(index)
  }
  const citations: Citation[] = []
  const add = (index: number, start: number, end: number): void => {
    const link = citations.length < MAX_CITATIONS ? cited(index) : undefined
    if (link !== undefined) citations.push({ index, ...link, start, end })
  }
  for (const { index: start, 0: marker, 1: number } of withoutCode(text).matchAll(MARKER)) {
    if (Number(number) <= documents.length) add(Number(number) - 1, start, start + marker.length)
    if (citations.length >= MAX_CITATIONS) return citations
  }
  for (let i = 0; i < documents.length && citations.length < MAX_CITATIONS; i++) {
    if (!known.has(i)) add(i, text.length, text.length)
  }
  return citations
}

/** The text, as long as before, with spaces in place of code: `argv[1]` names no source. */
function withoutCode (text: string): string {
  if (!/[`~]/.test(text)) return text
  let fence: string | undefined
  return text.split('\n').map(line => {
    const [, mark] = FENCE.exec(line) ?? []
    const isInside = fence !== undefined
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence) === true) fence = undefined
    return isInside || mark !== undefined ? ' '.repeat(line.length) : line.replace(/`[^`]+`/g, code => ' '.repeat(code.length))
  }).join('\n')
}

function linkOf (source: SourceDocument, addressOf: (source: SourceDocument) => string | undefined): Pick<Citation, 'url' | 'title'> | undefined {
  const { url: named, source: place } = source.metadata
  const url = webAddress(named) ?? webAddress(place) ?? addressOf(source)
  return url === undefined ? undefined : { url, title: titleOf(source) ?? url }
}

/** An address that a reader may follow: without a password, and without characters that a page would show otherwise. */
function webAddress (value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL_CHARS || /[\0-\x20\x7f]/.test(value) || !URL.canParse(value)) return undefined
  const { protocol, username, password, href } = new URL(value)
  return /^https?:$/.test(protocol) && username + password === '' ? href : undefined
}

/** The title that the metadata names, or the name of the file with the heading; undefined where there is neither. */
function titleOf ({ metadata: { title, source, heading } }: SourceDocument): string | undefined {
  const named = oneLine(title)
  if (named !== undefined) return named
  const path = oneLine(source)
  const file = path === undefined || webAddress(path) !== undefined ? path : path.split('/').at(-1) || path
  const about = heading === source ? undefined : oneLine(heading)
  return file === undefined || about === undefined ? about ?? file : oneLine(`${file}: ${about}`)
}

function oneLine (value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const line = beginning(value, MAX_TITLE_CHARS * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return line === '' ? undefined : line.length > MAX_TITLE_CHARS ? `${beginning(line, MAX_TITLE_CHARS - 1)}…` : line
}
