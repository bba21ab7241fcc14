import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { createHost, type HostOptions } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'

const HTML = { accept: 'text/html,application/xhtml+xml' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString()

async function host (t: Test, options: HostOptions = {}) {
  const app = await createHost({
    vacs: { tides: { display_name: '<b>Tides</b>', description: 'High "and" low' }, other: {} },
    stream_interpreter: question => question === 'fail'
      ? { answer: '', input_required: 'x' }
      : { answer: `You asked <i>${question}</i>`, source_documents: [{ page_content: '<script>alert(1)</script>', metadata: { source: 'a&b.md', lines: '1-2' } }] },
    server: { logger: false },
    ...options
  })
  t.teardown(() => app.close())
  return app
}

test('GET / in a browser is a small page without scripts, with a form, commands to paste and links', async t => {
  const app = await host(t, { enable_a2a_agent: true, enable_mcp_server: true, tasks: { store: 'memory' } })
  const page = await app.inject({ url: '/', headers: { ...HTML, host: 'localhost:8080' } })
  t.equal(page.statusCode, 200)
  t.match(page.headers, { 'content-type': /^text\/html/, 'x-content-type-options': 'nosniff', vary: 'accept' })
  t.ok(page.body.length < 10_000, `${page.body.length} bytes`)
  t.match(page.body, /<form method="post" action="ask">[^]*<option value="tides">&lt;b&gt;Tides&lt;\/b&gt;<\/option>[^]*<textarea name="question"/)
  t.match(page.body, /High &quot;and&quot; low/)
  t.notMatch(page.body, /<script|<b>|\son\w+=|style=/)
  for (const line of ['curl -s http://localhost:8080/vac/tides', 'http://localhost:8080/openai/v1', 'claude mcp add --transport http polyvac http://localhost:8080/mcp']) {
    t.ok(page.body.includes(line), line)
  }
  for (const path of ['/openapi.json', '/ready', '/.well-known/agent-card.json']) {
    t.ok(page.body.includes(`href="http://localhost:8080${path}"`), path)
    t.equal((await app.inject(path)).statusCode, 200, path)
  }
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, /default-src 'none'.*form-action 'self'; base-uri 'none'; frame-ancestors 'none'/)
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(page.body) ?? []
  t.ok(policy.includes(`'sha256-${createHash('sha256').update(style).digest('base64')}'`), 'the policy has the hash of the style')
})

test('the page stays small with many VACs, and a gateway has no form', async t => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`vac-${i}-${'x'.repeat(50)}`, { description: 'y'.repeat(5_000) }]))
  const page = (await (await host(t, { vacs: many })).inject({ url: '/', headers: HTML })).body
  t.ok(page.length < 10_000, `${page.length} bytes`)
  t.match(page, /and \d+ more/)
  t.notMatch((await (await host(t, { vacs: {} })).inject({ url: '/', headers: HTML })).body, /<form/)
})

test('GET / for other clients is a JSON index', async t => {
  const app = await host(t, { public_url: 'https://agents.example/' })
  for (const accept of ['*/*', 'application/json']) {
    t.match((await app.inject({ url: '/', headers: { accept } })).json(), { name: 'polyvac', version: /^\d/, vacs: ['tides', 'other'], links: ['https://agents.example/openapi.json', 'https://agents.example/ready'] })
  }
})

test('the form asks a VAC, and the page shows the answer and its sources with all values escaped', async t => {
  const app = await host(t)
  const page = await app.inject({ method: 'POST', url: '/ask', headers: { ...FORM, ...HTML }, payload: form({ vac: 'other', question: '"><script>x</script>' }) })
  t.equal(page.statusCode, 200)
  t.match(page.body, /You asked &lt;i&gt;&quot;&gt;&lt;script&gt;x&lt;\/script&gt;&lt;\/i&gt;/)
  t.match(page.body, /<summary>\[1\] a&amp;b\.md:1-2<\/summary><div class="answer">&lt;script&gt;alert\(1\)&lt;\/script&gt;/)
  t.match(page.body, /<option value="other" selected>/)
  t.notMatch(page.body, /<script|<i>/)
  t.ok(page.headers['content-security-policy'])
})

test('a question that cannot be answered is explained on the page, with its status', async t => {
  const app = await host(t)
  const post = async (payload: string, headers: object = FORM) => await app.inject({ method: 'POST', url: '/ask', headers: { ...headers }, payload })
  const unknown = await post(form({ vac: 'tidse', question: 'x' }))
  t.equal(unknown.statusCode, 404)
  t.match(unknown.body, /role="alert">[^<]*did you mean &quot;tides&quot;\?/)
  t.equal((await post(form({ vac: 'tides', question: ' ' }))).statusCode, 400)
  t.equal((await post('')).statusCode, 400)
  t.equal((await post('question=x')).statusCode, 404)
  t.equal((await post(form({ vac: 'tides', question: 'x'.repeat(70_000) }))).statusCode, 413)
  t.equal((await post(form({ vac: '../ready', question: 'x' }))).statusCode, 404)
})

test('what is not a form is refused with the name of its type and that of a form', async t => {
  const app = await host(t)
  const types = { 'application/json': '"application/json"', 'text/plain; charset=utf-8': '"text/plain"', 'multipart/form-data; boundary=x': '"multipart/form-data"', nonsense: '"nonsense"', '': 'no Content-Type' }
  for (const [type, named] of Object.entries(types)) {
    for (const payload of ['{"user_input":"x"}', '']) {
      const response = await app.inject({ method: 'POST', url: '/ask', headers: { ...FORM, 'content-type': type }, payload })
      const { error: { code, message } } = response.json<{ error: { code: string, message: string } }>()
      t.strictSame([response.statusCode, code], [415, 'UNSUPPORTED_MEDIA_TYPE'], type)
      t.match(message, new RegExp(`the body has .*${named}; send it as application/x-www-form-urlencoded, or send JSON to POST /vac/<name>`), type)
    }
  }
  t.equal((await app.inject({ method: 'POST', url: '/ask', headers: { 'content-type': 'Application/X-WWW-Form-Urlencoded;charset=UTF-8' }, payload: form({ vac: 'tides', question: 'x' }) })).statusCode, 200)
})

test('a page of another site cannot post the form', async t => {
  const app = await host(t, { public_url: 'https://agents.example' })
  const send = async (headers: Record<string, string>) => {
    const { 'sec-fetch-site': site, ...type } = FORM
    return (await app.inject({ method: 'POST', url: '/ask', headers: { ...type, host: 'localhost:8080', ...headers }, payload: form({ vac: 'tides', question: 'x' }) })).statusCode
  }
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { 'sec-fetch-site': 'none' }, { origin: 'https://evil.example' }, { origin: 'null' },
    { origin: 'http://localhost:9090' }, { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:8080' }
  ]) t.equal(await send(headers as Record<string, string>), 403, JSON.stringify(headers))
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: 'http://localhost:8080' }, { origin: 'https://agents.example' }, {}]) {
    t.equal(await send(headers as Record<string, string>), 200, JSON.stringify(headers))
  }
})

test('callers of the page are authenticated, and so is the question', async t => {
  const app = await host(t, { authenticate: ({ headers }) => headers.cookie === 'key=1' ? { owner: 'ada' } : undefined })
  const requests = [
    { method: 'GET', url: '/', headers: HTML },
    { method: 'POST', url: '/ask', headers: FORM, payload: form({ vac: 'tides', question: 'x' }) }
  ] as const
  for (const request of requests) {
    t.equal((await app.inject(request)).statusCode, 401)
    t.equal((await app.inject({ ...request, headers: { ...request.headers, cookie: 'key=1' } })).statusCode, 200)
  }
})

test('closing the page stops the answer', async t => {
  let stopped = false
  let asked = false
  const app = await host(t, {
    stream_interpreter: async (question, name, history, { signal }) => {
      asked = true
      await once(signal, 'abort')
      stopped = true
    }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const sent = request({ port: (app.server.address() as AddressInfo).port, method: 'POST', path: '/ask', headers: FORM })
  sent.on('error', () => {})
  sent.end(form({ vac: 'tides', question: 'x' }))
  await until(() => asked, 'the interpreter runs')
  sent.destroy()
  await until(() => stopped, 'the interpreter is stopped')
})

test('a request without a route is answered with the route that is meant', async t => {
  const app = await host(t, { enable_mcp_server: true, tasks: { store: 'memory' } })
  const meant: Array<['GET' | 'POST', string, string]> = [
    ['POST', '/v1/chat/completions', '/openai/v1/chat/completions'], ['GET', '/v1/models', '/openai/v1/models'],
    ['GET', '/helth', '/health'], ['POST', '/tides', '/vac/tides'], ['POST', '/api/vac/tides?x=1', '/vac/tides'], ['GET', '/ready/', '/ready']
  ]
  for (const [method, url, route] of meant) {
    const { statusCode, body } = await app.inject({ method, url })
    t.equal(statusCode, 404, url)
    t.match(JSON.parse(body), { error: { code: 'NOT_FOUND', message: new RegExp(`did you mean "${route}"\\?$`), requestId: /./ } }, url)
  }
  t.match((await app.inject('/something/entirely/different')).json(), { error: { code: 'NOT_FOUND', message: /GET \/openapi\.json lists the routes$/ } })
})

test('a request with the wrong method is answered with 405 and Allow', async t => {
  const app = await host(t)
  const wrong: Array<['GET' | 'POST' | 'DELETE', string, string]> = [
    ['POST', '/health', 'GET, HEAD'], ['DELETE', '/', 'GET, HEAD'], ['GET', '/ask', 'POST'], ['POST', '/openapi.json', 'GET, HEAD']
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
