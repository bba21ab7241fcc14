import { test } from 'tap'
import { decodeText } from '../src/text/encodings.js'
import { memoryOf } from './fixtures/folder.js'

const tables = new Map<string, Map<string, number[]>>()

/** The bytes of each character: Node.js decodes these encodings, and encodes none of them. */
function tableOf (encoding: string): Map<string, number[]> {
  const known = tables.get(encoding)
  if (known !== undefined) return known
  const bytesOf = new Map<string, number[]>()
  const decoder = new TextDecoder(encoding)
  const add = (bytes: number[]): boolean => {
    const character = decoder.decode(new Uint8Array(bytes))
    if (character.includes('\ufffd')) return false
    if ([...character].length === 1 && !bytesOf.has(character)) bytesOf.set(character, bytes)
    return true
  }
  const leads = Array.from({ length: 256 }, (_, byte) => byte).filter(byte => !add([byte]))
  for (const lead of leads) for (let trail = 0x40; trail < 0x100; trail++) add([lead, trail])
  // some releases of Node.js decode 0x80 to 0x9f as Latin-1
  if (encoding === 'windows-1252') bytesOf.set('€', [0x80]).set('’', [0x92])
  tables.set(encoding, bytesOf)
  return bytesOf
}

function encode (text: string, encoding: string): Buffer {
  const bytesOf = tableOf(encoding)
  return Buffer.from([...text].flatMap(character => bytesOf.get(character) ?? (() => { throw new Error(`${encoding} has no ${character}`) })()))
}

const TEXTS: ReadonlyArray<[text: string, ...encodings: string[]]> = [
  ['Preis;Artikel\nMüsli groß;4,50 €\nÄpfel;2,20 €\n', 'windows-1252', 'iso-8859-15', 'macintosh'],
  ['Le garçon est très fatigué. Où est la clé du côté gauche ?\n', 'windows-1252', 'macintosh'],
  ['Il caffè è pronto. Perché non vieni più in città?\n', 'windows-1252'],
  ['qualità\nperché\n', 'windows-1252'],
  ['¿Dónde está la contraseña? El niño llegó mañana.\n', 'windows-1252'],
  ['Müller;Søren;Françoise;Peña;Ångström;José\n', 'windows-1252'],
  ['Hän jää tänään kotiin, sillä työ on tehty.\n', 'windows-1252'],
  ['It’s the manager’s key: 20 °C, § 12, £5\n', 'windows-1252'],
  ['Kód brány je 4711. Klíč má soused Jiří, dům číslo 12.\n', 'iso-8859-2', 'windows-1250'],
  ['Klucz ma sąsiad Łukasz.\n', 'iso-8859-2', 'windows-1250'],
  ['A kulcs a szomszédnál van. Tűz esetén hívja az őrt.\n', 'windows-1250'],
  ['Anahtar komşuda. Toplantı perşembe günü başlıyor.\n', 'windows-1254'],
  ['Raktą turi kaimynas. Susirinkimas prasidės ketvirtadienį. Slaptažodžių keitimas.\n', 'windows-1257'],
  ['Пароль от ворот: 4711. Ключ лежит у соседа Ивана.\n', 'windows-1251', 'koi8-r', 'ibm866', 'iso-8859-5'],
  ['ПРОТОКОЛ СОБРАНИЯ\n', 'windows-1251', 'koi8-r'],
  ['Ключ у сусіда. Збори почнуться в четвер. Їжа є.\n', 'windows-1251', 'koi8-u'],
  ['Το κλειδί είναι στον γείτονα.\n', 'windows-1253'],
  ['המפתח אצל השכן. הפגישה מתחילה ביום חמישי.\n', 'windows-1255'],
  ['# 说明\n\n安装前请先关闭防火墙。默认端口是 8765。\n', 'gb18030'],
  ['姓名,电话\n李明,12345\n王芳,23456\n', 'gb18030'],
  ['預設埠號是8765。請先檢查密碼。\n', 'big5'],
  ['名前,年齢,住所\n佐藤太郎,30,東京\n', 'shift_jis', 'euc-jp'],
  ['会議は木曜日に始まります。\n', 'shift_jis', 'euc-jp'],
  ['비밀번호는 90일마다 바꿔야 합니다.\n', 'euc-kr'],
  [`${'def f(x):\n    return x + 1  # the value of the function\n'.repeat(20)}# Комментарий по-русски\n`, 'windows-1251']
]

test('text is read in the encoding that gives it the most probable letters', async t => {
  for (const [text, ...encodings] of TEXTS) {
    for (const encoding of encodings) t.equal(decodeText(encode(text, encoding))?.text, text, `${encoding}: ${text.slice(0, 30)}`)
  }
})

test('UTF-16 needs no byte order mark, ISO-2022-JP is recognised by its escapes, and a named encoding is preferred', async t => {
  const text = 'The gate code is 4711, пароль 門.\n'
  t.strictSame(decodeText(Buffer.from(text, 'utf16le')), { text, encoding: 'utf-16le' })
  t.strictSame(decodeText(Buffer.from(text, 'utf16le').swap16()), { text, encoding: 'utf-16be' })
  t.equal(decodeText(Buffer.from('\x1b$B2q5D\x1b(B 4711', 'latin1'))?.text, '会議 4711')
  const html = '<meta charset="iso-8859-7"><p>\xc1 4711'
  t.match(decodeText(Buffer.from(html, 'latin1')), { encoding: 'iso-8859-7', text: /Α 4711/ })
  // an odd number of bytes, NULs in a row, characters that no text has, control characters
  for (const binary of ['h\0i', 'PK\x03\x04\0\0\0\0', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', '\x01\x02\x03abc\x04\x05']) {
    t.equal(decodeText(Buffer.from(binary, 'latin1')), undefined)
  }
})

test('a folder logs each encoding once with a file, and `encoding` is that of texts that are not UTF-8', async t => {
  const lines: Array<{ readonly encoding: string }> = []
  const log = { debug () {}, error () {}, warn () {}, info (obj: object) { if ('encoding' in obj) lines.push(obj as { encoding: string }) } }
  const russian = encode('Пароль от ворот: 4711.\n', 'windows-1251')
  const files = { 'a.txt': russian, 'b.txt': russian, 'c.txt': encode('비밀번호는 90일마다 바꿔야 합니다.\n', 'euc-kr'), 'd.md': 'Grün 東京\n' }
  const memory = await memoryOf(t, files, { log })
  t.strictSame(new Set(lines.map(line => JSON.stringify(line))).size, 2)
  // files are read side by side
  lines.sort((a, b) => a.encoding < b.encoding ? -1 : 1)
  t.match(lines, [{ encoding: 'euc-kr', source: 'c.txt' }, { encoding: 'windows-1251', source: /^[ab]\.txt$/ }])
  t.match(await memory.search({ query: 'Какой пароль от ворот?', limit: 1 }), [{ content: /4711/ }])
  t.match(await memory.search({ query: '비밀번호는 며칠마다 바꿔야 합니까?', limit: 1 }), [{ content: /90/ }])
  const named = await memoryOf(t, { 'a.txt': Buffer.from('\xe9t\xe9', 'latin1'), 'b.md': 'été' }, { encoding: 'windows-1250' })
  t.equal((await named.search({ query: 'été' })).length, 2)
  await t.rejects(memoryOf(t, {}, { encoding: 'utf-99' }), { code: 'DOCUMENTS_INVALID_OPTION', message: /encoding/ })
})
