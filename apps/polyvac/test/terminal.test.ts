import { test } from 'tap'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toPlainLines, toPlainText } from '../src/terminal.js'
import { emptyFolder, polyvac, runPolyvac } from '../../../test/fixtures/command.js'

test('characters that a terminal acts on are escaped, and texts of all languages are not', async t => {
  t.equal(toPlainText('a\x1b]0;title\x07\x00\nb\r\x9b2J'), 'a\\u001b]0;title\\u0007\\u0000\\u000ab\\u000d\\u009b2J')
  t.equal(toPlainText('\u202egpj.exe \u{e0041}'), '\\u202egpj.exe \\udb40\\udc41')
  t.equal(toPlainLines('one\r\ntwo\x1b[2J'), 'one\ntwo\\u001b[2J')
  const texts = 'Grüße, 漢字, עברית, हिन्दी, 👩‍👩‍👧, a\tb'
  t.equal(toPlainText(texts), texts)
})

test('ask writes no escape sequence of an answer or of a file name to the terminal', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), 'export default () => ({ answer: "a\\x1b[2J", source_documents: [{ page_content: "x", metadata: { source: "b\\x1b]0;t\\x07.md" } }] })\n')
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: ./agent.mjs }\nvac: { demo: {} }\n')
  const asked = await runPolyvac(['ask', 'x'], folder)
  t.equal(asked.code, 0)
  t.match(asked.stdout, /a\\u001b\[2J/)
  t.notMatch(asked.stdout, '\x1b')
  const blank = await runPolyvac(['ask', ' '], folder)
  t.equal(blank.code, 2)
  t.match(blank.stderr, /the question is blank/)
})

test('check of a service whose packages are not installed names the command that installs them', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), 'import "no-such-package"\nexport default () => "x"\n')
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: ./agent.mjs }\nvac: { demo: {} }\n')
  const { code, stderr } = await runPolyvac(['check'], folder)
  t.equal(code, 1)
  t.match(stderr, /imports the package "no-such-package", which is not installed; run `npm install` in/)
})

test('check ends although a module has started a timer, and reports a module that throws null', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: ./agent.mjs }\nvac: { demo: {} }\n')
  await writeFile(join(folder, 'agent.mjs'), 'setInterval(() => {}, 1000)\nexport default () => "x"\n')
  const good = polyvac(t, ['check'], folder)
  t.equal(await good.ended, 0, good.out.stderr)
  await writeFile(join(folder, 'agent.mjs'), 'setInterval(() => {}, 1000)\nthrow null\n')
  const bad = polyvac(t, ['check'], folder)
  t.equal(await bad.ended, 1)
  t.match(bad.out.stderr, /interpreter .*agent.mjs.* cannot be used: loading it failed: null/)
})
