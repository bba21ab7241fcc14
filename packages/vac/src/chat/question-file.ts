import { isRecord } from '@polyvac/core/protocol'
import type { Asked } from '../protocol.js'

/** A file that came with the question, as interpreters get it in `extra.files`. */
export interface QuestionFile {
  readonly filename?: string
  readonly media_type?: string
  /** Its content in base64; without it, `url` is its address, which is not fetched. */
  readonly bytes?: string
  readonly url?: string
}

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*?(;base64)?,/i

/** The file of a data URL, or of an http(s) address; undefined for anything else, also a data URL that is not valid. */
export function fileOfUrl (url: string): QuestionFile | undefined {
  const [head, type = '', isBase64] = DATA_URL.exec(url) ?? []
  if (head === undefined) return /^https?:\/\//i.test(url) ? { url } : undefined
  const bytes = isBase64 === undefined ? encoded(url.slice(head.length)) : url.slice(head.length)
  return bytes === undefined ? undefined : { ...type !== '' && { media_type: type.toLowerCase() }, bytes }
}

function encoded (text: string): string | undefined {
  try {
    return Buffer.from(decodeURIComponent(text)).toString('base64')
  } catch {
    return undefined
  }
}

/** The question of a message: its text, or the names of its files where it has only those. */
export function questionText (text: string, files: readonly QuestionFile[]): string {
  return text.trim() === '' ? files.map(({ filename, media_type: type }) => filename ?? type ?? 'a file').join('\n') : text.trim()
}

/** What of the field `files` of a body are files; a field of the caller may be anything. */
export function questionFilesIn (field: unknown): QuestionFile[] {
  const isText = (value: unknown): boolean => value === undefined || typeof value === 'string'
  const isFile = (value: unknown): value is QuestionFile =>
    isRecord(value) && [value.filename, value.media_type, value.bytes, value.url].every(isText) && (value.bytes ?? value.url) !== undefined
  return Array.isArray(field) ? field.filter(isFile) : []
}

/** A file of the question as its turn keeps it. */
export function turnFile ({ filename = 'file', media_type: type = 'application/octet-stream', bytes, url }: QuestionFile): NonNullable<Asked['files']>[number] {
  return { name: filename, media_type: type, ...bytes !== undefined && { bytes }, ...url !== undefined && { url } }
}
