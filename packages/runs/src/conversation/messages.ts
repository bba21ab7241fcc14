import type { TurnFile } from '@polyvac/core'
import type { TaskPart, TaskRecord } from '@polyvac/tasks'

/** Characters of the files that a turn keeps of its question: those of a request of the default size. */
const MAX_FILE_CHARS = 4 * 1024 * 1024

/** A file that came with a question, as interpreters get it in `extra.files`. */
export interface MessageFile {
  readonly filename?: string
  readonly media_type?: string
  /** Its content in base64; without it, `url` is its address, which is not fetched. */
  readonly bytes?: string
  readonly url?: string
}

/** The text of a message, or undefined where it has none. */
function textOf (parts: readonly TaskPart[]): string | undefined {
  const texts = parts.flatMap(({ text }) => text === undefined || text.trim() === '' ? [] : [text])
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** What a message asks: its text, or what stands for it where it brings only data or files. */
export function questionText (parts: readonly TaskPart[]): string {
  const nameOf = (part: TaskPart): string =>
    part.type === 'data' ? JSON.stringify(part.data) : part.filename ?? part.mediaType ?? 'a file'
  return textOf(parts) ?? parts.map(nameOf).join('\n')
}

export function filesOf (parts: readonly TaskPart[]): MessageFile[] {
  return parts.flatMap(part => part.type !== 'file'
    ? []
    : [{
        ...(part.filename === undefined ? {} : { filename: part.filename }),
        ...(part.mediaType === undefined ? {} : { media_type: part.mediaType }),
        ...(part.bytes === undefined ? {} : { bytes: part.bytes }),
        ...(part.uri === undefined ? {} : { url: part.uri })
      }])
}

/** The files of a message as a turn keeps them. */
export function turnFilesOf (parts: readonly TaskPart[]): TurnFile[] {
  return filesOf(parts).map(({ filename = 'file', media_type = 'application/octet-stream', ...content }) => ({ name: filename, media_type, ...content }))
}

/** The files that fit a turn; of one that does not, only its name and type. Undefined: none. */
export function keptFiles (files: readonly TurnFile[] | undefined): TurnFile[] | undefined {
  if (files === undefined || files.length === 0) return undefined
  let left = MAX_FILE_CHARS
  return files.map(file => {
    const chars = JSON.stringify(file).length
    if (chars > left) return { name: file.name, media_type: file.media_type }
    left -= chars
    return file
  })
}

export function dataOf (parts: readonly TaskPart[]): unknown[] {
  return parts.flatMap(part => part.type === 'data' ? [part.data] : [])
}

/** What a message asks, with its files, as the next turn of its conversation keeps it. */
export function turnQuestionOf (parts: readonly TaskPart[]): { readonly question: string, readonly files: TurnFile[] | undefined } {
  return { question: questionText(parts), files: keptFiles(turnFilesOf(parts)) }
}

/** The conversation of a task; a task that was created without one starts its own. */
export function contextOf ({ id, contextId }: Pick<TaskRecord, 'id' | 'contextId'>): string {
  return contextId ?? id
}
