import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { Redactor } from '@polyvac/core/plugin'
import { MessageRedactor } from '../src/session/redact-message.js'
import { bad, folder, published, started, textOf } from './fixtures/app.js'
import { handWritten } from './fixtures/hand-written.js'

const SETTINGS = fileURLToPath(new URL('fixtures/settings-server.mjs', import.meta.url))

/** A server whose results, schemas, names and URIs are full of its environment. */
const settings = (env: Record<string, string>, more = {}): object => ({ name: 'settings', command: process.execPath, args: [SETTINGS], env, ...more })

test('a secret of the environment is in no text of a result, error, description or list of its server', async t => {
  const secret = 'canary-7b1c9d-value'
  const env = { ...process.env, CANARY_TOKEN: secret }
  const lines: unknown[] = []
  const log = { debug () {}, info () {}, error () {}, warn: (obj: object, message?: string) => { lines.push([obj, message]) } }
  const { call, get } = await started(t, [bad({ leak: 'CANARY_TOKEN' })], { env, log })
  const answers = [await call('bad', 'leak'), await call('bad', 'leak', { isError: true }), await call('bad', 'leak', { isRpcError: true })]
  const lists = [await get('/mcp/tools/bad'), await get('/mcp/servers'), await get('/mcp/openapi.json')]
  t.notMatch(JSON.stringify([answers.slice(1), lists]), secret)
  t.match(answers[0], { status: 200, body: { result: { content: [{ text: '[redacted]' }], structuredContent: { deep: [{ [secret]: '[redacted]' }] } } } }, 'a key of a result stays')
  t.match(answers[1], { status: 500, body: { code: 'MCP_TOOL_FAILED', details: { result: { content: [{ text: '[redacted]' }], structuredContent: { deep: [{ '[redacted]': '[redacted]' }] } } } } })
  t.match(answers[2], { status: 500, body: { code: 'MCP_CALL_FAILED', details: { data: { why: '[redacted]' } } } })
  t.match(lines.filter(line => /in their place/.test(JSON.stringify(line))), [[{ mcpServer: 'bad', secrets: ['CANARY_TOKEN'] }]], 'one line names the server and the variable')
})

test('ordinary settings of a server stay in its results, schemas, names, URIs and keys, and secrets leave only texts', async t => {
  const env = { AWS_REGION: 'eu-central-1', BASE: 'https://wiki.example.com', ME: 'ada@example.com', PROJECT: 'my-project', API_TOKEN: 'eu-central-1-token', COLOUR: 'ultramarine' }
  const { call, get, app } = await started(t, [settings(env, { secret_env: ['COLOUR'] })])
  const { tools } = (await get('/mcp/tools/settings')).body
  t.match(tools.find(({ name }: { name: string }) => name === 'search_my-project'), { inputSchema: { properties: { region: { enum: ['eu-central-1', 'ultramarine'], default: 'eu-central-1', const: undefined }, 'eu-central-1-token': {} } } })
  const { status, body } = await call('settings', 'search_my-project', { region: 'ultramarine' })
  t.equal(status, 200, 'the server gets what it lists')
  const [text, image, link, embedded, blob] = body.result.content
  t.strictSame(JSON.parse(text.text), { region: 'eu-central-1', base: 'https://wiki.example.com', me: 'ada@example.com', token: '[redacted]', colour: '[redacted]', got: { region: '[redacted]' } })
  t.equal(Buffer.from(image.data, 'base64').toString(), 'eu-central-1-token')
  t.match(link, { uri: 'https://wiki.example.com/eu-central-1-token', name: 'eu-central-1-token', description: 'the token is [redacted]' })
  t.match(embedded.resource, { uri: 'https://wiki.example.com/eu-central-1-token', text: 'it is [redacted] in eu-central-1' })
  t.equal(blob.resource.blob, Buffer.from('eu-central-1-token').toString('base64'))
  t.strictSame(body.result.structuredContent, { 'eu-central-1': { name: '[redacted]', uri: 'x?token=[redacted]' }, 'eu-central-1-token': 1 })
  const { resources } = (await get('/mcp/resources')).body
  t.match(resources, [{ uri: 'https://wiki.example.com/eu-central-1-token', description: 'the token is [redacted]' }])
  const read = await app.inject({ method: 'POST', url: '/mcp/resources/read', payload: { server: 'settings', uri: resources[0].uri } })
  t.match(read.json(), { contents: [{ uri: resources[0].uri, text: '[redacted] in eu-central-1' }] })
})

test('a file that is read, edited and written over the published file server keeps its bytes', async t => {
  const dir = realpathSync(folder(t))
  mkdirSync(join(dir, 'eu-central-1'))
  const path = join(dir, 'eu-central-1', 'gpt-4o-mini.md')
  const content = 'region: eu-central-1\ntz: Europe/Berlin\nmodel: gpt-4o-mini\nby ada@example.com on 2026-11-27, see https://wiki.example.com/x?y=1\nmax: 200000\n'
  writeFileSync(path, content)
  const env = { AWS_REGION: 'eu-central-1', TZ: 'Europe/Berlin', MODEL: 'gpt-4o-mini', JIRA_USERNAME: 'ada@example.com', SINCE: '2026-11-27', BASE: 'https://wiki.example.com/x?y=1', MAX_TOKENS: '200000', DIR: dir }
  const { call } = await started(t, [{ ...published('filesystem', dir), env }])
  const read = await call('filesystem', 'read_text_file', { path })
  t.equal(textOf(read), content)
  const found = textOf(await call('filesystem', 'search_files', { path: dir, pattern: '**/*.md' })).trim()
  t.equal(found, path)
  await call('filesystem', 'write_file', { path: found, content: textOf(read) })
  t.equal(readFileSync(path, 'utf8'), content)
  const edit = { oldText: 'model: gpt-4o-mini', newText: 'model: gpt-4o-mini, eu-central-1' }
  t.match(textOf(await call('filesystem', 'edit_file', { path, edits: [edit] })), /\+model: gpt-4o-mini, eu-central-1/)
  t.equal(readFileSync(path, 'utf8'), content.replace(edit.oldText, edit.newText))
})

test('secrets among the arguments of a command are not in its errors', async t => {
  const { call, get } = await started(t, [{ name: 'args', command: process.execPath, args: ['-e', 'console.error(process.argv.slice(1).join(" ")); process.exit(1)', '--', '--api-key', 'key-in-argv', 'postgres://ada:pw-in-argv@db/x', '--region=eu-central-1'] }])
  const text = JSON.stringify([await call('args', 'x'), await get('/mcp/servers')])
  t.notMatch(text, /key-in-argv|pw-in-argv/)
  t.match(text, /--api-key \[redacted\] postgres:\/\/ada:\[redacted\]@db\/x --region=eu-central-1/)
})

test('a switch is never secret, whatever its name, and does not garble results', t => {
  for (const value of ['', ' ', '1', 'true', 'FALSE', 'yes', 'off', 'null', 'none', 'enabled', 'required']) {
    const redact = new Redactor([['USE_TOKEN', value], ['AUTH', value]], ['USE_TOKEN'])
    t.ok(redact.isIdle, value)
  }
  for (const value of ['a', 'ab', 'abc', 'abcde']) {
    t.ok(new Redactor([['API_KEY', value]]).isIdle, value)
    t.equal(new Redactor([['PIN', value]], ['PIN']).text(`x${value} ${value} "${value}"`), `x${value} [redacted] "[redacted]"`, `${value}, marked`)
  }
  t.end()
})

test('in any message no text has a secret, and what has none stays the same', t => {
  const secret = 'k3y-"of\\x'
  const redact = (): MessageRedactor => new MessageRedactor(new Redactor([['API_KEY', secret], ['AWS_REGION', 'eu-central-1'], ['TZ', 'Europe/Berlin']]), () => {})
  const ordinary = fc.oneof(fc.constantFrom('eu-central-1', 'Europe/Berlin', 'API_KEY', 'true', '{"a":1}', '\u{1f511}'), fc.string({ unit: 'binary' }), fc.string())
  const fields = fc.constantFrom('text', 'description', 'title', 'message', 'structuredContent', 'content', 'resource', 'messages', '_meta', 'systemPrompt', 'contents', 'params', 'uri', 'name', 'enum', 'requestedSchema', 'inputSchema', '__proto__')
  const values = (leaf: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> => fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 5 }, leaf, fc.constantFrom(1, true, null), fc.array(tie('value'), { maxLength: 3 }), tie('record')),
    record: fc.dictionary(fields, tie('value'), { maxKeys: 4 })
  })).record as fc.Arbitrary<Record<string, unknown>>
  const all = (message: Record<string, unknown>): unknown[] => {
    const one = redact()
    return [one.result('tools/call', message), one.result('prompts/get', message), one.question(message), one.log({ level: 'info', data: message } as never).data]
  }
  fc.assert(fc.property(values(ordinary), message => {
    const before = JSON.stringify(message)
    return all(message).every(clean => JSON.stringify(clean) === before)
  }), { numRuns: 200 })
  const around = fc.tuple(ordinary, ordinary).map(([a, b]) => `${a}${secret}${b}`)
  const kept = /^(?:uri|name|requestedSchema|inputSchema)$/
  const texts = (value: unknown, isKept = false): string[] => typeof value === 'string' ? isKept ? [] : [value] : typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([key, child]) => texts(child, isKept || (!Array.isArray(value) && kept.test(key)))) : []
  fc.assert(fc.property(values(around), message => all(message).every(clean => texts(clean).every(text => !text.includes(secret)))), { numRuns: 200 })
  t.end()
})

/** What a server writes to each channel during a call, and then as the response. */
const channels = (secret: string): object[] => {
  const words = `it is ${secret} in eu-central-1`
  const forms = [JSON.stringify({ secret }), encodeURIComponent(secret)]
  return [
    { method: 'notifications/progress', params: { progressToken: undefined, progress: 1, message: words } },
    { method: 'notifications/message', params: { level: 'info', logger: 'eu-central-1', data: { words, [secret]: 1, region: 'eu-central-1', forms, base64: Buffer.from(`user:${secret}`).toString('base64') } } },
    { id: 'ask', method: 'elicitation/create', params: { message: words, requestedSchema: { type: 'object', properties: { region: { type: 'string', enum: ['eu-central-1', secret], description: 'eu-central-1' } } } } },
    { id: 'sample', method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: words } }], systemPrompt: words, maxTokens: 5, modelPreferences: { hints: [{ name: 'eu-central-1' }] } } }
  ]
}

const results = (secret: string): Record<string, object> => ({
  'tools/call': { content: [{ type: 'text', text: `${secret} in eu-central-1 ${JSON.stringify(secret)}` }] },
  'prompts/get': { description: `${secret} eu-central-1`, messages: [{ role: 'user', content: { type: 'text', text: `${secret} in eu-central-1` } }] },
  'resources/read': { contents: [{ uri: 'own://a', text: `${secret} in eu-central-1` }] }
})

for (const transport of ['stdio', 'http'] as const) {
  test(`secrets are in nothing that a server sends during a call over ${transport}, and ordinary values are in all of it`, async t => {
    const secret = 'tok-en/of "x" 1'
    const entry = transport === 'stdio'
      ? { command: process.execPath, args: ['-e', STDIO, JSON.stringify([channels('SECRET'), results('SECRET')])], env: { API_TOKEN: secret, AWS_REGION: 'eu-central-1' } }
      : { url: (await overHttp(t, secret)).url, headers: { 'X-Api-Key': secret, 'x-region': 'eu-central-1' } }
    const { gateway } = await started(t, { own: entry })
    await gateway.settled()
    const upstream = gateway.get('own')
    for (const [method, call] of [
      ['tools/call', async (options: object) => await upstream.callRaw('tool', {}, options)],
      ['prompts/get', async (options: object) => await upstream.getPrompt('prompt', {}, options)],
      ['resources/read', async (options: object) => await upstream.readResource('own://a', options)]
    ] as const) {
      const seen: Record<string, unknown> = {}
      const result = await call({
        onProgress: (progress: object) => { seen.progress = progress },
        onMessage: (message: object) => { seen.log = message },
        ask: async (question: { method: string }) => {
          seen[question.method] = question
          return question.method === 'elicitation/create' ? { action: 'decline' } : { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' }
        }
      })
      t.match(seen, {
        progress: { message: 'it is [redacted] in eu-central-1' },
        log: { logger: 'eu-central-1', data: { words: 'it is [redacted] in eu-central-1', '[redacted]': 1, region: 'eu-central-1', forms: ['{"secret":"[redacted]"}', '[redacted]'] } },
        'elicitation/create': { params: { message: 'it is [redacted] in eu-central-1', requestedSchema: { properties: { region: { enum: ['eu-central-1', secret], description: 'eu-central-1' } } } } },
        'sampling/createMessage': { params: { systemPrompt: 'it is [redacted] in eu-central-1', messages: [{ content: { text: 'it is [redacted] in eu-central-1' } }], modelPreferences: { hints: [{ name: 'eu-central-1' }] } } }
      }, method)
      t.notMatch(JSON.stringify((seen.log as { data: object }).data), Buffer.from(`user:${secret}`).toString('base64').slice(8, -4))
      t.notOk(JSON.stringify(result).includes(JSON.stringify(secret).slice(1, -1)), method)
      t.match(JSON.stringify(result), /\[redacted\](?:\\?"|) ?(?:in )?eu-central-1/, method)
    }
    const err = await upstream.request('own/fails', {}).catch((err: unknown) => err)
    t.match([(err as Error).message, (err as { details?: unknown }).details], [/it is \[redacted\] in eu-central-1/, undefined])
    t.notOk(JSON.stringify([err, (err as Error).message]).includes('tok-en'))
  })
}

/** A server over stdio that sends the messages of its argument with the value of its variable. */
const STDIO = `
const [messages, results] = JSON.parse(process.argv[1].replaceAll(JSON.stringify('SECRET').slice(1, -1), 'SECRET'))
const secret = process.env.API_TOKEN
const own = value => typeof value === 'string' ? fill(value) : Array.isArray(value) ? value.map(own) : value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([k, v]) => [fill(k), own(v)])) : value
const fill = text => text.replace('{"secret":"SECRET"}', JSON.stringify({ secret })).replace(/^SECRET$/, secret).replace('"SECRET"', JSON.stringify(secret)).replaceAll('SECRET', secret)
const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const open = new Map()
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (method === undefined) {
    const { left, request } = open.get('now')
    left.delete(id)
    if (left.size === 0) send({ id: request.id, result: own(results[request.method]) })
    return
  }
  if (id === undefined) return
  if (method === 'initialize') return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} }, serverInfo: { name: 'own', version: '1' } } })
  if (method === 'tools/list') return send({ id, result: { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] } })
  if (method === 'prompts/list') return send({ id, result: { prompts: [{ name: 'prompt' }] } })
  if (method === 'resources/list') return send({ id, result: { resources: [{ uri: 'own://a', name: 'a' }] } })
  if (method === 'own/fails') return send({ id, error: { code: -32000, message: 'it is ' + secret + ' in eu-central-1', data: { [secret]: encodeURIComponent(secret) } } })
  if (results[method] === undefined) return send({ id, result: {} })
  open.set('now', { left: new Set(['ask', 'sample']), request: { id, method } })
  for (const message of own(messages)) send(message.method === 'notifications/progress' ? { ...message, params: { ...message.params, progressToken: params._meta.progressToken } } : message)
})
`

/** The same over Streamable HTTP. */
async function overHttp (t: Parameters<typeof handWritten>[0], secret: string): ReturnType<typeof handWritten> {
  let open: { event: (message: object) => void, res: { end (): void }, id: unknown, method: string, left: Set<unknown> } | undefined
  return await handWritten(t, ({ message, event, error, res }) => {
    const { id, method = '', params } = message
    if (message.method === undefined && open !== undefined && open.left.delete(id)) {
      res.writeHead(202).end()
      if (open.left.size > 0) return true
      open.event({ id: open.id, result: results(secret)[open.method] })
      open.res.end()
      return true
    }
    if (method === 'own/fails') {
      error(-32000, `it is ${secret} in eu-central-1`, { [secret]: encodeURIComponent(secret) })
      return true
    }
    if (results(secret)[method] === undefined) return false
    open = { event, res, id, method, left: new Set(['ask', 'sample']) }
    for (const one of channels(secret) as Array<{ method: string, params: object }>) event(one.method === 'notifications/progress' ? { ...one, params: { ...one.params, progressToken: params._meta.progressToken } } : one)
    return true
  }, { isModern: false })
}
