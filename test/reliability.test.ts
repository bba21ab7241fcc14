import { test } from 'tap'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './fixtures/pages.js'

test('each of the 80 cases names a test or an attack that exists, or the reason why it is open', t => {
  const page = readFileSync(join(root, 'docs/explain/reliability.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+) \|$/gm)]
  t.strictSame(rows.map(([, number]) => Number(number)), Array.from({ length: 80 }, (_, i) => i + 1))
  for (const [, number, , drivers = ''] of rows) {
    const links = [...drivers.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)/g)]
    t.ok(links.length > 0 || /^open: .{10}/.test(drivers), `case ${number} is driven, or open with a reason`)
    for (const [, sentence = '', path = ''] of links) {
      const text = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8').replaceAll("\\'", "'") : ''
      t.ok(text.includes(sentence), `case ${number}: ${path} has "${sentence}"`)
    }
  }
  t.end()
})
