import { isUtf8 } from 'node:buffer'
import { ENCODINGS, type Letters } from './encoding-letters.js'
import { decodeWindows1252 } from './windows-1252.js'

/** The text of a file, and the encoding that it was read in. */
export interface DecodedText { readonly text: string, readonly encoding: string }

/** Bytes whose NULs and control characters decide whether a file is text. */
const HEAD = 8_192
/** Control characters that are text, and the largest share of others in a text: one in so many characters. */
const CONTROLS = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b])
const CHARACTERS_EACH_CONTROL = 50
/** Bytes of the lines that an encoding is recognised by, and what is taken of a line before its first such byte. */
const SAMPLE = 2_048
const BEFORE = 64

/** Natural logarithms of probabilities: of signs that each encoding has, of foreign letters, and of errors. */
const SIGN = Math.log(0.002)
const FOREIGN = -11
const ODD_SIGN = -12
const ERROR = -20
/**
 * For a capital after a small letter, for two letters beyond ASCII next to each other in Latin script, and for a letter
 * of another script next to one of ASCII.
 */
const INNER_CAPITAL = -4
const NEIGHBOURS = -1.5
const MIXED_WORD = -6
/** An encoding with more errors among its characters is not tried, nor one of another script with more mixed words. */
const ONE_IN = 8
/** In favour of windows-1252: a wrong guess is worse for Western texts; and of the encoding that the file names. */
const WESTERN_BONUS = 8
const NAMED_BONUS = 25

const SIGNS = /[\u00a0«»°§©®€£–—‘’‚“”„…·•·№×½¼¾²³±µ¿¡ªº™´、。・]/
const NAMES_ENCODING = /(?:charset|coding|encoding)\s*[=:]\s*["']?\s*([\w-]{3,20})/i

/** Whether Node.js decodes an encoding of this name; without all data of ICU it has few. */
export function isEncoding (name: unknown): boolean {
  try {
    return typeof name === 'string' && new TextDecoder(name).encoding !== ''
  } catch {
    return false
  }
}

/**
 * Decodes the bytes of a file: by its byte order mark, as UTF-8, in `encoding`, or in the encoding in which it has the
 * most probable letters. Undefined for what is not text.
 */
export function decodeText (bytes: Buffer, encoding?: string): DecodedText | undefined {
  const mark = bytes.subarray(0, 3).toString('hex')
  if (mark.startsWith('fffe')) return decode(bytes, 'utf-16le')
  if (mark.startsWith('feff')) return decode(bytes, 'utf-16be')
  const head = bytes.subarray(0, HEAD)
  if (head.includes(0)) return decodeUtf16(bytes)
  if (!isText(head)) return undefined
  if (head.includes('\x1b$')) return decode(bytes, 'iso-2022-jp')
  if (isUtf8(bytes) || mark === 'efbbbf') return decode(bytes, 'utf-8')
  const damaged = decode(bytes, 'utf-8')
  if (hasMoreLetters(damaged.text)) return damaged
  return decode(bytes, encoding ?? recognise(bytes))
}

function isText (head: Buffer): boolean {
  let controls = 0
  for (const byte of head) if (byte < 0x20 && !CONTROLS.has(byte)) controls++
  return controls * CHARACTERS_EACH_CONTROL <= head.length
}

/** UTF-16 without a byte order mark: all characters are assigned, and none is a control character. */
function decodeUtf16 (bytes: Buffer): DecodedText | undefined {
  if (bytes.length % 2 !== 0) return undefined
  const sample = bytes.subarray(0, HEAD)
  const [best] = ['utf-16le', 'utf-16be'].map(encoding => ({ encoding, text: new TextDecoder(encoding).decode(sample, { stream: true }) }))
    .filter(({ text }) => !/(?![\t\n\f\r])[\p{Cc}\p{Cn}\p{Co}\ufffd\ufffe]/u.test(text))
    .map(one => ({ ...one, plain: [...one.text].filter(character => character <= '\x7f').length }))
    .sort((a, b) => b.plain - a.plain)
  return best === undefined || best.plain === 0 ? undefined : decode(bytes, best.encoding)
}

/** Whether text beyond ASCII is rather UTF-8 with some damage, such as a letter that was cut, than another encoding. */
function hasMoreLetters (text: string): boolean {
  let letters = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 0x7f) letters += code === 0xfffd ? -1 : 1
  }
  return letters > 0
}

function decode (bytes: Buffer, encoding: string): DecodedText {
  return { encoding, text: encoding === 'windows-1252' ? decodeWindows1252(bytes) : new TextDecoder(encoding).decode(bytes) }
}

/** The encoding in which the letters beyond ASCII, and the words around them, are the most probable. */
function recognise (bytes: Buffer): string {
  const sample = sampleOf(bytes)
  const named = NAMES_ENCODING.exec(bytes.subarray(0, 1_024).toString('latin1'))?.[1]
  const isNamed = (encoding: string): boolean => named !== undefined && isEncoding(named) && new TextDecoder(named).encoding === encoding
  // by bytes, before the cost of each encoding
  const { length: beyond } = sample.filter(byte => byte >= 0x80)
  const isMixed = (sample.toString('latin1').match(/[a-z](?=[\x80-\xff])|[\x80-\xff](?=[a-z])/gi)?.length ?? 0) * ONE_IN > 2 * beyond
  let best = 'windows-1252'
  let most = -Infinity
  for (const [encoding, languages] of Object.entries(ENCODINGS)) {
    if (!isEncoding(encoding)) continue
    const { isLatin, isIdeographic } = scriptOf(languages)
    if (!isLatin && !isIdeographic && isMixed) continue
    const text = encoding === 'windows-1252' ? decodeWindows1252(sample) : new TextDecoder(encoding).decode(sample, { stream: true })
    if ((text.match(/\ufffd/g)?.length ?? 0) * ONE_IN > beyond) continue
    const bonus = (encoding === 'windows-1252' || encoding === 'iso-8859-15' ? WESTERN_BONUS : 0) + (isNamed(encoding) ? NAMED_BONUS : 0)
    const likelihood = likelihoodOf(text, languages) + bonus
    if (likelihood > most) [best, most] = [encoding, likelihood]
  }
  return best
}

/** The lines with bytes beyond ASCII, so that a character of several bytes is whole. */
function sampleOf (bytes: Buffer): Buffer {
  // @keyed none: a list in order, of one document; SAMPLE
  const lines: Buffer[] = []
  let length = 0
  for (let at = 0; at < bytes.length && length < SAMPLE; at++) {
    if (bytes[at]! < 0x80) continue
    const start = Math.max(bytes.subarray(Math.max(0, at - BEFORE), at).lastIndexOf(0x0a) + 1 + Math.max(0, at - BEFORE), at - BEFORE)
    const newline = bytes.indexOf(0x0a, at)
    const end = newline === -1 ? bytes.length : newline + 1
    const line = bytes.subarray(start, Math.min(end, start + SAMPLE - length))
    length += line.length
    lines.push(line)
    at = end - 1
  }
  return Buffer.concat(lines)
}

const LATIN = /\p{Script=Latin}/u

function scriptOf (languages: Readonly<Record<string, Letters>>): { isLatin: boolean, isIdeographic: boolean } {
  const [first] = Object.values(languages)
  return { isLatin: LATIN.test(first?.letters ?? ''), isIdeographic: first?.others !== undefined }
}

/** The logarithm of the probability in the likeliest language. Letters of ASCII count in words with other letters. */
function likelihoodOf (text: string, languages: Readonly<Record<string, Letters>>): number {
  const all = Object.values(languages)
  const { isLatin, isIdeographic } = scriptOf(languages)
  // @keyed none: the characters of a sample of SAMPLE bytes of one document
  const counts = new Map<string, number>()
  const count = (characters: string): void => { for (const one of characters) counts.set(one, (counts.get(one) ?? 0) + 1) }
  const lower = text.toLowerCase()
  if (isLatin) for (const [word] of lower.matchAll(WORD)) if (BEYOND_ASCII.test(word)) count(word)
  count(lower.replace(isLatin ? LETTERS_AND_ASCII : ONLY_ASCII, ''))
  const signs = [...counts].map(([character, times]) => ({ character, times, sign: unknownOf(character), ascii: isLatin ? ASCII.get(character) ?? 0 : 0 }))
  const best = Math.max(...all.map(({ letters, others }) => {
    const known = probabilitiesOf(letters, others !== undefined)
    let sum = 0
    for (const { character, times, sign, ascii } of signs) {
      sum += times * ((known.get(character) ?? (others?.are.test(character) === true ? Math.log(0.3 / others.count) : sign)) - ascii)
    }
    return sum
  }))
  return best + penaltyOf(text, isLatin, isIdeographic)
}

const WORD = /[\p{L}\p{M}]+/gu
const BEYOND_ASCII = /\P{ASCII}/u
const LETTERS_AND_ASCII = /[\p{L}\p{M}\p{ASCII}]+/gu
const ONLY_ASCII = /\p{ASCII}+/gu
const CAPITALS = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}(?=\p{Ll})/gu
const LATIN_PAIRS = /(?=\P{ASCII})\p{L}(?=(?=\P{ASCII})\p{L})/gu
const LATIN_SIGNS = /\p{L}[¡-©«-³µ¶¸¹»-¿](?=\p{L})/gu
const MIXED_PAIRS = /[a-zA-Z](?=(?=\P{ASCII})\p{Alphabetic})|(?=\P{ASCII})\p{Alphabetic}(?=[a-zA-Z])/gu

function penaltyOf (text: string, isLatin: boolean, isIdeographic: boolean): number {
  const times = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
  const capitals = (text.match(CAPITALS) ?? []).filter(two => BEYOND_ASCII.test(two)).length
  const rest = isLatin
    ? times(LATIN_PAIRS) * NEIGHBOURS + times(LATIN_SIGNS) * MIXED_WORD
    : isIdeographic ? 0 : times(MIXED_PAIRS) * MIXED_WORD
  return capitals * INNER_CAPITAL + rest
}

function unknownOf (character: string): number {
  if (SIGNS.test(character)) return SIGN
  return /[\p{Cc}\p{Cn}\p{Co}\ufffd]/u.test(character) ? ERROR : /[\p{L}\p{M}]/u.test(character) ? FOREIGN : ODD_SIGN
}

// @keyed none: the alphabets of ENCODINGS
const probabilities = new Map<string, ReadonlyMap<string, number>>()

/** An alphabet falls by a tenth from letter to letter; the letters of a script with thousands of them follow Zipf. */
function probabilitiesOf (letters: string, isIdeographic: boolean): ReadonlyMap<string, number> {
  const known = probabilities.get(letters)
  if (known !== undefined) return known
  const all = [...letters]
  const made = new Map(all.map((letter, rank) => [letter, Math.log(isIdeographic
    ? 0.7 / ((rank + 10) * Math.log((all.length + 10) / 10))
    : 0.1 * 0.9 ** rank)]))
  probabilities.set(letters, made)
  return made
}

/** What the letters of ASCII have on average in European languages. */
const ASCII = probabilitiesOf('eaintrsoldumcpghvbfkzwyjqx', false)
