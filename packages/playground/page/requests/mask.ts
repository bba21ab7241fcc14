/** Names of headers and fields whose values are secrets. */
const SECRET = /authorization|cookie|(?<!progress|page)token|secret|api[-_]?key|password|credential/i
/** A field of JSON, also of JSON in a text of JSON; a text that was cut has no closing quote. */
const FIELD = new RegExp(String.raw`((\\{0,7})"[^"\\]{0,40}(?:${SECRET.source})[^"\\]{0,40}\2"\s{0,9}:\s{0,9}\2")(?:(?!\2")(?:\\.|[^\\]))*`, 'gis')
const PARAMETER = /([?&;#]([\w.-]{1,80})=)[^&\s"'#]+/g
/** A parameter of a URL that is itself encoded in a parameter. */
const ENCODED_PARAMETER = /(%(?:3F|26|3B|23)([\w.-]{1,80})%3D)[^&\s"'#%]+/gi
/** Parameters that open something: tickets of sign-ins, what an authorization server returns, signatures. */
const OPENING = /^(?:ticket|code|state|sig|(?:[\w-]+-)?signature)$/i
const CREDENTIALS = /\b(Bearer)\s+[\w.~+/=-]{16,}|\b(Basic)\s+[a-z0-9+/]{6,}={1,2}|(:\/\/[^\s:/@"]{0,99}:)[^\s/@"]+(?=@)/gi
/** Nesting of a body that is masked; deeper values are left out. */
const MAX_DEPTH = 100
const MASK = '•••'

export const isSecret = (name: string): boolean => SECRET.test(name)

/** Headers without the values of secrets. */
export function maskHeaders (headers: Iterable<readonly [string, string]>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, isSecret(name) ? MASK : value]))
}

/** A text without secrets: JSON fields and URL parameters by their names, credentials, and `known` secrets. */
export function maskText (text: string, known: readonly string[] = []): string {
  let masked = text
  for (const secret of known) if (secret !== '') masked = masked.replaceAll(secret, MASK)
  const maskParameter = (whole: string, start: string, name: string): string => isSecret(name) || OPENING.test(name) ? start + MASK : whole
  return masked
    .replace(FIELD, `$1${MASK}`)
    .replace(ENCODED_PARAMETER, maskParameter)
    .replace(PARAMETER, maskParameter)
    .replace(CREDENTIALS, `$1$2$3 ${MASK}`)
}

/** A JSON value without secrets. */
export function maskValue (value: unknown, known: readonly string[] = [], depth = 0): unknown {
  if (typeof value === 'string') return maskText(value, known)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return MASK
  if (Array.isArray(value)) return value.map(item => maskValue(item, known, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) =>
    [name, isSecret(name) && typeof item === 'string' ? MASK : maskValue(item, known, depth + 1)]))
}
