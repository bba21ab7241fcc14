import type { Answer, SourceDocument } from './schemas.js'
import { VacInvalidResultError } from './errors.js'
import { isRecord } from './is-record.js'

/**
 * Converts the result of an interpreter to the one result shape of contract section 1.
 * @param result text, an object with `answer`, `{ output: { content, metadata } }`, `{ input_required }`, `{
 * auth_required }`, or nothing
 * @param streamed the text streamed so far: the answer of an interpreter that never gives one
 * @throws VAC_INVALID_RESULT for anything else, and for an object that is not plain JSON data
 */
export function normaliseAnswer (vac: string, result: unknown, streamed: string): Answer {
  if (result === undefined || result === null) {
    if (streamed === '') throw new VacInvalidResultError(quote(vac), 'no answer at all')
    return { answer: streamed, source_documents: [] }
  }
  if (typeof result === 'string') return { answer: result, source_documents: [] }
  if (!isRecord(result)) throw new VacInvalidResultError(quote(vac), describe(result))
  const { answer, source_documents: documents, metadata, ...extras } = toJson(vac, result)
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
function toJson (vac: string, result: object): Record<string, unknown> {
  // most answers are flat, and are JSON already
  if (Object.values(result).every(isScalar)) return { ...result }
  try {
    return JSON.parse(JSON.stringify(result)) as Record<string, unknown>
  } catch (err) {
    throw Object.assign(new VacInvalidResultError(quote(vac), 'a result that cannot be converted to JSON'), { cause: err })
  }
}

function isScalar (value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value)
}

function describe (value: unknown): string {
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

const quote = (name: string): string => JSON.stringify(name)
