/** Words that mark a secret, also at the end of a longer word, as in `PGPASSWORD` and `NGROK_AUTHTOKEN`. */
const LONG_WORD = /(?:TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)$/

/** Words that end other words as well, such as `MONKEY` and `COMPASS`: they mark a secret as a name, or after a few. */
const SHORT_WORD = /^(?:(?:API|ACCESS|SECRET|PRIVATE|SHARED|ACCOUNT|AUTH|MASTER|SIGNING|ENCRYPTION)?KEYS?|PASS|PWD|AUTH|AUTHORIZATION|COOKIES?|PAT)$/

/** Last words of names for what surrounds a secret: its place, kind, bounds or user. */
const SETTING_WORD = new Set([
  'FILE', 'PATH', 'DIR', 'FOLDER', 'SOCK', 'SOCKET', 'URL', 'URI', 'ENDPOINT', 'HOST', 'PORT', 'DOMAIN', 'REGION', 'ISSUER', 'AUDIENCE',
  'PROVIDER', 'TYPE', 'MODE', 'METHOD', 'SCHEME', 'ALGORITHM', 'ALG', 'NAME', 'USER', 'USERNAME', 'SCOPE', 'SCOPES', 'VERSION', 'PREFIX',
  'LENGTH', 'SIZE', 'LIMIT', 'BUDGET', 'COUNT', 'TTL', 'TIMEOUT', 'EXPIRY', 'EXPIRATION', 'AGE', 'ENABLED', 'DISABLED', 'REQUIRED'
])

/** Two folders, and the path of a file. */
const NOT_SECRET = new Set(['PWD', 'OLDPWD', 'GOOGLE_APPLICATION_CREDENTIALS'])

/**
 * Whether the name of a variable, header, parameter or option is that of a secret. Names are read by words, which `_`,
 * `-`, `.` or an upper-case letter separate: `MAX_TOKENS`, `TOKENIZER`, `AUTHOR` and `KEYBOARD` are settings.
 */
export function isSecretName (name: string): boolean {
  const words = wordsOf(name)
  if (NOT_SECRET.has(words.join('_')) || SETTING_WORD.has(words.at(-1) ?? '')) return false
  return words.some(word => LONG_WORD.test(word) || SHORT_WORD.test(word))
}

function wordsOf (name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
    .split(/[^\p{L}\p{N}]+/u)
    // TOKEN2 is a TOKEN
    .map(word => word.replace(/\d+$/, ''))
    .filter(word => word !== '')
}
