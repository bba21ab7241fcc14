import { BodyTooDeepError } from './errors.js'

/** Deepest nesting taken from a caller. Deeper values overflow the stack of whatever clones or prints them later. */
export const MAX_BODY_DEPTH = 64

/**
 * Refuses a body nested deeper than MAX_BODY_DEPTH, without recursion; for `preValidation`.
 * @throws BODY_TOO_DEEP (400)
 */
export function checkDepth (body: unknown): void {
  let level: object[] = typeof body === 'object' && body !== null ? [body] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_BODY_DEPTH) throw new BodyTooDeepError(MAX_BODY_DEPTH)
    const next: object[] = []
    for (const value of level) {
      for (const key in value) {
        const child: unknown = (value as Record<string, unknown>)[key]
        if (typeof child === 'object' && child !== null) next.push(child)
      }
    }
    level = next
  }
}
