import fc from 'fast-check'
import { test } from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { foreignHosts } from '../src/answer/foreign-hosts.js'
import { checkGrounding } from '../src/answer/grounding.js'
import { documentsInterpreter } from '../src/index.js'
import { ask } from './fixtures/ask.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'
import { fakeOpenai } from './fixtures/openai-server.js'

const hit = (content: string, heading = 'Limits'): { content: string, score: number, metadata: object } => ({ content, score: 1, metadata: { source: 'limits.md', heading } })
const LIMITS = hit('A task may run for 1,000 seconds. After that the server cancels it, and `TASK_TIMEOUT` is its error. Redis is not needed.')
const NIGHT = hit('The lighthouse keeper counts the ships at night. He writes them into a book.', 'Keeper')
const check = (answer: string, question = 'How long may a task run?'): ReturnType<typeof checkGrounding> => checkGrounding(answer, [LIMITS, NIGHT] as never, question)

for (const [what, answer] of Object.entries({
  'repeats a passage': 'A task may run for 1,000 seconds [1].',
  'paraphrases it': 'The server cancels tasks that run for longer than 1000 seconds [1].',
  'cites behind the full stop': 'A task may run for 1,000 seconds. [1] The keeper counts the ships. [2]',
  'cites at the end of the paragraph': 'A task may run for 1,000 seconds. After that the server cancels it [1].',
  'is a list': 'The limits:\n\n- A task runs for 1.000 seconds [1]\n- Ships are counted at night [2]',
  'has code of the passage': 'The error of the task is `TASK_TIMEOUT` [1].\n\n```\nanything("here [2]")\n```',
  'joins two passages': 'The server cancels a task, and the keeper counts ships [1][2].',
  'takes a name from the question': 'In Polyvac a task may run for 1,000 seconds [1].'
})) {
  test(`an answer that ${what} is supported`, async t => {
    const { share, unsupported } = await check(answer, 'How long may a task of Polyvac run?') ?? {}
    t.strictSame({ share, unsupported }, { share: 1, unsupported: [] })
  })
}

for (const [what, [answer, missing]] of Object.entries({
  'another number': ['A task may run for 2,000 seconds [1].', ['2000']],
  'another name': ['The task runs in Kubernetes for 1,000 seconds [1].', ['Kubernetes']],
  'other code': ['The error of the task is `TASK_STALLED` [1].', ['TASK_STALLED']],
  'other words': ['Every operator should configure monitoring dashboards beforehand [1].', []],
  'the wrong passage': ['A task may run for 1,000 seconds [2].', ['1000']],
  'no passage': ['A task may run for 1,000 seconds.\n\nThe keeper counts ships [2].', ['1000']]
} satisfies Record<string, [string, string[]]>)) {
  test(`a sentence with ${what} is named as unsupported`, async t => {
    const { unsupported = [], share = 1 } = await check(answer) ?? {}
    t.equal(unsupported.length, 1)
    t.strictSame(unsupported[0]?.missing, missing)
    t.ok(share < 1)
  })
}

test('what is not compared is counted as unchecked, and has no share', async t => {
  t.strictSame(await check('Yes. Of course! What else?'), { sentences: 0, supported: 0, unsupported: [], unchecked: 3, unchecked_parts: { short: 2, question: 1 } })
  t.strictSame(await check('# A heading\n\nHere is how:'), { sentences: 0, supported: 0, unsupported: [], unchecked: 2, unchecked_parts: { heading: 1, introduction: 1 } })
  t.match(await check('Yes. A task may run for 1,000 seconds [1].'), { sentences: 1, supported: 1, share: 1, unchecked: 1 })
  t.equal(await check(' [1]\n\n---\n|---|---|'), undefined)
})

/** Text that no passage has, in each form that an answer may give it: never supported, and never left out. */
const PLANTED = 'Every operator should transfer bitcoin wallets to strangers beforehand'
for (const [form, planted] of Object.entries({
  heading: `# ${PLANTED}`,
  'heading with marks behind it': `## ${PLANTED} ##`,
  'heading of two lines': `${PLANTED}\n===`,
  'heading with a citation': `### ${PLANTED} [1]`,
  'line with # that is not a heading': `#${PLANTED}`,
  'block of code': `\`\`\`\n${PLANTED}\n\`\`\``,
  'block of code with tildes': `~~~text\n${PLANTED}\n~~~`,
  'block of code that is never closed': `\`\`\`\n${PLANTED}`,
  'block of code that other marks do not close': `\`\`\`\`\nx\n\`\`\`\n${PLANTED}\n\`\`\`\``,
  'line that only looks like a block of code': `\`\`\`a\`\`\` ${PLANTED}.`,
  'block of code in a quote': `> \`\`\`\n> ${PLANTED}\n> \`\`\``,
  'block of code in a list': `- \`\`\`\n  ${PLANTED}\n  \`\`\``,
  'indented code': `    ${PLANTED}`,
  'inline code': `\`${PLANTED}\` [1].`,
  'long inline code': `\`${PLANTED} ${PLANTED}\` [1].`,
  link: `[${PLANTED}](https://evil.example) [1].`,
  'link by reference': `[${PLANTED}][x] [1].`,
  'title of a link': `A task may run [for 1,000 seconds](limits.md "${PLANTED}") [1].`,
  'definition of a link': `[x]: https://evil.example "${PLANTED}"`,
  'text of an image': `![${PLANTED}](https://evil.example/x.png) [1]`,
  'image in a sentence': `A task may run for 1,000 seconds ![${PLANTED}](x.png) [1].`,
  'image by reference': `![${PLANTED}][x]`,
  question: `Did you know that ${PLANTED}? [1]`,
  'question in wide marks': `${PLANTED}？`,
  'question in quotes': `"${PLANTED}?"`,
  introduction: `${PLANTED}:`,
  'introduction with a citation': `${PLANTED} [1]:`,
  'item of a list': `- ${PLANTED} [1]`,
  'item of a list with numbers': `1. ${PLANTED} [1]`,
  task: `- [ ] ${PLANTED} [1]`,
  'row of a table': `| ${PLANTED} | [1] |`,
  'head of a table': `| ${PLANTED} |\n|---|\n| A task may run for 1,000 seconds [1] |`,
  quote: `> ${PLANTED} [1]`,
  'quote in a quote': `> > ${PLANTED} [1]`,
  note: `> [!NOTE]\n> ${PLANTED} [1]`,
  footnote: `[^1]: ${PLANTED} [1]`,
  comment: `<!-- ${PLANTED} [1] -->`,
  'comment of lines': `<!--\n${PLANTED}\n-->`,
  tag: `<details><summary>${PLANTED}</summary></details> [1]`,
  attribute: `<img alt="${PLANTED}" src="https://evil.example/x"> [1]`,
  emphasis: `**${PLANTED}** [1].`,
  'struck text': `~~${PLANTED}~~ [1].`,
  formula: `$$ ${PLANTED} $$ [1]`,
  'a few words': 'Pay now.',
  'German without facts': 'Bitte überweisen Sie sofort das ganze Geld an den Fremden, und zwar noch heute [1].',
  'French without facts': 'Il faut envoyer tout l\'argent de la caisse à un inconnu avant la fin de la journée [1].',
  'German with a number of the passage': 'Bitte überweisen Sie sofort 1.000 Euro an den Fremden, und zwar noch heute [1].',
  Japanese: 'すべての運営者は見知らぬ人に財布を送るべきです [1]。',
  Russian: 'Каждый оператор должен отправить кошелёк незнакомцу заранее [1].',
  'text without a citation': `${PLANTED}.`,
  'text with a citation that no passage has': `${PLANTED} [7].`,
  'text after the first 32,000 characters': `${'\n'.repeat(32_000)}${PLANTED}.`
})) {
  test(`planted text is unsupported or unchecked as ${form}`, async t => {
    const { sentences, supported } = await check('A task may run for 1,000 seconds [1].') ?? {}
    t.strictSame([sentences, supported], [1, 1])
    const found = await check(`A task may run for 1,000 seconds [1].\n\n${planted}\n`)
    t.ok(found!.sentences - found!.supported + found!.unchecked > 0, JSON.stringify(found))
    t.equal(Object.values(found!.unchecked_parts).reduce((sum, count) => sum + count, 0), found!.unchecked)
    const alone = await check(planted)
    t.notOk(alone!.supported === alone!.sentences && alone!.unchecked === 0, JSON.stringify(alone))
  })
}

const DOCS = hit('See https://docs.example.org/limits and http://user@wiki.example.org, or write to help.example.org.')
for (const [form, text, host = 'evil.example'] of [
  ['link', '[x](https://evil.example/?q=1)'], ['link in angle brackets', '[x](<https://evil.example>)'], ['link with a title', '[x](https://evil.example "title")'],
  ['image', '![x](http://evil.example/x.png)'], ['image without a scheme', '![x](//evil.example/x.png)'], ['image with backslashes', '![x](\\\\\\\\evil.example\\x.png)'],
  ['address with one slash', '[x](https:/evil.example)'], ['address without slashes', '[x](https:evil.example)'],
  ['definition', '[x]: https://evil.example'], ['autolink', '<https://evil.example>'], ['bare address', 'see https://evil.example.'], ['bare www', 'see www.evil.example now', 'www.evil.example'],
  ['tag', '<img src="https://evil.example/x">'], ['tag without quotes', '<a href=//evil.example>'], ['source set', '<img srcset="//evil.example/x 2x">'], ['style', '<p style="background:url(//evil.example/x)">'], ['form', '<form action=https://evil.example>'],
  ['credentials', '[x](https://docs.example.org@evil.example/)'], ['port', '[x](https://evil.example:8443/)'], ['capitals', '[x](HTTPS://EVIL.EXAMPLE/)'], ['escapes', '[x](https\\://evil\\.example)'],
  ['references of HTML', '[x](https&#58;//evil&#x2e;example)'], ['named references', '[x](https&colon;&sol;&sol;evil.example)'], ['another scheme', '[x](ftp://evil.example)'], ['web socket', 'wss://evil.example/x'],
  ['script', '[x](javascript:alert(1))', 'javascript:'], ['data', '![x](data:image/svg+xml;base64,xx)', 'data:'], ['code', '```\ncurl https://evil.example\n```'], ['comment', '<!-- https://evil.example -->'],
  ['parent of a known host', 'https://example.org/x', 'example.org'], ['child of a known host', 'https://a.docs.example.org', 'a.docs.example.org'], ['host with a known one in front', 'https://docs.example.org.evil.example', 'docs.example.org.evil.example'],
  ['full stop at its end', 'https://evil.example./x'], ['letters of another script', '[x](https://еvil.example)', 'xn--vil-qdd.example'], ['number', '[x](http://2130706433/)', '127.0.0.1']
] as Array<[string, string, string?]>) {
  test(`an address that no passage has is a warning as ${form}`, async t => {
    const found = await foreignHosts(`A task may run [1]. ${text.startsWith('[x]:') ? '\n' : ''}${text}`, [DOCS] as never, 'How long?')
    t.match(found, [{ host, reason: /no passage/ }])
    t.equal(found.length, 1)
  })
}

test('addresses of the passages, of the question and within the documents are not a warning', async t => {
  for (const text of ['[x](https://docs.example.org/other)', 'https://DOCS.example.org', 'https://wiki.example.org', 'http://help.example.org/x', 'https://asked.example/x', '[x](limits.md)', '[x](#a)', '![x](../a.png)', '[x](/a?b=c)', '`a:b`', 'a: b', '12:30', 'C:/x']) {
    t.strictSame(await foreignHosts(`${text} [1].`, [DOCS] as never, 'What is at asked.example?'), [], text)
  }
  t.equal((await foreignHosts(Array.from({ length: 50 }, (_, i) => `https://h${i}.example`).join(' '), [], '')).length, 20)
  t.match(await foreignHosts(`${'x '.repeat(4_090)}https://evil.example ${'y '.repeat(9_000)}`, [], ''), [{ host: 'evil.example' }], 'also across the border of two steps')
})

test('in another language than the passages facts are compared, and the rest is unchecked', async t => {
  t.match(await check('Eine Aufgabe darf 1.000 Sekunden laufen, und dann wird sie von dem Server beendet [1].'), { sentences: 0, share: undefined, unchecked_parts: { language: 1 } })
  t.match(await check('Eine Aufgabe darf 3.000 Sekunden laufen, und dann wird sie von dem Server beendet [1].'), { share: 0, unsupported: [{ missing: ['3000'] }] })
})

test('any text is checked, and at most twenty sentences are named', async t => {
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(fc.string(), fc.constantFrom('[1]', '. ', '\n', '`', '```', '- ', 'Ä', '日本語。', '1,0', '?'))), async parts => {
    const found = await check(parts.join(''))
    return found === undefined || (found.supported <= found.sentences && found.unsupported.length <= Math.min(20, found.sentences - found.supported))
  }))
  const many = await check('Every operator should configure monitoring dashboards beforehand [1].\n'.repeat(30))
  t.match(many, { sentences: 30, supported: 0 })
  t.equal(many?.unsupported.length, 20)
})

test('no answer keeps the event loop for a long step, however it is written and whatever it cites', async t => {
  const passages = Array.from({ length: 100 }, () => hit(LIMITS.content.repeat(30)))
  const all = passages.map((_, i) => `[${i + 1}]`).join('')
  for (const piece of ['.', '.!?', '. ', '. [1', '. [1]', ' ', '1,', '1.', '`', '`a', '[', '[a](', '![', '](a "', 'www.', 'a://', '&#', 'href=', '*a ', '_a ', '> ', '- ', '|', 'a B', '日本語。', 'No task runs here. ', `Zebras count unknown boats daily ${all}. `]) {
    const answer = piece.repeat(32_000 / piece.length)
    await watchLoop(() => foreignHosts(answer, passages as never, ''), { what: `hosts in ${JSON.stringify(piece.slice(0, 40))}` })
    await watchLoop(() => checkGrounding(answer, passages as never, 'How long may a task run?'), { what: JSON.stringify(piece.slice(0, 40)) })
  }
})

test('an answer of a model reports how much of it rests on its passages', async t => {
  const server = await fakeOpenai(t, 'none', ['To cancel a task, post `tasks/cancel` [1]. ', 'It takes 99 minutes [1].'])
  const vac = { model: 'fake-model', openai: { base_url: server.url } }
  const { final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac })
  t.match(final.metadata, {
    answered: true, grounding: { sentences: 2, supported: 1, share: 0.5, unsupported: [{ sentence: 'It takes 99 minutes.', citations: [1], missing: ['99'] }] }
  })
  const linking = await fakeOpenai(t, 'none', ['To cancel a task, post `tasks/cancel` [1]. ![x](https://evil.example/x?q=secret)'])
  const { final: { metadata: warned } } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac: { ...vac, openai: { base_url: linking.url } } })
  t.match(warned, { warnings: [{ host: 'evil.example' }], grounding: { sentences: 1, supported: 1, unchecked: 1, unchecked_parts: { image: 1 } } })
  t.equal((final.metadata as { warnings?: unknown }).warnings, undefined)
  const silent = await fakeOpenai(t, 'none', ['The passages do not answer this question at all.'])
  const { final: { metadata } } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac: { ...vac, openai: { base_url: silent.url } } })
  t.match(metadata, { answered: false, grounding: undefined })
})
