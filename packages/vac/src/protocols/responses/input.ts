import { normaliseHistory, type ChatTurn } from '@polyvac/core'
import { contentText, InvalidRequestError, isRecord, isRole } from '@polyvac/core/protocol'
import { fileOfUrl, questionText, type QuestionFile } from '../../chat/question-file.js'

export type Item = Readonly<Record<string, unknown>>

/** An item of the input that an interpreter can use. */
export type InputEntry =
  | { readonly kind: 'message', readonly role: string, readonly text: string, readonly files: readonly QuestionFile[], readonly item: Item }
  | { readonly kind: 'call', readonly id: string, readonly item: Item }
  | { readonly kind: 'output', readonly id: string, readonly text: string, readonly item: Item }
  | { readonly kind: 'reference', readonly id: string, readonly item: Item }

/**
 * The items of an input, in their order. What the history of other providers has besides, such as reasoning, their own
 * tools and types that are not known, is left out.
 * @param takes what the interpreter takes
 * @throws BAD_REQUEST naming the item
 */
export function readInput (input: unknown, takes: readonly string[]): InputEntry[] {
  if (typeof input === 'string') return [{ kind: 'message', role: 'user', text: input, files: [], item: { type: 'message', role: 'user', content: input } }]
  if (!Array.isArray(input)) return []
  return input.flatMap((item: Item, i) => readItem(item, `body/input/${i}`, takes))
}

/** One item; nothing for a type that is left out. */
export function readItem (item: Item, path: string, takes: readonly string[]): InputEntry[] {
  const { role, id, call_id: call } = item
  const type = item.type ?? (role !== undefined ? 'message' : id !== undefined ? 'item_reference' : undefined)
  if (type === 'message') {
    if (typeof role !== 'string' || !isRole(role)) throw invalid(`${path}/role`, 'must be one of user, assistant, system, developer')
    return [{ kind: 'message', role, text: partsText(item.content), files: filesOf(item.content, `${path}/content`, takes), item }]
  }
  if (type === 'item_reference' && typeof id === 'string') return [{ kind: 'reference', id, item }]
  if (type === 'function_call' && typeof call === 'string') return [{ kind: 'call', id: call, item }]
  if (type === 'function_call_output') {
    if (typeof call !== 'string' || call === '') throw invalid(`${path}/call_id`, 'is missing')
    return [{ kind: 'output', id: call, text: partsText(item.output), item }]
  }
  return []
}

/** Text of a content: parts of any type that have text, and refusals. */
function partsText (content: unknown): string {
  const parts = Array.isArray(content) ? content.map((part: unknown) => isRecord(part) && part.type === 'refusal' ? { text: part.refusal } : part) : content
  return contentText(parts ?? '') ?? ''
}

function filesOf (content: unknown, path: string, takes: readonly string[]): QuestionFile[] {
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown, i) => {
    if (!isRecord(part)) return []
    if (part.type === 'input_image') return [takenFile(part.image_url, undefined, { kind: 'images', part, path: `${path}/${i}`, takes })]
    if (part.type === 'input_file') return [takenFile(part.file_data ?? part.file_url, part.filename, { kind: 'files', part, path: `${path}/${i}`, takes })]
    return []
  })
}

function takenFile (source: unknown, name: unknown, { kind, part, path, takes }: { kind: string, part: Item, path: string, takes: readonly string[] }): QuestionFile {
  if (!takes.includes(kind)) throw invalid(path, `the interpreter of this VAC does not take ${kind} (${String(part.type)}); send text`)
  if (part.file_id !== undefined && part.file_id !== null) throw invalid(`${path}/file_id`, 'this service stores no uploaded files; send the content as a data URL')
  const url = isRecord(source) ? source.url : source
  if (typeof url !== 'string' || url === '') throw invalid(path, 'has no file; send it as a data URL, or its address')
  const filename = typeof name === 'string' ? { filename: name } : {}
  const file = fileOfUrl(url)
  if (file !== undefined) return { ...filename, ...file }
  if (/^data:/i.test(url)) throw invalid(path, 'is not a valid data URL')
  if (kind === 'files' && part.file_data === url) return { ...filename, bytes: url }
  throw invalid(path, 'must be an http(s) or data URL')
}

/** The question of an input, with what is said before it. */
export interface InputQuestion {
  readonly question: string
  readonly history: ChatTurn[]
  readonly files: readonly QuestionFile[]
}

/**
 * The last message of the user is the question; all other entries, in their order, are the history. Without one the
 * outputs of tools are what is asked about.
 * @throws BAD_REQUEST for an input without a question
 */
export function questionOf (entries: readonly InputEntry[]): InputQuestion {
  const last = entries.findLastIndex(entry => entry.kind === 'message' && entry.role.toLowerCase() === 'user')
  const asked = entries[last]
  const rest = entries.filter((entry, i) => i !== last && entry.kind !== 'call')
  if (asked?.kind === 'message') {
    if (asked.text.trim() === '' && asked.files.length === 0) throw invalid('body/input', 'the last message of the user must not be blank')
    const files = entries.flatMap(entry => entry.kind === 'message' ? entry.files : [])
    return { question: questionText(asked.text, asked.files), history: turnsOf(rest), files }
  }
  const outputs = rest.flatMap(entry => entry.kind === 'output' ? [entry.text] : [])
  if (outputs.length === 0) throw invalid('body/input', 'needs a message of the user, or the output of a function')
  return { question: outputs.join('\n\n'), history: turnsOf(rest.filter(({ kind }) => kind !== 'output')), files: [] }
}

function turnsOf (entries: readonly InputEntry[]): ChatTurn[] {
  return normaliseHistory(entries.flatMap(entry => {
    if (entry.kind === 'message') return entry.text === '' ? [] : [{ role: entry.role, content: entry.text }]
    return entry.kind === 'output' ? [{ role: 'tool', content: entry.text }] : []
  }))
}

function invalid (path: string, message: string): Error {
  return new InvalidRequestError([{ path, message }])
}
