// What texts say of a number, code, letter or variant that a question names.
import { numberOf } from '../language/names.js'
import { isNoun, keyOf, type NamedText, type Naming, type Token } from './named-text.js'

export const NUMBER = /^v?\d+(?:[._]\d+)*\+?$/
export const ROMAN = /^(?:i{2,3}|iv|vi{0,3}|ix|xi{0,3}|xiv|xvi{0,3}|x{2,3})$/
export const LETTER = /^(?:\p{Lu}|[X]{1,3}[SL])$/u
/** In order. */
const SIZES = ['xxxs', 'xxs', 'xs', 's', 'm', 'l', 'xl', 'xxl', 'xxxl']
const TO = new Set(['to', '-', '–', 'bis', 'à', 'a', 'through', 'until', 'hasta', 'до'])
const JOINS = new Set(['and', 'or', 'und', 'oder', 'et', 'ou', 'y', 'o', 'e', 'и', 'или', ',', '/', '&', '、', '和', 'и', 'to', 'bis', 'à', 'a', '-', '–'])
export const BETWEEN = new Set(['no', 'nr', 'number', 'nummer', 'numéro', 'número', 'n°', '№', '#', '.', ':', '(', '"', '“', '„', '«', '`', '*', '[', 'v', 'version', '°', 'js', '='])
const RANGE_UP = /^(?:\+|(?:(?:or|and|oder|und|et|ou|o|y) )?(?:newer|later|above|higher|greater|up|more|neuer|höher|mehr|spätere?|plus|supérieure?s?|superior(?:es)?|ultérieure?|más|posterior(?:es)?))/u
const RANGE_DOWN = /^(?:(?:or|and|oder|und|et|ou|o|y) )?(?:older|earlier|below|lower|less|fewer|älter|früher|niedriger|inférieure?s?|anterior(?:es)?|inferior(?:es)?)/u
const FROM = /(?:at least|from|since|minimum|min\.?|>=?|≥|ab|mindestens|seit|à partir de|depuis|desde|a partir de(?: la)?) ?$/u
const UP_TO = /(?:at most|up to|until|before|<=?|≤|bis|höchstens|maximum|max\.?|jusqu['’]à|hasta) ?$/u
/** Chinese and Japanese: 第十一条, 三级, 3号楼. */
export const COUNTED = /(第)?([〇零一二三四五六七八九十百千两\d]+)([条條章节節款项項级級号號层層階阶类類型期版番課课楼])/gu
/** Digits of a number that stands next to another noun by chance only. */
const LONG = 3

/** The numbers, letters or codes that follow a noun: 14 and 16 of "rooms 14 and 16". */
function * following (text: NamedText, nouns: ReadonlySet<string>, isValue: (token: Token) => boolean): Generator<[Token, number]> {
  const { tokens } = text
  for (let at = 0; at < tokens.length; at++) {
    if (!isNoun(tokens[at], nouns)) continue
    let next = at + 1
    while (next < at + 3 && BETWEEN.has(tokens[next]?.text ?? '')) next++
    while (next < tokens.length) {
      const token = tokens[next] as Token
      if (isValue(token)) yield [token, next]
      else if (!JOINS.has(token.text) && !isNoun(token, nouns)) break
      next++
    }
  }
}

export function readNumber (text: NamedText, nouns: ReadonlySet<string>, asked: string, isId: boolean): Naming {
  let reading: Naming = 'none'
  const isNumber = (token: Token): boolean => NUMBER.test(token.text)
  const compare = (token: Token, at: number): boolean => {
    if (isSameNumber(token.text, asked) || isInRange(text, at, asked)) return true
    reading = 'other'
    return false
  }
  for (const [token, at] of following(text, nouns, isNumber)) if (compare(token, at)) return 'same'
  if (text.tokens.some(token => isNoun(token, nouns))) {
    for (const [at, token] of text.tokens.entries()) {
      if (token.starts && isNumber(token) && /^[|:,;]$/.test(text.tokens[at + 1]?.text ?? '') && compare(token, at)) return 'same'
    }
  }
  const same = text.tokens.filter((token, at) => isNumber(token) && isSameNumber(token.text, asked) && text.tokens[at + 1]?.text !== '.')
  const hasNoun = text.tokens.some(token => isNoun(token, nouns))
  if ((hasNoun && same.some(({ isCell }) => isCell)) || (same.length > 0 && asked.length >= LONG)) return 'same'
  // without another number of the noun, it may stand anywhere
  return reading !== 'none' || same.length === 0 ? reading : isId || !hasNoun ? 'maybe' : 'same'
}

/** Also 3.2 for 3, and 3 for 3.2. */
function isSameNumber (one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => text.replace(/^v|\+$/g, '').replaceAll('_', '.')) as [string, string]
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)
}

function isInRange (text: NamedText, at: number, asked: string): boolean {
  const here = text.tokens[at]?.text ?? ''
  const after = text.tokens.slice(at + 1, at + 4).map(token => token.text)
  const before = text.tokens.slice(Math.max(0, at - 5), at).map(token => token.text).join(' ')
  const isRange = TO.has(after[0] ?? '')
  const to = isRange ? after.slice(1).find(word => NUMBER.test(word)) : undefined
  if (to !== undefined) return compareVersions(asked, here) >= 0 && compareVersions(asked, to) <= 0
  const rest = after.join(' ')
  // "from version 3", "from 3"
  const above = before.replace(/ ?[^ ]+ ?$/, '')
  if (RANGE_UP.test(rest) || here.endsWith('+') || FROM.test(before) || FROM.test(above)) return compareVersions(asked, here) >= 0
  return (RANGE_DOWN.test(rest) || UP_TO.test(before) || UP_TO.test(above)) && compareVersions(asked, here) <= 0
}

function compareVersions (one: string, other: string): number {
  const [a, b] = [one, other].map(text => text.replace(/^v|\+$/g, '').split(/[._]/).map(Number)) as [number[], number[]]
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

export function readCode (text: NamedText, asked: string): Naming {
  const key = keyOf(asked)
  if (text.keys.has(key)) return 'same'
  // "TX 2070" and "OAuth 2.0" for "TX-2070" and "OAuth2"; "X-200" for "X-200/C" is a family, not the part
  const letters = /^(\p{L}+)(\d+)$/u.exec(key)
  if (letters !== null && text.tokens.some(({ text: one }, at) => one === letters[1] && isSameNumber(text.tokens[at + 1]?.text ?? '', letters[2] as string))) return 'same'
  const parts = partsOf(asked)
  const shape = shapeOf(asked)
  const isSibling = ({ text: one }: Token): boolean => /\d/.test(one) && shapeOf(one) === shape && partsOf(one).some((part, at) => part === parts[at])
  // a longer code begins with it: "60068-2-11" for "60068-2"
  if (text.tokens.some(({ text: one }) => one.startsWith(asked) && /^[-/._]/.test(one.slice(asked.length)))) return 'same'
  return text.tokens.some(isSibling) ? 'other' : 'none'
}

function partsOf (code: string): string[] { return code.match(/\p{L}+|\d+/gu) ?? [] }

function shapeOf (code: string): string { return partsOf(code).map(part => /\d/.test(part) ? '9' : 'a').join('') }

export function readLetter (text: NamedText, nouns: ReadonlySet<string>, asked: string): Naming {
  const isRoman = ROMAN.test(asked)
  const isValue = (token: Token): boolean => LETTER.test(token.raw) || (isRoman && (ROMAN.test(token.text) || /^[ivx]$/.test(token.text)))
  let reading: Naming = 'none'
  let last: string | undefined
  for (const [token, at] of following(text, nouns, isValue)) {
    const isRange = last !== undefined && TO.has(text.tokens[at - 1]?.text ?? '') && isWithin(asked, last, token.text)
    if (token.text === asked || isRange) return 'same'
    last = token.text
    reading = 'other'
  }
  return reading === 'none' && text.tokens.some(({ raw, text: one }) => one === asked && (raw !== one || isRoman)) ? 'same' : reading
}

/** M of S to XL, and C of A to D. */
function isWithin (asked: string, from: string, to: string): boolean {
  const all = [asked, from, to]
  const [at, first, last] = all.every(one => SIZES.includes(one)) ? all.map(one => SIZES.indexOf(one)) : all.map(one => one.length === 1 ? one.charCodeAt(0) : NaN)
  return (at as number) >= (first as number) && (at as number) <= (last as number)
}

export function readCounted ({ text }: NamedText, asked: number, kind: string): Naming {
  let reading: Naming = 'none'
  for (const { 2: numeral = '', 3: other } of text.matchAll(COUNTED)) {
    if (other !== kind) continue
    if (numberOf(numeral) === asked) return 'same'
    reading = 'other'
  }
  return reading
}

export function readVariant ({ tokens }: NamedText, valueOf: (word: string) => string | undefined, asked: string,
  nouns: ReadonlySet<string> | undefined, isBeside: boolean): Naming {
  let reading: Naming = 'none'
  const hasNoun = nouns === undefined || isBeside || tokens.some(token => isNoun(token, nouns))
  for (const [at, token] of tokens.entries()) {
    const value = valueOf(token.text)
    if (value === undefined || (isBeside && nouns !== undefined && ![1, 2, -1].some(step => isNoun(tokens[at + step], nouns)))) continue
    if (value === asked && hasNoun) return 'same'
    if (value !== asked) reading = 'other'
  }
  return reading
}
