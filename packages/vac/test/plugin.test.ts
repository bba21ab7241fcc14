import { test } from 'tap'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import { fastifySSE } from '@fastify/sse'
import Fastify, { type FastifyReply } from 'fastify'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Answer, createVacs, ErrorBody } from '@polyvac/core'
import { ChatCompletionRequest, ModelList, vacPlugin, VacList, VacStreamQuery } from '../src/index.js'

const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async function * (question) { yield question; return { answer: question } } })
const ask = (url: string, headers: Record<string, string> = {}) => ({ method: 'POST' as const, url, payload: { user_input: 'hello' }, headers })

test('it changes nothing in the app around it, and the app\'s hooks apply to its routes', async t => {
  const app = Fastify({ ajv: { customOptions: { coerceTypes: true, removeAdditional: 'all' } } })
  await app.register(cors, { origin: 'https://example.org' })
  await app.register(helmet)
  app.setErrorHandler((err: Error, _request, reply) => { reply.code(418).send({ teapot: err.message }) })
  app.addHook('onRequest', async (_request, reply) => { reply.header('x-app', 'hook') })
  app.post('/own', { schema: { body: { type: 'object', properties: { n: { type: 'number' } } } } }, async request => request.body)
  app.get('/fails', async () => { throw new Error('own') })
  const before = app.printRoutes()
  await app.register(vacPlugin, { vacs, prefix: '/agents' })
  t.teardown(() => app.close())

  t.strictSame((await app.inject({ method: 'POST', url: '/own', payload: { n: '7', extra: 1 } })).json(), { n: 7 }, 'its own validation still coerces and removes')
  t.match((await app.inject('/fails')).json(), { teapot: 'own' }, 'its own error handler still answers')
  t.match((await app.inject({ method: 'POST', url: '/own', payload: '{', headers: { 'content-type': 'application/json' } })).statusCode, 418)
  t.match(before, /own/)
  for (const url of ['/agents/vac/docs', '/agents/vac/streaming/docs', '/agents/vac/streaming/docs/sse']) {
    const response = await app.inject(ask(url, { origin: 'https://example.org' }))
    t.equal(response.statusCode, 200, url)
    t.match(response.headers, { 'access-control-allow-origin': 'https://example.org', 'x-app': 'hook', 'x-content-type-options': 'nosniff' }, url)
  }
  t.match((await app.inject(ask('/agents/vac/nope'))).json(), { error: { code: 'VAC_NOT_FOUND', message: /; GET \/agents\/vac lists those that are$/ } })
  t.match((await app.inject('/agents/openai/v1/models/nope')).json(), { error: { message: /; GET \/agents\/openai\/v1\/models lists those/ } })
  t.equal((await app.inject(ask('/vac/docs'))).statusCode, 404, 'nothing outside the prefix')
  t.notOk(app.hasReplyDecorator('sse'))
})

test('with errorHandler: app the app answers errors of direct in its own shape, and those of OpenAI keep theirs', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async request => { if (request.headers['x-refuse'] !== undefined) throw Object.assign(new Error('mine'), { statusCode: 401, own: true }) })
  app.setErrorHandler((err: Error & { code?: string, statusCode?: number, own?: boolean }, _request, reply) => {
    reply.code(err.statusCode ?? 500).send({ teapot: err.message, code: err.code, own: err.own })
  })
  const failing = createVacs({ vacs: ['docs'], streamInterpreter: question => { throw new Error(`secret of ${question}`) } })
  await app.register(vacPlugin, { vacs: failing, errorHandler: 'app' })
  const sent = async (url: string, payload: object | string, headers = {}) => {
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json', ...headers } })
    return [statusCode, JSON.parse(body)]
  }
  const question = { user_input: 'hi' }
  for (const [url, payload, status, code] of [
    ['/vac/nope', question, 404, 'VAC_NOT_FOUND'], ['/vac/docs', {}, 400, 'BAD_REQUEST'], ['/vac/docs', '{', 400, 'FST_ERR_CTP_INVALID_JSON_BODY'],
    ['/vac/docs', question, 500, 'VAC_INTERPRETER_FAILED'], ['/vac/streaming/docs', question, 500, 'VAC_INTERPRETER_FAILED'], ['/vac/no/such/path', question, 404, 'NOT_FOUND']
  ] as const) {
    const answer = await sent(url, payload)
    t.match(answer, [status, { teapot: String, code }], `${url} ${status}`)
    t.notMatch(JSON.stringify(answer), /secret/)
  }
  t.match(await sent('/vac/docs', question, { 'x-refuse': '1' }), [401, { teapot: 'mine', own: true }], 'an error of a hook arrives as it was thrown')
  for (const own of [undefined, (err: Error, _request: unknown, reply: FastifyReply) => { reply.send(err) }]) {
    const plain = Fastify()
    t.teardown(() => plain.close())
    if (own !== undefined) plain.setErrorHandler(own)
    await plain.register(vacPlugin, { vacs: failing, errorHandler: 'app' })
    for (const [url, payload, statusCode] of [['/vac/nope', question, 404], ['/vac/docs', {}, 400], ['/vac/streaming/docs', question, 500]] as const) {
      t.match((await plain.inject({ method: 'POST', url, payload })).json(), { statusCode, error: String, message: String, code: String }, `${url} with the error handler of Fastify`)
    }
  }
  t.match(await sent('/openai/v1/chat/completions', {}), [400, { error: { type: 'invalid_request_error' } }])
  await t.rejects(async () => { await Fastify().register(vacPlugin, { vacs, errorHandler: 'mine' as 'app' }) }, { code: 'VAC_PLUGIN_OPTIONS' })
})

test('it registers exactly these routes', async t => {
  const app = Fastify()
  await app.register(vacPlugin, { vacs })
  t.teardown(() => app.close())
  const routes = app.printRoutes({ commonPrefix: false })
  t.equal(routes, [
    '├── /vac (GET, HEAD)',
    '│   ├── /streaming/:vector_name (POST)',
    '│   │   └── /sse (POST)',
    '│   └── /:vector_name (POST)',
    '│       ├── /search (GET, HEAD, POST)',
    // below /sources/, which printRoutes leaves out
    '│       ├── * (GET, HEAD)',
    '│       ├── /runs (GET, HEAD)',
    '│       │   └── /:run_id (GET, HEAD, DELETE)',
    '│       │       ├── /stream (GET)',
    '│       │       └── /cancel (POST)',
    '│       └── /conversations (GET, HEAD, POST)',
    '│           └── /:conversation_id (GET, HEAD, PATCH, DELETE)',
    '│               └── /export (GET, HEAD)',
    '├── /openai/v1/models (GET, HEAD)',
    '│   └── /:model (GET, HEAD)',
    '└── /openai/v1/chat/completions (POST)',
    '    └── /:vector_name (POST)',
    ''
  ].join('\n'))
  const without = Fastify()
  await without.register(vacPlugin, { vacs, openai: false })
  t.teardown(() => without.close())
  t.notMatch(without.printRoutes(), /openai/)
})

test('it works twice under two prefixes, and next to a host that has the SSE plugin with other options', async t => {
  const app = Fastify()
  await app.register(fastifySSE, { serializer: () => 'spoiled', heartbeatInterval: 1 })
  await app.register(vacPlugin, { vacs, prefix: '/a' })
  await app.register(vacPlugin, { vacs, prefix: '/b' })
  t.teardown(() => app.close())
  for (const prefix of ['/a', '/b']) {
    t.equal((await app.inject(ask(`${prefix}/vac/streaming/docs/sse`))).body, 'data: {"chunk":"hello"}\n\ndata: {"answer":"hello","source_documents":[]}\n\ndata: [DONE]\n\n')
  }
})

test('a host-wide handler timeout does not cut a stream', async t => {
  const app = Fastify({ handlerTimeout: 50 })
  const slow = createVacs({ vacs: ['docs'], streamInterpreter: async function * () { yield 'a'; await new Promise(resolve => { setTimeout(resolve, 150) }); yield 'b' } })
  await app.register(vacPlugin, { vacs: slow })
  t.teardown(() => app.close())
  t.match((await app.inject(ask('/vac/streaming/docs'))).body, /^ab\n/)
})

test('invalid options are refused at registration', async t => {
  for (const options of [{}, { vacs: {} }, { vacs: null }]) {
    const app = Fastify()
    app.register(vacPlugin, options as never)
    await t.rejects(async () => { await app.ready() }, { code: 'VAC_PLUGIN_OPTIONS', message: /vacs(`:| must be) what createVacs\(\) returns/ })
  }
  const app = Fastify()
  t.teardown(() => app.close())
  // @ts-expect-error the option is required
  app.register(vacPlugin, {})
  await t.rejects(async () => { await app.ready() }, { code: 'VAC_PLUGIN_OPTIONS' })
})

test('the published schemas work in a route of the application, with its validator', async t => {
  const app = Fastify()
  app.post('/mine', { schema: { body: VacStreamQuery, response: { 200: Answer } } }, async ({ body }) => ({ answer: (body as VacStreamQuery).user_input, source_documents: [] }))
  app.post('/chat', { schema: { body: ChatCompletionRequest } }, async () => ({}))
  t.teardown(() => app.close())
  t.equal((await app.inject(ask('/mine'))).json().answer, 'hello')
  t.equal((await app.inject({ method: 'POST', url: '/mine', payload: { user_input: ' ' } })).statusCode, 400)
})

test('answers match the published schemas', async t => {
  const app = Fastify()
  await app.register(vacPlugin, { vacs })
  t.teardown(() => app.close())
  for (const [schema, response] of [
    [Answer, await app.inject(ask('/vac/docs'))],
    [ErrorBody, await app.inject(ask('/vac/nope'))],
    [VacList, await app.inject('/vac')],
    [ModelList, await app.inject('/openai/v1/models')]
  ] as const) t.ok(TypeCompiler.Compile(schema).Check(response.json()), String(schema.$id))
})

test('what a hook of the application sends leaves every route as it was sent', async t => {
  const app = Fastify()
  const builtBody = { statusCode: 429, wait: 5 }
  const refusal = { statusCode: 401, error: 'Unauthorized', message: 'no' }
  const replies: Record<string, (reply: FastifyReply) => unknown> = {
    refused: reply => reply.code(401).send(refusal),
    maintenance: reply => reply.send({ maintenance: true }),
    error: reply => reply.code(401).send(new Error('no')),
    thrown: reply => { reply.header('retry-after', 30); throw Object.assign(new Error('SECRET'), { statusCode: 503, code: 'APP_BUSY' }) },
    body: () => { throw builtBody }
  }
  app.addHook('onRequest', async (request, reply) => { await replies[String(request.headers['x-reply'])]?.(reply) })
  await app.register(vacPlugin, { vacs })
  t.teardown(() => app.close())
  const chat = { model: 'docs', messages: [{ role: 'user', content: 'hello' }] }
  for (const [method, url, payload] of [
    ['GET', '/vac', undefined], ['POST', '/vac/docs', { user_input: 'hello' }], ['POST', '/vac/streaming/docs', { user_input: 'hello' }],
    ['GET', '/openai/v1/models', undefined], ['POST', '/openai/v1/chat/completions', chat]
  ] as const) {
    const reply = async (name: string) => {
      const { statusCode, headers, body } = await app.inject({ method, url, ...payload !== undefined && { payload }, headers: { 'x-reply': name } })
      return { statusCode, wait: headers['retry-after'], body: JSON.parse(body) as object }
    }
    t.strictSame(await reply('refused'), { statusCode: 401, wait: undefined, body: refusal }, url)
    t.strictSame(await reply('maintenance'), { statusCode: 200, wait: undefined, body: { maintenance: true } }, url)
    t.match(await reply('error'), { statusCode: 401, body: { error: { message: 'no' } } }, url)
    const busy = await reply('thrown')
    t.match(busy, { statusCode: 503, wait: '30', body: { error: { code: /service_unavailable/i } } }, url)
    t.notMatch(JSON.stringify(busy), /SECRET/)
    t.strictSame(await reply('body'), { statusCode: 429, wait: undefined, body: builtBody }, url)
  }
})

test('a wrong method is a 405 with Allow, a slash too many gets a hint, and the 404 of the application stays', async t => {
  const app = Fastify()
  app.setNotFoundHandler((_request, reply) => { reply.code(404).send('the page of the application') })
  app.get('/vac/of-the-app', async () => 'own route')
  await app.register(vacPlugin, { vacs })
  await app.register(vacPlugin, { vacs, prefix: '/agents/:tenant' })
  t.teardown(() => app.close())
  for (const prefix of ['', '/agents/a']) {
    for (const [method, path, allow] of [
      ['GET', '/vac/docs', 'POST'], ['DELETE', '/vac/docs', 'POST'], ['POST', '/vac', 'HEAD, GET'], ['GET', '/vac/streaming/docs/sse?a=b', 'POST']
    ] as const) {
      const response = await app.inject({ method, url: prefix + path })
      t.equal(response.statusCode, 405, path)
      t.strictSame(String(response.headers.allow).split(', ').sort(), allow.split(', ').sort())
      t.match(response.json(), { error: { code: 'METHOD_NOT_ALLOWED', message: new RegExp(`not have the method ${method}; use`) } })
    }
    const slash = await app.inject(ask(`${prefix}/vac/docs/`))
    t.match(slash.json(), { error: { code: 'NOT_FOUND', message: /did you mean ".*\/vac\/docs"\?$/ } })
    t.match((await app.inject(ask(`${prefix}/vac/a/b/c`))).json(), { error: { code: 'NOT_FOUND', message: /the routes here are GET .*\/vac, POST/ } })
  }
  t.equal((await app.inject('/vac/of-the-app')).body, 'own route')
  for (const url of ['/', '/vacation', '/openai', '/v1/chat/completions', '/other/vac/docs']) t.equal((await app.inject(url)).body, 'the page of the application', url)
})

test('requests without a body are taken with any content type', async t => {
  const app = Fastify()
  await app.register(vacPlugin, { vacs })
  t.teardown(() => app.close())
  for (const url of ['/vac', '/openai/v1/models']) {
    for (const type of ['application/json', 'text/plain']) t.equal((await app.inject({ url, headers: { 'content-type': type } })).statusCode, 200, url)
  }
})

test('its scopes have names, each route has an operationId, and `openapi: false` hides the routes', async t => {
  for (const openapi of [undefined, false]) {
    const app = Fastify()
    await app.register(swagger, { openapi: { openapi: '3.1.0' } })
    await app.register(vacPlugin, { vacs, openapi })
    t.teardown(() => app.close())
    await app.ready()
    const operations = Object.values(app.swagger().paths ?? {}).flatMap(path => Object.values(path as object) as Array<{ operationId?: string }>)
    t.equal(operations.length, openapi === false ? 0 : 22)
    t.equal(new Set(operations.map(({ operationId }) => operationId ?? '')).size, operations.length)
    t.notOk(operations.some(({ operationId }) => operationId === undefined))
    t.match(app.printPlugins(), /@polyvac\/vac/)
    t.notMatch(app.printPlugins(), /anonymous|=>/)
  }
})

test('a slash at the end of a path, or two, is answered with the path that was meant', async t => {
  const app = Fastify()
  await app.register(vacPlugin, { vacs, prefix: '/api' })
  for (const [method, path, meant] of [
    ['POST', '/vac/docs/', '/vac/docs'], ['POST', '/vac//docs', '/vac/docs'], ['GET', '/vac/', '/vac'], ['POST', '/vac/streaming/docs/', '/vac/streaming/docs'],
    ['POST', '/vac/streaming//docs/sse', '/vac/streaming/docs/sse'], ['POST', '/vac//docs/search', '/vac/docs/search']
  ] as const) {
    const response = await app.inject({ method, url: `/api${path}`, ...method === 'POST' && { payload: { user_input: 'x', search_query: 'x' } } })
    t.match(response, { statusCode: 404, body: `did you mean \\"/api${meant}\\"?` }, `${path} ${response.body}`)
  }
  await app.close()
  const lenient = Fastify({ routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } })
  await lenient.register(vacPlugin, { vacs })
  for (const url of ['/vac/docs/', '//vac//docs']) t.equal((await lenient.inject(ask(url))).statusCode, 200, url)
  await lenient.close()
})

test('an app whose schemas are of another kind keeps its transform for @fastify/swagger to itself', async t => {
  const app = Fastify()
  app.setValidatorCompiler(() => () => true)
  await app.register(swagger, {
    openapi: {},
    transform: ({ schema, url }) => {
      if (schema?.body !== undefined && !('own' in (schema.body as object))) throw new Error('not a schema of the app')
      return { schema: { summary: 'transformed' }, url }
    }
  })
  app.post('/own', { schema: { body: { own: true } } }, async () => 'x')
  await app.register(vacPlugin, { vacs })
  await app.ready()
  const { paths } = app.swagger() as { paths: Record<string, Record<string, { summary?: string, operationId?: string }>> }
  t.match(paths, { '/own': { post: { summary: 'transformed' } }, '/vac/{vector_name}': { post: { operationId: 'askVac' } } })
  await app.close()
})

test('the parsers of an app, which return bytes, a raw text or nothing, apply only to the routes of the app', async t => {
  const parsers: Array<[string, 'buffer' | 'string', (body: string | Buffer) => unknown]> = [
    ['bytes', 'buffer', body => body],
    ['a text', 'string', body => body],
    ['the raw body beside the parsed one', 'buffer', body => ({ raw: body, parsed: JSON.parse(String(body)) })]
  ]
  for (const [name, parseAs, parse] of [...parsers, ['none'] as const]) {
    const app = Fastify()
    app.removeAllContentTypeParsers()
    if (parseAs !== undefined) app.addContentTypeParser('application/json', { parseAs }, (_request, body: string | Buffer, done) => { done(null, parse?.(body)) })
    app.post('/webhook', async request => ({ type: Buffer.isBuffer(request.body) ? 'bytes' : typeof request.body }))
    await app.register(vacPlugin, { vacs: createVacs({ vacs: ['bot'], streamInterpreter: q => q }) })
    const post = async (url: string, payload: object) => await app.inject({ method: 'POST', url, payload })
    for (const [url, payload] of [
      ['/vac/bot', { user_input: 'hi' }], ['/vac/streaming/bot', { user_input: 'hi' }],
      ['/openai/v1/chat/completions', { model: 'bot', messages: [{ role: 'user', content: 'hi' }] }]
    ] as const) t.match(await post(url, payload), { statusCode: 200, body: /hi/ }, `${name} ${url}`)
    const own = await post('/webhook', { a: 1 })
    if (parse === undefined) t.equal(own.statusCode, 415)
    else t.strictSame(own.json(), { type: name === 'bytes' ? 'bytes' : name === 'a text' ? 'string' : 'object' })
    await app.close()
  }
})
