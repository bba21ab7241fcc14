import { test } from 'tap'
import type { Hit, Memory } from '@polyvac/core'
import { combineMemories, documentsInterpreter } from '../src/index.js'
import { ask } from './fixtures/ask.js'
import { BATHS, MUSEUM, REFERRING, SPA } from './fixtures/conversations.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'

test('an answer consists of cited sentences, and [n] is the n-th source', async t => {
  const { text, final, progress } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?')
  t.equal(final.answer, text)
  t.match(text, /^To cancel a task, post `tasks\/cancel` with the task's id\. \[1\] The work is stopped within two seconds\. \[1\] A task that has already ended cannot be canceled\. \[1\]/)
  t.match(final.source_documents[0], {
    page_content: /^To cancel a task/,
    metadata: { source: 'guide.md', heading: 'Guide > Cancel a task', lines: '17-18', score: Number }
  })
  t.match(final.metadata, { mode: 'extractive', answered: true })
  t.strictSame(progress, [0.05, 0.3, 0.6])
  const numbers = [...text.matchAll(/\[(\d+)\]/g)].map(match => Number(match[1]))
  t.equal(Math.max(...numbers), final.source_documents.length)
})

test('numbers in brackets of a text are not taken for citations', async t => {
  const memory = await memoryOf(t, { 'a.md': 'Adult capybaras weigh up to 66 kilograms.[2][14] Capybaras live in groups of ten to twenty.[3]\n\nPress [1] for the capybaras of the zoo.\n\nThe capybaras are in `herd[0]`, herd[1] and matrix[row][col], see [the list][zoo] and [the map][1].' })
  const { text, final } = await ask(documentsInterpreter(memory, { maxSentences: 9 }), 'Capybaras: weigh, groups, press, herd, list?')
  t.match(text, 'Adult capybaras weigh up to 66 kilograms. [1] Capybaras live in groups of ten to twenty. [1]')
  t.match(text, 'Press `[1]` for the capybaras of the zoo. [1]')
  t.match(text, 'The capybaras are in `herd[0]`, `herd[1]` and matrix[row][col], see the list and the map. [1]')
  t.equal(final.source_documents.length, 1)
})

test('the answer comes sentence by sentence', async t => {
  const { chunks } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?')
  t.ok(chunks.filter(chunk => typeof chunk === 'string').length >= 2)
})

test('a question about a command is answered with the whole code block', async t => {
  const { text } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I install and run it?')
  t.match(text, 'Run it with one command:\n\n```sh\nnpx polyvac ./docs\n```\n[1]')
})

test('a table row reads as a sentence', async t => {
  const { text } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'What is the default of max_tasks?')
  t.match(text, '`max_tasks`: Default: 100000; Meaning: tasks kept in the store [1]')
})

test('a cell has the title of its column, also where the others of its row are empty', async t => {
  const hours = '# Consultation\n\n| Day | Dr. Weber | Dr. Rossi |\n|---|---|---|\n| Monday | 8:00-12:00 | |\n| Tuesday | | 9:00-13:00 |\n'
  const memory = await memoryOf(t, { 'hours.md': hours, 'fees.md': '# Fees\n\n| Pass | Fee |\n|---|---|\n| Day pass | 7 |\n' })
  t.match((await ask(documentsInterpreter(memory), 'When is Dr. Weber here on Tuesday?')).text, /Tuesday: Dr\. Rossi: 9:00-13:00/)
  t.match((await ask(documentsInterpreter(memory), 'What is the fee of the day pass?')).text, /Day pass: 7/, 'of two columns the value alone')
})

test('rows and items that differ in what they are about are all quoted', async t => {
  const table = '# Contacts\n\n| Topic | Contact | Room |\n|---|---|---|\n| Keys | Tom | 105 |\n| Printers | Tom | 105 |\n| Invoices | Karin | 201 |\n'
  for (const text of [table, '# Tasks\n\n- Keys: Tom, room 105, until Friday evening\n- Printers: Tom, room 105, until Friday evening\n']) {
    const answer = (await ask(documentsInterpreter(await memoryOf(t, { 'a.md': text })), 'What is in room 105?')).text
    t.match(answer, /Keys: .*105/)
    t.match(answer, /Printers: .*105/)
  }
})

test('a row, an item or the sentence of another passage that lacks a name of the question is not quoted next to the right one', async t => {
  const memory = await memoryOf(t, {
    'shop.csv': 'no,product,size,stock\nOUT-1042,Rain jacket,S,26\nOUT-1049,Rain jacket,M,37\nOUT-1050,Rain jacket,L,4\n',
    'graz.md': '# Graz\n\n## Manager\n\nThe site manager is Ida Huber.\n',
    'cork.md': '# Cork\n\n## Manager\n\nThe site manager is Niamh Daly.\n'
  })
  const read = async (question: string): Promise<string> => (await ask(documentsInterpreter(memory), question)).text
  t.equal(await read('How many OUT-1042 are in stock?'), 'OUT-1042: product: Rain jacket; size: S; stock: 26 [1]')
  t.equal(await read('What is the stock of the Rain jacket in size M?'), 'OUT-1049: product: Rain jacket; size: M; stock: 37 [1]', 'a capital letter is a name')
  t.match(await read('How many of each Rain jacket are in stock?'), /S; stock: 26.*\n.*M; stock: 37.*\n.*L; stock: 4/)
  t.equal(await read('Who is the site manager of Cork?'), 'The site manager is Niamh Daly. [1]')
})

test('a question that the documents do not answer is answered with the nearest place', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, GUIDE))
  const { text, final } = await ask(interpreter, 'Which airline flies the longest task route?')
  t.match(text, /^The documents do not answer this\. The nearest they have is "Guide/)
  t.strictSame(final.source_documents, [])
  t.equal(final.metadata['answered'], false)
  t.match((await ask(interpreter, 'zyxxy qwrt')).text, 'none of its words occur in them')
})

test('greetings and empty questions are answered with the topics', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, GUIDE))
  for (const question of ['hello', 'Hi!', '???', 'thank you', '', 'Vielen Dank!', 'merci', 'धन्यवाद', 'สวัสดี']) {
    const { final } = await ask(interpreter, question, { vac: { display_name: 'Guides' } })
    t.match(final.answer, /^I answer questions from the documents of Guides\. They are 2 documents: faq\.txt, guide\.md\./, question)
  }
})

test('a follow-up with few words uses the words of the last user turn', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, GUIDE))
  const history = [{ role: 'user' as const, content: 'How do I cancel a task?' }, { role: 'assistant' as const, content: 'Post it.' }]
  const { text, final } = await ask(interpreter, 'and if it has already ended?', {}, history)
  t.match(text, 'A task that has already ended cannot be canceled. [1]')
  t.equal(final.metadata['follow_up'], true)
})

test('a question that refers to the turn before is answered from its subject', async t => {
  for (const [documents, turns, answer, not] of REFERRING) {
    const interpreter = documentsInterpreter(await memoryOf(t, documents))
    const history = turns.slice(0, -1).map(content => ({ role: 'user' as const, content }))
    const { text, final } = await ask(interpreter, turns.at(-1) as string, {}, history)
    t.match(text, answer, turns.join(' '))
    t.notMatch(text, not, turns.join(' '))
    t.equal(final.metadata['follow_up'], true, turns.join(' '))
  }
})

test('a question with its own subject is answered as if asked by itself, however short', async t => {
  for (const [documents, first, second] of [
    [SPA, 'When does the sauna open?', 'Where is the defibrillator?'],
    [SPA, 'When does the sauna open?', 'how do i resign'],
    [SPA, 'When does the sauna open?', 'May dogs come in?'],
    [SPA, 'Where is the defibrillator?', 'When is the library closed?'],
    [BATHS, 'Wann ist das Becken im Sommer geöffnet?', 'Was kostet das Wachsen?'],
    [BATHS, 'Was kostet das Wachsen?', 'Wie tief ist das Becken?'],
    [MUSEUM, 'Combien coûte la visite guidée ?', 'Le vestiaire est-il gratuit ?']
  ] as const) {
    const interpreter = documentsInterpreter(await memoryOf(t, documents))
    const alone = await ask(interpreter, second)
    const { final } = await ask(interpreter, second, {}, [{ role: 'user', content: first }, { role: 'assistant', content: 'So it is.' }])
    t.equal(alone.final.metadata['answered'], true, second)
    t.strictSame(final, alone.final, second)
  }
})

test('a short question with words that no document holds is not answered by the turn before', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, SPA))
  for (const question of ['what about zebras?', 'Where is Vienna?']) {
    const { final } = await ask(interpreter, question, {}, [{ role: 'user', content: 'When does the sauna open?' }])
    t.equal(final.metadata['answered'], false, question)
  }
})

test('memories with and without weights can be used', async t => {
  const hit: Hit = { content: 'Bread is baked at 230 degrees for forty minutes.', score: 0.9, metadata: { source: 'bread' } }
  const memory: Memory = { async search ({ threshold = 0.7 }) { return hit.score >= threshold ? [hit] : [] } }
  t.equal((await ask(documentsInterpreter(memory), 'How is bread baked?')).text, `${hit.content} [1]`)
})

test('sentences that differ in a number are not repeats; a long one is cut; each script has its own marks', async t => {
  const berths = { 'a.md': 'A berth on the inner pontoon costs 63 guilders a month. A berth on the outer pontoon costs 41 guilders a month.' }
  const { text } = await ask(documentsInterpreter(await memoryOf(t, berths)), 'What does a berth cost?')
  t.match(text, /63 guilders[^]*41 guilders/)
  const long = `The purse of the harbour master holds ${'copper, silver and brass coins of many lands, '.repeat(20)}and a button.`
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': long })), 'What does the purse of the harbour master hold?')).text, /^The purse of the harbour master holds .{20,300} \[1\]/)
  for (const [question, document, answer] of [
    ['लहसुन कब लगाया जाता है?', 'सेम मई में बोई जाती है। लहसुन अक्टूबर में लगाया जाता है। पानी कुएँ से लिया जाता है।', /^लहसुन अक्टूबर/],
    ['متى بنيت المنارة؟', 'يباع الديزل في المضخة. بنيت المنارة من الغرانيت عام ١٨٨٤. ترفع الرافعة ثمانية أطنان.', /١٨٨٤/],
    ['灯塔建于哪一年？', '柴油在冰库出售。灯塔建于1884年。吊车可以吊起八吨。', /^灯塔建于1884年/]
  ] as const) {
    t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': document })), question)).text, answer)
  }
})

test('the kind of answer counts: a number, a date, a name', async t => {
  const memory = await memoryOf(t, { 'a.md': 'The tower of the harbour is made of granite from the north. In May the tower of the harbour was painted. The tower of the harbour is looked after by Ilse Bremer. The tower of the harbour has 84 steps.' })
  for (const [question, answer] of [['How many steps has the tower?', /84/], ['When was the tower painted?', /^In May/], ['Who looks after the tower of the harbour?', /^The tower of the harbour is looked after by Ilse/]] as const) {
    t.match((await ask(documentsInterpreter(memory, { maxSentences: 1 }), question)).text, answer)
  }
})

test('a date is the name of a day in the language of the question, and no word that begins like one', async t => {
  const lodge = 'The lodge offers settings. The lodge has market demand. The lodge is separate. The lodge is novel. The lodge is staffed on Friday afternoons.'
  const choir = 'Die Probe ist in Saal 4. Die Probe kostet 12 Euro. Die Probe beginnt jeden Mittwoch abends. Die Probe hat 30 Leute.'
  for (const [text, question, answer] of [[lodge, 'When may I visit the lodge?', /^The lodge is staffed on Friday/], [choir, 'Wann ist die Probe?', /^Die Probe beginnt jeden Mittwoch/]] as const) {
    t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': `An introduction.\n\n${text}` }), { maxSentences: 1, threshold: 0 }), question)).text, answer)
  }
})

test('a number of what the question counts is an answer before other numbers', async t => {
  const keys = 'A missing key is answered with 401. A key stops within 60 seconds. You can have at most five active keys.'
  const eggs = 'Das Ei kocht 4 Minuten. Ein Ei kostet 30 Cent. Man braucht drei frische Eier.'
  for (const [text, question, answer] of [[keys, 'How many keys can I have?', /^You can have at most five/], [eggs, 'Wie viele Eier braucht man?', /^Man braucht drei/]] as const) {
    t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': text }), { maxSentences: 1 }), question)).text, answer)
  }
})

test('an aborted signal ends an answer', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, GUIDE))
  await t.rejects(ask(interpreter, 'How do I cancel a task?', { signal: AbortSignal.abort(new Error('left')) }), { message: 'left' })
})

test('a short sentence may be the answer', async t => {
  const tea = 'Tea is in the tin. Coffee is on the shelf beside the stove, and the sugar is in the blue jar.'
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': tea })), 'Where is the tea?')).text, /^Tea is in the tin\. \[1\]/)
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': 'The password is hunter2.' })), 'What is the password?')).text, 'The password is hunter2. [1]')
})

test('an item, a cell or a line without a sentence is quoted with its heading', async t => {
  const house = '# House\n\n## Wifi\n\n- Name: Lodge\n- Password: tulip42\n\n## Bins\n\nTuesday\n\n## Things\n\n| Thing | Place |\n|---|---|\n| Torch | Hall |\n'
  const interpreter = documentsInterpreter(await memoryOf(t, { 'house.md': house, 'safe.txt': 'PIN of the gate: 4711\nCode of the safe: 99\n' }))
  for (const [question, answer] of [
    ['What is the wifi password?', 'Wifi: Password: tulip42 [1]'],
    ['When are the bins?', 'Bins: Tuesday [1]'],
    ['Where is the torch?', 'Things: Torch: Hall [1]'],
    ['What is the PIN of the gate?', 'PIN of the gate: 4711 [1]']
  ] as const) t.match((await ask(interpreter, question)).text, answer, question)
})

test('a question with a word that thanks in another language is not small talk', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, { 'sail.md': 'Tack is the gear of a horse, and a turn of a boat through the wind.' }))
  t.match((await ask(interpreter, 'What is tack?')).text, 'Tack is the gear of a horse')
})

test('a memory of the application without headings is quoted, or named where its words are others', async t => {
  const memory: Memory = { search: async () => [{ content: 'Rest: 5', score: 0.9, metadata: { source: 'a.md', heading: '' } }] }
  t.equal((await ask(documentsInterpreter(memory), 'rest')).text, 'Rest: 5 [1]')
  t.equal((await ask(documentsInterpreter(memory), 'remainder')).text, 'The documents may answer this in "a.md", but no sentence there can be quoted.')
})

test('lines with labels are quoted without the marks of a quotation, and a long one by its sentences', async t => {
  const talk = `Ann: ${'We talked about the weather of the week. '.repeat(12)}The boathouse opens at nine.\nBob: The crane lifts four tonnes at the pier, and not more.`
  const interpreter = documentsInterpreter(await memoryOf(t, { 'codes.md': '# Codes\n\n> PIN of the gate: 4711\n> PIN of the deep old cellar: 0815\n', 'talk.md': talk }))
  t.equal((await ask(interpreter, 'What is the PIN of the cellar?')).text, 'PIN of the deep old cellar: 0815 [1]')
  t.match((await ask(interpreter, 'When does the boathouse open?')).text, 'The boathouse opens at nine.')
})

test('a passage with only code is quoted whole, whatever the question', async t => {
  const memory = await memoryOf(t, { 'pump.py': 'def drain_bilge(level):\n    return level - 1\n', 'notes.md': 'The pump hums at night and the bilge smells.' }, { extensions: ['.md', '.py'] })
  t.match((await ask(documentsInterpreter(memory), 'drain bilge')).text, 'def drain_bilge(level):')
  const long = await memoryOf(t, { 'pump.md': `\`\`\`py\ndef drain_bilge():\n    return ${'level - '.repeat(350)}1\n\`\`\`\n` })
  t.equal((await ask(documentsInterpreter(long), 'return level')).text, 'The documents may answer this in "pump.md", lines 1-4, but no sentence there can be quoted.')
})

test('questions and headings of any size and shape are answered in linear time', async t => {
  const words = Array.from({ length: 100_000 }, (_, i) => `w${i}`).join(' ')
  const memory = await memoryOf(t, { 'a.md': `# ${'['.repeat(60_000)}\n\nSome text.` })
  await ask(documentsInterpreter(memory), words)
  await ask(documentsInterpreter(memory), 'it?', {}, [{ role: 'user', content: words }])
})

test('of a long code block the part with the words of the question is quoted', async t => {
  const code = ['buoy', 'anchor', 'winch', 'pump', 'crane'].map(part => `  // the ${part} of the boat\n  ${part}: {\n    weight: 12,\n    maker: 'Bremer & Sons of the old harbour',\n    place: 'in the shed beside the slipway, left of the door'\n  },\n`).join('\n')
  const interpreter = documentsInterpreter(await memoryOf(t, { 'boat.md': `# Boat\n\nDescribe each part of the boat in its inventory:\n\n\`\`\`js\nconst inventory = {\n${code}}\n\`\`\`\n` }))
  const { text } = await ask(interpreter, 'How do I describe the winch of the boat?')
  t.match(text, /^Describe each part of the boat in its inventory:\n\n```js\n\/\/ the winch of the boat\nwinch: \{\n {2}weight: 12,/)
  t.notMatch(text, 'crane')
  const lines = await memoryOf(t, { 'pump.md': `\`\`\`py\ndef drain_bilge(level):\n${'    level = level - 1\n'.repeat(150)}\`\`\`\n` })
  t.match((await ask(documentsInterpreter(lines), 'drain bilge')).text, /^```py\ndef drain_bilge\(level\):\n( {4}level = level - 1\n){10,30}```\n\[1\]$/)
})

test('an option of a help text is quoted by itself, with its description', async t => {
  const help = ['-c, --crew NUM     The number of people on the boat.\n                     default: 4', '-e/--engine\n        Use the engine instead of the sails.', '--port PORT\tThe harbour to sail to.', ...Array.from({ length: 12 }, (_, i) => `--knob${i} NUM       A screw of the rig, which turns to the left.`)]
  const interpreter = documentsInterpreter(await memoryOf(t, { 'sail.md': `# Sail\n\n\`\`\`\nUsage: sail [options]\n\n${help.map(line => `  ${line}\n`).join('')}\`\`\`\n` }))
  for (const [question, answer] of [
    ['How many people are on the boat by default?', /`-c, --crew NUM`: The number of people on the boat\. default: 4 \[1\]/],
    ['Can the engine be used instead of sails?', /`-e\/--engine`: Use the engine instead of the sails\. \[1\]/],
    ['Which option names the harbour?', /`--port PORT`: The harbour to sail to\. \[1\]/]
  ] as const) t.match((await ask(interpreter, question)).text, answer, question)
  const command = `# Run\n\nStart the boat in its container:\n\n\`\`\`sh\ndocker run \\\n${Array.from({ length: 20 }, (_, i) => `  --env BOAT_OPTION_${i}=value \\\n`).join('')}  boat\n\`\`\`\n`
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'run.md': command })), 'How do I start the boat in a container?')).text, /```sh\ndocker run \\\n {2}--env BOAT_OPTION_0=value/)
})

test('a sentence of a long list item has the term that the item defines', async t => {
  const item = `- \`maxCrew\`: the people who may be on the boat at the same time. ${'It counts them at the pier with the old brass bell. '.repeat(5)}The harbour master sets it to nine.`
  const { text } = await ask(documentsInterpreter(await memoryOf(t, { 'a.md': `# Options\n\n- \`colour\`: white.\n${item}\n` }), { maxSentences: 1 }), 'What does the harbour master set?')
  t.equal(text, '`maxCrew`: The harbour master sets it to nine. [1]')
})

test('the name that a heading defines is quoted with a sentence that does not have it', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, {
    'a.md': '# Crane\n\n## `maxLoad`\n\nThe heaviest boat that the crane lifts, in tonnes.\n\n## crane.lower(boat, [speed])\n\n```js\nawait boat.drop()\n```\n\n## Colour of the mast\n\nThe mast has a stripe of red paint.\n'
  }))
  t.match((await ask(interpreter, 'Which is the heaviest boat that the crane lifts?')).text, /^`maxLoad`: The heaviest boat that the crane lifts, in tonnes\. \[1\]/)
  t.match((await ask(interpreter, 'How do I drop a boat?')).text, /^`crane\.lower`:\n\n```js\nawait boat\.drop\(\)\n```\n\[1\]/)
  t.match((await ask(interpreter, 'Which stripe has the mast?')).text, /^The mast has a stripe of red paint\. \[1\]/)
})

test('a sentence that begins like a shorter one does not repeat it', async t => {
  const document = 'Match the pumps of the boat. The following rule will match the pumps of the boat in a long brass cabinet.'
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': document })), 'How do I match the pumps of the boat?')).text, /^Match[^]*brass cabinet/)
  const same = 'The crane lifts boats of eight tonnes. The slipway is free on Sunday. The crane lifts boats of eight tonnes too.'
  t.notMatch((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': same })), 'What does the crane lift?')).text, 'too')
})

test('an entry is quoted with the title above it, and no other entry', async t => {
  const fees = 'Membership per year\nAdults: 72\nPupils, students: 24\nKey to the dome: 50\nLending\nTelescope: four weeks\nFees are debited in February.\n'
  const interpreter = documentsInterpreter(await memoryOf(t, { 'fees.txt': fees }))
  const textFor = async (question: string): Promise<string> => (await ask(interpreter, question)).text
  t.equal(await textFor('How much is the membership for students?'), 'Membership per year: Pupils, students: 24 [1]')
  t.equal(await textFor('How long is the lending of a telescope?'), 'Lending: Telescope: four weeks [1]')
})

test('a date that is asked for is added from the sentence that has it, a block of code to its description', async t => {
  const interpreter = documentsInterpreter(await memoryOf(t, {
    'bikes.txt': 'We buy used bicycles with an invoice. The price is named at once. Bring it on a Wednesday afternoon.',
    'staff.txt': 'Mirko takes used bicycles with an invoice.',
    'reply.md': '# Reply\n\nSets a header of the response. It may be called again.\n\n```js\nreply.set(1)\n```\n',
    'hooks.md': '# Hooks\n\nA hook sets a header of the response as well.\n'
  }))
  t.match((await ask(interpreter, 'When do you buy used bicycles with an invoice?')).text, /invoice[^]*Wednesday/)
  t.match((await ask(interpreter, 'How do I set a header of the response?')).text, /Sets a header[^]*reply\.set\(1\)/)
})

test('a short passage is quoted in full where no sentence has half of the words of the question', async t => {
  const curry = 'Fry the onion. Add the curry. Boil the rice. It is mild.'
  const textFor = async (text: string): Promise<string> =>
    (await ask(documentsInterpreter(await memoryOf(t, { 'a.txt': text })), 'How strong is the onion curry with rice?')).text
  t.match(await textFor(curry), 'mild')
  t.notMatch(await textFor(`${'Wash the pan and put it away. '.repeat(20)}${curry}`), 'mild')
})

test('a list in a quotation is quoted by its items', async t => {
  const note = '# Notes\n\n> **Warning:**\n> * The crane must not lift the yawl.\n> * The slipway floods\n>   at spring tide.\n'
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': note })), 'When does the slipway flood?')).text, '- The slipway floods at spring tide.')
  const rules = '# Rules\n\n> - The crane rests on Sunday.\n> - The pier is closed at night.\n'
  t.match((await ask(documentsInterpreter(await memoryOf(t, { 'a.md': rules })), 'When does the crane rest?')).text, 'The crane rests on Sunday.')
})

test('once a passage answers, others with a lower score add to it', async t => {
  const memoryWith = (...scores: number[]): Memory => ({
    search: async () => scores.map((score, index) => ({ content: `The ferry to island ${index} leaves at ${index + 7}.`, score, metadata: { source: `${index}.md`, heading: '' } }))
  })
  const textFor = async (...scores: number[]): Promise<string> => (await ask(documentsInterpreter(memoryWith(...scores)), 'When does the ferry leave?')).text
  t.match(await textFor(0.8, 0.4, 0.2), /leaves at 7\. \[1\]\n\nThe ferry to island 1 leaves at 8\. \[2\]$/)
  t.match(await textFor(0.5, 0.4), /^The documents do not answer this/)
})

test('the sentence with a date or number that is asked for is added where it is near, and none for its name', async t => {
  const read = async (text: string, question: string): Promise<string> =>
    (await ask(documentsInterpreter(await memoryOf(t, { 'a.md': text })), question)).text
  const bikes = 'We buy used bikes for our shop here. Bring it in on a Wednesday afternoon. '
  const filler = 'The saddle, the bell and the basket stay where they are until the shop has looked at all of them. '
  t.match(await read(bikes + filler.repeat(6), 'When do you buy used bikes?'), /^We buy used bikes for our shop here\. \[1\] Bring it in on a Wednesday afternoon\. \[1\]$/)
  t.notMatch(await read(`We buy used bikes for our shop here. ${filler.repeat(6)}The crane rests on a Wednesday.`, 'When do you buy used bikes?'), 'crane')
  const chat = 'Anna: who has the key of the shed\nBen: it froze, so wait until Friday\nCara: the geese are back\n'
  t.equal(await read(chat, 'Where is the key of the shed?'), 'Anna: who has the key of the shed [1]')
  t.equal(await read(chat, 'When are the geese back?'), 'Cara: the geese are back [1]')
})

test('a short passage whose sentences have few of the words is quoted in full, and a sentence of it once', async t => {
  const read = async (text: string, question: string): Promise<string> =>
    (await ask(documentsInterpreter(await memoryOf(t, { 'a.md': text })), question)).text
  const lockers = '# Personal belongings\n\nLockers are in the basement. Bring a padlock. Lockers are in the basement. The club is not liable.\n'
  t.equal(await read(lockers, 'Where do I leave my personal belongings?'), 'Lockers are in the basement. [1] Bring a padlock. [1] The club is not liable. [1]')
  const run = '# Crane\n\nRun it like this:\n\n```sh\nlift --boat yawl\n```\n\nIt hums. The paint is red.\n'
  t.notMatch(await read(run, 'How do I lift the boat yawl?'), 'paint')
})

test('a synonym is quoted from one of several memories', async t => {
  const harbour = 'The harbour is old and wide. The fee is 12 euros. Boats of all kinds lie there.'
  const memory = combineMemories([await memoryOf(t, { 'a.md': harbour }), await memoryOf(t, { 'b.md': 'Cats sleep.' })])
  t.match((await ask(documentsInterpreter(memory), 'What is the price?')).text, 'The fee is 12 euros. [1]')
})

test('a short table or list is quoted whole where its heading asks what the question asks', async t => {
  const text = `# Tool

## Exit codes

The command ends with a code.

| Code | Meaning |
| --- | --- |
| 0 | everything was done |
| 1 | a file is missing |
| 137 | it was killed |

## Steps to publish

1. Raise the version.
2. Run the tests.
3. Push the tag.

## Colours

- red
- green

They were chosen by a vote. The vote was held in May. Nobody counted it.
`
  const interpreter = documentsInterpreter(await memoryOf(t, { 'tool.md': text }))
  for (const [question, answer] of [
    ['What are the exit codes?', 'The command ends with a code. [1]\n- 0: everything was done [1]\n- 1: a file is missing [1]\n- 137: it was killed [1]'],
    ['How do I publish?', '- Raise the version. [1]\n- Run the tests. [1]\n- Push the tag. [1]'],
    ['Which colours are there?', '- red [1]\n- green [1]']
  ] as const) t.equal((await ask(interpreter, question)).text, answer, question)
  t.match((await ask(interpreter, 'Which exit code means that a file is missing?')).text, /1: a file is missing/)
})
