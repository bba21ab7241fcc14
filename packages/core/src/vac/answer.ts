import type { Answer, SourceDocument } from './schemas.js'
import { VacInvalidResultError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'

/** Default of the most JSON of an answer object, in characters. */
export const MAX_OBJECT_CHARS = 8 * 1024 * 1024

/** Deepest nesting of an answer object; a cycle is endless. */
const MAX_OBJECT_DEPTH = 128

/** Counted for each value, since objects cost more than their text. */
const CHARS_PER_VALUE = 32

/**
 * Converts the result of an interpreter to the one result shape of contract section 1.
 * @param result text, an object with `answer`, `{ output: { content, metadata } }`, `{ input_required }`, `{
 * auth_required }`, `{ tool_calls }`, or nothing
 * @param streamed the text streamed so far: the answer of an interpreter that never gives one
 * @param maxObjectChars most JSON of an object, in characters: converting it blocks the event loop
 * @throws VAC_INVALID_RESULT for anything else, and for an object that is too large or not plain JSON data
 */
export function normaliseAnswer (vac: string, result: unknown, streamed: string, maxObjectChars = MAX_OBJECT_CHARS): Answer {
  if (result === undefined || result === null) {
    if (streamed === '') throw new VacInvalidResultError(quote(vac), 'no answer at all')
    return { answer: streamed, source_documents: [] }
  }
  if (typeof result === 'string') return { answer: result.toWellFormed(), source_documents: [] }
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
  if (Array.isArray(extras.tool_calls)) return streamed
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
  try {
    const copy = copyJson(result, maxChars)
    if (isRecord(copy)) return copy
    throw new ExcessError(describe(copy))
  } catch (err) {
    if (err instanceof ExcessError) throw new VacInvalidResultError(quote(vac), err.message)
    throw Object.assign(new VacInvalidResultError(quote(vac), 'a result that cannot be converted to JSON'), { cause: err })
  }
}

/** The object is not one that an interpreter may return. */
class ExcessError extends Error {}

/**
 * What JSON.parse(JSON.stringify(value)) makes of a value, in one pass that stops where there is too much of it. Texts
 * are not copied: parsing 8 MB of JSON blocks the event loop for 60 ms. Half of a surrogate pair becomes U+FFFD.
 */
function copyJson (result: object, maxChars: number): unknown {
  let left = maxChars
  const copy = (given: unknown, key: string | number, depth: number, isForm = false): unknown => {
    left -= typeof key === 'string' ? Math.max(CHARS_PER_VALUE, key.length) : CHARS_PER_VALUE
    if (typeof given === 'string') left -= given.length
    if (left < 0) throw new ExcessError(`an object of more than ${maxChars} characters of JSON, at ${CHARS_PER_VALUE} for each value`)
    if (typeof given !== 'object' || given === null) return scalar(given)
    if (depth > MAX_OBJECT_DEPTH) throw new ExcessError(`an object that is nested more than ${MAX_OBJECT_DEPTH} levels deep, or contains itself`)
    const { toJSON } = given as { toJSON?: unknown }
    // what the method returns may be the object itself
    if (typeof toJSON === 'function' && !isForm) return copy(toJSON.call(given, String(key)), key, depth + 1, true)
    if (given instanceof Number || given instanceof String || given instanceof Boolean) return scalar(given.valueOf())
    if (Array.isArray(given)) {
      const items: unknown[] = []
      for (let i = 0; i < given.length; i++) items.push(copy(given[i], i, depth + 1) ?? null)
      return items
    }
    const members: Record<string, unknown> = {}
    for (const key of Object.keys(given)) {
      const member = copy((given as Record<string, unknown>)[key], key, depth + 1)
      if (member === undefined) continue
      if (key === '__proto__') Object.defineProperty(members, key, { value: member, enumerable: true, configurable: true, writable: true })
      else members[key.toWellFormed()] = member
    }
    return members
  }
  return copy(result, '', 0)
}

/** As JSON.stringify treats values that are not objects. */
function scalar (value: unknown): unknown {
  switch (typeof value) {
    case 'string': return value.toWellFormed()
    // not -0
    case 'number': return Number.isFinite(value) ? value + 0 : null
    case 'function':
    case 'symbol': return undefined
    // throws, unless the application has defined a form
    case 'bigint': return JSON.parse(JSON.stringify(value))
    default: return value
  }
}

function describe (value: unknown): string {
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

const quote = (name: string): string => JSON.stringify(name)
