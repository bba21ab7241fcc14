import { COUNT, COUNTED_WITHIN, MAX_NAME_REST, MIN_NAME, OTHER_NUMBER } from './parameters.js'
import type { Language } from '../language/languages.js'
import { TermMatcher, type QueryTerms } from './query-terms.js'
import { WORD } from '../language/terms.js'
import { unitsOf } from '../text/prose.js'

/** What asks for a price. */
const PRICE = /\bhow much (?:is|are|was|do|does|did|will|would|for|to|costs?)\b|\bhow much\s*\??$|\bhow expensive\b|(?<!\p{L})(?:prices?|costs?|fees?|kosten|kostet|teuer|preise?|prix|tarifs?|co[uû]te(?:nt)?|cuestan?|precios?|tarifas?|prezz[oi]|costano?|preços?|custam?|kost|prijs|prijzen|стоит|стоят|цен\p{L}*)(?!\p{L})|多少钱|いくら/iu
const AMOUNT = /(?<!\p{L})(?:free|kostenlos|kostenfrei|umsonst|gratis|gratuit\p{L}*|gratuito|бесплатно)(?!\p{L})|免费|無料|[€$£¥₽₹]|\p{N}\s?(?:元|円|%)|[\p{N}\p{L}]\s(?:euros?|dollars?|pounds?|pence|cents?|francs?|crowns|pesos?|rubles?|guilders|EUR|USD|GBP|CHF|SEK|DKK|NOK|PLN|JPY|CNY|INR|kr|Franken|Kronen|libras?|d[oó]lares|рубл\p{L}*|руб)(?!\p{L})/iu
/** Question words, and what an answer to them has. */
const KINDS: readonly (readonly [RegExp, 'number' | 'date' | 'name' | 'reason' | 'price'])[] = [
  [PRICE, 'price'],
  [/\bhow (?:many|much|long|often|far|old|big|large|high|tall|deep|heavy|fast)\b|\bwie (?:viele?|lange|oft|weit|alt|hoch|groß)\b|\bcombien\b|cu[aá]nt[oa]s?\b|\bquant[oiae]s?\b|\bhoeveel\b|сколько|(?<!\p{L})kaç(?!\p{L})|(?<!\p{L})كم(?!\p{L})|कितन|多少|几|いくら|何(?:人|回|時間|円)|กี่|เท่าไ/iu, 'number'],
  [/\bwhen\b|\b(?:what|which) (?:year|date|time|day|month|hour)s?\b|\bwann\b|\bquand\b|cu[aá]ndo\b|\bquando\b|\bwanneer\b|когда|ne zaman|متى|(?<!\p{L})कब(?!\p{M})|什么时候|何时|いつ|何時|เมื่อ/iu, 'date'],
  [/\b(?:who|whom|whose|where)\b|\b(?:wer|wen|wem|wo|woher|wohin)\b|\bqui\b|\boù\b|qui[eé]n(?:es)?\b|d[oó]nde\b|\bchi\b|\bdove\b|\bquem\b|\bonde\b|\bwie is\b|\bwaar\b|(?<!\p{L})(?:кто|где|куда)(?!\p{L})|(?<!\p{L})kim(?!\p{L})|nerede/iu, 'name'],
  [/\bwhy\b|\b(?:warum|wieso|weshalb)\b|\bpourquoi\b|\bpor qu[eé](?!\p{L})|\bperch[eé](?!\p{L})|\bwaarom\b|почему|зачем|为什么|なぜ|どうして/iu, 'reason']
]
const REASON = /(?<!\p{L})(?:because|reasons?|since|due to|so that|weil|grund|gründe|denn|deshalb|parce qu[e']|raisons?|afin|puisque|porque|razón|razones|debido|perché|motivo|motivi|omdat|reden|потому|причин\p{L}*)(?!\p{L})|因为|为了|ため|から/iu

const NUMBER_WORDS: Partial<Record<Language, string>> = {
  en: 'one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred thousand million half once twice none every',
  de: 'zwei drei vier fünf sechs sieben acht neun zehn elf zwölf fünfzehn zwanzig dreißig fünfzig hundert tausend halb halbe einmal zweimal dreimal',
  fr: 'deux trois quatre cinq six sept huit neuf dix onze douze quinze vingt trente cinquante cent mille demi demie',
  es: 'dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cincuenta cien mil medio media',
  it: 'due tre quattro cinque sette otto nove dieci undici dodici quindici venti trenta cinquanta cento mille mezzo mezza',
  pt: 'dois duas três quatro cinco seis sete oito nove dez onze doze quinze vinte trinta cinquenta cem mil meia',
  nl: 'twee drie vier vijf zes zeven acht negen tien elf twaalf vijftien twintig dertig vijftig honderd duizend half',
  sv: 'två tre fyra fem sex sju åtta nio tio elva tolv femton tjugo trettio femtio hundra tusen halv',
  da: 'tre fire fem seks syv otte ni elleve tolv femten tyve tredive hundrede tusind halv',
  ru: 'два две три четыре пять шесть семь восемь девять десять двенадцать двадцать тридцать сто тысяча тысяч половина',
  tr: 'iki üç dört beş altı yedi sekiz dokuz yirmi otuz elli yüz bin yarım'
}
const TIMES_OF_DAY = 'noon midnight morning evening night spring summer autumn winter'
/** A year, a time, or a day in numbers. */
const DATE_IN_NUMBERS = /(?<!\p{N})(?:1[5-9]|20)\d\d(?!\p{N})|\p{N}\s?(?:[:.]\p{N}\p{N}|[ap]\.?m\.?(?!\p{L})|uhr|heures|[年月日時时])|\p{N}(?:st|nd|rd|th)(?!\p{L})/iu
const DIGIT = /\p{N}/u
/** A new name: a word with a capital letter that does not begin the text. */
const NAME = /(?<=\S\s{1,8}["'(“‘]?)\p{Lu}[\p{L}\p{N}]+/gu

/**
 * Makes a function that returns how far a text has the kind of answer that a question asks for, 0 to 2: a number, best
 * of what the question counts, a date, a name of something new, or a reason.
 */
export function answerKind (question: string, matcher: TermMatcher, language: Language = 'en'): (text: string) => number {
  const [asks, kind] = kindAskedFor(question)
  if (asks !== undefined && kind === 'number') {
    const numbers = new Set([...wordsOf(NUMBER_WORDS.en), ...wordsOf(NUMBER_WORDS[language])])
    const [, rest = ''] = question.split(asks)
    const [after = ''] = rest.match(WORD) ?? []
    const counted = matcher.termOf(after)
    return text => valueOfNumber(text, word => DIGIT.test(word) || numbers.has(word.toLowerCase()), matcher, counted)
  }
  if (kind === 'date') {
    const isDay = dayNames(language)
    return text => DATE_IN_NUMBERS.test(text) || Array.from(text.matchAll(WORD)).some(([word]) => isDay(word)) ? 1 : DIGIT.test(text) ? OTHER_NUMBER : 0
  }
  if (kind === 'price') return text => AMOUNT.test(text) ? 1 : DIGIT.test(text) ? OTHER_NUMBER : 0
  if (kind === 'reason') return text => REASON.test(text) ? 1 : 0
  if (kind === undefined) return () => 0
  const asked = question.toLowerCase()
  return text => Array.from(text.matchAll(NAME)).some(([name]) => !asked.includes(name.toLowerCase())) ? 1 : 0
}

/**
 * The share of a question's words that the best sentence, item or row of its best passages has, less that of the best
 * one with the number, date or price that is asked for, 0 to 1; 0 where none is asked for.
 */
export function lackOfKind (question: string, asked: QueryTerms, contents: readonly string[]): number {
  const [, kind] = kindAskedFor(question)
  const { language } = asked
  if (kind === undefined || kind === 'name' || kind === 'reason') return 0
  // the table has no number words of the language, so none of its sentences would have a number
  if (kind === 'number' && language !== undefined && NUMBER_WORDS[language] === undefined) return 0
  const matcher = new TermMatcher(asked)
  const kindOf = answerKind(question, matcher, language)
  const weights = asked.terms.map(({ weight, likeness }) => weight * likeness)
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1
  let [said, withKind] = [0, 0]
  for (const { text, below = '' } of contents.flatMap(content => unitsOf(content))) {
    const unit = `${text}\n${below}`
    let share = 0
    for (const [term, likeness] of matcher.termsIn(unit)) share += (weights[term] as number) * likeness / total
    said = Math.max(said, share)
    if (share > withKind) withKind = Math.max(withKind, share * Math.min(1, kindOf(unit)))
  }
  return said - withKind
}

/** Whether a question asks for a name: of a person or a place. */
export function asksForName (question: string): boolean {
  return kindAskedFor(question)[1] === 'name'
}

/** Whether a word asks for nothing but a price: "Price?" */
export function isPriceWord (word: string): boolean { return PRICE.test(word) }

function kindAskedFor (question: string): (typeof KINDS)[number] | [] {
  return KINDS.find(([asks]) => asks.test(question)) ?? []
}

/** @param counted the term that follows the question word: "keys" of "how many keys"; -1 for none */
function valueOfNumber (text: string, isNumber: (word: string) => boolean, matcher: TermMatcher, counted: number): number {
  const words = Array.from(text.matchAll(WORD), ([word]) => word)
  let value = 0
  for (const [at, word] of words.entries()) {
    if (!isNumber(word)) continue
    const next = words.slice(at + 1, at + 1 + COUNTED_WITHIN).map(one => matcher.termOf(one))
    if (counted >= 0 && next.includes(counted)) return COUNT
    value = Math.max(value, next.some(term => term >= 0) ? 1 : OTHER_NUMBER)
  }
  return value
}

function wordsOf (list: string | undefined): string[] { return list?.split(' ') ?? [] }

/** The test for a language whether a word names a day, a month or a time of day; by language. */
// @keyed none: the keys are the languages of the code
const tests = new Map<Language, (word: string) => boolean>()

function dayNames (language: Language): (word: string) => boolean {
  let test = tests.get(language)
  if (test === undefined) tests.set(language, test = makeDayNames(language))
  return test
}

function makeDayNames (language: Language): (word: string) => boolean {
  // @keyed none: the values are names of days and months
  const names = new Set(TIMES_OF_DAY.split(' '))
  const add = (options: Intl.DateTimeFormatOptions, type: 'month' | 'weekday'): void => {
    const format = new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' })
    // the first days and months of a year that begins on a Monday
    for (let i = 0; i < (type === 'month' ? 12 : 7); i++) {
      const date = type === 'month' ? Date.UTC(2024, i, 1) : Date.UTC(2024, 0, 1 + i)
      const name = format.formatToParts(date).find(part => part.type === type)?.value.replace(/\.$/, '') ?? ''
      // a short name in lower case is another word in many languages
      if (options[type] === 'long' || /^\p{Lu}/u.test(name)) names.add(name)
    }
  }
  add({ month: 'long' }, 'month')
  // with a day it has another form in some languages
  add({ month: 'long', day: 'numeric' }, 'month')
  add({ month: 'short' }, 'month')
  add({ weekday: 'long' }, 'weekday')
  const long = [...names].filter(name => name.length >= MIN_NAME)
  // "may" is not "May"
  const isName = (word: string): boolean => names.has(word) || long.some(name => word.length <= name.length + MAX_NAME_REST && word.startsWith(name))
  return word => isName(word) || isName(word.toLowerCase())
}
