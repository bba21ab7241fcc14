import { stemmer } from 'stemmer'
import { STOP_WORDS } from './stop-words.js'

/** Scripts without spaces between words: their runs are split into words first. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const UNSPACED_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー\p{M}]+/gu
const NOT_ASCII = /[^\0-\x7f]/
const WORD = /[\p{L}\p{N}\p{M}_]+/gu
const LATIN_MARKS = /[\u0300-\u036f]/g
/** A name made of several words: `max_tasks`, `bodyLimit`, `HTTPServer`. */
const IS_COMPOUND = /_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
/** A part that only such names have; a pattern for the whole name is ten times slower. */
const COMPOUND_SIGN = /_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]/g
const NAME_REST = /[A-Za-z0-9_]*/y
const SEAM = /_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/

/** Longest word of a query or sentence, in characters; longer ones are base64 or minified code. */
const MAX_WORD = 64
/** Cached stems; the cache is emptied when full. */
const MAX_STEMS = 20_000

let segmenter: Intl.Segmenter | undefined
const stems = new Map<string, string>()

/** A word of a question. */
export interface Word {
  /** In lower case, for the index, which has its own stemmer. */
  readonly text: string
  /** Equal for words of the same root. */
  readonly stem: string
  /** The words of a compound name. */
  readonly parts: readonly Word[]
}

/**
 * A text for the term index, which has its own tokenizer and stemmer: the parts of compound names are added
 * (`max_tasks` is found by "max tasks"), and spaces in scripts without them.
 */
export function indexText (text: string): string {
  const ready = spaced(text)
  const parts = new Set<string>()
  COMPOUND_SIGN.lastIndex = 0
  for (let sign = COMPOUND_SIGN.exec(ready); sign !== null; sign = COMPOUND_SIGN.exec(ready)) {
    let start = sign.index
    while (start > 0 && isNameCharacter(ready.charCodeAt(start - 1))) start--
    NAME_REST.lastIndex = sign.index
    NAME_REST.test(ready)
    COMPOUND_SIGN.lastIndex = NAME_REST.lastIndex
    if (NAME_REST.lastIndex - start > MAX_WORD) continue
    for (const part of ready.slice(start, NAME_REST.lastIndex).split(SEAM)) if (part.length > 1) parts.add(part)
  }
  return parts.size === 0 ? ready : `${ready}\n${[...parts].join(' ')}`
}

/** The distinct words of a query without stop words, unless it has no other words. */
export function queryWords (query: string): Word[] {
  const words = new Map<string, Word>()
  const stops = new Map<string, Word>()
  for (const raw of rawWords(query)) {
    const word = { ...wordOf(raw), parts: partsOf(raw).map(wordOf) }
    const group = STOP_WORDS.has(word.text) ? stops : words
    if (!group.has(word.stem)) group.set(word.stem, word)
  }
  return [...(words.size > 0 ? words : stops).values()]
}

/** The distinct stems of a text, of compound names and of their parts. */
export function stemsOf (text: string): Set<string> {
  const found = new Set<string>()
  for (const raw of rawWords(text)) {
    found.add(stemOf(raw))
    for (const part of partsOf(raw)) found.add(stemOf(part))
  }
  return found
}

function * rawWords (text: string): Generator<string> {
  for (const [word] of spaced(text).matchAll(WORD)) {
    if (word.length <= MAX_WORD && (word.length > 1 || UNSPACED.test(word))) yield word
  }
}

function isNameCharacter (code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
}

function partsOf (raw: string): string[] {
  return IS_COMPOUND.test(raw) ? raw.split(SEAM).filter(part => part.length > 1) : []
}

function wordOf (raw: string): Word {
  return { text: raw.toLowerCase(), stem: stemOf(raw), parts: [] }
}

function spaced (text: string): string {
  if (!NOT_ASCII.test(text)) return text
  const normal = text.normalize('NFKC')
  if (!UNSPACED.test(normal)) return normal
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' })
  const words = segmenter
  return normal.replace(UNSPACED_RUN, run => ` ${Array.from(words.segment(run), part => part.segment).join(' ')} `)
}

function stemOf (raw: string): string {
  let stem = stems.get(raw)
  if (stem !== undefined) return stem
  const lower = raw.toLowerCase()
  const plain = NOT_ASCII.test(lower) ? lower.normalize('NFD').replace(LATIN_MARKS, '').normalize('NFC') : lower
  stem = plain.length > 2 && /^[a-z]+$/.test(plain) ? stemmer(plain) : plain
  if (stems.size >= MAX_STEMS) stems.clear()
  stems.set(raw, stem)
  return stem
}
