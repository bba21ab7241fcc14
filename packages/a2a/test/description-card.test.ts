import { test } from 'tap'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import Fastify from 'fastify'
import { createVacs } from '@polyvac/core'
import { SKILLS } from '@polyvac/core/plugin'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { a2aPlugin, AgentCard } from '../src/index.js'
import { serve } from './fixtures/app.js'
import { config, echo, noHits } from './fixtures/description.js'

const isCard = TypeCompiler.Compile(AgentCard)

test('the card has the fields of the description, and the skills of every VAC', async t => {
  const { app } = await serve(t, echo, {
    vacs: { vacs: { docs: config, my_vac_stream_x: {} }, parts: { docs: { memory: noHits } } },
    plugin: { publicUrl: 'https://agent.example/' }
  })
  const response = await app.inject('/.well-known/agent.json')
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^application\/json/)
  t.equal(response.headers['cache-control'], 'no-cache')
  const card = response.json() as AgentCard
  t.ok(isCard.Check(card))
  t.strictSame(card.capabilities, ['task_management', 'streaming', 'conversation', 'document_retrieval'])
  t.equal(card.url, 'https://agent.example')
  t.match(card.version, /^\d+\.\d+\.\d+/)
  t.match(card.metadata, { push_notifications: true, jwks_url: 'https://agent.example/.well-known/jwks.json' })
  t.strictSame(card.skills.map(({ name }) => name), [
    'vac_query_docs', 'vac_stream_docs', 'vac_memory_search_docs', 'vac_query_my_vac_stream_x', 'vac_stream_my_vac_stream_x'
  ])
  const byName = new Map(card.skills.map(skill => [skill.name, skill]))
  for (const [kind, name] of [['query', 'vac_query_docs'], ['stream', 'vac_stream_docs'], ['memory', 'vac_memory_search_docs']] as const) {
    const skill = byName.get(name)
    t.match(skill?.description, /The docs/, 'the display name is the description')
    t.same(skill?.input_schema, JSON.parse(JSON.stringify(SKILLS[kind].input)))
    t.same(skill?.output_schema, JSON.parse(JSON.stringify(SKILLS[kind].output)))
    t.strictSame(skill?.metadata, { vac_name: 'docs', model: 'm-1', agent_type: 'documents', memory_enabled: true })
    for (const [field, { type, description }] of Object.entries((skill?.input_schema as { properties: Record<string, { type: string, description: string }> }).properties)) {
      t.ok(type !== undefined && description !== undefined, `${name}: ${field} has a type and a description`)
    }
  }
  t.match(byName.get('vac_query_docs')?.description, /m-1/, 'a query skill mentions the model')
  t.same((byName.get('vac_query_docs')?.input_schema as { required: string[] }).required, ['query'])
  t.match((byName.get('vac_memory_search_docs')?.input_schema as { properties: object }).properties, { limit: { type: 'integer', default: 10, minimum: 1, maximum: 100 }, similarity_threshold: { type: 'number', default: 0.7, minimum: 0, maximum: 1 } })
  t.strictSame(byName.get('vac_query_my_vac_stream_x')?.metadata, { vac_name: 'my_vac_stream_x', model: null, agent_type: null, memory_enabled: false })
})

test('the card has the address that the caller used, and never that of an earlier caller', async t => {
  const url = async (plugin: object, server: object, url: string, headers: Record<string, string>): Promise<string> => {
    const { app } = await serve(t, echo, { plugin, server })
    await app.inject({ url, headers: { host: 'first.example' } })
    return (await app.inject({ url, headers })).json().url as string
  }
  const forwarded = { host: 'inner:8080', 'x-forwarded-host': 'outer.example', 'x-forwarded-proto': 'https' }
  const path = '/.well-known/agent.json'
  t.equal(await url({}, {}, path, { host: 'inner:8080' }), 'http://inner:8080')
  t.equal(await url({}, {}, path, forwarded), 'http://inner:8080', 'a header that anybody can send is no address')
  t.equal(await url({}, { trustProxy: true }, path, forwarded), 'https://outer.example')
  t.equal(await url({ publicUrl: 'https://fixed.example/x//' }, { trustProxy: true }, path, forwarded), 'https://fixed.example/x')
  t.equal(await url({ prefix: '/agents' }, {}, `/agents${path}`, { host: 'inner:8080' }), 'http://inner:8080/agents')
})

test('the agent has the name of the option, or that of the only VAC', async t => {
  const card = async (vacs: object, plugin: object): Promise<AgentCard> => (await (await serve(t, echo, { vacs, plugin })).app.inject('/.well-known/agent.json')).json()
  t.match(await card({ vacs: { docs: config } }, {}), { name: 'The docs', description: 'Knows fruit.' })
  t.match(await card({ vacs: ['a', 'b'] }, {}), { name: 'Polyvac agent', description: /a, b/ })
  t.match(await card({ vacs: ['a'] }, { agent: { name: 'N', description: 'D', version: '9.9.9' } }), { name: 'N', description: 'D', version: '9.9.9' })
  t.match(await card({ vacs: { a: { agent_version: '2.0.0' } } }, {}), { version: '2.0.0' })
  t.match(await card({ vacs: { a: { agent_version: '2.0.0' } } }, { agent: { version: '9.9.9' } }), { version: '9.9.9' })
  t.notMatch(await card({ vacs: { a: { agent_version: '2.0.0' }, b: {} } }, {}), { version: '2.0.0' }, 'several VACs have the version of the service')
})

test('vacNames: absent or null exposes all, an empty list none, a list only those; an unknown name is a start-up error', async t => {
  for (const [vacNames, exposed] of [[undefined, ['a', 'a_b']], [null, ['a', 'a_b']], [[], []], [['a_b'], ['a_b']], [['a', 'a'], ['a']]] as const) {
    const served = await serve(t, echo, { vacs: { vacs: ['a', 'a_b'] }, plugin: { vacNames } })
    const card = (await served.app.inject('/.well-known/agent.json')).json() as AgentCard
    t.strictSame(card.skills.map(({ name }) => name), exposed.flatMap(name => [`vac_query_${name}`, `vac_stream_${name}`]), JSON.stringify(vacNames))
    for (const name of ['a', 'a_b', 'nope']) {
      const task = await served.task('tasks/send', { skillName: `vac_query_${name}`, input: { query: 'x' } })
      if ((exposed as readonly string[]).includes(name)) t.equal(task.state, 'completed', name)
      else t.match(task, { state: 'failed', error: { code: 'A2A_SKILL_NOT_FOUND', message: new RegExp(`vac_query_${name}`) } }, `${name} is answered as one that does not exist`)
      if (!(exposed as readonly string[]).includes('a')) t.notMatch(task.error?.message, /did you mean "vac_query_a"/, 'and is not named')
    }
  }
  const tasks = sqliteTaskStore({ path: ':memory:' })
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: echo })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { vacs, tasks, vacNames: ['nope'] })), { code: 'A2A_PLUGIN_OPTIONS', message: /nope.*docs/ })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { tasks } as never)), { code: 'A2A_PLUGIN_OPTIONS', message: /vacs/ })
  await t.rejects(Promise.resolve(Fastify().register(a2aPlugin, { vacs } as never)), { code: 'A2A_PLUGIN_OPTIONS', message: /tasks/ })
})

test('a reload shows at once, and what it took away is answered as unknown', async t => {
  const served = await serve(t, echo, { vacs: { vacs: ['a', 'b'] }, plugin: { vacNames: ['a', 'b'] } })
  await served.vacs.replace({ vacs: ['b', 'c'], streamInterpreter: () => 'new' })
  const card = (await served.app.inject('/.well-known/agent.json')).json() as AgentCard
  t.strictSame(card.skills.map(({ name }) => name), ['vac_query_b', 'vac_stream_b'])
  t.match(await served.task('tasks/send', { skillName: 'vac_query_a', input: { query: 'x' } }), { state: 'failed' })
  t.match(await served.task('tasks/send', { skillName: 'vac_query_b', input: { query: 'x' } }), { state: 'completed', artifacts: [{ content: { answer: 'new' } }] })
})
