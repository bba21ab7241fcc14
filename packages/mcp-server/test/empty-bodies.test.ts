import { test } from 'tap'
import { LegacySession, MODERN, serve, sourceOf } from './fixtures/wire.js'

for (const type of ['application/json', 'text/plain', 'no media type']) {
  test(`a DELETE without a body ends the session, with content type ${type}`, async t => {
    const app = await serve(t, { sources: [sourceOf({})] })
    const session = await LegacySession.open(app)
    const headers = { ...session.headers, 'content-type': type }
    const response = await app.inject({ method: 'DELETE', url: '/mcp', headers })
    t.equal(response.statusCode, 204)
    t.equal((await session.request('ping')).status, 404, 'the session has ended')
  })

  test(`a GET without a body is answered by its method, with content type ${type}`, async t => {
    const app = await serve(t, { sources: [sourceOf({})] })
    const headers = { 'mcp-protocol-version': MODERN, 'content-type': type }
    t.equal((await app.inject({ method: 'GET', url: '/mcp', headers })).statusCode, 405)
  })
}

test('a DELETE with a body of another type is refused', async t => {
  const app = await serve(t, { sources: [sourceOf({})] })
  const session = await LegacySession.open(app)
  const headers = { ...session.headers, 'content-type': 'text/plain' }
  t.equal((await app.inject({ method: 'DELETE', url: '/mcp', headers, payload: 'x' })).statusCode, 415)
  t.equal((await session.request('ping')).status, 200, 'the session goes on')
})
