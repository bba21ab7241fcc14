import { mkdir, readFile, rename, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type Test } from 'tap'
import { openDatabase } from '@polyvac/sqlite'
import { DEFAULT_EXTENSIONS } from '../src/formats/table.js'
import { documentsInterpreter, openFolder, type FolderMemory, type FolderOptions } from '../src/index.js'
import { folderOf, GUIDE, memoryOf } from './fixtures/folder.js'

async function open (t: Test, options: FolderOptions): Promise<FolderMemory> {
  const memory = await openFolder({ watch: false, ...options })
  t.teardown(async () => { await memory.close() })
  return memory
}

/** Log lines of level warn. */
function warnings (): { lines: { message: string, [key: string]: unknown }[], log: NonNullable<FolderOptions['log']> } {
  const lines: { message: string }[] = []
  return { lines, log: { debug () {}, info () {}, error () {}, warn (obj, message = '') { lines.push({ ...obj, message }) } } }
}

test('a missing folder, a file and invalid options are refused at once', async t => {
  const path = await folderOf(t, { 'a.md': 'x' })
  await t.rejects(openFolder({ path: join(path, 'nothing') }), { code: 'DOCUMENTS_FOLDER_NOT_FOUND', message: /nothing.*it does not exist.*set `path`/ })
  await t.rejects(openFolder({ path: join(path, 'a.md') }), { code: 'DOCUMENTS_FOLDER_NOT_FOUND', message: /it is a file/ })
  for (const bad of [{ k: 0 }, { k: 101 }, { maxFiles: 0 }, { maxFileBytes: NaN }, { pollMs: 1 }, { extensions: ['md'] }]) {
    await t.rejects(openFolder({ path, indexFile: ':memory:', ...bad }), { code: 'DOCUMENTS_INVALID_OPTION' })
  }
  await t.rejects(openFolder({ path, indexFile: join(path, 'a.md', 'x.db') }), { code: 'DOCUMENTS_INDEX_FILE' })
})

test('an empty folder is not an error', async t => {
  const memory = await memoryOf(t, {})
  t.match(memory.stats(), { files: 0, passages: 0, ready: true })
  t.strictSame(await memory.search({ query: 'anything' }), [])
  t.strictSame(await memory.list(), [])
})

test('a folder without documents is logged once, with the extensions', async t => {
  const { lines, log } = warnings()
  const memory = await memoryOf(t, { 'a.png': 'Text.', 'empty.md': '' }, { log })
  await memory.refresh()
  t.equal(lines.length, 1)
  t.match(lines[0], { folder: /docs$/, extensions: [...DEFAULT_EXTENSIONS].sort(), message: /^no documents found/ })
})

test('a search before the first index waits for it, until its signal fires', async t => {
  const path = await folderOf(t, GUIDE)
  const memory = await open(t, { path, indexFile: ':memory:' })
  t.equal(memory.stats().ready, false)
  await t.rejects(memory.search({ query: 'cancel', signal: AbortSignal.abort(new Error('left')) }), { message: 'left' })
  t.match(await memory.search({ query: 'cancel a task' }), [{ metadata: { heading: 'Guide > Cancel a task' } }])
  t.equal(memory.stats().ready, true)
})

test('a refresh replaces a first index that was aborted', async t => {
  const path = await folderOf(t, GUIDE)
  const controller = new AbortController()
  const memory = await open(t, { path, indexFile: ':memory:', signal: controller.signal })
  controller.abort(new Error('stopped'))
  await t.rejects(memory.ready, { message: 'stopped' })
  await t.rejects(memory.search({ query: 'cancel a task' }), { message: 'stopped' })
  await memory.refresh()
  t.match(await memory.search({ query: 'cancel a task' }), [{ metadata: { heading: 'Guide > Cancel a task' } }])
})

test('hits name their file, heading and lines; documents are listed and read', async t => {
  const memory = await memoryOf(t, { ...GUIDE, 'sub/page.html': '<h1>Page</h1><p>About zebras.</p>' })
  t.match(await memory.search({ query: 'zebras' }), [{ content: 'About zebras.', score: Number, metadata: { source: 'sub/page.html', heading: 'Page', lines: '1' } }])
  t.strictSame(await memory.list(), [
    { uri: 'faq.txt', name: 'faq.txt', mimeType: 'text/plain' },
    { uri: 'guide.md', name: 'guide.md', mimeType: 'text/markdown' },
    { uri: 'sub/page.html', name: 'sub/page.html', mimeType: 'text/html' }
  ])
  t.equal(await memory.read('faq.txt'), GUIDE['faq.txt'])
  for (const uri of ['../outside.md', 'nothing.md', '/etc/passwd', 'sub/../faq.txt']) t.equal(await memory.read(uri), undefined)
})

test('hidden folders, node_modules, ignored and too long files, links that lead out and binary files are left out', async t => {
  const { lines, log } = warnings()
  const path = await folderOf(t, {
    'a.md': 'alpha',
    '.git/b.md': 'beta',
    'node_modules/c/d.md': 'gamma',
    'drafts/e.md': 'delta',
    'long.md': 'x '.repeat(600),
    'binary.txt': Buffer.from([104, 0, 105]),
    'code.js': 'epsilon',
    'in/f.md': 'zeta',
    '../outside/g.md': 'eta'
  })
  await symlink(join(dirname(path), 'outside'), join(path, 'out'))
  await symlink(join(path, 'in'), join(path, 'again'))
  await symlink(path, join(path, 'in', 'loop'))
  const memory = await open(t, { path, indexFile: ':memory:', ignore: ['drafts/'], maxFileBytes: 1_000, log })
  await memory.ready
  t.strictSame((await memory.list()).map(document => document.name).filter(name => !/^(?:in|again)\//.test(name)), ['a.md'])
  t.equal((await memory.list()).length, 2)
  t.ok(lines.some(line => line['source'] === 'long.md' && /longer than `max_file_bytes`/.test(line.message)))
  t.ok(lines.some(line => line['source'] === 'binary.txt' && /not text/.test(line.message)))
})

test('more extensions are an option, and files past maxFiles are left out', async t => {
  const { lines, log } = warnings()
  const memory = await memoryOf(t, { 'a.rst': 'alpha', 'b.rst': 'beta', 'c.rst': 'gamma', 'd.md': 'delta' }, { extensions: ['.RST'], maxFiles: 2, log })
  t.equal(memory.stats().files, 2)
  t.match(lines, [{ max_files: 2, message: /more than `max_files`/ }, { message: '1 file left out: 1 or more past `max_files`; to read them: raise `max_files`' }])
})

test('what is left out is one line with the number of each ending and reason, also after a second start', async t => {
  const files = {
    'a.md': 'alpha',
    'b.wpd': 'x',
    'c.WPD': 'x',
    'd.pages': 'x',
    'long.txt': 'x '.repeat(600),
    'binary.txt': Buffer.from([104, 0, 105]),
    'bad.ipynb': '{',
    'bad.pdf': 'no PDF',
    'e.name that is not an ending': 'x',
    // none of these is expected
    'x.png': 'x',
    'y.js': 'x',
    'package.json': '{}',
    '.hidden.wpd': 'x',
    'node_modules/z.wpd': 'x',
    'drafts/z.wpd': 'x'
  }
  const path = await folderOf(t, files)
  const options = { path, indexFile: join(path, '..', 'kept.db'), ignore: ['drafts/'], maxFileBytes: 1_000 }
  const text = '8 files left out: 2 .wpd, 2 damaged, 1 .pages, 1 longer than `max_file_bytes`, 1 not text, 1 with other endings; ' +
    'to read them: name other endings in `extensions`, where they are text; repair the damaged ones; raise `max_file_bytes`'
  for (const start of ['first', 'second']) {
    const { lines, log } = warnings()
    const memory = await open(t, { ...options, log })
    await memory.ready
    t.strictSame(lines.filter(line => 'left_out' in line).map(({ message }) => message), [text], start)
    t.match(memory.leftOut(), { files: 8, text, reasons: [{ reason: '.wpd', files: 2, remedy: /extensions/ }] })
    await writeFile(join(path, 'new.wpd'), 'x')
    await memory.refresh()
    t.equal(memory.leftOut().files, 9, 'a refresh counts again')
    await unlink(join(path, 'new.wpd'))
    await memory.close()
  }
  const many = await memoryOf(t, Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a.x${i}`, ''])))
  t.equal(many.leftOut().files, 300)
  t.match(many.leftOut().reasons, { length: 12 }, 'the reasons have a bound')
})

test('byte order marks, CRLF and invalid bytes are handled', async t => {
  const memory = await memoryOf(t, { 'a.md': Buffer.concat([Buffer.from('\ufeff# Über\r\n\r\nalpha '), Buffer.from([0xff, 0xfe]), Buffer.from(' omega\r\nend')]) })
  const [hit] = await memory.search({ query: 'alpha omega' })
  t.match(hit, { content: 'alpha \ufffd\ufffd omega\nend', metadata: { heading: 'Über', lines: '3-4' } })
})

test('a second start reads only what changed', async t => {
  const path = await folderOf(t, GUIDE)
  const indexFile = join(path, '..', 'kept', 'index.db')
  const first = await open(t, { path, indexFile })
  await first.ready
  await first.close()
  const writes: number[] = []
  await writeFile(join(path, 'new.md'), 'walrus')
  // only the time of this one changes: it is read, but not written again
  await utimes(join(path, 'faq.txt'), new Date(), new Date(Date.now() + 5_000))
  const second = await open(t, { path, indexFile, onProgress: progress => { writes.push(progress.files - progress.done) } })
  await second.ready
  t.equal(writes[0], 2)
  t.equal((await second.search({ query: 'walrus' })).length, 1)
  t.equal((await second.search({ query: 'log standard output' })).length, 1)
})

test('refresh notices new, changed and removed files', async t => {
  const path = await folderOf(t, { 'a.md': 'walrus', 'b.md': 'zebra' })
  const memory = await open(t, { path, indexFile: ':memory:' })
  await memory.ready
  const changes: number[] = []
  memory.onChange(stats => { changes.push(stats.files) })
  await memory.refresh()
  await writeFile(join(path, 'a.md'), 'elephants')
  await writeFile(join(path, 'c.md'), 'giraffe')
  await unlink(join(path, 'b.md'))
  await Promise.all([memory.refresh(), memory.refresh(), memory.refresh()])
  const found = async (query: string): Promise<number> => (await memory.search({ query })).length
  t.strictSame([await found('walrus'), await found('zebra'), await found('elephant'), await found('giraffe')], [0, 0, 1, 1])
  t.strictSame(changes, [2])
})

test('a watched folder is followed', async t => {
  const path = await folderOf(t, { 'a.md': 'walrus' })
  const memory = await open(t, { path, indexFile: ':memory:', watch: true, pollMs: 100 })
  await memory.ready
  const changed = new Promise<void>(resolve => { memory.onChange(() => { resolve() }) })
  // watching keeps no process alive, so the test has to
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => { clearInterval(alive) })
  // in one step: a look between creating the file and filling it would see it empty
  await writeFile(join(path, 'b.part'), 'zebra')
  await rename(join(path, 'b.part'), join(path, 'b.md'))
  await changed
  t.equal((await memory.search({ query: 'zebra' })).length, 1)
})

test('the index of a deleted folder stays and is updated when the folder returns', async t => {
  const path = await folderOf(t, { 'a.md': 'walrus' })
  const memory = await open(t, { path, indexFile: ':memory:' })
  await memory.ready
  await rename(path, `${path}-moved`)
  await t.rejects(memory.refresh(), { code: 'ENOENT' })
  t.equal((await memory.search({ query: 'walrus' })).length, 1)
  await rename(`${path}-moved`, path)
  await memory.refresh()
  t.equal(memory.stats().files, 1)
})

test('a damaged index file, or one of another program, is moved aside and rebuilt', async t => {
  const path = await folderOf(t, GUIDE)
  const kept = join(path, '..', 'kept')
  await mkdir(kept)
  const garbage = join(kept, 'garbage.db')
  await writeFile(garbage, 'no database '.repeat(1_000))
  const foreign = join(kept, 'foreign.db')
  const other = await openDatabase(foreign)
  other.exec('CREATE TABLE precious (x)')
  other.close()
  for (const indexFile of [garbage, foreign]) {
    const { lines, log } = warnings()
    const memory = await open(t, { path, indexFile, log })
    t.match(await memory.search({ query: 'cancel a task' }), [{ metadata: { heading: 'Guide > Cancel a task' } }])
    t.match(lines, [{ indexFile, movedTo: `${indexFile}.replaced` }])
    t.ok((await stat(`${indexFile}.replaced`)).size > 0)
    await memory.close()
  }
})

test('an index that is damaged while it is open is rebuilt', async t => {
  const path = await folderOf(t, Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${at}.md`, `Document ${at}: ${'some words of text '.repeat(20)}`])))
  const indexFile = join(path, '..', 'index.db')
  const first = await open(t, { path, indexFile })
  await first.ready
  await first.close()
  const bytes = await readFile(indexFile)
  bytes.fill(0x5a, 8_192)
  await writeFile(indexFile, bytes)
  const { lines, log } = warnings()
  const second = await open(t, { path, indexFile, log })
  t.equal((await second.search({ query: 'document 299' })).length, 1)
  t.ok(lines.some(line => /rebuilt/.test(line.message)))
})

test('other options empty the index of the same file', async t => {
  const path = await folderOf(t, { 'a.md': 'walrus', 'b.txt': 'zebra' })
  const indexFile = join(path, '..', 'index.db')
  const both = await open(t, { path, indexFile })
  t.equal((await both.ready).files, 2)
  await both.close()
  const one = await open(t, { path, indexFile, extensions: ['.md'] })
  t.equal((await one.ready).files, 1)
})

test('two memories on one index file see each other\'s changes', async t => {
  const path = await folderOf(t, { 'a.md': 'walrus' })
  const indexFile = join(path, '..', 'index.db')
  const [one, two] = await Promise.all([open(t, { path, indexFile }), open(t, { path, indexFile })])
  await Promise.all([one.ready, two.ready])
  t.strictSame([one.stats().passages, two.stats().passages], [1, 1])
  await writeFile(join(path, 'b.md'), 'zebra and walrus')
  await one.refresh()
  t.equal((await two.search({ query: 'zebra' })).length, 1)
  await two.refresh()
  t.equal(two.stats().passages, 2)
})

test('two processes that index one folder at the same time write every passage once', async t => {
  const path = await folderOf(t, Object.fromEntries(Array.from({ length: 20 }, (_, at) =>
    [`${at}.md`, Array.from({ length: 150 }, (_, part) => `# Part ${part}\n\nSome words about ${at} and ${part}.`).join('\n\n')])))
  const indexFile = join(path, '..', 'index.db')
  // two connections of one process take turns between slices just as two processes do
  const memories = await Promise.all([1, 2, 3].map(async () => await open(t, { path, indexFile })))
  await Promise.all(memories.map(async memory => await memory.ready))
  for (const memory of memories) {
    await memory.refresh()
    t.match(memory.stats(), { files: 20, passages: 3_000 })
  }
})

test('the default index is kept in .polyvac next to the folder', async t => {
  const path = await folderOf(t, GUIDE)
  const memory = await open(t, { path })
  await memory.ready
  t.ok((await stat(join(path, '..', '.polyvac'))).isDirectory())
})

test('close may be called twice and before the first index ends, and later calls fail', async t => {
  const path = await folderOf(t, GUIDE)
  const memory = await openFolder({ path, indexFile: ':memory:' })
  await Promise.all([memory.close(), memory.close()])
  await t.rejects(memory.ready, { code: 'DOCUMENTS_CLOSED' })
  await t.rejects(memory.search({ query: 'x' }), { code: 'DOCUMENTS_CLOSED' })
  await t.rejects(memory.refresh(), { code: 'DOCUMENTS_CLOSED' })
  await rm(path, { recursive: true })
})

test('examples are questions, made of headings, one of each file first, and the folder answers each', async t => {
  const examplesOf = async (files: Record<string, string>): Promise<readonly string[]> => {
    const memory = await memoryOf(t, files)
    const examples = await memory.exampleQuestions()
    for (const question of examples) {
      const answers: unknown[] = []
      for await (const chunk of documentsInterpreter(memory)(question, 'docs', [], { signal: AbortSignal.timeout(60_000), log: console, vac: {} } as never) as AsyncIterable<unknown>) answers.push(chunk)
      t.ok((answers.at(-1) as { source_documents: unknown[] }).source_documents.length > 0, question)
    }
    return examples
  }
  t.strictSame(await examplesOf({
    'a.md': '# Returning shoes\n\nShoes are returned within 30 days.\n\n## When do shoes arrive?\n\nShoes arrive after two days.\n',
    'b.md': '# Switch the A2A agent on\n\nThe switch `enable_a2a_agent` turns the A2A agent on.\n',
    'c.md': '# Introduction\n\nAn introduction to repairs.\n\n## Repairs\n\nRepairs take a week.\n'
  }), ['When do shoes arrive?', 'How do I switch the A2A agent on?', 'What should I know about repairs?'])
  t.strictSame(await examplesOf({ 'a.md': '# How to cancel an order\n\nWrite to us to cancel an order.\n\n## Its price\n\nIts price is low.\n\n## When a parcel is lost\n\nWe send a lost parcel again.\n\n## Paying by card\n\nPaying by card is free.\n' }),
    ['How do I cancel an order?', 'What happens when a parcel is lost?', 'How does paying by card work?'])
  t.strictSame(await examplesOf({ 'a.md': '# Zahlung und Versand\n\nDie Zahlung ist mit der Karte möglich, und der Versand dauert zwei Tage.\n' }), ['Zahlung und Versand'])
  t.strictSame(await examplesOf({ 'a.md': '# When do shoes arrive?\n\nShoes arrive after two days.\n\n## Which shoes are warm?\n\nWinter shoes are warm.\n\n## Where are shoes made?\n\nShoes are made in Oslo.\n', 'b.md': '# Repairs\n\nRepairs take a week.\n' }),
    ['When do shoes arrive?', 'Which shoes are warm?', 'Where are shoes made?'], 'questions are worth more than further files')
  t.strictSame(await examplesOf({}), [])
})

test('examples are kept in the index for the next start, until a file changes', async t => {
  const path = await folderOf(t, { 'a.md': '# When do shoes arrive?\n\nShoes arrive after two days.\n' })
  const indexFile = join(path, '..', 'index.db')
  const examples = async (): Promise<readonly string[]> => {
    const memory = await openFolder({ path, indexFile, watch: false })
    try {
      await memory.ready
      return await memory.exampleQuestions()
    } finally {
      await memory.close()
    }
  }
  t.strictSame(await examples(), ['When do shoes arrive?'])
  const database = await openDatabase(indexFile)
  const [kept = ''] = database.prepare("SELECT value FROM meta WHERE key = 'examples'").column<string>()
  database.prepare("UPDATE meta SET value = ? WHERE key = 'examples'").run(kept.replace('When do', 'Do'))
  database.close()
  t.strictSame(await examples(), ['Do shoes arrive?'], 'without a search')
  await writeFile(join(path, 'b.md'), '# Where are shoes made?\n\nShoes are made in Oslo.\n')
  t.strictSame(await examples(), ['When do shoes arrive?', 'Where are shoes made?'])
})
