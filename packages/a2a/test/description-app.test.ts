import { test } from 'tap'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import { vacPlugin } from '@polyvac/vac'
import { methodNames, serve } from './fixtures/app.js'
import { echo } from './fixtures/description.js'

test('registered into somebody\'s app, next to the direct endpoints, it changes nothing there, and the app\'s hooks reach its routes', async t => {
  const served = await serve(t, echo, {
    server: { ajv: { customOptions: { coerceTypes: true, removeAdditional: 'all' } } },
    plugin: { prefix: '/agents' },
    async before (app, vacs) {
      await app.register(cors, { origin: 'https://example.org' })
      await app.register(helmet)
      app.setErrorHandler((err: Error, _request, reply) => { reply.code(418).send({ teapot: err.message }) })
      app.addHook('onRequest', async (_request, reply) => { reply.header('x-app', 'hook') })
      app.post('/own', { schema: { body: { type: 'object', properties: { n: { type: 'number' } } } } }, async request => request.body)
      app.get('/fails', async () => { throw new Error('own') })
      await app.register(vacPlugin, { vacs })
    }
  })
  const { app } = served
  t.strictSame((await app.inject({ method: 'POST', url: '/own', payload: { n: '7', extra: 1 } })).json(), { n: 7 }, 'its own validation still coerces and removes')
  t.match((await app.inject('/fails')).json(), { teapot: 'own' })
  t.equal((await app.inject({ method: 'POST', url: '/own', payload: '{', headers: { 'content-type': 'application/json' } })).statusCode, 418)
  t.match((await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: 'x' } })).json(), { answer: 'You said: x' })
  t.match((await app.inject({ method: 'POST', url: '/vac/streaming/docs/sse', payload: { user_input: 'x' } })).payload, /\[DONE\]/)
  const headers = { origin: 'https://example.org' }
  const all = { 'access-control-allow-origin': 'https://example.org', 'x-app': 'hook', 'x-content-type-options': 'nosniff' }
  t.match((await app.inject({ url: '/agents/.well-known/agent.json', headers })).headers, all)
  for (const method of ['tasks/send', 'tasks/sendSubscribe'] as const) {
    const answered = await served.rpc(method, { skillName: 'vac_query_docs', input: { query: 'x' }, n: '7' }, { headers })
    t.equal(answered.status, 200)
    t.match(answered.headers, all, method)
    t.match(answered.text, /You said: x/)
    t.match((await served.rpc(method, {}, { headers })).headers, all, `${method}, refused`)
    t.match(await served.rpc(method, { skillName: 7 }), { body: { error: { code: -32602 } } }, 'and nothing is coerced')
  }
  t.equal((await app.inject('/.well-known/agent.json')).statusCode, 404, 'nothing outside the prefix')
  t.notOk(app.hasReplyDecorator('sse'))
})

test('an app that reads JSON in its own way keeps it, and the plugin reads it in its own', async t => {
  const served = await serve(t, echo, {
    before (app) {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser(['application/json', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) => { done(null, { bytes: body.length }) })
      app.post('/own', async request => request.body)
    }
  })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }), { state: 'completed' })
  t.match((await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'x' } })).at(-1)?.data, { state: 'completed' })
  for (const method of ['message/send', 'SendMessage']) {
    const version = method === 'SendMessage' ? '1.0' : '0.3'
    const { body } = await served.app.inject({ method: 'POST', url: '/a2a', headers: { 'a2a-version': version }, payload: { jsonrpc: '2.0', id: 1, method, params: {} } })
    t.match(JSON.parse(body), { error: { code: -32602 } }, method)
  }
  t.strictSame((await served.app.inject({ method: 'POST', url: '/own', payload: { n: 7 } })).json(), { bytes: 7 })
})

test('its routes are these and no others', async t => {
  let taken = 0
  const { app } = await serve(t, echo, {
    before (app) { app.addHook('onRoute', ({ method, preParsing }) => { if (method === 'POST' && preParsing === undefined) taken++ }) }
  })
  for (const url of ['/.well-known/agent.json', '/.well-known/jwks.json']) {
    t.ok(app.hasRoute({ method: 'GET', url }), url)
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
  }
  for (const method of methodNames) {
    t.ok(app.hasRoute({ method: 'POST', url: `/a2a/${method}` }), method)
    for (const verb of ['GET', 'PUT', 'DELETE', 'HEAD'] as const) t.equal((await app.inject({ method: verb, url: `/a2a/${method}` })).statusCode, 405, `${verb} ${method}`)
  }
  // besides it: 2 addresses of JSON-RPC, 4 paths of HTTP+JSON with and without a tenant; each also with a slash
  t.equal(taken, 2 * (methodNames.length + 2 + 2 * 4))
})

test('its log has no questions, answers or credentials', async t => {
  const served = await serve(t, echo)
  await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'SECRET-question' }, clientMetadata: { x: 'SECRET-meta' } }, { headers: { authorization: 'Bearer SECRET-token' } })
  await served.frames('tasks/sendSubscribe', { skillName: 'vac_stream_docs', input: { query: 'SECRET-question' } })
  t.match(served.logged(), /task run/)
  t.notMatch(served.logged(), /SECRET/)
})
