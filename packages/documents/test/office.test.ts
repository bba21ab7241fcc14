import { test } from 'tap'
import { archive, inlineRows, odf, pptx, relations, shape, xlsx } from './fixtures/archive.js'
import { memoryOf } from './fixtures/folder.js'

const STYLES = `<numFmts><numFmt numFmtId="164" formatCode="dd.mm.yyyy"/><numFmt numFmtId="165" formatCode="#,##0.00\\ [$€-407];[Red]\\-#,##0.00\\ [$€-407]"/>
<numFmt numFmtId="166" formatCode="&quot;$&quot;#,##0"/><numFmt numFmtId="167" formatCode="[$-409]mmmm d, yyyy;@"/><numFmt numFmtId="168" formatCode="# ?/?"/></numFmts>
<cellStyleXfs><xf numFmtId="164"/></cellStyleXfs><cellXfs>${[0, 164, 165, 10, 14, 166, 167, 168, 20].map(id => `<xf numFmtId="${id}"/>`).join('')}</cellXfs>`

test('each sheet of a workbook is a heading; cells have the text that they show', async t => {
  const shared = ['Item', 'Amount', 'Due', 'Share', 'Roof repair'].map(text => `<si><t>${text}</t></si>`).join('') +
    '<si><r><t xml:space="preserve">Heat </t></r><r><rPr><b/></rPr><t>pump &amp; hose</t></r><rPh sb="0" eb="2"><t>ヒート</t></rPh></si>'
  const row = (number: number, ...cells: string[]): string => `<row r="${number}">${cells.map((cell, at) => cell.replace('<c', `<c r="${'ABCD'[at] as string}${number}"`)).join('')}</row>`
  const costs = row(1, '<c t="inlineStr"><is><t>Budget 2026</t></is></c>') + row(3, ...[0, 1, 2, 3].map(at => `<c t="s"><v>${at}</v></c>`)) +
    row(4, '<c t="s"><v>4</v></c>', '<c s="2"><v>12345.6</v></c>', '<c s="1"><v>46096</v></c>', '<c s="3"><v>0.125</v></c>') +
    row(5, '<c t="s"><v>5</v></c>', '<c s="2"><v>-800</v></c>', '<c s="4"><v>46096.75</v></c>', '<c><v>0.30000000000000004</v></c>') +
    row(6, '<c t="str"><f>A4&amp;"!"</f><v>Total</v></c>', '<c s="5"><f>SUM(B4:B5)</f><v>11545.6</v></c>', '<c s="6"><v>46096</v></c>', '<c t="b"><v>1</v></c>') +
    row(7, '<c t="s"><v>9999</v></c>', '<c t="e"><v>#DIV/0!</v></c>', '<c s="8"><v>0.3958333333333333</v></c>', '<c s="7"><v>0.5</v></c>')
  const memory = await memoryOf(t, {
    'budget.xlsx': await xlsx({ 'Costs &amp; more': costs, Contract: inlineRows([['', 'Offer number:', 'A-7741'], ['', 'Customer', 'Ida Huber'], ['', 'Deposit', 400]], 2), '!Codes': inlineRows([['launch code']]) }, { shared, styles: STYLES, 'xl/vbaProject.bin': 'Attack', 'xl/worksheets/_rels/sheet2.xml.rels': relations('r1 comments ../comments1.xml'), 'xl/comments1.xml': '<comments><authors><author>Mara</author><author>tc={1}</author></authors><commentList><comment ref="C3" authorId="0"><text><r><t>Ask </t></r><r><t>her.</t></r></text></comment><comment ref="C4" authorId="1"><text><t>[Threaded comment] Your version of Excel. Comment: Paid?</t></text></comment></commentList></comments>' }),
    'merged.xlsx': await xlsx({ Shifts: inlineRows([['Day', 'Name', 'Phone'], ['Monday', 'Ida', 'x'], ['', 'Mara', 'y']]) + '</sheetData><mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="A4:A1048576"/></mergeCells></worksheet>' }),
    'table.xlsx': await xlsx({ T: inlineRows([['Draft', ''], ['Code', 'Meaning'], ['E1', 'Overheat']], 2) }, { 'xl/worksheets/_rels/sheet1.xml.rels': relations('r1 table ../tables/table1.xml'), 'xl/tables/table1.xml': '<table ref="A3:B4"/>' }),
    'filter.xlsx': await xlsx({ T: inlineRows([['Code', 'Meaning'], ['E1', 'Overheat']]) + '</sheetData><autoFilter ref="A1:B2"/></worksheet>' }),
    'prefixed.xlsx': await archive({
      '_rels/.rels': relations('r1 officeDocument /xl/book.xml'),
      'xl/book.xml': '<x:workbook xmlns:x="m" xmlns:r="r"><x:workbookPr date1904="1"/><x:sheets><x:sheet name="One" sheetId="7" r:id="R9"/></x:sheets></x:workbook>',
      'xl/_rels/book.xml.rels': relations('R9 worksheet /xl/worksheets/a.xml', 'R2 styles styles.xml'),
      'xl/styles.xml': `<styleSheet>${STYLES}</styleSheet>`,
      'xl/worksheets/a.xml': '<x:worksheet xmlns:x="m"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>Opened</x:t></x:is></x:c><x:c s="1"><x:v>0</x:v></x:c></x:row></x:sheetData></x:worksheet>'
    })
  })
  t.equal(await memory.read('budget.xlsx'), `Costs & more

Budget 2026

- Roof repair: Amount: 12,345.60 €; Due: 15.03.2026; Share: 12.50%
- Heat pump & hose: Amount: -800.00 €; Due: 2026-03-15 18:00; Share: 0.3
- Total: Amount: $11,546; Due: March 15, 2026; Share: TRUE
- Amount: #DIV/0!; Due: 9:30; Share: 0.5

Contract

- Offer number: A-7741
- Customer: Ida Huber
- Deposit: 400

- Comment by Mara on C3: Ask her.
- Comment on C4: Paid?`)
  t.match(await memory.search({ query: 'roof repair amount', limit: 1, threshold: 0 }), [{ metadata: { source: 'budget.xlsx', heading: 'Costs & more', row: '1-7' } }])
  t.equal(await memory.read('merged.xlsx'), 'Shifts\n\n- Monday: Name: Ida; Phone: x\n- Monday: Name: Mara; Phone: y')
  t.equal(await memory.read('table.xlsx'), 'T\n\nDraft\n\n- E1: Meaning: Overheat')
  t.equal(await memory.read('filter.xlsx'), 'T\n\n- E1: Meaning: Overheat')
  t.equal(await memory.read('prefixed.xlsx'), 'One\n\n- Opened: 01.01.1904')
})

test('each slide has its title as heading, its points, tables and notes, in the order of the presentation', async t => {
  const table = `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="1"/>${[['Team', 'Lead'], ['Search', 'Mara']].map(row => `<a:tr>${row.map(text => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`).join('')}</a:tr>`).join('')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
  const memory = await memoryOf(t, {
    'plan.pptx': await pptx([
      shape('body', 'First point', '<a:pPr lvl="1"/><a:r><a:t>Detail of </a:t></a:r><a:r><a:t>it</a:t></a:r>', 'Second point') + shape('title', 'Plan for 2026') + shape('sldNum', '1') + table,
      shape('', 'A text box alone.') + '<mc:AlternateContent><mc:Choice>' + shape('', 'Seen once.') + '</mc:Choice><mc:Fallback>' + shape('', 'Seen once.') + '</mc:Fallback></mc:AlternateContent>',
      shape('', 'Budget') + shape('', 'It rises.') + shape('', 'It falls.'),
      '<p:sld show="0"><p:cSld><p:spTree>' + shape('title', 'A hidden slide') + '</p:spTree></p:cSld></p:sld>'
    ], {
      'ppt/slides/_rels/slide1.xml.rels': relations('r1 notesSlide ../notesSlides/notesSlide1.xml', 'r2 diagramData ../diagrams/data1.xml'),
      'ppt/notesSlides/notesSlide1.xml': `<p:notes>${shape('sldImg')}${shape('body', 'Thank Mara.', 'Then ask.')}${shape('sldNum', '1')}</p:notes>`,
      'ppt/diagrams/data1.xml': '<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Gather</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>'
    })
  })
  t.equal((await memory.read('plan.pptx'))?.replace(/\n{2,}/g, '\n\n'), 'Plan for 2026\n\n- First point\n  - Detail of it\n- Second point\n\nTeam | Lead\n--- | ---\nSearch | Mara\n\nGather\n\nNotes: Thank Mara.\nThen ask.\n\nA text box alone.\n\nSeen once.\n\nBudget\n\nIt rises.\n\nIt falls.')
  t.match(await memory.search({ query: 'who leads search', limit: 1, threshold: 0 }), [{ metadata: { source: 'plan.pptx', heading: 'Plan for 2026', slide: '1' } }])
})

test('texts, sheets and slides of OpenDocument are read, without deleted text, tables of contents and hidden sheets', async t => {
  const cell = (text: string, type = 'string'): string => `<table:table-cell office:value-type="${type}"><text:p>${text}</text:p></table:table-cell>`
  const memory = await memoryOf(t, {
    'lease.odt': await odf(`<office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>The rent is 900.</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:p text:style-name="P1">Lease</text:p><text:table-of-content><text:p>Deposit .... 4</text:p></text:table-of-content><text:h text:outline-level="2">Deposit</text:h>
<text:p>She pays<text:s/>three<text:s text:c="3"/>rents<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Within a month.</text:p></text:note-body></text:note> in <text:span>advance</text:span><office:annotation><dc:creator>Mara</dc:creator><dc:date>2026-01-01</dc:date><text:p>Moved to March.</text:p></office:annotation>.</text:p>
<text:list><text:list-item><text:p>One key</text:p><text:list><text:list-item><text:p>for the cellar</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row>${cell('Room')}${cell('Area')}</table:table-row></table:table-header-rows><table:table-row>${cell('Kitchen')}${cell('12 m²')}</table:table-row></table:table>
<text:p>The end.<draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box><svg:desc>a picture</svg:desc></draw:frame></text:p></office:text>`,
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>',
    { 'styles.xml': '<s xmlns:style="s" xmlns:text="t"><style:header><text:p>Contract no. B-1212</text:p></style:header><style:footer><text:p>Page <text:page-number>1</text:page-number> of 3</text:p><text:p>Bank: NL20 INGB</text:p></style:footer></s>' }),
    'tools.ods': await odf(`<office:spreadsheet><table:table table:name="Tools"><table:table-row>${cell('Tool')}${cell('Shelf')}${cell('Price')}<table:table-cell table:number-columns-repeated="16381"/></table:table-row>
<table:table-row>${cell('drawknife')}${cell('B 2')}${cell('45,00 €', 'currency')}</table:table-row><table:table-row table:number-rows-repeated="3">${cell('gouge')}${cell('C 1')}${cell('12,00 €', 'currency')}</table:table-row>
<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table><table:table table:name="Lists" table:style-name="ta2"><table:table-row>${cell('secret')}</table:table-row></table:table></office:spreadsheet>`,
    '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'),
    'harvest.odp': await odf('<office:presentation><draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Harvest</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:list><text:list-item><text:p>Apples in May</text:p></text:list-item><text:list-item><text:p>Pears in June</text:p></text:list-item></text:list></draw:text-box></draw:frame><presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>Mention the frost.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation>')
  })
  t.equal((await memory.read('lease.odt'))?.replace(/\n{2,}/g, '\n\n'), '- Contract no. B-1212\n\nLease\n\nDeposit\n\nShe pays three rents in advance.\n\nWithin a month.\n\nComment by Mara: Moved to March.\n\n- One key\n  - for the cellar\n\nRoom | Area\n--- | ---\nKitchen | 12 m²\n\nThe end.\n\nIn a box.\n\n- Bank: NL20 INGB')
  t.equal(await memory.read('tools.ods'), 'Tools\n\n- drawknife: Shelf: B 2; Price: 45,00 €\n- gouge: Shelf: C 1; Price: 12,00 €')
  t.match(await memory.search({ query: 'gouge shelf', limit: 1, threshold: 0 }), [{ metadata: { source: 'tools.ods', heading: 'Tools', row: '2-5' } }])
  t.equal(await memory.read('harvest.odp'), 'Harvest\n\n- Apples in May\n- Pears in June\n\nNotes: Mention the frost.')
})

test('the chapters of an EPUB are read in their order, with the titles of EPUB 2 and EPUB 3', async t => {
  const book = (contents: string, contentsPart: string, spine: string): Promise<Buffer> => archive({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
    'META-INF/encryption.xml': '<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/font.otf"/></CipherData></EncryptedData></encryption>',
    'OEBPS/content.opf': `<package xmlns:dc="x"><metadata><dc:title>The Fens</dc:title><dc:creator>Ada Reed</dc:creator><dc:identifier>urn:uuid:12345678-1234-1234-1234-123456789012</dc:identifier></metadata><manifest>${contentsPart}<item id="c2" href="text/two%20a.xhtml" media-type="application/xhtml+xml"/><item id="c1" href="text/one.xhtml" media-type="application/xhtml+xml"/></manifest>${spine}<itemref idref="c1"/><itemref idref="c2"/></spine></package>`,
    'OEBPS/contents': contents,
    'OEBPS/text/one.xhtml': '<html><head><title/></head><body><h1>Arrival</h1><p>They came by boat.<a id="p1"/></p><script/><p>It rained.</p></body></html>',
    'OEBPS/text/two a.xhtml': '<html><head><title>The Fens</title></head><body><p>The water rose to nine feet.</p></body></html>'
  })
  const memory = await memoryOf(t, {
    'three.epub': await book('<html><body><nav><ol><li><a href="text/one.xhtml">One</a></li><li><a href="text/two%20a.xhtml#x">The <i>Flood</i></a></li></ol></nav></body></html>', '<item id="nav" href="contents" properties="nav" media-type="application/xhtml+xml"/>', '<spine><itemref idref="nav"/>'),
    'two.epub': await book('<ncx><navMap><navPoint><navLabel><text>The Flood</text></navLabel><content src="text/two%20a.xhtml"/></navPoint></navMap></ncx>', '<item id="ncx" href="contents" media-type="application/x-dtbncx+xml"/>', '<spine toc="ncx">')
  })
  for (const name of ['two.epub', 'three.epub']) {
    t.equal(await memory.read(name), 'The Fens\n\n- Title: The Fens\n- Author: Ada Reed\n\nArrival\n\nThey came by boat.\n\nIt rained.\n\nThe Flood\n\nThe water rose to nine feet.', name)
  }
  t.match(await memory.search({ query: 'water rose', limit: 1, threshold: 0 }), [{ metadata: { heading: 'The Flood', chapter: '2' } }])
})

test('RTF is read: code pages, Unicode, styles, tables, notes and comments', async t => {
  const memory = await memoryOf(t, {
    'letter.rtf': `{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\fnil\\fcharset204 Times;}}{\\stylesheet{\\s0 Normal;}{\\s1\\outlinelevel0 \\'dcberschrift 1;}{\\s2 heading 2;}}{\\*\\generator Word}{\\info{\\title Secret}}{\\header\\pard Offer number A-7741\\par Page 1\\par}
\\pard\\s1 Lease\\par\\pard\\s2 Deposit\\par
\\pard She pays \\'84three\\'93 rents \\u8364? 1,150\\emdash now, e\\-vap\\-oration and well\\_known \\u-3913?.{\\footnote\\pard\\plain Within a month.}\\par
{\\v hidden}{\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2} {\\field{\\*\\fldinst HYPERLINK "http://x"}{\\fldrslt a link}} \\uc2\\u228ab{\\deleted gone}\\par
{\\listtext\\tab}First item\\par{\\listtext\\tab}Second item\\par
\\trowd\\pard\\intbl Room\\cell Area\\cell Floor\\cell\\row\\pard\\intbl Kitchen\\cell 12\\cell 1\\cell\\row\\pard\\par
{\\*\\shppict{\\pict\\bin4 {}{}0102}}Last.{\\*\\atnauthor Mara}{\\*\\annotation{\\*\\atnref 1}Is it?}\\par}`,
    // as Outlook writes it
    'outlook.rtf': '{\\rtf1\\ansi\\ansicpg1252\\fromhtml1 \\deff0{\\fonttbl{\\f0\\fswiss Arial;}}{\\*\\htmltag19 <html>}{\\*\\htmltag64 <p>}\\htmlrtf {\\htmlrtf0 The lawyer is Judith Stern.\\htmlrtf\\par}\\htmlrtf0{\\*\\htmltag72 </p>}}'
  })
  t.equal((await memory.read('letter.rtf'))?.replace(/\n{2,}/g, '\n\n'), '- Offer number A-7741\n\nLease\n\nDeposit\n\nShe pays „three“ rents € 1,150—now, evaporation and well-known \uf0b7.\n\nWithin a month.\n\nПривет a link ä\n\n- First item\n- Second item\n\nRoom | Area | Floor\n--- | --- | ---\nKitchen | 12 | 1\n\nLast.\n\nComment by Mara: Is it?')
  t.equal(await memory.read('outlook.rtf'), 'The lawyer is Judith Stern.')
})

test('page headers, page footers and comments of DOCX are read, and a footnote has no arrow', async t => {
  const W = 'xmlns:w="w"'
  const p = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
  const note = '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:footnote w:id="2"><w:p><w:r><w:t>Members who joined before 2019.</w:t></w:r></w:p></w:footnote></w:footnotes>'
  const memory = await memoryOf(t, {
    'draft.docx': await archive({
      '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
      '_rels/.rels': relations('r1 officeDocument word/document.xml'),
      'word/_rels/document.xml.rels': relations('r1 footnotes footnotes.xml'),
      'word/document.xml': '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:commentRangeStart w:id="0"/><w:r><w:t>The tariff </w:t></w:r><w:r><w:t>rises in May.</w:t></w:r><w:commentRangeEnd w:id="0"/></w:p><w:p><w:r><w:t>The surcharge is waived.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p></w:body></w:document>',
      'word/footnotes.xml': note,
      'word/comments.xml': `<w:comments ${W}><w:comment w:id="0" w:author="Mara">${p('The board moved this')}${p('to September.')}</w:comment></w:comments>`,
      'word/header1.xml': `<w:hdr ${W}>${p('Offer number A-7741')}</w:hdr>`,
      'word/header2.xml': `<w:hdr ${W}>${p('Offer number A-7741')}</w:hdr>`,
      'word/footer1.xml': `<w:ftr ${W}>${p('Page 1 of 2')}${p('Bank: NL20 INGB')}<w:p><w:del><w:r><w:t>Draft</w:t></w:r></w:del></w:p></w:ftr>`
    })
  })
  t.equal(await memory.read('draft.docx'), '- Offer number A-7741\n\nThe tariff rises in May.\n\nThe surcharge is waived.[1]\n\n- Members who joined before 2019.\n\n- Comment by Mara on “The tariff rises in May.”: The board moved this to September.\n\n- Bank: NL20 INGB')
})
