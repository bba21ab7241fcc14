import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { loadInterpreters } from '../src/index.js'

/** The message with which the module a.mjs of a folder does not load, without the folder. */
async function problemOf (t: Test, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-module-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return await loadInterpreters('./a.mjs', folder).then(() => 'it loads', (err: Error) => err.message.replaceAll(`${folder}/`, ''))
}

test('an error of syntax is reported with file, line, column and code', async t => {
  t.equal(await problemOf(t, { 'a.mjs': 'export default function () {\n\treturn 1 +* 2\n}\n' }), [
    'the interpreter "./a.mjs" cannot be used: loading it failed',
    'a.mjs:2:12  Unexpected token \'*\'',
    '    2 | \treturn 1 +* 2',
    '      |            ^'
  ].join('\n'))
})

test('an end that comes too early is reported after the last line of code', async t => {
  t.match(await problemOf(t, { 'a.mjs': 'export default () => {\n  if (1) {\n\n\n' }), /\na\.mjs:2:11 {2}Unexpected end of input\n {4}2 \| {3}if \(1\) \{\n {6}\| {11}\^$/)
})

test('an error of syntax in an imported file is reported with that file', async t => {
  const files = { 'a.mjs': 'import { x } from \'./b.mjs\'\nexport default () => x\n', 'b.mjs': 'import "./a.mjs"\nexport const x = = 1\n' }
  t.match(await problemOf(t, files), /\nb\.mjs:2:18 {2}Unexpected token '='\n/)
})

test('an export that does not exist and an error while the module runs have their place too', async t => {
  t.match(await problemOf(t, { 'a.mjs': 'import { y } from \'./b.mjs\'\nexport default () => y\n', 'b.mjs': 'export const x = 1\n' }), /\na\.mjs:1:10 {2}The requested module '\.\/b\.mjs' does not provide an export named 'y'\n/)
  t.match(await problemOf(t, { 'a.mjs': 'const a = undefined\nconst b = a.c\n' }), /\na\.mjs:2:13 {2}Cannot read properties of undefined \(reading 'c'\)\n {4}2 \| const b = a\.c\n/)
})

test('an error that a function of Polyvac throws for a module has the place of its call', async t => {
  const files = { 'a.mjs': `import { defineTools } from '${import.meta.resolve('@polyvac/core')}'\nconst tools = []\ndefineTools([...tools, { name: 'two words' }])\n` }
  t.match(await problemOf(t, files), /\na\.mjs:3:1 {2}the entry 0 of the tools: a tool cannot be named "two words"/)
})

test('an error without a place keeps its first line', async t => {
  t.match(await problemOf(t, { 'a.mjs': 'import "no-such-package"\n' }), /it imports the package "no-such-package", which is not installed; run `npm install` in \S+$/)
  t.match(await problemOf(t, { 'a.mjs': 'throw "a text"\n' }), /loading it failed: a text$/)
})
