/** Values shorter than this occur by accident, and replacing them would garble the text. */
const SHORTEST_SECRET = 6

const SECRET_NAME = /TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|DATABASE_URL|CONNECTION/i

/** Takes known secrets out of text that goes to callers and logs, such as the last lines of a server that prints its environment. */
export type Redact = (text: string) => string

/**
 * @param named values that the configuration itself handed over: all of them count
 * @param inherited the rest of a child's environment: those whose name sounds like a secret count
 */
export function redactor (named: Iterable<string>, inherited: Readonly<Record<string, string | undefined>> = {}): Redact {
  const secrets = new Set<string>()
  for (const value of named) if (value.length >= SHORTEST_SECRET) secrets.add(value)
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && value.length >= SHORTEST_SECRET && SECRET_NAME.test(name)) secrets.add(value)
  }
  // the longest first: one may be part of another
  const ordered = [...secrets].sort((a, b) => b.length - a.length)
  return text => ordered.reduce((clean, secret) => clean.includes(secret) ? clean.replaceAll(secret, '[redacted]') : clean, text)
}
