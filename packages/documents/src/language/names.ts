/** Nouns that a number after them names: "article 21". English ones are stems. */
export const ID_NOUNS: ReadonlySet<string> = new Set(`error code articl section chapter paragraph claus page room hall build gate platform track
line rout bu type syndrom class level grade model rule form figur appendix annex version releas iso din en http statu unit pump part program §
fehler artikel abschnitt kapitel absatz paragraph raum zimmer saal halle haus gleis linie typ stufe klasse modell regel formular anlage norm pumpe seite programm
erreur chapitre alinéa salle bâtiment quai voie ligne modèle règle formulaire annexe norme niveau classe référence
artículo capítulo apartado sala edificio andén línea modelo regla formulario anexo norma nivel clase referencia código tipo habitación versión
errore articolo capitolo sezione binario linea modello norma livello artigo capítulo secção edifício linha norma nível
fout artikel hoofdstuk kamer spoor lijn ошибка статья глава комната корпус версия линия маршрут модель`.split(/\s+/))

/** Names with digits that a text may well say in other words: "2FA" is "a second factor". Without marks. */
export const KNOWN_ABBREVIATIONS: ReadonlySet<string> = new Set(`2fa mfa2 ipv4 ipv6 h1 h2 h3 http1 http2 http3 utf8 utf16 utf32 x64 x86 x86_64 arm64 amd64 base32 base64
mp3 mp4 2d 3d 4k 5k 8k 3g 4g 5g k8s i18n l10n a11y oauth1 oauth2 md5 sha1 sha256 sha512 s3 ec2 es5 es6 es2015 h264 h265 win32 win64 int32 int64 float32 float64
uint8 w3c p2p b2b b2c 247 7zip 7z bzip2 log4j ed25519 rs256 hs256 x509 c14n o11y e2e v8 web2 web3 a4 a3 a5 mp2 tls1 ssl3 co2 h2o`.split(/\s+/))

/** Words after a name that make it another one: "Orbix Max". */
export const SUFFIXES: ReadonlySet<string> = new Set('max mini pro plus ultra lite xl xxl nano duo deluxe neo prime premium classic light air'.split(' '))

/** Stems of things that have names, of which a folder has several: another name before them is another thing. */
export const INSTANCE_NOUNS: ReadonlySet<string> = new Set(`plan tier edit packag subscript membership ticket pass branch campus hall store team cours
tour suit cabin ward wing room offic team league depart`.split(/\s+/))
/** What describes such a thing and names none: "the cheapest plan". */
export const DESCRIBES = /est$|ing$|^(?:monthly|yearly|annual|weekly|daily|paid|free|new|old|current|other|same|own|next|last|right|main|whole|entire|big|small|large|cheap|good|price|payment|pricing|own|full|single|double|different|available|private|public|local|nearby|whole|head|spare|empty)$/

/** The same in Chinese and Japanese. */
export const UNSPACED_NOUNS: readonly string[] = `支店 プラン コース 会員 会员 分館 分馆 号室 ホール カード チーム クラス ツアー モデル シリーズ エディション バージョン チケット
部門 部门 学部 学科 教室 工場 工厂 営業所 事務所 办事处 分店 分公司 分校 套餐 版本 课程 门店 校区 展厅 房型 线路 航班`.split(/\s+/)

/** What stands before the name, and what names none: 最便宜的套餐, 哪个套餐. */
export const UNSPACED_BEFORE = /^.*[的之在是有和与及]/u
export const UNSPACED_DESCRIBES = /[哪这那几每各何本全该个個们当御两两些]|^最|^(?:月額|月额|年間|月間|無料|料金|格安|新|旧|免费|收费|付费|便宜|当前|其他|其它|他|別|别|同|有料|公式|公开|公開|所有|什么|多少)$/u

const NUMERALS = 'one two three four five six seven eight nine ten eleven twelve,eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf,un deux trois quatre cinq six sept huit neuf dix onze douze,uno dos tres cuatro cinco seis siete ocho nueve diez once doce'
const ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth tenth,erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte,premi deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième,primer segund tercer cuart quint sext séptim octav noven décim'
const COLOURS = `red rot rote roten roter rotes rouge rouges rojo roja rojos rojas|green grün grüne grünen grüner grünes vert verte verts vertes verde verdes|blue blau blaue blauen blauer blaues bleu bleue bleus bleues azul azules|
yellow gelb gelbe gelben gelber gelbes jaune jaunes amarillo amarilla|orange orangene naranja|purple violet lila violett violette morado morada|pink rosa rose|white weiß weiße weißen weißer weißes blanc blanche blancs blanches blanco blanca|
black schwarz schwarze schwarzen schwarzer schwarzes noir noire noirs noires negro negra|brown braun braune braunen brauner braunes marron brun brune marrón|grey gray grau graue grauen grauer graues gris grise grises|silver silbern argenté plateado|gold golden goldene doré dorado|platinum platin platine platino|bronze bronce`
const DIRECTIONS = 'north northern nord nördliche nördlichen norte|south southern süd südliche südlichen sud|east eastern ost östliche östlichen|west western westliche westlichen ouest oeste'
const UNITS: readonly string[] = [
  'euro euros eur €|dollar dollars usd $ dólares|pound pounds gbp £ sterling libras|franc francs chf franken|yen jpy ¥ 円',
  'celsius centigrade °c|fahrenheit °f|kelvin',
  'bar bars|psi|kpa|pascal pascals|atm',
  'km/h kmh kph|mph|knots',
  'watt watts w kw kilowatts|horsepower hp ps',
  'kg kilo kilos kilogram kilograms kilogramme|pound pounds lb lbs|ounce ounces oz|gram grams g|stone',
  'metre metres meter meters m|foot feet ft|inch inches in.|yard yards yd|mile miles|kilometre kilometres kilometer kilometers km|cm|mm',
  'litre litres liter liters l|gallon gallons|pint pints'
]

/** Words of which each names another thing next to the same noun. */
interface Family {
  readonly valueOf: (word: string) => string | undefined
  /** Whether the word at this place names something. */
  readonly isAsked: (words: readonly string[], at: number) => boolean
  /** Whether another one counts only next to the same noun. */
  readonly needsNoun: boolean
}

const always = (): boolean => true

export const FAMILIES: readonly Family[] = [
  { valueOf: ordinalOf, isAsked: (words, at) => !/^(?:time|of|step|thing|place|zeit|fois|vez)$/.test(words[at + 1] ?? ''), needsNoun: true },
  { valueOf: listed(COLOURS.split('|')), isAsked: always, needsNoun: false },
  { valueOf: listed(DIRECTIONS.split('|')), isAsked: always, needsNoun: true },
  // "the 20 mg tablet", "la cabaña de ocho plazas"
  { valueOf: word => numberOf(word)?.toString(), isAsked: isAttribute, needsNoun: true },
  ...UNITS.map(unit => ({ valueOf: listed(unit.split('|')), isAsked: (words: readonly string[], at: number) => /^(?:in|en)$/.test(words[at - 1] ?? ''), needsNoun: false }))
]

function isAttribute (words: readonly string[], at: number): boolean {
  const [before, above] = [words[at - 1] ?? '', words[at - 2] ?? '']
  return (/^(?:the|der|die|das|den|dem)$/.test(before) && /^\p{L}+$/u.test(words[at + 1] ?? '') && /^\p{L}{3,}$/u.test(words[at + 2] ?? '')) ||
    (/^(?:de|à|con|para)$/.test(before) && /^\p{L}{4,}$/u.test(above) && /^(?:el|la|los|las|le|les|un|una|une)$/.test(words[at - 3] ?? ''))
}

function listed (groups: readonly string[]): (word: string) => string | undefined {
  const values = new Map(groups.flatMap((group, at) => group.trim().split(/\s+/).map(word => [word, String(at)] as const)))
  return word => values.get(word)
}

// @keyed none: words of the code
const ordinals = new Map(ORDINALS.split(',').flatMap(list => list.split(' ').map((word, at) => [word, at + 1] as const)))
// @keyed none: words of the code
const numerals = new Map(NUMERALS.split(',').flatMap(list => list.split(' ').map((word, at) => [word, at + 1] as const)))

function ordinalOf (word: string): string | undefined {
  const digits = /^(\d+)(?:st|nd|rd|th|er|ère|e|ème|º|ª|o|a)$/.exec(word)?.[1]
  const value = digits ?? ordinals.get(word) ?? ordinals.get(word.replace(/(?:ère|er|re|[nrsm]|os|as|[oae])$/u, '')) ?? ordinals.get(word.replace(/s$/, ''))
  return value?.toString()
}

const DIGITS = '〇一二三四五六七八九'

/** The value of a number in digits, in words up to twelve, or in Chinese numerals. */
export function numberOf (text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const value = numerals.get(text)
  if (value !== undefined || !/^[〇零一二三四五六七八九十百千两]+$/u.test(text)) return value
  let sum = 0
  let digit = 0
  for (const one of text.replaceAll('零', '').replaceAll('两', '二')) {
    const power = { 十: 10, 百: 100, 千: 1000 }[one]
    if (power === undefined) digit = digit * (sum === 0 ? 10 : 0) + DIGITS.indexOf(one)
    else {
      sum += (digit === 0 ? 1 : digit) * power
      digit = 0
    }
  }
  return sum + digit
}
