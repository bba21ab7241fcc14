import { test } from 'tap'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './fixtures/pages.js'

/** The links of a text to test files, or to attacks: what they quote, and the path from the root. */
function testLinks (text: string): Array<readonly [sentence: string, path: string]> {
  return [...text.matchAll(/\[([^\]]+)\]\((?:\.\.\/)*((?:test|packages|apps|scripts)\/[^)]+\.(?:ts|mjs))\)/g)].map(([, sentence = '', path = '']) => [sentence.replaceAll('`', ''), path])
}

function readPages (...names: readonly string[]): string {
  return names.map(name => readFileSync(join(root, `docs/explain/${name}.md`), 'utf8')).join('\n')
}

function hasSentence (path: string, sentence: string): boolean {
  const file = join(root, path)
  return existsSync(file) && readFileSync(file, 'utf8').replaceAll("\\'", "'").replaceAll('`', '').includes(sentence)
}

test('each of the 80 cases names a test or an attack that exists, or the reason why it is open', t => {
  const page = readPages('reliability', 'reliability-of-operation')
  const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+) \|$/gm)]
  t.strictSame(rows.map(([, number]) => Number(number)), Array.from({ length: 80 }, (_, i) => i + 1))
  for (const [, number, , drivers = ''] of rows) {
    const links = testLinks(drivers)
    t.ok(links.length > 0 || /^open: .{10}/.test(drivers), `case ${number} is driven, or open with a reason`)
    for (const [sentence, path] of links) t.ok(hasSentence(path, sentence), `case ${number}: ${path} has "${sentence}"`)
  }
  t.end()
})

test('each requirement of security is met by a test that exists, not applicable, or open', t => {
  const page = readFileSync(join(root, 'docs/explain/security-requirements.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (10\.\d+\.\d+|MCP\d\d) \| (.+?) \| (.+) \|$/gm)]
  t.equal(rows.length, 39 + 4 + 10)
  for (const [, id, , state = ''] of rows) {
    const links = testLinks(state)
    t.ok(links.length > 0 || /^(?:not applicable|open|met in the playground|met for)/.test(state), `${id} names a test, or the reason`)
    for (const [sentence, path] of links) t.ok(hasSentence(path, sentence), `${id}: ${path} has "${sentence}"`)
  }
  t.end()
})

test('each threat and each entry point names a test that exists, or states that no defence is sure', t => {
  const page = readPages('threats', 'threats-of-callers', 'threats-of-upstreams')
  const rows = page.split('\n\n').filter(part => /^\|.*\| (?:Defence|Tests) \|$/m.test(part)).flatMap(table => table.split('\n').slice(2))
  t.ok(rows.length > 40, `${rows.length} rows`)
  for (const row of rows.filter(row => row !== '')) t.ok(testLinks(row).length > 0 || /not a guarantee|none that is sure|is untrusted/.test(row), row)
  for (const [sentence, path] of testLinks(page)) t.ok(hasSentence(path, sentence), `${path} has "${sentence}"`)
  t.end()
})
