/** Shorter values occur by accident: replacing them would garble the text. */
const MIN_SECRET_CHARS = 6

/** The same for a value whose name does not suggest a secret. */
const MIN_UNNAMED_CHARS = 8

const SECRET_NAME = /TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)|COOKIE|DATABASE_URL|CONNECTION/i

/** Variables of the system and of Node.js, whose values occur in the results of many tools. */
const SYSTEM_NAME = /^(?:HOME|USER|LOGNAME|USERNAME|SHELL|TERM|PATH|PWD|OLDPWD|HOSTNAME|LANG|LC_.*|TZ|EDITOR|PAGER|NODE_.*|npm_.*|XDG_.*|SYSTEMROOT)$/i

/**
 * Values that are not secret: one short word, a path, `true`, a number of up to eight digits, a version, a locale, an
 * address of this machine, a URL without path, user and query, a media type.
 */
const TRIVIAL = new RegExp([
  '[A-Za-z]{1,16}', '(?:[A-Za-z]:)?[\\\\/~.].*', '[\\d.:,]{1,8}', 'v?\\d+(?:\\.\\d+)+', '[a-z]{2}_[A-Z]{2}(?:\\.[\\w-]+)?',
  '(?:localhost|127(?:\\.\\d+){3})(?::\\d+)?', 'https?://[\\w.:[\\]-]+/?', '(?:application|text)/[\\w.+-]+'
].map(pattern => `^${pattern}$`).join('|'))

/** Deeper values are left out. Messages are not deeper; see `parseProblem`. */
const MAX_DEPTH = 2_600

function isSecret (name: string, value: string): boolean {
  if (value.length < MIN_SECRET_CHARS) return false
  if (SECRET_NAME.test(name)) return true
  return value.length >= MIN_UNNAMED_CHARS && !SYSTEM_NAME.test(name) && !TRIVIAL.test(value)
}

/**
 * Replaces known secrets in what a server sends, such as the stderr of a server that prints its environment. This
 * prevents accidents: a server that wants to can encode what it knows.
 */
export class Redactor {
  // @keyed token that an issuer sent, and values of the configuration | holds: nothing more | whose: the entry of a
  //   server, or the owner of a connection | bound: one for each token since the connection began; a token response
  //   has at most MAX_BYTES | share: the connection alone | test: packages/mcp-gateway/test/oauth.test.ts: a redirect
  //   of the issuer is not followed, and its answer is bounded in bytes
  readonly #secrets = new Set<string>()
  #pattern: RegExp | undefined

  /** @param values by name, such as variables and headers; those that are short or trivial are not secret */
  constructor (values: Iterable<readonly [name: string, value: string | undefined]>) {
    for (const [name, value = ''] of values) if (isSecret(name, value)) this.#secrets.add(value)
    this.#compile()
  }

  /** Makes another value secret, unless it is short. */
  add (secret: string): void {
    if (secret.length >= MIN_SECRET_CHARS) this.#secrets.add(secret)
    this.#compile()
  }

  text (text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, '[redacted]')
  }

  /** Redacts all strings and keys of a JSON value. The value itself is returned where there is nothing to redact. */
  value<T> (value: T, depth = 0): T {
    return this.#pattern === undefined ? value : this.#walk(value, depth) as T
  }

  #walk (value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === MAX_DEPTH) return undefined
    if (Array.isArray(value)) {
      let clean = value
      for (let i = 0; i < value.length; i++) {
        const one = this.#walk(value[i], depth + 1)
        if (one === value[i]) continue
        if (clean === value) clean = value.slice()
        clean[i] = one
      }
      return clean
    }
    let isChanged = false
    const entries: Array<[string, unknown]> = []
    // not map(), whose callback would take two more frames of the stack for each level
    for (const [key, one] of Object.entries(value)) {
      const entry: [string, unknown] = [this.text(key), this.#walk(one, depth + 1)]
      isChanged ||= entry[0] !== key || entry[1] !== one
      entries.push(entry)
    }
    return isChanged ? Object.fromEntries(entries) : value
  }

  #compile (): void {
    // longest first: one secret may contain another
    const ordered = [...this.#secrets].sort((a, b) => b.length - a.length)
    this.#pattern = ordered.length === 0 ? undefined : new RegExp(ordered.map(escape).join('|'), 'g')
  }
}

function escape (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
