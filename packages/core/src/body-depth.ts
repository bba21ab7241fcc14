/** Deepest nesting of a request body. Deeper values overflow the stack of code that clones or prints them. */
export const MAX_BODY_DEPTH = 64

/** Whether a body is nested deeper than MAX_BODY_DEPTH. It does not recurse. */
export function isTooDeep (body: unknown): boolean {
  let level: object[] = typeof body === 'object' && body !== null ? [body] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_BODY_DEPTH) return true
    const next: object[] = []
    for (const value of level) {
      for (const key in value) {
        const child: unknown = (value as Record<string, unknown>)[key]
        if (typeof child === 'object' && child !== null) next.push(child)
      }
    }
    level = next
  }
  return false
}
