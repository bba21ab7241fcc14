import type { Answer, SourceDocument } from './schemas.js'
import { VacInvalidResultError } from './errors.js'
import { isRecord } from './is-record.js'
import { isLargeText } from './json-pieces.js'

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
    const read = readObject(result, maxChars)
    excess = read.excess
    if (excess === undefined && isFlat) return { ...result }
    // large texts are JSON already, and converting them blocks the event loop
    const rest = read.texts.reduce<unknown>((value, { path }) => replaceAt(value, path, ''), result)
    const text = excess === undefined ? JSON.stringify(rest) : ''
    if (text.length > 2 * maxChars) excess = tooLarge(maxChars)
    if (excess === undefined) {
      return read.texts.reduce<unknown>((value, { path, text }) => replaceAt(value, path, text), JSON.parse(text)) as Record<string, unknown>
    }
  } catch (err) {
    throw Object.assign(new VacInvalidResultError(quote(vac), 'a result that cannot be converted to JSON'), { cause: err })
  }
  throw new VacInvalidResultError(quote(vac), excess)
}

type Path = ReadonlyArray<string | number>

/** What is too much about an object, found without converting it, and its large texts. */
function readObject (result: object, maxChars: number): { excess?: string, texts: Array<{ path: Path, text: string }> } {
  let left = maxChars
  let isTooDeep = false
  const texts: Array<{ path: Path, text: string }> = []
  const path: Array<string | number> = []
  const fits = (value: unknown): boolean => {
    left -= CHARS_PER_VALUE
    if (typeof value === 'string') {
      left -= value.length
      if (isLargeText(value) && isConverted(result, path)) texts.push({ path: [...path], text: value })
    }
    if (left < 0) return false
    if (typeof value !== 'object' || value === null) return true
    isTooDeep = path.length > MAX_OBJECT_DEPTH
    if (isTooDeep) return false
    if (ArrayBuffer.isView(value)) return (left -= CHARS_PER_VALUE * value.byteLength) >= 0
    if (Array.isArray(value)) return value.every((item, i) => fitsAt(i, item))
    for (const key in value) if (!fitsAt(key, (value as Record<string, unknown>)[key])) return false
    return true
  }
  const fitsAt = (key: string | number, value: unknown): boolean => {
    path.push(key)
    const does = fits(value)
    path.pop()
    return does
  }
  if (fits(result)) return { texts }
  const excess = isTooDeep ? `an object that is nested more than ${MAX_OBJECT_DEPTH} levels deep, or contains itself` : tooLarge(maxChars)
  return { excess, texts: [] }
}

/** Whether JSON.stringify reads the value at a path: it does not read inherited members, and calls `toJSON`. */
function isConverted (value: unknown, path: Path): boolean {
  return path.every(key => {
    const holder = value as Record<string | number, unknown>
    value = holder[key]
    return Object.hasOwn(holder, key) && !('toJSON' in holder)
  })
}

/** A copy with another value at a path. */
function replaceAt (value: unknown, [key, ...rest]: Path, text: string): unknown {
  if (key === undefined) return text
  const copy = (Array.isArray(value) ? [...value] : { ...value as object }) as Record<string | number, unknown>
  copy[key] = replaceAt(copy[key], rest, text)
  return copy
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
