import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import swagger from '@fastify/swagger'
import { Type, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import rawBody from 'fastify-raw-body'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { resolve } from 'node:path'
import { test, type Test } from 'tap'
import { z } from 'zod'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { until } from './fixtures/until.js'
import { forms, VAC_PROTOCOLS } from './probes/index.mjs'

type Headers = Record<string, string>
interface Response { readonly status: number, readonly headers: Headers, readonly bytes: Buffer, readonly text: string }
type Send = (path: string, body?: unknown, headers?: Headers, method?: string) => Promise<Response>

const ORIGIN = 'http://localhost:1'
const SERVER = resolve('packages/mcp-gateway/test/fixtures/bad-server.mjs')
const LENIENT = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false }

/** The settings and plugins of an application that has never heard of the plugins under test. */
async function makeApp (t: Test, options: object = {}): Promise<FastifyInstance> {
  const app = Fastify({
    routerOptions: LENIENT,
    rewriteUrl: ({ url = '/' }: { url?: string }) => url.replace(/^\/old\//, '/new/'),
    genReqId: () => 7,
    exposeHeadRoutes: false,
    trustProxy: true,
    bodyLimit: 10_000,
    forceCloseConnections: true,
    ...options
  } as object) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(cors, { origin: true, exposedHeaders: ['x-own'] })
  await app.register(helmet)
  await app.register(compress)
  await app.register(jwt, { secret: 'a secret of the app' })
  app.addHook('preParsing', async (_request, _reply, payload) => payload)
  app.addHook('onSend', async (_request, reply, payload) => { reply.header('x-own', 'mine'); return payload })
  app.setErrorHandler((err: Error & { validation?: unknown[] }, _request, reply) => {
    reply.code(418).send({ teapot: err.message, problems: err.validation?.length })
  })
  app.setNotFoundHandler(async (request, reply) => await reply.code(404).send({ nothing: request.url }))
  app.get('/fails', async () => { throw new Error('own') })
  app.get('/large', async () => ({ text: 'x'.repeat(5_000) }))
  return app
}

/** Both plugins of a kind: all of them in a scope with a hook of the app, and again in another scope. */
async function registerTwice (app: FastifyInstance): Promise<void> {
  for (const name of ['new', 'second']) {
    await app.register(async scope => {
      if (name === 'new') scope.addHook('onRequest', async request => { await request.jwtVerify() })
      const tasks = sqliteTaskStore({ path: ':memory:' })
      await tasks.open()
      scope.addHook('onClose', () => tasks.close())
      const vacs = createVacs({ vacs: ['bot'], async * streamInterpreter (q) { yield `${name} said `; yield q } })
      await scope.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS })
      await scope.register(a2aPlugin, { vacs, tasks })
      await scope.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
      await scope.register(mcpGatewayPlugin, { servers: { files: { command: process.execPath, args: [SERVER] } } })
    }, { prefix: `/${name}` })
  }
}

/** Sends requests over a socket with the credentials of the app, and checks that its hooks reach each response. */
async function listen (t: Test, app: FastifyInstance, isHttp2: boolean): Promise<Send> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const session = isHttp2 ? connect(`http://127.0.0.1:${port}`) : undefined
  t.teardown(() => { session?.destroy() })
  const authorization = `Bearer ${app.jwt.sign({ sub: 'ada' })}`
  return async (path, body, headers = {}, method = body === undefined ? 'GET' : 'POST') => {
    const all = { authorization, origin: ORIGIN, ...body !== undefined && { 'content-type': 'application/json' }, ...headers }
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    const response = await new Promise<Omit<Response, 'text'>>((resolve, reject) => {
      if (session !== undefined) {
        const stream = session.request({ ':method': method, ':path': path, ...all }, { endStream: payload === undefined })
        stream.on('error', reject).on('response', head => {
          buffer(stream).then(bytes => { resolve({ status: head[':status']!, headers: head as Headers, bytes }) }, reject)
        })
        if (payload !== undefined) stream.end(payload)
        return
      }
      httpRequest({ port, host: '127.0.0.1', method, path, headers: all }, res => {
        buffer(res).then(bytes => { resolve({ status: res.statusCode!, headers: res.headers as Headers, bytes }) }, reject)
      }).on('error', reject).end(payload)
    })
    // @fastify/sse writes to the response itself, so onSend hooks do not run for its streams
    const isWritten = response.headers['content-type'] === 'text/event-stream'
    t.match(response.headers, { 'access-control-allow-origin': ORIGIN, 'x-content-type-options': 'nosniff', ...!isWritten && { 'x-own': 'mine' } }, `${path}: headers of the app`)
    return { ...response, text: response.bytes.toString() }
  }
}

const call = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const question = { user_input: 'hi' }
const echo = { message: 'hi' }
const both = 'application/json, text/event-stream'
/** Other requests: path, body, what the response has, headers. */
const REQUESTS: Array<[string, object | undefined, RegExp, Headers?]> = [
  ['/vac', undefined, /bot/],
  ['//VAC/bot/', question, /said hi/],
  ['/.well-known/agent-card.json', undefined, /bot/],
  ['/.well-known/agent.json', undefined, /bot/],
  ['/.well-known/jwks.json', undefined, /keys/],
  ['/mcp/servers', undefined, /files/],
  ['/mcp/tools', undefined, /echo/],
  ['/mcp/call', { server: 'files', tool: 'echo', arguments: echo }, /"text":"hi"/],
  ['/mcp/call', { server: 'files', tool: 'echo', arguments: echo }, /"text":"hi"/, { accept: 'text/event-stream' }],
  ['/mcp/tools/files/echo', echo, /"text":"hi"/],
  ['/mcp/openapi/files.json', undefined, /echo/],
  ['/mcp/sign-in/client/files', undefined, /redirect_uris/]
]

async function checkProtocols (t: Test, send: Send, prefix: string, name: string): Promise<void> {
  await until(async () => (await send(`${prefix}/mcp/tools`)).text.includes('echo'), 'the MCP server has listed its tools')
  for (const [what, ask, probe] of forms()) {
    // as LENIENT has it, with other slashes too
    for (const [before, after] of [['', ''], ['/', '/']]) {
      const { path, body, headers } = ask('hi', 'bot')
      const { status, text } = await send(`${prefix}${before}${path}${after}`, body, headers)
      t.equal(status, 200, `${prefix}: ${what}: ${text.slice(0, 200)}`)
      t.equal(probe.textOf(text), `${name} said hi`, what)
    }
  }
  for (const [path, body, expected, headers] of REQUESTS) {
    const { status, text } = await send(prefix + path, body, headers)
    t.equal(status, 200, `${prefix}${path}: ${text.slice(0, 200)}`)
    t.match(text, expected)
  }
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  const begun = await send(`${prefix}/mcp`, call('initialize', initialize), { accept: both })
  const session = { accept: both, 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': begun.headers['mcp-session-id']! }
  t.equal((await send(`${prefix}/mcp`, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status, 202)
  const called = await send(`${prefix}/mcp`, call('tools/call', { name: 'vac_query_bot', arguments: { query: 'hi' } }), session)
  t.match(called.text, new RegExp(`${name} said hi`))
  t.equal((await send(`${prefix}/mcp`, undefined, session, 'DELETE')).status, 204)
  for (const [path, body, expected] of [
    ['/vac/bot', {}, /body\/user_input: is missing/], ['/vac/bot', '{', /INVALID_JSON/], ['/openai/v1/chat/completions', {}, /invalid_request_error/],
    ['/a2a', '{', /-32700/], ['/mcp', '{', /-32700/], ['/mcp/call', {}, /BAD_REQUEST/], ['/mcp/sign-in/callback/files', undefined, /<html/]
  ] as const) t.match((await send(prefix + path, body)).text, expected, `${path}: errors have the format of the protocol`)
}

async function checkOwn (t: Test, send: Send): Promise<void> {
  t.match(await send('/fails'), { status: 418, text: '{"teapot":"own"}' })
  t.match(await send('/nothing'), { status: 404, text: '{"nothing":"/nothing"}' })
  t.match(await send('/mcp/nothing', {}), { status: 404, text: '{"nothing":"/mcp/nothing"}' })
  const large = await send('/large', undefined, { 'accept-encoding': 'gzip' })
  t.match(large, { status: 200, headers: { 'content-encoding': 'gzip' } })
  const refused = await send('/new/vac/bot', question, { authorization: '' })
  t.match(refused, { status: 401, text: /FST_JWT/ }, 'the hook of the app refuses')
}

for (const isHttp2 of [false, true]) {
  test(`all protocols answer in an app with zod, and change nothing of it: ${isHttp2 ? 'HTTP/2' : 'HTTP/1.1'}`, async t => {
    const app = await makeApp(t, isHttp2 ? { http2: true } : {})
    app.setValidatorCompiler(validatorCompiler)
    app.setSerializerCompiler(serializerCompiler)
    await app.register(swagger, { openapi: { openapi: '3.1.0' }, transform: jsonSchemaTransform } as object)
    await app.register(rawBody, { encoding: false })
    const schema = { body: z.object({ a: z.number() }), response: { 200: z.object({ b: z.number(), bytes: z.number() }) } }
    app.post('/own', { schema }, async ({ body, rawBody }) => ({ b: (body as { a: number }).a + 1, bytes: rawBody!.length, c: 1 }))
    await registerTwice(app)
    const send = await listen(t, app, isHttp2)
    await checkProtocols(t, send, '/new', 'new')
    await checkProtocols(t, send, '/second', 'second')
    t.match(await send('/old/vac/bot', question), { status: 200, text: /new said hi/ })
    await checkOwn(t, send)
    t.match(await send('/own', { a: 1 }), { status: 200, text: '{"b":2,"bytes":7}' })
    t.match(await send('/own', { a: 'x' }), { status: 418, text: /"problems":1/ })
    t.match(await send('/own', '{'), { status: 418, text: /teapot/ })
    const { paths } = app.swagger() as { paths: Record<string, any> }
    t.strictSame(paths['/own'].post.requestBody.content['application/json'].schema.required, ['a'])
    t.ok('/new/vac/{vector_name}' in paths && '/second/mcp/call' in paths)
  })
}

test('an app with TypeBox and a JSON parser that keeps bytes keeps its parser and its transform', async t => {
  const app = await makeApp(t)
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  await app.register(swagger, {
    openapi: { openapi: '3.1.0' },
    transform: ({ schema, url }) => {
      const { own } = schema as { own?: boolean }
      if (own !== true) throw new Error('not a schema of the app')
      return { schema: { ...schema, tags: ['own'] }, url }
    }
  })
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => { done(null, body) })
  const schema = { own: true, querystring: Type.Object({ n: Type.Optional(Type.Number()) }) }
  app.post('/webhook', { schema }, async ({ body }) => ({ bytes: (body as Buffer).length }))
  await registerTwice(app)
  const send = await listen(t, app, false)
  await checkProtocols(t, send, '/new', 'new')
  t.match(await send('/webhook', { a: 1 }), { status: 200, text: '{"bytes":7}' })
  t.match(await send('/webhook?n=x', { a: 1 }), { status: 418 })
  const { paths } = app.swagger() as { paths: Record<string, any> }
  t.strictSame(paths['/webhook'].post.tags, ['own'])
  t.strictSame(paths['/new/vac/{vector_name}'].post.tags, ['vac'])
})

test('the document is made where the app sets a compiler after the plugins, and one without a compiler keeps its transform', async t => {
  for (const isZod of [true, false]) {
    const app = Fastify()
    const transform = isZod ? jsonSchemaTransform : ({ schema, url }: { schema: object, url: string }) => ({ schema: { ...schema, tags: ['own'] }, url })
    await app.register(swagger, { openapi: { openapi: '3.1.0' }, transform } as object)
    await app.register(vacPlugin, { vacs: createVacs({ vacs: ['bot'], streamInterpreter: q => q }) })
    if (isZod) app.setValidatorCompiler(validatorCompiler)
    await app.ready()
    const { paths } = app.swagger() as { paths: Record<string, any> }
    t.strictSame(paths['/vac/{vector_name}'].post.tags, [isZod ? 'vac' : 'own'])
    await app.close()
  }
})

test('a stream keeps the cache-control of the app', async t => {
  const app = Fastify()
  app.addHook('onRequest', async (_request, reply) => { reply.header('cache-control', 'no-store') })
  await app.register(vacPlugin, { vacs: createVacs({ vacs: ['bot'], streamInterpreter: q => q }) })
  for (const url of ['/vac/streaming/bot', '/vac/streaming/bot/sse']) {
    t.equal((await app.inject({ method: 'POST', url, payload: question })).headers['cache-control'], 'no-store', url)
  }
})
