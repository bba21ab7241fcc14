import { isSecretName } from './secret-name.js'

/** The part of a URL before `@`. */
const USER_INFO = /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*):\/\/([^\s/?#"'<>]*)@/gi

/** A user without a password is a token from this length on: `https://<token>@github.com`, and no name of a person. */
const MIN_TOKEN_CHARS = 20

/** `name=value` of a query, a connection string or an option. */
const PAIR = /(?<![\w.-])([\w.-]+)=(?:"([^"]*)"|'([^']*)'|([^\s&;#"']+))/g

/** `"name": "value"` of JSON. */
const MEMBER = /"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g

/** `Name: value` of a header. */
const HEADER = /^\s*([\w-]+):(.*)$/s

const SCHEME = /^(?:Bearer|Basic|Token)\s+/i

/** A secret, and the credentials in it: those after the scheme of `authorization`, and the password of Basic. */
export function secretsOf (secret: string): string[] {
  const bare = secret.replace(SCHEME, '')
  if (bare === secret) return [secret]
  const [, password = ''] = /^Basic/i.test(secret) ? /^[^:]*:(.*)$/s.exec(Buffer.from(bare, 'base64').toString()) ?? [] : []
  return [secret, bare, password]
}

/** The secrets within a value that is not secret as a whole: passwords of URLs, and parts with the name of a secret. */
export function secretsWithin (value: string): string[] {
  const secrets: string[] = []
  for (const [, scheme = '', info = ''] of value.matchAll(USER_INFO)) {
    const [, user = '', password = ''] = /^([^:]*):?(.*)$/s.exec(info) ?? []
    if (password !== '') secrets.push(password, decoded(password))
    if (/^https?$/i.test(scheme) && user.length >= MIN_TOKEN_CHARS) secrets.push(user, decoded(user))
  }
  for (const [, name = '', ...values] of value.matchAll(PAIR)) {
    const found = values.find(one => one !== undefined)
    if (found !== undefined && isSecretName(name)) secrets.push(...secretsOf(found), decoded(found))
  }
  for (const [, name = '', text = ''] of value.matchAll(MEMBER)) {
    if (isSecretName(name)) secrets.push(...secretsOf(unescaped(text)))
  }
  const [, name = '', text = ''] = HEADER.exec(value) ?? []
  if (isSecretName(name)) secrets.push(...secretsOf(text.trim()))
  return secrets
}

/** The secrets of a command line: those within its arguments, and the argument after an option with such a name. */
export function * secretsOfArguments (args: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (const [i, arg] of args.entries()) {
    for (const secret of secretsWithin(arg)) yield ['args', secret]
    const next = args[i + 1]
    if (/^-{1,2}[\w-]+$/.test(arg) && next !== undefined && !next.startsWith('-') && isSecretName(arg)) yield [arg, next]
  }
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function unescaped (text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
