import { test } from 'tap'
import { Redactor } from '../src/redact.js'
import { bad, started } from './fixtures/app.js'

test('known secrets are taken out of texts, the longer first, and short words are left', t => {
  const redact = new Redactor([['A_TOKEN', 'secret-one'], ['B', 'secret-one-and-two'], ['C_KEY', 'x'], ['API_KEY', 'from-the-environment'], ['HOME', '/home/somebody']])
  t.equal(redact.text('secret-one-and-two secret-one x from-the-environment /home/somebody'), '[redacted] [redacted] x [redacted] /home/somebody')
  t.end()
})

test('a value is secret whatever its name, except short and trivial ones and those of the system', t => {
  for (const value of ['canary-1234567', 'hunter2hunter2', 'https://hooks.example.com/T000/B000', 'https://ada:pw@example.com', 'ada@example.com']) {
    t.equal(new Redactor([['PLAIN', value]]).text(`it is ${value}.`), 'it is [redacted].', value)
  }
  for (const value of ['production', 'true', '8080', '/data/files', 'C:\\data', '~/notes', 'en_US.UTF-8', '20.20.2', 'localhost:8080', '127.0.0.1:9', 'https://api.example.com', 'application/json', 'short-1']) {
    t.equal(new Redactor([['PLAIN', value]]).text(value), value, value)
  }
  t.equal(new Redactor([['MY_PASSWORD', 'production']]).text('production'), '[redacted]', 'the name suggests a secret')
  t.equal(new Redactor([['PWD', 'not-a-path-123']]).text('not-a-path-123'), 'not-a-path-123', 'a variable of the system')
  t.end()
})

test('strings and keys of a value are redacted at any depth, and a value without secrets stays the same object', t => {
  const redact = new Redactor([['A', 'canary-1234567']])
  const clean = { a: [1, null, { b: 'nothing' }] }
  const deep = (text: string): unknown => JSON.parse(`${'{"a":['.repeat(1_250)}"${text}"${']}'.repeat(1_250)}`)
  t.equal(JSON.stringify(redact.value(deep('x canary-1234567'))), JSON.stringify(deep('x [redacted]')))
  t.equal(redact.value(clean), clean)
  t.strictSame(redact.value({ a: [{ 'canary-1234567': true }, 'x canary-1234567'], b: clean }), { a: [{ '[redacted]': true }, 'x [redacted]'], b: clean })
  t.end()
})

test('a secret of the environment is in no result, error, description, progress or list of its server', async t => {
  const secret = 'canary-7b1c9d-value'
  const env = { ...process.env, PLAIN_NAME: secret }
  const { call, get } = await started(t, [bad({ leak: 'PLAIN_NAME' })], { env })
  const answers = [
    await call('bad', 'leak'), await call('bad', 'leak', { isError: true }), await call('bad', 'leak', { isRpcError: true }),
    await get('/mcp/tools/bad'), await get('/mcp/servers'), await get('/mcp/openapi.json')
  ]
  const text = JSON.stringify(answers)
  t.notMatch(text, secret)
  t.match(answers[0], { status: 200, body: { result: { content: [{ text: '[redacted]' }] } } })
  t.match(answers[1], { status: 500, body: { code: 'MCP_TOOL_FAILED', details: { result: { content: [{ text: '[redacted]' }], structuredContent: { deep: [{ '[redacted]': '[redacted]' }] } } } } })
  t.match(answers[2], { status: 500, body: { code: 'MCP_CALL_FAILED', details: { data: { why: '[redacted]' } } } })
})
