import { deflateSync } from 'node:zlib'
import { test } from 'tap'
import { folderOf, memoryOf } from './fixtures/folder.js'
import { column, pdfOf, type Placed } from './fixtures/pdf.js'
import { linesOf, textOf } from '../src/formats/pdf/lines.js'
import { openFolder } from '../src/index.js'

interface Warning { readonly source?: string, readonly missing?: string, readonly reason?: string }

function warnings (): { lines: Warning[], log: never } {
  const lines: Warning[] = []
  const log = { warn: (fields: Warning) => { lines.push(fields) }, info () {}, error () {}, debug () {} }
  return { lines, log: log as never }
}

test('the lines of forms and invoices stay lines, with whole figures; titles of columns are those of the rows', async t => {
  const wide = (y: number, ...cells: string[]): Placed[] => cells.map((text, at) => [72 + at * 130, y, text])
  const memory = await memoryOf(t, {
    'form.pdf': Buffer.from(pdfOf([[...wide(720, 'Name:'), ...wide(706, 'Licence', 'B 4711 XY')]]).toString('latin1').replace('/Type /Page /', '/Type /Page /Annots [<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ida Huber) /Rect [200 716 300 732] >> << /Type /Annot /Subtype /Widget /FT /Btn /T (agree) /V /Off /Rect [1 1 2 2] >>] /'), 'latin1'),
    'estimate.pdf': pdfOf([column(['Insured name Gabriel Ruiz Year 2022', 'Claim no SF-1008 Make Jeep', 'Phone (425) 111-1111 Trim Limited', 'Odometer reading at the time of the visit to the shop 9,800', 'Sales tax 10.20% 278.46', 'Grand total 5,738'])]),
    'invoice.pdf': pdfOf([[...wide(720, 'Invoice number:', 'A-7741'), ...wide(706, 'Customer', 'Ida Huber'), ...wide(670, 'Item', 'Quantity', 'Price'), ...wide(656, 'Roof tiles', '1,200', '3,480.00'), ...wide(642, 'Gutter', '12', '96.50')]])
  })
  t.equal(await memory.read('form.pdf'), '- Name: Ida Huber\n- Licence: B 4711 XY')
  t.equal(await memory.read('estimate.pdf'), '- Insured name Gabriel Ruiz Year 2022\n- Claim no SF-1008 Make Jeep\n- Phone (425) 111-1111 Trim Limited\n- Odometer reading at the time of the visit to the shop 9,800\n- Sales tax 10.20% 278.46\n- Grand total 5,738')
  t.equal((await memory.read('invoice.pdf'))?.replace(/\n{2,}/g, '\n\n'), '- Invoice number: A-7741\n- Customer: Ida Huber\n\nItem | Quantity | Price\n--- | --- | ---\nRoof tiles | 1,200 | 3,480.00\nGutter | 12 | 96.50')
})

test('the words of a line that runs to the left stay in its order', t => {
  const item = (str: string, x: number, y: number, hasEOL = false): object => ({ str, transform: [11, 0, 0, 11, x, y], width: 40, height: 11, dir: 'rtl', hasEOL })
  t.strictSame(linesOf([item('שלום', 400, 700), item('לכל', 355, 700), item('העולם', 310, 700, true), item('סוף', 400, 686)]).map(textOf), ['שלום לכל העולם', 'סוף'])
  t.end()
})

test('a word that a line divides is whole where that is certain', async t => {
  const memory = await memoryOf(t, {
    'climate.pdf': pdfOf([column(['The ocean could soak up more of the gas that drives cli-', 'mate change, and the evapo-', 'ration of lagoons would slow down. It is a well-', 'known fact, and a long-', 'term, energy-', 'efficient one; two-', 'and three-room flats, and the Nord-', 'Ostsee line. The energy is efficient, as in A-', '7741.'])]),
    'known.pdf': pdfOf([column(['The pre-war house and the prewar rules of the post-', 'war years. A post-war text, and a co-', 'operative of the cooperative kind.'])])
  })
  t.equal((await memory.read('climate.pdf'))?.replaceAll('\n', ' '), 'The ocean could soak up more of the gas that drives climate change, and the evaporation of lagoons would slow down. It is a well-known fact, and a long-term, energy-efficient one; two- and three-room flats, and the Nord-Ostsee line. The energy is efficient, as in A-7741.')
  t.equal((await memory.read('known.pdf'))?.replaceAll('\n', ' '), 'The pre-war house and the prewar rules of the post-war years. A post-war text, and a cooperative of the cooperative kind.')
})

test('the entries of the outline are the headings, also on later pages; repeated page headers are left out', async t => {
  const text = (page: number, ...lines: string[]): Placed[] => [[72, 760, 'The harbour rules', 9], ...column(lines), [300, 30, String(page), 9]]
  const memory = await memoryOf(t, {
    'rules.pdf': pdfOf([
      text(1, '1  Mooring', 'A boat may stay', 'for nine days.'),
      text(2, 'Then it must leave', 'and pay.', '2. Fees', 'The fee is 40 guilders', 'a day.'),
      text(3, 'It is paid at noon', 'at the office.'),
      text(4, 'Nothing else', 'is due.')
    ], [[1, 734, 'Mooring'], [2, 706, 'Fees'], [4, 800, 'Remarks']])
  })
  const find = async (query: string): Promise<unknown> => (await memory.search({ query, limit: 1, threshold: 0 }))[0]?.metadata
  t.match(await find('boat may stay nine days'), { heading: 'Mooring', page: '1' })
  t.match(await find('then it must leave'), { heading: 'Mooring', page: '2' })
  t.match(await find('fee guilders'), { heading: 'Fees', page: '2' })
  t.match(await find('paid at noon'), { heading: 'Fees', page: '3' })
  t.match(await find('nothing else due'), { heading: 'Remarks', page: '4' })
  t.equal((await memory.read('rules.pdf'))?.match(/The harbour rules/g)?.length, 2)
})

test('two columns whose lines the file has by turns are read one after the other', async t => {
  const left = ['The ferry to the island', 'sails at nine, but only', 'when the wind is weak', 'and the sea is calm; if', 'it is not, the passengers', 'wait in the harbour hall', 'until the captain comes', 'and opens the gate for', 'all of them.']
  const right = ['On the island there is', 'a lighthouse, which was', 'built of red brick and', 'restored at some cost by', 'the friends of the coast', 'who still keep it; they', 'open it on Sundays and', 'sell tea in the kitchen', 'of the keeper.']
  const memory = await memoryOf(t, {
    'island.pdf': pdfOf([[[72, 760, 'A guide to the island and to its harbour, for all who come by boat', 11], ...left.flatMap((text, at): Placed[] => [[72, 720 - at * 14, text], [320, 720 - at * 14, right[at] as string]])]])
  })
  t.equal((await memory.read('island.pdf'))?.replace(/\n+/g, ' '), `A guide to the island and to its harbour, for all who come by boat ${left.join(' ')} ${right.join(' ')}`)
})

test('a page that cannot be read, or is too large, costs only itself; a scan is named', async t => {
  const { lines, log } = warnings()
  const memory = await memoryOf(t, {
    'pieces.pdf': pdfOf([column(['The heron waits.']), `BT /F1 9 Tf ${'(x) Tj 1 0 0 1 5 5 Tm '.repeat(60_000)}ET`, column(['The otter dives.'])]),
    'lost.pdf': Buffer.from(pdfOf([column(['The lynx hides.']), column(['Gone.'])]).toString('latin1').replace('/Kids [4 0 R 6 0 R', '/Kids [4 0 R 99 0 R'), 'latin1'),
    'scan.pdf': pdfOf(['q 100 0 0 100 0 0 cm Q', 'q Q', 'q Q'])
  }, { log })
  for (const [query, page] of [['heron waits', '1'], ['otter dives', '3'], ['lynx hides', '1']] as const) {
    t.match((await memory.search({ query, limit: 1, threshold: 0 }))[0]?.metadata, { page }, query)
  }
  t.match(lines.sort((a, b) => String(a.source) < String(b.source) ? -1 : 1), [
    { source: 'lost.pdf', missing: /^page 2: / },
    { source: 'pieces.pdf', missing: 'page 2: it has over 50000 pieces of text' },
    { source: 'scan.pdf', missing: '3 of 3 pages have no text (a scan?)' }
  ])
})

test('what was read before a page whose parser never ends is kept', async t => {
  const page = deflateSync('q '.repeat(5_000_000)).toString('latin1')
  const pdf = pdfOf([column(['The heron waits.']), 'HANG', column(['The otter dives.'])]).toString('latin1')
    .replace(/<< \/Length \d+ >>\nstream\nHANG\nendstream/, () => `<< /Length ${page.length} /Filter /FlateDecode >>\nstream\n${page}\nendstream`)
  const path = await folderOf(t, { 'hang.pdf': Buffer.from(pdf, 'latin1'), 'good.md': 'The lynx hides.' })
  const { setTimeout } = globalThis
  // the bound of time begins with the first page, however long the thread takes to start
  const shortened = (work: () => void): object => ({ refresh: () => { setTimeout(work, 500) } })
  t.intercept(globalThis, 'setTimeout', { value: (work: () => void, ms: number) => ms === 60_000 ? shortened(work) : setTimeout(work, ms) })
  const { lines, log } = warnings()
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, log })
  t.teardown(() => memory.close())
  await memory.ready
  t.match((await memory.search({ query: 'heron waits', limit: 1, threshold: 0 }))[0]?.metadata, { source: 'hang.pdf', page: '1' })
  t.match(lines, [{ source: 'hang.pdf', missing: /it takes too long|out of memory|memory limit|pieces of text/i }])
})
