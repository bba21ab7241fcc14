import type { Hit } from '@polyvac/core'
import { answerKind, asksForName } from '../search/answer-kind.js'
import {
  BELOW_SHARE, CARRIED, CODE_SHARE, FORM, FRAGMENT_CHARS, FRAGMENT_SHARE, GENERAL_SHARE, HEADING_SHARE, INTRODUCES, KIND_BONUS,
  MAX_CODE, MAX_CODE_BLOCKS, MAX_DISTANCE, NEXT_HIT_SHARE, OPENING_BONUS, OPENING_SENTENCES, OPENING_WORDS, OWN_SHARE, SAME_SHARE, SCORE_SHARE,
  SHORT_PASSAGE, WEAKEST_SHARE, WHOLE_LIST, WHOLE_SHARE
} from './parameters.js'
import { MAX_SENTENCE, SENTENCE_MARK } from '../text/plain-text.js'
import { unitsOf } from '../text/prose.js'
import { NamedTokens } from '../search/named-tokens.js'
import { asksForCode } from '../search/question.js'
import { GENERAL_WORDS } from '../language/stop-words.js'
import { TermMatcher, type QueryTerms } from '../search/query-terms.js'
import { rawWords } from '../language/terms.js'
import type { Unit } from '../text/unit.js'

/** Scripts whose sentences end without a mark, or whose words have few letters. */
const UNMARKED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** A heading that is a name in code: `keepAlive`, `options.ttl`, `close(callback)`, `--port`. */
const NAME = /^(?:(?:--?|[.$@])?[a-z_][\w.$-]*|[\w$]+\.[\w.$]+|[A-Za-z_$][\w.$]*(?=\())(?:\(|$)/
/** A sentence that begins like this depends on the one before it. */
const LEANS_ON_THE_LAST = /^(?:it|its|this|that|these|those|they|he|she|as a result|however|therefore|thus|instead|otherwise|also|then|in this case|for example|but|so|and|here)\b/i
/** A sentence that begins like this refers to another text. */
const POINTS_ELSEWHERE = /^(?:see|check out|refer to|read more|learn more|explore|for more|more (?:details|information))\b/i
const DIGIT = /\p{N}/u

/** A sentence chosen for an answer, and the hit it comes from. */
export interface Extract {
  readonly unit: Unit
  readonly hit: Hit
}

interface Candidate extends Extract {
  /** Without its heading in front. */
  readonly raw: Unit
  readonly order: number
  readonly words: ReadonlySet<string>
  /** Numbers, names, and the key of a row or item: units that differ in them do not repeat one another. */
  readonly facts: ReadonlySet<string>
  /** The question's words in the unit, or above it. */
  readonly terms: ReadonlySet<number>
  /** The share of the weight of the question's words that are in the unit, not above it. */
  readonly own: number
  /** How far it has the kind of answer that is asked for. */
  readonly kind: number
  weight: number
}

/**
 * Selects the sentences of the hits with the highest weight for a question, at most `max`: grouped by passage, best
 * passage first, in the order of the text within it.
 */
export function extract (question: string, hits: readonly Hit[], asked: QueryTerms, max: number): Extract[] {
  const reader = new SentenceReader(question, asked)
  const wantsCode = asksForCode(question)
  const all = hits.flatMap((hit, index) => candidatesOf(hit, reader, wantsCode)
    .map(candidate => ({ ...candidate, weight: candidate.weight * NEXT_HIT_SHARE ** index })))
  const names = new NamedTokens(question, asked.language)
  const same = all.filter(({ unit }) => !names.isOther(`${unit.text}\n${unit.below ?? ''}`))
  const candidates = same.length > 0 ? same : all
  candidates.sort((a, b) => b.weight - a.weight || a.order - b.order)
  const best = candidates[0]
  if (best === undefined || best.weight <= 0) return openingOf(candidates, hits[0], max)
  const chosen: Candidate[] = []
  for (const candidate of candidates) {
    if (chosen.length >= max || candidate.weight < best.weight * WEAKEST_SHARE) break
    const isCode = hasCode(candidate.unit)
    if (isCode && chosen.filter(({ unit }) => hasCode(unit)).length >= (wantsCode ? MAX_CODE_BLOCKS : 1)) continue
    if (!chosen.some(other => repeats(candidate, other) || isBeside(candidate, other, reader.names))) chosen.push(candidate)
  }
  const list = wholeList(best, candidates, reader)
  if (list.length > 0) return list
  addRest(chosen, candidates, best, max, { code: wantsCode, name: asksForName(question) })
  const rank = new Map<Hit, number>()
  for (const { hit } of chosen) if (!rank.has(hit)) rank.set(hit, rank.size)
  chosen.sort((a, b) => (rank.get(a.hit) as number) - (rank.get(b.hit) as number) || a.order - b.order)
  return chosen.map((one, index) => chosen[index - 1]?.hit === one.hit ? one : withName(one, chosen))
}

/**
 * Adds what the best sentence may lack, from its passage: the date or number that is asked for, a block of code, and
 * the rest of a short passage; where all these are missing, the next sentence.
 */
function addRest (chosen: Candidate[], candidates: readonly Candidate[], best: Candidate, max: number,
  asksFor: { readonly code: boolean, readonly name: boolean }): void {
  const sentences = best.unit.kind === 'sentence' ? candidates.filter(({ hit, unit }) => hit === best.hit && unit.kind === 'sentence') : []
  // a date or number that is asked for may be in a sentence without the words of the question; too many have a name
  const hasKind = ({ kind, order }: Candidate): boolean => kind >= 1 && Math.abs(order - best.order) <= MAX_DISTANCE
  const near = asksFor.name || chosen.some(({ kind }) => kind >= 1) ? undefined : nearest(sentences.filter(hasKind), best)
  if (near !== undefined && chosen.length < max) chosen.push(near)
  // a description by itself is seldom the answer to "How do I"
  const isOwnCode = ({ hit, unit }: Candidate): boolean => hit === best.hit && hasCode(unit)
  const code = asksFor.code && !chosen.some(isOwnCode) ? nearest(candidates.filter(isOwnCode), best) : undefined
  if (code !== undefined && chosen.length < max) chosen.push(code)
  if (best.hit.content.length <= SHORT_PASSAGE && best.own < OWN_SHARE) {
    for (const one of sentences) if (chosen.length < max && !chosen.some(other => one === other || repeats(one, other))) chosen.push(one)
  }
  // one sentence is seldom an answer: the next one of the text is added
  const follows = ({ hit, order, unit }: Candidate): boolean =>
    hit === best.hit && order === best.order + 1 && unit.kind !== 'row' && unit.kind !== 'item' && !(unit.kind === 'code' && best.unit.kind === 'code')
  const next = chosen.length > 1 || best.unit.kind === 'row' ? undefined : candidates.find(follows)
  if (next !== undefined && max > 1) chosen.push(next)
}

function nearest (candidates: readonly Candidate[], best: Candidate): Candidate | undefined {
  return [...candidates].sort((a, b) => Math.abs(a.order - best.order) - Math.abs(b.order - best.order))[0]
}

/**
 * All rows or items of a short list whose heading has the words of the question, with the sentence above them: a part
 * of them would hide the others.
 */
function wholeList ({ hit }: Candidate, candidates: readonly Candidate[], { matcher, weights, total }: SentenceReader): Extract[] {
  let said = 0
  for (const term of matcher.termsIn(headingsOf(hit).at(-1) ?? '').keys()) said += weights[term] ?? 0
  if (said < WHOLE_LIST.heading * total) return []
  const units = candidates.filter(candidate => candidate.hit === hit).sort((a, b) => a.order - b.order)
  const isListed = ({ raw: { kind } }: Candidate): boolean => kind === 'row' || kind === 'item'
  const start = units.findIndex(isListed)
  const rest = units.slice(start)
  const end = rest.findIndex(unit => !isListed(unit))
  const listed = end < 0 ? rest : rest.slice(0, end)
  const chars = listed.reduce((sum, { raw }) => sum + raw.text.length, 0)
  if (start < 0 || listed.length < 2 || listed.length > WHOLE_LIST.units || chars > WHOLE_LIST.chars || (start > 1 && listed.length * 2 < units.length)) return []
  return [...units.slice(Math.max(0, start - 1), start), ...listed].map(({ raw }) => ({ unit: raw, hit }))
}

/** Puts the name that a heading defines in front of the first sentence of its passage, unless a sentence has it. */
function withName (first: Extract, all: readonly Extract[]): Extract {
  const { unit, hit } = first
  const heading = headingsOf(hit).at(-1) ?? ''
  // the heading of a text without one is its file
  if (!NAME.test(heading) || heading === hit.metadata['source']) return first
  const name = heading.split('(')[0] as string
  if (all.some(other => other.hit === hit && `${other.unit.text}\n${other.unit.below}`.includes(name))) return first
  const lead = `\`${name}\`:`
  return { hit, unit: unit.kind === 'code' ? { kind: 'sentence', text: lead, below: unit.text } : { ...unit, text: `${lead} ${unit.text}` } }
}

function headingsOf ({ metadata: { heading } }: Hit): string[] {
  return typeof heading === 'string' && heading !== '' ? heading.split(' > ') : []
}

/** The beginning of a passage that is found by its meaning, since its sentences have none of the words. */
function openingOf (candidates: readonly Candidate[], hit: Hit | undefined, max: number): Extract[] {
  if (hit?.metadata['likeness'] === undefined) return []
  return candidates.filter(candidate => candidate.hit === hit && candidate.unit.kind !== 'code').sort((a, b) => a.order - b.order)
    .slice(0, Math.min(max, OPENING_SENTENCES))
}

/** What the question asks for. */
class SentenceReader {
  readonly matcher: TermMatcher
  readonly weights: readonly number[]
  readonly total: number
  /** The terms that are numbers or names in the question. */
  readonly names: ReadonlySet<number>
  /** How far a text has the kind of answer that is asked for. */
  readonly kindOf: (text: string) => number

  constructor (question: string, asked: QueryTerms) {
    this.matcher = new TermMatcher(asked)
    this.weights = asked.terms.map(({ stems, weight }) => stems.some(stem => GENERAL_WORDS.has(stem)) ? weight * GENERAL_SHARE : weight)
    this.total = this.weights.reduce((sum, weight) => sum + weight, 0) || 1
    this.names = new Set([...factsOf(question)].filter(fact => asked.language !== 'de' || DIGIT.test(fact)).flatMap(fact => [...this.matcher.termsIn(fact).keys()]))
    this.kindOf = answerKind(question, this.matcher, asked.language)
  }
}

function candidatesOf (hit: Hit, { matcher, weights, total, kindOf }: SentenceReader, wantsCode: boolean): Candidate[] {
  const { source } = hit.metadata
  const headings = headingsOf(hit)
  const near = matcher.termsIn(headings.at(-1) ?? '')
  const far = matcher.termsIn(`${headings.slice(0, -1).join(' ')} ${typeof source === 'string' ? source.replace(/\.[^./]*$/, '') : ''}`)
  const candidates: Candidate[] = []
  let before = 0
  const units = unitsOf(hit.content)
  // a passage with only code has nothing else to quote
  const codeShare = CODE_SHARE[wantsCode ? 'wanted' : units.every(({ kind }) => kind === 'code') ? 'only' : 'other']
  for (const [order, raw] of units.entries()) {
    const unit = withHeading(raw, headings.at(-1) === source ? undefined : headings.at(-1))
    const found = matcher.termsIn(unit.text)
    const below = unit.below === undefined ? undefined : matcher.termsIn(unit.below)
    const opening = matcher.termsIn(unit.text.split(/\s+/, OPENING_WORDS).join(' '))
    let sum = 0
    let inside = 0
    for (const [term, weight] of weights.entries()) {
      if (found.has(term) || below?.has(term) === true) inside += weight
      if (found.has(term)) sum += weight * (opening.has(term) ? OPENING_BONUS : 1)
      else if (below?.has(term) === true) sum += weight * BELOW_SHARE
      else if (near.has(term)) sum += weight * HEADING_SHARE.near
      else if (far.has(term)) sum += weight * HEADING_SHARE.far
    }
    // the sentence after a relevant one has the same topic; a code block illustrates it, unless it continues other code
    const carried = unit.kind !== 'code' ? CARRIED.text : units[order - 1]?.kind === 'code' ? 0 : CARRIED.code
    const own = sum / total + before * carried
    const kind = kindOf(`${unit.text} ${unit.below ?? ''}`)
    const weight = own === 0 ? 0 : (own + KIND_BONUS * kind + SCORE_SHARE * hit.score) * shapeFactor(unit, order, codeShare, wantsCode) * (isFragment(raw) ? FRAGMENT_SHARE : 1)
    before = sum / total
    if (!fits(unit)) continue
    const terms = new Set([...found.keys(), ...below?.keys() ?? [], ...near.keys(), ...far.keys()])
    candidates.push({ unit, raw, hit, order, words: new Set(rawWords(unit.text.toLowerCase())), facts: new Set([...factsOf(unit.text), ...keyOf(raw)]), terms, own: inside / total, kind, weight })
  }
  return candidates
}

/** Numbers, and names that are not at the beginning of the text. */
function factsOf (text: string): Set<string> {
  return new Set(Array.from(text.matchAll(/(?<!^)(?<![.!?…:]\s)(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]*|\p{N}+(?:[.,:]\p{N}+)*/gu), ([fact]) => fact))
}

/** What a row or item is about: "Keys" of "Keys: Tom, room 105". */
function keyOf ({ kind, text }: Unit): string[] {
  const at = text.indexOf(':')
  return kind === 'sentence' || kind === 'code' || at < 0 ? [] : [text.slice(0, at)]
}

/** Prefixes a fragment with its heading: "Default: 0" has no meaning without it. */
function withHeading (unit: Unit, heading: string | undefined): Unit {
  return isFragment(unit) && heading !== undefined && heading !== unit.text ? { ...unit, text: `${heading}: ${unit.text}` } : unit
}

function isFragment ({ kind, text, below }: Unit): boolean {
  if (kind === 'code' || below !== undefined || text.length >= FRAGMENT_CHARS) return false
  return kind !== 'sentence' || !(SENTENCE_MARK.test(text) || UNMARKED.test(text))
}

function fits ({ kind, text, below = '' }: Unit): boolean {
  return text.length <= (kind === 'code' ? MAX_CODE : MAX_SENTENCE) && below.length <= MAX_CODE
}

function shapeFactor (unit: Unit, order: number, codeShare: number, wantsCode: boolean): number {
  const { kind, text, below } = unit
  if (kind === 'code') return codeShare
  let factor = order === 0 ? FORM.first : LEANS_ON_THE_LAST.test(text) ? FORM.leansOnTheLast : 1
  if (text.endsWith('?') || POINTS_ELSEWHERE.test(text)) factor *= FORM.asksOrPointsElsewhere
  if (text.endsWith(':')) factor *= below === undefined ? INTRODUCES.nothing : hasCode(unit) ? INTRODUCES[wantsCode ? 'wantedCode' : 'otherCode'] : 1
  if (kind === 'row') factor *= FORM.row
  // a list of links or a table of contents is not an answer
  if (!/[\p{Ll}\p{Lo}]{2,}\S*\s+\S+\s+\S+|[\p{Lo}]{6,}/u.test(text)) factor *= FORM.fewWords
  return factor
}

function hasCode (unit: Unit): boolean {
  return unit.kind === 'code' || (unit.below !== undefined && !unit.below.startsWith('- '))
}

/**
 * Whether a unit is about something else than a chosen one, which has more of the question's words: another row or item
 * next to it, or a sentence of another passage without a name that the question has.
 */
function isBeside (a: Candidate, b: Candidate, names: ReadonlySet<number>): boolean {
  if (a.unit.kind !== b.unit.kind || a.terms.size >= b.terms.size || [...a.terms].some(term => !b.terms.has(term))) return false
  return a.unit.kind !== 'sentence' || (a.hit !== b.hit && [...b.terms].some(term => names.has(term) && !a.terms.has(term)))
}

/** Whether a sentence has the words of another one that is already chosen. */
function repeats (a: Candidate, b: Candidate): boolean {
  if (a.unit.kind !== b.unit.kind && (a.unit.kind === 'code' || b.unit.kind === 'code')) return false
  if ([...a.facts].some(fact => !b.facts.has(fact)) && [...b.facts].some(fact => !a.facts.has(fact))) return false
  let shared = 0
  for (const word of a.words) if (b.words.has(word)) shared++
  return shared > Math.min(SAME_SHARE * a.words.size, WHOLE_SHARE * b.words.size)
}
