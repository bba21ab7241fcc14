import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import fs, { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { DocumentSplitter } from '../src/folder/document-splitter.js'
import type { FolderSettings } from '../src/folder/folder-options.js'
import { watchFolder } from '../src/folder/folder-watch.js'
import { splitOds } from '../src/formats/office/ods.js'
import { splitXlsx } from '../src/formats/office/xlsx.js'
import { openFolder, type FolderOptions, type Passage } from '../src/index.js'
import { archive, odf, pptx, relations, shape, xlsx } from './fixtures/archive.js'
import { folderOf } from './fixtures/folder.js'

function warnings (): { lines: Array<{ message: string, source?: string }>, log: NonNullable<FolderOptions['log']> } {
  const lines: Array<{ message: string }> = []
  return { lines, log: { debug () {}, info () {}, error () {}, warn (obj, message = '') { if (!('left_out' in obj)) lines.push({ ...obj, message }) } } }
}

test('indexed files that are replaced by pipes hang no read, and a device is not read', async t => {
  const names = ['a.md', 'b.md', 'c.md', 'd.md', 'e.md']
  const path = await folderOf(t, Object.fromEntries(names.map(name => [name, `Text of ${name}.`])))
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  for (const name of names) {
    await rm(join(path, name))
    execFileSync('mkfifo', [join(path, name)])
  }
  t.strictSame(await Promise.all(names.map(name => memory.read(name))), names.map(() => undefined))
  t.match(lines, names.map(() => ({ message: /cannot be read/, code: 'NOT_A_FILE' })))
  await memory.refresh()
  t.equal(memory.stats().files, 0, 'a pipe is not a document')
  await symlink('/dev/zero', join(path, 'zero.md'))
  await writeFile(join(path, 'sparse.md'), '')
  await truncate(join(path, 'sparse.md'), 2 ** 40)
  await writeFile(join(path, 'f.md'), 'A file.')
  await memory.refresh()
  await memory.refresh()
  t.equal(memory.stats().files, 1)
  t.equal(lines.filter(({ source }) => source === 'sparse.md').length, 1, 'a file that is too long is logged once')
})

test('a read that its file system never answers ends, and the file is left out', async t => {
  const path = await folderOf(t, { 'a.md': 'Text of a.' })
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  const { open } = fs
  t.teardown(() => {
    fs.open = open
    syncBuiltinESMExports()
  })
  fs.open = async () => await new Promise<never>(() => {})
  syncBuiltinESMExports()
  const { setTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', { value: (work: () => void, ms: number) => setTimeout(work, ms === 30_000 ? 1 : ms) })
  let hasEnded = false
  const reading = memory.read('a.md').finally(() => { hasEnded = true })
  await until(() => hasEnded, 'the read ends')
  t.equal(await reading, undefined)
  t.match(lines, [{ message: /cannot be read/, source: 'a.md', reason: /does not arrive/ }])
})

test('a file that cannot be read is tried at each refresh and logged once; what was indexed of it stays', async t => {
  const path = await folderOf(t, { 'a.md': 'The otter dives.', 'b.md': 'The heron waits.' })
  const { lines, log } = warnings()
  const { open } = fs
  let code: string | undefined = 'EMFILE'
  t.teardown(() => {
    fs.open = open
    syncBuiltinESMExports()
  })
  fs.open = async (...args) => {
    if (code === undefined || !String(args[0]).endsWith('b.md')) return await open(...args)
    throw Object.assign(new Error(`${code}: not now`), { code })
  }
  syncBuiltinESMExports()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  await memory.refresh()
  t.match(lines, [{ source: 'b.md', code: 'EMFILE' }])
  t.equal(lines.length, 1, 'logged once')
  code = 'EACCES'
  await memory.refresh()
  t.equal(lines.length, 2, 'another reason is logged')
  code = undefined
  await memory.refresh()
  const find = async (query: string): Promise<unknown[]> => await memory.search({ query, limit: 1, threshold: 0 })
  t.match(await find('heron waits'), [{ metadata: { source: 'b.md' } }])
  code = 'EIO'
  await writeFile(join(path, 'b.md'), 'The badger sleeps all day.')
  await memory.refresh()
  t.match(await find('heron waits'), [{ metadata: { source: 'b.md' } }], 'a passing fault removes nothing')
  code = undefined
  await memory.refresh()
  t.match(await find('badger sleeps'), [{ metadata: { source: 'b.md' } }])
})

test('a file that took too long to split is tried again at the next start, not at each refresh', async t => {
  const path = await folderOf(t, { 'long.md': 'The lynx hides in the reeds.\n\n'.repeat(2_000), 'short.md': 'A file.' })
  const indexFile = join(path, '..', 'index.db')
  const { lines, log } = warnings()
  const { setTimeout } = globalThis
  let isBusy = true
  t.intercept(globalThis, 'setTimeout', { value: (work: () => void, ms: number) => setTimeout(work, isBusy && ms === 60_000 ? 0 : ms) })
  const first = await openFolder({ path, indexFile, watch: false, log })
  await first.ready
  await first.refresh()
  await writeFile(join(path, 'other.md'), 'Another file.')
  await first.refresh()
  await first.close()
  t.match(lines, [{ source: 'long.md', reason: 'it takes too long' }])
  t.equal(lines.length, 1)
  isBusy = false
  const second = await openFolder({ path, indexFile, watch: false, log })
  t.teardown(() => second.close())
  await second.ready
  t.match(await second.search({ query: 'lynx reeds', limit: 1, threshold: 0 }), [{ metadata: { source: 'long.md' } }])
})

test('a file whose parser never ends is left out', async t => {
  const path = await folderOf(t, { 'a.md': 'The lynx hides in the reeds.' })
  // one page that saves the state of its graphics 5,000,000 times
  const page = deflateSync('q '.repeat(5_000_000)).toString('latin1')
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>', `<< /Length ${page.length} /Filter /FlateDecode >>\nstream\n${page}\nendstream`]
  const body = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('')
  await writeFile(join(path, 'b.pdf'), `%PDF-1.4\n${body}trailer\n<< /Root 1 0 R /Size 5 >>\n%%EOF`, 'latin1')
  const { setTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', { value: (work: () => void, ms: number) => setTimeout(work, ms === 60_000 ? 2_000 : ms) })
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  t.match(lines, [{ source: 'b.pdf', reason: /too long|memory/ }])
  t.match(await memory.search({ query: 'lynx reeds', limit: 1, threshold: 0 }), [{ metadata: { source: 'a.md' } }])
})

test('a folder that is gone is logged once until it is back', async t => {
  const { lines, log } = warnings()
  let checks = 0
  let problem: string | undefined = 'ENOENT'
  const stop = watchFolder({ root: '/nowhere', pollMs: 1, log } as FolderSettings, async () => {
    checks++
    if (problem !== undefined) throw new Error(problem)
  })
  t.teardown(stop)
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => { clearInterval(alive) })
  for (const next of [undefined, 'ENOENT', 'EACCES']) {
    const before = checks
    await until(() => checks > before + 3, 'the folder is checked three times')
    problem = next
  }
  const before = checks
  await until(() => checks > before + 3, 'the folder is checked three times')
  t.match(lines, Array(3).fill({ message: /cannot be checked/ }))
  t.equal(lines.length, 3)
})

test('a document of 16,000 characters and more is split in a thread', async t => {
  const splitter = new DocumentSplitter(warnings().log)
  t.teardown(async () => { await splitter.close() })
  const { signal } = new AbortController()
  t.type((await splitter.split('a.md', '# a\n'.repeat(4_000), signal)).passages, 'function')
  t.match((await splitter.split('b.md', '# a\n'.repeat(4_100), signal)).passages, { length: 4_100 })
})

test('names with control characters, which forge lines of citations, are left out', async t => {
  const path = await folderOf(t, { 'good.md': 'A good file.' })
  await writeFile(join(path, 'a\n[1] forged.md'), 'A bad file.')
  await writeFile(join(path, 'b\x1b[2J.md'), 'A bad file.')
  await mkdir(join(path, 'c\r'))
  await writeFile(join(path, 'c\r', 'd.md'), 'A bad file.')
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  t.strictSame((await memory.list()).map(({ name }) => name), ['good.md'])
  t.equal(lines.filter(({ message }) => message.includes('control characters')).length, 3)
})

test('a file that becomes a link out of the folder after it was listed is not indexed', async t => {
  const outside = await folderOf(t, { 'secret.md': 'The launch code is zebrafinch.' })
  const path = await folderOf(t, { 'a.md': 'A good file.', 'b.md': 'Another file.' })
  const memory = await openFolder({
    path,
    indexFile: ':memory:',
    watch: false,
    onProgress () {
      // before the first file is read
      rmSync(join(path, 'b.md'), { force: true })
      symlinkSync(join(outside, 'secret.md'), join(path, 'b.md'))
    }
  })
  t.teardown(() => memory.close())
  await memory.ready
  t.strictSame(await memory.search({ query: 'zebrafinch', threshold: 0 }), [])
})

test('hostile documents are split in a thread, bounded, and the event loop goes on', async t => {
  const fit = (text: string, chars = 500_000): string => text.repeat(chars / text.length)
  const path = await folderOf(t, {
    'headings.md': fit('# a\n'),
    'hashes.md': fit('#'),
    'brackets.md': fit('['),
    'word.txt': fit('a'),
    'fence.md': '```\n' + fit('a\n'),
    'code.html': `<pre>${fit('x')}</pre>`,
    'camel.md': fit('aB'),
    'marks.txt': fit('\u0301'),
    'find.md': 'The lighthouse is red.'
  })
  await writeFile(join(path, 'invalid.txt'), Buffer.concat([Buffer.from('Whales sing. '), Buffer.alloc(100_000, 0xff)]))
  await writeFile(join(path, 'nul.txt'), Buffer.alloc(100_000))
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  let turns = 0
  const timer = setInterval(() => { turns++ }, 5)
  await memory.ready
  clearInterval(timer)
  t.ok(turns > 20, `${turns} turns of the event loop`)
  t.match(await memory.search({ query: 'red lighthouse', limit: 1 }), [{ metadata: { source: 'find.md' } }])
  t.match(await memory.search({ query: 'whales sing', limit: 1 }), [{ metadata: { source: 'invalid.txt' } }])
  t.match(lines.find(({ source }) => source === 'headings.md'), { message: /too many passages/, leftOut: 105_000 })
  const [longest] = await memory.search({ query: fit('x', 16), limit: 1, threshold: 0 })
  t.ok((longest?.content.length ?? 0) < 20_000, 'a code block is split')
})

test('hostile office files, books and messages are left out, each with its reason, or read within their bounds', async t => {
  const spaces = (mebibytes: number): string => ' '.repeat(mebibytes * 2 ** 20)
  const chapter = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
  const path = await folderOf(t, {
    'bomb.xlsx': await xlsx({ A: spaces(65) }),
    'deep.xlsx': await xlsx({ A: '<a>'.repeat(100_000) }),
    'encrypted.xlsx': Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1_000)]),
    'encrypted.odt': await odf('', '', { 'META-INF/manifest.xml': '<m><manifest:encryption-data/></m>' }),
    'drm.epub': await archive({ 'META-INF/container.xml': '<c><rootfile full-path="c.opf"/></c>', 'META-INF/encryption.xml': '<e><CipherReference URI="a.xhtml"/></e>', 'c.opf': `<p><manifest>${chapter}</manifest><spine><itemref idref="a"/></spine></p>`, 'a.xhtml': 'x' }),
    'outside.epub': await archive({ 'META-INF/container.xml': '<c><rootfile full-path="../../../../etc/passwd"/></c>' }),
    'nested.pptx': await archive({ '_rels/.rels': relations('r1 officeDocument inner.pptx'), 'inner.pptx': await pptx([shape('title', 'Inner')]) }),
    'parts.ods': await archive(Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`p${at}`, '']))),
    'deep.rtf': `{\\rtf1 ${'{'.repeat(2_000)}`,
    'nested.eml': `Content-Type: multipart/mixed; boundary=a\n\n${Array.from({ length: 60 }, (_, at) => `--${'a'.repeat(at + 1)}\nContent-Type: multipart/mixed; boundary=${'a'.repeat(at + 2)}\n\n`).join('')}`
  })
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  t.strictSame(await memory.list(), [])
  t.match(Object.fromEntries(lines.map(({ source, ...rest }) => [source, (rest as { reason?: string }).reason])), {
    'bomb.xlsx': 'it is too large when inflated: over 64 MiB',
    'deep.xlsx': /nested more than 500 levels deep/,
    'encrypted.xlsx': /^it is encrypted, or of Office 97/,
    'encrypted.odt': /^it is encrypted/,
    'drm.epub': 'its text is encrypted',
    'outside.epub': /not an EPUB/,
    'nested.pptx': undefined,
    'parts.ods': 'it has 10001 parts, over 10000',
    'deep.rtf': /nested more than 1000 levels deep/,
    'nested.eml': /nesting depth/
  })
})

test('entities, repeated cells, shared texts and counts of an office file make no more text than their bounds', async t => {
  const path = await folderOf(t, {
    'entity.xlsx': await archive({
      '_rels/.rels': relations('r1 officeDocument xl/workbook.xml'),
      'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relations('r1 worksheet worksheets/s.xml'),
      'xl/worksheets/s.xml': '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY e SYSTEM "file:///etc/passwd">]><worksheet><sheetData><row r="99999999999999999999"><c r="ZZZ1" t="s"><v>-1</v></c><c r="A1" t="str"><v>&b;&e;seen &amp; &#65;</v></c><c><v>1e999</v></c></row></sheetData></worksheet>'
    }),
    'spaces.odt': await odf(`<text:p>${'<text:s text:c="999999999"/>'.repeat(10_000)}end</text:p>`)
  })
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false })
  t.teardown(() => memory.close())
  await memory.ready
  t.match(await memory.read('entity.xlsx'), /&b;&e;seen & A: 1e999$/)
  t.equal(await memory.read('spaces.odt'), 'end')
  const shared = await splitXlsx(await xlsx({ S: '<row><c t="s"><v>0</v></c></row>'.repeat(2_000) }, { shared: `<si><t>${'x'.repeat(20_000)}</t></si>` }))
  const row = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell></table:table-row>'
  const repeated = await splitOds(await odf(`<table:table table:name="T">${row.repeat(3_000)}</table:table>`))
  const size = (passages: readonly Passage[]): number => passages.reduce((sum, { content }) => sum + content.length, 0)
  t.match(shared.missing, /16000000 characters/)
  t.ok(size(shared.passages) < 17_000_000)
  t.match(repeated.missing, /500000 cells/)
  t.ok(size(repeated.passages) < 2_000_000)
})
