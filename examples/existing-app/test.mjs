// Starts the server, as an ES module and as CommonJS, and calls it like a page of the shop, a partner and a client of
// the agent.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { gunzipSync } from 'node:zlib'
import vac from '@polyvac/vac'
import { vacs } from './agents.js'
import { buildApp } from './app.js'

const SHOP = { origin: 'https://shop.example', cookie: 'session=7' }
const ask = { method: 'POST', headers: SHOP, body: { user_input: 'Where is my kettle?' } }

for (const file of ['server.js', 'server.cjs']) await checkServer(file)
await checkRefusals()
process.stdout.write('existing-app: all as expected\n')

async function checkServer (file) {
  const server = spawn(process.execPath, [file], {
    cwd: import.meta.dirname, env: { ...process.env, PORT: '0', NODE_NO_WARNINGS: '1' }, stdio: ['ignore', 'pipe', 'inherit']
  })
  const before = await buildApp()
  try {
    const url = await addressOf(server)

    // the shop's own routes answer as without the plugin, headers included
    for (const [method, path, body, cookie = 'session=7'] of [
      ['GET', '/orders/7'],
      ['GET', '/orders/8'],
      ['GET', '/orders/seven'],
      ['POST', '/orders', { item: 'pan', count: '2' }],
      ['POST', '/orders', { count: 2 }],
      ['POST', '/orders', { item: 'pan' }, 'session=none'],
      ['GET', '/broken'],
      ['GET', '/nowhere'],
      ['OPTIONS', '/orders']
    ]) {
      const headers = { origin: SHOP.origin, cookie, ...(method === 'OPTIONS' && { 'access-control-request-method': 'POST' }) }
      const was = await before.inject({ method, url: path, headers, payload: body })
      const is = await call(url + path, { method, headers, body })
      assert.equal(is.status, was.statusCode, `${method} ${path}`)
      assert.equal(is.text, was.body, `${method} ${path}`)
      assert.deepEqual(comparable(Object.fromEntries(is.headers)), comparable(was.headers), `${method} ${path}`)
    }

    // an answer, with the shop's headers
    const answer = await call(`${url}/agents/vac/helpdesk`, ask)
    assert.equal(answer.status, 200)
    assert.deepEqual(JSON.parse(answer.text), {
      answer: 'You asked: Where is my kettle?',
      source_documents: [{ page_content: 'Kettles are sent within a day.', metadata: { source: 'delivery.md' } }]
    })
    checkShopHeaders(answer)

    // the same as a stream
    const stream = await call(`${url}/agents/vac/streaming/helpdesk/sse`, ask)
    const events = stream.text.trim().split('\n\n').map(event => event.replace('data: ', ''))
    assert.equal(events.pop(), '[DONE]')
    const result = JSON.parse(events.pop())
    assert.equal(events.map(event => JSON.parse(event).chunk).join(''), result.answer)
    assert.ok(events.length > 1, 'the text comes in pieces')
    checkShopHeaders(stream)

    // and for a client of the OpenAI API
    const chat = await call(`${url}/agents/openai/v1/chat/completions`, {
      method: 'POST', headers: SHOP, body: { model: 'helpdesk', messages: [{ role: 'user', content: 'Hello?' }] }
    })
    assert.equal(JSON.parse(chat.text).choices[0].message.content, 'You asked: Hello?')

    // a customer who has not signed in gets the shop's answer, on a route of the plugin too
    const stranger = await call(`${url}/agents/vac/helpdesk`, { ...ask, headers: { origin: SHOP.origin } })
    assert.deepEqual([stranger.status, JSON.parse(stranger.text)], [401, { ok: false, reason: 'sign in first' }])

    // a partner needs a key; the refusal is that of @fastify/bearer-auth
    const partner = authorization => call(`${url}/partners/vac/helpdesk`, { ...ask, headers: { authorization } })
    assert.equal((await partner('Bearer demo-key')).status, 200)
    const refused = await partner('Bearer a guess')
    assert.deepEqual([refused.status, JSON.parse(refused.text)], [401, { error: 'invalid authorization header' }])

    // the agent's errors have their codes; the shop's error messages do not change
    const unknown = await call(`${url}/agents/vac/helpdeks`, ask)
    assert.equal(unknown.status, 404)
    assert.equal(JSON.parse(unknown.text).error.code, 'VAC_NOT_FOUND')
    assert.match(JSON.parse(unknown.text).error.message, /did you mean "helpdesk"/)
    const blank = await call(`${url}/agents/vac/helpdesk`, { method: 'POST', headers: SHOP, body: { user_input: ' ' } })
    assert.equal(blank.status, 400)

    // the plugin has no route outside its prefix
    assert.equal((await call(`${url}/vac/helpdesk`, ask)).status, 404)

    server.kill('SIGTERM')
    const [code] = await once(server, 'exit')
    assert.equal(code, 0)
  } finally {
    server.kill()
    await before.close()
  }
}

/** What the shop's plugins refuse on a route of the agent, and what they add. */
async function checkRefusals () {
  let overloaded = false
  const app = await buildApp({ requestsPerMinute: 3, isOverloaded: () => overloaded })
  await app.register(vac, { prefix: '/agents', vacs })
  const request = (headers = {}) => app.inject({ method: 'POST', url: '/agents/vac/helpdesk', headers: { ...SHOP, ...headers }, payload: ask.body })
  try {
    await app.ready()
    assert.ok(app.swagger().paths['/agents/vac/{vector_name}'], 'the API description has the routes of the plugin')

    const long = await app.inject({
      method: 'POST', url: '/agents/vac/helpdesk', headers: { ...SHOP, 'accept-encoding': 'gzip' }, payload: { user_input: 'x'.repeat(5000) }
    })
    assert.equal(long.headers['content-encoding'], 'gzip')
    assert.match(JSON.parse(gunzipSync(long.rawPayload)).answer, /x{5000}/)

    await request()
    await request()
    const limited = await request()
    assert.deepEqual([limited.statusCode, limited.json().ok], [429, false])
    assert.match(limited.json().reason, /try again in/)

    overloaded = true
    for (let i = 0; i < 100 && (await request()).statusCode !== 503; i++) await new Promise(resolve => setTimeout(resolve, 50))
    const pressed = await request()
    assert.deepEqual([pressed.statusCode, pressed.headers['retry-after']], [503, '20'])
    assert.equal(pressed.json().error.code, 'SERVICE_UNAVAILABLE')
  } finally {
    await app.close()
  }
}

async function call (url, { method, headers, body }) {
  const response = await fetch(url, {
    method,
    headers: { connection: 'close', 'accept-encoding': 'identity', ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body)
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function checkShopHeaders ({ headers }) {
  assert.equal(headers.get('access-control-allow-origin'), 'https://shop.example')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('x-ratelimit-limit'), '1000')
}

/** Without what belongs to one connection or moment. */
function comparable ({ date, connection, 'keep-alive': keepAlive, ...headers }) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^x-ratelimit-(?:remaining|reset)$/.test(name))
    .map(([name, value]) => [name, String(value)]))
}

async function addressOf ({ stdout }) {
  let text = ''
  for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
    text += piece
    const [, address] = /listening on (\S+)/.exec(text) ?? []
    if (address !== undefined) { stdout.resume(); return address }
  }
  throw new Error(`the server did not start: ${text}`)
}
