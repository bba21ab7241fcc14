import { test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { createVacs, type Answer, type Interpreter, type Memory, type SourceDocument } from '@polyvac/core'
import { SignedStates } from '@polyvac/core/plugin'
import { protocolPlugin, readRoute, vacPlugin, type ChatProtocol, type Citation, type VacPluginOptions } from '../src/index.js'
import { pluginOf } from '../src/plugin.js'
import { direct } from '../src/protocols/direct/protocol.js'

const KEY = 'k'.repeat(32)
const RETURNS = '# Returns\n\nYou can return shoes within 30 days.\n\n## Costs\n\nReturning is free.\n'

/** A memory whose documents a test can change. */
function memoryOf (documents: Record<string, string>): Memory {
  return {
    search: async () => [],
    list: async () => Object.keys(documents).map(uri => ({ uri, name: uri, mimeType: uri.endsWith('.md') ? 'text/markdown' : 'text/plain' })),
    read: async uri => Object.hasOwn(documents, uri) ? documents[uri] : undefined
  }
}

const source = (content: string, metadata: Record<string, unknown>): SourceDocument => ({ page_content: content, metadata })
const RETURN = source('You can return shoes within 30 days.', { source: 'shop/returns.md', heading: 'Returns', lines: '3' })

/** A protocol that answers with the citations of an answer. */
function citing (answer: Pick<Answer, 'answer' | 'source_documents'>): ChatProtocol {
  return {
    name: 'citing',
    prefix: '/citing',
    routes: () => ['docs', 'other'].map(name => readRoute({
      method: 'GET',
      path: `/${name}`,
      schema: { operationId: `cite${name}`, summary: 'Cite', tags: ['cite'], response: {} },
      read: ({ vac, cite }) => ({ citations: cite(vac(name), answer) })
    })),
    toError: ({ body }) => body
  }
}

interface Served extends Partial<VacPluginOptions> { readonly documents?: Record<string, string>, readonly prefix?: string, readonly only?: boolean }

async function serve (answer: Pick<Answer, 'answer' | 'source_documents'>, { documents = { 'shop/returns.md': RETURNS }, prefix = '', only = false, ...options }: Served = {}): Promise<FastifyInstance> {
  const app = Fastify()
  const memory = memoryOf(documents)
  const vacs = createVacs({ vacs: ['docs', 'other', 'bare'], streamInterpreter: async function * () { yield * [] }, parts: { docs: { memory }, other: { memory } } })
  const plugin = only ? protocolPlugin(citing(answer)) : pluginOf({ direct, citing: citing(answer) })
  const protocols = only ? {} : { protocols: ['direct', 'citing'] as unknown as NonNullable<VacPluginOptions['protocols']> }
  const registered: VacPluginOptions & { readonly prefix: string } = { vacs, prefix, ...protocols, ...options }
  await app.register(plugin as typeof vacPlugin, registered)
  return app
}

async function citationsOf (app: FastifyInstance, vac = 'docs', prefix = '', headers: Record<string, string> = {}): Promise<Citation[]> {
  const response = await app.inject({ url: `${prefix}/citing/${vac}`, headers })
  return (response.json() as { citations: Citation[] }).citations
}

const pathOf = (url: string): string => new URL(url).pathname
const withoutId = (body: string): string => body.replace(/"requestId":"[^"]*"/, '')

test('each marker that names a source is a citation, and each source without one follows', async t => {
  const text = 'Thirty days [1]. 😀 Free [2][1], not [9], [link][3](http://x.test), argv: `a[1]`\n```\n[2]\n```\nEnd.'
  const sources = [RETURN, source('Free', { url: 'https://shop.test/costs', title: 'Costs' }), source('News', { source: 'https://shop.test/news' })]
  const app = await serve({ answer: text, source_documents: sources })
  t.teardown(() => app.close())
  const citations = await citationsOf(app)
  t.strictSame(citations.map(({ index, start, end }) => [index, text.slice(start, end)]), [[0, '[1]'], [1, '[2]'], [0, '[1]'], [2, '']])
  t.strictSame(citations.map(({ title }) => title), ['returns.md: Returns', 'Costs', 'returns.md: Returns', 'https://shop.test/news'])
  t.strictSame(citations.slice(1).map(({ url }) => url), ['https://shop.test/costs', citations[0]!.url, 'https://shop.test/news'])
  t.match(citations[0]!.url, /^http:\/\/localhost(?::80)?\/vac\/docs\/sources\/[\w-]+#cited$/)
  t.strictSame([citations[3]!.start, citations[3]!.end], [text.length, text.length])
})

test('a source without an address has no citation, and no metadata becomes a dangerous address or title', async t => {
  const bad = ['javascript:alert(1)', 'data:text/html,x', 'http://user:secret@shop.test/', 'https://shop.test/\nx', 'file:///etc/passwd', 7, null]
  const sources = [...bad.map(url => source('x', { url })), source('y', { url: 'https://shop.test/"><script>', title: '\u202etitle\n\u0000two ' + 'x'.repeat(1_000) })]
  const app = await serve({ answer: 'Text [1]', source_documents: sources })
  t.teardown(() => app.close())
  const [only, ...others] = await citationsOf(app)
  t.strictSame(others, [])
  t.equal(only?.url, 'https://shop.test/%22%3E%3Cscript%3E')
  t.match(only?.title, /^title two x+…$/)
  t.equal(only?.title.length, 200)
  const bare = await serve({ answer: '[1]', source_documents: [RETURN] }, { only: true })
  t.teardown(() => bare.close())
  t.strictSame(await citationsOf(bare), [], 'no protocol of the plugin shows passages')
  const many = await serve({ answer: '[1]'.repeat(5_000), source_documents: [RETURN] })
  t.teardown(() => many.close())
  t.equal((await citationsOf(many)).length, 1_000)
})

test('an address is below the prefix of the application, or below the public address', async t => {
  const answer = { answer: '[1]', source_documents: [RETURN] }
  const api = await serve(answer, { prefix: '/api' })
  const behind = await serve(answer, { publicUrl: 'https://agents.test/base/' })
  t.teardown(async () => { await api.close(); await behind.close() })
  const [citation] = await citationsOf(api, 'docs', '/api', { host: 'shop.test:81' })
  t.match(citation?.url, /^http:\/\/shop\.test:81\/api\/vac\/docs\/sources\//)
  t.equal((await api.inject(pathOf(citation!.url))).statusCode, 200)
  t.match((await citationsOf(behind))[0]?.url, /^https:\/\/agents\.test\/base\/vac\/docs\/sources\//)
})

test('an address shows the passage where it is now, and states that its document has changed', async t => {
  const documents: Record<string, string> = {
    'shop/returns.md': RETURNS,
    'report.pdf': 'Report\n\nSales have grown.\nA lot.\n\nThe end.',
    'rules.rst': 'Rules\n=====\n\n.. note:: No smoking\n'
  }
  const sources = [RETURN, source('Sales have grown.\nA lot.', { source: 'report.pdf', page: 2 }), source('No smoking', { source: 'rules.rst', lines: '4' }), source('x', { source: 'gone.md' })]
  const app = await serve({ answer: '', source_documents: sources }, { documents })
  t.teardown(() => app.close())
  const [returns, report, rules, gone] = (await citationsOf(app)).map(({ url }) => pathOf(url))
  const read = async (path: string | undefined): Promise<unknown> => (await app.inject(path!)).json()
  const shown = { source: 'shop/returns.md', title: 'returns.md', heading: 'Returns', place: 'line 3', lines: '3', text: 'You can return shoes within 30 days.', media_type: 'text/markdown', changed: false }
  t.strictSame(await read(returns), shown)
  t.match(await read(report), { place: 'page 2', lines: '3-4', text: 'Sales have grown.\nA lot.', changed: false })
  const other = await read(rules)
  t.match(other, { lines: '4', text: '.. note:: No smoking' })
  t.notHas(other, 'changed', 'the format keeps its text in another form')
  documents['shop/returns.md'] = `# News\n\nMore.\n\n${RETURNS}`
  t.strictSame(await read(returns), { ...shown, lines: '7' })
  documents['shop/returns.md'] = RETURNS.replace('30', '14')
  t.strictSame(await read(returns), { ...shown, text: 'You can return shoes within 14 days.', changed: true })
  documents['shop/returns.md'] = ''
  t.match(await read(returns), { changed: true })
  const missing = await app.inject(gone!)
  t.equal(missing.statusCode, 404)
  t.equal((missing.json() as { error: { code: string } }).error.code, 'SOURCE_NOT_FOUND')
})

test('with authentication an address opens without a caller, for a time and for its VAC, and nothing else does', async t => {
  const authenticate: VacPluginOptions['authenticate'] = ({ headers: { authorization } }) =>
    authorization === 'Bearer a' ? { owner: 'a', scopes: ['vac:docs'] } : authorization === 'Bearer b' ? { owner: 'b', scopes: ['vac:other'] } : undefined
  const answer = { answer: '[1]', source_documents: [RETURN] }
  const app = await serve(answer, { authenticate, stateKey: KEY })
  const plain = await serve(answer)
  t.teardown(async () => { await app.close(); await plain.close() })
  const [a, b] = [{ authorization: 'Bearer a' }, { authorization: 'Bearer b' }]
  const [citation] = await citationsOf(app, 'docs', '', a)
  t.strictSame((await citationsOf(app, 'docs', '', a))[0]?.url, citation?.url, 'the same for a day')
  const path = pathOf(citation!.url)
  for (const headers of [{}, a, b, { authorization: 'Bearer wrong' }]) t.equal((await app.inject({ url: path, headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/citing/docs' })).statusCode, 401, 'other routes need a caller')
  const seals = new SignedStates(KEY, 8_000)
  const value = JSON.parse(Buffer.from(pathOf((await citationsOf(plain))[0]!.url).split('/').at(-1)!, 'base64url').toString()) as unknown
  const id = path.split('/').at(-1)!
  const refused: Record<string, string> = {
    'of another VAC': `/vac/other/sources/${id}`,
    'of an unknown VAC': `/vac/none/sources/${id}`,
    'of a VAC without memory': `/vac/bare/sources/${seals.sign(value, { passage: 'bare' }, 1_000)}`,
    'not sealed': pathOf((await citationsOf(plain))[0]!.url),
    expired: `/vac/docs/sources/${seals.sign(value, { passage: 'docs' }, -1)}`,
    'of another key': `/vac/docs/sources/${new SignedStates('x'.repeat(32)).sign(value, { passage: 'docs' }, 1_000)}`,
    'of another use': `/vac/docs/sources/${seals.sign(value, { call: 'docs' }, 1_000)}`,
    'of no document': `/vac/docs/sources/${seals.sign(['none.md', '', '', 0, ''], { passage: 'docs' }, 1_000)}`,
    'of another shape': `/vac/docs/sources/${seals.sign({ source: 'shop/returns.md' }, { passage: 'docs' }, 1_000)}`,
    changed: `/vac/docs/sources/${id.slice(0, 40)}${id[40] === 'A' ? 'B' : 'A'}${id.slice(41)}`,
    'too long': `/vac/docs/sources/${'x'.repeat(9_000)}`,
    empty: '/vac/docs/sources/',
    deeper: `${path}/more`
  }
  const bodies = new Set<string>()
  for (const [what, url] of Object.entries(refused)) {
    for (const headers of [{}, a, b]) {
      const response = await app.inject({ url, headers })
      t.equal(response.statusCode, 404, what)
      bodies.add(withoutId(response.body))
    }
  }
  t.equal(bodies.size, 1, [...bodies].join('\n'))
  t.match([...bodies][0], '"SOURCE_NOT_FOUND"')
  t.equal((await app.inject({ url: `/vac/docs/sources/${seals.sign(value, { passage: 'docs' }, 60_000)}` })).statusCode, 200, 'the key is that of the option')
})

/** The page of the only citation, and what it may load. */
async function pageOf (documents: Record<string, string>, cited: SourceDocument, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') {
  const app = await serve({ answer: '[1]', source_documents: [cited] }, { documents })
  const response = await app.inject({ url: pathOf((await citationsOf(app))[0]!.url), headers: { accept } })
  await app.close()
  return response
}

test('a browser gets a page with the cited lines marked, and other clients get JSON', async t => {
  const { body, headers } = await pageOf({ 'shop/returns.md': RETURNS }, RETURN)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.match(headers, { 'cache-control': 'private', vary: /accept/, 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' })
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-[\w+/]+=*';/)
  t.match(body, '<p id="cited" class="cited">You can return shoes within 30 days.</p>')
  t.match(body, '<h2>Returns</h2>')
  t.equal(body.match(/class="cited"/g)?.length, 1)
  for (const accept of ['application/json', '*/*', 'text/html;q=0.5, application/json', 'image/png']) {
    t.equal((await pageOf({ 'shop/returns.md': RETURNS }, RETURN, accept)).headers['content-type'], 'application/json; charset=utf-8', accept)
  }
  const app = await serve({ answer: '[1]', source_documents: [RETURN] })
  t.teardown(() => app.close())
  const url = pathOf((await citationsOf(app))[0]!.url)
  const head = await app.inject({ method: 'HEAD', url, headers: { accept: 'text/html' } })
  t.strictSame([head.statusCode, head.body, head.headers['content-length']], [200, '', String(Buffer.byteLength(body))])
  t.equal((await app.inject({ method: 'POST', url, payload: {} })).statusCode, 405)
})

test('Markdown is rendered: headings, lists, tables, code, quotes and links, and other text in its lines', async t => {
  const markdown = ['# A', '', '- one', '  - two **bold `c`**', '1. three', 'goes on', '', '| a | b |', '| - | - |', '| 1 | x\\|y |', '', '```js', 'if (a < b)', '```', '', '> quoted', '', '---', '', '[site](https://x.test/?a=1&b "t"), [here](other.md), ![logo](https://x.test/logo.png), <https://y.test>', '', 'Last *word*'].join('\n')
  const { body } = await pageOf({ 'a.md': markdown }, source('1 x|y\n\nif (a < b)', { source: 'a.md', lines: '10-13' }))
  for (const part of [
    '<div class="item in0"><p><span>•</span> one</p></div>', '<div class="item in1"><p><span>•</span> two <strong>bold <code>c</code></strong></p>', '<span>1.</span> three\ngoes on', '<th>a</th><th>b</th>',
    '<tr id="cited" class="cited"><td>1</td><td>x|y</td></tr>', '<pre><code><mark class="cited">if (a &lt; b)</mark></code></pre>', '<blockquote><div><p>quoted</p></div></blockquote>', '<hr>',
    '<a href="https://x.test/?a=1&amp;b" rel="noopener noreferrer">site</a>, here, <em>[image: logo]</em>, <a href="https://y.test/" rel="noopener noreferrer">https://y.test</a>', 'Last <em>word</em>'
  ]) t.ok(body.includes(part), `${part}\n${body}`)
  const plain = await pageOf({ 'a.txt': 'one\n**two** <b>\nthree' }, source('two b', { source: 'a.txt', lines: '2' }))
  t.ok(plain.body.includes('<pre>one\n<mark id="cited" class="cited">**two** &lt;b&gt;</mark>\nthree</pre>'), plain.body)
  t.ok(plain.body.includes('a.txt, line 2'))
})

test('nothing of a document or of its name runs or is loaded', async t => {
  const attacks = [
    '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert`1`)', '[x](data:text/html,<script>)', '![x](https://evil.test/a.png)', '<https://x.test/"onmouseover="alert(1)>',
    '[a"b](https://x.test/"><script>)', '`<script>`', '**<svg onload=alert(1)>**', '# <iframe src=//evil.test>', '> <style>*{}</style>', '| <b> | x |\n| - | - |\n| <script> | y |', '- <object>', '```"><script>\n</code></pre><script>\n```', '<!--', '[x](vbscript:x)', '[x](//evil.test)', "<a href='x'>"
  ]
  for (const mediaName of ['<script>.md', '"><img src=x>.txt']) {
    const { body } = await pageOf({ [mediaName]: attacks.join('\n\n') }, source('x', { source: mediaName, lines: '1-99', heading: '<script>' }))
    const [, content] = body.split('</style>')
    const tags = [...content!.matchAll(/<([a-z]\w*)/g)].map(([, tag]) => tag!)
    const allowed = ['a', 'body', 'blockquote', 'code', 'div', 'em', 'h1', 'h2', 'header', 'hr', 'main', 'mark', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr']
    t.strictSame(tags.filter(tag => !allowed.includes(tag)), [], body)
    t.notMatch(content, /<[^>]*\s(?:on\w+|src|style)=/)
    for (const [, href] of content!.matchAll(/href="([^"]*)"/g)) t.match(href, /^(?:https?:\/\/|mailto:|#cited$)/)
    t.notMatch(body.split('<style>')[0], '<script')
  }
})

test('a large document is shown around the passage, and the page states what is left out', async t => {
  const lines = Array.from({ length: 50_000 }, (_, i) => `Line ${i + 1}.`)
  const { body } = await pageOf({ 'a.txt': lines.join('\n') }, source('Line 30000.', { source: 'a.txt', lines: '30000' }))
  t.match(body, 'Lines 1 to 29899 are left out.')
  t.match(body, 'Lines 30101 to 50000 are left out.')
  t.match(body, '<mark id="cited" class="cited">Line 30000.</mark>')
  t.ok(body.length < 20_000, String(body.length))
  const inCode = ['```', ...lines, '# not a heading', '```', '', 'Cited.'].join('\n')
  const fenced = await pageOf({ 'a.md': inCode }, source('Cited.', { source: 'a.md', lines: '50005' }))
  t.ok(fenced.body.includes('# not a heading</code></pre>'), 'the window begins in code')
  for (const unit of ['<!--', '](', '[', '`', '**', '![', '*a', '> ', '| ', '- ', '<http://', ' #']) {
    const hostile = await pageOf({ 'a.md': unit.repeat(200_000) }, source('x', { source: 'a.md', lines: '1' }))
    t.ok(hostile.body.length < 100_000, unit)
    const wide = await pageOf({ 'a.md': `${unit.repeat(900)}\n`.repeat(2_000) }, source('x'.repeat(200), { source: 'a.md', lines: '900' }))
    t.equal(wide.statusCode, 200, unit)
  }
  const changed = await pageOf({ 'a.txt': 'other' }, source('x', { source: 'a.txt', lines: '1' }))
  t.match(changed.body, 'The document has changed since it was cited. The marked lines may be others.')
  const other = await pageOf({ 'a.pdf': 'other' }, source('x', { source: 'a.pdf', page: '1' }))
  t.match(other.body, 'The cited passage is not marked')
})

test('a direct question with citations: true gets the address of each source once, whole and as a stream', async t => {
  const memory = memoryOf({ 'shop/returns.md': RETURNS })
  const streamInterpreter: Interpreter = async (_question, _vac, _history, extra) =>
    ({ answer: `${'citations' in extra ? 'with' : 'without'} [1][1]`, source_documents: [RETURN, source('nowhere', {}), source('web', { url: 'https://example.com/a' })] })
  const vacs = createVacs({ vacs: ['docs'], parts: { docs: { streamInterpreter, memory } } })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(vacPlugin, { vacs })
  const ask = async (path: string, more: object): Promise<string> => (await app.inject({ method: 'POST', url: path, payload: { user_input: 'q', ...more } })).body
  const expected = [{ index: 0, title: 'returns.md: Returns', url: /^http:\/\/localhost:80\/vac\/docs\/sources\/[\w-]+#cited$/ }, { index: 2, title: 'https://example.com/a', url: 'https://example.com/a' }]
  t.match(JSON.parse(await ask('/vac/docs', { citations: true })), { answer: 'without [1][1]', citations: expected })
  const events = await ask('/vac/streaming/docs/sse', { citations: true })
  t.match(JSON.parse(/^data: (\{"answer".*)$/m.exec(events)![1]!), { citations: expected })
  t.notOk('citations' in JSON.parse(await ask('/vac/docs', {})), 'only where they are asked for')
  const passed = JSON.parse(await ask('/vac/docs', { citations: 'APA' }))
  t.same([passed.answer, passed.citations], ['with [1][1]', undefined], 'any other value goes to the interpreter')
})
