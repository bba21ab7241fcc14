import { createHash } from 'node:crypto'
import { test, type Test } from 'tap'
import { createHost, type HostOptions } from '../src/index.js'

const HTML = { accept: 'text/html,application/xhtml+xml' }

async function host (t: Test, options: HostOptions = {}) {
  const app = await createHost({
    vacs: { tides: { display_name: '<b>Tides</b>', description: 'High "and" low' }, other: {} },
    stream_interpreter: 'echo',
    server: { logger: false },
    ...options
  })
  t.teardown(() => app.close())
  return app
}

test('GET / in a browser is a small page without scripts, with the VACs, commands to paste and links', async t => {
  const app = await host(t, { enable_a2a_agent: true, enable_mcp_server: true, tasks: { store: 'memory' } })
  const page = await app.inject({ url: '/', headers: { ...HTML, host: 'localhost:8080' } })
  t.equal(page.statusCode, 200)
  t.match(page.headers, { 'content-type': /^text\/html/, 'x-content-type-options': 'nosniff', vary: 'accept' })
  t.ok(page.body.length < 10_000, `${page.body.length} bytes`)
  t.match(page.body, /<code>tides<\/code> &lt;b&gt;Tides&lt;\/b&gt; High &quot;and&quot; low/)
  t.match(page.body, /<code>other<\/code> <\/li>/, 'a name that is its title is there once')
  t.notMatch(page.body, /<script|<form|<b>|\son\w+=|style=|playground/)
  for (const line of ['curl -s http://localhost:8080/vac/tides', 'http://localhost:8080/openai/v1', 'http://localhost:8080/ai/tides', 'http://localhost:8080/ag-ui/tides', 'claude mcp add --transport http polyvac http://localhost:8080/mcp']) {
    t.ok(page.body.includes(line), line)
  }
  for (const path of ['/openapi.json', '/ready', '/.well-known/agent-card.json']) {
    t.ok(page.body.includes(`href="http://localhost:8080${path}"`), path)
    t.equal((await app.inject(path)).statusCode, 200, path)
  }
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, /default-src 'none'.*form-action 'none'; base-uri 'none'; frame-ancestors 'none'/)
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(page.body) ?? []
  t.ok(policy.includes(`'sha256-${createHash('sha256').update(style).digest('base64')}'`), 'the policy has the hash of the style')
})

test('the page stays small with many VACs, and that of a gateway states that it has none', async t => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`vac-${i}-${'x'.repeat(50)}`, { description: 'y'.repeat(5_000) }]))
  const page = (await (await host(t, { vacs: many })).inject({ url: '/', headers: HTML })).body
  t.ok(page.length < 10_000, `${page.length} bytes`)
  t.match(page, /and \d+ more/)
  t.match((await (await host(t, { vacs: {} })).inject({ url: '/', headers: HTML })).body, /it has no VAC/)
})

test('GET / for other clients is a JSON index', async t => {
  const app = await host(t, { public_url: 'https://agents.example/' })
  for (const accept of ['*/*', 'application/json']) {
    t.match((await app.inject({ url: '/', headers: { accept } })).json(), { name: 'polyvac', version: /^\d/, vacs: ['tides', 'other'], links: ['https://agents.example/openapi.json', 'https://agents.example/ready'] })
  }
})

test('callers of the page are authenticated', async t => {
  const app = await host(t, { authenticate: ({ headers }) => headers.cookie === 'key=1' ? { owner: 'ada' } : undefined })
  t.equal((await app.inject({ url: '/', headers: HTML })).statusCode, 401)
  t.equal((await app.inject({ url: '/', headers: { ...HTML, cookie: 'key=1' } })).statusCode, 200)
})

test('a request without a route is answered with the route that is meant', async t => {
  const app = await host(t, { enable_mcp_server: true, tasks: { store: 'memory' } })
  const meant: Array<['GET' | 'POST', string, string]> = [
    ['POST', '/v1/chat/completions', '/openai/v1/chat/completions'], ['GET', '/v1/models', '/openai/v1/models'],
    ['GET', '/helth', '/health'], ['POST', '/tides', '/vac/tides'], ['POST', '/api/vac/tides?x=1', '/vac/tides'], ['GET', '/ready/', '/ready'],
    ['POST', '/api/chat', '/ai/<vector_name>'], ['GET', '/api/chat/c/stream', '/ai/<vector_name>/c/stream'], ['POST', '/api/completion', '/ai/<vector_name>'],
    ['POST', '/ai_sdk/tides', '/ai/tides'], ['POST', '/api/ai/tides', '/ai/tides'], ['POST', '/api/copilotkit', '/ag-ui'], ['GET', '/api/copilotkit/info', '/ag-ui/info'],
    ['POST', '/agui/tides', '/ag-ui/tides'], ['POST', '/ag_ui/tides', '/ag-ui/tides'], ['POST', '/api/ag-ui/agent/tides/run', '/ag-ui/agent/tides/run']
  ]
  for (const [method, url, route] of meant) {
    const { statusCode, body } = await app.inject({ method, url })
    t.equal(statusCode, 404, url)
    t.match(JSON.parse(body), { error: { code: 'NOT_FOUND', message: new RegExp(`did you mean "${route}"\\?$`), requestId: /./ } }, url)
  }
  t.match((await (await host(t, { vacs: ['tides'] })).inject({ method: 'POST', url: '/api/chat' })).json().error.message, /did you mean "\/ai\/tides"\?$/)
  t.match((await app.inject('/something/entirely/different')).json(), { error: { code: 'NOT_FOUND', message: /GET \/openapi\.json lists the routes$/ } })
})

test('a request with the wrong method is answered with 405 and Allow', async t => {
  const app = await host(t)
  const wrong: Array<['GET' | 'POST' | 'DELETE', string, string]> = [
    ['POST', '/health', 'GET, HEAD'], ['DELETE', '/', 'GET, HEAD'], ['POST', '/openapi.json', 'GET, HEAD']
  ]
  for (const [method, url, allow] of wrong) {
    const response = await app.inject({ method, url })
    t.equal(response.statusCode, 405, url)
    t.strictSame(String(response.headers.allow).split(', ').sort(), allow.split(', ').sort(), url)
    t.match(response.json(), { error: { code: 'METHOD_NOT_ALLOWED' } })
  }
  for (const url of ['/vac/tides', '/openai/v1/chat/completions']) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 405, url)
    t.equal(response.headers.allow, 'POST')
  }
})
