import { createVacs } from '@polyvac/core'
import { createGateway } from '@polyvac/mcp-gateway'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import { handWritten } from '../../mcp-gateway/test/fixtures/hand-written.js'
import { LegacySession, modern, serve } from './fixtures/wire.js'
import { mcpServerPlugin, defineTools, vacTools, type ToolSource } from '../src/index.js'

const own = (name: string, said: string): ToolSource => defineTools([{ name, inputSchema: Type.Object({}), handler: () => said }])
/** A source that has to ask somebody else what it has, with a prompt next to its tool. */
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

const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/

test('names of tools and prompts are those that model APIs accept, distinct and stable, and calls may use the former ones', async t => {
  const tools = ['calendar.list', 'calendar_list', 'calendar list', 'a.b.c', 'slash/tool', 'ünï', 'ok_tool', `${'long.'.repeat(20)}end`]
  const { url } = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'prompts/list') result({ prompts: tools.map(name => ({ name, formerName: 'up__ok_tool' })) })
    else if (method === 'tools/list') result({ tools: tools.map(name => ({ name, formerName: 'up__ok_tool', inputSchema: { type: 'object' } })) })
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: params.name }] })
    else if (method === 'prompts/get') result({ messages: [{ role: 'user', content: { type: 'text', text: params.name } }] })
    else return false
    return true
  }, { isModern: false })
  const gateway = createGateway({ servers: { up: { url }, 'dot.ted': { url } } })
  gateway.start()
  t.teardown(() => gateway.close())
  await gateway.settled()
  const vacs = createVacs({ vacs: ['my.docs', 'my_docs'], streamInterpreter: async (_question, vac) => `from ${String(vac)}` })
  const prompting: ToolSource = { list: () => [], call: () => ({ content: [] }), prompts: { list: () => [{ name: 'own.prompt' }], get: name => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }) } }
  const app = await serve(t, { sources: [vacTools(vacs), gateway.toolSource(), own('own.tool', 'own'), own('own_tool', 'other'), prompting] })
  const session = await LegacySession.open(app)
  for (const ask of [(method: string, params?: Record<string, unknown>) => session.request(method, params), (method: string, params?: Record<string, unknown>) => modern(app, method, params)]) {
    for (const [list, method, ofResult] of [['tools', 'tools/call', (result: any) => result.content[0].text], ['prompts', 'prompts/get', (result: any) => result.messages[0].content.text]] as const) {
      const listed = async (): Promise<string[]> => (await ask(`${list}/list`)).json.result![list].map(({ name }: { name: string }) => name)
      const names = await listed()
      t.strictSame(names.filter(name => !ACCEPTED.test(name)), [])
      t.equal(new Set(names).size, names.length, 'they are distinct')
      t.strictSame(await listed(), names, 'they are stable')
      const call = async (name: string): Promise<string> => {
        await nextTurn()
        return ofResult((await ask(method, { name, arguments: {} })).json.result)
      }
      const reached: string[] = []
      for (const name of names) if (/^(?:up|dot_ted)__/.test(name)) reached.push(await call(name))
      t.strictSame(reached.sort(), [...tools, ...tools].sort(), 'each reaches its own')
      t.equal(await call('up__calendar.list'), 'calendar.list', 'a former name')
      t.equal(await call('dot.ted__a.b.c'), 'a.b.c')
      t.equal(await call('up__ok_tool'), 'ok_tool', 'a server cannot take the name of another tool')
    }
    await nextTurn()
    const vac = (await ask('tools/list')).json.result!.tools.map(({ name }: { name: string }) => name).find((name: string) => /^vac_query_my_docs_/.test(name))
    for (const name of [vac, 'vac_query_my.docs']) t.match((await ask('tools/call', { name, arguments: { query: 'Hello?' } })).json.result, { structuredContent: { answer: /from my\.docs|my\.docs/ } })
    await nextTurn()
    for (const name of ['own.tool', /^own_tool_/] as const) {
      const listed = (await ask('tools/list')).json.result!.tools.map(({ name }: { name: string }) => name) as string[]
      t.match((await ask('tools/call', { name: typeof name === 'string' ? name : listed.find(one => name.test(one)) })).json.result, { content: [{ text: 'own' }] })
    }
    await nextTurn()
    t.match((await ask('tools/call', { name: 'own_tool' })).json.result, { content: [{ text: 'other' }] })
    t.match((await ask('prompts/get', { name: 'own.prompt' })).json.result, { messages: [{ content: { text: 'own.prompt' } }] })
  }
})
