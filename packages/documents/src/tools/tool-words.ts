import { stemOf } from '../language/languages.js'

/**
 * What people say, and the words of the tools that do it: "put a thumbs up" is the reaction to a message. Those before
 * ">" are words or phrases, each with the meaning of its line. They are not synonyms, so no search of documents uses
 * them.
 */
const TABLE = `
put > create add write move set upload
make|new > create generate
write|compose > create draft send
note|memorize > create add store memory
plan|book|arrange > create schedule
remember > memory create add observation entity knowledge store
remind > reminder task todo create
forget > delete remove memory
wipe|throw|get rid|clean > delete remove clear
undo|take back > reset revert restore
go back > back navigate
which > list
what > get list read
who > get list user
see > get view read show
look > search get view find
tell|say|post > send create message
inform|let know > send notify message
answer|respond > reply
say no|turn down > decline reject
say yes|agree > accept approve
call off > cancel delete
let|allow|give access > share permission grant access
invite > add share invite member event
join > add member
kick|leave > remove member
turn on|switch on > enable update set start toggle
turn off|switch off > disable update set stop toggle
rename > move rename update
change > update edit diff
edit|fix|correct|adjust > update edit set
copy|duplicate > copy clone
download > get download clone fetch
upload > upload create push
open|visit|surf|go to > open navigate page url read
press|push|tap > click press key
type|enter > type fill input form
pick|choose|tick > select option choose click
smaller|bigger|wider|size > resize size
picture|photo|image > screenshot image photo picture
film|record|video > record recording screencast video start
look like > screenshot snapshot
slow|slowly|fast > performance trace profile
leak > heap snapshot memory
how many > count number convert list
how much > count cost price
how long > duration diff
how far > convert distance
kilometre|mile|metre|inch > unit convert length
pound|kilo|gram|ounce > unit convert weight
degree|celsius|fahrenheit > unit convert temperature
litre|gallon > unit convert volume
currency|dollar|euro > currency exchange rate convert price
credit card > luhn check digit payment
clock > time timezone current
today|tomorrow|yesterday > current date calendar
week > week calendar date
february|birthday > date month event
password|key > password random generate secret
dice|coin|random|lottery|shuffle > random number shuffle
calculate|compute|sum|average > math calculate evaluate expression statistics
mistake|bug|typo > lint error validate diagnostic
style > lint format style
script|program|execute > run execute code
translate > translate language
draw|chart|sketch|flow > diagram chart graph generate image
yellow|red|green|blue > color fill format background
bold > format font style
workbook|spreadsheet|sheet > excel sheet worksheet workbook
row|column|cell > range row column cell insert
slide > presentation powerpoint
document|paper > document file item drive
folder|directory > folder directory
attachment > attachment file mail
letter|inbox > mail message folder
spam > junk mail rule
smiley|thumb|heart|like > reaction emoji like
boss|chief > manager
colleague|coworker > user people member contact
phone number|address book > contact user
appointment|meeting|diary > event calendar meeting
invitation > event invitation meeting calendar
free|busy|available > schedule availability free busy presence meeting time
out of office|vacation|holiday|away > automatic reply mailbox setting
online > presence status
said|talk > transcript message meeting
minutes > transcript meeting note
to do|shopping|chore > todo task list
done|finish > complete mark finish done
notebook > notebook onenote page
history > history log
version|release > tag version release
server|machine > server instance vm compute
website > web page url site
bucket > storage blob bucket
login|sign in > login sign auth
sign out > logout
map > map location directions
news|google > search web news
`

/** What is said, and the words that tools have for it; both as stems. */
export interface ToolWords { readonly phrase: readonly string[], readonly words: readonly string[] }

let entries: readonly ToolWords[] | undefined

/** The lines of the table whose words or phrases are among these stems, in their order. */
export function toolWordsOf (stems: readonly string[]): ToolWords[] {
  entries ??= readTable()
  return entries.filter(({ phrase }) => stems.some((_, at) => phrase.every((stem, i) => stems[at + i] === stem)))
}

function readTable (): ToolWords[] {
  const stemsOf = (words: string): string[] => words.split(' ').map(word => stemOf(word, 'en'))
  return TABLE.trim().split('\n').flatMap(line => {
    const [said = '', words = ''] = line.split(' > ')
    return said.split('|').map(phrase => ({ phrase: stemsOf(phrase), words: stemsOf(words) }))
  })
}
