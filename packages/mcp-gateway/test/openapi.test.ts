import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import Fastify from 'fastify'
import { test } from 'tap'
import { mcpGatewayPlugin } from '../src/index.js'
import { toolsDocument } from '../src/rest/openapi.js'
import { bad, published, started } from './fixtures/app.js'

type Json = Record<string, any>

const specification = new Validator()
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })

/** What a strict importer would refuse. */
async function problemsOf (document: Json): Promise<string[]> {
  const { valid, errors } = await specification.validate(structuredClone(document))
  const problems = valid ? [] : [`not OpenAPI 3.1: ${JSON.stringify(errors)}`]
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
  for (let name of Object.keys(document.components.schemas as Json) as Array<string | undefined>) {
    for (let i = 0; name !== undefined; i++) {
      if (i > 100) problems.push(`${name} is a reference to itself`)
      name = i > 100 ? undefined : document.components.schemas[name].$ref?.split('/').pop()
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name, true)
  const operations = Object.values(document.paths as Record<string, Json>).map(({ post }) => post as Json)
  const ids = operations.map(({ operationId }) => operationId as string)
  if (new Set(ids).size !== ids.length) problems.push('two operations have one id')
  for (const id of ids) if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) problems.push(`the id ${id}`)
  if (!/^https?:\/\/[^/]/.test(document.servers?.[0]?.url)) problems.push('no address')
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
  t.strictSame(await problemsOf(body), [])
  const { tools } = (await get('/mcp/tools')).body
  const bodies = bodiesOf(body)
  t.equal(Object.keys(bodies).length, tools.length)
  t.match(bodies.bad__echo, { type: 'object', properties: { message: { type: 'string' } } })
  t.strictSame(body.servers, [{ url: 'http://localhost:80' }])
  const own = (await get('/mcp/openapi/everything.json')).body
  t.strictSame(await problemsOf(own), [])
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
    named: { type: 'object', properties: { $id: { type: 'string' }, $defs: { type: 'object' }, enum: { const: { $ref: '#/x' }, default: { $id: 'y' } } } },
    itself: { $ref: '#', type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/b', title: 'A', type: 'string' }, b: { $ref: '#/$defs/a', minLength: 1 } } },
    data: { type: 'object', properties: { a: { default: { $ref: '#/x' } }, b: { enum: [{ deep: [{ $ref: 'y' }] }] }, c: { examples: [{ $ref: 'z' }] }, d: { type: 'string', default: null }, e: { type: ['string', 'null'], default: null }, f: { type: 'number', default: 1 }, g: { type: 'integer', default: 1.5 }, h: { type: 'array', default: [] }, i: { default: null } } },
    drafts: { type: 'object', properties: { pair: { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'number' } }, n: { type: 'number', minimum: 1, exclusiveMinimum: true } }, dependencies: { pair: ['n'], n: { required: ['pair'] } } },
    odd: { type: 'thing', properties: { a: null, b: true, c: false, d: { type: 'strnig', enum: null, required: 'x', pattern: '(?i)a', minLength: -1, nullable: true, discriminator: { mapping: { a: '#/$defs/none' } }, description: 5, 'x-mcp-header': 'D' } }, required: null, allOf: [], additionalProperties: false },
    nullable: { type: 'object', properties: { a: { type: 'string', nullable: true, default: null }, b: { type: ['string', 'null'], nullable: true }, c: { nullable: true }, d: { type: 'string', nullable: false } } },
    text: 'no schema'
  })
  t.strictSame(await problemsOf(document), [])
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
  t.strictSame(bodies.s__named!.properties, { $id: { type: 'string' }, $defs: { type: 'object' }, enum: { default: { $id: 'y' } } }, 'importers resolve a reference in data')
  t.strictSame([bodies.s__itself!.allOf, bodies.s__itself!.$ref], [undefined, undefined])
  t.match([property('itself', 'a'), resolved(property('itself', 'a').allOf[0])], [{ title: 'A', type: 'string' }, { minLength: 1 }])
  t.strictSame(bodies.s__data!.properties, { a: {}, b: {}, c: {}, d: { type: 'string' }, e: { type: ['string', 'null'], default: null }, f: { type: 'number', default: 1 }, g: { type: 'integer' }, h: { type: 'array', default: [] }, i: { default: null } })
  t.strictSame(bodies.s__drafts, { type: 'object', properties: { pair: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } }, n: { type: 'number', exclusiveMinimum: 1 } }, dependentRequired: { pair: ['n'] }, dependentSchemas: { n: { required: ['pair'] } } })
  t.strictSame(bodies.s__odd, { type: 'object', properties: { a: {}, b: {}, c: { not: {} }, d: { 'x-mcp-header': 'D' } }, additionalProperties: false })
  t.strictSame(bodies.s__nullable!.properties, { a: { type: ['string', 'null'], default: null }, b: { type: ['string', 'null'] }, c: {}, d: { type: 'string' } })
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
  t.strictSame(await problemsOf(document), [])
  const paths = Object.keys(document.paths as Json)
  t.equal(paths.length, names.length)
  for (const path of paths) t.match(path, /^\/mcp\/tools\/s\.t\/[A-Za-z0-9_-]{1,64}$/)
  t.match(document, { info: { title: 'MCP tools of s.t' }, servers: [{ url: 'https://x.example' }] })
})

test('a tool whose name stands for another tool or its schema keeps its own operation and schema', async t => {
  const [stand = ''] = Object.keys((await documentOf({ 'a/b': {} })).paths as Json).map(path => path.split('/').pop())
  const arguments_ = (name: string): Json => ({ type: 'object', properties: { [name]: { type: 'string' } } })
  for (const names of [['a/b', stand], [stand, 'a/b']]) {
    const document = await documentOf(Object.fromEntries(names.map(name => [name, arguments_(name)])))
    t.strictSame(await problemsOf(document), [])
    t.strictSame(Object.values(bodiesOf(document)).map(({ properties }) => Object.keys(properties as Json)), [[stand]], 'the path calls the tool of that very name')
  }
  const x = { type: 'object', properties: { of: { $ref: '#/$defs/y' } }, $defs: { y: { title: 'y_arguments', type: 'number' } } }
  const y = arguments_('own')
  for (const tools of [{ x, x_arguments_y: y }, { x_arguments_y: y, x }]) {
    const document = await documentOf(tools)
    const { $ref } = bodiesOf(document).s__x!.properties.of
    t.strictSame([await problemsOf(document), document.components.schemas[$ref.split('/').pop()].type, Object.keys(bodiesOf(document).s__x_arguments_y!.properties)], [[], 'number', ['own']])
  }
})

test('any schemas of any tools give a document that importers take', async t => {
  const refs = fc.constantFrom('#', '#/$defs/A', '#/$defs/B/$defs/A', '#/definitions/A%20b', '#/properties/x', '#A', 'http://x/y', 'other.json', '#/components/schemas/A', '#/$defs/~1', 5, null)
  const names = fc.constantFrom('A', 'B', 'A b', 'a.b', 'ü', 'x', 'type', 'properties', 'required', '/', '~', '__proto__', 'constructor', 'enum', '{x}')
  const { schema } = fc.letrec(tie => {
    const map = fc.oneof(fc.dictionary(names, tie('schema'), { maxKeys: 3 }), fc.constantFrom(null, []))
    const list = fc.oneof(fc.array(tie('schema'), { maxLength: 2 }), fc.constant(null))
    return {
      schema: fc.oneof({ maxDepth: 3, depthSize: 'small' }, fc.constantFrom(true, false, {}, null, 'x', { type: 'string' }), refs.map($ref => ({ $ref })), fc.record({
        type: fc.constantFrom('object', 'string', 'null', 'thing', null, [], ['string', 'null'], ['object', 'x'], ['null', 'null']),
        properties: map,
        items: fc.oneof(tie('schema'), list),
        anyOf: list,
        oneOf: list,
        allOf: list,
        not: tie('schema'),
        $ref: refs,
        $defs: map,
        definitions: map,
        patternProperties: map,
        dependentSchemas: map,
        dependencies: fc.oneof(map, fc.constant({ x: ['y'] })),
        if: tie('schema'),
        contains: tie('schema'),
        propertyNames: tie('schema'),
        prefixItems: list,
        additionalItems: tie('schema'),
        additionalProperties: tie('schema'),
        enum: fc.constantFrom([], [1, null], ['a', 'a'], null),
        const: fc.constantFrom(null, { $ref: '#/x' }),
        default: fc.constantFrom(null, { $ref: 'y' }, 'd'),
        examples: fc.constantFrom([1], { a: 1 }),
        required: fc.constantFrom(true, ['x'], ['x', 'x'], null, [1]),
        nullable: fc.constantFrom(true, null),
        title: fc.constantFrom('T', 'Ü t', null, 5),
        description: fc.constantFrom('d', null, 5),
        format: fc.constantFrom('date', 5),
        pattern: fc.constantFrom('(?i)a', '[', 'a'),
        minimum: fc.constantFrom(1, '1'),
        exclusiveMinimum: fc.constantFrom(true, 1),
        maxLength: fc.constantFrom(1.5, -1, 3),
        multipleOf: fc.constantFrom(0, 2),
        uniqueItems: fc.constantFrom(true, 'x'),
        $id: fc.constantFrom('#A', 'http://x/y', 'A', 5),
        $schema: fc.constantFrom('http://json-schema.org/draft-07/schema#', 5),
        $anchor: fc.constantFrom('A', 'A b'),
        discriminator: fc.constantFrom({ propertyName: 'x', mapping: { a: '#/$defs/A' } }, 'x'),
        xml: fc.constantFrom({ name: 5 }, 5),
        externalDocs: fc.constant({}),
        example: fc.constant(1),
        readOnly: fc.constantFrom(true, 'x'),
        dependentRequired: fc.constantFrom({ x: ['a', 'a'] }, { x: [1] }, [])
      }, { requiredKeys: [] }))
    }
  })
  const texts = fc.constantFrom('T', '', null, 5, undefined)
  const item = fc.record({ name: fc.oneof(fc.string({ minLength: 1, unit: 'binary' }), names, fc.string({ minLength: 60, maxLength: 130 })), inputSchema: schema, title: texts, description: texts })
  const tools = fc.uniqueArray(fc.record({ server: fc.constantFrom('s', 's.t', 'a b', 'ü', 'x'.repeat(70)), item }), { minLength: 1, maxLength: 3, selector: ({ server, item }) => `${server}\0${item.name}` })
  await fc.assert(fc.asyncProperty(tools, async tools => {
    const document = JSON.parse(JSON.stringify(await toolsDocument(tools as never, { url: 'http://127.0.0.1' }))) as Json
    const problems = await problemsOf(document)
    if (Object.keys(document.paths as Json).length !== tools.length) problems.push('a tool is missing')
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }), { numRuns: 60 })
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
    t.strictSame(await problemsOf(document), [], url)
    t.equal(document.servers[0].url, address)
    t.ok(Object.hasOwn(bodiesOf(document), id), url)
    if (address.startsWith('https')) continue
    const path = Object.keys(document.paths).find(path => path.endsWith('/echo'))!
    const { statusCode } = await app.inject({ method: 'POST', url: `${new URL(address).pathname.replace(/\/$/, '')}${path}`, payload: { message: 'x' } })
    t.equal(statusCode, 200, `${url}: ${path}`)
  }
  t.equal((await app.inject('/two/mcp/openapi/bad.json')).statusCode, 404, 'an instance has its own servers')
})
