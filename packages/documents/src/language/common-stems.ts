import { stemOf } from './languages.js'
import { COMMON_WORDS } from './stop-words.js'

/** Passages of usual English that are added to those of an index: small folders then have the weights of large ones. */
export const BACKGROUND_PASSAGES = 1_000
/** The share of them that hold a stop word which a search weighs. */
const COMMON_SHARE = 0.25
/** A superlative is less usual than the word it is made from; the table has none, but many questions do. */
const SUPERLATIVE_SHARE = 0.25

/**
 * The 4,000 commonest English stems without stop words. A line begins with -log2 of the share of passages that hold
 * the stems after it, rounded; from the counts of SUBTLEX-US (Brysbaert and New, 2009), the first 1,000 also from
 * READMEs of packages. The file NOTICE of the package has the source and its conditions.
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
6.5 kill gun die shot murder stupid blood daddi darl rai arrest birthdai judg partner earth excit eight teach
forgot lawyer fair invit drug yesterdai colonel harri wall station patient mention caught paint glass wast prove
afternoon calm swear pop evid soul grab buck ground strang tough amaz guard armi ticket studi forev forgiv shop
anywher involv cute tape accid anim colleg weapon fear wit smile scream beer film cat prepar paid concern bought
histori pleasur born machin cook near ran rich girlfriend area truck suggest proud gift folk scene arriv crime spot
chief slow steal race board contact summer marriag favor peac fat ought apolog bomb art upset radio bear congratul
relationship alright gold drunk medic boyfriend hungri sake cash hole nose madam doubt camera green
7 ear evil beg killer hat student fell admit blame press lai chicken comfort cost church depart honest victim jail
tast fella trick mommi account fellow decis travel comput rain professor holi govern bird broken wrote finger flower
upstair remind sun deserv freak spent heaven nation french wind nut impress settl weekend nine sad enemi neither bottl
especi suspect rose nervou teacher excel soldier dirti breakfast spirit stuck dare sweetheart cell pardon foot ruin
grand wash guest hire nurs serious pretend draw egg south queen bathroom flight sea brown north sergeant favorit pant
investig neck innoc clock bless hero dig upon plenti twice camp guilti sheriff emerg wine price low beach bell commit
chase river west obvious corner wound rid imposs difficult cheer bunch celebr enter strike ridicul chair warm band tea
duti suffer kitchen angri surviv embarrass cup bone feed wild polit buri hill pressur bust silli shake roger choos
univers stone assum assist aunt worst wood cousin tear bore hall faith bullet mountain correct fresh shirt sight
player confus sweeti blind gotten bigger driver defend vote bottom tight coach dump arrang restaur crack stole trial
moon swim charm
7.5 member van stage pig organ ourselv herself crew slip attract hunt pound prai sold pregnant everywher appar deliv
bite cream introduc spell cake crowd bridg divorc ghost claim cheat rat sport toward san battl yell mission credit
asleep fan trap monster success east fortun grant huge coat pocket engag skin teeth career plant rent shower advic
demon lift speed shock becam insan damag heavi knife opinion crash crimin lesson devil admir princ plu dumb subject
convinc freez lone trade offici physic due opportun grace score recogn afford necessari rob grandma heat themselv fake
bath view drag gate video somehow marshal bright activ famou desk horribl sky discov shame attornei unfortun milk
german rip island dry meat tie juri wire cigarett legal affair rush taught split ted lab post speech market poison
contract magazin ugli refus loos repeat expens tip beyond odd oil planet borrow mysteri photo schedul papa
quarter artist weak bond held stranger punch insur switch terrif chest talent nois announc although lip director senat
wheel confess gentleman appoint mix interview wave monkei wing purpos approach bleed militari princess biggest threw
mail alli defens chick jerk emot knee wet inde health fantast disappoint spread peg leader term yard profession loud
rise chip chees grade bedroom throat spring airport weight nowher spoke recent merri suicid bloodi babe downstair
actor threaten sugar plate social dean deni liar rough villag witch jealou season punish footbal mate shoulder sale
lake strength bare scienc cab product justic awar electr bud nail photograph button lover confirm neighborhood garden
squar diamond franc intend fanci winner assign shout frighten
8 candi firm desert stock stare roof shape alarm majesti male jacket transfer snow meal loser tank onto pill vacat
rate romant cancel funer telephon extrem harm cheap corpor junior kidnap mood toast medicin truli familiar duck
brilliant tour disturb pizza radar proof swing slept weather regret lane gang bowl newspap affect televis attempt
whenev complic spare shine cow femal pilot secretari stomach storm interrupt farm knight geniu stink forgotten gut
statement neighbor crane desper yellow counti tongu graduat brave confid stolen handsom gather march societi theori
freedom energi circl creatur nerv argu among somedai demand loss merci propos shadow sudden climb grave bang rescu
intellig uniform miracl surgeri retir solv degre snake ocean bull grandpa tail insist safeti began soft earn attend
tall sweat chocol elev depress chain toilet tini possess realiti willi understood civil staff vision appl toi silver
observ sandwich permiss lower educ mayor disgust awesom challeng someplac blew giant champagn joint guarante explos
cent boot invent shift period priest doll pierc channel reserv equip advanc accus sword holidai bat wise skip subtitl
pure iron polici assur sail joi rope desir laid belt describ gosh ill outfit fate senior screen row nightmar dozen
obviou writer entertain scratch wherev focu complain sentenc alien closet bike sin mirror grew winter drove cast crush
cure yourselv pink particular curs owner tower passion birth expert nonsens pie bread confer traffic sat vehicl
delight amount decent piti foreign midnight pride rare grate grandmoth juic twenti centuri wipe beast critic mask hung
horn seal clever flat silenc sock starv dawn pen pipe slave penni materi moral garag sneak approv pet resist mental
attitud threat coast rabbit governor asham gambl feder audienc associ awak golf duke courag deck taxi insult skill
amen pour distanc edg seek snap launch fought effort vampir blond aboard friendli mighti promot glove twist fourth
illeg
8.5 dust examin navi drown woke knowledg super pin curiou scari progress garbag punk intent robberi crawl popular bai
vallei swell bro concentr competit prize contest basebal theater trash studio stood percent sensit dirt chop hug soup
piano fruit articl maid twin spy inch abil proper wide advantag prayer whistl citizen resid motiv toe manner champion
eventu loan troop bride stair central instruct captur drew grown circumst puls royal shave stress tune grandfath orang
oliv tax healthi reward alcohol rehears pathet convict slide silent spit anytim technic sharp satisfi warrant cage
gain abandon pump wallet cabl thief initi hostag thrill sheet friendship capabl rub bow couch hop gorgeou tube victori
toss plain exchang terrorist clue destini behav spin adult tradit ador whisper inspir dragon whip asid exercis dish
stake measur cliff jam bump lousi spoil elect ambul towel lack offens sink clown squad blast employe cowboi butter
qualiti mere zone trail betrai casino remark exact flip respond treasur preciou rude union fashion assault frame cloud
golden jungl heal hunter steel committe miser alert classic surround boom cap passeng violenc cancer transport steadi
sand fed regard site inspector potenti lad struggl tiger nasti cultur swallow tunnel agenc invest chuck proce easili
monitor flash shark buzz castl estat pitch benefit strip potato trunk script wreck panic ancient flesh saint shore
terri advis mum delici brief glori sucker downtown goal metal scientist journei bail sacrific explan procedur aim
humili basketbal salt treatment lion underwear basement dancer commerci reput hip dealer sigh fascin routin district
muscl booth failur flow bean trigger salad ski divis hidden fantasi thin wagon wore missil fund volunt pleasant chill
audit role coincid habit bound beef stab shell pearl soda exit purs distract presenc fabul therefor potter motion
creep mass testifi rumor obsess leagu legend forest etern cabin museum occas drama eas ident improv dive thrown
christian costum establish stretch oblig anger chat border float convent tent award fever bunni incid batteri debt
mall scout surgeon profit steak solid marvel rifl seri homework brush coke surfac shove precis fenc construct turtl
useless slap palac minist squeez infect appeal adopt offend plastic peanut fighter spoken dismiss violat reveal bush
permit counsel cave custodi supper bout cigar lung foolish bibl movement chuckl fifti concert negoti exhaust prime
headach smash network fifth fairi crystal aid adventur lick reveng ceremoni motel mous helicopt flame highwai lifetim
tone bend vice ordinari bravo opposit assassin factori surrend laundri templ judgment fuel youth ash wander twelv
servant tale nuclear campaign reverend anniversari explod surveil amus viru satellit patrol facil therapi singer
balanc conduct smooth angl bid thanksgiv latest chose powder jet
9 modern visitor humor influenc clinic delai abus background chamber individu homicid violent tattoo candl escort
defeat drill shy financi poem noon cruel ranch gym broad gear agreement former actress blanket liberti eaten chosen
deposit compliment teenag net chemic prom bark whale pile liquor opera deputi attach bounc belli robot session averag
trauma unhappi spill increas injuri translat thirti achiev nephew crown annoi chariti territori coward chew remot
industri rotten fifteen bishop lean deed steam heel demonstr reliev technolog privileg leak accomplish addict avenu
allei locker backup solut lap cough instinct brand drawer fulli hammer hood pro gentl entranc palm romanc sore skull
mechan superior drum grass council honeymoon dine circu headquart bake consider con tend complaint minor puppi ton
thumb greet foul valuabl pit jewel worm guitar sailor warrior selfish motor chart crisi curtain dock beep rocki filthi
port corn gross sack diet stroke bubbl consult buster soap suspici blade hon fort melt personnel daili whiskei farmer
intens decor wick champ kingdom underneath exam terror stabl poker backward struck afterward rocket nobl banana sauc
mount straighten goodnight revers comic widow plot transcript urgent flatter prick commiss meanwhil blown repair dough
uncomfort weigh sweater testimoni cruis hatch lectur eleph japan temperatur medal bee junk foundat unlik choke rage
conclus makeup protest select spike skate gum gasp bargain boil visual fingerprint explor unknown waiter plug encourag
flew ward civilian patienc valentin frozen adjust dessert rubber typic stall faint frog burger suitcas capit eagl
theme conveni privaci tragedi guilt extraordinari scotch pan billion hack furnitur scar meantim rice sweep clerk
signatur chopper parad nap instrument counter cocktail logic thunder mill basket payment interfer dutch scan awkward
lamp roommat appropri mud liver rank thick symbol rib deaf pole religion princip consequ devot rap ant whack uniqu
western complex mar wrist beard terrifi ultim shield pirat fold relief hail coordin coin candid destruct pillow spider
cock journal reflect concept experienc compromis sire qualifi grunt zoo magnific shrink exhibit combat episod dedic
oxygen religi flush haunt crook ambassador gunshot childhood cotton hut labor brick baker shelter self sacr shown quot
lightn airplan structur anxiou cathol festiv stitch reckon emperor rig click lend pose barn institut skinni mob empir
editor railroad barrel principl kidnei temper corps tick leather dime branch doom chapter laughter formal prosecut
speci column mortal psycholog predict tub veget collaps pancak drain lemon massag rug tenni tragic psychiatrist carpet
vow divin tooth slice hostil balloon lawn roman abort sheep prioriti chin comrad toler lobbi poetri rear phase meter
accent traitor pad vault mug halfwai colleagu paradis troi polish
9.5 cattl donat temporari diner novel stamp waitress goat wrestl beam creativ brake eleven corrupt feather skirt
blackmail despit humbl sprai fade rubi blank pencil snack slam revolut bitter broadcast chef psychic gig bucket rusti
smack drank harbor sincer fond worship mistaken passport neat perfum pace belov dread hollow resign tissu commission
jazz entitl foster upper fleet dull recept prais isol bingo coma oppos album cart dial psych soccer academi unconsci
rot advertis electron rod fee discoveri roast vital groan clip loyalti sum dispos elder purpl picnic scientif techniqu
slim debat comedi vessel misunderstand sentiment mistress tender seed divid ankl elimin evacu thirsti buffalo lamb
bruis spark purchas dentist handi superman southern fluid ranger brass loyal ham tuck athlet corp communist recruit
behalf assembl liber magnum raid drift hum hint lazi envelop scale cheerlead underground clai poet burst aggress alter
beaten coop notifi tactic basi warden psycho salari pistol phrase stuf collar menu bacon trailer pursu await shed
chairman sunshin conflict halt rhythm accident ritual puzzl shooter grip injur ditch stain harass employ brutal ration
policeman undercov dip wizard stir hid splendid narrat spiritu steer beneath bulli restor lanc presum hamburg cheek
autograph enorm radiat administr savag discharg inherit hockei wax disguis sustain parol helmet belief pumpkin stunt
championship coron swamp moor maniac fork suspend cracker turner brandi dramat plead surf groceri sew helpless
stubborn stiff cleaner acquaint inject alik subwai dice counselor burden depth booz obei flood frustrat applaus ideal
poke necessarili bureau siren regul arrow sunset bachelor martini nun fractur acid matur sober pepper lame nanni
butcher fry creepi wisdom verdict luggag genet horror disciplin bolt forti withdraw outrag preserv shotgun dummi
bartend haul teas jewelri echo fai analysi heather fist occasion breed jeep scholarship focus pope envi ouch bait
rebel poni label airlin ceas receipt hilari cuff phoenix grief robe everydai popul thiev plagu survivor torn illus
enterpris spoon sixth instant fraud coffin digniti conspiraci certif rider edit gotcha budget dot paranoid draft
throughout atmospher bench homeless pinch campu nickel mobil interrog barbecu scrambl urg strap reduc particip jar
tens warehous flirt drawn worthi auction tan abduct miseri butler tripl suspicion armor kindli narrow vanish ballet
wig prep fulfil begun random pork mummi necklac delic enforc impuls decad skipper bald strategi encount august dynamit
telegram strain compass inspect confront absurd impact appetit peach salesman paperwork cal succe destin rode slight
overnight hallwai dodg glow rack scrub cannon calcul silk therapist hustl sausag embrac constitut daylight naughti
lunat crab manipul driven autopsi antiqu peel oath exclus lodg pronounc motorcycl manual unlock region happili raw
liquid scheme tomato vodka deliber massiv coloni estim transmiss consist jock genuin urin fog ladder persuad worn gram
acknowledg unfair anonym tide leap tourist scum forbid groom monk refresh penalti casualti amateur constant chao
profess factor comb mock histor pod signific bribe jaw fridg reli overwhelm tickl fur orphan deadli ransom saddl onion
intrud pacif sequenc scandal hike torpedo resent rag symptom pickl diari invas laser recip trophi shovel refriger stun
invad porch hesit tournament musician ethic seventh hurrican hose deton lit cellar ceil bracelet knot ferri shrimp
prior sworn diaper aircraft sympathi pledg drip sensat tempt farewel sting confidenti poster claw gag alibi distress
stalk burnt trai slaughter cemeteri stripe screech atom dizzi cabinet fatal financ galleri mule soak previou fame
tremend riot awhil lobster salut oven haircut strawberri sob hallelujah allianc vulner tension passag circuit perimet
gestur racket pigeon carv dash amber consent chap occupi giggl interpret
10 upsid worthless goddess muffin gloriou shade conquer impli cargo tin casual crippl lighter conscious whatsoev
robber bonu geek throne limo fax housekeep weep justifi recoveri hopeless suprem popcorn hopper blink vein magnet
somewhat surgic soil approxim creek primari violet immun roar solo aunti submarin moan summon yacht peak manufactur
harmoni breez difficulti gentli phoni hobbi chatter scrape lipstick accur anchor vest contrari cane rainbow gossip
panel variou prescript intim domin dug zip hyster password carrier storag briefcas asset val setup morgu mole speaker
essenti elbow anticip soviet breach deer canyon messeng reader unexpect almighti philosophi mankind shaft hunch sorrow
swore petti curios cord companion sketch doughnut flu clamp journalist chemistri granni ralli sleev politician inn
cape loop distinguish endur deceiv harmless fisher puppet digit peek consul sleepi doorbel painter holler econom
distant kiddo rash miner viciou potion leas imit courtroom substanc pea condemn magician gown ram slug seiz woodi
loung cue intercept umbrella rhyme devast mick formula pickup herd greas frequenc delta orbit perspect prosecutor forg
grandson fuss nicknam effici growl spite ego disord mash transform pale mutual marbl guardian pine nearbi eastern
capac straw arteri hound courtesi tribe quarrel tore accompani footag spong underestim aspirin stud descend weaver
legitim shepherd emploi patriot sang congress sixteen disk notion hog forehead classifi doggi minimum alpha chapel
aisl swan bodyguard diplomat compound myth willow gangster vanquish acquir hush sensibl rattl allerg embassi carriag
submit stash identif arrog immort memor versu bounti scoop lawsuit tuna snatch distinct attic volum scam tow peep
analyz tricki burglar bloom spice ribbon dorm domest cater grape recit businessman peculiar sophist gorilla sole grill
evalu fountain tab forens welfar karat bandit minu stove jolli sissi crop ink ridg bunk scenario luxuri slack navig
maximum calendar errand orient shini precinct cooler moonlight fabric bold breakdown craft hast wage balconi resum
butterfli ambush crow itch gratitud auto propheci owl herb headlin agenda annual cycl clap exploit riski sunni sector
earthquak carrot dictat vibrat mattress brat chili household strai bass architect fiction squirrel galaxi forbidden
marker thigh jelli razor retriev conceiv nomin feast eleg voyag buyer prospect coal rum pursuit authent stumbl irrit
outstand carniv shack penetr backyard coven physician millionair chant amend honk chess concret medium semest memo
pinki rail dealt copper bizarr platoon riddl compos shorti streak slipper sensor wealthi guidanc alleg stew roller
dose occup northern relev bomber resembl loosen tutor petit transit anxieti theft expedit inevit oak mint extract
stimul torch clearanc scent limb vagu restrict liabl harsh plea laboratori warp overreact expand bent honesti preacher
essai vacuum partial spear vent transmit conclud wooden chow melodi slot grenad postpon fare ambit videotap kidnapp
proceed graciou rabbi mansion creation ancestor frost flee scrap howl pregnanc shipment booti whine eager overcom
waltz thread paramed mourn rotat canal pajama sip prop aveng nowadai lonesom satisfact emotion slick peasant tobacco
scissor bicycl runner hitch obtain inappropri flashlight souvenir biscuit seduc den mortgag flavor paddl spank eighth
tech neutral patron shelf subtl graviti timer prophet puff squeal shatter correspond knive banker dimens commenc thug
defect drivewai messi pier psychot drunken platform specialist skeleton suspens clam ban adapt lust vers bandag
mainten scope oyster hardwar proven automobil lyric consol consciou registr cereal crib archer crank jingl cramp
supervis democraci vet fuse fertil portrait retain lotteri pond compart tomb topic virtu pupil brag banner dolphin
premier rave smuggl onlin carpent biolog panick virtual bun democrat settlement unpleas lighten kneel despis distribut
overlook commonwealth granddaught bluff frequent endless detent thorn dinosaur neglect greedi cartoon reinforc inhal
hallucin hijack
`

// @keyed none: a table of the code, made at the start
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
