// The letters of the languages that are written in encodings other than UTF-8, the most frequent ones first.

/** Letters of a language; `others` is the number of its characters beyond these, where a list cannot name all. */
export interface Letters { readonly letters: string, readonly others?: { readonly count: number, readonly are: RegExp } }

const WESTERN = {
  any: { letters: 'eaintrsoldumcpghvbfkzwyjqxéäüöáíóèçñåøàúãæêßôëîâûïõùðþýœìò' },
  de: { letters: 'enisratdhulcgmobwfkzpväüößjyxqé' },
  fr: { letters: 'esaitnrulodcmpévqfbghjàxèêyçzîôkûùâœwïëü' },
  es: { letters: 'eaosrnidltcmupbgvyóíqhfázjéñxúüwk' },
  pt: { letters: 'aeosridntcmulpvgbfhãqéçázíxjóõêúâôàkwy' },
  it: { letters: 'eaionlrtscdupmvghfbqzàèùòìéjkwxy' },
  nl: { letters: 'enatirodslghvkmubpwjczfxyëéïöüq' },
  sv: { letters: 'eantrslidomgkvähfupåöbcyjxéwz' },
  da: { letters: 'ernitsaldogkmfvubpåæøhyjcwxzé' },
  fi: { letters: 'aitneslokuämvrjhypdögbfcåwšž' },
  is: { letters: 'arnieðstlgumkvfhoíáþjyöéædóbúýp' }
} as const satisfies Record<string, Letters>

const CENTRAL = {
  cs: { letters: 'oeaintvslkrdípmuázjyěcbhéřýžčšůfgúňxťóďwq' },
  sk: { letters: 'aoeinvtrskldmpuáíczbyjhéčýžšúľťňôfgóďxäŕĺw' },
  pl: { letters: 'aioeznrwsyctkdplmujłgębóhążśćńfźvxq' },
  hu: { letters: 'eatnlskoizrgáémydbvhjöfupőócíúüűxwq' },
  ro: { letters: 'eaintrulcosdpămşţîvfbgâzhjxky' },
  hr: { letters: 'aieonrjstvukdlmpgzbčhcšžćđf' },
  sl: { letters: 'eaionrsljtvkdpmzubghčcšžf' },
  de: WESTERN.de
} as const satisfies Record<string, Letters>

const BALTIC = {
  lt: { letters: 'iasteornkmulpvdjgėbyųšžząįcūčfęh' },
  lv: { letters: 'aiestrunkolmpādvzīējbgcšņūļķģžčfh' },
  et: { letters: 'aeistulmkonrdvpgjhäõüböfcšž' }
} as const satisfies Record<string, Letters>

const TURKISH = { tr: { letters: 'aeirnlıkdtmysuobüşzgçhğvcpöfj\u0307âî' } } as const satisfies Record<string, Letters>

const CYRILLIC = {
  ru: { letters: 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё' },
  uk: { letters: 'оаинвеіртслкдумпязьгбчхйцжїюєшщфґ' },
  bg: { letters: 'аеоитнрсвлпдкмзгъябуйчцжшющхфь' },
  sr: { letters: 'аоиенртсјувкдпмлзбгцчшжњљхћђфџ' }
} as const satisfies Record<string, Letters>

const GREEK = { el: { letters: 'αοτιενσρηκπςυμλίόάέγωήδθώύχφξβψζϊϋΐΰ' } } as const satisfies Record<string, Letters>
const HEBREW = { he: { letters: 'יוהלאתרבםמשנכעדחקפטגזסצןךץף' } } as const satisfies Record<string, Letters>
const ARABIC = { ar: { letters: 'اليمنورتبةعدسفهكقحجأشطصخضذزثغئىءظؤإآ،پچژگ' } } as const satisfies Record<string, Letters>
const THAI = { th: { letters: 'านรกอเงมยลวดทสต\u0e31ะปบคหแ\u0e48\u0e49\u0e35\u0e34\u0e38\u0e37\u0e39โใไจพชข\u0e33ซถฟผณศธษญฉภฝฐ\u0e47\u0e4cฎๆฮ' } } as const satisfies Record<string, Letters>

const HAN = { count: 7_000, are: /[\u3400-\u9fff]/ }

const SIMPLIFIED = {
  zh: {
    letters: '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运端默服器配置密码请查启址姓价号房说网络户，。、：；？！“”（）《》',
    others: HAN
  }
} as const satisfies Record<string, Letters>

const TRADITIONAL = {
  zh: {
    letters: '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運端預服器配置密碼請查啟址姓價號房網絡戶，。、：；？！「」（）',
    others: HAN
  }
} as const satisfies Record<string, Letters>

const JAPANESE = {
  ja: {
    letters: 'のいうとしたにはるてかでなをれがらもりあすこさきっくまよえおだどそつけんばめせちみわじょンスルトイーアクリラシドタフグッジムコロレマテバデキサナプメパカハウニチダワミオ、。・「」：？（）日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者地合市業内相方四定今回新場金員九入選立開手力学問高代明実円関決子動京全目表経通外最言現理調体化田当八六約主題下意法不来作性的要用制度務気小七成期公野協取都和統以機平総加山思家話世受区多県続進正安設保数記院女北午指心界第産結百点教報書活原先共得解名交資川向際面文元重近千考認画海利組知案道信集件別物側引使求所次水品論計死感特情示変男基私各始島直両価式確村運終西広必応電住能無再位置企真流有口過局少検藤町常校料状工建語営空職番号郎佐鈴木屋橋林崎井太藤渡辺伊籍齢',
    others: { count: 3_000, are: /[\u3040-\u30ff\u4e00-\u9fff]/ }
  }
} as const satisfies Record<string, Letters>

const KOREAN = {
  ko: {
    letters: '이다는에의가을고로하지를은한기도사대인자어시해과리나일서그아정들스보수라있으주오여장원전구부상제면안국것소모공동만성비유적었등화할선거우게세연였니중무신회분경된마위학용때생습까방체조내차물반명두당민요양실미러관계력트개발통저와했문업재년되진말없각더설식입결김외심점단운산월현간직드디표편청품질새밀번호출변확격합니까매야꿔바',
    others: { count: 2_350, are: /[\uac00-\ud7a3]/ }
  }
} as const satisfies Record<string, Letters>

/** The encodings that are recognised, by the names of the WHATWG Encoding Standard, and what is written in each. */
export const ENCODINGS: Readonly<Record<string, Readonly<Record<string, Letters>>>> = {
  'windows-1252': WESTERN,
  'iso-8859-15': WESTERN,
  macintosh: WESTERN,
  'windows-1250': CENTRAL,
  'iso-8859-2': CENTRAL,
  'windows-1254': TURKISH,
  'windows-1257': BALTIC,
  'windows-1251': CYRILLIC,
  'koi8-r': { ru: CYRILLIC.ru, bg: CYRILLIC.bg },
  'koi8-u': CYRILLIC,
  'iso-8859-5': CYRILLIC,
  ibm866: CYRILLIC,
  'x-mac-cyrillic': CYRILLIC,
  'windows-1253': GREEK,
  'iso-8859-7': GREEK,
  'windows-1255': HEBREW,
  'windows-1256': ARABIC,
  'windows-874': THAI,
  gb18030: SIMPLIFIED,
  big5: TRADITIONAL,
  shift_jis: JAPANESE,
  'euc-jp': JAPANESE,
  'euc-kr': KOREAN
}
