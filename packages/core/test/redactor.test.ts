import { test } from 'tap'
import { Redactor } from '../src/plugin.js'
import { isSecretName } from '../src/secrets/secret-name.js'

test('the words of a name decide whether its value is secret', t => {
  for (const name of [
    'TOKEN', 'GITHUB_TOKEN', 'githubToken', 'X-Auth-Token', 'NGROK_AUTHTOKEN', 'TOKEN2', 'API_KEY', 'apiKey', 'OPENAI_APIKEY', 'X-Api-Key', 'API_KEYS', 'AWS_SECRET_ACCESS_KEY', 'SECRET_KEY_BASE',
    'clientSecret', 'DB_PASSWORD', 'PGPASSWORD', 'DB_PASSWD', 'SMTP_PASS', 'MYSQL_PWD', 'SSH_PASSPHRASE', 'CREDENTIAL', 'GOOGLE_CREDENTIALS', 'NPM_AUTH', 'npm_config__auth', 'AUTH_HEADER',
    'authorization', 'Proxy-Authorization', 'Cookie', 'GITHUB_PAT', 'GH_PAT', 'dbPassword', 'authToken', 'access-token', 'apiKeyV2', 'MYAPP.secret.value', 'AZURE_DEVOPS_EXT_PAT', '--api-key'
  ]) t.ok(isSecretName(name), name)
  for (const name of [
    'MAX_TOKENS', 'TOKENIZER', 'AUTHOR', 'KEYBOARD', 'MONKEY', 'COMPASS', 'PATH', 'PWD', 'OLDPWD', 'AWS_REGION', 'JIRA_USERNAME', 'TZ', 'MODEL', 'DATABASE_URL', 'X-Tenant', 'SSH_AUTH_SOCK',
    'XAUTHORITY', 'PASSPORT_COUNTRY', 'KEYBOARD_LAYOUT', 'AUTHORS', 'MONKEY_PATCH', 'maxTokens', 'tokenizerName', 'PATCH', 'HOTKEYS', 'X-Request-Id', 'SPATIAL', 'BYPASS', 'GOOGLE_APPLICATION_CREDENTIALS', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'AUTH_URL', 'KEY_PATH', 'TOKEN_TTL', 'AUTH_MODE', 'COOKIE_DOMAIN', 'OAUTH_SCOPES', 'KEYCLOAK_REALM', 'PATTERN', 'SECRETARY', 'PASSENGERS', ''
  ]) t.notOk(isSecretName(name), name)
  t.end()
})

test('known secrets are taken out of texts, the longer first, overlapping ones together, and short words are left', t => {
  const redact = new Redactor([['A_TOKEN', 'secret-one'], ['B_TOKEN', 'secret-one-and-two'], ['C_KEY', 'x'], ['API_KEY', 'from-the-environment'], ['HOME', '/home/somebody']])
  t.equal(redact.text('secret-one-and-two secret-one x from-the-environment /home/somebody'), '[redacted] [redacted] x [redacted] /home/somebody')
  const overlapping = new Redactor([['A_TOKEN', 'abcdef123'], ['B_TOKEN', '123ghijkl'], ['C_TOKEN', '\u{1f511}key-of-emoji']])
  t.equal(overlapping.text('<abcdef123ghijkl> abcdef123 123ghijkl \u{1f511}key-of-emoji'), '<[redacted]> [redacted] [redacted] [redacted]')
  t.end()
})

test('the name decides: an ordinary value is not secret, whatever it looks like', t => {
  for (const value of ['eu-central-1', 'Europe/Berlin', 'gpt-4o-mini', '2026-11-27', 'ada@example.com', 'canary-1234567', 'https://hooks.example.com/T000/B000', 'https://ada.lovelace@example.com/x']) {
    t.equal(new Redactor([['PLAIN', value]]).text(`it is ${value}.`), `it is ${value}.`, value)
    t.equal(new Redactor([['PLAIN', value]], ['PLAIN']).text(`it is ${value}.`), 'it is [redacted].', `${value}, marked`)
  }
  t.equal(new Redactor([['MY_PASSWORD', 'production']]).text('production'), '[redacted]')
  t.equal(new Redactor([['PIN', '1234']], ['PIN']).text('1234, 12345, "1234"'), '[redacted], 12345, "[redacted]"', 'a short one is marked: it counts as a word')
  t.end()
})

test('credentials within an ordinary value are secret', t => {
  for (const [value, ...secrets] of [
    ['postgres://ada:p%40ssw0rd@db.example.com/app', 'p%40ssw0rd', 'p@ssw0rd'],
    ['https://ghp_0123456789abcdefghij@github.com/a/b', 'ghp_0123456789abcdefghij'],
    ['https://api.example.com/mcp?page=1&api_key=abc-key-123&x=1', 'abc-key-123'],
    ['DefaultEndpointsProtocol=https;AccountName=mystore;AccountKey=c2VjcmV0LWtleQ==;EndpointSuffix=core', 'c2VjcmV0LWtleQ=='],
    ['host=localhost user=adalovelace password=hunter22', 'hunter22'],
    ['{"Authorization": "Bearer ntn_123456", "Notion-Version": "2022-06-28"}', 'ntn_123456'],
    ['Authorization: Bearer of-the-header', 'of-the-header']
  ] as Array<[string, ...string[]]>) {
    const redact = new Redactor([['PLAIN', value]])
    for (const secret of secrets) t.equal(redact.text(`<${secret}>`), '<[redacted]>', secret)
    t.equal(redact.text('db.example.com ada api.example.com mystore adalovelace 2022-06-28'), 'db.example.com ada api.example.com mystore adalovelace 2022-06-28')
  }
  t.equal(new Redactor([['authorization', `Basic ${Buffer.from('ada:my-password').toString('base64')}`]]).text('my-password'), '[redacted]')
  t.end()
})

test('a secret is found in the forms that texts have', t => {
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n'
  const redact = new Redactor([['PRIVATE_KEY', key], ['DB_PASSWORD', 'p"q\\r/s t+u'], ['API_TOKEN', 'token-of-jira']])
  for (const text of [JSON.stringify({ k: key }), key, 'MIIEvQIBADANBgkq', 'at line 2: hkiG9w0BAQEFAASC']) t.notMatch(redact.text(text), /MIIEvQ|hkiG9w/, text)
  t.equal(redact.text('-----BEGIN PRIVATE KEY-----'), '-----BEGIN PRIVATE KEY-----')
  for (const text of ['p"q\\r/s t+u', JSON.stringify('p"q\\r/s t+u').slice(1, -1), encodeURIComponent('p"q\\r/s t+u'), 'p%22q%5Cr%2Fs+t%2Bu', 'p%22q%5cr%2fs%20t%2bu']) t.equal(redact.text(`<${text}>`), '<[redacted]>', text)
  for (const user of ['a', 'ab', 'abc', 'ada@example.com']) {
    const clean = redact.text(`authorization: Basic ${Buffer.from(`${user}:token-of-jira`).toString('base64')}`)
    const left = Buffer.from(clean.replace('[redacted]', '').split('Basic ')[1]!, 'base64').toString()
    t.match(clean, /\[redacted\]/, user)
    t.notMatch(left, /token-of|of-jira/, user)
  }
  t.end()
})

test('strings and keys of an error are redacted at any depth, and a value without secrets stays the same object', t => {
  const redact = new Redactor([['A_KEY', 'canary-1234567']])
  const clean = { a: [1, null, { b: 'nothing' }] }
  const deep = (text: string): unknown => JSON.parse(`${'{"a":['.repeat(1_250)}"${text}"${']}'.repeat(1_250)}`)
  t.equal(JSON.stringify(redact.value(deep('x canary-1234567'))), JSON.stringify(deep('x [redacted]')))
  t.equal(redact.value(clean), clean)
  t.strictSame(redact.value({ a: [{ 'canary-1234567': true }, 'x canary-1234567'], b: clean }), { a: [{ '[redacted]': true }, 'x [redacted]'], b: clean })
  t.end()
})
