import { test } from 'tap'
import swagger from '@fastify/swagger'
import { createVacs } from '@polyvac/core'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import Fastify, { type FastifyInstance } from 'fastify'

// What the routes of a plugin are to the application around it: documented, hidden, and refused by method.

const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async () => 'yes' })
const protectedResource = { authorizationServers: ['https://auth.example'] }

const PLUGINS: Readonly<Record<string, (app: FastifyInstance, options: { openapi?: boolean }) => unknown>> = {
  'mcp-server': (app, options) => app.register(mcpServerPlugin, { sources: [vacTools(vacs)], protectedResource, ...options }),
  'mcp-gateway': (app, options) => app.register(mcpGatewayPlugin, { servers: [], ...options })
}

async function appOf (t: { teardown: (close: () => unknown) => void }, register: (app: FastifyInstance) => unknown): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { info: { title: 'app', version: '1' } } })
  await register(app)
  await app.ready()
  return app
}

type Operation = { operationId?: string, summary?: string, tags?: string[] }

const operationsOf = (app: FastifyInstance): Array<[path: string, method: string, operation: Operation]> =>
  Object.entries(app.swagger().paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]): [string, string, Operation] => [path, method, operation]))

for (const [name, register] of Object.entries(PLUGINS)) {
  test(`each route of ${name} has an operationId, a summary and the tag of its plugin`, async t => {
    const app = await appOf(t, app => register(app, {}))
    const operations = operationsOf(app)
    t.ok(operations.length > 2)
    t.equal(new Set(operations.map(([, , { operationId }]) => operationId)).size, operations.length, 'each id is unique')
    for (const [path, method, { operationId, summary, tags }] of operations) {
      t.match({ operationId, summary, tags }, { operationId: /^[a-z]\w+$/, summary: String, tags: [name] }, `${method} ${path}`)
    }
  })

  test(`openapi: false keeps the routes of ${name} out of the document of the application`, async t => {
    const app = await appOf(t, app => register(app, { openapi: false }))
    t.strictSame(operationsOf(app), [])
  })

  test(`the scopes of ${name} have names`, async t => {
    const app = await appOf(t, app => register(app, {}))
    const scopes = app.printPlugins().split('\n').map(line => line.replace(/^[^\w@]*/, '').replace(/ \d+ ms$/, ''))
    t.ok(scopes.includes(`@polyvac/${name}`))
    t.notOk(scopes.some(scope => scope.includes('=>')), 'no source text in place of a name')
  })

  test(`the other methods of each path of ${name} are refused with 405 and Allow`, async t => {
    const app = await appOf(t, app => register(app, {}))
    const paths = group(operationsOf(app))
    for (const [path, methods] of paths) {
      const url = path.replaceAll(/\{\w+\}/g, 'docs')
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        if (methods.has(method) || (method === 'HEAD' && methods.has('GET') && url !== '/mcp')) continue
        const response = await app.inject({ method, url, ...method !== 'GET' && method !== 'HEAD' && { payload: {} } })
        t.equal(response.statusCode, 405, `${method} ${url}: ${response.body}`)
        const allow = String(response.headers.allow).split(', ').filter(other => other !== 'HEAD')
        t.strictSame(allow, [...methods].sort(), `${method} ${url}`)
        if (method !== 'HEAD') t.ok(response.body.includes('METHOD_NOT_ALLOWED'), response.body)
      }
    }
  })
}

/** The methods of each path. */
function group (operations: ReturnType<typeof operationsOf>): Map<string, Set<string>> {
  const paths = new Map<string, Set<string>>()
  for (const [path, method] of operations) paths.set(path, (paths.get(path) ?? new Set()).add(method.toUpperCase()))
  return paths
}

test('a route that the application has on a path of a plugin stays', async t => {
  const app = await appOf(t, async app => {
    app.get('/mcp/call', async () => 'the page of the application')
    await app.register(mcpGatewayPlugin, { servers: [] })
  })
  t.equal((await app.inject('/mcp/call')).body, 'the page of the application')
  t.equal((await app.inject({ method: 'DELETE', url: '/mcp/call' })).statusCode, 405)
})
