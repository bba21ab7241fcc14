import { posix } from 'node:path'
import { readXml } from './xml.js'
import { Archive } from './zip.js'
import { splitHtml } from '../markup/html.js'
import { PassageBuilder, type Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Most text of a book, inflated, in bytes; its pictures and fonts are not read. */
const MAX_EPUB_BYTES = 64 * 1024 * 1024
/** Parts of a book, and entries of its table of contents, that are read. */
const MAX_PARTS = 10_000

/** Facts about a book, by their elements. */
const FACTS: Readonly<Record<string, string>> = { title: 'Title', creator: 'Author', publisher: 'Publisher', date: 'Date', identifier: 'Identifier' }
/** Longest fact that is read, in characters. */
const MAX_FACT = 300

/** Elements without content that XML may close in their own tag, and HTML may not. */
const SELF_CLOSED = /<((?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)[a-z][a-z0-9]*)\b([^<>]*)\/>/gi

/** The chapters of a book in the order of reading; its numbers count them. */
export async function splitEpub (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await Archive.open(bytes, MAX_EPUB_BYTES)
  const book = await readBook(archive)
  if (await isProtected(archive, book.chapters)) throw new Error('its text is encrypted')
  const titles = await readContents(archive, book.contents)
  const passages: Passage[] = factsOf(book.facts)
  const missing: string[] = []
  for (const [index, part] of book.chapters.entries()) {
    if (!archive.has(part)) {
      missing.push(`the chapter ${index + 1}, whose file is not there`)
      continue
    }
    const text = (await archive.bytes(part)).toString('utf8').replace(/<head\b[^]*?<\/head>/i, '').replace(SELF_CLOSED, '<$1$2></$1>')
    const title = titles.get(part) ?? ''
    for (const passage of splitHtml(text)) passages.push({ ...passage, heading: passage.heading === '' ? title : passage.heading, first: index + 1, last: index + 1 })
  }
  return { passages, missing: missing.length > 0 ? missing.slice(0, 10).join('; ') : undefined }
}

interface Book { readonly chapters: string[], readonly facts: ReadonlyArray<readonly [string, string]>, readonly contents: string | undefined }

async function readBook (archive: Archive): Promise<Book> {
  let root: string | undefined
  if (archive.has('META-INF/container.xml')) {
    await readXml(archive, 'META-INF/container.xml', { open (name, attributes) { if (name === 'rootfile') root ??= attributes['full-path'] } })
  }
  const opf = root ?? archive.names().find(name => name.endsWith('.opf'))
  if (opf === undefined || !archive.has(opf)) throw new Error('it is not an EPUB: it has no package file')
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_PARTS
  const items = new Map<string, { part: string, isContents: boolean, isText: boolean }>()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PARTS
  const chapters: string[] = []
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PARTS
  const facts: [string, string][] = []
  let contents: string | undefined
  let fact: { name: string, text: string } | undefined
  await readXml(archive, opf, {
    open (name, attributes) {
      const label = FACTS[name]
      if (label !== undefined && facts.length < 20) fact = { name: label, text: '' }
      const { id = '', href = '', 'media-type': type = '', properties = '', idref = '', toc } = attributes
      if (name === 'item' && items.size < MAX_PARTS) {
        const isContents = properties.split(/\s+/).includes('nav')
        items.set(id, { part: partOf(opf, href), isContents, isText: /html|xml$/.test(type) && type !== 'application/x-dtbncx+xml' })
        if (isContents) contents = partOf(opf, href)
      } else if (name === 'spine' && toc !== undefined) contents ??= items.get(toc)?.part
      else if (name === 'itemref' && chapters.length < MAX_PARTS) {
        const item = items.get(idref)
        if (item?.isText === true && !item.isContents) chapters.push(item.part)
      }
    },
    text (data) { if (fact !== undefined && fact.text.length < MAX_FACT) fact.text += data },
    close (name) {
      if (fact === undefined || FACTS[name] !== fact.name) return
      const text = fact.text.replace(/\s+/g, ' ').trim().slice(0, MAX_FACT)
      // an identifier that only programs use
      if (text !== '' && !/^(?:urn:uuid:)?[0-9a-f-]{30,}$/i.test(text)) facts.push([fact.name, text])
      fact = undefined
    }
  })
  return { chapters, facts, contents }
}

function partOf (from: string, reference: string): string {
  const [path = ''] = reference.split('#')
  let decoded = path
  try {
    decoded = decodeURIComponent(path)
  } catch {
    // a per cent sign of the name itself
  }
  return posix.join(posix.dirname(from), decoded)
}

/** Title, author and the like, as the first passage. */
function factsOf (facts: Book['facts']): Passage[] {
  const builder = new PassageBuilder()
  const title = facts.find(([name]) => name === 'Title')?.[1]
  if (title !== undefined) builder.heading(1, title, 1)
  for (const [name, text] of facts) builder.line(`- ${name}: ${text}`, 1)
  return builder.finish()
}

/** The titles of the chapters, by their parts: of EPUB 3 the links of the page of contents, of EPUB 2 its list. */
async function readContents (archive: Archive, part: string | undefined): Promise<Map<string, string>> {
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PARTS
  const titles = new Map<string, string>()
  if (part === undefined || !archive.has(part)) return titles
  let label = ''
  let target = ''
  const add = (): void => {
    const text = label.replace(/\s+/g, ' ').trim()
    if (target !== '' && text !== '' && !titles.has(target) && titles.size < MAX_PARTS) titles.set(target, text)
    target = ''
  }
  await readXml(archive, part, {
    open (name, { href, src }) {
      if (name === 'a' && href !== undefined) [label, target] = ['', partOf(part, href)]
      else if (name === 'navLabel') label = ''
      else if (name === 'content' && src !== undefined) {
        target = partOf(part, src)
        add()
      }
    },
    text (data) { label = (label + data).slice(0, MAX_FACT) },
    close (name) { if (name === 'a') add() }
  })
  return titles
}

/** Whether a chapter is encrypted; fonts are in many books. */
async function isProtected (archive: Archive, chapters: readonly string[]): Promise<boolean> {
  const parts = new Set(chapters)
  let found = false
  if (archive.has('META-INF/encryption.xml')) {
    await readXml(archive, 'META-INF/encryption.xml', { open (name, { URI: uri = '' }) { found ||= name === 'CipherReference' && parts.has(partOf('', uri)) } })
  }
  return found
}
