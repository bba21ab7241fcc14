import { test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { createVacs, type Answer, type Memory, type SourceDocument } from '@polyvac/core'
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
  await app.register(plugin as typeof vacPlugin, { vacs, prefix, ...protocols, ...options } as unknown as VacPluginOptions)
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
  const shown = { source: 'shop/returns.md', title: 'returns.md', place: 'line 3', lines: '3', text: 'You can return shoes within 30 days.', media_type: 'text/markdown', changed: false }
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
