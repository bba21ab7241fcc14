// The formats that are read: a new one is a file and a row here.
import { extname } from 'node:path'
import { splitCsv } from './data/csv.js'
import { splitKeys } from './data/keys.js'
import { damageOfNotebook, splitNotebook } from './data/notebook.js'
import type { BytesFormat, Format, Place } from './format.js'
import { splitAsciidoc } from './markup/asciidoc.js'
import { splitHtml } from './markup/html.js'
import { splitMarkdown } from './markup/markdown.js'
import { splitOrg } from './markup/org.js'
import { splitRst } from './markup/rst.js'
import { splitTex } from './markup/tex.js'
import { splitCode } from './plain/code.js'
import { splitLog } from './plain/log.js'
import { splitSubtitles } from './plain/subtitles.js'
import { splitText } from './plain/text.js'

const SOURCE_CODE = `.js .mjs .cjs .jsx .ts .mts .cts .tsx .py .rb .go .rs .java .kt .c .h .cc .cpp .hpp .cs .php .swift
.scala .sh .bash .sql .lua .pl .r .css .scss .vue .svelte .toml .ini .proto`.split(/\s+/)

export const FORMATS: readonly Format[] = [
  { extensions: ['.md', '.markdown'], place: 'lines', mimeType: 'text/markdown', split: text => splitMarkdown(text) },
  { extensions: ['.mdx'], place: 'lines', mimeType: 'text/markdown', split: text => splitMarkdown(text, true) },
  { extensions: ['.txt', '.text', ''], place: 'lines', split: splitText },
  { extensions: ['.log'], place: 'lines', split: splitLog },
  { extensions: ['.srt', '.vtt'], place: 'lines', split: splitSubtitles },
  { extensions: ['.rst'], place: 'lines', split: splitRst },
  { extensions: ['.adoc', '.asciidoc'], place: 'lines', split: splitAsciidoc },
  { extensions: ['.org'], place: 'lines', split: splitOrg },
  { extensions: ['.tex', '.ltx'], place: 'lines', split: splitTex },
  { extensions: ['.html', '.htm'], place: 'lines', mimeType: 'text/html', split: splitHtml },
  { extensions: ['.csv', '.tsv'], place: 'lines', split: splitCsv },
  { extensions: ['.ipynb'], place: 'cell', split: splitNotebook, damage: damageOfNotebook },
  { extensions: ['.json', '.yaml', '.yml'], place: 'lines', named: true, split: splitKeys },
  { extensions: SOURCE_CODE, place: 'lines', named: true, split: (text, source) => splitCode(text, extname(source).slice(1)) },
  { extensions: ['.pdf'], place: 'page', package: 'unpdf', load: async () => (await import('./pdf/pdf.js')).splitPdf },
  { extensions: ['.docx'], place: 'lines', package: 'mammoth', load: async () => (await import('./office/docx.js')).splitDocx },
  { extensions: ['.xlsx'], place: 'row', package: 'jszip', load: async () => (await import('./office/xlsx.js')).splitXlsx },
  { extensions: ['.pptx'], place: 'slide', package: 'jszip', load: async () => (await import('./office/pptx.js')).splitPptx },
  { extensions: ['.odt'], place: 'lines', package: 'jszip', load: async () => (await import('./office/odt.js')).splitOdt },
  { extensions: ['.ods'], place: 'row', package: 'jszip', load: async () => (await import('./office/ods.js')).splitOds },
  { extensions: ['.odp'], place: 'slide', package: 'jszip', load: async () => (await import('./office/odp.js')).splitOdp },
  { extensions: ['.epub'], place: 'chapter', package: 'jszip', load: async () => (await import('./office/epub.js')).splitEpub },
  { extensions: ['.rtf'], place: 'lines', load: async () => (await import('./office/rtf.js')).splitRtf },
  { extensions: ['.eml'], place: 'lines', package: 'postal-mime', load: async () => (await import('./mail/eml.js')).splitEml },
  { extensions: ['.mbox'], place: 'message', package: 'postal-mime', load: async () => (await import('./mail/mbox.js')).splitMbox }
]

const BY_EXTENSION: ReadonlyMap<string, Format> = new Map(FORMATS.flatMap(format => format.extensions.map(extension => [extension, format] as const)))

/** A file with an unknown extension is plain text. */
const PLAIN = BY_EXTENSION.get('.txt') as Format

/** The extensions that are read where a folder names none. */
export const DEFAULT_EXTENSIONS: readonly string[] = FORMATS.filter(({ named }) => named !== true).flatMap(({ extensions }) => extensions)

/** The format of a file, by its extension. */
export function formatOf (source: string): Format {
  return BY_EXTENSION.get(extname(source).toLowerCase()) ?? PLAIN
}

/** Whether a file is not text: its bytes are split in a thread. */
export function isBytes (format: Format): format is BytesFormat {
  return 'load' in format
}

/** The optional packages that read files with one of the extensions, in order, once each. */
export function packagesFor (extensions: readonly string[]): string[] {
  const names = extensions.map(extension => BY_EXTENSION.get(extension)).map(format => format !== undefined && isBytes(format) ? format.package : undefined)
  return [...new Set(names.filter(name => name !== undefined))]
}

/** What the numbers of a passage count. */
export function placeName (source: string): Place {
  return formatOf(source).place
}

/** The media type of the text of a document. */
export function mimeTypeOf (source: string): string {
  const format = formatOf(source)
  return isBytes(format) ? 'text/plain' : format.mimeType ?? 'text/plain'
}

/** Why a text is not what the extension of its file promises. */
export function damageOf (source: string, text: string): string | undefined {
  const format = formatOf(source)
  return isBytes(format) ? undefined : format.damage?.(text)
}
