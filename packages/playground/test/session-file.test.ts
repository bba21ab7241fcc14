import fc from 'fast-check'
import { test } from 'tap'
import type { Exchange } from '../page/requests/exchange-record.js'
import { FrameSplitter } from '../page/requests/frame-splitter.js'
import { maskText, maskValue } from '../page/requests/mask.js'
import { ownUrl } from '../page/requests/own-url.js'
import { MAX_FILE_FRAMES, MAX_FILE_LINES, readSession, writeSession } from '../page/raw/session-file.js'

const PAGE = 'https://agents.example/app/playground/'
const exchange: Exchange = {
  id: 'a-1',
  startedAt: 1,
  protocol: 'direct',
  label: 'ask demo',
  request: { method: 'POST', path: '/vac/demo?api_key=canary-1&x=1', headers: { authorization: 'canary-2', accept: 'text/event-stream' }, body: { q: 'Hi', nested: [{ password: 'canary-3' }], args: '{"client_secret":"canary-4"}' } },
  status: 200,
  headers: { 'set-cookie': 'canary-5' },
  frames: [
    { at: 1.5, bytes: 20, text: 'data: {"access_token":"canary-6","usage":{"total_tokens":3},"text":"{\\"apiKey\\":\\"canary-7\\"}"}' },
    { at: 2, bytes: 20, text: 'Authorization: Bearer canary-8-0123456789 and {"token":"canary-9 cut' },
    { at: 3, bytes: 9, text: 'in prose canary-10, at postgres://ada:canary-12@h:5432/x and https://ada:canary-13:@h?q' }
  ],
  received: { frames: 4, bytes: 60 },
  firstByteAt: 1,
  endedAt: 3,
  error: 'refused at https://h/?token=canary-11'
}

test('a session keeps all but the secrets, and is read again as written', t => {
  const text = writeSession([exchange], ['canary-10'])
  t.notMatch(text, /canary/)
  const [header, ...lines] = text.trimEnd().split('\n').map(line => JSON.parse(line))
  t.match(header, { polyvac: 'session', version: 1, exportedAt: /^\d{4}-\d\d-\d\dT/ })
  t.strictSame(readSession(text, PAGE), lines)
  t.match(lines[0], { id: 'a-1', request: { path: '/vac/demo?api_key=•••&x=1', body: { q: 'Hi' } }, frames: [{ at: 1.5, text: /"total_tokens":3/ }] })
  t.strictSame(maskValue({ token: 3, progressToken: 'p', nextPageToken: 'n' }), { token: 3, progressToken: 'p', nextPageToken: 'n' })
  t.end()
})

test('a session has no ticket, no code of a sign-in and no id of an MCP session', t => {
  const id = 'canary-session-0123456789'
  const sent = (headers: Record<string, string>, text: string): Exchange => ({ ...exchange, request: { method: 'POST', path: '/mcp', headers }, headers: { 'mcp-session-id': id }, frames: [{ at: 1, bytes: 1, text }] })
  const text = writeSession([
    sent({}, 'Sign in at https://agents.example/mcp/sign-in?ticket=v1.canary-a_b-c and https://as.example/cb?code=canary-d&state=canary-e#access_token=canary-f'),
    sent({ 'mcp-session-id': id }, `{"url":"https://as.example/login?next=%2Fsign-in%3Fticket%3Dcanary-g&X-Amz-Signature=canary-h","id":"${id}"}`),
    sent({ 'mcp-session-id': 'canary-short' }, '{"ticket":"TRIP-1","code":-32001,"state":"working"}')
  ])
  t.notMatch(text, /canary/)
  t.strictSame(readSession(text, PAGE).map(({ request, headers }) => [request.headers['mcp-session-id'], headers?.['mcp-session-id']]),
    [[undefined, 'session-1'], ['session-1', 'session-1'], ['session-2', 'session-1']], 'a replay finds each session again')
  t.match(text, 'TRIP-1', 'a field of an ordinary answer stays')
  t.end()
})

test('each path of a file is an address of the origin of the page, as the browser reads it', t => {
  const read = (path: string, headers: Record<string, string> = {}): readonly Exchange[] =>
    readSession(`{"polyvac":"session","version":1}\n${JSON.stringify({ ...exchange, request: { method: 'GET', path, headers } })}`, PAGE)
  const foreign = ['//evil.example/x', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '/\n/evil.example', '/\r/evil.example', '\t//evil.example', ' //evil.example',
    '/\t\\evil.example', '//evil.example:443', '//user@agents.example/x', '//user:pass@agents.example/x', '//agents.example@evil.example', '//agents.example:8443/x',
    '//agents.example.evil.example', '///evil.example', '////evil.example', '/x/..//evil.example', '/.//evil.example', '/%2e//evil.example', '/x/%2e%2e/\t/evil.example',
    'https:evil.example', 'https:/evil.example', 'https:\\evil.example', 'http:agents.example', 'http://agents.example/x', 'https://evil.example', 'javascript:alert(1)', 'JaVaScRiPt:alert(1)',
    'data:text/plain,x', 'blob:https://agents.example/x', 'file:///etc/passwd', '//[::1', '//evil。example', '//ｅvil.example', '/\u0000', '']
  const own = new Set(['/\u0000', '', 'https:evil.example', 'https:/evil.example', 'https:\\evil.example'])
  for (const path of foreign) {
    // what the browser reads as a path of the page is one; a file has only paths from the root
    const origin = URL.canParse(path, PAGE) ? new URL(path, PAGE).origin : 'none'
    if (!path.startsWith('/')) t.throws(() => read(path), { message: /^line 2: request\.path/ }, JSON.stringify(path))
    if (own.has(path) && origin === 'https://agents.example') continue
    t.throws(() => ownUrl(path, PAGE), { message: /is not an address of this service, https:\/\/agents\.example$/ }, JSON.stringify(path))
    t.throws(() => read(path), { message: /^line 2: request\.path/ }, JSON.stringify(path))
  }
  // slashes of other scripts are none, and an encoded one is part of a path
  for (const path of ['/x', '/', '/⁄⁄evil.example', '/／evil.example', '/%2f/evil.example', '/x//y', '/x?y=//evil.example', '/x/../y', '/@evil.example', '/x#//evil.example']) {
    t.equal(new URL(read(path)[0]!.request.path, PAGE).origin, 'https://agents.example', path)
  }
  for (const headers of [{ '@/etc/passwd': 'x' }, { 'a b': 'x' }, { '': 'x' }, { a: 'x\r\nb: c' }, { a: 'x\u0000' }]) t.throws(() => read('/x', headers as unknown as Record<string, string>), { message: /^line 2: request\.headers has .* not a header/ })
  fc.assert(fc.property(fc.array(fc.constantFrom('/', '\\', '\t', '\n', '.', '..', 'evil.example', '@', ':', 'https:', '?', '#', '%2f'), { maxLength: 9 }), parts => {
    let path: string
    try { path = read(`/${parts.join('')}`)[0]!.request.path } catch { return true }
    const { origin, pathname, search } = new URL(path, PAGE)
    return origin === 'https://agents.example' && new URL(pathname + search, PAGE).origin === origin
  }))
  t.end()
})

test('a text is masked once: a masked text stays', t => {
  fc.assert(fc.property(fc.string(), text => maskText(maskText(text)) === maskText(text)))
  maskText('\\'.repeat(64 * 1024))
  maskText('://a:'.repeat(20_000))
  maskText('"a":"'.repeat(20_000))
  t.end()
})

test('a broken line is named with its number', t => {
  const header = '{"polyvac":"session","version":1}'
  const line = JSON.stringify(exchange)
  const changed = (change: object): string => `${header}\n${line}\n${JSON.stringify({ ...exchange, ...change })}`
  for (const [text, message] of [
    ['', /^line 1: it is not JSON|^line 1: the file is empty/],
    ['[]', /^line 1: the line is not an object/],
    ['{}', /^line 1: the file is not a session/],
    ['{"polyvac":"session","version":2}', /^line 1: version 2 is not known/],
    [`${header}\n${line}\n{"id":`, /^line 3: it is not JSON/],
    [`${header}\n\n${line}`, /^line 2: it is not JSON/],
    [changed({ protocol: 'ftp' }), /^line 3: protocol/],
    [changed({ startedAt: -1 }), /^line 3: startedAt/],
    [changed({ frames: [{ at: 'x' }] }), /^line 3: frames\[0\]\.at/],
    [changed({ frames: {} }), /^line 3: frames is not a list/],
    [changed({ request: { ...exchange.request, path: '//elsewhere/' } }), /^line 3: request\.path/],
    [changed({ request: { ...exchange.request, headers: { a: 1 } } }), /^line 3: request\.headers\.a/],
    [changed({ request: { ...exchange.request, method: "GET' x" } }), /^line 3: request\.method/],
    [`${header}\n${`${line}\n`.repeat(MAX_FILE_LINES)}`, /more than 1001 lines/],
    [changed({ frames: Array.from({ length: MAX_FILE_FRAMES }, () => ({ at: 0, bytes: 0, text: '' })) }), /^line 3: the file has more than 250000 frames/]
  ] as const) t.throws(() => readSession(text, PAGE), { message })
  t.end()
})

test('frames are the same, however the chunks are cut, and the work grows with the length', t => {
  const body = 'data: a\r\n\r\ndata: b\n\n: c\n\r\ndata: d\n\r\n\r\nrest\r'
  const whole = new FrameSplitter('text/event-stream; charset=utf-8')
  const expected = [...whole.push(body), whole.end()]
  t.strictSame(expected, body.split(/\r?\n\r?\n/))
  fc.assert(fc.property(fc.array(fc.nat(body.length)), cuts => {
    const splitter = new FrameSplitter('text/event-stream')
    const places = [0, ...cuts.sort((a, b) => a - b), body.length]
    const frames = places.slice(1).flatMap((to, i) => splitter.push(body.slice(places[i], to)))
    t.strictSame([...frames, splitter.end()], expected)
  }), { numRuns: 50 })
  // 100 MB of searches if each chunk searched the frame again
  const large = new FrameSplitter('text/event-stream')
  for (let i = 0; i < 20_000; i++) large.push('x'.repeat(50))
  t.equal(large.push('\n\n')[0]?.length, 1_000_000)
  t.strictSame(new FrameSplitter('text/plain').push('piece'), ['piece'])
  const json = new FrameSplitter('application/json')
  t.strictSame([json.push('{'), json.push('}'), json.end()], [[], [], '{}'])
  t.end()
})

test('the page keeps a bounded session: the oldest exchanges leave, and frames past a bound are only counted', async t => {
  let body = ''
  const globals = { location: { href: 'http://127.0.0.1/playground/' }, sessionStorage: { getItem: () => null, setItem () {}, removeItem () {} }, fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }) }
  for (const [name, value] of Object.entries(globals)) t.intercept(globalThis, name as never, { value, configurable: true } as never)
  // loaded once the names of a browser exist
  const { exchanges, send, MAX_EXCHANGES, MAX_FRAME_CHARS, MAX_FRAMES, MAX_SESSION_CHARS } = await import(import.meta.resolve('../page/requests/exchange.js')) as {
    exchanges: { readonly value: readonly Exchange[] }
    send (request: object): Promise<{ readonly exchange: Exchange, readonly response: Response }>
  } & Record<'MAX_EXCHANGES' | 'MAX_FRAME_CHARS' | 'MAX_FRAMES' | 'MAX_SESSION_CHARS', number>
  for (const path of ['//elsewhere/', '/\t/elsewhere', 'http://elsewhere/vac', 'javascript:x']) {
    await t.rejects(send({ protocol: 'direct', label: 'x', path, as: 'sse' }), { message: /is not an address of this service, http:\/\/127\.0\.0\.1$/ }, 'no request with the token of the caller')
  }
  const read = async (request: object = {}): Promise<Exchange> => {
    const sent = await send({ protocol: 'direct', label: 'x', path: '../vac', as: 'sse', ...request })
    await sent.response.text()
    t.notOk(sent.exchange.frames.some(({ text }) => text === ''), 'no empty frame')
    return sent.exchange
  }
  body = 'data: x\n\n'
  for (let i = 0; i < MAX_EXCHANGES + 5; i++) await read()
  t.equal(exchanges.value.length, MAX_EXCHANGES)
  body = 'data: x\n\n'.repeat(MAX_FRAMES + 7)
  t.match(await read(), { frames: { length: MAX_FRAMES }, received: { frames: MAX_FRAMES + 7 } })
  body = `${'x'.repeat(MAX_FRAME_CHARS + 9)}\n\n`.repeat(Math.ceil(MAX_SESSION_CHARS / MAX_FRAME_CHARS / 2))
  const kept = await read()
  t.match([kept.frames[0]?.text.length, kept.frames[0]?.bytes], [MAX_FRAME_CHARS, MAX_FRAME_CHARS + 9])
  await read()
  await read()
  t.ok(exchanges.value.length <= 2, 'the oldest have left')
  t.notOk(exchanges.value.includes(kept))
  body = ''
  const { request } = await read({ body: 'x'.repeat(MAX_SESSION_CHARS) })
  t.notOk('body' in request, 'a body that alone is more than the session keeps')
})
