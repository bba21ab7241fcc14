/** Most characters of a text in an attribute. */
export const MAX_CONTENT_CHARS = 8_192

let isCaptured = false

/** Puts questions, answers, arguments and results into attributes of spans, which have none of them without it. */
export function captureContent (on: boolean): void { isCaptured = on }

/** The text of an attribute; undefined unless content is captured. */
export function contentOf (value: unknown): string | undefined {
  if (!isCaptured) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
  return text.length <= MAX_CONTENT_CHARS ? text : `${text.slice(0, MAX_CONTENT_CHARS)}…`
}
