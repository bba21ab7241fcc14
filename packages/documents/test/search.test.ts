import fc from 'fast-check'
import { test, type Test } from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { splitDocument, PassageIndex } from '../src/index.js'
import { idsOf, wordVectors } from '../src/language/word-vectors.js'
import { matchOf } from '../src/search/match-expression.js'

const TEXTS: Record<string, string> = {
  'tasks.md': '# Tasks\n\n## Cancel\n\nA task is canceled by its id. The worker stops.\n\n## Retry\n\nFailed work is tried again three times, with growing pauses.\n',
  'store.md': '# Store\n\nTasks are kept in SQLite, in a file with a write-ahead log. `max_tasks` bounds them; `bodyLimit` bounds a request.\n',
  'cats.md': '# Cats\n\nThe cat sleeps on the warm windowsill all afternoon.\n\n# 猫\n\n吾輩は猫である。名前はまだ無い。\n'
}

async function indexOf (t: Test, texts: Record<string, string>): Promise<PassageIndex> {
  const index = await PassageIndex.open(':memory:')
  t.teardown(async () => { await index.close() })
  await index.upsert(Object.entries(texts).map(([source, text]) => ({ source, passages: splitDocument(source, text) })))
  return index
}

/** The file of the best passage. */
function sourceFor (index: PassageIndex, query: string): string | undefined {
  return index.search({ query, threshold: 0 })[0]?.source
}

test('the score is a probability: near 1 for all words of the query, lower for a part of them', async t => {
  const index = await indexOf(t, TEXTS)
  const [best] = index.search({ query: 'how do I cancel a task?' })
  t.equal(best?.heading, 'Tasks > Cancel')
  t.ok((best?.score ?? 0) > 0.95)
  const [half] = index.search({ query: 'sleeping dog in the kennel', threshold: 0 })
  t.match(half?.content, /cat sleeps/)
  t.ok((half?.score ?? 1) < 0.5)
})

test('a passage without the number, date or price that is asked for answers less', async t => {
  const ferry = 'The ferry crosses the harbour from the north pier.'
  for (const [question, fact] of [
    ['How many seats does the ferry have?', 'The ferry has 90 seats.'], ['When does the ferry cross the harbour?', 'The ferry crosses the harbour on Mondays.'],
    ['How much does the ferry cost?', 'The ferry costs 4 euros.'], ['Wie viele Sitze hat die Fähre?', 'Die Fähre hat 90 Sitze.']
  ] as const) {
    const scoreOf = async (text: string): Promise<number> => (await indexOf(t, { 'a.md': `# Ferry\n\n${text}` })).search({ query: question, threshold: 0 })[0]?.score ?? 0
    const without = fact.replace(/90|4 euros|on Mondays/, 'something')
    t.ok(await scoreOf(`${ferry} ${without}`) < await scoreOf(`${ferry} ${fact}`), question)
  }
})

test('of two passages that fit alike, that of the document with a better one comes first', async t => {
  const text = 'The pump is cleaned with vinegar.'
  const index = await indexOf(t, {
    'a.md': `# One\n\n${text}\n\n## Two\n\nThe lamp is blue.`,
    'b.md': `# One\n\n${text}\n\n## Two\n\nCleaning the pump of the boiler takes an hour.`
  })
  const found = index.search({ query: 'cleaning the pump with vinegar in the boiler', threshold: 0 }).filter(({ content }) => content.includes('vinegar'))
  t.strictSame(found.map(({ source }) => source), ['b.md', 'a.md'])
})

test('the size of the index is part of the score: the same words in one of 3,000 passages mean less', async t => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`${at}.md`, `Entry ${at} of the ledger.`]))
  const scoreIn = async (texts: Record<string, string>): Promise<number> =>
    (await indexOf(t, texts)).search({ query: 'sleeping dog', threshold: 0 })[0]?.score ?? 0
  t.ok(await scoreIn(TEXTS) > await scoreIn({ ...TEXTS, ...many }))
})

test('a word that the index lacks is searched as the words it may be misspelled for', async t => {
  const index = await indexOf(t, TEXTS)
  for (const query of ['wnidowsill', 'windowsil', 'qindowsill', 'Where does the cat slepe on the windwosill?']) {
    const [best] = index.search({ query, threshold: 0.3 })
    t.match(best?.content, /windowsill/, query)
  }
  t.ok((index.search({ query: 'wnidowsill', threshold: 0 })[0]?.score ?? 1) < (index.search({ query: 'windowsill' })[0]?.score ?? 0))
  t.strictSame(index.search({ query: 'workshop', threshold: 0 }), [], 'a word that is far from each')
  const unknown = 'qqaaaa qqbbbb qqcccc qqdddd qqeeee qqffff qqgggg'
  t.match(index.search({ query: `${unknown} wnidowsill`, threshold: 0 }), [{ source: 'cats.md' }], 'the eighth unknown word')
  t.strictSame(index.search({ query: `${unknown} qqhhhh wnidowsill`, threshold: 0 }), [], 'the ninth: a query has a bound')
})

test('a usual word, and one that only resembles a stem of the index with some ending, is not corrected', async t => {
  const index = await indexOf(t, { 'a.md': 'The track has 250 grams of gravel. The team presses a button, and the hose is long.' })
  for (const query of ['hospital', 'president', 'tractor', 'gravity', 'terminal', 'theater', 'insurance']) t.strictSame(index.search({ query, threshold: 0 }), [], query)
  for (const query of ['butotn', 'gravle', 'presess', 'trakc']) t.equal(index.search({ query, threshold: 0.5 }).length, 1, query)
})

test('an English word is also searched as its synonyms, which mean less than the word itself', async t => {
  const index = await indexOf(t, { 'a.md': '# Hours\n\nThe gallery is closed on Mondays.\n', 'b.md': '# Store\n\nThe shutters are shut by the porter.\n', 'c.md': '# Money\n\nThe ticket is nine crowns, a fee for all.\n' })
  const [first] = await index.search({ query: 'On which day is the gallery shut?', threshold: 0 })
  t.equal(first?.source, 'a.md')
  t.equal((await index.search({ query: 'Which shutters are shut?', threshold: 0 }))[0]?.source, 'b.md')
  const [known] = (await index.terms('What is the price?')).terms
  t.strictSame(known?.synonyms, ['fee'], 'only those that the index holds')
  const [closed, missing] = await Promise.all(['gallery closed', 'gallery shut'].map(async query => (await index.search({ query, threshold: 0 }))[0]?.score as number))
  t.ok((closed as number) > (missing as number))
  t.strictSame((await index.terms('Каков price билета?')).terms.filter(({ synonyms }) => synonyms !== undefined), [], 'not in a query of another language')
})

test('a word with accents is corrected, also where its first letters have them', async t => {
  const index = await indexOf(t, { ...TEXTS, 'haus.md': 'Die Wärmepumpe wird im September gewartet, und der Küchenschrank ist neu.' })
  for (const query of ['Wärmepume', 'Wärmepunpe', 'Küchenschrnk', 'Kuchenschrnk']) {
    t.match(index.search({ query, threshold: 0.5 }), [{ source: 'haus.md' }], query)
  }
})

test('a word is found whose stem is equal in English, but not final there', async t => {
  const index = await indexOf(t, { 'fr.md': 'Les étagères sont dans le salon, et les écharpes dans une boîte.', 'es.md': 'Los profesionales están en la oficina, y las llaves con el conserje.' })
  t.match(index.search({ query: 'Où sont les étagères ?' }), [{ source: 'fr.md' }])
  t.match(index.search({ query: '¿Dónde están los profesionales?' }), [{ source: 'es.md' }])
})

test('short words and numbers are not corrected, and leave the corrections to longer words', async t => {
  const index = await indexOf(t, TEXTS)
  const query = 'q1 q2 q3 q4 q5 q6 q7 q8 qa qb 111 222 wnidowsill'
  t.match(index.search({ query, threshold: 0 }), [{ source: 'cats.md' }])
})

test('the lists of the commonest words of a query are not read', t => {
  const term = (match: string, passages: number, weight = 1): { match: string, passages: number, weight: number } => ({ match, passages, weight })
  t.equal(matchOf([term('rare', 3, 5), term('none', 0), term('known', 900)]), 'rare OR known', 'short lists')
  t.equal(matchOf([term('rare', 3, 5), term('known', 20_000), term('common', 30_000)]), '(rare) AND (rare OR known OR common)')
  t.equal(matchOf([term('rare', 3, 5), term('known', 20_000), term('the', 45_000)]), '(rare) AND (rare OR known)')
  t.equal(matchOf([term('of', 70_000), term('the', 80_000)]), 'of', 'the rarest one is always read')
  const termsIn = (passages: number): string[][] =>
    (matchOf(Array.from({ length: 300 }, (_, at) => term(`w${at}`, passages))) ?? '').split(' AND ').map(part => part.split(' OR '))
  const [essential, read] = termsIn(1_400)
  t.equal(read?.length, 42, 'their lists have 60,000 passages')
  t.strictSame(essential, ['(w0', 'w1)'], 'each passage of the essential ones is compared with every term')
  t.equal(termsIn(1)[0]?.length, 48, 'the number of terms has a bound')
  t.end()
})

test('no query keeps the event loop for a long step, whatever its words', async t => {
  const parts = 'ka lo mi ver sta ren tu ber gen ti on al ent pro con de re in ex an'.split(' ')
  const vocabulary = parts.flatMap(a => parts.flatMap(b => parts.map(c => `${a}${b}${c}`)))
  let seed = 7
  const next = (most: number): number => (seed = seed * 16_807 % 2_147_483_647) % most
  // as in a language, few words are in many passages
  const word = (): string => vocabulary[Math.floor(vocabulary.length ** (next(1e6) / 1e6)) - 1] as string
  const index = await indexOf(t, Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`${at}.md`, Array.from({ length: 60 }, word).join(' ')])))
  const [rare, common] = [vocabulary.slice(-200), vocabulary.slice(0, 220)].map(words => words.join(' '))
  const unknown = Array.from({ length: 8 }, (_, at) => `${vocabulary[at * 397] as string}qentals`).join(' ')
  for (const query of [rare, common, unknown, 'digits '.repeat(1_000), Array.from({ length: 600 }, (_, at) => at).join(' ')]) {
    await watchLoop(() => index.search({ query: query as string, threshold: 0 }), { what: (query as string).slice(0, 40) })
  }
})

test('each language is searched by its stems and stop words, in one index', async t => {
  const index = await indexOf(t, {
    'de.md': 'Die Boote liegen an den Stegen, und die Häuser stehen daneben.',
    'ru.md': 'Кран поднимает лодки из воды, и он стоит у причала.',
    'tr.md': 'Kitaplar evlerimizde durur ve bunlar çok eskidir.',
    'ar.md': 'الكتب في المدرسة على الرف، وهي هناك منذ سنوات.',
    'hi.md': 'बगीचे में किताबें रखी हैं और वे पुरानी हैं।',
    'es.md': 'Las canciones de los marineros están en el libro que tenemos.',
    'no.md': 'Fiskerne har reparert garnene sine, og de henger ved brygga.',
    'fi.md': 'Koirat nukkuvat saunan portailla, ja ne heräävät aamulla.',
    'hu.md': 'A hajókat a hídnál javították meg, és most újra úsznak.',
    'ro.md': 'Corăbiile au fost construite în port, iar acum sunt vopsite.',
    'id.md': 'Pelajaran dimulai pukul tujuh dan akan berakhir sebelum makan.',
    'vi.md': 'Thư viện của làng mở cửa lúc tám giờ, và các cuốn sách được xếp theo tên.',
    'el.md': 'Οι φάροι του νησιού είναι από πέτρα και έχουν σκάλες.',
    'en.md': 'The houses of the village are near the harbour.'
  })
  for (const [query, source] of [['Wo ist das Haus mit dem Boot?', 'de.md'], ['где лодка и краны', 'ru.md'], ['kitap nerede', 'tr.md'], ['أين كتاب المدرسة', 'ar.md'], ['किताब कहाँ है', 'hi.md'], ['una canción', 'es.md'],
    ['hvor er garnet', 'no.md'], ['missä koira on', 'fi.md'], ['hol a hajó', 'hu.md'], ['unde este corabia', 'ro.md'], ['kapan pelajarannya mulai', 'id.md'],
    ['sách ở đâu', 'vi.md'], ['πού είναι ο φάρος', 'el.md'], ['village house', 'en.md']] as const) {
    t.equal(sourceFor(index, query), source, query)
  }
})

test('the words that any text of a language has do not answer a question', async t => {
  const about = {
    ro: 'Biblioteca din sat este deschisă de la opt dimineața. Cărțile care au fost aduse de copii sunt așezate pe raftul din mijloc, iar cele vechi se află în pod.',
    vi: 'Thư viện của làng mở cửa lúc tám giờ sáng. Những cuốn sách mà trẻ em mang đến được đặt trên kệ ở giữa, còn những cuốn cũ thì ở trên gác.',
    el: 'Η βιβλιοθήκη του χωριού είναι ανοιχτή από τις οκτώ το πρωί. Τα βιβλία που έφεραν τα παιδιά είναι στο μεσαίο ράφι, και τα παλιά στη σοφίτα.'
  }
  const questions = [
    ['ro', 'Care este raftul pe care sunt cărțile aduse de copii?', 'Care este numele celui care a fost ales de către cei din oraș?'],
    ['vi', 'Thư viện mở cửa lúc mấy giờ sáng?', 'Cái gì được xem là lý do mà những người ở đó không thể trở về được nữa?'],
    ['el', 'Σε ποιο ράφι είναι τα βιβλία που έφεραν τα παιδιά;', 'Ποιος είναι ο λόγος για τον οποίο έγινε και η πόλη του από τις πιο μεγάλες;']
  ] as const
  for (const [language, known, unknown] of questions) {
    const index = await indexOf(t, { 'a.md': about[language] })
    t.ok((index.search({ query: known, threshold: 0 })[0]?.score ?? 0) > 0.6, known)
    t.ok((index.search({ query: unknown, threshold: 0 })[0]?.score ?? 0) < 0.3, unknown)
  }
})

test('where no passage shows a language, the question does', async t => {
  const index = await indexOf(t, { 'fr.md': '# Contacts\n\n- Directrice : Anne Dupont\n- Comptable : Marc Leroy\n' })
  t.ok((index.search({ query: 'Qui est la directrice ?', threshold: 0 })[0]?.score ?? 0) > 0.6)
  t.equal(index.terms('van hire').language, undefined, 'one word is not enough: "van" is Dutch, too')
})

test('a verb that asks for a price is a question word', async t => {
  const index = await indexOf(t, {
    'de.md': '# Laden\n\n## Preise\n\n| Ware | Preis |\n|---|---|\n| Honig | 12 |\n| Wein | 15 |\n\n## Lieferung\n\nDie Lieferung nach Hause kostet 3 Euro.\n',
    'pl.md': '# Przychodnia\n\n## Cennik\n\n| Usługa | Cena |\n|---|---|\n| Konsultacja | 200 |\n\n## Godziny\n\nPrzychodnia jest otwarta od ósmej, a w soboty jest zamknięta.\n'
  })
  t.match(index.search({ query: 'Was kostet der Honig?', threshold: 0.6 })[0]?.content, '| Honig | 12 |')
  t.match(index.search({ query: 'Ile kosztuje konsultacja?', threshold: 0.6 })[0]?.content, '| Konsultacja | 200 |')
  t.ok((index.search({ query: 'Gdzie jest parking?', threshold: 0 })[0]?.score ?? 0) < 0.3)
})

test('an English word is found in its irregular forms', async t => {
  const index = await indexOf(t, { 'soup.md': 'It can be frozen for three months.', 'release.md': 'A migration is not undone by it.', 'bread.md': 'Loaves are baked at six.' })
  t.equal(sourceFor(index, 'Can I freeze the soup?'), 'soup.md')
  t.equal(sourceFor(index, 'How do I undo this?'), 'release.md')
  t.equal(sourceFor(index, 'When is a loaf baked?'), 'bread.md')
  t.equal(sourceFor(index, 'freezing'), 'soup.md')
})

test('a form whose stem is stemmed once more is found', async t => {
  const index = await indexOf(t, { 'paint.md': 'They choose the paint.', 'trap.md': 'A mouse is in the trap.', 'dog.md': 'The dog rests.' })
  t.equal(sourceFor(index, 'Who chose it?'), 'paint.md')
  t.equal(sourceFor(index, 'Are there mice?'), 'trap.md')
})

test('an irregular form is not searched where its stem is that of another word', async t => {
  const index = await indexOf(t, {
    'bike.md': 'It has a range of 40 km.',
    'page.md': 'A lamp indicates the state.',
    'post.md': 'Social media have it.',
    'list.md': 'Personal belongings stay there.',
    'disk.md': 'It has 64 bit.',
    'wall.md': 'A vertical line.'
  })
  for (const query of ['Does it ring?', 'What is the index?', 'Is the medium size there?', 'Did it bite?', 'Where is the vertex?']) {
    t.strictSame(index.search({ query, threshold: 0.1 }), [], query)
  }
  const [best] = index.search({ query: 'How many people stay there?', threshold: 0 })
  const [personal] = index.search({ query: 'What is personal and can stay there?', threshold: 0 })
  t.ok((best?.score ?? 1) < (personal?.score ?? 0))
})

test('an irregular form is not corrected to a word like another form', async t => {
  const index = await indexOf(t, { 'knee.md': 'The knee hurts.' })
  t.strictSame(index.search({ query: 'Who knelt?', threshold: 0 }), [])
})

test('two forms of one verb are one term', async t => {
  const index = await indexOf(t, { 'book.md': 'It was written in Rome.' })
  t.equal(index.terms('Who wrote what is written?').terms.length, 1)
  t.equal(index.terms('Who wrote it?', 'Was it written in Rome?').terms.filter(({ stems }) => stems.includes('written')).length, 1)
})

test('a question in another language is not searched in irregular forms of English', async t => {
  const index = await indexOf(t, { 'de.md': 'Der Ring liegt in dem Kasten, und der See ist nicht weit von dem Haus.' })
  for (const { stems } of index.terms('Wo ist der Ring und wo ist der See?').terms) t.notOk(stems.includes('rung') || stems.includes('seen'))
})

test('a synonym is not searched where its stem is that of another word', async t => {
  const index = await indexOf(t, {
    'hours.md': 'Wed: 9 to 17. Sun: closed.',
    'bin.md': 'Wednesday, Sunday and the rest of January.',
    'protocol.md': 'The protocol is public.',
    'trial.md': 'A trial of the press, and a scan.',
    'warm.md': 'It is quite warm.',
    'key.md': 'The main key.'
  })
  const sourcesFor = (query: string): string[] => index.search({ query, threshold: 0 }).map(({ source }) => source)
  t.ok(sourcesFor('What about Wednesday?').includes('hours.md'))
  t.ok(sourcesFor('What about Sunday?').includes('hours.md'))
  for (const query of ['twelve minutes', 'my experience', 'four digits', 'Stop!', 'an import', 'to publish']) {
    t.strictSame(sourcesFor(query), [], query)
  }
  for (const query of ['a wedding', 'in the sun', 'Jan']) t.notOk(sourcesFor(query).includes('bin.md'), query)
})

test('outside English a word is found in a longer one that begins or ends with it, and the other way', async t => {
  const index = await indexOf(t, {
    'ort.md': 'Der Hafenmeister wohnt neben dem Leuchtturm, und die Schmalspurbahn hält bei ihm an der Brücke.',
    'garten.md': 'Die Bäume im Garten sind alt, und wir gießen sie mit dem Wasser aus dem Brunnen.'
  })
  const scoreOf = (query: string): number => index.search({ query, threshold: 0 }).find(({ source }) => source === 'ort.md')?.score ?? 0
  t.ok(scoreOf('Wo an der Brücke ist der Hafen?') > scoreOf('Wo an der Brücke ist der Kiosk?'), 'a part')
  t.ok(scoreOf('Wo hält das Schmalspurbahnmuseum bei der Brücke?') > scoreOf('Wo hält das Kunstmuseum bei der Brücke?'), 'a whole')
  t.equal(scoreOf('Wo wohnt er bei der Brücke der Bahn?'), scoreOf('Wo wohnt er bei der Brücke am Kino?'), 'a short part')
  const english = await indexOf(t, { 'a.md': 'The gazebomaster of the port is known, and it is the house of all.', 'b.md': 'Water of the well.' })
  const [gazebo, other] = ['Is the gazebo known?', 'Is the kiosk known?'].map(query => english.search({ query, threshold: 0 })[0]?.score ?? 0)
  t.equal(gazebo, other, 'an English one')
})

test('outside English a part of a word means less than the whole, and a compound is found only by its beginning', async t => {
  const index = await indexOf(t, { 'a.md': 'Der Schornsteinfegermeister heißt Oberhuber und kommt im November.', 'b.md': 'Die Bäume im Garten sind alt, und wir gießen sie mit dem Wasser.' })
  const [whole = 0, part = 0] = ['Wann kommt der November?', 'Wann kommt der Novemberregen?'].map(query => index.search({ query, threshold: 0 })[0]?.score)
  t.ok(part < whole, `${part} < ${whole}`)
  t.equal(index.search({ query: 'Wer ist der Schornsteinfeger?' })[0]?.source, 'a.md')
})

test('outside English a word without its last letters is corrected, not taken for the beginning of the right one', async t => {
  const index = await indexOf(t, { 'a.md': 'Der Bahnhof liegt am Rand der Stadt.', 'b.md': 'Der Meister hat den Schlüssel für das Lager.' })
  for (const [query, source] of [['Wo ist der Bahnho?', 'a.md'], ['Wer hat den Schlüsse?', 'b.md']] as const) t.match(index.search({ query }), [{ source }], query)
})

test('outside English a word of many passages is usual, as those of the table are in English', async t => {
  const texts = Array.from({ length: 12 }, (_, at) => [`${at}.md`, `Die Fähre Nummer ${at} fährt an der Insel vorbei, und auf ihr ist ${at === 0 ? 'der Leuchtturm' : 'nichts'}.`])
  const index = await indexOf(t, Object.fromEntries(texts))
  const weights = new Map(index.terms('Welche Fähre fährt zum Leuchtturm?').terms.map(({ stems, weight }) => [stems.at(-1), weight]))
  t.ok((weights.get('leuchtturm') as number) > 3 * (weights.get('fahr') as number), JSON.stringify([...weights]))
})

test('a superlative is nearly as usual as the word that it is made from', async t => {
  const index = await indexOf(t, TEXTS)
  const [superlative = 0, rare = 0] = ['longest', 'longbow'].map(query => index.terms(query).terms[0]?.weight)
  t.ok(superlative < rare / 2, `${superlative} < ${rare} / 2`)
})

test('a passage with the letters of Turkish is Turkish, and one with many letters beyond ASCII is not English', async t => {
  const index = await indexOf(t, {
    'a.md': 'Kasabanın kapısı akşamları kapanır; anahtarı kapıcıdadır, on yıldır an be an aynı.',
    'b.md': 'Thư viện mở cửa lúc chín giờ sáng on và đóng cửa lúc năm giờ chiều.'
  })
  t.same(index.terms('Kasabanın kapısı').languages, ['en', 'tr'])
})

test('a name that no passage has lowers the score, and a word at the beginning, or of a title, is not a name', async t => {
  const index = await indexOf(t, { 'move.md': '# Migrations\n\nUndo the last migration with `move back`. It keeps a copy of the database.\n' })
  const scoreOf = (query: string): number => index.search({ query, threshold: 0 })[0]?.score ?? 0
  const unnamed = scoreOf('Who keeps the database in zanzibar?')
  t.ok(scoreOf('Who keeps the database in Zanzibar?') < unnamed - 0.1)
  t.equal(scoreOf('Who Keeps The Database In Zanzibar?'), unnamed)
  t.equal(scoreOf('Zanzibar: who keeps the database?'), scoreOf('zanzibar: who keeps the database?'))
})

test('words of headings and file names count as found in the passage', async t => {
  const index = await indexOf(t, TEXTS)
  t.equal(index.search({ query: 'store ahead log' })[0]?.source, 'store.md')
  t.ok((index.search({ query: 'retry growing pauses tasks' })[0]?.score ?? 0) > 0.95)
})

test('question words count only in a query without other words', async t => {
  const index = await indexOf(t, TEXTS)
  t.ok((index.search({ query: 'please tell me what the windowsill is about' })[0]?.score ?? 0) > 0.9)
  t.ok(index.search({ query: 'the' }).length > 0)
})

test('in a follow-up question words do not count next to the words of the turn before', async t => {
  const index = await indexOf(t, TEXTS)
  const context = 'When is failed work tried again?'
  const [before] = index.search({ query: context })
  for (const query of ['Tell me more', 'What about it?', 'And why?']) t.match(index.search({ query, context }), [{ source: before?.source, score: before?.score }], query)
})

test('the turn before is read in its own language', async t => {
  const index = await indexOf(t, { 'es.md': 'La piscina está abierta en verano, y las clases de natación son por la mañana. El precio de la piscina es de tres euros.' })
  const terms = index.terms('precio', '¿Cuáles son los horarios de la piscina?').terms.map(({ stems }) => stems[1])
  t.strictSame(terms.sort(), ['horari', 'piscin', 'preci'])
})

test('a short question whose own words no document holds is not searched by the turn before', async t => {
  const index = await indexOf(t, TEXTS)
  const context = 'How do I cancel a task?'
  for (const query of ['Where is Vienna?', 'What is GraphQL?', 'Where do I find Vienna again?']) {
    t.strictSame(index.search({ query, context, threshold: 0.5 }), [], query)
    t.equal(index.terms(query, context).terms.some(({ stems }) => stems.includes('cancel')), false)
  }
  t.match(index.search({ query: 'and what of the worker?', context }), [{ source: 'tasks.md' }])
})

test('compound names are found whole and in parts', async t => {
  const index = await indexOf(t, TEXTS)
  for (const query of ['max_tasks', 'max tasks', 'bodyLimit', 'body limit', 'body_limit', 'bodylimit']) {
    t.equal(index.search({ query })[0]?.source, 'store.md', query)
  }
})

test('names with signs are words: C, C++, C#, F#, .NET, R&D and A/B', async t => {
  const names = ['C', 'C++', 'C#', 'F#', '.NET', 'R&D', 'A/B', 'Node.js']
  const index = await indexOf(t, Object.fromEntries(names.map((name, at) => [`${at}.md`, `# ${name}\n\nThe ${name} team meets in room ${at + 40}.`])))
  for (const [at, name] of names.entries()) {
    for (const query of [name, `Where does the ${name} team meet?`]) {
      const found = index.search({ query, threshold: 0.6 }).map(({ source }) => source)
      t.equal(found[0], `${at}.md`, query)
      if (name !== 'Node.js') t.equal(found.length, 1, query)
    }
  }
  for (const [query, source] of [['c++', '1.md'], ['c#', '2.md'], ['csharp', '2.md'], ['.net', '4.md']] as const) t.equal(index.search({ query })[0]?.source, source, query)
  const sizes = await indexOf(t, { 's.md': '# Sizes\n\nSize S/M fits up to 98 cm. The page example.net has a table, i++ counts.', 'l.md': '# Large\n\nSize L fits up to 110 cm.' })
  t.equal(sizes.search({ query: 'size M' })[0]?.source, 's.md')
  t.equal(sizes.search({ query: 'example' })[0]?.source, 's.md')
})

test('a number with full stops is one word, with or without the v of a version, and a digit is a word', async t => {
  const versions = ['1.8', '1.9', '2.0', '2.10', '3.0', 'v2.1.4']
  const index = await indexOf(t, Object.fromEntries(versions.map(version => [`${version}.md`, `# Orchard ${version}\n\nThe port of Orchard ${version} is open.`])))
  for (const version of versions) t.equal(index.search({ query: `port of Orchard ${version}` })[0]?.source, `${version}.md`, version)
  t.equal(index.search({ query: 'v1.9' })[0]?.source, '1.9.md')
  t.equal(index.search({ query: '2.1.4' })[0]?.source, 'v2.1.4.md')
  t.strictSame(index.search({ query: '4.10' }), [])
  const codes = await indexOf(t, { 'a.md': 'Code 3: the pump stops.', 'b.md': 'Code 4: the lid is open.' })
  t.equal(codes.search({ query: 'code 4' })[0]?.source, 'b.md')
  t.strictSame(codes.search({ query: '9' }), [])
  const dated = await indexOf(t, { 'a.md': 'Signed on 12.03.2024 for 1.75 euros.' })
  for (const query of ['2024', '12.03.2024', '1.75']) t.equal(dated.search({ query }).length, 1, query)
})

test('scripts without spaces are searched by word', async t => {
  const index = await indexOf(t, TEXTS)
  t.match(index.search({ query: '名前' })[0]?.content, /吾輩は猫である/)
  t.strictSame(index.search({ query: '犬' }), [])
})

test('soft hyphens of a query are ignored', async t => {
  const index = await indexOf(t, TEXTS)
  t.match(index.search({ query: 'window\u00adsill' }), [{ source: 'cats.md' }])
})

test('accents and case are ignored', async t => {
  const index = await indexOf(t, { 'a.md': 'Ein Café in ZÜRICH.' })
  for (const query of ['cafe zurich', 'CAFÉ zürich']) t.ok((index.search({ query })[0]?.score ?? 0) > 0.95, query)
})

test('a search ignores the accents of Greek letters and the particles of Korean words', async t => {
  const index = await indexOf(t, { 'el.md': '# Κλειδιά\n\nΗ άφιξη είναι στις τρεις.\n', 'ko.md': '# 안내\n\n도서관에서 책을 다섯 권까지 빌릴 수 있습니다.\n' })
  for (const [query, source] of [['αφιξη', 'el.md'], ['ΆΦΙΞΗ', 'el.md'], ['도서관은 어디에 있나요?', 'ko.md']] as const) {
    t.equal(sourceFor(index, query), source, query)
  }
})

test('nonsense finds nothing, exact text has a score near 1', async t => {
  const index = await indexOf(t, TEXTS)
  t.strictSame(index.search({ query: 'xyzzy plugh frotz' }), [])
  t.strictSame(index.search({ query: 'the capital of France' }), [])
  for (const [source, text] of Object.entries(TEXTS)) {
    for (const { content } of splitDocument(source, text)) t.ok((index.search({ query: content })[0]?.score ?? 0) >= 0.95, content)
  }
})

test('the order counts how many of the words, how often, how near, and the heading', async t => {
  const first = async (texts: Record<string, string>, query: string): Promise<string | undefined> =>
    (await indexOf(t, texts)).search({ query, threshold: 0 })[0]?.source
  t.equal(await first({ 'a.md': 'apple and a lot of other words', 'b.md': 'apple', 'c.md': 'apple pear' }, 'apple pear'), 'c.md')
  const filler = 'and some further text that speaks about weather and cheese and stones of the field '
  t.equal(await first({ 'a.md': `apple ${filler}pear`, 'b.md': `apple pear ${filler}` }, 'apple pear'), 'b.md')
  t.equal(await first({ 'a.md': '# Fruit\n\nWash the apple.', 'b.md': '# Apple\n\nWash the apple.' }, 'apple'), 'b.md')
})

test('arguments out of range are refused with status 400', async t => {
  const index = await indexOf(t, TEXTS)
  for (const bad of [{ limit: 0 }, { limit: -1 }, { limit: 101 }, { limit: 1e9 }, { limit: NaN }, { limit: 1.5 }, { threshold: -0.1 }, { threshold: 1.1 }, { threshold: NaN }, { query: 7 as never }]) {
    t.throws(() => index.search({ query: 'task', ...bad }), { code: 'DOCUMENTS_INVALID_SEARCH', statusCode: 400 })
  }
  t.ok(index.search({ query: 'task', limit: 100, threshold: 0 }).length > 0)
})

test('a query longer than 2,000 characters is cut', async t => {
  const index = await indexOf(t, TEXTS)
  t.equal(index.search({ query: 'windowsill ' + 'cat '.repeat(2_000) })[0]?.source, 'cats.md')
  t.strictSame(index.search({ query: 'x'.repeat(100_000) }), [])
})

test('a query is never parsed as syntax: any string can be searched, with scores from the threshold to 1', async t => {
  const index = await indexOf(t, TEXTS)
  const hostile = fc.constantFrom('"', '""', '*', ' NEAR ', 'NEAR(', ' AND ', ' OR ', ' NOT ', '^', ':', '{head}:', '-', '+', '(', ')', '\0', "'", ';--', 'cat', 'task', '\ud800', 'ﬁ', '_', '__')
  const query = fc.oneof(fc.string({ unit: 'binary' }), fc.array(hostile, { maxLength: 12 }).map(parts => parts.join('')))
  fc.assert(fc.property(query, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 100 }), (text, threshold, limit) => {
    const hits = index.search({ query: text, threshold, limit })
    return hits.length <= limit && hits.every((hit, at) => hit.score >= threshold - 1e-9 && hit.score <= 1 && (at === 0 || hit.score <= (hits[at - 1]?.score ?? 1) + 1e-9))
  }), { numRuns: 500 })
})

test('a higher threshold only removes hits', async t => {
  const words = ['task', 'cat', 'store', 'sleep', 'worker', 'log', 'file', 'dog', 'pauses', 'max_tasks']
  const index = await indexOf(t, TEXTS)
  fc.assert(fc.property(fc.subarray(words, { minLength: 1 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (chosen, a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a]
    const found = (threshold: number): string[] => index.search({ query: chosen.join(' '), threshold, limit: 100 }).map(hit => hit.content)
    const many = found(low)
    return found(high).every(content => many.includes(content))
  }))
})

test('upsert replaces a document, and remove deletes it', async t => {
  const index = await indexOf(t, TEXTS)
  await index.upsert([{ source: 'cats.md', passages: splitDocument('cats.md', 'Now about elephants.') }])
  t.strictSame(index.search({ query: 'windowsill' }), [])
  t.equal(index.search({ query: 'elephant' })[0]?.source, 'cats.md')
  await index.remove(['cats.md'])
  t.strictSame(index.search({ query: 'elephant' }), [])
  t.strictSame(index.stats(), { files: 2, passages: 3 })
})

test('a write stops at its signal and leaves the index usable', async t => {
  const index = await indexOf(t, TEXTS)
  const controller = new AbortController()
  function * many (): Generator<{ source: string, passages: ReturnType<typeof splitDocument> }> {
    for (let number = 0; ; number++) {
      if (number === 2_000) controller.abort(new Error('enough'))
      yield { source: `${number}.md`, passages: splitDocument('a.md', `Document number ${number}.`) }
    }
  }
  await t.rejects(index.upsert(many(), { signal: controller.signal }), { message: 'enough' })
  t.equal(index.search({ query: 'windowsill' }).length, 1)
})

test('overlapping writes are not interleaved', async t => {
  const index = await indexOf(t, {})
  const version = (number: number): { source: string, passages: ReturnType<typeof splitDocument> }[] =>
    [{ source: 'a.md', passages: splitDocument('a.md', Array.from({ length: 500 }, (_, at) => `# ${at}\n\nversion${number}`).join('\n\n')) }]
  await Promise.all([1, 2, 3].map(async number => { await index.upsert(version(number)) }))
  t.equal(index.stats().passages, 500)
  t.equal(index.search({ query: 'version3', limit: 1 }).length, 1)
  t.strictSame(index.search({ query: 'version1' }), [])
})

test('the number of a word is that of its line, and words that are in no line have none', async t => {
  const words = ['the', 'there', 'th', 'né', 'ab', 'ba', 'x']
  const idOf = idsOf(Buffer.from(words.join('\n'), 'latin1'), words.length)
  t.strictSame(words.map(idOf), [0, 1, 2, 3, 4, 5, 6])
  t.strictSame(['', 't', 'The', 'thes', 'n', 'nｩ', 'the\nthere', '日本', 'y'].map(idOf), new Array(9).fill(undefined))
  t.equal(idsOf(Buffer.from('a\n'), 1)('a'), 0, 'a last line may end')
  const { idOf: known } = wordVectors()!
  t.ok(known('house')! >= 0)
  t.equal(known('housexyz'), undefined)
})
