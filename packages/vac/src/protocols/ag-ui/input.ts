import type { ChatTurn } from '@polyvac/core'
import { contentText, isRecord } from '@polyvac/core/protocol'
import { fileOfUrl, questionText, type QuestionFile } from '../../chat/question-file.js'

type Json = Readonly<Record<string, unknown>>

/** The messages of a request, as far as they can be used. */
export interface Input {
  /** The last message of the user; '' where there is none. */
  readonly question: string
  /** Its id. */
  readonly id: string | undefined
  /** How many messages of the user there are. */
  readonly count: number
  readonly files: readonly QuestionFile[]
  /** What was said before it, and the results of tools after it. */
  readonly history: readonly ChatTurn[]
  /** The last answer before it, with what was said after that. */
  readonly answer: { readonly id: string | undefined, readonly text: string, readonly since: readonly ChatTurn[] } | undefined
  /** All messages, as they came. */
  readonly messages: readonly Json[]
}

/**
 * Reads messages. Their content is what the client states: system messages are left out, addresses are not fetched, and
 * what has no known form is left out without the rest.
 * @param takes what the interpreter takes
 */
export function readInput (value: unknown, takes: readonly string[]): Input {
  const messages = Array.isArray(value) ? value.filter(isRecord) : []
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const { id, content } = messages[last] ?? {}
  const files = filesOf(content, takes)
  const text = textOf(content).trim()
  const answered = messages.slice(0, Math.max(0, last)).findLastIndex(({ role, content }) => role === 'assistant' && textOf(content) !== '')
  const answer = messages[answered]
  const turns = (some: readonly Json[]): ChatTurn[] => some.flatMap(message => turnOf(message, takes))
  return {
    question: questionText(text, files),
    id: textId(id),
    count: messages.filter(({ role }) => role === 'user').length,
    files,
    history: turns(messages.filter((_message, i) => i !== last)),
    answer: answer && { id: textId(answer.id), text: textOf(answer.content), since: turns(messages.slice(answered + 1, last)) },
    messages
  }
}

function textId (id: unknown): string | undefined { return typeof id === 'string' && id !== '' ? id : undefined }

function textOf (content: unknown): string { return contentText(content ?? '') ?? '' }

/** Results of tools are for interpreters that have called the tools of the caller. */
function turnOf ({ role, content }: Json, takes: readonly string[]): ChatTurn[] {
  const text = textOf(content)
  if (text.trim() === '') return []
  if (role === 'user' || role === 'assistant') return [{ role, content: text }]
  return role === 'tool' && takes.includes('tools') ? [{ role: 'assistant', content: text }] : []
}

/** What an interpreter takes for a file, by the type of its part. */
const KINDS: Readonly<Record<string, string>> = { image: 'images', audio: 'audio', video: 'files', document: 'files' }

function filesOf (content: unknown, takes: readonly string[]): QuestionFile[] {
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown) => {
    const file = isRecord(part) ? fileOf(part) : undefined
    return file !== undefined && (takes.includes(file.kind) || takes.includes('files')) ? [file.file] : []
  })
}

/** The file of a part; undefined for a part of another type, and for one without a file that can be used. */
function fileOf ({ type, source, mimeType, data, url, filename }: Json): { readonly kind: string, readonly file: QuestionFile } | undefined {
  if (typeof type !== 'string') return undefined
  if (type === 'binary') {
    // before 1.0
    const [media = ''] = typeof mimeType === 'string' ? mimeType.split('/') : []
    const file = contentOf(data ?? url, mimeType, data !== undefined && data !== null)
    return file && { kind: KINDS[media] ?? 'files', file: typeof filename === 'string' ? { filename, ...file } : file }
  }
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  if (kind === undefined || !isRecord(source)) return undefined
  const file = source.type === 'data' || source.type === 'url' ? contentOf(source.value, source.mimeType, source.type === 'data') : undefined
  return file && { kind, file }
}

function contentOf (value: unknown, mimeType: unknown, isData: boolean): QuestionFile | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const type = typeof mimeType === 'string' && mimeType !== '' ? { media_type: mimeType.toLowerCase() } : {}
  const file = fileOfUrl(value)
  if (file?.bytes !== undefined) return { ...type, ...file }
  // a data URL that is not encoded right has no content
  if (/^data:/i.test(value)) return undefined
  if (isData) return { ...type, bytes: value }
  return file && { ...type, ...file }
}

/** An answer to an interrupt. */
export interface Resume {
  readonly id: string
  readonly isCancelled: boolean
  /** The text of the answer; undefined where it has none. */
  readonly text: string | undefined
}

export function readResume (value: unknown): Resume[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).map(({ interruptId, status, payload }) => ({ id: textId(interruptId) ?? '', isCancelled: status === 'cancelled', text: payloadText(payload) }))
}

/** Front ends send a text, one of the members that approvals and forms have, or the values of a form. */
function payloadText (payload: unknown): string | undefined {
  if (payload === undefined || payload === null) return undefined
  if (typeof payload === 'boolean') return payload ? 'yes' : 'no'
  if (!isRecord(payload)) return typeof payload === 'string' ? payload.trim() || undefined : JSON.stringify(payload)
  const { text, answer, approved, approval } = payload
  if (isRecord(approval)) return payloadText(approval)
  if (typeof text === 'string') return payloadText(text)
  if (typeof answer === 'string') return payloadText(answer)
  return typeof approved === 'boolean' ? payloadText(approved) : JSON.stringify(payload)
}
