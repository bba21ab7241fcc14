import { stemOf } from './languages.js'

/**
 * English words that mean about the same: a question uses one, and the documents another one of its group. The first
 * word of a group with a colon is a general one, which its other words mean, but they do not mean one another. A
 * question with the word before ">" is searched as those after it, not the other way: "wed" is also the stem of
 * "wedding", and "sun" is more often the sun. Words with the stem of another common word are left out: "experiment" is
 * "experience", "publication" is "public", "important" is "import".
 */
const GROUPS = `
price cost fee charge rate expense, cheap inexpensive affordable, expensive costly, buy purchase, sell sold sale,
buy: sell sold sale shop, order buy purchase, pay payment paid, earn salary wage paid income, money cash fund,
closed shut close, begin start commence launch, end finish stop expire conclude,
stop cancel abort halt terminate end, quit > stop end exit, fix repair mend, broken defective faulty damaged, damage harm,
child children kid junior youth young youngster, baby infant toddler, pushchair pram stroller buggy,
phone telephone mobile cellphone smartphone call, ring call phone, mail email letter post,
send post mail ship dispatch submit deliver, receive get obtain collect, fetch collect pick, give hand issue provide,
carry bring take, car vehicle automobile, bike bicycle cycle, bus coach, train railway rail,
plane aircraft airplane flight, boat ship vessel, doctor physician, medicine drug medication pill tablet,
ill sick illness disease, hurt injured injury wound, teach train instruct coach lesson training,
teacher instructor trainer coach, student pupil learner, learn study, lesson class course,
boss manager supervisor chief head, worker employee staff personnel, job work position occupation profession,
hire employ recruit, holiday vacation leave, meeting appointment, meal: breakfast lunch supper dinner,
eat: meal breakfast lunch supper dinner, eat food dine fed feed, drink beverage, toilet restroom lavatory wc,
rubbish garbage trash waste litter refuse, house home, flat apartment, rent hire lease borrow, borrow lend loan lent,
pet: dog cat, wash clean, wipe clean, wet damp moist, hot warm, cold cool, fast quick rapid, big large huge,
small little tiny, tall high height, heavy weight weigh, wide width broad, deep depth, new recent latest,
near nearby close, far distance, street road, place location site, shop store, allow permit,
permission approval consent approve, forbid forbidden prohibit ban, need require necessary, help assist aid support,
see view look watch, tell inform notify report, ask request enquire, answer reply respond response, speak talk,
explain describe, choose select pick, change modify alter edit update, add append insert, remove delete erase drop,
lose lost missing, find locate, search seek look, keep store retain save, hide hidden conceal,
connect link attach join, split divide separate, make create build produce generate, try attempt,
check verify validate inspect examine, test exam examination, error mistake fault failure, problem trouble issue,
happen occur, fail failure crash, prevent avoid, limit maximum max cap restrict, minimum min least,
number count quantity amount, part piece component, kind type sort, example sample instance, way method manner,
switch turn, enable activate, disable deactivate, wait delay pause, final last, often frequency frequent,
guest visitor visit, customer client, picture photo image photograph, film movie, laptop notebook, screen monitor,
folder directory dir, password passcode, settings configuration config options preferences,
app application program software, docs documentation, info information details, lab laboratory, admin administrator,
auth authentication, env environment, param parameter argument, repo repository, database db, bug defect,
version release, upgrade update, safe secure, danger dangerous hazard hazardous, gift present, prize award,
win won winner victory, match game, team squad, founded established founder, born birth, die died death dead,
kill killed murder, marriage married marry wedding, spouse: wife husband, marriage: wife husband, mother mum mom,
parent: mother father, father dad, war conflict, war: battle, army military troops, king monarch, country nation,
city town, mountain hill, night evening, noon midday, weekly week, monthly month, yearly annual year, daily day,
glasses spectacles, luggage baggage suitcase, ticket admission entrance entry, enter entrance admission entry,
exit leave, lift elevator, petrol gasoline fuel, queue line, insurance insured cover, thief theft stolen steal stole,
burn fire, swap exchange replace, return refund, spare replacement, sign signature signed, invoice bill,
receipt invoice, deadline due, address street, website site, website: page, size dimension, colour color,
late delay delayed, reserve reservation book booking, deposit advance,
discount reduction rebate reduced, tax vat, tax: duty, bank account, wallet purse, vegetarian vegan,
allergy allergic allergen, cook: bake boil roast fry, oven stove cooker, fridge refrigerator freezer, cup mug,
dish plate, recipe ingredients, plant sow seed, flower blossom bloom, harvest pick crop,
fertiliser fertilizer manure compost, lawn grass mow, pig hog, hen chicken, vet veterinarian, bee hive,
weather forecast, sunrise dawn, sunset dusk, morning dawn, weekend: saturday sunday, dozen: twelve, double twice,
emergency alarm, alarm alert warning, warn warning alert, fire blaze, ambulance paramedic, police: officer,
lawyer attorney solicitor, judge court, law legal statute, contract agreement, agree agreement, illegal unlawful,
prison jail, vote election elect ballot, chairman chair chairwoman, president: chairman chair, treasurer cashier,
member membership, join membership, newcomer beginner novice, expert specialist, helper assistant volunteer,
assistant aide, neighbour neighbor, friend mate, uncle aunt, grandmother grandma, grandfather grandpa,
woman female lady, man male, elderly senior pensioner, elderly: old, retire retirement pension pensioner,
eye sight vision, tooth teeth dentist dental, heart cardiac, blood bleeding, fever temperature, cold flu,
vaccine vaccination jab immunisation, operate operation surgery, bandage dressing plaster,
wheelchair disabled accessible, pregnant pregnancy, towel linen, blanket duvet, pillow cushion, shower bath bathroom,
cellar basement, attic loft, roof ceiling, stairs staircase steps, door gate entrance, window pane, fence hedge,
parking: garage, heating heater, heating: radiator boiler, electricity power, plug socket outlet,
charge battery recharge, tap faucet, pipe tube hose, tool equipment, equipment device gear, device machine appliance,
screw bolt, tyre tire, puncture: tyre tire flat, engine motor, helmet headgear, suitcase luggage bag,
bag sack, coat jacket, clothes: shirt trousers coat, footwear: shoes boots, trousers pants,
clothes clothing wear garment, wear clothes dress, gloves mittens, jewellery jewelry, jewellery: ring, watch clock,
schedule timetable plan, calendar schedule, departure leave, route path way, path route trail,
map plan, harbour harbor port dock, berth mooring, captain skipper, crew team staff,
race competition contest, competition contest tournament, tournament competition championship, train practice,
practice training, practise rehearse rehearsal, rehearsal practice, choir singing sing, sing song, music song tune,
instrument: piano violin, concert performance show, stage theatre theater, audience spectators,
exhibition exhibit display show, museum gallery, painting picture, author writer, wrote > author, written > author,
poem verse, novel book,
press: newspaper magazine, print printer, copy duplicate backup, paper sheet, envelope letter,
parcel package packet, stamp postage, shipping delivery postage, delivery shipping ship, courier carrier,
warehouse storage depot, stock inventory, supplier vendor, producer manufacturer maker, factory plant works,
business company firm trade, owner proprietor, founder establish, partner associate, advertise advert ad marketing,
brand logo, salary wage pay, bonus premium, budget money funds, profit gain, loss lose, debt owe, loan credit,
insurance policy, complaint complain, guarantee warranty, refund money, faulty defect broken, grade mark score,
score points result, result outcome, percent percentage share, total sum overall, increase rise grow raise,
decrease fall drop decline reduce, reduce lower decrease cut, bigger larger, largest biggest, smallest least,
highest tallest maximum, main chief principal major, famous known, previous former earlier,
current present, temporary interim, ancient old, modern new, rich wealthy, poor poverty, strong powerful,
weak feeble, hard difficult, easy simple, quiet silent silence noise, noise loud noisy sound, smell odour odor scent,
taste flavour flavor, sharp pointed, round circular, square rectangular, thin narrow, empty vacant,
full complete, correct right, wrong incorrect, secret confidential private, private personal, share shared common,
separate apart, together jointly, similar alike, compare comparison, contain include consist,
consist contain made, belong owner, reason cause why, purpose aim goal, goal aim target,
rule regulation, law rule, duty obligation responsibility, responsible charge duty, obey comply, fine penalty,
punish penalty punishment, allowed permitted, forbidden prohibited banned, optional voluntary,
mandatory required compulsory obligatory, exempt exception, apply application, application form, form questionnaire,
register registration enrol, unsubscribe cancel, subscribe subscription, subscription plan, login signin,
logout signout, username account, account login, website homepage, url link address, browser: chrome firefox safari,
wifi wireless internet network, internet network online, offline disconnected, server host, client caller,
port socket, request call, timeout expire expiry, retry again, build compile, compress: gzip,
encrypt encryption cipher, parse parser parsing, convert transform, merge combine, sort order,
filter select, iterate loop each, array list, option setting flag, default standard,
override overwrite, ignore skip exclude, skip ignore omit, exclude ignore omit, allowlist whitelist,
blocklist blacklist, block deny, deny refuse reject, throw raise, exception error, restart reboot,
refresh reload update, notify notification, event hook, hook callback, callback function, async asynchronous,
sync synchronous, concurrent parallel simultaneous, thread worker,
process program, queue buffer, disk drive, cpu processor, performance speed, slow latency, middleware plugin,
plugin extension, package module library, dependency package, export expose, interface api, endpoint route url,
route path endpoint, download fetch, binary executable, command cli, terminal console shell, unique distinct,
template layout, theme style, icon symbol, menu navigation, popup dialog, cursor pointer,
kilogram kilo kg, kilometre kilometer km, centimetre centimeter cm, millimetre millimeter mm, millilitre milliliter ml,
metre meter, litre liter, minute min, hour > hr, second sec, tablespoon tbsp, teaspoon tsp, calorie kcal,
mileage kilometre km,
second 2nd, third 3rd, fourth 4th, fifth 5th, tenth 10th, twelfth 12th, thirteenth 13th, january > jan, february feb,
april apr, august aug, september sep sept, october oct, november nov, december dec, monday mon, tuesday tue tues,
wednesday > wed, thursday thu thur thurs, friday fri, saturday > sat, sunday > sun, autumn fall, summer: june july august,
autumn: september october november, winter: december january february, spring: march april,
headmaster headmistress headteacher head principal, canteen cafeteria restaurant, canteen lunch, son boy, daughter girl,
noodle pasta, pasta: spaghetti noodle macaroni, spicy hot chilli, soup broth, signal reception coverage,
undo revert rollback reverse, renew renewal extend, extend extension prolong, digitise scan, fuse breaker,
laundry wash washing, leak drip drop, mount install attach, install installation setup, tip gratuity, tariff price,
pharmacy chemist, clinic surgery hospital, injection shot jab vaccination, flu influenza, prescription medicine,
vacuum hoover, bin rubbish dustbin, code pin, sofa couch settee, cot crib, torch flashlight, football soccer,
motorway highway, lorry truck, biscuit cookie, prawn shrimp, sweets candy, nappy diaper, term semester,
probation trial, overtime extra, reimburse reimbursement refund expense, resign resignation notice, dismiss dismissal,
outage incident downtime, deploy deployment release rollout, backup restore, cert certificate, tls ssl,
kubernetes k8s, postgres postgresql, javascript js, typescript ts, descale limescale, grind grinder,
taxi cab, accommodation hotel lodging, landlord owner, tenant resident, caretaker janitor, bedding linen sheets,
barbecue bbq grill, pool swimming swim, drought dry, irrigate irrigation watering, slug snail, donate donation donor,
committee board, assembly meeting, telescope scope, specimen sample,
grant funding fund, leaflet flyer brochure, draft proof, logo design,
skill ability, obstacle barrier, shade shadow, slope hill, cave cavern, wood timber, forest woods woodland, lake pond,
river stream, ocean sea, coast shore beach, island isle, bay gulf, valley dale, field meadow, path footpath,
peak summit top, rock stone, soil earth ground, sand beach, snow snowfall, rain rainfall, storm thunderstorm,
wind breeze, fog mist, ice frozen, temperature warmth, moisture humidity damp, fuel petrol diesel,
spouse partner, couple pair, twin double, queen king, priest vicar pastor, church chapel, mosque temple,
ceremony service, funeral burial, grave cemetery, birthday anniversary, christmas xmas,
apologise apology sorry, promise pledge, truth true, trust confidence,
fear afraid scared, anger angry, happy glad, sad unhappy, tired exhausted, hungry hunger, thirsty thirst, sleep bed,
dream sleep, wake alarm, shout yell, cry weep, laugh smile, argue argument dispute, fight battle, defend defence protect,
protect protection guard, attack assault, escape flee, chase pursue, throw toss, jump leap,
climb ascend, fall descend, push press, pull drag, lift raise, drop lower, bend curve, break snap, crack split,
stretch extend, shrink contract, melt thaw, burn ignite, explode explosion blast, shine glow, reflect mirror,
bright light, dark dim, shape form, pattern design, edge border margin, border frontier boundary, corner angle,
centre center middle, surface top, bottom base, back rear behind, inside interior indoor,
outside exterior outdoor, above over, beneath below under, beside next, gap space hole, hole opening,
layer level floor, floor storey level, ground floor, row line, column pillar, block cube, ball sphere, stick rod pole,
rope cord string, wire cable, hook peg, nail screw, hammer tool, knife blade, scissors cutter,
thread yarn, cloth fabric textile, wool fleece, cotton fabric, metal steel iron, gold golden, silver silvery,
jewel gem, crystal glass, liquid fluid, gas vapour vapor steam, powder dust, mixture blend mix, solution answer,
method technique approach, strategy plan, theory hypothesis, proof evidence, discover discovery find,
invent invention inventor, creator author founder, scientist researcher, research study, degree diploma,
university college, professor lecturer, lecture talk, speech talk address, conference meeting, discuss discussion debate,
debate argument, decide decision, opinion view, suggest suggestion propose proposal, advise advice recommend,
order command, demand claim, supply provide, offer propose, reject refuse,
complete finish, success succeed, victory triumph, defeat beat, rival opponent enemy, ally partner, leader head chief,
government state, minister secretary, parliament assembly, immigrant migrant, refugee displaced,
population inhabitants people, people person, inhabitants residents people, capital city, region area zone,
district area quarter,
province state region, empire kingdom, colony settlement, settler colonist, noble aristocrat,
peasant farmer, merchant trader, craftsman artisan, smith blacksmith, tailor dressmaker, baker bakery bread
`

/** The words of the groups of a stem; made when the first query asks for one. */
let synonyms: Map<string, Set<string>> | undefined

/**
 * The English words that mean about the same as those of a stem.
 * @example synonymsOf('price') // ['cost', 'fee', 'charge', 'rate', 'expense']
 */
export function synonymsOf (stem: string): readonly string[] {
  synonyms ??= readGroups()
  return [...synonyms.get(stem) ?? []]
}

function readGroups (): Map<string, Set<string>> {
  // @keyed none: a table of the code
  const all = new Map<string, Set<string>>()
  const add = (word: string, others: readonly string[]): void => {
    const stem = stemOf(word, 'en')
    const known = all.get(stem) ?? new Set()
    for (const other of others) if (stemOf(other, 'en') !== stem) known.add(other)
    all.set(stem, known)
  }
  for (const group of GROUPS.trim().split(/,\s+/)) {
    const [asked = '', found] = group.split(' > ')
    if (found !== undefined) {
      add(asked, found.split(' '))
      continue
    }
    const [general = '', specific] = group.split(': ')
    const words = (specific ?? general).split(' ')
    for (const word of words) {
      add(word, specific === undefined ? words : [general])
      if (specific !== undefined) add(general, [word])
    }
  }
  return all
}
