import { test } from 'tap'
import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyInstance, type FastifyReply, type RouteOptions } from 'fastify'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'

// Every route of every plugin, in an application that refuses requests: what the application sends must leave as sent.

const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async () => 'yes' })

const PLUGINS: Readonly<Record<string, (app: FastifyInstance) => Promise<unknown>>> = {
  async vac (app) {
    const tasks = sqliteTaskStore({ path: ':memory:' })
    await tasks.open()
    app.addHook('onClose', async () => { await tasks.close() })
    await app.register(vacPlugin, { vacs, runs: createRuns({ vacs, tasks }) })
  },
  async a2a (app) {
    const tasks = sqliteTaskStore({ path: ':memory:' })
    await tasks.open()
    app.addHook('onClose', async () => { await tasks.close() })
    await app.register(a2aPlugin, { vacs, tasks })
  },
  'mcp-server': async app => await app.register(mcpServerPlugin, { sources: [vacTools(vacs)] }),
  'mcp-gateway': async app => await app.register(mcpGatewayPlugin, { servers: [] })
}

/** What an application registers before a plugin, and the response that every route must then give. */
interface Refuser {
  readonly register: (app: FastifyInstance) => unknown
  readonly status: number
  readonly headers?: Readonly<Record<string, string | RegExp>>
  /** The whole body. */
  readonly body?: object | string
  /** A text in the body, which has the format of the protocol. */
  readonly text?: string
}

const refusal = { statusCode: 401, error: 'Unauthorized', message: 'no' }
/** A key for each request: its window has just begun, and `retry-after` is the whole window on a slow machine, too. */
const noRequests = { max: 0, timeWindow: 60_000, keyGenerator: ({ id }: { id: string }) => id }
const limited = { statusCode: 429, error: 'Slow down', waitSeconds: 60 }
// the health check runs when the plugin is registered, the other limits with a timer
const pressure = { healthCheck: async () => false, healthCheckInterval: 60_000 }
const busy = Object.assign(new Error('SECRET'), { statusCode: 503, headers: { 'retry-after': '30' } })

const REFUSERS: Readonly<Record<string, Refuser>> = {
  'a hook that sends a body': { ...hook(reply => reply.code(401).send(refusal)), status: 401, body: refusal },
  'a hook that sends a text': { ...hook(reply => reply.code(403).type('text/plain').send('no')), status: 403, body: 'no', headers: { 'content-type': 'text/plain' } },
  'a hook that sends a maintenance page': { ...hook(reply => reply.send({ maintenance: true })), status: 200, body: { maintenance: true } },
  'a hook that sends an error with a status': { ...hook(reply => reply.code(401).send(new Error('no entry'))), status: 401, text: 'no entry' },
  'a hook that throws a 403': { ...hook(() => { throw Object.assign(new Error('no entry'), { statusCode: 403, code: 'APP_NO_ENTRY' }) }), status: 403, text: 'no entry' },
  'a hook that throws a 503': { ...hook(() => { throw busy }), status: 503, headers: { 'retry-after': '30' }, text: 'try again later' },
  'bearer-auth': {
    register: app => app.register(bearerAuth, { keys: new Set(['key']) }),
    status: 401,
    body: { error: 'missing authorization header' }
  },
  'basic-auth': {
    async register (app) {
      await app.register(basicAuth, { authenticate: { realm: 'app' }, validate: async () => {} })
      app.addHook('onRequest', app.basicAuth)
    },
    status: 401,
    text: 'Missing or bad formatted authorization header',
    headers: { 'www-authenticate': /^Basic realm="app"/ }
  },
  jwt: {
    async register (app) {
      await app.register(jwt, { secret: 'a secret of the test' })
      app.addHook('onRequest', async request => { await request.jwtVerify() })
    },
    status: 401,
    text: 'No Authorization was found in request.headers'
  },
  'rate-limit with errorResponseBuilder': {
    register: app => app.register(rateLimit, { ...noRequests, errorResponseBuilder: () => limited }),
    status: 429,
    body: limited,
    headers: { 'retry-after': '60' }
  },
  'rate-limit': {
    register: app => app.register(rateLimit, noRequests),
    status: 429,
    text: 'Rate limit exceeded',
    headers: { 'retry-after': '60' }
  },
  'under-pressure': {
    register: app => app.register(underPressure, { ...pressure, retryAfter: 50 }),
    status: 503,
    text: 'try again later',
    headers: { 'retry-after': '50' }
  },
  'under-pressure with pressureHandler': {
    register: app => app.register(underPressure, { ...pressure, pressureHandler: (_request, reply) => { reply.code(503).send({ busy: true }) } }),
    status: 503,
    body: { busy: true }
  }
}

/** Packages that add headers to every response: nothing is refused, so any status below 500 is right. */
const HEADERS: Readonly<Record<string, { register: (app: FastifyInstance) => unknown, headers: Record<string, string> }>> = {
  helmet: { register: app => app.register(helmet), headers: { 'x-content-type-options': 'nosniff' } },
  cors: { register: app => app.register(cors, { origin: 'https://app.example' }), headers: { 'access-control-allow-origin': 'https://app.example' } }
}

for (const [plugin, register] of Object.entries(PLUGINS)) {
  for (const [name, { register: refuse, status, headers = {}, body, text = '' }] of Object.entries(REFUSERS)) {
    test(`${name} answers on every route of ${plugin}`, async t => {
      for (const { app, method, url } of await routesOf(t, refuse, register)) {
        const response = await app.inject({ method, url, ...method === 'POST' && { payload: {} } })
        t.equal(response.statusCode, status, `${method} ${url}: ${response.body}`)
        t.match(response.headers, headers, `${method} ${url}`)
        if (method === 'HEAD') continue
        if (typeof body === 'object') t.strictSame(response.json(), body, `${method} ${url}`)
        if (typeof body === 'string') t.equal(response.body, body, `${method} ${url}`)
        t.ok(response.body.includes(text), `${method} ${url}: ${response.body}`)
        t.notMatch(response.body, /SECRET/, `${method} ${url}`)
      }
    })
  }
  for (const [name, { register: add, headers }] of Object.entries(HEADERS)) {
    test(`${name} adds its headers on every route of ${plugin}, and none answers 500`, async t => {
      for (const { app, method, url } of await routesOf(t, add, register)) {
        const response = await app.inject({ method, url, headers: { origin: 'https://app.example' }, ...method === 'POST' && { payload: {} } })
        t.match(response.headers, headers, `${method} ${url}`)
        t.ok(response.statusCode < 500, `${method} ${url}: ${response.body}`)
      }
    })
  }
}

for (const [plugin, register] of Object.entries(PLUGINS)) {
  test(`a body of another type is refused on every POST route of ${plugin} with the name of its type`, async t => {
    const long = `text/${'x'.repeat(1_000)}`
    let routes = 0
    for (const { app, method, url } of await routesOf(t, () => {}, register)) {
      if (method !== 'POST' || (await app.inject({ method, url })).statusCode === 405) continue
      // the form of a page: it is refused by its origin, before its body is read
      if (url === '/mcp/sign-in') continue
      routes++
      for (const type of ['text/csv; charset=utf-8', 'text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'nonsense', long, undefined]) {
        const { body, statusCode } = await app.inject({ method, url, payload: 'x', ...type !== undefined && { headers: { 'content-type': type } } })
        const named = type === undefined ? 'no Content-Type' : `the Content-Type \\"${type.split(';', 1)[0]!.slice(0, 200)}`
        t.ok(body.includes(`the body has ${named}`), `${url}: ${body}`)
        t.match(body, /send it as application\/json/, url)
        t.notMatch(body, /boundary|charset/, url)
        t.ok(body.length < 700, `${url}: ${body}`)
        // the dialects of A2A have their own statuses
        if (plugin !== 'a2a') t.equal(statusCode, 415, url)
      }
    }
    t.ok(routes > 0)
  })
}

interface Route { readonly app: FastifyInstance, readonly method: 'GET' | 'POST' | 'HEAD', readonly url: string }

/** The routes of a plugin in an application that registers `before`, with names in place of parameters. */
async function routesOf (t: { teardown: (close: () => unknown) => void }, before: (app: FastifyInstance) => unknown,
  register: (app: FastifyInstance) => Promise<unknown>): Promise<Route[]> {
  const app = Fastify()
  t.teardown(() => app.close())
  await before(app)
  const routes: RouteOptions[] = []
  app.addHook('onRoute', route => { routes.push(route) })
  await register(app)
  await app.ready()
  if (routes.length < 2) throw new Error('the plugin has no routes')
  return routes.flatMap(({ method, url }) => [method].flat().map(verb => {
    return { app, method: verb as Route['method'], url: url.replaceAll(/:+(\w+)/g, (part, param) => part.startsWith('::') ? `:${param}` : 'docs') }
  }))
}

function hook (answer: (reply: FastifyReply) => unknown): Pick<Refuser, 'register'> {
  return { register: app => { app.addHook('onRequest', async (_request, reply) => { await answer(reply) }) } }
}
