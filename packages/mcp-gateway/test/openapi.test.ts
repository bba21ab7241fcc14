import { Ajv2020 } from 'ajv/dist/2020.js'
import Fastify from 'fastify'
import { test } from 'tap'
import { mcpGatewayPlugin } from '../src/index.js'
import { toolsDocument } from '../src/rest/openapi.js'
import { bad, published, started } from './fixtures/app.js'

type Json = Record<string, any>

/** What a strict importer would refuse. */
function problemsOf (document: Json): string[] {
  const problems: string[] = []
  const look = (value: unknown, at: string, isSchema: boolean, isMap = false): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, child] of Object.entries(value)) {
      if (isSchema && !isMap && ['$id', '$schema', '$defs', 'definitions', '$anchor', '$dynamicRef', '$recursiveRef', 'dependencies', 'nullable'].includes(key)) problems.push(`${at} has ${key}`)
      if (key === '$ref' && !isMap) {
        const [, name] = /^#\/components\/schemas\/([A-Za-z0-9._-]+)$/.exec(String(child)) ?? []
        if (name === undefined || !Object.hasOwn(document.components.schemas, name)) problems.push(`${at} refers to ${String(child)}`)
      }
      const isData = isSchema && ['enum', 'const', 'default', 'examples'].includes(key)
      const isMapOf = isSchema && ['properties', 'patternProperties', 'dependentSchemas'].includes(key)
      if (!isData) look(child, `${at}/${key}`, (isSchema && !isMapOf) || isMap, isMapOf)
    }
  }
  look(document.paths, 'paths', false)
  for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name, true)
  const operations = Object.values(document.paths as Record<string, Json>).map(({ post }) => post as Json)
  const ids = operations.map(({ operationId }) => operationId as string)
  if (new Set(ids).size !== ids.length) problems.push('two operations have one id')
  for (const id of ids) if (!/^[A-Za-z0-9_.-]{1,64}$/.test(id)) problems.push(`the id ${id}`)
  if (!/^https?:\/\/[^/]/.test(document.servers?.[0]?.url)) problems.push('no address')
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (!ajv.validateSchema(schema as object)) problems.push(`${name}: ${ajv.errorsText(ajv.errors)}`)
  }
  return problems
}

/** The schema of the arguments of each tool, with the first reference resolved, as importers read it. */
function bodiesOf ({ paths, components }: Json): Record<string, Json> {
  return Object.fromEntries(Object.values(paths as Record<string, Json>).map(({ post }) => {
    const { $ref } = (post as Json).requestBody.content['application/json'].schema
    return [post.operationId, components.schemas[$ref.split('/').pop()]]
  }))
}

const documentOf = async (schemas: Record<string, unknown>, server = 's'): Promise<Json> =>
  await toolsDocument(Object.entries(schemas).map(([name, inputSchema]) => ({ server, item: { name, inputSchema } as never })), { url: 'http://127.0.0.1' })

test('each tool is an operation with its arguments as the body, which its path takes', async t => {
  const { app, get } = await started(t, [bad(), published('everything')])
  const { body } = await get('/mcp/openapi.json')
  t.strictSame(problemsOf(body), [])
  const { tools } = (await get('/mcp/tools')).body
  const bodies = bodiesOf(body)
  t.equal(Object.keys(bodies).length, tools.length)
  t.match(bodies.bad__echo, { type: 'object', properties: { message: { type: 'string' } } })
  t.strictSame(body.servers, [{ url: 'http://localhost:80' }])
  const own = (await get('/mcp/openapi/everything.json')).body
  t.strictSame(problemsOf(own), [])
  t.strictSame(Object.keys(bodiesOf(own)).sort(), tools.filter(({ server }: Json) => server === 'everything').map(({ name }: Json) => name).sort())
  t.match((await get('/mcp/openapi/evrything.json')).body, { code: 'MCP_SERVER_NOT_FOUND', error: /everything/ })
  for (const document of [body, own]) {
    const path = Object.keys(document.paths as Json).find(path => path.endsWith('/everything/echo'))!
    const response = await app.inject({ method: 'POST', url: path, payload: { message: 'hi' } })
    t.match([response.statusCode, response.json()], [200, { result: { content: [{ text: /hi/ }] } }], path)
  }
  const post = async (url: string, payload?: object, headers = {}): Promise<Json> => {
    const response = await app.inject({ method: 'POST', url, headers, ...payload !== undefined && { payload } })
    return { status: response.statusCode, text: response.body, type: response.headers['content-type'] }
  }
  t.match(await post('/mcp/tools/everything/get-env'), { status: 200 }, 'a tool without arguments needs no body')
  t.match(await post('/mcp/tools/everything/echo', {}), { status: 400, text: /message.*MCP_INVALID_ARGUMENTS/ })
  t.match(await post('/mcp/tools/everything/ecko', {}), { status: 404, text: /echo.*MCP_TOOL_NOT_FOUND/ })
  t.match(await post('/mcp/tools/nothing/echo', {}), { status: 404, text: /MCP_SERVER_NOT_FOUND/ })
  t.match(await post('/mcp/tools/everything/echo', ['hi']), { status: 400 })
  t.match(await post('/mcp/tools/everything/echo', { message: 'hi' }, { accept: 'text/event-stream' }), { status: 200, type: /event-stream/, text: /event: result\ndata: .*hi/ })
})

test('references become components, wherever they point and in whatever draft', async t => {
  const document = await documentOf({
    send_mail: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { to: { type: 'array', items: { type: 'object', properties: { address: { type: 'string' } } } }, cc: { type: 'array', items: { $ref: '#/properties/to/items' } } }, required: ['to'] },
    render: { type: 'object', properties: { f: { $ref: '#/$defs/FilterType', description: 'kept' } }, $defs: { FilterType: { title: 'Filter Type', type: 'string', enum: ['fit', 'raw'] } } },
    no_arguments: {},
    own_id: { $id: 'https://example.org/s', type: 'object', properties: { a: { $ref: '#/properties/b' }, b: { type: 'string' }, c: { $ref: 'https://example.org/s#/properties/b' }, d: { $ref: 's#/properties/b' } } },
    at_top: { $ref: '#/definitions/Args', $schema: 'http://json-schema.org/draft-07/schema#', definitions: { Args: { type: 'object', properties: { x: { $ref: '#/definitions/X' } } }, X: { type: 'number' } } },
    tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } },
    node: { type: 'object', properties: { root: { $ref: '#/$defs/Node' } }, $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' }, odd: { $ref: '#/$defs/a~1b%20c' } } }, 'a/b c': { type: 'integer' } } },
    anchors: { type: 'object', properties: { a: { $ref: '#here' }, b: { $dynamicRef: '#there' }, c: { $ref: '#old' } }, $defs: { h: { $anchor: 'here', type: 'string' }, t: { $dynamicAnchor: 'there', type: 'number' }, o: { $id: '#old', type: 'boolean' } } },
    embedded: { type: 'object', properties: { a: { $ref: 'inner.json' } }, $defs: { i: { $id: 'inner.json', type: 'object', properties: { b: { $ref: '#/$defs/deep' } }, $defs: { deep: { type: 'string' } } } } },
    elsewhere: { type: 'object', properties: { a: { $ref: '#/components/schemas/A' } }, components: { schemas: { A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } }, B: { type: 'null' } } } },
    nowhere: { type: 'object', properties: { a: { $ref: '#/$defs/none' }, b: { $ref: 'https://example.com/x.json' }, c: { $ref: 7 }, d: { $ref: '#/__proto__' }, e: { $ref: '#/%' } } },
    circle: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    named: { type: 'object', properties: { $ref: { type: 'string' }, $id: { type: 'string' }, $defs: { type: 'object' }, enum: { const: { $ref: '#/x' }, default: { $id: 'y' } } } },
    drafts: { type: 'object', properties: { pair: { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'number' } }, n: { type: 'number', minimum: 1, exclusiveMinimum: true } }, dependencies: { pair: ['n'], n: { required: ['pair'] } } },
    odd: { type: 'thing', properties: { a: null, b: true, c: false, d: { type: 'strnig', enum: null, required: 'x', pattern: '(?i)a', minLength: -1, nullable: true, discriminator: { mapping: { a: '#/$defs/none' } }, description: 5, 'x-mcp-header': 'D' } }, required: null, allOf: [], additionalProperties: false },
    text: 'no schema'
  })
  t.strictSame(problemsOf(document), [])
  const { schemas } = document.components as Json
  const bodies = bodiesOf(document)
  const resolved = (schema: Json): Json => schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').pop()]
  const property = (tool: string, name: string): Json => resolved(bodies[`s__${tool}`]!.properties[name])
  t.match(resolved(property('send_mail', 'cc').items), { properties: { address: { type: 'string' } } })
  t.match(resolved(property('send_mail', 'to').items), { properties: { address: { type: 'string' } } })
  t.match(property('render', 'f'), { enum: ['fit', 'raw'] })
  t.equal(bodies.s__render!.properties.f.description, 'kept')
  t.strictSame(bodies.s__no_arguments, { type: 'object', properties: {} })
  for (const name of ['a', 'c', 'd']) t.match(property('own_id', name), { type: 'string' }, name)
  t.match(property('at_top', 'x'), { type: 'number' })
  t.match(resolved(property('tree', 'children').items), bodies.s__tree)
  t.match(resolved(property('node', 'root').properties.odd), { type: 'integer' })
  t.match(['a', 'b', 'c'].map(name => property('anchors', name).type), ['string', 'number', 'boolean'])
  t.match(resolved(property('embedded', 'a').properties.b), { type: 'string' })
  t.match(resolved(property('elsewhere', 'a').properties.b), { type: 'null' })
  t.strictSame(bodies.s__nowhere!.properties, { a: {}, b: {}, c: {}, d: {}, e: {} })
  t.strictSame(property('circle', 'a'), {})
  t.match(bodies.s__named!.properties, { $ref: { type: 'string' }, $defs: { type: 'object' }, enum: { const: { $ref: '#/x' }, default: { $id: 'y' } } })
  t.strictSame(bodies.s__drafts, { type: 'object', properties: { pair: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } }, n: { type: 'number', exclusiveMinimum: 1 } }, dependentRequired: { pair: ['n'] }, dependentSchemas: { n: { required: ['pair'] } } })
  t.strictSame(bodies.s__odd, { type: 'object', properties: { a: {}, b: {}, c: { not: {} }, d: { 'x-mcp-header': 'D' } }, additionalProperties: false })
  t.strictSame(bodies.s__text, { type: 'object', properties: {} })
})

test('a schema that is too deep or has references in a circle is documented', async t => {
  let deep: Json = { type: 'string' }
  for (let i = 0; i < 5_000; i++) deep = { type: 'object', properties: { a: deep } }
  const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`d${i}`, { type: 'object', properties: { next: { $ref: `#/$defs/d${(i + 1) % 20_000}` } } }]))
  const hops = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]))
  const nested = await documentOf({ deep, chain: { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: chain }, hops: { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: hops } })
  t.ok(Object.keys(nested.components.schemas).length > 20_000)
  t.ok(JSON.stringify(nested).length < 10_000_000)
})

test('names that clash, are long or odd are distinct operations, and their paths call them', async t => {
  const names = ['a/b', 'a_b', 'a b', '..', 'ü', 'x'.repeat(128), `${'x'.repeat(128)}y`, 'a{b}', 'a%2Fb', 'constructor', '__proto__']
  const document = await toolsDocument(names.map(name => ({ server: 's.t', item: { name, title: 'T', description: 'D', inputSchema: { title: 'Error' } } as never })), { url: 'https://x.example', server: 's.t' })
  t.strictSame(problemsOf(document), [])
  const paths = Object.keys(document.paths as Json)
  t.equal(paths.length, names.length)
  for (const path of paths) t.match(path, /^\/mcp\/tools\/s\.t\/[A-Za-z0-9_.-]{1,64}$/)
  t.match(document, { info: { title: 'MCP tools of s.t' }, servers: [{ url: 'https://x.example' }] })
})

test('the address is the public one, that of the request, with the prefix and a path that the application rewrites', async t => {
  const app = Fastify({ rewriteUrl: ({ url = '' }) => url.replace(/^\/api\/v2/, '') })
  t.teardown(() => app.close())
  const servers = [bad()]
  await app.register(mcpGatewayPlugin, { servers })
  await app.register(mcpGatewayPlugin, { servers: [bad({}, { name: 'other' })], prefix: '/two' })
  await app.register(mcpGatewayPlugin, { servers, prefix: '/public', publicUrl: 'https://tools.example/base/' })
  const documentAt = async (url: string): Promise<Json> => (await app.inject({ url, headers: { host: 'agents.example:8443' } })).json() as Json
  for (const [url, address, id] of [
    ['/mcp/openapi.json', 'http://agents.example:8443', 'bad__echo'], ['/two/mcp/openapi.json?x=1', 'http://agents.example:8443/two', 'other__echo'],
    ['/two/mcp/openapi/other.json', 'http://agents.example:8443/two', 'echo'], ['/api/v2/mcp/openapi.json', 'http://agents.example:8443/api/v2', 'bad__echo'],
    ['/api/v2/two/mcp/openapi.json', 'http://agents.example:8443/api/v2/two', 'other__echo'], ['/public/mcp/openapi.json', 'https://tools.example/base', 'bad__echo']
  ] as const) {
    const document = await documentAt(url)
    t.strictSame(problemsOf(document), [], url)
    t.equal(document.servers[0].url, address)
    t.ok(Object.hasOwn(bodiesOf(document), id), url)
    if (address.startsWith('https')) continue
    const path = Object.keys(document.paths).find(path => path.endsWith('/echo'))!
    const { statusCode } = await app.inject({ method: 'POST', url: `${new URL(address).pathname.replace(/\/$/, '')}${path}`, payload: { message: 'x' } })
    t.equal(statusCode, 200, `${url}: ${path}`)
  }
  t.equal((await app.inject('/two/mcp/openapi/bad.json')).statusCode, 404, 'an instance has its own servers')
})
