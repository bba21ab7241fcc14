import { createVacs } from '@polyvac/core'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { mcpServerPlugin, defineTools, vacTools, type ToolSource } from '../src/index.js'

const own = (name: string, said: string): ToolSource => defineTools([{ name, inputSchema: Type.Object({}), handler: () => said }])
/** A source that has to ask somebody else what it has, with a prompt beside its tool. */
const slow = (name: string, said: string): ToolSource => {
  const inner = own(name, said)
  return {
    ...inner,
    list: async () => await inner.list(),
    prompts: { list: () => [{ name }], get: asked => ({ messages: [{ role: 'user', content: { type: 'text', text: `${asked} ${said}` } }] }) }
  }
}

test('tools of the same name get distinct, stable names, and each call reaches its source', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpServerPlugin, { sources: [slow('echo', 'first'), slow('echo', 'second'), own('other', 'third')], sessions: false })
  const ask = async (method: string, params: object): Promise<Record<string, any>> => (await app.inject({ method: 'POST', url: '/mcp', payload: { jsonrpc: '2.0', id: 1, method, params } })).json().result
  const names = (await ask('tools/list', {})).tools.map(({ name }: { name: string }) => name) as string[]
  t.equal(names.length, 3)
  t.strictSame([names[0], names[2]], ['echo', 'other'])
  t.match(names[1], /^echo_[0-9a-f]{8}$/)
  t.match(await ask('tools/call', { name: 'echo', arguments: {} }), { content: [{ text: 'first' }] })
  t.match(await ask('tools/call', { name: names[1], arguments: {} }), { content: [{ text: 'second' }] })
  const prompts = (await ask('prompts/list', {})).prompts.map(({ name }: { name: string }) => name) as string[]
  t.match(await ask('prompts/get', { name: prompts[1] }), { messages: [{ content: { text: 'echo second' } }] })
})

test('a name that two synchronous sources have stops the start', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: () => 'x' })
  const sources = [vacTools(vacs), slow('vac_query_docs', 'later'), own('vac_query_docs', 'mine')]
  await t.rejects(async () => await app.register(mcpServerPlugin, { sources }), { code: 'MCP_SERVER_OPTIONS', message: /sources\[0\] and sources\[2\] both have a tool named "vac_query_docs"; rename one/ })
})
