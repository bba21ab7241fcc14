import type { SqliteDatabase } from '@polyvac/sqlite'
import { BACKGROUND_PASSAGES, backgroundOf, COMMON_STEMS } from '../language/common-stems.js'
import { languageOfQuery, mayBeEnglish, stemOf, stopWordsOf, type Language } from '../language/languages.js'
import { lackOfKind } from './answer-kind.js'
import { matchOf, type MatchedTerm } from './match-expression.js'
import { NamedText } from './named-text.js'
import { NamedTokens } from './named-tokens.js'
import { orderOf, PassageScorer, probabilityOf, type PassageFit } from './passage-score.js'
import { asksForCode } from './question.js'
import type { QueryTerm, QueryTerms } from './query-terms.js'
import {
  CONTEXT_SHARE, IDF_POWER, KIND_PASSAGES, MAX_FOR_SYNONYMS, MIN_PART, MIN_REST, OTHER_NAME, OWN_BACKGROUND, RARITY, SYLLABLE_SHARE
} from './parameters.js'
import { isCorrected, similarWords, type Similar } from './spelling.js'
import { synonymsOf } from '../language/synonyms.js'
import { namesOf, queryWords, stemsOf, UNSPACED, type Word } from '../language/terms.js'
import type { Passage } from '../text/passages.js'
import type { Meaning } from './vectors.js'

/** Cached document counts; the cache is emptied when full, and after every change. */
const MAX_COUNTS = 10_000
/** Words of a query that are looked up, the first ones; few questions of 2,000 characters have more. */
const MAX_TERMS = 100
/** Words of a query that are corrected, the first ones: each takes up to 5 ms in an index of 50,000 passages. */
const MAX_CORRECTED = 8
/** Passages that are compared in full, the best ones of the index by BM25. */
const MAX_COMPARED = 50
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** The first line of a block of code. */
const FENCE = /^[ \t]*(?:```|~~~)/m

export interface IndexedTerm extends QueryTerm, MatchedTerm {}

export interface RankedPassage extends Passage {
  readonly source: string
  /** The probability that the passage answers the query. */
  readonly score: number
  /** How near its meaning is, where vectors were compared. */
  readonly likeness?: number | undefined
}

/** What an index knows about the terms of a query. */
export interface TermWeights {
  /** The terms of a query, highest weight first, and the text that asks: the turn before, where a query has no word. */
  of (query: string, context?: string): QueryTerms & { readonly terms: readonly IndexedTerm[], readonly asking: string }
  /** Number of passages in the index. */
  count (): number
  /** Call it after a change. Changes by other processes are detected. */
  forget (): void
}

/**
 * The weight is a power of idf = ln(1 + (N - df + 0.5) / (df + 0.5)), where the passages of a background of usual
 * English are counted too: with only an index of 8 passages idf would be noise, and a word that is in none of them
 * would weigh most.
 */
export function weighTerms (database: SqliteDatabase): TermWeights {
  const countTerm = database.prepare('SELECT count(*) FROM term WHERE term MATCH ?')
  const countAll = database.prepare('SELECT count(*) FROM passage')
  const language = database.prepare("SELECT value FROM meta WHERE key = 'languages'")
  const compound = database.prepare('SELECT 1 FROM vocabulary WHERE term >= ? AND term < ? AND length(term) >= ? LIMIT 1')
  const dataVersion = database.prepare('PRAGMA data_version')
  const similar = similarWords(database)
  // @keyed expression of words of a query of a caller | holds: the number of passages with them | whose: all
  //   callers of the index | bound: MAX_COUNTS, then all leave; a query has at most maxQueryLength characters |
  //   share: of no owner: a count that left is read again | test: packages/documents/test/search.test.ts: no query
  //   keeps the event loop for a long step, whatever its words
  const counts = new Map<string, number>()
  // @keyed word of a query of a caller that the index lacks | holds: the words of the index that are like it |
  //   whose: all callers of the index | bound: MAX_COUNTS, then all leave; MAX_CORRECTED for a query | share: of no
  //   owner: one that left is looked up again | test: packages/documents/test/search.test.ts: short words and numbers
  //   are not corrected, and leave the corrections to longer words
  const corrections = new Map<string, Similar>()
  /** Those of the passages. */
  let detected: readonly Language[] | undefined
  let total: number | undefined
  let version: number | undefined

  const frequency = (match: string): number => {
    let count = counts.get(match)
    if (count === undefined) {
      count = countTerm.column<number>(match)[0] ?? 0
      if (counts.size >= MAX_COUNTS) counts.clear()
      counts.set(match, count)
    }
    return count
  }
  const forget = (): void => {
    counts.clear()
    corrections.clear()
    total = detected = undefined
  }
  const refresh = (): void => {
    const [current] = dataVersion.column<number>()
    if (current !== version) forget()
    version = current
  }
  const count = (): number => {
    refresh()
    total ??= countAll.column<number>()[0] ?? 0
    return total
  }
  const detectedOf = (): readonly Language[] => {
    detected ??= (language.column<string>()[0] ?? '').split(' ').filter(one => one !== '') as Language[]
    return detected
  }
  const languagesOf = (): readonly Language[] => [...new Set<Language>(['en', ...detectedOf()])]
  const indexed = (word: Word, share: number, budget: { corrections: number }, language: Language | 'other'): IndexedTerm => {
    const all = count() + BACKGROUND_PASSAGES
    const weigh = (df: number): number => Math.log(1 + (all - df + 0.5) / (df + 0.5)) ** IDF_POWER
    const match = anyOf(formsOf(word, languagesOf()))
    const stems = stemsOf(word)
    const passages = Math.min(frequency(match), count())
    // English has a table of usual words; elsewhere the index shows how usual a word is, and its length in a small one
    const usual = language !== 'en'
      ? BACKGROUND_PASSAGES * (Math.max(0, passages - 1) + OWN_BACKGROUND * usualShare(word.text, language)) / (count() + OWN_BACKGROUND)
      : backgroundOf(word.stems[0] as string)
    const weight = share * weigh(Math.min(all, passages + usual))
    const synonyms = language === 'en' && passages <= MAX_FOR_SYNONYMS ? synonymsOf(word.stems[0] as string) : []
    const others = synonyms.filter(other => frequency(anyOf([other])) > 0)
    if (others.length > 0) {
      const any = anyOf([...passages === 0 ? [] : formsOf(word, languagesOf()), ...others])
      return { word: word.text, match: any, passages: frequency(any), stems, synonyms: others.map(other => stemOf(other, 'en')), weight, likeness: 1 }
    }
    if (passages > 0) return { word: word.text, match, passages, stems, weight, likeness: 1 }
    const beginning = beginningOf(word, language)
    if (beginning !== undefined && compound.column(beginning, `${beginning}\u{10ffff}`, beginning.length + MIN_REST).length > 0) {
      const longer = `${anyOf([beginning])} *`
      return { word: word.text, match: longer, passages: frequency(longer), stems, weight, likeness: 1 }
    }
    // a word of a table is spelled well
    const isKnown = synonyms.length > 0 || word.forms.length > 0
    if (isKnown || isSyllabic(language) || !isCorrected(word.text) || budget.corrections-- <= 0) return { word: word.text, match, passages, stems, weight, likeness: 1 }
    let found = corrections.get(word.text)
    if (found === undefined) {
      found = similar(word.text, word.stems)
      if (corrections.size >= MAX_COUNTS) corrections.clear()
      corrections.set(word.text, found)
    }
    const { words, likeness } = found
    if (words.length === 0) return { word: word.text, match, passages, stems, weight, likeness }
    const instead = anyOf(words)
    const known = frequency(instead)
    // a common word that is similar is not as rare as the one that is asked for
    const most = share * weigh(Math.min(all, known + backgroundOf(words[0] as string)))
    return { match: instead, passages: known, stems: words, weight, likeness: likeness * Math.min(1, most / weight) }
  }
  return {
    count,
    forget,
    of (query, context = '') {
      refresh()
      const terms = new Map<string, IndexedTerm>()
      // "freeze" and "froze" are one term
      const seen = new Set<string>()
      const budget = { corrections: MAX_CORRECTED }
      const language = languageOfQuery(query, detectedOf())
      const known = language ?? (mayBeEnglish(query) ? 'en' : 'other')
      const stopWords = stopWordsOf(language ?? 'en')
      // a follow-up with only stop words, such as "and why?", is searched by the words of the turn before
      const isBare = context !== '' && queryWords(query, languagesOf(), false, language ?? 'en').every(({ text }) => stopWords.has(text))
      for (const [text, share] of isBare ? [[context, 1]] as const : [[query, 1], [context, CONTEXT_SHARE]] as const) {
        // words that no document holds are another subject: the turn before does not answer for them
        if (share === CONTEXT_SHARE && [...terms].every(([stem, { passages }]) => passages === 0 || COMMON_STEMS.has(stem))) break
        if (text === '') continue
        const spoken = languageOfQuery(text, detectedOf()) ?? 'en'
        const names = namesOf(share === 1 ? text : '', spoken)
        for (const word of queryWords(text, languagesOf(), true, spoken).slice(0, MAX_TERMS - terms.size)) {
          // a compound name that is not in the index as one word may be there as several: maxTasks, "max tasks"
          const isSplit = word.parts.length > 0 && frequency(anyOf(formsOf(word, languagesOf()))) === 0
          for (const one of isSplit ? word.parts : [word]) {
            const [key] = one.stems as [string]
            if (seen.has(key) || terms.size >= MAX_TERMS) continue
            const term = indexed(one, share, budget, known)
            terms.set(key, names.has(one.text) && term.passages === 0 ? { ...term, isAbsentName: true } : term)
            for (const stem of [key, ...one.forms.map(form => stemOf(form, 'en'))]) seen.add(stem)
          }
        }
      }
      const sorted = [...terms.values()].sort((a, b) => b.weight - a.weight || (a.match < b.match ? -1 : 1))
      return { terms: sorted, languages: languagesOf(), language, asking: isBare ? context : query }
    }
  }
}

export interface RankedQuery {
  readonly query: string
  readonly limit: number
  readonly threshold: number
  /** The turn before, whose words weigh half. */
  readonly context?: string | undefined
  readonly meaning?: Meaning | undefined
}

type FoundRow = Passage & { id: number, source: string }

/**
 * Makes the search for the best passages. FTS5 finds the first ones by BM25, and the vectors those of a near meaning;
 * they are then ordered by BM25 over their fields, coverage, proximity, headings and meaning. The score does not rise
 * from one passage to the next.
 */
export function rankPassages (database: SqliteDatabase, weights: TermWeights): (query: RankedQuery) => RankedPassage[] {
  const columns = 'p.id, f.source, p.heading, p.first, p.last, p.content'
  const find = database.prepare(`SELECT ${columns} FROM
    (SELECT rowid, rank FROM term WHERE term MATCH ? AND rank MATCH 'bm25(3.0, 1.0)' ORDER BY rank LIMIT ?) t
    JOIN passage p ON p.id = t.rowid JOIN file f ON f.id = p.file ORDER BY t.rank, p.id`)
  const read = database.prepare(`SELECT ${columns} FROM passage p JOIN file f ON f.id = p.file WHERE p.id = ?`)
  return ({ query, limit, threshold, context, meaning }) => {
    const asked = weights.of(query, context)
    const match = matchOf(asked.terms)
    const found = match === undefined ? [] : find.all<FoundRow>(match, Math.max(MAX_COMPARED, limit))
    if (meaning !== undefined) found.push(...nearestOf(meaning, found, Math.max(MAX_COMPARED, limit)).flatMap(id => read.all<FoundRow>(id)))
    const scorer = new PassageScorer(asked)
    const wantsCode = asksForCode(query)
    const terms: readonly IndexedTerm[] = asked.terms
    const absent = new Set(terms.filter(({ passages }) => passages === 0).flatMap(({ stems }) => stems))
    const names = new NamedTokens(query, asked.language, word => absent.has(stemOf(word, asked.language ?? 'en')))
    const others = names.isEmpty ? [] : names.others(found.map(({ source, heading, content }) => new NamedText(source, heading, content)))
    const fits = found.map(({ id, source, heading, content }) => scorer.fit({ source, heading, content }, meaning?.likeness(id)))
    // @keyed none: it lives for one search; MAX_COMPARED passages
    const documents = new Map<string, number>()
    for (const [at, { source }] of found.entries()) documents.set(source, Math.max(documents.get(source) ?? 0, (fits[at] as PassageFit).bm25))
    const compared = found.map(({ source, heading, first, last, content }, at) => {
      const fit = fits[at] as PassageFit
      const isOther = others[at] === true
      const order = orderOf(fit, wantsCode && FENCE.test(content), documents.get(source) as number) - (isOther ? OTHER_NAME.order : 0)
      return { passage: { source, heading, first, last, content }, fit, isOther, order }
    }).sort((a, b) => b.order - a.order)
    const lack = lackOfKind(asked.asking, asked, compared.slice(0, KIND_PASSAGES).map(({ passage: { content } }) => content))
    const ranked: RankedPassage[] = []
    let score = 1
    for (const { passage, fit, isOther } of compared.slice(0, limit)) {
      // more digits mean nothing
      score = Math.min(score, Math.round(probabilityOf(fit, weights.count(), lack) * (isOther ? OTHER_NAME.share : 1) * 1e4) / 1e4)
      if (score < threshold) break
      ranked.push({ ...passage, score, ...fit.likeness !== undefined && { likeness: Math.round(fit.likeness * 1e4) / 1e4 } })
    }
    return ranked
  }
}

/** The nearest passages in meaning that the words have not found. */
function nearestOf ({ nearest, likeness }: Meaning, found: readonly FoundRow[], most: number): number[] {
  const known = new Set(found.map(({ id }) => id))
  return nearest.filter(id => !known.has(id)).map(id => ({ id, near: likeness(id) ?? 0 }))
    .sort((a, b) => b.near - a.near).slice(0, most).map(({ id }) => id)
}

/** The index stems each word as English: a stem of another language that equals the English one is stemmed twice. */
function formsOf ({ text, stems, forms }: Word, languages: readonly Language[]): readonly string[] {
  const [english = ''] = stems
  return [text, ...languages.length > 1 && stemOf(english, 'en') !== english ? stems : stems.slice(1), ...forms]
}

/** The share of usual passages with a word of another language than English: it falls with the word's length. */
function usualShare (word: string, language: Language | 'other'): number {
  if (isSyllabic(language)) return SYLLABLE_SHARE
  const letters = [...word].length
  const { start, letter } = RARITY[IDEOGRAPHS.test(word) ? 'ideographs' : UNSPACED.test(word) ? 'unspaced' : 'spaced']
  return 2 ** -(start + letter * letters)
}

/** Whether the language is written in syllables: "thành phố", a city, is two, and each is part of many words. */
function isSyllabic (language: Language | 'other'): boolean {
  return language === 'vi'
}

/** What compounds with a word begin with, outside English. */
function beginningOf ({ text }: Word, language: Language | 'other'): string | undefined {
  const stem = language === 'en' || language === 'other' ? '' : stemOf(text, language)
  return stem.length < MIN_PART ? undefined : stem
}

function anyOf (words: readonly string[]): string {
  const quoted = [...new Set(words)].map(word => `"${word.replaceAll('"', '""')}"`)
  return quoted.length === 1 ? quoted[0] as string : `(${quoted.join(' OR ')})`
}
