import { decodeWindows1252 } from '../../text/windows-1252.js'

/** Control words that stand for a character. */
export const SYMBOLS: Readonly<Record<string, string>> = {
  emdash: '—', endash: '–', lquote: '‘', rquote: '’', ldblquote: '“', rdblquote: '”', bullet: '•', tab: ' ', emspace: ' ', enspace: ' ', qmspace: ' ', line: ' '
}

/** Groups without text for readers. Those that begin with `\*` are left out, too, except SHOWN. */
export const SILENT_GROUPS: ReadonlySet<string> = new Set(`fonttbl colortbl info pict objdata fldinst xe tc tcn rxe bkmkstart
bkmkend themedata colorschememapping datastore latentstyles generator listtable listoverridetable rsidtbl revtbl filetbl
nonshppict objclass objname sp pntext pntxta pntxtb atnid atnref atndate atntime atnicn ftnsep ftnsepc ftncn aftnsep
aftnsepc aftncn userprops xmlnstbl mmathPr passwordhash protusertbl background formfield`.split(/\s+/))

/** Of the groups that begin with `\*`, those with text. */
export const SHOWN: ReadonlySet<string> = new Set(['shpinst', 'shptxt', 'annotation', 'atnauthor', 'ud'])

/** Code pages by the charset of a font, where it is not the one of the document. */
export const CHARSETS: Readonly<Record<number, number>> = {
  0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250
}

const LABELS: Readonly<Record<number, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
  1250: 'windows-1250',
  1251: 'windows-1251',
  1253: 'windows-1253',
  1254: 'windows-1254',
  1255: 'windows-1255',
  1256: 'windows-1256',
  1257: 'windows-1257',
  1258: 'windows-1258'
}

/** The text of bytes of a code page; one that no decoder has is taken for windows-1252. */
export function decodeBytes (bytes: readonly number[], codePage: number): string {
  const label = LABELS[codePage]
  return label === undefined ? decodeWindows1252(Uint8Array.from(bytes)) : new TextDecoder(label).decode(Uint8Array.from(bytes))
}
