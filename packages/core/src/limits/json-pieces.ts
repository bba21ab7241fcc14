import { memoryBudget } from './memory-budget.js'
import { yieldToEventLoop } from '../basics/turns.js'
import { beginning } from '../basics/well-formed.js'

/** Longer texts, and JSON that is longer, are handled in pieces: 12 MB at once block the event loop for 100 ms. */
const MAX_WHOLE_CHARS = 256 * 1024
/** Characters of a piece. */
const PIECE_CHARS = 64 * 1024
/** Counted for each value besides the characters of texts. */
const CHARS_PER_VALUE = 32
/** Deeper values are left to JSON.stringify, which refuses cycles. */
const MAX_DEPTH = 500

/** Whether a text is handled in pieces. */
export function isLargeText (text: string): boolean {
  return text.length > MAX_WHOLE_CHARS
}

/** The first piece of a text and the rest; a surrogate pair stays together. */
export function cutText (text: string): [piece: string, rest: string] {
  const piece = beginning(text, PIECE_CHARS)
  return [piece, text.slice(piece.length)]
}

/** The pieces of a text, of PIECE_CHARS. */
export function * textPieces (text: string): Generator<string, void> {
  for (let piece = '', rest = text; rest !== '';) {
    [piece, rest] = cutText(rest)
    yield piece
  }
}

/** Whether the JSON of a value is made in pieces. It reads about MAX_WHOLE_CHARS of the value, not more. */
export function isLargeJson (value: unknown): boolean {
  return charsLeft(value, MAX_WHOLE_CHARS, 0) < 0
}

/** About the characters of a value's JSON, without making it. */
export function countChars (value: unknown): number {
  return Number.MAX_SAFE_INTEGER - charsLeft(value, Number.MAX_SAFE_INTEGER, 0)
}

function charsLeft (value: unknown, left: number, depth: number): number {
  left -= CHARS_PER_VALUE
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return left
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = charsLeft(value[i], left, depth + 1)
    return left
  }
  for (const key in value) {
    left = charsLeft((value as Record<string, unknown>)[key], left - key.length, depth + 1)
    if (left < 0) break
  }
  return left
}

/** The text that JSON.stringify makes of a value, in pieces. */
export function * jsonPieces (value: unknown): Generator<string, void> {
  let text = ''
  for (const part of jsonParts(value, 0)) {
    text += part
    if (text.length < PIECE_CHARS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

function * jsonParts (value: unknown, depth: number): Generator<string, void> {
  if (typeof value === 'string') return yield * stringParts(value)
  if (typeof value !== 'object' || value === null || 'toJSON' in value || depth > MAX_DEPTH || !isLargeJson(value)) {
    return yield JSON.stringify(value) ?? 'null'
  }
  const isArray = Array.isArray(value)
  let separator = isArray ? '[' : '{'
  for (const [key, member] of Object.entries(value)) {
    if (!isArray && (member === undefined || typeof member === 'function' || typeof member === 'symbol')) continue
    yield isArray ? separator : `${separator}${JSON.stringify(key)}:`
    yield * jsonParts(member, depth + 1)
    separator = ','
  }
  yield isArray ? ']' : '}'
}

function * stringParts (text: string): Generator<string, void> {
  if (!isLargeText(text)) return yield JSON.stringify(text)
  yield '"'
  for (const piece of textPieces(text)) yield JSON.stringify(piece).slice(1, -1)
  yield '"'
}

/** A large text as bytes, in pieces: one Buffer of 24 MB takes longer to copy than all of its pieces to make. */
export class Bytes {
  readonly length: number

  constructor (readonly pieces: readonly Buffer[]) {
    this.length = pieces.reduce((sum, { length }) => sum + length, 0)
  }

  toString (): string {
    return Buffer.concat(this.pieces).toString()
  }
}

/**
 * The JSON of a large value, made piece by piece in turns of the event loop.
 * @throws MEMORY_BUDGET_EXCEEDED (503), and what JSON.stringify throws
 */
export async function jsonBytes (value: unknown, owner: string | undefined): Promise<Bytes> {
  const held = memoryBudget.hold('responses that wait for their reader', owner)
  const pieces: Buffer[] = []
  try {
    // reading a text that was joined makes a copy of it, so the memory is counted before the turns begin
    let room = countChars(value)
    held.grow(room)
    for (const text of jsonPieces(value)) {
      await yieldToEventLoop()
      const piece = Buffer.from(text)
      room -= piece.length
      if (room < 0) held.grow(piece.length)
      pieces.push(piece)
    }
    return new Bytes(pieces)
  } finally {
    held.release()
  }
}
