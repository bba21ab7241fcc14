import { stemOf } from '../language/languages.js'

/** How a text relates to a number, code or variant that a question names. */
export type Naming = 'same' | 'maybe' | 'other' | 'none'

/** A word, code, number or mark of a text. */
export interface Token {
  /** In lower case. */
  readonly text: string
  readonly raw: string
  /** Whether it begins a line, or a cell of a table. */
  readonly starts: boolean
  readonly isCell: boolean
}

/** A code, a word, or a mark; runs of scripts without spaces, and the Latin letters next to them, are separate. */
const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[\p{L}\p{M}\p{N}])+(?:[-/._'’](?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[\p{L}\p{M}\p{N}])+)*\+?|[^\s]/gu
/** The same without such scripts, and in ASCII: several times as fast. */
const SPACED_TOKEN = /[\p{L}\p{M}\p{N}]+(?:[-/._'’][\p{L}\p{M}\p{N}]+)*\+?|[^\s]/gu
const ASCII_TOKEN = /[A-Za-z0-9]+(?:[-/._'][A-Za-z0-9]+)*\+?|\S/g
const NOT_ASCII = /[^\0-\x7f]/
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const DIGITS = /^v?\d/
/** What stands before the first word of a line, or of a cell of a table. */
const STARTS = /(?:^|\n|\|)[ \t]*(?:[-*|] ?)?["`*]*$/u
const LETTERS = /^\p{Lu}{1,3}(?:\/\p{Lu}{1,3})+$/u

/** A text whose tokens are read once. */
export class NamedText {
  readonly text: string
  readonly tokens: readonly Token[]
  // @keyed none: it lives for one search; the tokens of a passage
  #keys: ReadonlySet<string> | undefined

  constructor (...parts: readonly string[]) {
    this.text = parts.join('\n').normalize('NFKC')
    this.tokens = tokensOf(this.text)
  }

  get keys (): ReadonlySet<string> {
    this.#keys ??= new Set(this.tokens.map(({ text }) => keyOf(text)))
    return this.#keys
  }
}

export function tokensOf (text: string): Token[] {
  const tokens: Token[] = []
  for (const { 0: raw, index } of text.matchAll(!NOT_ASCII.test(text) ? ASCII_TOKEN : IDEOGRAPHS.test(text) ? TOKEN : SPACED_TOKEN)) {
    // "S/M" is two sizes
    if (raw.includes('/') && LETTERS.test(raw)) {
      for (const one of raw.split(/(\/)/)) tokens.push({ text: one.toLowerCase(), raw: one, starts: false, isCell: false })
      continue
    }
    const before = DIGITS.test(raw) ? text.slice(Math.max(0, index - 6), index) : undefined
    tokens.push({
      text: raw.toLowerCase(),
      raw,
      starts: index === 0 || (before !== undefined && STARTS.test(index < 6 ? before : ` ${before}`)),
      isCell: before !== undefined && /\|[ \t]*["`*]*$/.test(before)
    })
  }
  return tokens
}

const JOINTS = /[-/._'’]/

/** Equal for "P-30" and "P30". */
export function keyOf (text: string): string { return JOINTS.test(text) ? text.replaceAll(/[-/._'’]/g, '') : text }

export function isNoun (token: Token | undefined, nouns: ReadonlySet<string>): boolean {
  if (token === undefined) return false
  const { text } = token
  if (nouns.has(text)) return true
  for (const noun of nouns) {
    const begins = noun.charCodeAt(0) === text.charCodeAt(0)
    // "Artikels" of "Artikel", "プラン" of "料金プラン"
    if (!begins ? noun.length >= 2 && noun.charCodeAt(0) > 0x2e80 && text.endsWith(noun) : noun.length >= 2 && text.startsWith(noun) && text.length <= noun.length + 2) return true
    if (begins && (nouns.has(stemOf(text, 'en')) || nouns.has(text.replace(/[.#]js$/, '')))) return true
  }
  return false
}
