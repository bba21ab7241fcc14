import type { Fields } from '../shared/fields.js'

/** A file or data besides the text of an answer. */
export interface Attachment {
  readonly name: string
  /** Its media type. */
  readonly type?: string | undefined
  /** A text, or data as JSON. */
  readonly text?: string | undefined
  /** Base64. */
  readonly bytes?: string | undefined
  readonly url?: string | undefined
}

const textOrNone = (value: unknown): string | undefined => typeof value === 'string' ? value : undefined

const listOf = (value: unknown): Fields[] => Array.isArray(value) ? value.filter(one => typeof one === 'object' && one !== null) : []

/** The parts of artifacts. Their names are those of A2A 1.0, of its description, of an interpreter, or of a turn. */
export function attachmentsOf (artifacts: unknown): Attachment[] {
  return listOf(artifacts).flatMap(({ name, artifactId, content, parts = content?.parts }) => listOf(parts).map(part => ({
    name: String(part.filename ?? part.name ?? name ?? artifactId ?? 'file'),
    type: textOrNone(part.mediaType ?? part.media_type) ?? (part.data === undefined ? undefined : 'application/json'),
    text: textOrNone(part.text) ?? (part.data === undefined ? undefined : JSON.stringify(part.data, null, 2)),
    bytes: textOrNone(part.raw ?? part.bytes),
    url: textOrNone(part.url ?? part.uri)
  })))
}
