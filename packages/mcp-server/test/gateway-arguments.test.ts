import { createGateway } from '@polyvac/mcp-gateway'
import { test } from 'tap'
import { handWritten, type Exchange } from '../../mcp-gateway/test/fixtures/hand-written.js'
import { modern, serve } from './fixtures/wire.js'

type Answer = (exchange: Exchange, who: string) => unknown

async function frontOf (t: Parameters<typeof serve>[0], names: readonly string[], answer: Answer): ReturnType<typeof serve> {
  const servers = Object.fromEntries(await Promise.all(names.map(async name => [name, { url: (await handWritten(t, exchange => answer(exchange, name), { isModern: false })).url }] as const)))
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
    else if (method === 'resources/read') result({ contents: [{ uri: params.uri, text: `content of ${who}` }] })
    else if (method === 'tools/call') result({ content: links })
    else if (method === 'prompts/get') result({ messages: [...links.map(content => ({ role: 'user', content })), { role: 'user', content: links }] })
    else return false
    return true
  })
  const ask = async (method: string, params: Record<string, unknown>): Promise<any> => (await modern(app, method, params)).json.result
  for (const who of ['a', 'b']) {
    const { content } = await ask('tools/call', { name: `${who}__tool` })
    const { messages } = await ask('prompts/get', { name: `${who}__prompt` })
    const expected = [`mcp://${who}/${uri}`, `mcp://${who}/file:///only-by-link`, `own://${who}`, 'https://example.com/', `mcp://${who}/${uri}`]
    const urisOf = (blocks: any[]): string[] => blocks.map(block => block.uri ?? block.resource.uri)
    t.strictSame(urisOf(content), expected)
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
    ref: { $ref: '#/$defs/text' }
  }
  const app = await frontOf(t, ['up'], ({ message: { method, params }, result }) => {
    if (method === 'tools/list') result({ tools: [{ name: 'tool', inputSchema: { type: 'object', properties, required: ['needed'], additionalProperties: false, $defs: { text: { type: 'string' } } } }] })
    else if (method === 'prompts/list') result({ prompts: [{ name: 'prompt', arguments: [{ name: 'a' }, { name: 'b', required: true }] }] })
    else if (method === 'prompts/get') result({ messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params.arguments) } }] })
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] })
    else return false
    return true
  })
  const call = async (args: object): Promise<any> => (await modern(app, 'tools/call', { name: 'up__tool', arguments: args })).json.result
  const sent = async (args: object): Promise<unknown> => JSON.parse((await call({ needed: 'x', ...args })).content[0].text)
  for (const field of ['default_null', 'either', 'list']) t.strictSame(await sent({ [field]: null }), { needed: 'x', [field]: null }, field)
  for (const field of ['plain', 'choice', 'ref', 'nested', 'items']) t.strictSame(await sent({ [field]: null }), { needed: 'x' }, field)
  t.strictSame(await sent({ nested: { inner: null }, items: [{ inner: null }, { inner: 1 }], either: null }), { needed: 'x', nested: {}, items: [{}, { inner: 1 }], either: null })
  t.match(await call({ needed: null }), { isError: true, content: [{ text: /needed/ }] })
  t.match(await call({ needed: 'x', unknown: null }), { isError: true, content: [{ text: /unknown/ }] })
  t.match(await call({ needed: 'x', plain: 5 }), { isError: true })
  t.match((await modern(app, 'prompts/get', { name: 'up__prompt', arguments: { a: null, b: 'x' } })).json.result, { messages: [{ content: { text: '{"b":"x"}' } }] })
  t.match((await modern(app, 'prompts/get', { name: 'up__prompt', arguments: { b: null } })).json, { error: { code: -32602 } })
})
