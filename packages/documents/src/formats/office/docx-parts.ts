// The parts of a DOCX file that mammoth does not convert: page headers, page footers and comments.
import { Parser } from 'htmlparser2'
import { isPageText } from './page-text.js'

/** Headers and footers that are read: each section of a document has up to three of both. */
const MAX_PAGE_TEXTS = 30
/** Longest text of a header or footer, and of all comments, in characters. */
const MAX_PAGE_TEXT = 1_000
const MAX_COMMENTS = 100_000
/** Longest quotation of the text that a comment is about, in characters. */
const MAX_ANCHOR = 200

type Parts = ReadonlyMap<string, Buffer>

/** The texts of the page headers or footers, each once, without numbers of pages. */
export function pageTextsOf (parts: Parts, kind: 'header' | 'footer'): string[] {
  const names = [...parts.keys()].filter(name => new RegExp(`^word/${kind}\\d*\\.xml$`).test(name)).slice(0, MAX_PAGE_TEXTS)
  const lines = names.flatMap(name => paragraphsOf(parts.get(name) as Buffer).join('\n').slice(0, MAX_PAGE_TEXT).split('\n'))
  return [...new Set(lines)].filter(isPageText)
}

/** The comments, each with its author and the text that it is about. */
export function commentsOf (parts: Parts): string[] {
  const part = parts.get('word/comments.xml')
  if (part === undefined) return []
  const anchors = anchorsOf(parts.get('word/document.xml'))
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_COMMENTS
  const comments: string[] = []
  let left = MAX_COMMENTS
  let current: { id: string, author: string } | undefined
  // @keyed none: it lives for the conversion of one document of the configuration; MAX_COMMENTS, MAX_DOCX_BYTES
  let texts: string[] = []
  readParagraphs(part, {
    open (name, attributes) {
      if (name === 'w:comment') [current, texts] = [{ id: attributes['w:id'] ?? '', author: attributes['w:author'] ?? '' }, []]
    },
    paragraph (text) { texts.push(text) },
    close (name) {
      if (name !== 'w:comment' || current === undefined) return
      const text = texts.join(' ').trim()
      const anchor = anchors.get(current.id)?.trim() ?? ''
      const by = current.author === '' ? '' : ` by ${current.author}`
      if (text !== '' && (left -= text.length) > 0) comments.push(`Comment${by}${anchor === '' ? '' : ` on “${anchor}”`}: ${text}`)
      current = undefined
    }
  })
  return comments
}

/** The text between the marks of each comment, by its id. */
function anchorsOf (part: Buffer | undefined): Map<string, string> {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_DOCX_BYTES
  const anchors = new Map<string, string>()
  // @keyed none: it lives for the conversion of one document of the configuration; MAX_COMMENTS, MAX_DOCX_BYTES
  const open = new Set<string>()
  if (part === undefined) return anchors
  readParagraphs(part, {
    open (name, { 'w:id': id = '' }) {
      if (name === 'w:commentRangeStart' && open.size < 20) open.add(id)
      if (name === 'w:commentRangeEnd') open.delete(id)
    },
    text (text) {
      for (const id of open) {
        const before = anchors.get(id) ?? ''
        if (before.length < MAX_ANCHOR) anchors.set(id, (before + text).slice(0, MAX_ANCHOR))
      }
    }
  })
  return anchors
}

function paragraphsOf (part: Buffer): string[] {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_DOCX_BYTES
  const lines: string[] = []
  readParagraphs(part, { paragraph (text) { if (text.trim() !== '') lines.push(text.replace(/\s+/g, ' ').trim()) } })
  return lines
}

interface ParagraphReader {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (text: string) => void
  readonly paragraph?: (text: string) => void
  readonly close?: (name: string) => void
}

/** Reads the text of paragraphs, without deleted text, codes of fields and what is there for older programs. */
function readParagraphs (part: Buffer, reader: ParagraphReader): void {
  let text = ''
  let inText = false
  let silent = 0
  const parser = new Parser({
    onopentag (name, attributes) {
      if (name === 'mc:Fallback' || name === 'w:del') silent++
      reader.open?.(name, attributes)
      if (name === 'w:t') inText = silent === 0
      else if (name === 'w:tab' || name === 'w:br') text += ' '
    },
    ontext (data) {
      if (!inText) return
      text += data
      reader.text?.(data)
    },
    onclosetag (name) {
      if (name === 'mc:Fallback' || name === 'w:del') silent--
      if (name === 'w:t') inText = false
      if (name === 'w:p') {
        reader.paragraph?.(text)
        reader.text?.(' ')
        text = ''
      }
      reader.close?.(name)
    }
  }, { xmlMode: true })
  parser.write(part.toString('utf8'))
  parser.end()
}
