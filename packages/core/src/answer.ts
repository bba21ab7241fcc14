import type { Answer, SourceDocument } from './schemas.js'
import { VacInvalidResultError } from './errors.js'
import { isRecord } from './is-record.js'

/** Default of the most JSON of an answer object, in characters. */
export const MAX_OBJECT_CHARS = 8 * 1024 * 1024

/** Deepest nesting of an answer object; a cycle is endless. */
const MAX_OBJECT_DEPTH = 128

/** Counted for each value, since objects cost more than their text. */
const CHARS_PER_VALUE = 32

/**
 * Converts the result of an interpreter to the one result shape of contract section 1.
 * @param result text, an object with `answer`, `{ output: { content, metadata } }`, `{ input_required }`, `{
 * auth_required }`, or nothing
 * @param streamed the text streamed so far: the answer of an interpreter that never gives one
 * @param maxObjectChars most JSON of an object, in characters: converting it blocks the event loop
 * @throws VAC_INVALID_RESULT for anything else, and for an object that is too large or not plain JSON data
 */
export function normaliseAnswer (vac: string, result: unknown, streamed: string, maxObjectChars = MAX_OBJECT_CHARS): Answer {
  if (result === undefined || result === null) {
    if (streamed === '') throw new VacInvalidResultError(quote(vac), 'no answer at all')
    return { answer: streamed, source_documents: [] }
  }
  if (typeof result === 'string') return { answer: result, source_documents: [] }
  if (!isRecord(result)) throw new VacInvalidResultError(quote(vac), describe(result))
  const { answer, source_documents: documents, metadata, ...extras } = toJson(vac, result, maxObjectChars)
  const hasMetadata = isRecord(metadata)
  const { source_documents: nested, ...leftover } = hasMetadata ? metadata : {}
  const text = textOf(answer, extras, streamed)
  if (text === undefined) throw new VacInvalidResultError(quote(vac), 'an object without a string `answer`')
  return {
    answer: text,
    source_documents: documentsOf(documents) ?? documentsOf(nested) ?? [],
    ...(hasMetadata ? { metadata: leftover } : {}),
    ...extras
  }
}

/** What the interpreter needs to continue: the caller's input or an authorization. Undefined for a complete answer. */
export function askedBack ({ input_required: question, auth_required: need }: Readonly<Record<string, unknown>>):
{ readonly kind: 'input' | 'auth', readonly text: string } | undefined {
  if (typeof question === 'string') return { kind: 'input', text: question }
  return typeof need === 'string' ? { kind: 'auth', text: need } : undefined
}

/** The answer's text: `answer`, or the question to the caller, or `output.content` of older chains. */
function textOf (answer: unknown, extras: Record<string, unknown>, streamed: string): string | undefined {
  if (typeof answer === 'string') return answer
  const asked = askedBack(extras)
  if (asked !== undefined) return streamed === '' ? asked.text : streamed
  if (isRecord(extras.output) && typeof extras.output.content === 'string') return extras.output.content
  return answer === undefined && streamed !== '' ? streamed : undefined
}

function documentsOf (value: unknown): SourceDocument[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.map((document: unknown) => {
    if (typeof document === 'string') return { page_content: document, metadata: {} }
    if (!isRecord(document)) return { page_content: String(document), metadata: {} }
    const { page_content: content, metadata } = document
    return {
      page_content: typeof content === 'string' ? content : JSON.stringify(document),
      metadata: isRecord(metadata) ? metadata : {}
    }
  })
}

/** Results are stored, sent and replayed as JSON. They are converted here, where an error can name the interpreter. */
function toJson (vac: string, result: object, maxChars: number): Record<string, unknown> {
  let excess: string | undefined
  try {
    // most answers are flat, and are JSON already
    const isFlat = Object.values(result).every(isScalar)
    excess = excessOf(result, maxChars)
    if (excess === undefined && isFlat) return { ...result }
    const text = excess === undefined ? JSON.stringify(result) : ''
    if (text.length > 2 * maxChars) excess = tooLarge(maxChars)
    if (excess === undefined) return JSON.parse(text) as Record<string, unknown>
  } catch (err) {
    throw Object.assign(new VacInvalidResultError(quote(vac), 'a result that cannot be converted to JSON'), { cause: err })
  }
  throw new VacInvalidResultError(quote(vac), excess)
}

/** What is too much about an object, found without converting it. */
function excessOf (result: object, maxChars: number): string | undefined {
  let left = maxChars
  let isTooDeep = false
  const fits = (value: unknown, depth: number): boolean => {
    left -= CHARS_PER_VALUE + (typeof value === 'string' ? value.length : 0)
    if (left < 0) return false
    if (typeof value !== 'object' || value === null) return true
    isTooDeep = depth > MAX_OBJECT_DEPTH
    if (isTooDeep) return false
    if (ArrayBuffer.isView(value)) return (left -= CHARS_PER_VALUE * value.byteLength) >= 0
    if (Array.isArray(value)) return value.every(item => fits(item, depth + 1))
    for (const key in value) if (!fits((value as Record<string, unknown>)[key], depth + 1)) return false
    return true
  }
  if (fits(result, 0)) return undefined
  return isTooDeep ? `an object that is nested more than ${MAX_OBJECT_DEPTH} levels deep, or contains itself` : tooLarge(maxChars)
}

function tooLarge (maxChars: number): string {
  return `an object of more than ${maxChars} characters of JSON, at ${CHARS_PER_VALUE} for each value`
}

function isScalar (value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value)
}

function describe (value: unknown): string {
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

const quote = (name: string): string => JSON.stringify(name)
