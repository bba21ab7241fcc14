import { cutBefore } from './cuts.js'
import { ENTITIES, ENTITY } from './entities.js'

/** Abbreviations: their full stop does not end a sentence. */
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|nos?|fig|mrs?|ms|dr|prof|st|a\.k\.a|viz|ca|ext|tel|rev|ul|nr|sec|chap|vol|pp?|jr|sr|gen|col|capt|lt|sgt|gov|sen|rep|bzw|z\.b|d\.h|jan|feb|aug|sept?|oct|nov|dec)\.$/i
// eslint-disable-next-line no-control-regex -- NUL marks removed code spans; texts contain none
const SENTENCE_END = /(?:(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s+["'“‘([]*[\p{Lu}\p{N}\u0000])|[。！？]+["'”’」』）)]*)\s*/gu
/** The mark that ends a sentence, at the end of a text. */
export const SENTENCE_MARK = /[.!?…。！？।॥؟۔]["'”’」』）)\]]*$/

/** A line of markup with more characters is kept with its marks, since the patterns of marks take quadratic time. */
export const MAX_MARKUP = 4_000
/** A longer sentence is cut, in characters. */
export const MAX_SENTENCE = 420
/** Each part of a sentence that is cut has at most this many characters. */
const CUT_SENTENCE = 280
/** The beginning of a text shows its script. */
const SCRIPT_SAMPLE = 200
const LATIN = /\p{Script=Latin}/u

let segmenter: Intl.Segmenter | undefined

/** A text without its inline code, which is in `code`: a NUL, its index and a NUL mark each place. */
export interface WithoutCode {
  readonly text: string
  readonly code: readonly string[]
}

/** Removes inline code. A run of backticks is closed by the next one of equal length, in one pass from the end. */
export function takeCode (text: string): WithoutCode {
  if (!text.includes('`')) return { text, code: [] }
  const runs = Array.from(text.matchAll(/`+/g), ({ index, 0: { length } }) => ({ start: index, end: index + length, length }))
  const nearest = new Map<number, number>()
  const closing: (number | undefined)[] = []
  for (let index = runs.length - 1; index >= 0; index--) {
    const { length } = runs[index] as typeof runs[number]
    closing[index] = nearest.get(length)
    nearest.set(length, index)
  }
  const code: string[] = []
  let out = ''
  let last = 0
  for (let index = 0; index < runs.length; index++) {
    const close = closing[index]
    if (close === undefined) continue
    const { start } = runs[index] as typeof runs[number]
    const { end } = runs[close] as typeof runs[number]
    out += `${text.slice(last, start)}\u0000${code.push(text.slice(start, end)) - 1}\u0000`
    last = end
    index = close
  }
  return { text: out + text.slice(last), code }
}

export function putBackCode (text: string, code: readonly string[]): string {
  if (code.length === 0) return text
  // eslint-disable-next-line no-control-regex -- the marks of takeCode; texts of documents contain no NUL
  return text.replace(/\u0000(\d+)\u0000/g, (_, index: string) => code[Number(index)] ?? '')
}

/** The text of Markdown without its syntax. Inline code is not changed, nor is emphasis that does not end soon. */
export function plainText (markdown: string): string {
  const { text, code } = takeCode(markdown)
  const plain = text
    .replace(/!\[[^[\]]*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])?/g, '')
    .replace(/\[([^\][]*)\]\((?:[^()]|\([^()]*\))*\)/g, '$1')
    .replace(/(?<![\p{L}\p{N}_\]])\[(?!\d+\])([^\][]+)\]\[[^\]]*\]/gu, '$1')
    .replace(/\[\^[^[\]]+\]|(?<=[.,;:!?…。！？)"”’»])(?:\[[1-9]\d{0,2}\])+(?!\()/g, '')
    // a number in brackets would be taken for a citation of the answer
    .replace(/(?<![\p{L}\p{N}_$.\]])[\p{L}\p{N}_$.]*(?:\[\d{1,3}\])+(?!\()/gu, '`$&`')
    .replace(/<(https?:[^<>\s]+)>/g, '$1')
    .replace(/(\*\*\*|\*\*|\*|~~)(?=\S)(.{0,400}?\S)\1/g, '$2')
    .replace(/(?<![\p{L}\p{N}_])(__|_)(?=\S)(.{0,400}?\S)\1(?![\p{L}\p{N}_])/gu, '$2')
    .replace(ENTITY, (_, name: string) => ENTITIES[name] as string)
    .replace(/\\([\\`*_{}[\]()#+.!<>|~-])/g, '$1')
  return putBackCode(plain, code)
    .replace(/\s+/g, ' ')
    .replace(/^\s*(?:\p{Extended_Pictographic}\uFE0F?|\* )\s*/u, '')
    .trim()
}

/**
 * Splits plain text into sentences; full stops inside inline code and abbreviations do not end one. A long sentence, or
 * a paragraph of a script without marks at the end of a sentence, is cut between clauses.
 */
export function sentencesOf (text: string): string[] {
  const { text: safe, code } = takeCode(text)
  const sentences: string[] = []
  let start = 0
  for (const end of endsOf(safe)) {
    const sentence = safe.slice(start, end).trim()
    if (ABBREVIATION.test(sentence) || /(?:^|\s)\d{1,2}\.$/.test(sentence)) continue
    sentences.push(sentence)
    start = end
  }
  sentences.push(safe.slice(start).trim())
  return sentences.filter(sentence => sentence !== '')
    .flatMap(sentence => cutSentence(putBackCode(sentence, code)))
}

function endsOf (text: string): number[] {
  const letters = text.slice(0, SCRIPT_SAMPLE).match(/\p{L}/gu) ?? []
  if (letters.filter(letter => !LATIN.test(letter)).length * 2 <= letters.length) {
    return Array.from(text.matchAll(SENTENCE_END), match => match.index + match[0].length)
  }
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' })
  return Array.from(segmenter.segment(text), ({ index, segment }) => index + segment.length)
}

function cutSentence (sentence: string): string[] {
  const parts: string[] = []
  let rest = sentence
  while (rest.length > MAX_SENTENCE) {
    const head = rest.slice(0, CUT_SENTENCE)
    // a cut within inline code would leave half of it
    // before a space, since figures and times have such marks within them
    const clause = [...head.matchAll(/[;:,،؛]\s+|[、，；。](?!\p{N})/gu)].findLast(({ index }) => index > CUT_SENTENCE / 3 && isOutsideCode(head.slice(0, index)))
    const end = clause === undefined ? head.lastIndexOf(' ') + 1 || cutBefore(rest, CUT_SENTENCE) : clause.index + clause[0].length
    parts.push(rest.slice(0, end).trim())
    rest = rest.slice(end)
  }
  parts.push(rest.trim())
  return parts.filter(part => part !== '')
}

function isOutsideCode (head: string): boolean {
  return head.split('`').length % 2 === 1
}
