import { languageOf, stopWordsOf, type Language } from '../language/languages.js'
import { rawWords } from '../language/terms.js'

/** How a language refers to the turn before. */
interface References {
  /** What a question begins with that goes on from the turn before. */
  readonly opens: RegExp
  /** Pronouns, and other words that stand for something of the turn before. */
  readonly pronouns: RegExp
  /** The same words where they stand for nothing: "is it possible to". */
  readonly empty?: RegExp
  /** A noun of the question itself before a pronoun, in an earlier clause. */
  readonly antecedent?: RegExp
  /** What a phrase without a verb begins with: "for children?" */
  readonly phrase?: RegExp
  /** Words that only a question with a verb has. */
  readonly verbs?: RegExp
}

/** Matches whole words, in any script. */
function words (list: string, after = ''): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${list})(?![\\p{L}\\p{N}])${after}`, 'u')
}

function opening (list: string, after = ''): RegExp {
  return new RegExp(`^(?:${list})(?![\\p{L}\\p{N}'’])${after}`, 'u')
}

const FOLLOWED_BY = '(?=\\s*(?:[?!.,;]|$)|\\s+(?:is|are|was|were|does|do|did|will|would|can|could|may|must|should|has|have|costs?|works?|means?|takes?|includes?|appl(?:y|ies)|for|in|on|with|without|to|and|or|by|from|at|too|also|again|please|now|then|if|when|possible|allowed|enough|true|free|necessary|all|ok|okay|right|correct|included|safe|normal|still|really|only|already)(?!\\p{L}))'
const CLAUSE = '(?:[,;:.?!–]|\\s-\\s|(?<!\\p{L})(?:and|or|but|if|when|while|because|before|after|that|so|until|once|where|which|who|then)(?!\\p{L}))'
const DETERMINER = '(?:the|an?|my|our|your|this|that|these|those|some|any|each|every|no)'

const BY_LANGUAGE: Partial<Record<Language | 'zh', References>> = {
  en: {
    opens: opening('and|but|or|also|then|what about|how about|same|otherwise|which ones?|what else|anything else|who else|if not|if so'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|else|others)(?!\\p{L})',
      '(?<!\\p{L})(?:the|this|that|which|another|other|an? \\p{L}+|the \\p{L}+) ones?(?!\\p{L})',
      `(?<!\\p{L})(?:this|these|those)(?! who)${FOLLOWED_BY}`,
      `(?<=^|(?<!\\p{L})(?:is|are|was|does|do|did|doing|will|would|can|could|should|has|for|of|in|on|with|after|before|about|like|from|than|by|to|at|besides|how|why|when|where|what) )that${FOLLOWED_BY}`,
      '(?<!\\p{L})that(?=\\s*(?:[?!.]|$))',
      '(?<!(?:is|are|was|were|be|been|will|isn[’\']t|aren[’\']t) )(?<!\\p{L})there(?! (?:is|are|was|were|will|any|an?)(?!\\p{L}))(?!\\p{L})'
    ].join('|'), 'gu'),
    empty: new RegExp([
      '(?<!\\p{L})it (?:\\p{L}+ ){1,3}?(?:to|that|if|for \\p{L}+ to) (?!(?:the|an?|my|your|our|me|you|us|it)(?!\\p{L}))(?=\\p{L})',
      '(?<!\\p{L})it (?:is )?(?:rain|snow|freez|hail)\\p{L}*', 'hi there', 'else\'s', '(?:someone|somebody|anyone|everyone|anybody|something) else'
    ].join('|'), 'gu'),
    antecedent: new RegExp(`(?<!\\p{L})${DETERMINER} (?:\\p{L}+ )?\\p{L}+(?:[^?]*)${CLAUSE}[^,]*$`, 'u'),
    phrase: opening('for|on|in|at|with|without|from|during|after|before|by|under|over|per|as|if|only|not|the|an?|my|even'),
    verbs: words('what|when|where|who|whom|whose|why|which|how|is|are|was|were|do|does|did|can|could|may|might|must|shall|should|will|would|has|have|had|am|tell|explain|show|give|list|find')
  },
  de: {
    opens: opening('und|aber|oder|auch|sonst|was ist mit|wie ist es mit|wie sieht es mit'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:es|er|sie|ihn|ihm|ihnen|dieses?|dies|jenes|dort|dorthin|dahin|davon|dafür|dazu|darin|daran|dabei|danach|darauf|dagegen|darüber|darum|daraus|dadurch|desselben|denselben|dasselbe|dieselben?|derselbe)(?!\\p{L})(?!\\s+(?:[\\p{Ll}-]+(?:e|en|er|es|em) )?\\p{Lu})',
      '(?<!,\\s*)(?<!\\p{L})damit(?!\\p{L})',
      '(?<!\\p{L})(?:das|die|der|den|dem|diese[rmn]?|welche[rs]?|eine[rsn]?|keine[rsn]?)(?=\\s*(?:[?!.,;]|$))',
      '(?<!\\p{L})(?:das|die|der|den|dem|diese[rmn]?)(?= (?!(?:[\\p{Ll}-]+(?:e|en|er|es|em|te|ten) ){0,2}["„»]?[\\p{Lu}\\p{N}])\\p{Ll})'
    ].join('|'), 'gu'),
    empty: new RegExp([
      '(?<!\\p{L})(?:gibt|gab|geht|kommt|handelt|bedarf|braucht|eilt) es(?!\\p{L})', '(?<!\\p{L})es (?:gibt|geht|kommt)(?!\\p{L})', 'gibt[’\']?s', '(?<!\\p{L})(?:regnet|schneit|friert|brennt) es',
      '(?<!\\p{L})es(?= (?:[^?]*)(?:, (?:wenn|dass|bis|ob)| zu \\p{Ll}+en))', '(?<!\\p{L})es (?:möglich|erlaubt|nötig|verboten|gestattet)(?= (?:\\p{L}+ )+)'
    ].join('|'), 'gu'),
    antecedent: /(?<!^)(?<!\p{L})\p{Lu}\p{L}+[^?]*(?:[,;:.?!–]|\s-\s|(?<!\p{L})(?:und|oder|wenn|dass|weil|falls|bis|ob)(?!\p{L}))[^,]*$/u,
    phrase: opening('für|im|in|am|an|um|mit|ohne|bei|vom|von|zum|zur|ab|bis|nach|vor|während|auch|nur|der|die|das|den|ein|eine|als|pro|wenn|falls'),
    verbs: words('was|wann|wo|wer|wen|wem|warum|wieso|weshalb|welche\\p{L}?|wie|wieviel|woher|wohin|ist|sind|war|hat|haben|habe|kann|können|darf|dürfen|muss|müssen|soll|gibt|wird|werden|kostet|kosten|will|zeig|erkläre?')
  },
  fr: {
    opens: opening('et|mais|ou bien|ou alors|ou pour|sinon|aussi|idem|qu[’\']en est-il|lequel|laquelle|lesquels|lesquelles'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:ils?|elles?|eux|celui|celle|ceux|celles|ça|cela|ceci|dedans|dessus|là-bas|lui)(?!\\p{L})',
      '(?<!\\p{L})(?:comment|puis-je|peut-on|dois-je|faut-il|doit-on|peux-tu|pouvez-vous|où|quand|pour|de|pas|peux|peut|dois|doit|faut|dois-on|puis) (?:(?:le|la|les|y|en) |l[’\'])\\p{L}+(?:er|ir|re)(?!\\p{L})(?!\\s+(?:est|sont|a|ont)(?!\\p{L}))',
      '(?<!\\p{L})combien (?:y )?en(?!\\p{L})', '(?<!\\p{L})(?:où|quand|comment) (?:le|la|les) \\p{L}+-(?:t-)?(?:on|je|il|elle)',
      '(?<=^(?:quel(?:le)?s? (?:est|sont)|c[’\']est quoi|combien) )(?:son|sa|ses|leurs?)(?!\\p{L})'
    ].join('|'), 'gu'),
    empty: new RegExp([
      'y a-t-il', 'y a t il', '(?<!\\p{L})il y a', '(?<!\\p{L})il (?:faut|est possible|pleut|neige|gèle|manque|reste)', '(?:faut|est|reste|manque|pleut|neige)-il(?= (?:\\p{L}+ )?(?:possible|permis|interdit|nécessaire|obligatoire)?)',
      '(?<=(?<!\\p{L})(?!quand|combien|comment|pourquoi|quel|quoi|depuis|temps|jusqu)\\p{L}{4,}[^?]*) \\p{L}+-(?:t-)?(?:ils?|elles?)(?!\\p{L})'
    ].join('|'), 'gu'),
    antecedent: /(?<!\p{L})(?:(?:les?|la|une?|mon|ma|mes|notre|votre|cet?|cette|ces|des|du) |l[’'])\p{L}+[^?]*(?:[,;:.?!–]|\s-\s|(?<!\p{L})(?:et|ou|si|quand|lorsque|lorsqu|parce|mais|puis|qui|que|qu)(?!\p{L}))[^,]*$/u,
    phrase: opening('pour|le|la|les|en|à|au|aux|avec|sans|dans|sur|après|avant|pendant|chez|un|une|des|du|si|seulement'),
    verbs: words('que|qu|quoi|quand|où|qui|pourquoi|quel|quelle|quels|quelles|combien|comment|est|sont|était|a|ont|peut|peux|puis|peuvent|doit|dois|faut|coûte|coute|coûtent|fait|est-ce')
  },
  es: {
    opens: opening('y|e|pero|o|también|tampoco|qué hay de|que hay de|qué pasa con|que pasa con|cuáles'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:él|ella|ellos|ellas|ello|eso|esto|aquello|allí|ahí|allá|ése|ésa|éste|ésta)(?!\\p{L})',
      '(?<!\\p{L})(?:este|esta|estos|estas|ese|esa|esos|esas|otro|otra|otros|otras|mismo|misma)(?=\\s*(?:[?!.,;]|$))',
      '(?<!\\p{L})\\p{L}+(?:[aeiáéí]r|ándo|iéndo)(?:me|te|se|nos)?l[oa]s?(?!\\p{L})', '(?<!\\p{L})lo(?! (?:que|más|mejor|mismo|de|del)(?!\\p{L}))(?!\\p{L})',
      '(?<!\\p{L})(?:me|te|se|nos) l[ao]s?(?!\\p{L})', '(?<!\\p{L})(?:la|las|los) (?!imagen|orden)\\p{L}{2,}(?:an|en|amos|emos)(?=\\s*(?:[?!.,;]|$)| (?:los|las|el|la|en|a|por)(?!\\p{L}))'
    ].join('|'), 'gu'),
    empty: /(?<!\p{L})por (?:eso|ello)(?!\p{L})/gu,
    antecedent: /(?<!\p{L})(?:el|la|los|las|un|una|mi|mis|su|sus|este|esta|ese|esa|del|al) \p{L}+[^?]*(?:[,;:.?!–]|\s-\s|(?<!\p{L})(?:y|o|si|cuando|porque|pero|que|quien|para)(?!\p{L}))[^,]*$/u,
    phrase: opening('para|en|el|la|los|las|con|sin|por|a|al|del|de|durante|un|una|sobre|si|solo|sólo|desde|hasta'),
    verbs: words('qué|que|cuándo|cuando|cuánt[oa]s?|cuant[oa]s?|dónde|donde|quién|quien|quiénes|por qué|cuál|cual|cuáles|cómo|como|es|son|está|están|hay|puede|pueden|puedo|debe|debo|tiene|tienen|tengo|cuesta|cuestan|se')
  },
  it: {
    opens: opening('e|ed|ma|oppure|anche|che ne dici di|quali'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:esso|essa|essi|esse|ciò|lì|laggiù)(?!\\p{L})', '(?<!\\p{L})(?:quello|quella|quelli|quelle|questo|questa|questi|queste|altro|altra|altri|altre)(?=\\s*(?:[?!.,;]|$))',
      '(?<!\\p{L})\\p{L}+[aei]r(?:l[oaie]|ci|ne)(?!\\p{L})', '(?<!\\p{L})lo (?:si|posso|devo|trovo|faccio)(?!\\p{L})'
    ].join('|'), 'gu'),
    antecedent: /(?<!\p{L})(?:(?:il|lo|la|gli|le|un|una|uno|mio|mia|del|della|al) |l[’'])\p{L}+[^?]*(?:[,;:.?!–]|(?<!\p{L})(?:e|o|se|quando|perché|ma|che|per)(?!\p{L}))[^,]*$/u,
    phrase: opening('per|in|il|la|lo|gli|le|i|con|senza|di|a|al|alla|da|dal|durante|un|una|su|se|solo|nel|nella'),
    verbs: words('che|cosa|quando|quanto|quanta|quanti|quante|dove|chi|perché|perche|qual|quale|quali|come|è|sono|era|ha|hanno|può|possono|posso|deve|devo|costa|costano|si|c')
  },
  pt: {
    opens: opening('e|mas|também|ou'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:eles?|elas?|isso|isto|aquilo|del[ea]s?|nel[ea]s?|disso|nisso|lá|ali)(?!\\p{L})', '(?<!\\p{L})(?:este|esta|esse|essa|outro|outra|outros|outras)(?=\\s*(?:[?!.,;]|$))',
      '\\p{L}-l?[oa]s?(?!\\p{L})'
    ].join('|'), 'gu'),
    antecedent: /(?<!\p{L})(?:o|a|os|as|um|uma|meu|minha|do|da|no|na) \p{L}+[^?]*(?:[,;:.?!–]|(?<!\p{L})(?:e|ou|se|quando|porque|mas|que|para)(?!\p{L}))[^,]*$/u,
    phrase: opening('para|em|no|na|nos|nas|aos?|às?|com|sem|por|de|do|da|durante|um|uma|os?|as?|sobre|se|só'),
    verbs: words('que|quando|quanto|quanta|quantos|quantas|onde|quem|por que|porque|qual|quais|como|é|são|está|há|pode|podem|posso|deve|devo|tem|custa|custam|se')
  },
  nl: {
    opens: opening('en|maar|of|ook|hoe zit het met|wat met'),
    pronouns: new RegExp([
      '(?<!\\p{L})(?:hij|zij|ze|hem|hen|haar|ervan|erin|ermee|ervoor|erop|eraan|daarvan|daarin|daarmee|daarvoor|daarop|daar|hetzelfde|dezelfde)(?!\\p{L})',
      '(?<!\\p{L})(?:dat|dit|die|deze|het)(?=\\s*(?:[?!.,;]|$)| (?:open|dicht|gesloten|met|voor|op|in|niet|ook|als|gratis|bij|kost|kosten|duurt|is|zijn|werkt)(?!\\p{L}))'
    ].join('|'), 'gu'),
    empty: /(?<!\p{L})(?:is het (?:mogelijk|toegestaan)|hoe laat is het)(?!\p{L})/gu,
    antecedent: /(?<!\p{L})(?:de|het|een|mijn|ons|onze|deze|dit) \p{L}+[^?]*(?:[,;:.?!–]|(?<!\p{L})(?:en|of|als|wanneer|omdat|maar|dat|die)(?!\p{L}))[^,]*$/u,
    phrase: opening('voor|in|op|met|zonder|bij|van|de|het|een|om|na|tijdens|alleen|als|per|naar'),
    verbs: words('wat|wanneer|waar|wie|waarom|welke?|hoe|hoeveel|is|zijn|was|heeft|hebben|heb|kan|kunnen|mag|mogen|moet|moeten|kost|kosten|wordt|worden')
  },
  ru: {
    opens: opening('а|и|но|или|тоже|также'),
    pronouns: /(?<!\p{L})(?:он|она|оно|они|его|её|ее|их|ему|ей|им|ними?|нём|нем|ней|них|там|туда|это|этого|этому|этом)(?!\p{L})(?! \p{L}+ \p{L})/gu,
    phrase: opening('для|в|на|с|без|по|от|до|после|при')
  },
  zh: { opens: /^(?:那|那么|还有|而|でも|では|じゃあ|それ|その|そこ|また|これ)/u, pronouns: /它们?|他们|她们|那里|这个(?=[？?]|$)|それ|そこ|(?:呢|は)\s*[？?]?$/gu }
}

const LANGUAGES = Object.keys(BY_LANGUAGE).filter((one): one is Language => one !== 'zh')
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** Characters of a question that are read: a longer one has separate nouns by then. */
const MAX_READ = 200
/** Content words of a phrase without a verb that goes on from the turn before: "for children under six?" */
const MOST_IN_PHRASE = 3
/** "¿Cuándo cierra?": a verb of the third person, whose subject is that of the turn before. */
const SUBJECTLESS = /^(?:(?:a qué hora|cu[aá]ndo|cu[aá]nto|d[oó]nde|c[oó]mo|quando|quanto|dove|onde) (?:(?:se|si) )?|se puede )\p{L}+[aeár]$/u

/**
 * Whether a question refers to the turn before: it has a pronoun without a noun, begins like "and …", or has
 * no word with a meaning. Another question is asked by itself, however short.
 * @param before the turn before, whose language a question of one word has
 */
export function refersBack (text: string, before = ''): boolean {
  const plain = text.slice(0, MAX_READ).trim().replace(/^[¿¡\s"'“«(]+/u, '').replaceAll(/\s+/gu, ' ')
  if (IDEOGRAPHS.test(plain)) return refersIn(plain, plain, 'zh', stopWordsOf('en'))
  const languages = [languageOf(plain, LANGUAGES), languageOf(before, LANGUAGES)].filter(one => one !== undefined)
  return [...new Set(languages.length === 0 ? ['en' as const] : languages)].some(language =>
    refersIn(language === 'de' ? withNouns(plain) : plain.toLowerCase(), plain.toLowerCase(), language, stopWordsOf(language)))
}

/** A German question in which the nouns have capital letters, also one that is written without them. */
function withNouns (text: string): string {
  const stopWords = stopWordsOf('de')
  return /\p{Lu}/u.test(text)
    ? text.replace(/^\p{L}/u, first => first.toLowerCase())
    : text.replaceAll(/(?<=(?<!\p{L})(?:das|die|der|den|dem|diese[rmns]?) )\p{L}+/gu, word => stopWords.has(word) ? word : word.charAt(0).toUpperCase() + word.slice(1))
}

function refersIn (text: string, lower: string, language: Language | 'zh', stopWords: ReadonlySet<string>): boolean {
  const content = [...rawWords(lower)].filter(word => !stopWords.has(word))
  if (content.length === 0) return true
  const rules = BY_LANGUAGE[language]
  if (rules === undefined) return false
  if (rules.opens.test(lower)) return true
  const read = rules.empty === undefined ? text : text.replaceAll(rules.empty, found => ' '.repeat(found.length))
  for (const { index } of read.matchAll(rules.pronouns)) {
    if (rules.antecedent?.test(text.slice(0, index)) !== true) return true
  }
  const isPhrase = rules.verbs?.test(lower) === false && content.length <= MOST_IN_PHRASE &&
    (rules.phrase?.test(lower) === true || (content.length === 1 && !lower.trim().includes(' ')))
  return isPhrase || SUBJECTLESS.test(lower.replace(/[\s?!.]+$/u, ''))
}
