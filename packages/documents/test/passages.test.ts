import fc from 'fast-check'
import { test } from 'tap'
import { splitDocument } from '../src/index.js'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { unitsOf } from '../src/text/prose.js'

test('a passage is the text of one heading, with its lines', async t => {
  const passages = splitDocument('a.md', '# Guide\n\nFirst.\n\n## Cancel a task\n\nPost it.\nThen wait.\n')
  t.strictSame(passages, [
    { heading: 'Guide', first: 3, last: 3, content: 'First.' },
    { heading: 'Guide > Cancel a task', first: 7, last: 8, content: 'Post it.\nThen wait.' }
  ])
})

test('front matter, comments and tags are left out, types and inline code are kept', async t => {
  const [passage, ...rest] = splitDocument('a.md', '---\ntitle: x\n---\n<!-- a\nb -->\n<div align="center">Hi <b>you</b></div>\nPromise<string> and `<div>`\n<img\n  src="a.png">done')
  t.equal(rest.length, 0)
  t.equal(passage?.content, 'Hi you\nPromise<string> and `<div>`\n\ndone')
  t.strictSame([passage?.first, passage?.last], [6, 9])
})

test('underlined headings, and headings with links, tags, code and closing marks, become plain text', async t => {
  const headings = splitDocument('a.md', 'Title\n===\ntext\n\nSecond\n---\ntext\n\n### [Link](#x) **bold** `code` -&gt; <a id="x"></a> ###\ntext\n\n<h2 align="center">Html</h2>\ntext').map(passage => passage.heading)
  t.strictSame(headings, ['Title', 'Title > Second', 'Title > Second > Link bold code ->', 'Title > Html'])
})

test('a long text is split at a blank line, but not inside a code block or between an introduction and its code', async t => {
  const code = '```js\n' + 'let a = 1\n\n'.repeat(400) + '```'
  const passages = splitDocument('a.md', `# T\n\n${'word '.repeat(260)}\n\nNext paragraph, then:\n\n${code}\n\nAfter.`)
  t.equal(passages.length, 3)
  t.match(passages[1]?.content, /^Next paragraph, then:\n\n```js/)
  t.match(passages[1]?.content, /```$/)
  t.equal(passages[2]?.content, 'After.')
})

test('a # inside a code block is not a heading', async t => {
  t.strictSame(splitDocument('a.md', '# A\n\n~~~sh\n# not a heading\n```\n~~~\n').map(passage => passage.heading), ['A'])
})

test('a code block keeps only the language of its info string', async t => {
  const [passage] = splitDocument('a.md', 'Run:\n\n  ```sh norun: it installs\nnpm i\n  ```\n\n~~~ js {1,3}\nx\n~~~\n\n````\n````')
  t.equal(passage?.content, 'Run:\n\n  ```sh\nnpm i\n  ```\n\n~~~ js\nx\n~~~\n\n````\n````')
  t.strictSame([passage?.first, passage?.last], [1, 12])
})

test('text designed for slow parsing is split in linear time', async t => {
  const parts = ['[', '![', '![](', '[](', '[a][', '[^', '<!--', '<div>', '<b>x</b>', '<', '<a ', '<http:', '`', '*a ', '_a ', '~~a ', '{#a} ', '#', '.', '---   ', '&amp;']
  const texts = [...parts.map(part => part.repeat(30_000)), `a${' '.repeat(60_000)}b`, `---${' '.repeat(60_000)}b`, Array.from({ length: 300 }, (_, at) => '`'.repeat(at + 1)).join(' ')]
  for (const text of texts) {
    for (const [name, start] of [['a.md', ''], ['a.md', '# '], ['a.md', '# a\n\n- '], ['a.md', '<table>'], ['a.mdx', ''], ['a.html', '<h1>'], ['a.html', '<pre>']] as const) {
      for (const passage of splitDocument(name, start + text).slice(0, 3)) unitsOf(passage.content)
    }
  }
  t.pass(`${texts.length} texts`)
  for (const name of ['a.yaml', 'a.json', 'a.csv']) {
    for (const part of [' ', ', ', '\t,']) await watchLoop(() => splitDocument(name, `k: ${part.repeat(60_000 / part.length)}x`), { what: `splitting ${name} of ${JSON.stringify(part)}`, most: 500 })
  }
})

test('long code and lists of any shape are divided in linear time', async t => {
  const texts = [
    ...['  --a b\\\n', '  -a\n', '--\n', '\n', ' \n', 'a\n', '\ta\n', '- a\n', '> - a\n', '> > '].map(line => line.repeat(30_000)),
    `--a${'\\'.repeat(500_000)}`, `-a${' '.repeat(500_000)}b`, '--a '.repeat(250_000), `${' '.repeat(500_000)}-a`
  ]
  for (const text of texts) {
    for (const content of [`\`\`\`\n${text}\n\`\`\``, `Run it:\n\n\`\`\`js\n${text}\n\`\`\``, text]) {
      await watchLoop(() => unitsOf(content), { what: `dividing ${JSON.stringify(content.slice(0, 30))}`, most: 1_000 })
    }
  }
})

test('an item of a list has the short items that it is part of, and tasks their marks', async t => {
  const read = (content: string): string[] => unitsOf(content).map(({ text, below }) => below === undefined ? text : `${text}\n${below}`)
  t.strictSame(read('- Docker\n  - Start:\n    - Run `compose up`.\n- Without it\n\t1. Run npm start.\n'),
    ['Docker', 'Docker: Start: Run `compose up`.', 'Without it', 'Without it: Run npm start.'])
  t.strictSame(read('Fees:\n\n- card\n  - Visa\n- cash'), ['Fees:\n- card\n  - Visa\n- cash'], 'a short list is kept whole below its introduction')
  const [parent, item] = ['p'.repeat(80), 'i'.repeat(299)]
  t.equal(read(`- ${parent}\n  - ${parent}\n    - ${item}`).at(-1), item, 'where it is not too long to be quoted')
  t.strictSame(read('- [ ] Order chairs\n- [x] Book a room'), ['[ ] Order chairs', '[x] Book a room'])
})

test('an item ends before a line with less indentation, unless that continues its sentence', async t => {
  const read = (content: string): string[] => unitsOf(content).map(({ text }) => text)
  t.strictSame(read('* v2.3.1 fixes:\n  - ERR-12\nv2.2.9 (old)'), ['v2.3.1 fixes: ERR-12', 'v2.2.9 (old)'])
  t.strictSame(read('- An item that an editor wrapped at its margin, near\nGraz, and\n  with this.\nNext.'), ['An item that an editor wrapped at its margin, near Graz, and with this.', 'Next.'])
})

test('lines with labels are read one by one, each with the title above it, and other texts with line breaks are not', async t => {
  const read = (content: string): string[] => unitsOf(content).map(({ kind, text }) => `${kind} ${text}`)
  t.strictSame(read('Monday: closed\nTuesday: 9 to 17'), ['row Monday: closed', 'row Tuesday: 9 to 17'])
  t.strictSame(read('Boiler:\nModel: Vento 4\nSerial: 1187\n**Pump**\nModel: Aqua 2'),
    ['row Boiler: Model: Vento 4', 'row Boiler: Serial: 1187', 'row Pump: Model: Aqua 2'])
  t.strictSame(read('Membership per year\nAdults: 72\nPupils, students: 24\nFees are debited in February. To leave,\nwrite to us.'),
    ['row Membership per year: Adults: 72', 'row Membership per year: Pupils, students: 24', 'sentence Fees are debited in February.', 'sentence To leave, write to us.'])
  t.strictSame(read('Bike leasing, after probation\nGym: 25 a month\nFruit, drinks: free'), ['row Bike leasing, after probation', 'row Gym: 25 a month', 'row Fruit, drinks: free'])
  for (const [what, text] of [
    ['prose', 'Between six and nine it is usually open but\nNote: in dry summers it is not. Warning: hoses are\nNot allowed at any time. Fines: 20 euros, which are\nDue soon. Reminders: none.'],
    ['prose below a line with a label', 'It prints the table below, and a whole run also writes\ntests: a missed bar is reported.'],
    ['a poem', 'O sea: you took the boat,\nAnd all the songs: they float\nBeneath the pier where gulls complain,\nWhile I: alone: await the rain.'],
    ['an address', 'Harbour office: Pier 3\nNorthport\nPhone: 0171 555 01'],
    ['a lease', 'Repairs: The landlord keeps the roof. The tenant mends all else\nAnd bears the cost.\nNotice: Six months.'],
    ['a lease that ends within a sentence', 'Term: ten years.\nRepairs: The landlord keeps the roof. The tenant mends all else\nAnd bears the cost.'],
    ['a title of one entry', 'The crane\nNote: it lifts four tonnes.']
  ] as const) t.ok(read(text).every(unit => unit.startsWith('sentence ')), what)
})

test('a paragraph or an item ends where a table begins', async t => {
  for (const start of ['Return addresses', '- Return addresses']) {
    t.strictSame(unitsOf(`${start}\nCountry | Address\n--- | ---\nNorway | Storgata 12\n`).map(({ text }) => text), ['Return addresses', 'Norway: Storgata 12'])
  }
})

test('the full stop of an abbreviation does not end a sentence', async t => {
  t.strictSame(unitsOf('Call ext. 214, or Rev. Smith at ul. Długa 5a. Then go.').map(({ text }) => text), ['Call ext. 214, or Rev. Smith at ul. Długa 5a.', 'Then go.'])
})

test('headings with brackets, closing marks and many spaces become plain text', async t => {
  const read = (heading: string): string | undefined => splitDocument('a.md', `${heading}\n\ntext`)[0]?.heading
  t.strictSame(['# A #', '## A#', '### C# and F# ##', '#   A   B   ', '#A', '# [a] b', '# `<b>`', '# T {#id}', '# ![i](x) [a](b_(c)) d'].map(read),
    ['A', 'A#', 'C# and F#', 'A B', '', '[a] b', '<b>', 'T', 'a d'])
})

test('imports and components of MDX are left out', async t => {
  t.equal(splitDocument('a.mdx', 'import { Tabs } from "x"\n\n# A\n\n<Tabs>Inside</Tabs>')[0]?.content, 'Inside')
})

test('HTML: headings, lists, code and tables are converted to Markdown, with correct lines', async t => {
  const html = '<html><head><title>Page</title><script>var x</script><style>b{}</style></head>\n<body>\n<h2>Run &amp; go</h2>\n<p>Start\nit with <code>run</code>.</p>\n<pre>a\n  b</pre>\n<ul><li>one</li><li>two</li></ul>\n<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>\n</body></html>'
  const [passage, ...rest] = splitDocument('a.html', html)
  t.equal(rest.length, 0)
  t.equal(passage?.heading, 'Page > Run & go')
  t.equal(passage?.content, 'Start it with `run`.\n\n```\na\n  b\n```\n\n- one\n- two\n\nA | B\n--- | ---\n1 | 2')
  t.strictSame([passage?.first, passage?.last], [4, 9])
})

test('HTML: a heading without its end tag ends where the text begins, and the rest of a long one is text', async t => {
  for (const begin of ['<h1>Guide', '<h1>Guide</h2>']) {
    const passages = splitDocument('a.html', `${begin}<p>The lynx hides.</p><h2><div>Food</div></h2><p>It eats hares.</p>`)
    t.match(passages, [{ heading: 'Guide', content: 'The lynx hides.' }, { heading: 'Guide > Food', content: 'It eats hares.' }], begin)
  }
  const passages = splitDocument('a.html', `<h1>${'word '.repeat(2_000)}</h1>${'<h2>Part</h2><p>Text.</p>'.repeat(50)}`)
  t.ok(passages.every(({ heading, content }) => heading.length < 1_100 && content.length <= 2_400))
  t.equal(passages.filter(({ content }) => content.includes('word')).map(({ content }) => content.match(/word/g)?.length ?? 0).reduce((sum, one) => sum + one, 0), 1_800)
})

test('HTML: the blocks in a cell stay in its row, and a table without titles is read as lines', async t => {
  const read = (html: string): string | undefined => splitDocument('a.html', html)[0]?.content
  // as mammoth converts DOCX
  t.equal(read('<table><tr><td><p>Size</p></td><td><p>Price</p></td><td><p>Use</p></td></tr><tr><td><p>S</p></td><td><p>60<br/>€</p></td><td><ul><li>tea|mate</li><li>milk</li></ul></td></tr></table>'),
    'Size | Price | Use\n--- | --- | ---\nS | 60 € | tea\\|mate milk')
  t.equal(read('<table><tr><td>Manager</td><td>Ida Huber</td></tr><tr><td>Phone</td><td>123</td></tr></table>'), 'Manager: Ida Huber\nPhone: 123')
  t.equal(read('<table><tr><th>Day</th><th>Hours</th></tr><tr><th>Monday</th><td>9</td></tr></table>'), 'Day | Hours\n--- | ---\nMonday | 9')
  t.match(splitDocument('a.html', '<table><tr><td><h2>News</h2><p>One.</p><p>Two.</p></td></tr></table>'), [{ heading: 'News', content: 'One.\n\nTwo.' }], 'a table for the layout of a page')
})

test('HTML: nested lists are indented, and definitions have their terms', async t => {
  const read = (html: string): string | undefined => splitDocument('a.html', html)[0]?.content
  t.equal(read('<ul><li>Fees<ul><li>Visa</li><li><p>Cash</p><p>Only here.</p></li></ul></li><li>Hours</li></ul>'), '- Fees\n  - Visa\n  - Cash\n    Only here.\n- Hours')
  t.strictSame(read('<dl><dt>RMA</dt><dd>A number.</dd><dt>A</dt><dt>B</dt><dd><p>Both.</p></dd><dt>C</dt></dl>')?.split(/\n+/), ['- RMA: A number.', '- A, B: Both.', 'C'])
})

test('a table of HTML in Markdown is read as one, unless it holds blocks of Markdown', async t => {
  const [passage] = splitDocument('a.md', '# Plans\n\n<table>\n<tr><th>Plan</th><th>Price</th></tr>\n<tr><td><b>Basic</b></td>\n<td>5 € [a](x)</td></tr>\n</table>\n\nThe end.\n')
  t.match(passage, { first: 4, last: 9, content: /^Plan \| Price\n--- \| ---\nBasic \| 5 € \[a\]\(x\)\n+The end\.$/ })
  t.match(splitDocument('b.md', '<table><tr><td>\n\n```js\nrun()\n```\n</td></tr></table>')[0]?.content, '```js\nrun()\n```')
  t.match(splitDocument('c.md', '<table>\n\nIt never ends.\n'), [{ content: 'It never ends.' }])
  t.strictSame(unitsOf('Apple\n: A fruit\n  that grows.\n: A firm.').map(({ text }) => text), ['Apple: A fruit that grows.', 'Apple: A firm.'], 'a definition list of Markdown')
})

test('the members of an object in a list are one item', async t => {
  const read = (name: string, text: string): string[] => splitDocument(name, text).map(({ heading, first, last, content }) => `${heading} ${first}-${last} ${content}`)
  t.strictSame(read('a.yaml', 'port: 1\nbackups:\n  - name: nightly\n    hour: 2\n  - name: weekly\n    hour: 4\n    run: |\n      a: b\n---\nlist:\n- x: 1\n  y: 2\n- z\n'), [
    ' 1-1 - port: 1', 'backups 3-6 - name: nightly; hour: 2\n- name: weekly; hour: 4', 'backups > run 8-8 - a: b', 'list 11-13 - x: 1; y: 2\n- z'
  ])
  t.strictSame(read('a.json', '{\n  "v": 1,\n  "list": [\n    {\n      "a": 1,\n      "b": "x"\n    }, {\n      "a": 2\n    }\n  ]\n}'), [' 2-2 - v: 1', 'list 4-8 - a: 1; b: "x"\n- a: 2'])
})

test('lines of a plain text that begin with a date or time are items, from three on', async t => {
  const read = (text: string): string | undefined => splitDocument('a.txt', text)[0]?.content
  t.equal(read('[2024-03-18, 10:15:00] Liam: out\nand more\n[2024-03-18, 10:16:00] Ana: 1\n[2024-03-18, 10:17:00] Liam: 2'),
    '- [2024-03-18, 10:15:00] Liam: out\nand more\n- [2024-03-18, 10:16:00] Ana: 1\n- [2024-03-18, 10:17:00] Liam: 2')
  for (const text of ['02:14 - One\n02:20 - Two', '3.0.1 a\n3.0.2 b\n3.0.3 c']) t.equal(read(text), text)
})

test('HTML with many entities takes time in proportion to its length', async t => {
  // quadratic, each took 6 s and more
  for (const [open, entity, close] of [['<pre>', '&amp;', '</pre>'], ['<p>', '&amp;', '</p>'], ['<pre>', '&#32;', 'x</pre>'], ['<p>', 'a &lt;', '</p>']] as const) {
    await watchLoop(() => splitDocument('a.html', `${open}${entity.repeat(160_000)}${close}`), { what: `splitting HTML of ${open}${entity}`, most: 2_000 })
  }
  const [passage] = splitDocument('a.html', '<p>One\ntwo</p>\n<pre>\n\n  a &amp; b\n</pre>')
  t.match(passage, { content: 'One two\n\n```\n\n  a & b\n```', first: 1, last: 5 })
})

test('JSON of one line has passages of line 1', t => {
  t.match(splitDocument('a.json', '{"users":[{"name":"Amara","room":"B204"}],"limits":{"max_users":50}}'), [
    { heading: 'users', first: 1, last: 1 }, { heading: 'limits', first: 1, last: 1 }
  ])
  t.end()
})

test('deeply nested JSON is not indented, and marks in its texts do not count', async t => {
  const nested = `${'{"a":'.repeat(4_000)}"end"${'}'.repeat(4_000)}`
  const chars = splitDocument('a.json', nested).reduce((sum, { heading, content }) => sum + heading.length + content.length, 0)
  t.ok(chars < 2 * nested.length, `${chars} characters of ${nested.length}`)
  t.match(splitDocument('b.json', JSON.stringify({ quota: { marks: '['.repeat(50) + '"\\', lamps: 17 } })).at(-1), { heading: 'quota', content: /lamps: 17/ })
})

test('empty files, files of blank lines and headings without text', async t => {
  t.strictSame(splitDocument('a.md', ''), [])
  t.strictSame(splitDocument('a.txt', '\n \n'), [])
  t.strictSame(splitDocument('a.md', '# A\n\n## B\n'), [{ heading: 'A > B', first: 3, last: 3, content: 'B' }])
})

test('passages contain every line of a text once, in order, with correct line ranges', async t => {
  const line = fc.oneof(
    fc.constantFrom('', '# One', '## Two', '### Three', '```', '~~~', '- item', 'ends with:', '| a | b |', '  indented', '> quote'),
    fc.stringMatching(/^[a-z ,.]{0,200}$/)
  )
  fc.assert(fc.property(fc.array(line, { maxLength: 120 }), fc.constantFrom('\n', '\r\n'), fc.constantFrom('a.md', 'a.txt'), (lines, end, source) => {
    const passages = splitDocument(source, lines.join(end))
    let after = 0
    const covered = new Set<number>()
    for (const { first, last, content } of passages) {
      if (first <= after || last < first) return false
      after = last
      const text = lines.slice(first - 1, last).map(one => one.trim() === '' ? '' : one).join('\n')
      if (text !== content && !/^#+ /.test(lines[first - 1] as string)) return false
      for (let number = first; number <= last; number++) covered.add(number)
    }
    // a heading, or the title of a plain text, is not in its own passage but in the path of those below it
    const isHeading = (text: string): boolean => /^#+ /.test(text) || passages.some(({ heading }) => heading === text.trim())
    return lines.every((text, index) => text.trim() === '' || covered.has(index + 1) || isHeading(text))
  }), { numRuns: 500 })
})

test('a plain text begins with its title, where a blank line and text follow it', t => {
  const headings = (text: string): string[] => splitDocument('a.txt', text).map(({ heading, content }) => `${heading}|${content}`)
  t.strictSame(headings('\nApple cake\n\nBake it at 175 degrees.'), ['Apple cake|Bake it at 175 degrees.'])
  for (const text of ['Apple cake', 'Apple cake\nBake it.', 'Bake it.\n\nThen eat it.', '- apples\n\n- flour', `${'apple '.repeat(20)}\n\nBake it.`]) t.strictSame(headings(text), [`|${text}`])
  t.end()
})

test('an endless line is split at spaces and keeps its number', async t => {
  const passages = splitDocument('a.txt', 'word '.repeat(4_000))
  t.ok(passages.length > 3)
  t.ok(passages.every(passage => passage.first === 1 && passage.last === 1 && passage.content.length < 5_000))
  t.equal(passages.map(passage => passage.content.trim()).join(' '), 'word '.repeat(4_000).trim())
})

test('a line with more than 2,400 characters is split after sentences', t => {
  const sentences = Array.from({ length: 60 }, (_, at) => `The keeper of room ${at} has counted all the boats that passed before noon.`)
  const passages = splitDocument('a.txt', sentences.join(' '))
  t.ok(passages.length > 2)
  t.equal(passages.map(({ content }) => content).join(' '), sentences.join(' '))
  for (const { content } of passages.slice(0, -1)) t.ok(content.endsWith('noon.') && content.length > 1_200 && content.length < 1_300, `${content.length} characters`)
  t.end()
})

test('soft hyphens and spaces without a width are left out', async t => {
  const [passage] = splitDocument('a.html', '<h2>Schorn&shy;steine</h2><p>Der Schorn&shy;stein&#8203;feger kommt im Mai.</p>')
  t.match(passage, { heading: 'Schornsteine', content: 'Der Schornsteinfeger kommt im Mai.' })
})
