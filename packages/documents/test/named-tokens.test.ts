import { test } from 'tap'
import { documentsInterpreter } from '../src/index.js'
import { ask } from './fixtures/ask.js'
import { memoryOf } from './fixtures/folder.js'

const OFFICE = {
  'errors.md': '# Error 1045\n\nError 1045: access denied. Check the password.\n\n# Error 2002\n\nError 2002: the server does not run. Start it.\n',
  'pumps.md': '# Pump P-10\n\nThe pump P-10 delivers 40 litres a minute.\n\n# Pump P-20\n\nThe pump P-20 delivers 75 litres a minute.\n',
  'clubs.md': '# Officers\n\nThe commodore chairs the committee of the club.\n',
  'parts.csv': 'Part,Shelf\nM/PO-R3,12\nM/PO-R4,14\nX-200/B,7\nX-200/C,9\n'
}
const OFFICE_QUESTIONS = [
  ['What does error 1049 mean?', undefined], ['What does error 1045 mean?', /denied/], ['error #1045', /denied/], ['What does the pump P-30 deliver?', undefined],
  ['What does the pump P-20 deliver?', /75/], ['pump p20', /75/], ['Where is M/PO-R3?', /12/], ['On which shelf is X-200/C?', /9/], ['On which shelf is X-200/D?', undefined],
  ['What does the vice-commodore chair?', undefined], ['What does the commodore chair?', /committee/]
] as const
const NAMES = {
  'w.md': '# Waiting\n\n`sleep(5)` waits 5 seconds. The argument is a number of seconds.\n\n# Upload\n\nTo upload files, choose up to 10 files in the dialog Upload.\n\n# Requirements\n\nThe server needs Node 18 or newer. The client works with Python 3.9 to 3.12. The app runs on Android 9 and above.\n\n# Ports\n\nThe server listens on port 3000. If the port is in use, set PORT to another one.\n\n# Login\n\nTwo-factor authentication is set under Security. IPv4 and IPv6 addresses can be blocked.\n\n# History\n\nThe company was founded in 1998 and moved to Bergen in 2006.\n\n# Rooms\n\nA table for 4 people costs 20 euros. The restaurant is on the second floor, the bar on the fourth floor.\n\n# Sizes\n\nSize S has a chest of 90 cm, size M of 98 cm and size L of 106 cm.\n\n# Plans\n\nThe Team plan costs 9 euros, the Studio plan 19 euros. All plans have backups.\n\n# HTTP errors\n\nHTTP 404 means that the page is missing. HTTP 429 means too many requests; wait a minute.\n\n# Kayaks\n\nThe Heron is a kayak for rivers and costs 700 euros. The Puffin is a kayak for the sea and weighs 24 kg.\n\n# Chapters\n\nChapters 2 to 5 are about sailing. Part II is about knots, part III about weather.\n\n# Oven\n\nBread bakes at 230 degrees Celsius.\n\n# Lamps\n\nThe red lamp blinks during an update.\n'
}
const NAMES_QUESTIONS = [
  ['How do I wait 10 seconds?', /sleep/], ['Can I upload 3 files at once?', /10 files/], ['Does the server work with Node 20?', /Node 18/],
  ['Does the server need Node 16?', undefined], ['Does the client work with Python 3.11?', /3.9/],
  ['Does the client work with Python 3.13?', undefined], ['Does the app run on Android 12?', /Android 9/],
  ['port 8080 is in use', /another one/], ['How do I run the server on port 8080?', /port/], ['What is port 5125 used for?', undefined],
  ['Where did the company move in 2006?', /Bergen/], ['How much is a table for 2 people?', /20 euros/],
  ['What is on the third floor?', undefined], ['What is on the second floor?', /restaurant/], ['What is on the 2nd floor?', /restaurant/],
  ['What is the chest of size XL?', undefined], ['What is the chest of size M?', /98/], ['what is the chest of size m', /98/],
  ['What does the Enterprise plan cost?', undefined], ['what does the studio plan cost', /19/], ['What does HTTP 418 mean?', undefined],
  ['What does HTTP 429 mean?', /too many/], ['What does the Osprey cost?', undefined], ['What does the Heron cost?', /700/],
  ['What is chapter 7 about?', undefined], ['What is chapter 3 about?', /sailing/], ['What is part IV about?', undefined],
  ['What is part III about?', /weather/], ['How hot in Fahrenheit does bread bake?', undefined], ['How hot does bread bake?', /230/],
  ['What does the Puffin weigh in pounds?', undefined], ['What does the green lamp mean?', undefined],
  ['What does the red lamp mean?', /update/], ['Can IPv6 addresses be blocked?', /IPv6/], ['When was the company founded?', /1998/]
] as const
const LANGUAGES = {
  'd.md': '# Haus\n\nIm zweiten Stock ist die Küche, im vierten Stock der Saal. Raum 12 hat einen Beamer, Raum 14 ein Klavier. Bus 7 fährt zum Hafen, Bus 9 zum Bahnhof.\n\n# Störungen\n\nFehler E12 bedeutet zu wenig Wasser. Fehler E15 bedeutet einen Defekt der Pumpe.\n',
  'f.md': '# Règlement\n\nL\'article 4 fixe la cotisation. L\'article 6 fixe les sanctions. Le tarif Enfant coûte 5 euros, le tarif Étudiant 8 euros.\n',
  's.md': '# Tallas\n\nLa talla M mide 98 cm. La talla L mide 106 cm. La sala 3 tiene proyector y la sala 5 tiene piano.\n',
  'z.md': '# 规定\n\n第五条 住户每月交纳管理费。第六条 禁止在走廊停放自行车。三号楼有电梯，五号楼没有电梯。\n'
}
const LANGUAGES_QUESTIONS = [
  ['Was ist im dritten Stock?', undefined], ['Was ist im vierten Stock?', /Saal/], ['Was hat Raum 16?', undefined],
  ['Was hat Raum 14?', /Klavier/], ['Wohin fährt Bus 8?', undefined], ['Wohin fährt Bus 9?', /Bahnhof/],
  ['Was bedeutet Fehler E13?', undefined], ['Was bedeutet Fehler E15?', /Pumpe/], ['Que fixe l\'article 5 ?', undefined],
  ['Que fixe l\'article 6 ?', /sanctions/], ['Combien coûte le tarif Senior ?', undefined], ['Combien coûte le tarif Enfant ?', /5 euros/],
  ['¿Cuánto mide la talla XL?', undefined], ['¿Cuánto mide la talla L?', /106/], ['¿Qué tiene la sala 4?', undefined],
  ['¿Qué tiene la sala 5?', /piano/], ['第七条规定什么？', undefined], ['第六条规定什么？', /自行车/], ['四号楼有电梯吗？', undefined], ['三号楼有电梯吗？', /电梯/]
] as const

const TABLES = {
  'ferry.md': '# Ferry\n\n## Timetable\n\n| Line | From | Every |\n|---|---|---|\n| 1 | North pier | 20 minutes |\n| 5 | Castle | 60 minutes |\n\n## Cards\n\nThe silver card gives 5 percent off, the gold card 10 percent.\n',
  'washer.md': '# Washing machine W200\n\nThe W200 holds 8 kg.\n\n# Washing machine W300\n\nThe W300 holds 10 kg.\n\n# Programs\n\nProgram 3 is for wool. Program 4 is for silk.\n',
  'haus.md': '# Haus\n\nHausordnung § 5 regelt die Ruhezeiten. § 7 regelt die Müllabfuhr.\n'
}
const TABLES_QUESTIONS = [
  ['How often does line 1 run?', /20/], ['How often does line 3 run?', undefined], ['What does the platinum card give?', undefined], ['What does the gold card give?', /10/],
  ['How much does the W300 hold?', /10 kg/], ['how much does the w250 hold', undefined], ['What is program 5 for?', undefined], ['What is program 4 for?', /silk/],
  ['Was regelt § 6?', undefined], ['Was regelt § 7?', /Müll/]
] as const

const SIBLINGS = {
  'orbix.md': '# Orbix speaker\n\nThe Orbix has a battery of 12 hours and weighs 800 g. The Orbix Pro lasts 20 hours. The maximum pressure is 2 bar.\n',
  'plans.md': '# Plans\n\n| Plan | Price | Seats |\n| --- | --- | --- |\n| Basic | 9 euros | 3 |\n| Team | 29 euros | 10 |\n\n# Rooms\n\nThe north hall seats 80 people.\n',
  'ja.md': '# プラン\n\nスタンダードプランは月額980円です。プレミアムプランは5人まで使えます。\n\n# 支店\n\n大阪支店の営業時間は9時から18時までです。\n',
  'zh.md': '# 套餐\n\n家庭套餐每月59元，含100GB流量。学生套餐每月19元。\n'
}
const SIBLINGS_QUESTIONS = [
  ['How long does the battery of the orbix max last?', undefined], ['How long does the Orbix Pro last?', /20 hours/], ['How heavy is the orbix?', /800/],
  ['does the orbix mini have a battery', undefined], ['how many hours is the orbix max battery', /12 hours/], ['What is the maximum pressure in psi?', undefined], ['What is the max pressure?', /2 bar/],
  ['how many seats has the business plan?', undefined], ['how many seats has the team plan?', /10/], ['What is the cheapest plan?', /9 euros/],
  ['How many people fit in the south hall?', undefined], ['How many people fit in the north hall?', /80/],
  ['ゴールドプランはいくらですか？', undefined], ['スタンダードプランはいくらですか？', /980/], ['名古屋支店の営業時間は？', undefined], ['大阪支店の営業時間は？', /18時/],
  ['商务套餐每月多少钱？', undefined], ['家庭套餐每月多少钱？', /59/], ['最便宜的套餐每月多少钱？', /19/]
] as const

for (const [name, documents, questions] of [['other things of a name', SIBLINGS, SIBLINGS_QUESTIONS], ['an office', OFFICE, OFFICE_QUESTIONS], ['a product', NAMES, NAMES_QUESTIONS], ['other languages', LANGUAGES, LANGUAGES_QUESTIONS], ['tables and programs', TABLES, TABLES_QUESTIONS]] as const) {
  test(`a number, code or variant that no document has is not answered by another one, and one that it has is: ${name}`, async t => {
    const interpreter = documentsInterpreter(await memoryOf(t, documents))
    for (const [question, answer] of questions) {
      const { text, final } = await ask(interpreter, question)
      t.equal(final.metadata['answered'], answer !== undefined, question)
      if (answer !== undefined) t.match(text, answer, question)
    }
  })
}
