import { createGateway } from '@polyvac/mcp-gateway'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { test } from 'tap'
import { handWritten, type Exchange } from '../../mcp-gateway/test/fixtures/hand-written.js'
import { modern, serve } from './fixtures/wire.js'

type Answer = (exchange: Exchange, who: string) => unknown

async function frontOf (t: Parameters<typeof serve>[0], names: readonly string[], answer: Answer, entry: object = {}): ReturnType<typeof serve> {
  const servers = Object.fromEntries(await Promise.all(names.map(async name => [name, { url: (await handWritten(t, exchange => answer(exchange, name), { isModern: false })).url, ...entry }] as const)))
  const gateway = createGateway({ servers })
  gateway.start()
  t.teardown(() => gateway.close())
  await gateway.settled()
  return await serve(t, { sources: [gateway.toolSource()] })
}

test('links and embedded resources of a result and of a prompt lead to the resources of their server', async t => {
  const uri = 'file:///data/report.txt'
  const app = await frontOf(t, ['a', 'b'], ({ message: { method, params }, result }, who) => {
    const links = [{ type: 'resource_link', uri, name: who }, { type: 'resource_link', uri: 'file:///only-by-link', name: who }, { type: 'resource_link', uri: `own://${who}`, name: who }, { type: 'resource_link', uri: 'https://example.com/', name: 'web' }, { type: 'resource', resource: { uri, text: who } }]
    if (method === 'resources/list') result({ resources: [{ uri, name: 'report' }, { uri: `own://${who}`, name: who }] })
    else if (method === 'resources/read') result({ contents: [{ uri: params.uri, text: `content of ${who}` }, ...params.uri.startsWith('own:') ? [{ uri, text: 'another' }] : []] })
    else if (method === 'tools/call') result({ content: links, structuredContent: { result: links, uri } })
    else if (method === 'prompts/get') result({ messages: [...links.map(content => ({ role: 'user', content })), { role: 'user', content: links }] })
    else return false
    return true
  })
  const ask = async (method: string, params: Record<string, unknown>): Promise<any> => (await modern(app, method, params)).json.result
  for (const who of ['a', 'b']) {
    const { content, structuredContent } = await ask('tools/call', { name: `${who}__tool` })
    const { messages } = await ask('prompts/get', { name: `${who}__prompt` })
    const expected = [`mcp://${who}/${uri}`, `mcp://${who}/file:///only-by-link`, `own://${who}`, 'https://example.com/', `mcp://${who}/${uri}`]
    const urisOf = (blocks: any[]): string[] => blocks.map(block => block.uri ?? block.resource.uri)
    t.strictSame(urisOf(content), expected)
    t.strictSame(structuredContent, { result: content, uri }, 'structured content repeats them')
    t.match((await ask('resources/read', { uri: `own://${who}` })).contents, [{ uri: `own://${who}` }, { uri: `mcp://${who}/${uri}` }], 'contents of another resource')
    t.strictSame(urisOf(messages.map((message: any) => message.content)), [...expected, ...expected])
    for (const link of expected.filter(one => !one.startsWith('https:'))) t.match((await ask('resources/read', { uri: link })).contents, [{ uri: link, text: `content of ${who}` }])
  }
})

test('null stands for an optional argument that was left out, and stays where the schema takes it', async t => {
  const properties = {
    default_null: { type: 'string', default: null },
    plain: { type: 'string' },
    either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    list: { type: ['string', 'null'] },
    needed: { type: 'string' },
    choice: { enum: ['a', 'b'] },
    nested: { type: 'object', properties: { inner: { type: 'integer' } } },
    items: { type: 'array', items: { type: 'object', properties: { inner: { type: 'integer' } } } },
    ref: { $ref: '#/$defs/text' },
    nullable: { type: 'string', nullable: true },
    model: { $ref: '#/$defs/model' },
    optional: { anyOf: [{ $ref: '#/$defs/model' }, { type: 'null' }], default: null },
    all: { allOf: [{ $ref: '#/$defs/model' }, { required: ['inner'] }] },
    map: { type: 'object', additionalProperties: { type: 'string' } }
  }
  const app = await frontOf(t, ['up'], ({ message: { method, params }, result }) => {
    if (method === 'tools/list') result({ tools: [{ name: 'tool', inputSchema: { type: 'object', properties, required: ['needed'], additionalProperties: false, $defs: { text: { type: 'string' }, model: { type: 'object', properties: { inner: { type: 'integer' }, deep: { $ref: '#/$defs/model' } }, additionalProperties: false } } } }] })
    else if (method === 'prompts/list') result({ prompts: [{ name: 'prompt', arguments: [{ name: 'a' }, { name: 'b', required: true }] }] })
    else if (method === 'prompts/get') result({ messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params.arguments) } }] })
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] })
    else return false
    return true
  })
  const call = async (args: object): Promise<any> => (await modern(app, 'tools/call', { name: 'up__tool', arguments: args })).json.result
  const sent = async (args: object): Promise<unknown> => JSON.parse((await call({ needed: 'x', ...args })).content[0].text)
  for (const field of ['default_null', 'either', 'list', 'nullable', 'optional']) t.strictSame(await sent({ [field]: null }), { needed: 'x', [field]: null }, field)
  for (const field of ['plain', 'choice', 'ref', 'nested', 'items', 'model', 'all', 'map']) t.strictSame(await sent({ [field]: null }), { needed: 'x' }, field)
  t.strictSame(await sent({ nested: { inner: null }, items: [{ inner: null }, { inner: 1 }], either: null }), { needed: 'x', nested: {}, items: [{}, { inner: 1 }], either: null })
  for (const field of ['model', 'optional']) t.strictSame(await sent({ [field]: { inner: null, deep: { inner: 1, deep: null } } }), { needed: 'x', [field]: { deep: { inner: 1 } } }, field)
  t.strictSame(await sent({ map: { a: null, b: 'x' } }), { needed: 'x', map: { b: 'x' } })
  t.match(await call({ needed: 'x', all: { inner: null } }), { isError: true, content: [{ text: /inner/ }] })
  t.match(await call({ needed: 'x', model: { unknown: null } }), { isError: true, content: [{ text: /unknown/ }] })
  t.match(await call({ needed: null }), { isError: true, content: [{ text: /needed/ }] })
  t.match(await call({ needed: 'x', unknown: null }), { isError: true, content: [{ text: /unknown/ }] })
  t.match(await call({ needed: 'x', plain: 5 }), { isError: true })
  t.match((await modern(app, 'prompts/get', { name: 'up__prompt', arguments: { a: null, b: 'x' } })).json.result, { messages: [{ content: { text: '{"b":"x"}' } }] })
  t.match((await modern(app, 'prompts/get', { name: 'up__prompt', arguments: { b: null } })).json, { error: { code: -32602 } })
})

const ajv = new Ajv2020({ strict: false, logger: false })

/** What Anthropic and OpenAI refuse of the schema of a tool. */
function refusals (schema: any, path = ''): string[] {
  const found: string[] = []
  if (path === '' && (schema.type !== 'object' || typeof schema.properties !== 'object')) found.push('not of an object with properties')
  if (path === '' && ajv.validateSchema(schema) !== true) found.push(ajv.errorsText(ajv.errors))
  if (path === '') found.push(...['anyOf', 'oneOf', 'allOf', 'not', 'enum', '$ref'].filter(keyword => keyword in schema))
  if ([schema.type].flat().includes('array') && schema.items === undefined) found.push(`${path}: an array without items`)
  for (const key of Object.keys(schema.properties ?? {})) if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) found.push(`${path}/${key}: its name`)
  for (const name of schema.required ?? []) if (schema.properties?.[name] === undefined) found.push(`${path}/${String(name)}: required and unknown`)
  for (const [key, child] of Object.entries(schema.properties ?? {})) found.push(...refusals(child, `${path}/${key}`))
  return found
}

test('with `schemas: model` lists have schemas that model APIs accept, and arguments are checked against those of the server', async t => {
  const id = { type: 'string' }
  const schemas: Record<string, any> = {
    either: { type: 'object', properties: { id, slug: id }, oneOf: [{ required: ['id'] }, { required: ['slug'] }] },
    any: { anyOf: [{ type: 'object', properties: { a: id }, required: ['a'], additionalProperties: false }, { $ref: '#/$defs/b' }], $defs: { b: { type: 'object', properties: { b: id }, required: ['b'] } } },
    all: { allOf: [{ properties: { a: id }, required: ['a'] }, { anyOf: [{ properties: { b: id } }] }] },
    ref: { $ref: '#/definitions/A', definitions: { A: { properties: { a: id, again: { $ref: '#/definitions/A' } } } } },
    cycle: { allOf: [{ $ref: '#' }] },
    odd: { properties: { list: { type: 'array' }, pair: { type: 'array', items: [id, id] }, $top: id, n: { type: 'number', minimum: 0, exclusiveMinimum: true }, p: { type: 'string', pattern: '(?i)x' }, s: { type: 'str' }, o: { type: 'object' }, lost: { $ref: '#/nowhere' } }, required: ['unlisted'], $schema: 'http://json-schema.org/draft-04/schema#' },
    lists: { type: 'object', properties: { a: { type: 'string', examples: 'x' }, b: { type: 'object', required: ['a', 'a'], $recursiveAnchor: true } }, required: ['a', 'a'], patternProperties: { '(?i)x': id } },
    none: {}
  }
  const app = await frontOf(t, ['up'], ({ message: { method, params }, result }) => {
    if (method === 'tools/list') result({ tools: Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema })) })
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] })
    else return false
    return true
  }, { schemas: 'model' })
  const { tools } = (await modern(app, 'tools/list')).json.result as { tools: any[] }
  t.equal(tools.length, Object.keys(schemas).length)
  for (const { name, inputSchema } of tools) t.strictSame(refusals(inputSchema), [], name)
  const listed = Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]))
  t.match(listed.up__either, { description: 'Give one of these: id; slug.', properties: { id, slug: id } })
  t.strictSame(Object.keys(listed.up__any.properties), ['a', 'b'])
  t.match(listed.up__all, { properties: { a: id, b: id }, required: ['a'] })
  t.match(listed.up__ref.properties, { a: id, again: { $ref: '#/definitions/A' } })
  const call = async (name: string, args: object): Promise<any> => (await modern(app, 'tools/call', { name: `up__${name}`, arguments: args })).json.result
  t.match(await call('either', { id: 'x' }), { content: [{ text: '{"id":"x"}' }] })
  for (const args of [{}, { id: 'x', slug: 'y' }]) t.match(await call('either', args), { isError: true }, 'the schema of the server refuses it')
  t.match(await call('any', { b: 'x' }), { content: [{ text: '{"b":"x"}' }] })
  t.match(await call('odd', { unlisted: 1, $top: 'x' }), { content: [{ text: '{"unlisted":1,"$top":"x"}' }] })
})
