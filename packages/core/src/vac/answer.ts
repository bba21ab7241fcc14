import type { Answer, SourceDocument } from './schemas.js'
import { VacInvalidResultError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import { copyJson, ExcessError } from './copy-json.js'

/** Default of the most JSON of an answer object, in characters. */
export const MAX_OBJECT_CHARS = 8 * 1024 * 1024

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
  const json = toJson(vac, result, maxObjectChars)
  const text = textOf(json, streamed)
  if (text === undefined) throw new VacInvalidResultError(quote(vac), 'an object without a string `answer`')
  const { metadata } = json
  const documents = documentsOf(json.source_documents)
  // most results have no more: taking members out of an object, and spreading none into another, are slow
  if (metadata === undefined && !hasExtras(json)) return { answer: text, source_documents: documents ?? [] }
  const { answer: _answer, source_documents: _documents, metadata: _metadata, ...extras } = json
  if (!isRecord(metadata)) return { answer: text, source_documents: documents ?? [], ...extras }
  const { source_documents: nested, ...leftover } = metadata
  return { answer: text, source_documents: documents ?? documentsOf(nested) ?? [], metadata: leftover, ...extras }
}

function hasExtras (json: Record<string, unknown>): boolean {
  for (const key in json) if (key !== 'answer' && key !== 'source_documents') return true
  return false
}

/** What the interpreter needs to continue: the caller's input or an authorization. Undefined for a complete answer. */
export function askedBack ({ input_required: question, auth_required: need }: Readonly<Record<string, unknown>>):
{ readonly kind: 'input' | 'auth', readonly text: string } | undefined {
  if (typeof question === 'string') return { kind: 'input', text: question }
  return typeof need === 'string' ? { kind: 'auth', text: need } : undefined
}

/** The answer's text: `answer`, or the question to the caller, or `output.content` of older chains. */
function textOf (extras: Record<string, unknown>, streamed: string): string | undefined {
  const { answer } = extras
  if (typeof answer === 'string') return answer
  const asked = askedBack(extras)
  if (asked !== undefined) return streamed === '' ? asked.text : streamed
  if (Array.isArray(extras.tool_calls)) return streamed
  if (isRecord(extras.output) && typeof extras.output.content === 'string') return extras.output.content
  return answer === undefined && streamed !== '' ? streamed : undefined
}

function documentsOf (value: unknown): SourceDocument[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.map(documentOf)
}

/** A source in any form as one document. */
export function documentOf (document: unknown): SourceDocument {
  if (typeof document === 'string') return { page_content: document, metadata: {} }
  if (!isRecord(document)) return { page_content: String(document), metadata: {} }
  const { page_content: content, metadata } = document
  return {
    page_content: typeof content === 'string' ? content : JSON.stringify(document),
    metadata: isRecord(metadata) ? metadata : {}
  }
}

/** Results are stored, sent and replayed as JSON. They are converted here, where an error can name the interpreter. */
function toJson (vac: string, result: object, maxChars: number): Record<string, unknown> {
  try {
    const copy = copyJson(result, { max: maxChars, left: maxChars })
    if (isRecord(copy)) return copy
    throw new ExcessError(describe(copy))
  } catch (err) {
    if (err instanceof ExcessError) throw new VacInvalidResultError(quote(vac), err.message)
    throw Object.assign(new VacInvalidResultError(quote(vac), 'a result that cannot be converted to JSON'), { cause: err })
  }
}

function describe (value: unknown): string {
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

const quote = (name: string): string => JSON.stringify(name)
