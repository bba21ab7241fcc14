import { test } from 'tap'
import { splitDocument } from '../src/index.js'
import { unitsOf } from '../src/text/prose.js'
import { ask } from './fixtures/ask.js'
import { memoryOf } from './fixtures/folder.js'
import { documentsInterpreter } from '../src/interpreters/documents-interpreter.js'

const rows = (content: string): string[] => unitsOf(content).filter(({ kind }) => kind === 'row').map(({ text }) => text)
const passages = (name: string, text: string): string[] => splitDocument(name, text).map(({ heading, content }) => `${heading} | ${content.replace(/\s*\n\s*/g, ' / ')}`)

const ESTIMATE = `Insured name Gabriel Ruiz Year 2022
Claim no SF-1008 Make Jeep
Phone (425) 111-1111 Trim Limited
Color White
Odometer reading at the time of the visit to the shop 9,800
Parts 2,100
Sales tax 10.20% 278.46
Grand total 5,738
Paid by the insurer on the second of the month`

test('the lines of forms, receipts, infoboxes, hours and contents stay lines; prose, poems and addresses are joined', t => {
  for (const [what, text] of [
    ['a form', ESTIMATE],
    ['an infobox', 'Born 26 June 1968\nNationality Welsh\nOccupation Writer\nYears active 1986–present\nSpouse Anna Reyes (m. 1990)\nChildren 2'],
    ['a receipt', 'Milk 1.20\nBread 2,50 €\nRope 12 m 9,800\nTotal 15.00 EUR'],
    ['opening hours', 'Mon-Fri 9:00-17:00\nSat 10:00-14:00\nSun closed'],
    ['a form in Chinese', '姓名：李明\n电话：12345\n地址：北京市朝阳区12号'],
    ['a form in Japanese', '氏名：佐藤太郎\n住所：東京都']
  ] as const) t.strictSame(rows(text), text.split('\n'), what)
  t.strictSame(rows('Introduction ........ 3\nInstallation . . . . . . 7\nTroubleshooting …………… 12'), ['Introduction … 3', 'Installation … 7', 'Troubleshooting … 12'])
  for (const [what, text] of [
    ['prose', 'The boiler of the house was built in 1986 and is serviced by Hansen in\nOctober of each year. Its pressure is between 1.2 and 1.8 bar, and it\nmust not fall below 1.0 bar. In 2024 the pump was replaced by one of 40\nlitres. The bill of 2,400 guilders is in the folder of 2024.'],
    ['German prose', 'Die Heizung wurde 1986 gebaut und wird im Oktober von Hansen gewartet.\nDer Druck liegt zwischen 1,2 und 1,8 bar. Die Pumpe wurde 2024\nersetzt. Die Rechnung über 2.400 Gulden liegt im Ordner von 2024.'],
    ['an address', 'Jane Doe\nOlsen Boats\n12 Harbour Street\n5000 Bergen\nNorway'],
    ['a short address', 'Harbour Street 12\nNorthport\nPhone 0171 555 01'],
    ['a poem', 'The boat lies still in the harbour,\nThe wind is low and mild,\nThe gulls are gone to the northward,\nAnd the sea is wild.'],
    ['a song', 'Come home\nThe lights are low\nThe road is long\nAnd I am slow\nThe moon is up\nThe night is cold']
  ] as const) t.strictSame(rows(text), [], what)
  t.end()
})

test('a long text is cut before a space, and never within a figure, a time or an address', t => {
  const figures = ['9,800', '12:30', '2,5 Liter', '1.000.000', '23:48', 'https://example.org/a:b,c;d?e=1,2']
  for (let shift = 0; shift < 60; shift++) {
    const text = `${'x'.repeat(shift)} ${`Betrag ${figures.join(' um ')} `.repeat(12)}`
    const units = unitsOf(text).map(unit => unit.text)
    t.ok(units.length > 2)
    t.strictSame(units.join(' ').replace(/\s+/g, ' '), text.trim(), 'a cut adds a space only where one was')
  }
  for (const shift of [0, 1, 2, 3, 4, 5]) {
    const cjk = unitsOf('零'.repeat(shift) + '本店价格为9,800元服务配置密码端口八七六五'.repeat(60)).map(unit => unit.text)
    t.ok(cjk.every(text => (text.match(/9,800/g) ?? []).length === (text.match(/9/g) ?? []).length))
    const long = splitDocument('a.txt', '零'.repeat(shift) + '服务配置密码9,800端口'.repeat(800))
    t.ok(long.length > 2 && long.every(({ content }) => (content.match(/9,800/g) ?? []).length === (content.match(/9/g) ?? []).length))
  }
  t.end()
})

test('words that are divided at the ends of lines of a text are joined, and hyphens of words stay', t => {
  const join = (text: string): string => splitDocument('a.txt', text).map(({ content }) => content).join('\n')
  t.equal(join('durch die Erwär-\nmung zu, und der Wasser-\nstand sinkt'), 'durch die Erwärmung\nzu, und der Wasserstand\nsinkt')
  t.equal(join('the evapo-\nration.'), 'the evaporation.')
  for (const text of ['Vor-\nund Nachteile', 'a list\n- item']) t.equal(join(text), text)
  t.equal(join('a well-\nknown fact'), 'a well-known\nfact')
  t.equal(join('the ice-cream shop sells ice-\ncream'), 'the ice-cream shop sells ice-cream')
  t.match(splitDocument('a.txt', 'durch die Erwär-\nmung zu'), [{ content: /Erwärmung/, first: 1, last: 2 }])
  t.end()
})

test('front matter: the title is heading 1, the description the first passage, and other scalars and lists are lines', async t => {
  t.strictSame(passages('a.md', '---\ntitle: Tax return 2025\naliases: [income tax, "IRS"]\ndue: 2026-03-31 # end of March\ntags:\n  - finance\n  - urgent\ndraft: true\nsidebar_position: 4\nseo:\n  x: y\n---\n\nSend the papers.\n'),
    ['Tax return 2025 | aliases: income tax, IRS / due: 2026-03-31 / tags: finance, urgent /  / Send the papers.'.replace('/  /', '/')])
  t.strictSame(passages('a.md', '---\ntitle: Limits\ndescription: >\n  How many\n  requests\n---\nThe default is 600.'), ['Limits | How many requests / The default is 600.'])
  t.strictSame(passages('a.md', '+++\ntitle = "Roof"\ntags = ["a", "b"]\n[menu]\nname = "x"\n+++\nText.'), ['Roof | tags: a, b / Text.'])
  t.strictSame(passages('a.md', '{\n  "title": "Roof",\n  "due": "May",\n  "n": { "x": 1 }\n}\n\nText.'), ['Roof | due: May / Text.'])
  t.strictSame(passages('a.md', '---\ntitle: Roof\n---\n# Roof\nText.'), ['Roof | Text.'], 'the same heading is there once')
  t.strictSame(passages('a.md', '---\ntitle: Röhre\nпроект: дом\nauthors:\n  - name: Ida\n    url: x\n---\nText.'), ['Röhre | проект: дом / authors: Ida / Text.'])
  for (const broken of ['---\nThis is prose.\n---\n\nText.', '---\ntitle: x\nno key\n---\nText.', '---\ntitle: x\nText.', '{\n  "a": \n}\nText.']) {
    t.match(passages('a.md', broken).join(' '), /Text\./)
    t.match(passages('a.md', broken).join(' '), /prose|title: x|"a":/, 'what cannot be read is text')
  }
  const memory = await memoryOf(t, {
    'tax.md': '---\ntitle: Tax return 2025\ndue: 2026-03-31\ntags: [finance, urgent]\n---\n\nSend the papers to Olsen.\n',
    'car.md': '---\ntitle: Car insurance\ndue: 2026-09-01\n---\n\nThe policy number is 99-1-7.\n'
  })
  const answer = async (question: string): Promise<string> => (await ask(documentsInterpreter(memory), question)).final.answer
  t.match(await answer('When is the tax return due?'), /2026-03-31/)
  t.match(await answer('Which notes are tagged urgent?'), /Tax return 2025/)
})

test('the syntax of documentation sites and note books is not text: tabs and admonitions are headings', t => {
  const of = (text: string, name = 'a.md'): string[] => passages(name, text)
  for (const name of ['a.md', 'a.mdx']) {
    t.strictSame(of("# X\n\nimport Tabs from '@theme/Tabs'\nimport {\n  A\n} from './a'\n\n:::tip[Need more?]\nWrite to us.\n:::\n\nThen wait.", name), ['X > Need more? | Write to us.', 'X | Then wait.'], name)
    t.strictSame(of('<Tabs>\n  <TabItem value="npm" label="npm">\n\nRun it.\n\n  </TabItem>\n</Tabs>\n\nEnd.', name), ['npm | Run it.', ' | End.'], name)
  }
  t.strictSame(of('export const x = {\n  a: 1\n}\n\n{/* one\ntwo */}\n\n<Card title="Start" href="/x" />\nText.', 'a.mdx'), [' | Start / Text.'])
  t.strictSame(of('::: warning Be careful {open}\nHot.\n:::\nCold.'), ['Be careful | Hot.', ' | Cold.'])
  t.strictSame(of('!!! note "Fuse"\n    It has 16 A.\n\n    - one\n\nThe end.'), ['Fuse | It has 16 A. / - one', ' | The end.'])
  t.strictSame(of('=== "Linux"\n\n    Run apt.\n\n    ```sh\n    apt x\n    ```\n\n=== "Mac"\n\n    Run brew.\n'), ['Linux | Run apt. / ```sh / apt x / ```', 'Mac | Run brew.'])
  t.strictSame(of('{% tabs %}\n{% tab title="Python" %}\npip install x\n{% endtab %}\n{% endtabs %}\n{% hint style="info" %}\nHm.\n{% endhint %}'), ['Python | pip install x', ' | Hm.'])
  t.strictSame(of('{{< tab "Go" >}}\ngo get x\n{{< /tab >}}\nSee {{< ref "x" >}}it, `{{< ref >}}`.'), ['Go | go get x', ' | See it, `{{< ref >}}`.'])
  t.strictSame(of('> [!note]- The fuse\n> It has 16 A.\n\nAfter.'), ['The fuse | It has 16 A.', ' | After.'])
  t.strictSame(of('See [[Pump house#Keys|the house]], [[Fuse]] and ![[plan.png]]now. ==Never== open it. %%not this%%\n\n%%\nnor this\n%%\n\nDone. ^block-7'),
    [' | See the house, Fuse and now. Never open it. / Done.'].map(text => text.replace('now. Never open it.', 'now. Never open it.')))
  t.strictSame(of('## Ports {#ports}\n\n[TOC]\n\nText.'), ['Ports | Text.'])
  // what only looks like it
  for (const text of ['Use `[[ -f x ]]` and a == b.', '```\n:::tip\nimport x from "y"\n```', 'Growth of 5 %% a year.', '[[1]] and a^2', 'x: :::']) t.strictSame(of(text), [` | ${text.replace(/\n/g, ' / ')}`])
  t.end()
})

test('reStructuredText, AsciiDoc, Org, LaTeX, logs, subtitles and files without an ending are read', async t => {
  t.strictSame(passages('a.rst', '======\nManual\n======\n\n:Version: 2\n\nPump\n----\n\nSee :ref:`the pump <p>` and ``x``, code::\n\n    run\n\n.. note:: It holds 40 litres.\n\n.. toctree::\n\n   a\n\n.. admonition:: Careful\n\n   Hot.\n\n=====  =====\nName   Room\n=====  =====\nIda    12\n=====  =====\n'), [
    'Manual | Version: 2', 'Manual > Pump | See the pump and `x`, code: / ``` / run / ``` / It holds 40 litres.',
    'Manual > Pump > Careful | Hot.', 'Manual > Pump | Name | Room / --- | --- / Ida | 12'
  ])
  t.strictSame(passages('a.adoc', '= Manual\n:toc:\n\n== Boiler\n// not text\nSee <<p,the pump>>.\n\n[source,sh]\n----\nrun\n----\n\n|===\n|Name |Room\n\n|Ida |12\n|===\n\n** two\nCPU:: the brain'), [
    'Manual > Boiler | See the pump. / ```sh / run / ``` / Name | Room / --- | --- / Ida | 12 / - two / - CPU: the brain'
  ])
  t.strictSame(passages('a.org', '#+TITLE: Notes\n* Tasks :work:\n** TODO [#A] Call the roofer\n:PROPERTIES:\n:ID: 1\n:END:\nSee [[https://x.org][Anna]], =1=.\n# not text\n#+BEGIN_SRC sh\nrun\n#+END_SRC\n- term :: def'), [
    'Notes > Tasks | tags: work', 'Notes > Tasks > TODO Call the roofer | See Anna, `1`. / ```sh / run / ``` / - term: def'
  ])
  t.strictSame(passages('a.tex', '\\documentclass{x}\n\\title{Pumps}\n\\begin{document}\n\\section{Pressure}\\label{p}\nIt is \\textbf{1.2}~bar, 10\\% more. % not text\nM\\"uller, Stra\\ss e.\n\\begin{itemize}\n\\item[Two] second\n\\end{itemize}\n\\begin{verbatim}\n\\x{y}\n\\end{verbatim}\n\\end{document}'), [
    'Pumps > Pressure | It is 1.2 bar, 10% more. / Müller, Straße. / - Two: second / ``` / \\x{y} / ```'
  ])
  t.strictSame(passages('a.vtt', 'WEBVTT\n\nNOTE hi\n\n1\n00:01.000 --> 00:04.000\n<v Roger>The <i>oak</i>.\n'), [' | Roger: The oak.'])
  const memory = await memoryOf(t, {
    README: 'The wifi password is swordfish9.\n',
    binary: Buffer.from([1, 0, 2]),
    id_rsa: '-----BEGIN OPENSSH PRIVATE KEY-----\nwifi password\n',
    run: '#!/bin/sh\necho wifi password\n',
    latin: Buffer.from('wifi password \xe9', 'latin1'),
    'film.srt': '1\n00:00:01,000 --> 00:00:04,000\nThe treasure lies below the oak.\n',
    'server.log': '2026-11-20 ERROR disk /dev/sdb1 is full\n  at x\n2026-11-20 INFO restarted\n',
    'guide.markdown': '# Guide\n\nThe gate code is 4711.\n',
    'page.htm': '<h1>Bins</h1><p>Emptied on Thursday.</p>',
    'budget.tsv': 'Item\tCost\nPaint\t120\n'
  })
  t.strictSame((await memory.list()).map(({ name }) => name), ['README', 'budget.tsv', 'film.srt', 'guide.markdown', 'page.htm', 'server.log'])
  t.equal(memory.leftOut().files, 0)
  const answer = async (question: string): Promise<string> => (await ask(documentsInterpreter(memory), question)).final.answer
  t.match(await answer('What is the wifi password?'), /swordfish9/)
  t.match(await answer('Which disk is full?'), /^2026-11-20 ERROR disk \/dev\/sdb1 is full/)
  t.match(await answer('Where does the treasure lie?'), /oak/)
})

test('a table of another separator, with lines above its titles or with titles on each page, is read with its columns', t => {
  const of = (text: string): string[] => splitDocument('a.csv', text).flatMap(({ content }) => content.split('\n').filter(line => line !== ''))
  t.strictSame(of('Item|Shelf|Count\nHammer|A1|7\nSaw|B4|3\n'), ['- Hammer: Shelf: A1; Count: 7', '- Saw: Shelf: B4; Count: 3'])
  t.strictSame(of('Report of 2026-11-01\n\nName,Room,Phone\nIda Huber,12,555-0101\nName,Room,Phone\nPaul Idris,14,555-0102\n'),
    ['Report of 2026-11-01', '- Ida Huber: Room: 12; Phone: 555-0101', '- Paul Idris: Room: 14; Phone: 555-0102'])
  t.strictSame(of('Artikel;Preis\nMüsli, groß;4,50\nÄpfel;2,20\n'), ['- Müsli, groß: Preis: 4,50', '- Äpfel: Preis: 2,20'])
  t.strictSame(of('sep=;\r\nName;Room\r\nIda;12\r\n'), ['- Ida: Room: 12'])
  t.strictSame(of('Name\tRoom\nIda\t12\n'), ['- Ida: Room: 12'])
  t.strictSame(of('Name\nIda\nPaul\n'), ['- Ida', '- Paul'], 'a table of one column')
  t.end()
})

test('the text outputs of a notebook are read, up to a bound', t => {
  const notebook = (...cells: object[]): string[] => passages('a.ipynb', JSON.stringify({ cells }))
  const code = (outputs: object[]): object => ({ cell_type: 'code', source: ['run()'], outputs })
  t.strictSame(notebook({ cell_type: 'markdown', source: ['# Accuracy'] }, code([{ output_type: 'stream', text: ['accuracy 0.9312\n', 'loss 0.2214\n'] }])),
    ['Accuracy | ``` / run() / ```', 'Accuracy | - accuracy 0.9312 / - loss 0.2214'])
  t.strictSame(notebook(code([{ output_type: 'execute_result', data: { 'text/plain': ['42'], 'image/png': 'x'.repeat(9) } }, { output_type: 'error', ename: 'ValueError', evalue: 'bad', traceback: ['long'] }])),
    [' | ``` / run() / ```', ' | - 42 / - ValueError: bad'])
  t.strictSame(notebook(code([{ output_type: 'display_data', data: { 'text/plain': '<Figure size 640x480 with 1 Axes>', 'image/png': 'x' } }, { output_type: 'stream', text: ' 10%|#   | 1/10\n<a.B at 0x7f>\n' }, null as never])), [' | ``` / run() / ```'])
  t.ok(notebook(code([{ output_type: 'stream', text: 'line of text\n'.repeat(10_000) }])).join('').length < 3_000)
  t.end()
})

test('what stands on all pages of a site is not text: dates of changes, navigation, repeated lines', async t => {
  t.strictSame(passages('a.html', '<title>11.5. Setting Up Shares</title><h2>11.5. Setting Up Shares</h2><p>In smb.conf.</p>'), ['11.5. Setting Up Shares | In smb.conf.'])
  t.strictSame(passages('a.html', '<title>Pump – Harbour</title><h2>Pump</h2><p>It is red.</p><h3>Oil</h3><p>None.</p>'), ['Pump | It is red.', 'Pump > Oil | None.'])
  t.strictSame(passages('a.html', '<h1>Boiler</h1><div class="breadcrumb"><div>Home</div> / Boiler</div><a class="skip-link" href="#x">Skip to content</a><p>Jump to content</p><p>Serviced in October.</p><p>This page last modified on 2021-11-17 15:30:21 UTC</p>'), ['Boiler | Serviced in October.'])
  t.match(passages('a.html', '<p>The last edited volume is of 2019.</p><p>Skip to my lou.</p>'), [/volume is of 2019.*lou/])
  const page = (name: string, text: string): string => `<html><title>${name}</title><p>Harbour handbook</p><h1>${name}</h1><p>${text}</p><p>Free for all under terms of 20${text.length}.</p><p>Call 0171 555 012.</p></html>`
  const files = { 'a.html': page('Boiler', 'It is serviced in October.'), 'b.html': page('Pump', 'The pump holds 40 litres.'), 'c.html': page('Crane', 'The crane lifts four tonnes.'), 'd.html': '<h1>Bins</h1><p>Free for all.</p>' }
  const memory = await memoryOf(t, files)
  t.strictSame(await memory.search({ query: 'free for all under terms', threshold: 0.5 }).then(hits => hits.map(({ content }) => content)), ['Free for all.'])
  t.strictSame(await memory.search({ query: 'harbour handbook' }), [])
  t.match(await memory.search({ query: 'How much does the pump hold?' }), [{ content: /^The pump holds 40 litres\.\n+Call 0171 555 012\.$/ }])
  const two = await memoryOf(t, { 'a.html': files['a.html'], 'b.html': files['b.html'] })
  t.match(await two.search({ query: 'harbour handbook' }), [{ content: /Harbour handbook/ }], 'two pages show nothing')
})

test('long lines of marks take no quadratic time', t => {
  for (const name of ['a.md', 'a.mdx', 'a.rst', 'a.adoc', 'a.org', 'a.tex', 'a.txt', 'a.html', 'a.csv', 'a.log']) {
    for (const mark of ['{{<a ', '{%a ', '[[a', '==a', '%%', ':a', '``', '\\\\a{', ':::', '<<a', '- ', 'a-\n', '"', '|', '=== "a"\n    ', ':a:\n', '<div class=breadcrumb>']) {
      // a mark that took quadratic time would need hours
      t.ok(splitDocument(name, mark.repeat(200_000 / mark.length)).length < 210_000)
    }
  }
  t.end()
})
