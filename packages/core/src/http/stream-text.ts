import { countChars, isLargeJson, jsonPieces } from '../limits/json-pieces.js'

/** Text, or its pieces where it is large: each of them is made and written in a turn of the event loop. */
export type Text = string | TextPieces

export interface TextPieces extends Iterable<string> {
  /** About the characters of all pieces: what they are made of is held meanwhile. */
  readonly length: number
}

/**
 * One server-sent event as text. `data` is sent as JSON; a string, such as `[DONE]`, is sent unchanged.
 * Format: WHATWG HTML, section 9.2. A line break in `id` or `event` would forge fields and becomes a space.
 */
export function eventText ({ id, event, data }: { id?: string, event?: string, data: unknown }): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${id === undefined ? '' : `id: ${oneLine(id)}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}data: ${text}\n\n`
}

/**
 * A comment of an event stream, which readers skip. It is a line without a blank one after it: httpx-sse and openai-go
 * dispatch an event without data at a blank line, and their callers then parse an empty text.
 */
export function commentText (text: string): string {
  return `: ${oneLine(text)}\n`
}

/** The JSON of a value with what stands before and after it, in pieces where it is large. */
export function jsonText (before: string, value: unknown, after: string): Text {
  if (!isLargeJson(value)) return `${before}${JSON.stringify(value)}${after}`
  return pieces(countChars(value), [before], jsonPieces(value), [after])
}

/** What JSON.stringify escapes: quotes, backslashes, controls, halves of surrogate pairs (here each surrogate). */
const ESCAPED = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** The JSON of a text. JSON.stringify takes twice the time of the search, and most texts need no escape. */
export function jsonString (text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** Texts in a row. */
export function joinTexts (texts: readonly Text[]): Text {
  if (texts.every(text => typeof text === 'string')) return texts.join('')
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return pieces(length, ...texts.map(text => typeof text === 'string' ? [text] : text))
}

function pieces (length: number, ...parts: Array<Iterable<string>>): TextPieces {
  return { length, * [Symbol.iterator] () { for (const part of parts) yield * part } }
}

function oneLine (value: string): string {
  return value.replace(/[\r\n\0]+/g, ' ')
}
