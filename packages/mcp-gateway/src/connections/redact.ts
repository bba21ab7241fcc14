/** Values shorter than this occur by accident, and replacing them would garble the text. */
const MIN_SECRET_CHARS = 6

const SECRET_NAME = /TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|DATABASE_URL|CONNECTION/i

/** Takes known secrets out of text that goes to callers and logs, such as the last lines of a server that prints its environment. */
export type Redact = (text: string) => string

/** How deep an object is looked into; what is below is left out. */
const MAX_DEPTH = 100

/** The same of all texts in a JSON value. */
export function redactedValue (value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return undefined
  if (Array.isArray(value)) return value.map(one => redactedValue(one, redact, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redact(key), redactedValue(one, redact, depth + 1)]))
}

/**
 * @param named values that the configuration itself handed over: all of them count
 * @param inherited the rest of a child's environment: those whose name sounds like a secret count
 */
export function redactor (named: Iterable<string>, inherited: Readonly<Record<string, string | undefined>> = {}): Redact {
  const secrets = new Set<string>()
  for (const value of named) if (value.length >= MIN_SECRET_CHARS) secrets.add(value)
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && value.length >= MIN_SECRET_CHARS && SECRET_NAME.test(name)) secrets.add(value)
  }
  // the longest first: one may be part of another
  const ordered = [...secrets].sort((a, b) => b.length - a.length)
  return text => ordered.reduce((clean, secret) => clean.includes(secret) ? clean.replaceAll(secret, '[redacted]') : clean, text)
}
