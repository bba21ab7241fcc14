import { stemOf } from './languages.js'
import { COMMON_WORDS } from './stop-words.js'

/** Passages of usual English that are added to those of an index: small folders then have the weights of large ones. */
export const BACKGROUND_PASSAGES = 1_000
/** The share of them that hold a stop word which a search weighs. */
const COMMON_SHARE = 0.25
/** A superlative is less usual than the word it is made from; the table has none, but many questions do. */
const SUPERLATIVE_SHARE = 0.25

/**
 * The 1,000 commonest English stems without stop words. A line begins with -log2 of the share of passages that hold
 * the stems after it, rounded; from the counts of SUBTLEX-US (Brysbaert and New, 2009) and from READMEs of packages.
 */
const TABLE = `
2 know go
2.5 like right us come on
3 now oh see well think yeah look good time take option
3.5 sai make call back type string ye okai thing man return name wai work
4 set default object node someth down realli imag mr talk version littl never love gui exampl valu new help
two file first function licens sure
4.5 sorri support even dai run wait peopl match path said start true number error try put anyth sir feel
request mayb test noth still god keep night arrai stop ask year want thought better code instal last great
alwai packag
5 get life leav home method around kid girl modul chang boi kei pattern pass awai live case check pars
listen follow ever friend place download miss uh properti stream believ big everyth provid care everi
kind minut move nice lot build stai end fals old monei buffer creat read made open hear fine anoth plai
gener happen rememb three
5.5 promis sourc next differ server father bad found turn hand line note data doc hold understand babi left
wrong hous includ action enough bodi car head argument charact order mind encod ok usag md client import dad
meet requir cours world given real allow els mother watch valid second guess header close best came room
problem yourself specifi target wouldn part job dead respons sinc someon caus readi contain morn alreadi
todai busi huh ain command woman mom pretti matter word son actual walk idea bring sit boolean went worri
tonight togeth whole depend hope br
6 process saw point write famili person content event messag result export seen hour address suppos configur
heard express handl custom yet week excus paramet instead librari throw question ts seem accept statu men
ignor rang haven wonder knew need format happi marri secur possibl base break perform send ladi connect deal
wife school class width instanc bit somebodi everybodi took offic full date myself couldn input rule later
either limit escap implement save stand hit opt tomorrow face pick ey drink pai report brother beauti fire
eat alon hard rout door avail sound late fast document stuff probabl detail quit reason color complet inform
directori expect hurt wish doctor singl sign sleep honei dr add environ map style forget gone control
exactli easi callback badg five phone month project plan alt refer ago game
6.5 pull cach window side fight specif coveral dep parti resolv speak trust crazi field four cut lost drive
chanc remov top coverag hate output agent high shut size answer state soon whether jack heart level insid
whatev nobodi applic convert rest stori mime book copi exist anyon oper otherwis center current special
child ci token em town browser anywai disabl safe interest standard drop treat everyon parent afraid least
light dog power troubl system gave cooki origin finish young user text water lose posit coupl fun consid
clear polic figur mit non becom bui align enabl goe sometim free dream emit normal shoot learn featur
anybodi byte dear though ad fix parser welcom death final pictur log defin present clean releas fall step
tri um mode funni lead danc hang rather fact moment issu form give extens except unless outsid captain
memori sort count almost warn store wear ahead sister half dinner sec simpl ah touch glob tabl behind compil
share prefer definit along group contribut undefin separ six husband hook
7 cool team flag entri michael null regular local truth met hot john sent bed front women load children none
act known white compat empti foo bet execut record addit anymor length handler abl major less context
multipl replac ma manag root di behavior link variabl tree req black sub war absolut fail scare compani
softwar red detect daughter win kiss dev bye serial begin street citi million tool author signal cover catch
hurri intern servic bar within built small access join ride human task trace beat sick global perfect index
brought countri updat cop glad decid height movi develop media tap indic automat music taken piec entir till
util receiv total longer sup space maintain surpris written mark shouldn op fetch frank notic push appli
letter jesu forc across wow decod protect regist dress proxi serv debug hair aliv show food offer star max
whoa train quick deprec sens attack secret paper repres benchmark charg luck gentlemen past seriou condit
nest howev middl sell equal unit ow sweet arm sing ten compar usual languag laugh ship simpli core termin
presid coffe card public short web georg ball futur search extend program bill continu perhap track lucki
7.5 element air common lord verifi host apart resourc integr box zero himself ring fly section discuss carri
directli wrap york overrid certain item king cross hospit burn iter law recommend tire constructor patch
fill cold suit liter id boss keyword hors travi reach blow deep nativ expos american respect land tag mistak
worker lock descript hide sponsor spend poor earli reject engin dispatch straight joe danger magic offset
destroi kick block fool breath compress app stick rel direct uncl interfac rais th bag faster collect suppli
other visit choic sam occur certainli brace lie somewher commun angel forward comment honor meant smell blue
david ha strong pain static weren mari mad remain determin enjoi clone realiz wake road feet basic imagin
quiet practic declar natur cloth worth protocol felt cry portion queue goodby titl agre terribl thousand
jump rock combin relat doubl immedi displai privat mike ag sampl song strict relax main aw integ identifi
buddi leg model kept extra pair park bug floor chalk plane wed grow mouth fish filter joke dark charli mess
similar guid effect seat pool tom produc modifi hundr court seven merg club al besid appear avoid situat fit
smart mile knock fault publish boat third stack hotel react pack prison belong lunch invalid design weird
print attent smoke dollar risk trip dude round convers locat larg experi broke roll lieuten accord consum
shoe brain ls altern mama bank ben voic page cli hmm bother sever arg master prevent appreci
`

const shares = new Map<string, number>()
let share = 0
for (const entry of TABLE.trim().split(/\s+/)) {
  if (/^\d/.test(entry)) share = 2 ** -Number(entry)
  else shares.set(entry, share)
}
/** Stems of the stop words that a search weighs. */
export const COMMON_STEMS: ReadonlySet<string> = new Set([...COMMON_WORDS].map(word => stemOf(word, 'en')))
for (const stem of COMMON_STEMS) shares.set(stem, COMMON_SHARE)

/** A stop word itself, but not its superlative. */
shares.set('long', COMMON_SHARE)

export function isUsual (stem: string): boolean { return shares.has(stem) }

/** The number of background passages that hold a stem. */
export function backgroundOf (stem: string): number {
  return BACKGROUND_PASSAGES * (shares.get(stem) ?? SUPERLATIVE_SHARE * (shares.get(stem.replace(/i?est$/, '')) ?? 0))
}
