import { stemOf } from '../language/languages.js'
import { rawWords } from '../language/terms.js'

/** What tools do, and the verbs and question words for it: the name of nearly every tool begins with one of them. */
const ACTIONS = `
read: get read show see view list display fetch find search look which what who whose where when how check tell retrieve open describe
  inspect query know browse lookup print return
create: create make add new start begin build generate compose draft plan book schedule arrange put insert append register write save
  store note remember invite need record set keep
delete: delete remove drop erase clear wipe throw discard cancel forget rid destroy clean uninstall empty unset leave stop
change: update change edit modify set rename correct fix adjust turn switch move replace improve toggle enable disable mark write put
send: send post publish reply answer forward notify say tell write message share respond inform ask
`

/** Phrases that mean an action, whatever their verb means otherwise. */
const PHRASES: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:get rid|no longer|not? [^.]*\bany ?more|do(?: not|n't) need|take [^.]*\b(?:off|out|away)|throw away|take back)\b/i, 'delete'],
  [/\b(?:put|add) [^.]*\b(?:in|into|to|on)\b/i, 'create'],
  [/\b(?:turn|switch) [^.]*\b(?:on|off)\b/i, 'change'],
  [/\b(?:look (?:at|for|through|up)|give me|let me see)\b/i, 'read']
]

/**
 * What users say, and what tools call it: a word or a phrase before ">" may mean each word after it. Software has few
 * names for its things, and people many. They are not synonyms, so the search of documents does without them.
 */
const THINGS = `
letter|email|e mail|inbox > mail message
post|comment|text > message
everybody|everyone|all people|all of them > all
smiley|heart|like|thumb|laugh > reaction emoji
respond|get back to > reply
pass on|hand on > forward
away|busy|available|absent|online|offline|around|is there|are there > presence availability
vacation|out of office > automatic reply mailbox setting
appointment|diary|invitation|agenda|conference > event calendar meeting
meet|get together > event meeting
free|have time|slot > schedule availability find time
say no|turn down|refuse > decline reject
say yes|agree > accept approve
coworker|colleague|people|person|who|somebody|someone|friend > user member people
boss|chief|lead|supervisor > manager
work for|employee > report user
join|belong|part of|is in|are in > member
address|phone|phone number|telephone|mobile > contact
to do|todo|shopping|chore|errand|deadline|reminder > todo task
job|step|assignment > task request
finish|done|tick|complete > mark done complete update
board|lane > bucket plan
notebook|notes > onenote notebook page
workbook|spreadsheet > excel worksheet sheet
cell|line|field|row|column > range row column cell
bold|italic|underline|font > format font
background|shade > format fill color
cloud > drive
small|big|large|wide|tall > size resize
who can|let see|be able|may see > permission share
label|tag > category tag label
said|talk|spoke|discuss > transcript conversation message
video|film|movie|record > recording screencast
picture|photo|image > screenshot image photo
look like > screenshot snapshot
script|program|snippet > run code execute
mouse|pointer|cursor > hover click
pop up|alert > dialog
menu|dropdown|choose|pick > select option
button|hit|push|tap > click press
website|web site|link > url page site
open|visit|go to > navigate open page
enter|key in|write > type fill
slow|fast|speed|quick > performance trace
leak > heap memory
dark|light|print > media color scheme emulate
mistake|bug|typo|fault > error lint validate
style > lint css format
correct|valid|genuine|real > validate check
between|differ|newer|older|earlier > compare diff
newer > version semver
kilometre|mile|metre|inch|foot|pound|kilo|gram|celsius|fahrenheit|litre|degree|acre|ounce > unit convert
dice|coin|lottery|lot|random|password|shuffle > random
pattern|wildcard > regex pattern search
token > jwt token
checksum|fingerprint > hash
clock|hour > time
today|now|currently|at the moment > current
when > time date calendar schedule
where > location path url
how many|how much|amount > count number
binary|hexadecimal|octal > base number
sum|average|calculate|compute|plus > math sum
remember|know|learn|fact > knowledge graph entity observation memory
forget > delete entity knowledge memory
married|connected|related > relation
undo|go back|take back > reset restore back
newest|latest|up to date|what is new > pull fetch update
upload|hand in|attach > upload push attachment
put away|shelve|set aside > stash
history|past > history log version
who wrote|who changed|author > blame author
change > diff update
machine|computer|server > virtual machine compute server
secret|password|credential|key > vault secret
price|cost|expensive > pricing price cost
limit|how many more|enough > quota limit
tip|advice|save money > recommendation best practice advisor
chart|draw|sketch|graph|flow > diagram chart
bug|ticket > issue
bill > invoice
pay > payment
internet|web|news > search web
`

/** What is written in a form that shows what it is: a file, an address, a colour. */
const FORMS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\.(?:txt|md|pdf|docx?|pptx?|csv|json|png|jpe?g|log|ya?ml|html?|zip|xlsx?|py|js|ts|sh)\b/i, 'file'],
  [/\.xlsx?\b/i, 'excel'],
  [/\.(?:py|js|ts|sh)\b/i, 'code'],
  [/\b\d+\.\d+\.\d+\.\d+\b/, 'ip'],
  [/\bhttps?:\/\//, 'url'],
  [/#[0-9a-f]{6}\b/i, 'color'],
  [/\S@\S+\.\w/, 'mail account'],
  [/\b\d{1,2}(?::\d\d)? ?[ap]m\b|\b\d\d?:\d\d\b/i, 'time'],
  [/\b[A-Z]{1,2}\d+\b/, 'range cell'],
  [/[[{]\s*"/, 'json']
]

/** A word or phrase of a query, and what tools call it. */
export interface Naming {
  /** Its stems; none for a form. */
  readonly said: readonly string[]
  /** The stems of each word that tools have for it. */
  readonly called: readonly string[]
}

interface Tables {
  readonly actions: ReadonlyMap<string, readonly string[]>
  readonly things: readonly Naming[]
}

let tables: Tables | undefined

/** The actions that a verb or question word means, by its stem: "write" creates, changes and sends. */
export function actionsOf (stem: string): readonly string[] {
  return readTables().actions.get(stem) ?? []
}

/** The actions that a query asks for. */
export function actionsIn (query: string, stems: readonly string[]): ReadonlySet<string> {
  const phrases = PHRASES.filter(([phrase]) => phrase.test(query)).map(([, action]) => action)
  return new Set(phrases.length > 0 ? phrases : stems.flatMap(actionsOf))
}

/** What tools call the words, phrases and forms of a query. */
export function namingsIn (query: string, stems: readonly string[]): Naming[] {
  const isSaid = ({ said }: Naming): boolean => stems.some((_, at) => said.every((stem, i) => stems[at + i] === stem))
  return [
    ...readTables().things.filter(isSaid),
    ...FORMS.filter(([form]) => form.test(query)).map(([, words]) => ({ said: [], called: stemsIn(words) }))
  ]
}

function readTables (): Tables {
  tables ??= { actions: readActions(), things: readThings() }
  return tables
}

function readActions (): Map<string, string[]> {
  // @keyed none: a table of the code
  const actions = new Map<string, string[]>()
  for (const [, action = '', verbs = ''] of ACTIONS.matchAll(/^(\w+): ([^:]*)$/gm)) {
    for (const stem of stemsIn(verbs)) actions.set(stem, [...actions.get(stem) ?? [], action])
  }
  return actions
}

function readThings (): Naming[] {
  return THINGS.trim().split('\n').flatMap(line => {
    const [said = '', words = ''] = line.split(' > ')
    return said.split('|').map(phrase => ({ said: phrase.split(' ').map(word => stemOf(word, 'en')), called: stemsIn(words) }))
  })
}

function stemsIn (text: string): string[] { return Array.from(rawWords(text), word => stemOf(word, 'en')) }
