import { base64Forms, plainForms } from './secret-forms.js'
import { isSecretName } from './secret-name.js'
import { secretsOf, secretsWithin } from './secret-values.js'

/** Shorter values occur by accident: replacing them would garble the text. A marked one counts only as a word. */
const MIN_SECRET_CHARS = 6

/** Values that are never secret, whatever their name or mark: most results have such a word. */
const SWITCH = /^(?:true|false|null|none|yes|no|on|off|auto|enabled|disabled|required|optional|\d)$/i

/** Deeper values are left out: the messages of peers are not as deep. */
export const MAX_REDACTED_DEPTH = 2_600

const MASK = '[redacted]'

/** Forms of secrets, and an expression that finds them. */
interface Wanted {
  readonly pattern: RegExp
  /** The name of each form's variable or header. */
  readonly names: ReadonlyMap<string, string>
}

/**
 * Replaces known secrets in what a peer sends: the stderr of an MCP server that prints its environment, the error of an
 * agent or of a model server that repeats a header. This prevents accidents: a peer that wants to can encode what it
 * knows.
 */
export class Redactor {
  // @keyed token that an issuer sent, and values of the configuration | holds: the name of its variable | whose: the
  //   entry of a server, or the owner of a connection | bound: one for each token since the connection began; a token
  //   response has at most MAX_BYTES | share: only the connection | test: packages/mcp-gateway/test/oauth.test.ts: a
  //   redirect of the issuer is not followed, and its answer is bounded in bytes
  readonly #secrets = new Map<string, string>()
  /** The forms that occur in results. */
  #plain: Wanted | undefined
  /** These and base64, for errors, stderr and the state of a server. */
  #all: Wanted | undefined

  /**
   * @param values by name, such as variables and headers; the name decides whether a value is secret, and the passwords
   *   of URLs are
   * @param marked names of values that are secret as well
   */
  constructor (values: Iterable<readonly [name: string, value: string | undefined]>, marked: readonly string[] = []) {
    const names = new Set(marked)
    for (const [name, value = ''] of values) {
      const isMarked = names.has(name)
      const secrets = isMarked || isSecretName(name) ? secretsOf(value) : []
      for (const secret of [...secrets, ...secretsWithin(value)]) this.#note(name, secret, isMarked ? 1 : MIN_SECRET_CHARS)
    }
  }

  /** Makes another value secret, such as a token or the header with it, unless it is short. */
  add (secret: string, name = 'oauth'): void {
    if (this.#secrets.has(secret)) return
    for (const one of secretsOf(secret)) this.#note(name, one, MIN_SECRET_CHARS)
    this.#plain = this.#all = undefined
  }

  #note (name: string, secret: string, minChars: number): void {
    const value = secret.trim()
    if (value.length >= minChars && !SWITCH.test(value) && !this.#secrets.has(secret)) this.#secrets.set(secret, name)
  }

  /** Whether there is nothing to replace. */
  get isIdle (): boolean {
    return this.#secrets.size === 0
  }

  /** Redacts an error, a line of stderr, or another text about a server. */
  text (text: string): string {
    if (this.isIdle) return text
    this.#all ??= compile(this.#secrets, secret => [...plainForms(secret), ...base64Forms(secret)])
    return masked(text, this.#all)
  }

  /** Redacts a text of a result; `found` gets the names of the secrets that it has. */
  result (text: string, found: Set<string>): string {
    if (this.isIdle) return text
    this.#plain ??= compile(this.#secrets, plainForms)
    return masked(text, this.#plain, found)
  }

  /** Redacts all strings and keys of an error. The value itself is returned where there is nothing to redact. */
  value<T> (value: T, depth = 0): T {
    return this.isIdle ? value : this.#walk(value, depth) as T
  }

  #walk (value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === MAX_REDACTED_DEPTH) return undefined
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
}

function compile (secrets: ReadonlyMap<string, string>, formsOf: (secret: string) => string[]): Wanted {
  const names = new Map<string, string>()
  for (const [secret, name] of secrets) {
    const forms = secret.trim().length < MIN_SECRET_CHARS ? [secret.trim()] : formsOf(secret)
    for (const form of forms) if (!names.has(form)) names.set(form, name)
  }
  // longest first: one secret may contain another
  const ordered = [...names.keys()].sort((a, b) => b.length - a.length)
  return { names, pattern: new RegExp(ordered.map(form => form.length < MIN_SECRET_CHARS ? word(form) : escape(form)).join('|'), 'g') }
}

function masked (text: string, { pattern, names }: Wanted, found?: Set<string>): string {
  let clean = ''
  let from = 0
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const begin = match.index
    let end = begin
    for (;;) {
      end = Math.max(end, match.index + match[0].length)
      found?.add(names.get(match[0]) ?? '')
      // another secret may begin within this one
      pattern.lastIndex = match.index + 1
      const next = pattern.exec(text)
      if (next === null || next.index >= end) break
      match = next
    }
    clean += text.slice(from, begin) + MASK
    from = pattern.lastIndex = end
  }
  return from === 0 ? text : clean + text.slice(from)
}

function word (text: string): string {
  return `(?<!\\w)${escape(text)}(?!\\w)`
}

function escape (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
