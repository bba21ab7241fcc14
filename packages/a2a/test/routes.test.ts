import { test } from 'tap'
import swagger from '@fastify/swagger'
import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { methodNames, serve, type Served, type ServeOptions } from './fixtures/app.js'
import { message, result, type Json } from './fixtures/public.js'

const V1 = { 'a2a-version': '1.0' }

interface Routed extends Served { readonly routes: ReadonlyArray<{ readonly method: HTTPMethods, readonly url: string }> }

/** The routes that take requests: those that refuse a verb have a hook of their route. */
async function routed (t: Parameters<typeof serve>[0], { before, ...options }: ServeOptions = {}): Promise<Routed> {
  const routes: Array<{ method: HTTPMethods, url: string }> = []
  const collect = ({ method, url, schema, preParsing }: RouteOptions): void => {
    const isRefusal = schema !== undefined && 'hide' in schema && preParsing !== undefined
    if (!isRefusal) for (const name of [method].flat()) routes.push({ method: name as HTTPMethods, url: url.replaceAll('::', ':').replaceAll(/:(?:tenant|vac|taskId|id)\b/g, 'docs') })
  }
  const served = await serve(t, steered, {
    ...options,
    async before (app, vacs) {
      await before?.(app, vacs)
      app.addHook('onRoute', collect)
    }
  })
  await served.app.ready()
  return Object.assign(served, { routes })
}

test('another verb on a path gets 405 with Allow, in the format of the protocol', async t => {
  const { app } = await serve(t, steered)
  const rpcError = { jsonrpc: '2.0', id: null, error: { code: -32600, message: /^this path takes POST, not / } }
  const httpError = { error: { code: 405, status: 'UNIMPLEMENTED', message: /^this path takes .*, not /, details: [{ metadata: { code: 'A2A_METHOD_NOT_ALLOWED' } }] } }
  for (const [url, allow, body, methods] of [
    ...methodNames.map(name => [`/a2a/${name}`, 'POST', rpcError, ['GET', 'PUT', 'PATCH', 'DELETE']] as const),
    ['/a2a', 'POST', rpcError, ['GET', 'PUT', 'DELETE']],
    ['/a2a/vacs/docs', 'POST', rpcError, ['GET', 'PUT']],
    ['/a2a/v1/message:send', 'POST', httpError, ['GET', 'PUT']],
    ['/a2a/v1/tasks', 'GET, HEAD', httpError, ['POST', 'DELETE']],
    ['/a2a/v1/docs/tasks/7', 'GET, HEAD, POST', httpError, ['PUT', 'PATCH', 'DELETE']],
    ['/a2a/v1/tasks/7/pushNotificationConfigs/8', 'DELETE, GET, HEAD', httpError, ['POST', 'PUT']],
    ['/.well-known/agent-card.json', 'GET, HEAD', httpError, ['POST', 'PUT']],
    ['/.well-known/agent.json', 'GET, HEAD', { error: { code: 'A2A_METHOD_NOT_ALLOWED', message: 'this path takes GET, HEAD, not POST' } }, ['POST']]
  ] as const) {
    for (const method of methods) {
      const response = await app.inject({ method, url, headers: { ...V1, 'content-type': 'text/plain' }, payload: method === 'GET' ? undefined as never : 'any' })
      t.equal(response.statusCode, 405, `${method} ${url}`)
      t.equal(response.headers.allow?.toString().split(', ').filter(name => name !== 'HEAD').join(), allow.replace(' HEAD,', '').replace(', HEAD', '').replaceAll(' ', ''), `${method} ${url}`)
      t.match(response.json(), body, `${method} ${url}`)
    }
  }
  t.equal((await app.inject({ method: 'OPTIONS', url: '/a2a' })).statusCode, 404, 'OPTIONS is left to the application')
  t.equal((await app.inject('/')).statusCode, 404, 'and so is the root')
})

test('a slash at the end of a path makes no difference', async t => {
  for (const ignoreTrailingSlash of [false, true]) {
    const served = await serve(t, steered, { server: { routerOptions: { ignoreTrailingSlash } } })
    const post = async (url: string, payload: object): Promise<Json> => (await served.app.inject({ method: 'POST', url, headers: V1, payload })).json()
    t.match(await post('/a2a/tasks/send/', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x' } } }), { result: { state: 'completed' } })
    t.match(await post('/a2a/', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('echo') } }), { result: { task: {} } })
    t.match(await post('/a2a/v1/message:send/', { message: message('echo') }), { task: {} })
    t.match((await served.app.inject({ url: '/a2a/v1/tasks/', headers: V1 })).json(), { totalSize: 3 })
    t.equal((await served.app.inject({ url: '/a2a/tasks/send/' })).statusCode, 405)
  }
})

test('a GET or DELETE without a body is taken with any content type', async t => {
  const served = await serve(t, steered, { plugin: { push: { allow: ['127.0.0.1'] } } })
  const { task: { id } } = await result(served, 'SendMessage', { message: message('echo') })
  for (const type of ['application/json', 'application/a2a+json', 'text/plain', 'application/x-www-form-urlencoded']) {
    const headers = { ...V1, 'content-type': type }
    for (const url of ['/.well-known/agent.json', '/.well-known/agent-card.json', '/.well-known/jwks.json', '/a2a/v1/tasks', `/a2a/v1/tasks/${id}`]) {
      t.equal((await served.app.inject({ url, headers })).statusCode, 200, `GET ${url} with ${type}`)
    }
    await result(served, 'CreateTaskPushNotificationConfig', { taskId: id, id: 'hook', url: 'http://127.0.0.1:1/' })
    for (const length of [undefined, '0']) {
      const response = await served.app.inject({ method: 'DELETE', url: `/a2a/v1/tasks/${id}/pushNotificationConfigs/hook`, headers: { ...headers, ...length === undefined ? {} : { 'content-length': length } } })
      t.equal(response.statusCode, 200, `DELETE with ${type}`)
    }
    t.match(await result(served, 'ListTaskPushNotificationConfigs', { taskId: id }), { configs: [] })
  }
})

test('what a hook of the application sends leaves every route unchanged', async t => {
  const refusal = { statusCode: 401, error: 'Unauthorized', message: 'no' }
  for (const [name, hook, status, body] of [
    ['a 401', async (_request: unknown, reply: Json) => reply.code(401).send(refusal), 401, refusal],
    ['a maintenance page', async (_request: unknown, reply: Json) => reply.send({ maintenance: true }), 200, { maintenance: true }],
    ['a body that is thrown', async () => { throw refusal }, 401, refusal]
  ] as const) {
    const { app, routes } = await routed(t, { before (app: FastifyInstance) { app.addHook('onRequest', hook as never) } })
    t.ok(routes.length > 40)
    for (const { method, url } of routes) {
      const response = await app.inject({ method, url, headers: V1, payload: method === 'POST' ? {} : undefined as never })
      t.equal(response.statusCode, status, `${name}: ${method} ${url}`)
      if (method !== 'HEAD') t.strictSame(response.json(), body, `${name}: ${method} ${url}`)
    }
  }
})

test('an overloaded application refuses every route with 503 and a time to try again', async t => {
  const hook = async (): Promise<void> => { throw Object.assign(new Error('SECRET'), { statusCode: 503, headers: { 'retry-after': '30' } }) }
  const { app, routes } = await routed(t, { before (app) { app.addHook('onRequest', hook) } })
  for (const { method, url } of routes) {
    const response = await app.inject({ method, url, headers: V1, payload: method === 'POST' ? {} : undefined as never })
    t.match([response.statusCode, response.headers['retry-after']], [503, '30'], `${method} ${url}`)
    t.notMatch(response.payload, /SECRET/)
  }
})

test('each route in the OpenAPI document has its own operationId, and openapi: false hides them all', async t => {
  const documentOf = async (plugin: object): Promise<Json> => {
    const { app } = await serve(t, steered, { plugin, async before (app) { await app.register(swagger, { openapi: {} }) } })
    await app.ready()
    return (app as Json).swagger()
  }
  const { paths } = await documentOf({})
  const operations = Object.values<Json>(paths).flatMap(path => Object.values<Json>(path))
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(ids.length, methodNames.length + 2 + 10 + 5)
  t.ok(ids.every(id => /^a2a[A-Z]\w+$/.test(id)), ids.join())
  t.equal(new Set(ids).size, ids.length)
  t.strictSame(Object.keys((await documentOf({ openapi: false })).paths), [])
})

test('app.printPlugins() names the plugin and its scopes', async t => {
  const { app } = await serve(t, steered)
  await app.ready()
  const names = app.printPlugins().split('\n').flatMap(line => /[├└]─[─┬] (.*?) [\d-]+ ms/.exec(line)?.[1] ?? [])
  for (const name of ['@polyvac/a2a', 'a2aCards', 'a2aDescription', 'a2aDescriptionCards', 'a2aHttpJson', 'a2aJsonRpc', 'a2aPublic']) t.ok(names.includes(name), name)
  t.notOk(names.some(name => /=>|function/.test(name)), names.join())
})
