import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { deflateSync } from 'node:zlib'
import { test } from 'tap'
import JSZip from 'jszip'
import { openFolder } from '../src/index.js'
import { folderOf, memoryOf } from './fixtures/folder.js'
import { pdfOf } from './fixtures/pdf.js'

/** A PDF with one line of text on each page. */
function pdf (...pages: string[]): Buffer {
  return pdfOf(pages.map(text => `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`))
}

/** A paragraph that begins with "# " is a heading. */
async function docx (...paragraphs: string[]): Promise<Buffer> {
  const zip = new JSZip()
  zip.file('[Content_Types].xml', '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>')
  zip.file('_rels/.rels', '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>')
  const body = paragraphs.map(text => `<w:p>${text.startsWith('# ') ? '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' : ''}<w:r><w:t>${text.replace('# ', '')}</w:t></w:r></w:p>`).join('')
  zip.file('word/document.xml', `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`)
  return await zip.generateAsync({ type: 'nodebuffer', compression: 'DEFLATE' })
}

test('PDF, DOCX, CSV, notebooks, JSON, YAML and source code are read, with page, cell or line', async t => {
  const memory = await memoryOf(t, {
    'manual.pdf': pdf('The first page is about copper kettles.', 'Walruses sleep on drifting ice floes.'),
    'letter.docx': await docx('Dear reader,', 'The marmot whistles before a thunderstorm.'),
    'lease.docx': await docx('# Tenancy', 'The flat is let to Imke.', '# Deposit', 'She pays three rents.', 'She gets them back.'),
    'tools.csv': 'tool,shelf,price\nspokeshave,"C 4",31\n"drawknife, long",B 2,45\n',
    'study.ipynb': JSON.stringify({ cells: [{ cell_type: 'markdown', source: ['# Study\n', 'Intro.'] }, { cell_type: 'code', source: 'plot_barnacles(depth=3)' }] }),
    'broken.ipynb': '{ "cells": ',
    'server.yaml': 'server:\n  port: 8443\n  bindings:\n    - loopback\n',
    'limits.json': '{"quota":{"lanterns":17}}',
    'pump.py': '# pumps\ndef drain_bilge(rate):\n    return rate * 2\n'
  }, { extensions: ['.pdf', '.docx', '.csv', '.ipynb', '.yaml', '.json', '.py'] })
  for (const [query, content, metadata] of [
    ['where do walruses sleep', /drifting ice/, { source: 'manual.pdf', page: '2' }],
    ['marmot thunderstorm', /whistles/, { source: 'letter.docx', lines: '2' }],
    ['drawknife shelf', /drawknife, long: shelf: B 2; price: 45/, { source: 'tools.csv', lines: '2-3' }],
    ['barnacles depth', /plot_barnacles/, { source: 'study.ipynb', cell: '2', heading: 'Study' }],
    ['server port', /port: 8443/, { source: 'server.yaml', lines: '2', heading: 'server' }],
    ['quota lanterns', /lanterns: 17/, { source: 'limits.json', heading: 'quota' }],
    ['drain bilge', /^```py\n# pumps\ndef drain_bilge/, { source: 'pump.py', lines: '1-3' }]
  ] as const) {
    t.match((await memory.search({ query, threshold: 0 }))[0], { content, metadata }, query)
  }
  t.match(await memory.read('manual.pdf'), 'copper kettles.\n\nWalruses')
  t.equal(await memory.read('lease.docx'), 'Tenancy\n\nThe flat is let to Imke.\n\nDeposit\n\nShe pays three rents.\n\nShe gets them back.')
})

test('text is read in UTF-16 with a byte order mark, in windows-1252, and in UTF-8 with damage', async t => {
  const utf16 = Buffer.from('\ufeffThe señor keeps llamas.', 'utf16le')
  const memory = await memoryOf(t, {
    'little.txt': utf16,
    'big.txt': Buffer.from(utf16).swap16(),
    'windows.txt': Buffer.from('The caf\xe9 sells \x93crumpets\x94 for \x80 4.', 'latin1'),
    'damaged.txt': Buffer.concat([Buffer.from('Die Brücke über den Fluss '), Buffer.from([0xc3])]),
    'replaced.txt': 'A file with \ufffd in it.',
    'zeros.txt': Buffer.alloc(100)
  })
  const texts = await Promise.all((await memory.list()).map(async ({ uri }) => [uri, await memory.read(uri)]))
  t.strictSame(Object.fromEntries(texts), {
    'little.txt': 'The señor keeps llamas.',
    'big.txt': 'The señor keeps llamas.',
    'windows.txt': 'The café sells “crumpets” for € 4.',
    'damaged.txt': 'Die Brücke über den Fluss \ufffd',
    'replaced.txt': 'A file with \ufffd in it.'
  })
  t.match(await memory.search({ query: 'café crumpets', limit: 1, threshold: 0 }), [{ metadata: { source: 'windows.txt' } }])
})

test('a damaged, encrypted or oversized file is reported once and left out', async t => {
  const warnings: { source?: string, reason?: string }[] = []
  const log = { warn: (fields: object) => { if (!('left_out' in fields)) warnings.push(fields) }, info () {}, error () {}, debug () {} }
  const encrypted = pdf('Secret.').toString('latin1').replace('/Root 1 0 R', '/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /O (01234567890123456789012345678901) /U (01234567890123456789012345678901) /P -4 >>')
  const path = await folderOf(t, {
    'damaged.pdf': 'this is not a PDF',
    'damaged.docx': 'this is not a ZIP',
    'encrypted.pdf': Buffer.from(encrypted, 'latin1'),
    'damaged.ipynb': '{ "cells": ',
    'list.ipynb': `[${' '.repeat(1_000)}]`,
    'long.pdf': Buffer.alloc(20_000),
    'good.md': 'The heron waits.'
  })
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, maxFileBytes: 10_000, log: log as never })
  t.teardown(async () => { await memory.close() })
  await memory.ready
  await memory.refresh()
  t.strictSame(warnings.map(({ source }) => source).sort(), ['damaged.docx', 'damaged.ipynb', 'damaged.pdf', 'encrypted.pdf', 'list.ipynb', 'long.pdf'])
  t.match(warnings.find(({ source }) => source === 'encrypted.pdf')?.reason, /password/i)
  t.strictSame((await memory.list()).map(({ name }) => name), ['good.md'])
})

test('a small file that is huge when inflated is reported and left out, also where it states another size', async t => {
  const warnings: { source?: string, reason?: string }[] = []
  const log = { warn: (fields: object) => { if (!('left_out' in fields)) warnings.push(fields) }, info () {}, error () {}, debug () {} }
  const text = 'a'.repeat(18 * 2 ** 20)
  const big = await docx(text)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(await JSZip.loadAsync(big).then(async zip => (await zip.file('word/document.xml')?.async('nodebuffer'))?.length ?? 0))
  const lying = Buffer.from(big.toString('latin1').replaceAll(size.toString('latin1'), '\x10\0\0\0'), 'latin1')
  const packed = deflateSync(Buffer.alloc(40 * 2 ** 20, ' '), { level: 9 }).toString('latin1')
  const stream = /<< \/Length \d+ >>\nstream\n[^]*?\nendstream/
  const bomb = pdf('One.').toString('latin1').replace(stream, () => `<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n${packed}\nendstream`)
  const path = await folderOf(t, { 'big.docx': big, 'lying.docx': lying, 'big.pdf': Buffer.from(bomb, 'latin1'), 'good.pdf': pdf('The heron waits.') })
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log: log as never })
  t.teardown(async () => { await memory.close() })
  await memory.ready
  t.match(warnings.sort((a, b) => String(a.source) < String(b.source) ? -1 : 1), [
    { source: 'big.docx', reason: 'it is too large when inflated: over 16 MiB' },
    // on a busy machine the bound of time comes first
    { source: 'big.pdf', reason: /^it is too large when inflated: over 32 MiB$|^it takes too long$/ },
    { source: 'lying.docx', reason: 'it is too large when inflated: over 16 MiB' }
  ])
  t.strictSame((await memory.list()).map(({ name }) => name), ['good.pdf'])
})

test('a notebook without text in its cells, and a table with long titles, do not keep other files from being read', async t => {
  const path = await folderOf(t, {
    'a.md': 'The otter hunts at dawn.',
    'odd.ipynb': JSON.stringify({ cells: [{ source: { toString: 1 } }, { source: [{ toString: 1 }, 'The heron waits.'] }, null] }),
    'titles.csv': [Array.from({ length: 20 }, () => 'title '.repeat(1_000)).join(','), ...Array.from({ length: 20 }, () => Array(20).fill('x').join(','))].join('\n')
  })
  const warnings: unknown[] = []
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log: { debug () {}, info () {}, error: one => warnings.push(one), warn: one => warnings.push(one) } })
  t.teardown(() => memory.close())
  await memory.ready
  t.strictSame(warnings, [])
  t.match(await memory.search({ query: 'otter hunts', limit: 1, threshold: 0.6 }), [{ metadata: { source: 'a.md' } }])
  t.match(await memory.search({ query: 'heron waits', limit: 1, threshold: 0.6 }), [{ metadata: { source: 'odd.ipynb', cell: '2' } }])
  const [row] = await memory.search({ query: 'title', limit: 1, threshold: 0 })
  t.equal(row?.metadata['source'], 'titles.csv')
  t.ok((row?.content.length ?? Infinity) < 5_000, 'a title that each row repeats is cut')
})

test('a parser that is not installed is named once for each file; one that lacks a package itself is not', async t => {
  const own = dirname(fileURLToPath(import.meta.resolve('@polyvac/documents/package.json')))
  const app = await folderOf(t, { 'docs/manual.pdf': pdf('Kettles.'), 'docs/letter.docx': await docx('Dear reader,'), 'docs/list.xlsx': await docx('A list'), 'docs/note.eml': 'Subject: a', 'docs/good.md': 'The heron waits.' })
  const modules = join(app, 'node_modules')
  await mkdir(join(modules, '@polyvac/documents'), { recursive: true })
  await mkdir(join(modules, '@orama'))
  for (const part of ['dist', 'package.json']) await cp(join(own, part), join(modules, '@polyvac/documents', part), { recursive: true })
  const { dependencies } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8')) as { dependencies: object }
  for (const name of Object.keys(dependencies)) await symlink(join(own, '../../node_modules', name), join(modules, name))
  await mkdir(join(modules, 'mammoth'))
  await writeFile(join(modules, 'mammoth/package.json'), '{ "name": "mammoth", "type": "module", "exports": "./index.js" }')
  await writeFile(join(modules, 'mammoth/index.js'), 'import "a-part-of-it"')
  await writeFile(join(app, 'read.mjs'), `
    import { openFolder } from '@polyvac/documents'
    const warnings = []
    const log = { warn: ({ source, reason }) => { if (source !== undefined) warnings.push(source + ': ' + reason) }, info () {}, error () {}, debug () {} }
    const memory = await openFolder({ path: 'docs', indexFile: ':memory:', watch: false, log })
    await memory.ready
    await memory.refresh()
    process.stdout.write(JSON.stringify({ warnings: warnings.sort(), names: (await memory.list()).map(({ name }) => name) }))
    await memory.close()`)
  const { stdout } = await promisify(execFile)(process.execPath, ['read.mjs'], { cwd: app })
  t.match(JSON.parse(stdout), {
    warnings: [/^letter\.docx: .*a-part-of-it/, 'list.xlsx: install jszip to read it', 'manual.pdf: install unpdf to read it', 'note.eml: install postal-mime to read it'], names: ['good.md']
  })
  t.equal((JSON.parse(stdout) as { warnings: string[] }).warnings.length, 4)
})
