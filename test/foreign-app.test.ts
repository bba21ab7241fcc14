import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import { test } from 'tap'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'

const LENIENT = { routerOptions: { ignoreTrailingSlash: true }, rewriteUrl: ({ url = '/' }) => url.replace(/^\/old\//, '/new/') } as const

for (const http2 of [false, true]) {
  test(`all protocols answer in an app of another kind, and change nothing of it: ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`, async t => {
    const app = Fastify({ ...LENIENT, ...http2 && { http2: true } } as object) as unknown as FastifyInstance
    t.teardown(() => app.close())
    const tasks = sqliteTaskStore({ path: ':memory:' })
    await tasks.open()
    app.addHook('onClose', () => tasks.close())
    for (const plugin of [cors, helmet, compress]) await app.register(plugin as never)
    await app.register(jwt, { secret: 'a secret of the app' })
    await app.register(swagger, {
      openapi: {},
      transform: ({ schema, url }) => {
        if (schema?.body !== undefined && !('own' in (schema.body as object))) throw new Error('not a schema of the app')
        return { schema: {}, url }
      }
    })
    app.setValidatorCompiler(() => () => true)
    app.setErrorHandler((err: Error, _request, reply) => { reply.code(418).send({ teapot: err.message }) })
    app.removeContentTypeParser('application/json')
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => { done(null, body) })
    app.post('/webhook', { schema: { body: { own: true } } }, async ({ body }) => ({ bytes: (body as Buffer).length }))
    app.get('/fails', async () => { throw new Error('own') })
    const vacsOf = (name: string) => createVacs({ vacs: ['bot'], streamInterpreter: q => `${name} said ${q}` })
    await app.register(async scope => {
      scope.addHook('onRequest', async request => { await request.jwtVerify() })
      const vacs = vacsOf('one')
      await scope.register(vacPlugin, { vacs })
      await scope.register(a2aPlugin, { vacs, tasks })
      await scope.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
      await scope.register(mcpGatewayPlugin, { servers: [] })
    }, { prefix: '/new' })
    await app.register(vacPlugin, { vacs: vacsOf('two'), prefix: '/second' })
    await app.ready()

    const authorization = `Bearer ${app.jwt.sign({ sub: 'ada' })}`
    const post = async (url: string, payload: object, more = {}) => await app.inject({
      method: 'POST', url, payload, headers: { authorization, accept: 'application/json, text/event-stream', ...more }
    })
    const message = { role: 'user', messageId: '1', parts: [{ kind: 'text', text: 'hi' }] }
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
    for (const prefix of ['/new', '/old']) {
      for (const [path, payload] of [
        ['/vac/bot', { user_input: 'hi' }], ['/vac/bot/', { user_input: 'hi' }], ['/vac/streaming/bot/sse', { user_input: 'hi' }],
        ['/openai/v1/chat/completions', { model: 'bot', messages: [{ role: 'user', content: 'hi' }] }],
        ['/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }]
      ] as const) t.match(await post(prefix + path, payload), { statusCode: 200, body: /one said hi/ }, prefix + path)
      t.match(await post(`${prefix}/mcp`, { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }), { statusCode: 200, body: /serverInfo/ })
      t.equal((await app.inject({ url: `${prefix}/mcp/tools`, headers: { authorization } })).statusCode, 200)
    }
    t.match(await post('/second/vac/bot', { user_input: 'hi' }), { statusCode: 200, body: /two said hi/ })
    t.match(await app.inject({ method: 'POST', url: '/new/vac/bot', payload: { user_input: 'hi' } }), { statusCode: 401, body: /UNAUTH|FST_JWT/ })
    t.strictSame((await post('/webhook', { a: 1 })).json(), { bytes: 7 })
    t.match(await app.inject('/fails'), { statusCode: 418, body: '{"teapot":"own"}' })
    const { paths } = app.swagger() as { paths: object }
    t.ok('/webhook' in paths && '/new/vac/{vector_name}' in paths)
  })
}
