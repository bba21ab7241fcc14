/** Shorter values occur by accident: replacing them would garble the text. */
const MIN_SECRET_CHARS = 6

const SECRET_NAME = /TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|DATABASE_URL|CONNECTION/i

/** Replaces known secrets in text for callers and logs, such as the stderr of a server that prints its environment. */
export type Redact = (text: string) => string

/** Deeper values of an object are left out. */
const MAX_DEPTH = 100

/** Redacts all strings in a JSON value. */
export function redactedValue (value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return undefined
  if (Array.isArray(value)) return value.map(one => redactedValue(one, redact, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redact(key), redactedValue(one, redact, depth + 1)]))
}

/**
 * @param named values from the configuration: all are secret
 * @param inherited the rest of a child's environment: values are secret if their name suggests it
 */
export function redactor (named: Iterable<string>, inherited: Readonly<Record<string, string | undefined>> = {}): Redact {
  const secrets = new Set<string>()
  for (const value of named) if (value.length >= MIN_SECRET_CHARS) secrets.add(value)
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && value.length >= MIN_SECRET_CHARS && SECRET_NAME.test(name)) secrets.add(value)
  }
  // longest first: one secret may contain another
  const ordered = [...secrets].sort((a, b) => b.length - a.length)
  return text => ordered.reduce((clean, secret) => clean.includes(secret) ? clean.replaceAll(secret, '[redacted]') : clean, text)
}
