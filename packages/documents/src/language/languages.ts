import { isMissingModule } from '@polyvac/core/plugin'
import { stemmer as stemEnglish } from 'stemmer'
import { packageRequire } from '../package-require.js'
import { STOP_WORDS } from './stop-words.js'

/** Languages with stop words, and with stemmers where they have endings; all other text is indexed without stems. */
const NAMES = {
  de: 'german',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  sv: 'swedish',
  da: 'danish',
  no: 'norwegian',
  fi: 'finnish',
  hu: 'hungarian',
  ro: 'romanian',
  id: 'indonesian',
  pl: undefined,
  vi: undefined,
  el: 'greek',
  ru: 'russian',
  tr: 'turkish',
  ar: 'arabic',
  hi: 'indian'
} as const

export type Language = 'en' | keyof typeof NAMES

/** Words of questions, and other words without information, that the lists of stop words lack. */
const QUESTION_WORDS: Partial<Record<Language, string>> = {
  de: 'wann wer wen wem wessen wieviel viele vieles lange weit oft warum wieso weshalb woher wohin womit wofür worin was gibt gilt gern bitte etwa denn man mehr darf dürfen müssen bedeutet bedeuten heißt kostet',
  fr: 'quand comment combien pourquoi où est-ce lequel laquelle lesquels faut peut peuvent doit doivent quoi fait faire plus très y a cela aujourd hui signifie coûte coûtent',
  es: 'cuánto cuánta cuántos cuántas quién quiénes qué dónde cuándo cómo cuál puede pueden hay debe tiene tienen significa cuesta cuestan',
  it: 'quando quanto quanta quanti quante come dove perché chi cosa quale quali può possono deve devono fa molto è cui significa costa costano',
  pt: 'quando quanto quanta quantos quantas como onde por porque porquê quem que qual quais pode podem deve devem há é faz muito são está significa custa custam',
  nl: 'hoe hoeveel wanneer waar waarom wie welke wat mag moeten vaak lang het een per gaat betekent kost',
  sv: 'hur när var varför vem vilken vilket vilka vad många mycket ofta länge får kan måste betyder kostar',
  da: 'hvor hvornår hvorfor hvem hvilken hvilket hvilke hvad mange meget ofte længe må kan skal betyder koster',
  no: 'hvor når hvorfor hvem hvilken hvilket hvilke hva mange mye ofte lenge får kan må skal betyr koster',
  fi: 'milloin missä mistä mihin miksi kuka ketkä kenen mikä mitkä mitä kuinka miten paljonko montako moni usein kauan voi voivat pitää täytyy tarkoittaa maksaa maksavat',
  hu: 'mikor hol honnan hová miért ki kik kinek mi mit mik hogyan hány mennyi melyik milyen meddig gyakran lehet kell jelent kerül',
  ro: 'când cât câtă câți câte unde cine care ce cui cărui cărei cărora și în fost era este sunt poate pot trebuie înseamnă numit numește costă',
  id: 'kapan siapa apa berapa bagaimana mengapa kenapa mana yang adalah apakah bisa dapat harus berarti',
  pl: `ale bez bo by być był była było były co czy czym dla do dlaczego gdy gdzie go i ich ile jak jaka jaki jakie jakim jej jest jego jako
jeśli już każdy kiedy kogo komu kosztuje kosztują kto który która które których którym lub ma mają może można mu na nad nas nie niż o od on ona one oni oraz po
pod przed przez przy się są skąd swój ta tak także tam te tego tej ten to tu tych tylko tym u w we według wielu więc z za ze że żeby znaczy oznacza proszę`,
  vi: `ai anh bao bạn bị bởi bà các cái có còn cô chúng chưa cho cũng của do dưới đang đã đâu đây để đến đều đó được gì giữa hay hơn hoặc họ
khi không là lại lúc mà mấy mình một mỗi nào này nên nếu nhiêu như nhưng những nhất nó nữa ở ông phải ra rằng rất sao sau sẽ tại theo thể thế thì
tôi trên trong trước từ và vào vẫn vậy về vì việc với sự kia ấy ta đi lên xuống qua rồi chỉ cùng bằng`,
  el: 'ποιος ποια ποιο ποιοι ποιες ποιον ποιους ποιας πότε πού πώς πόσο πόση πόσα πόσοι πόσες πόσους τι γιατί είναι ήταν έχει είχε έχουν μπορεί μια ένα ένας έναν μιας ενός της τις τους τη την στους στις στα από ως κάθε σημαίνει κοστίζει κοστίζουν',
  ru: 'кто что где когда почему зачем сколько какой какая какое какие каком какого каких чей куда откуда как много долго часто нужно можно должен должна должны означает значит стоит стоят',
  tr: 'kaç nerede nereden ne zaman kim kimin hangi nasıl neden niçin niye kadar mı mi mu mü mıdır midir mudur müdür vardır var dır dir nedir kimdir demek',
  ar: 'كم متى أين من ماذا ما هل كيف لماذا أي هو هي هم هذه هذا ذلك تلك يوجد توجد يمكن يجب يعني تعني',
  hi: 'कब कहाँ कहां कैसे क्यों क्या कितने कितनी कितना कौन कौनसी किसने किसका किसकी में है हैं था थे थी के की का को से पर ने और या लिए जाता जाती जाते सकता सकते सकती चाहिए होता होती मतलब'
}
/** Words of the lists that have information. */
const NOT_STOP = new Set(`horas hoy dias días dia día lugar largo pais país paìs tiempo trabajo trabajar uso usar valor final general
ejemplo жизнь человек سنة سنوات شخصا صباح مساء ثلاثة اربعة عشر عشرة مليون مليار زيارة قوة عدد الوقت مايو ايار bin yüz elli
éves évi új újabb cikk cikkek cikkeket lehetőség búcsú holnap tegnap tavaly halbă noroc acord patru cinci kecil dekat
otuz kırk yirmi altmış yetmiş seksen doksan on beş altı yedi sekiz dokuz dört üç iki trilyon katrilyon`.split(/\s+/))

const SCRIPTS: readonly (readonly [RegExp, Language])[] = [
  [/\p{Script=Cyrillic}/gu, 'ru'], [/\p{Script=Greek}/gu, 'el'], [/\p{Script=Arabic}/gu, 'ar'], [/\p{Script=Devanagari}/gu, 'hi']
]
const LATIN: readonly Language[] = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'da', 'tr', 'no', 'fi', 'hu', 'ro', 'id', 'pl', 'vi']
const ENGLISH_SIGN = /\b(?:the|of|and|with|this|you|your)\b/i
const NOT_ASCII = /[^\0-\x7f]/
/** Letters that only Turkish has of these languages. They count as stop words, of which it has few. */
const TURKISH_LETTER = /[ığ]/
const MARKED_LETTER = /(?![\0-\x7f])\p{L}/gu
/** The highest share of letters beyond ASCII in English. */
const MOST_MARKED = 0.05
const LATIN_MARKS = /[\u0300-\u036f]/g
const ARABIC_MARKS = /\u0640|[\u064b-\u0652]/g
/** Stop words that show a language other than English: fewer may be code, or a quotation. */
const MIN_STOP_WORDS = 3
const MIN_STOP_SHARE = 0.2
/** The beginning of a text shows its language. */
const SAMPLE = 400
/** Cached stems of one language; the cache is emptied when full. */
const MAX_STEMS = 20_000

// @keyed none: the keys are the languages of the code
const stemmers = new Map<Language, (word: string) => string>([['en', stemEnglish]])
// @keyed none: the keys are the languages of the code
const stops = new Map<Language, ReadonlySet<string>>([['en', STOP_WORDS]])
/** By the languages, separated by spaces: those of an index, and all. */
// @keyed none: the keys are lists of languages that passages have, each an entry of a table of the code
const candidates = new Map<string, Map<string, number[]>>()
// @keyed language and word, of a document or of the question of a caller | holds: the stem of the word | whose: all
//   callers | bound: MAX_STEMS for a language, then all leave; a word is a part of a question or of a passage, whose
//   lengths are bounded | share: of no owner: a stem that left is made again | test:
//   packages/documents/test/search.test.ts: no query keeps the event loop for a long step, whatever its words
const stems = new Map<Language, Map<string, string>>()

/**
 * The language of a text, by its script and its stop words; undefined where they do not show it.
 * @param among the languages of an index, for a query: one stop word then suffices
 */
export function languageOf (text: string, among?: readonly Language[]): Language | undefined {
  const sample = text.slice(0, SAMPLE)
  const isAscii = !NOT_ASCII.test(sample)
  if (isAscii && ENGLISH_SIGN.test(sample)) return 'en'
  if (!isAscii) {
    const letters = sample.match(/\p{L}/gu)?.length ?? 0
    for (const [script, language] of SCRIPTS) if ((sample.match(script)?.length ?? 0) * 2 > letters) return language
  }
  const words = sample.toLowerCase().match(/\p{L}+/gu) ?? []
  const possible = among === undefined ? LATIN : LATIN.filter(language => language === 'en' || among.includes(language))
  const listed = candidateWords(possible)
  const counts = possible.map(() => 0)
  const turkish = isAscii ? -1 : possible.indexOf('tr')
  for (const word of words) {
    // a single letter is a name, or code
    if (word.length > 1) for (const at of listed.get(word) ?? []) counts[at] = (counts[at] as number) + 1
    if (turkish >= 0 && TURKISH_LETTER.test(word)) counts[turkish] = (counts[turkish] as number) + 1
  }
  const [english = 0] = counts
  let best: Language | undefined
  let most = 0
  for (const [at, language] of possible.entries()) {
    const count = counts[at] as number
    const isEnough = language === 'en'
      ? isAscii || mayBeEnglish(sample)
      : among !== undefined || (count >= Math.min(MIN_STOP_WORDS, words.length / 3) &&
        count >= MIN_STOP_SHARE * words.length && count >= 1.5 * english)
    if (count > most && isEnough) [best, most] = [language, count]
  }
  return best
}

/**
 * The language of a query.
 * @param detected those of the passages; where none shows one, as in short lists, two stop words of the query do
 */
export function languageOfQuery (query: string, detected: readonly Language[]): Language | undefined {
  if (detected.length > 0) return languageOf(query, detected)
  const language = languageOf(query)
  const stopWords = stopWordsOf(language ?? 'en')
  return (query.toLowerCase().match(/\p{L}+/gu) ?? []).filter(word => stopWords.has(word)).length >= 2 ? language : undefined
}

/** Whether a text has as few letters beyond ASCII as English: otherwise its stop words are of another language. */
export function mayBeEnglish (text: string): boolean {
  return (text.match(MARKED_LETTER)?.length ?? 0) <= MOST_MARKED * (text.match(/\p{L}/gu)?.length ?? 0)
}

/** The stop words of some languages, each with the places of its languages in the list. */
function candidateWords (languages: readonly Language[]): ReadonlyMap<string, readonly number[]> {
  const key = languages.join(' ')
  let listed = candidates.get(key)
  if (listed === undefined) {
    candidates.set(key, listed = new Map())
    for (const [at, language] of languages.entries()) {
      for (const word of stopWordsOf(language)) listed.set(word, [...listed.get(word) ?? [], at])
    }
  }
  return listed
}

/** The stop words of a language, loaded when the language first occurs. */
export function stopWordsOf (language: Language): ReadonlySet<string> {
  let list = stops.get(language)
  if (list === undefined) {
    const name = NAMES[language as keyof typeof NAMES]
    const { stopwords } = (name === undefined ? { stopwords: [] } : load(`@orama/stopwords/${name}`) ?? { stopwords: [] }) as { stopwords: readonly string[] }
    const own = QUESTION_WORDS[language]?.split(/\s+/) ?? []
    const words = [...stopwords, ...own].filter(word => !NOT_STOP.has(word))
    // Greek words are compared without accents
    list = new Set(language === 'el' ? words.map(word => withoutMarks(word).replace(/σ$/, 'ς')) : words)
    stops.set(language, list)
  }
  return list
}

let isWarned = false

/** A table of a package; undefined, with a warning, in a bundle without `node_modules`: a bundler does not find it. */
function load (module: string): unknown {
  try {
    return packageRequire()(module)
  } catch (err) {
    if (!isMissingModule(err)) throw err
    if (!isWarned) process.emitWarning('search finds less in languages other than English: @orama/stopwords and @orama/stemmers are not installed next to the bundle')
    isWarned = true
    return undefined
  }
}

/** Equal for words of the same root, without accents. The stemmer is loaded when the language first occurs. */
export function stemOf (raw: string, language: Language): string {
  let cache = stems.get(language)
  if (cache === undefined) stems.set(language, cache = new Map())
  let stem = cache.get(raw)
  if (stem !== undefined) return stem
  stem = makeStem(raw, language)
  if (cache.size >= MAX_STEMS) cache.clear()
  cache.set(raw, stem)
  return stem
}

function makeStem (raw: string, language: Language): string {
  const lower = language === 'tr' ? raw.toLocaleLowerCase('tr') : raw.toLowerCase()
  if (language === 'en') {
    const plain = withoutMarks(lower)
    return plain.length > 2 && /^[a-z]+$/.test(plain) ? stemEnglish(plain) : plain
  }
  const bare = language === 'ar' ? lower.replace(ARABIC_MARKS, '') : lower
  if (bare.length <= 2 || /[^\p{L}\p{M}]/u.test(bare)) return withoutMarks(bare)
  return withoutMarks(stemmerOf(language)(bare)) || withoutMarks(bare)
}

function stemmerOf (language: Language): (word: string) => string {
  let stem = stemmers.get(language)
  if (stem === undefined) {
    const name = NAMES[language as keyof typeof NAMES]
    const loaded = name === undefined ? undefined : load(`@orama/stemmers/${name}`) as { stemmer: (word: string) => string } | undefined
    stem = loaded?.stemmer ?? (word => word)
    stemmers.set(language, stem)
  }
  return stem
}

/** Removes the accents of Latin and Greek letters. */
export function withoutMarks (word: string): string {
  return NOT_ASCII.test(word) ? word.normalize('NFD').replace(LATIN_MARKS, '').normalize('NFC') : word
}
