// Starts the server and calls it like a page of the shop and like a client of the agent.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { buildApp } from './app.js'

const server = spawn(process.execPath, ['server.js'], {
  cwd: import.meta.dirname, env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit']
})
const before = await buildApp()
try {
  const url = await addressOf(server)

  // the shop's own routes answer as without the plugin, headers included
  for (const [method, path, body] of [
    ['GET', '/orders/7'],
    ['GET', '/orders/8'],
    ['GET', '/orders/seven'],
    ['POST', '/orders', { item: 'pan', count: '2' }],
    ['POST', '/orders', { count: 2 }],
    ['GET', '/broken'],
    ['GET', '/nowhere'],
    ['OPTIONS', '/orders']
  ]) {
    const headers = { origin: 'https://shop.example', ...(method === 'OPTIONS' && { 'access-control-request-method': 'POST' }) }
    const was = await before.inject({ method, url: path, headers, payload: body })
    const is = await call(url + path, { method, headers, body })
    assert.equal(is.status, was.statusCode, `${method} ${path}`)
    assert.equal(is.text, was.body, `${method} ${path}`)
    assert.deepEqual(comparable(Object.fromEntries(is.headers)), comparable(was.headers), `${method} ${path}`)
  }

  // an answer, with the shop's CORS and security headers
  const ask = { method: 'POST', headers: { origin: 'https://shop.example' }, body: { user_input: 'Where is my kettle?' } }
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
    method: 'POST', body: { model: 'helpdesk', messages: [{ role: 'user', content: 'Hello?' }] }
  })
  assert.equal(JSON.parse(chat.text).choices[0].message.content, 'You asked: Hello?')

  // the agent's errors have their codes; the shop's error messages do not change
  const unknown = await call(`${url}/agents/vac/helpdeks`, ask)
  assert.equal(unknown.status, 404)
  assert.equal(JSON.parse(unknown.text).error.code, 'VAC_NOT_FOUND')
  assert.match(JSON.parse(unknown.text).error.message, /did you mean "helpdesk"/)
  const blank = await call(`${url}/agents/vac/helpdesk`, { method: 'POST', body: { user_input: ' ' } })
  assert.equal(blank.status, 400)

  // the plugin has no route outside its prefix
  assert.equal((await call(`${url}/vac/helpdesk`, ask)).status, 404)

  server.kill('SIGTERM')
  const [code] = await once(server, 'exit')
  assert.equal(code, 0)
  process.stdout.write('existing-app: all as expected\n')
} finally {
  server.kill()
  await before.close()
}

async function call (url, { method, headers, body }) {
  const response = await fetch(url, {
    method,
    headers: { connection: 'close', ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body)
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function checkShopHeaders ({ headers }) {
  assert.equal(headers.get('access-control-allow-origin'), 'https://shop.example')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
}

/** Without what belongs to one connection or moment. */
function comparable ({ date, connection, 'keep-alive': keepAlive, ...headers }) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
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
