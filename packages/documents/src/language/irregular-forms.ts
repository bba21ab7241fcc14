import { stemOf } from './languages.js'

/**
 * Forms of one English word that have different stems. Forms that are more often another word are left out, such as
 * "found", "bit" and "media", and those with the stem of one: "ate" is "at", "rang" is "range", "indices" is
 * "indicate", "vertices" is "vertical", and "person" is "personal".
 */
const FORMS = `
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent,
bite bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
build built, burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept,
deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat eaten,
fall fell fallen, feed fed, feel felt, fight fought, flee fled, fly flew flown, forbid forbade forbidden,
foresee foresaw foreseen, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, give gave given,
go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt,
know knew known, lay laid, lean leant, leap leapt, learn learnt, lend lent, light lit, lose lost, make made,
mean meant, meet met, mistake mistook mistaken, outgrow outgrew outgrown, overcome overcame, oversee oversaw overseen,
overtake overtook overtaken, overwrite overwrote overwritten, pay paid, ride rode ridden, ring rung,
rise risen, rewrite rewrote rewritten, run ran, rerun reran, say said, see seen, seek sought, sell sold, send sent,
sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung,
sink sank sunk, sleep slept, smell smelt, sow sown, speak spoke spoken, speed sped,
spend spent, spill spilt, spin spun, spoil spoilt, spring sprang sprung, stand stood, steal stole stolen,
stick stuck, sting stung, strike struck, swear swore sworn, sweep swept, swell swollen, swim swam swum,
swing swung, take took taken, teach taught, tear tore torn, throw threw thrown,
understand understood, undertake undertook undertaken, undo undid undone, wake woke woken, wear wore worn,
weave wove woven, weep wept, win won, withdraw withdrew withdrawn, write wrote written,
child children, man men, woman women, foot feet, tooth teeth, goose geese, mouse mice, ox oxen,
half halves, knife knives, shelf shelves, wife wives, wolf wolves, loaf loaves,
thief thieves, calf calves, scarf scarves, hoof hooves, criterion criteria, phenomenon phenomena,
matrix matrices, appendix appendices, bacterium bacteria, fungus fungi,
cactus cacti, nucleus nuclei, larva larvae, analysis analyses, crisis crises, hypothesis hypotheses,
diagnosis diagnoses
`

/** The other forms, by stem; made when the first query asks for one. */
let others: Map<string, readonly string[]> | undefined

/**
 * The forms of the English word of a stem that have another stem.
 * @example irregularForms('freez') // ['froze', 'frozen']
 */
export function irregularForms (stem: string): readonly string[] {
  others ??= new Map(FORMS.trim().split(/,\s+/).flatMap(group => {
    const forms = group.split(' ')
    return forms.map(one => [stemOf(one, 'en'), forms.filter(other => stemOf(other, 'en') !== stemOf(one, 'en'))] as const)
  }))
  return others.get(stem) ?? []
}
