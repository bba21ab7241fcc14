import { test } from 'tap'
import { root } from './fixtures/pages.js'

const { findWords } = await import(`${root}/scripts/words.mjs`) as {
  findWords: (text: string, file: string) => Array<{ line: number, found: string, advice: string }>
}
const found = (text: string, file: string): string[] =>
  findWords(text, file).map(({ line, found }) => `${line} ${found.replace(/\s+/g, ' ')}`)

test('words are found in comments and strings of sources, across lines, and not in code', t => {
  const source = (text: string): string[] => found(text, 'packages/x/src/a.ts')
  t.strictSame(source("// made by\n// need\nconst told = 'it is told'\nif (told) f() else g(/nobody/)\n"), ['1 by need', '3 told'])
  t.strictSame(source('/**\n * This is\n * no cycle.\n */\nconst a = `by $' + '{need} by need`\n'), ['2 is no', '5 by need'])
  t.strictSame(source("import a from './told.js'\n"), [])
  t.end()
})

test('the text between tags is read, and the code around it is not', t => {
  const text = "export const a = (told: string) => <p class='told'>\n  It is told {told} <b>by need</b></p>\n"
  t.strictSame(found(text, 'packages/x/page/a.tsx'), ['1 told', '2 told', '2 by need'])
  t.end()
})

test('of the strings of a test only its name is prose', t => {
  const text = "test('nobody reads', () => { t.equal(f('is told'), 'nobody') })\n"
  t.strictSame(found(text, 'packages/x/test/a.test.ts'), ['1 nobody'])
  t.end()
})

test('Markdown is read without code, links and generated parts', t => {
  const page = 'Nobody `told`\n```ts\n// told\n```\n[a](told.md)\n<!-- generated: x -->\nwhoever\n<!-- end -->\nor else\n'
  t.strictSame(found(page, 'docs/a.md'), ['1 Nobody', '9 else'])
  t.end()
})

test('plain uses of the same words pass', t => {
  for (const text of ['It is no longer there.', 'There is no limit.', 'Nothing else is sent.', 'It is kept as it is written.']) {
    t.strictSame(found(text, 'docs/a.md'), [], text)
  }
  t.end()
})

test('a comment has at most 120 columns', t => {
  const word = 'a'.repeat(120)
  t.strictSame(found(`const x = '${word}'\n  // ${word}\n`, 'packages/x/src/a.ts'), ['2 a comment of 125 columns'])
  t.end()
})
