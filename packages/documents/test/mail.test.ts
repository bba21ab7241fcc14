import { test } from 'tap'
import { memoryOf } from './fixtures/folder.js'

const lines = (...all: string[]): string => all.join('\r\n')

/** As Apple Mail writes a message with a picture and an attachment. */
const APPLE = lines('From: =?utf-8?Q?J=C3=B6rg_M=C3=BCller?= <joerg@example.org>', 'Content-Type: multipart/alternative; boundary="Apple-Mail=_A"', 'Subject: =?utf-8?B?R2Vow7Zs?= for the',
  ' summer party', 'Date: Mon, 1 Jun 2026 12:00:00 +0200', 'To: Ada <ada@example.org>, Team: b@example.org, c@example.org;', 'Mime-Version: 1.0', '',
  '--Apple-Mail=_A', 'Content-Transfer-Encoding: quoted-printable', 'Content-Type: text/plain; charset=iso-8859-1', '', 'The party is on 14 July in the b=F6at house and costs 9,8=', '00 guilders.', '',
  '--Apple-Mail=_A', 'Content-Type: multipart/mixed; boundary="Apple-Mail=_B"', '', '--Apple-Mail=_B', 'Content-Type: text/html; charset=utf-8', '', '<p>An HTML text that nobody quotes.</p>',
  '--Apple-Mail=_B', 'Content-Disposition: attachment; filename*=utf-8\'\'men%C3%BC.pdf', 'Content-Type: application/pdf; name="x"', 'Content-Transfer-Encoding: base64', '', Buffer.alloc(3_000, 'x').toString('base64').replace(/.{76}/g, '$&\r\n'), '--Apple-Mail=_B--', '--Apple-Mail=_A--', '')

test('a message is read: its subject, people and date, its text, and the names of its attachments', async t => {
  const warnings: object[] = []
  const log = { warn: (fields: object) => { warnings.push(fields) }, info () {}, error () {}, debug () {} }
  const memory = await memoryOf(t, {
    'apple.eml': APPLE,
    'html.eml': lines('From: news@example.org', 'Subject: News', 'Content-Type: text/html; charset=windows-1251', 'Content-Transfer-Encoding: base64', '', Buffer.from([...Buffer.from('<style>p{}</style><h2>Prices</h2><p>The ferry is free. '), 0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, ...Buffer.from('</p>')]).toString('base64')),
    'forward.eml': lines('From: a@example.org', 'Subject: Fwd', 'Content-Type: multipart/mixed; boundary=x', '', '--x', '', 'See below.', '--x', 'Content-Type: message/rfc822', '', 'Subject: Inner', 'From: b@example.org', '', 'The heron waits.', '--x--'),
    'encrypted.eml': lines('From: a@example.org', 'Subject: Secret', 'Content-Type: application/pkcs7-mime; name=smime.p7m', 'Content-Transfer-Encoding: base64', '', 'AAAA'),
    'bare.eml': 'Only: a header\n\nThe otter dives.'
  }, { log: log as never })
  t.equal(await memory.read('apple.eml'), 'Gehöl for the summer party\n\n- From: Jörg Müller <joerg@example.org>\n- To: Ada <ada@example.org>, b@example.org, c@example.org\n- Date: 2026-06-01 10:00 UTC\n\nThe party is on 14 July in the böat house and costs 9,800 guilders.\n\n- Attachment: menü.pdf (application/pdf, 3 KiB)')
  t.match(await memory.search({ query: 'when is the party', limit: 1, threshold: 0 }), [{ metadata: { source: 'apple.eml', heading: 'Gehöl for the summer party' } }])
  t.match(await memory.read('html.eml'), /^News\n\n- From: news@example.org\n\nPrices\n\nThe ferry is free. Привет$/)
  t.match(await memory.read('forward.eml'), /See below\.[^]*The heron waits\./)
  t.match(await memory.read('bare.eml'), 'The otter dives.')
  t.match(warnings, [{ source: 'encrypted.eml', missing: 'its text, which is encrypted' }])
})

test('the messages of an mbox file are read one after another; a damaged one costs only itself', async t => {
  const warnings: { missing?: string }[] = []
  const log = { warn: (fields: object) => { warnings.push(fields) }, info () {}, error () {}, debug () {} }
  const memory = await memoryOf(t, {
    'box.mbox': ['From 1789@xxx Mon Jun  1 10:00:00 +0000 2026', 'X-Gmail-Labels: Inbox', 'Subject: First', 'From: a@example.org', '', 'The lighthouse is red.', '>From here one sees it.', 'From a distance it is small.', '',
      'From MAILER-DAEMON Mon Jun  1 11:00:00 2026', `X-Long: ${'x'.repeat(300_000)}`, 'Subject: Broken', '', 'Lost.', '',
      'From b@example.org Mon Jun  1 12:00:00 2026', 'Subject: Third', '', 'The ferry sails at nine.', ''].join('\n'),
    'empty.mbox': 'no message'
  }, { log: log as never })
  t.match(await memory.search({ query: 'ferry sails', limit: 1, threshold: 0 }), [{ metadata: { heading: 'Third', message: '3' } }])
  t.equal(await memory.read('box.mbox'), 'First\n\n- From: a@example.org\n\nThe lighthouse is red.\nFrom here one sees it.\nFrom a distance it is small.\n\nThird\n\nThe ferry sails at nine.')
  t.match(warnings.sort((a, b) => Number(a.missing === undefined) - Number(b.missing === undefined)), [{ missing: /^message 2: / }, { source: 'empty.mbox', reason: /not an mbox/ }])
})
