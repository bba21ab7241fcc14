import type { TurnQuestion } from '@polyvac/core'

/** A file that came with the question, as interpreters get it in `extra.files`. */
export interface QuestionFile {
  readonly filename?: string
  readonly media_type?: string
  /** Its content in base64; without it, `url` is its address, which is not fetched. */
  readonly bytes?: string
  readonly url?: string
}

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*?(;base64)?,/i

/** The type and content of a data URL; undefined for any other text. @throws URIError where it is not encoded right */
export function readDataUrl (url: string): Pick<QuestionFile, 'media_type' | 'bytes'> | undefined {
  const [head, type = '', isBase64] = DATA_URL.exec(url) ?? []
  if (head === undefined) return undefined
  const rest = url.slice(head.length)
  const bytes = isBase64 === undefined ? Buffer.from(decodeURIComponent(rest)).toString('base64') : rest
  return { ...type !== '' && { media_type: type.toLowerCase() }, bytes }
}

/** Whether a file may have this address. */
export function isWebUrl (url: string): boolean { return /^https?:\/\//i.test(url) }

/** A file of the question as its turn keeps it. */
export function turnFile ({ filename = 'file', media_type: type = 'application/octet-stream', bytes, url }: QuestionFile): NonNullable<TurnQuestion['files']>[number] {
  return { name: filename, media_type: type, ...bytes !== undefined && { bytes }, ...url !== undefined && { url } }
}

/** The names of files, a question for those that come without text. */
export function namesOf (files: readonly QuestionFile[]): string {
  return files.map(({ filename, media_type: type }) => filename ?? type ?? 'a file').join('\n')
}
