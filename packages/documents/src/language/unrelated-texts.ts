import { languageOf, type Language } from './languages.js'

/** Texts without a common subject, by language. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  en: [
    'How long must rice be boiled?', 'The court rejected the appeal of the tenant.', 'A comet has two tails, one of dust and one of gas.',
    'Tighten the four bolts of the rear wheel.', 'Who painted the ceiling of the chapel?', 'The function returns an empty list for an unknown key.',
    'Children under six travel free of charge.', 'Her fever fell after two days of rest.', 'What does the tree lose in winter?',
    'The orchestra rehearses on Thursday evening.', 'Interest is paid at the end of each quarter.', 'The goalkeeper was injured in the second half.'
  ],
  de: ['Wie lange muss Reis kochen?', 'Das Gericht wies die Berufung des Mieters ab.', 'Ein Komet hat zwei Schweife aus Staub und Gas.', 'Kinder unter sechs Jahren fahren kostenlos.'],
  fr: ['Combien de temps le riz doit-il cuire ?', "Le tribunal a rejeté l'appel du locataire.", 'Une comète a deux queues, de poussière et de gaz.', 'Les enfants de moins de six ans voyagent gratuitement.'],
  es: ['¿Cuánto tiempo hay que cocer el arroz?', 'El tribunal rechazó el recurso del inquilino.', 'Un cometa tiene dos colas, de polvo y de gas.', 'Los niños menores de seis años viajan gratis.'],
  it: ['Per quanto tempo deve cuocere il riso?', "Il tribunale ha respinto l'appello dell'inquilino.", 'Una cometa ha due code, di polvere e di gas.', 'I bambini sotto i sei anni viaggiano gratis.'],
  pt: ['Quanto tempo o arroz precisa cozinhar?', 'O tribunal rejeitou o recurso do inquilino.', 'Um cometa tem duas caudas, de poeira e de gás.', 'Crianças com menos de seis anos viajam de graça.'],
  nl: ['Hoe lang moet rijst koken?', 'De rechtbank wees het beroep van de huurder af.', 'Een komeet heeft twee staarten van stof en gas.', 'Kinderen onder de zes jaar reizen gratis.'],
  sv: ['Hur länge måste riset koka?', 'Domstolen avslog hyresgästens överklagande.', 'En komet har två svansar av stoft och gas.', 'Barn under sex år reser gratis.'],
  da: ['Hvor længe skal ris koge?', 'Retten afviste lejerens anke.', 'En komet har to haler af støv og gas.', 'Børn under seks år rejser gratis.'],
  ru: ['Сколько времени нужно варить рис?', 'Суд отклонил апелляцию арендатора.', 'У кометы два хвоста, из пыли и из газа.', 'Дети до шести лет ездят бесплатно.'],
  tr: ['Pirinç ne kadar haşlanmalı?', 'Mahkeme kiracının itirazını reddetti.', 'Bir kuyruklu yıldızın toz ve gazdan iki kuyruğu vardır.', 'Altı yaşından küçük çocuklar ücretsiz yolculuk eder.'],
  ar: ['كم من الوقت يجب سلق الأرز؟', 'رفضت المحكمة استئناف المستأجر.', 'للمذنب ذيلان من الغبار والغاز.', 'يسافر الأطفال دون السادسة مجانا.'],
  hi: ['चावल को कितनी देर उबालना चाहिए?', 'अदालत ने किरायेदार की अपील खारिज कर दी।', 'धूमकेतु की धूल और गैस की दो पूँछें होती हैं।', 'छह साल से छोटे बच्चे मुफ़्त यात्रा करते हैं।'],
  th: ['ต้องต้มข้าวนานเท่าไร', 'ศาลยกคำอุทธรณ์ของผู้เช่า', 'ดาวหางมีสองหาง คือหางฝุ่นและหางแก๊ส', 'เด็กอายุต่ำกว่าหกปีเดินทางฟรี'],
  zh: ['米饭要煮多久？', '法院驳回了租户的上诉。', '彗星有两条尾巴，一条是尘埃，一条是气体。', '六岁以下儿童免费乘车。'],
  ja: ['お米はどのくらい煮ますか。', '裁判所は借り主の控訴を棄却した。', '彗星には塵とガスの二本の尾がある。', '六歳未満の子供は無料で乗車できます。'],
  ko: ['쌀은 얼마나 오래 삶아야 하나요?', '법원은 세입자의 항소를 기각했다.', '혜성은 먼지와 가스로 된 두 개의 꼬리를 가진다.', '여섯 살 미만 어린이는 무료로 탑승한다.']
}

const SCRIPTS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\p{Script=Thai}/u, 'th'], [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'], [/\p{Script=Han}/u, 'zh'], [/\p{Script=Hangul}/u, 'ko']
]
const OTHER_SCRIPT = /(?!\p{Script=Latin})\p{L}/u
/** A model distinguishes no texts above this cosine. */
const MAX_COSINE = 0.98
/** The texts of a language that a model knows have at least this share of the room that English has between them. */
const LEAST_ROOM = 0.6

/** The mean cosine of unrelated texts, by language: a model of English has all other texts near together. */
export type UnrelatedCosines = Readonly<Record<string, number>>

/** @param embed returns the vectors of some texts */
export async function unrelatedCosines (embed: (texts: readonly string[]) => Promise<readonly number[][]>): Promise<UnrelatedCosines> {
  const cosines: Record<string, number> = {}
  for (const [language, texts] of Object.entries(TEXTS)) cosines[language] = Math.min(MAX_COSINE, meanCosine(await embed(texts)))
  return cosines
}

/**
 * The cosine for the language of a question. A question that does not show its language has the highest possible one.
 * Undefined where the model does not know the language: then its vectors distinguish nothing.
 */
export function unrelatedCosine (cosines: UnrelatedCosines, question: string, languages: readonly Language[]): number | undefined {
  const language = SCRIPTS.find(([script]) => script.test(question))?.[1] ?? languageOf(question, languages)
  const possible = language !== undefined ? [language] : OTHER_SCRIPT.test(question) ? Object.keys(cosines) : languages
  const { en = 0 } = cosines
  const cosine = Math.max(...possible.map(one => cosines[one] ?? en))
  return 1 - cosine < LEAST_ROOM * (1 - en) ? undefined : cosine
}

function meanCosine (vectors: readonly number[][]): number {
  const units = vectors.map(vector => {
    const length = Math.hypot(...vector)
    return vector.map(number => number / length)
  })
  let sum = 0
  let pairs = 0
  for (const [at, first] of units.entries()) {
    for (const second of units.slice(at + 1)) {
      sum += first.reduce((product, number, place) => product + number * (second[place] as number), 0)
      pairs++
    }
  }
  return sum / pairs
}
