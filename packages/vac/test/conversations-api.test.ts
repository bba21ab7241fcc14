import { createVacs, type Interpreter, type Principal } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import Fastify, { type FastifyInstance } from 'fastify'
import OpenAI from 'openai'
import { test, type Test } from 'tap'
import { vacPlugin } from '../src/index.js'

/** Answers with the history that it got; its passage has an address. */
const agent: Interpreter = (question, vac, history) => ({
  answer: `${vac}: ${history.map(({ role, content }) => `${role}=${content}`).join(', ')} | ${question} [1]`,
  source_documents: [{ page_content: 'a passage', metadata: { source: 'https://example.com/a', title: 'A' } }]
})

interface Service { readonly app: FastifyInstance, readonly clientOf: (owner: string, scopes?: string) => OpenAI }

async function serve (t: Test, { keeps = true, runs: hasRuns = true }: { keeps?: boolean, runs?: boolean } = {}): Promise<Service> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const vacs = createVacs({ vacs: ['docs', 'other'], streamInterpreter: agent })
  const authenticate = ({ headers }: { headers: Record<string, unknown> }): Principal => {
    const [owner, ...scopes] = String(headers.authorization).slice('Bearer '.length).split(' ')
    return { owner: owner!, ...scopes.length > 0 && { scopes } }
  }
  const app = Fastify()
  app.addHook('onClose', async () => { await tasks.close() })
  await app.register(vacPlugin, { vacs, authenticate, protocols: ['direct', 'openai', 'responses'], ...hasRuns && { runs: createRuns({ vacs, tasks, conversations: keeps }) } })
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, clientOf: (owner, scopes = '') => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: `${owner} ${scopes}`.trim(), maxRetries: 0 }) }
}

type Item = Record<string, any>
const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })
const assistant = (content: string) => ({ type: 'message' as const, role: 'assistant' as const, content })
const textOf = ({ type, content, ...item }: Item): string => type === 'message' ? `${item.role as string}: ${content.map(({ text }: Item) => text).join('')}` : type

async function itemsOf (client: OpenAI, id: string, order?: 'asc' | 'desc', limit?: number): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of client.conversations.items.list(id, { ...order !== undefined && { order }, ...limit !== undefined && { limit } })) items.push(item)
  return items
}

test('a conversation begins without a VAC, and belongs to that of its first question with all its items', async t => {
  const { app, clientOf } = await serve(t)
  const client = clientOf('alice')
  const created = await client.conversations.create({ metadata: { topic: 'tea' }, items: [user('My name is Ada.'), assistant('Hello Ada.')] })
  t.match(created, { id: /^conv_[\w-]{22}$/, object: 'conversation', created_at: Number, metadata: { topic: 'tea' } })
  t.match(await client.conversations.retrieve(created.id), created)
  t.match((await client.conversations.update(created.id, { metadata: { topic: 'coffee' } })).metadata, { topic: 'coffee' })
  t.strictSame((await client.conversations.retrieve(created.id)).metadata, { topic: 'coffee' })
  const list = async (vac: string): Promise<Item[]> => (await app.inject({ url: `/vac/${vac}/conversations`, headers: { authorization: 'Bearer alice' } })).json().conversations
  t.strictSame(await list('docs'), [])

  const first = await client.responses.create({ model: 'docs', conversation: created.id, input: 'What is my name?' })
  t.equal(first.output_text, 'docs: user=My name is Ada., assistant=Hello Ada. | What is my name? [1]')
  t.strictSame(first.conversation, { id: created.id })
  t.match(await list('docs'), [{ id: created.id, title: 'My name is Ada.', turn_count: 2 }])
  const second = await client.responses.create({ model: 'docs', conversation: { id: created.id }, input: [user('And now?')] })
  t.equal(second.output_text, `docs: user=My name is Ada., assistant=Hello Ada., user=What is my name?, assistant=${first.output_text} | And now? [1]`)
  await t.rejects(client.responses.create({ model: 'other', conversation: created.id, input: 'q' }), { status: 404, code: 'conversation_not_found' })

  const items = await itemsOf(client, created.id, 'asc')
  t.strictSame(items.map(textOf), ['user: My name is Ada.', 'assistant: Hello Ada.', 'user: What is my name?', `assistant: ${first.output_text}`, 'user: And now?', `assistant: ${second.output_text}`])
  const { content: [part] } = items[3]! as { content: [Item] }
  t.match(part.annotations, [{ type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: first.output_text.length - 3, end_index: first.output_text.length }])
  // the items of answers are those of their responses
  for (const [i, text] of [[2, 'What is my name?'], [3, first.output_text]] as const) {
    const asked = await client.responses.create({ model: 'docs', store: false, input: [{ type: 'item_reference', id: items[i]!.id }, user('Then?')] })
    t.match(asked.output_text, text)
  }

  t.strictSame(await client.conversations.delete(created.id), { id: created.id, object: 'conversation.deleted', deleted: true })
  t.strictSame(await list('docs'), [])
  const gone: ReadonlyArray<() => PromiseLike<unknown>> = [
    () => client.conversations.retrieve(created.id), () => client.conversations.delete(created.id), () => client.responses.create({ model: 'docs', conversation: created.id, input: 'q' })
  ]
  for (const ask of gone) {
    await t.rejects(async () => await ask(), { status: 404, code: 'conversation_not_found' })
  }
})

test('items of each type come back unchanged, in pages of both orders, and are deleted one by one', async t => {
  const client = (await serve(t)).clientOf('alice')
  const { id } = await client.conversations.create({ items: [] })
  t.strictSame(await itemsOf(client, id), [])
  const call = { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}', status: 'completed' }
  const written = await client.conversations.items.create(id, {
    items: [assistant('Welcome.'), { type: 'message', role: 'developer', content: 'Be short.' }, user('one'), call, { type: 'function_call_output', call_id: 'c', output: '2' }] as never
  })
  t.match(written, { object: 'list', first_id: written.data[0]!.id, last_id: written.data[4]!.id, has_more: false })
  // what follows in another request belongs to the question that has no answer
  await client.conversations.items.create(id, { items: [{ type: 'newest_type', some: { key: [1] } }, assistant('two'), assistant('three'), user('four')] as never })
  const all = ['assistant: Welcome.', 'developer: Be short.', 'user: one', 'function_call', 'function_call_output', 'newest_type', 'assistant: two', 'assistant: three', 'user: four']
  const items = await itemsOf(client, id, 'asc')
  t.strictSame(items.map(textOf), all)
  t.equal(new Set(items.map(item => item.id)).size, all.length)
  t.strictSame([items[3], items[5]], [{ ...call, id: items[3]!.id }, { type: 'newest_type', some: { key: [1] }, id: items[5]!.id }])
  for (const limit of [1, 2, 3, 100]) {
    t.strictSame((await itemsOf(client, id, 'asc', limit)).map(textOf), all, `${limit} at once`)
    t.strictSame((await itemsOf(client, id, undefined, limit)).map(textOf), all.toReversed(), `${limit} at once, the latest first`)
  }
  t.match(await client.conversations.items.list(id, { order: 'asc', limit: 2, after: items[1]!.id }), { data: [{ id: items[2]!.id }, { id: items[3]!.id }], has_more: true, last_id: items[3]!.id })
  t.strictSame(await client.conversations.items.retrieve(items[5]!.id, { conversation_id: id }), items[5])

  const remove = async (i: number): Promise<unknown> => await client.conversations.items.delete(items[i]!.id, { conversation_id: id })
  t.match(await remove(6), { id, object: 'conversation' })
  for (const gone of ['msg_none', items[6]!.id, `msg_${'0'.repeat(34)}i0000`]) {
    await t.rejects(client.conversations.items.retrieve(gone, { conversation_id: id }), { status: 404, code: 'item_not_found' })
    await t.rejects(client.conversations.items.delete(gone, { conversation_id: id }), { status: 404, code: 'item_not_found' })
    await t.rejects(client.conversations.items.list(id, { after: gone }), { status: 404, code: 'item_not_found' })
  }
  const answer = await client.responses.create({ model: 'docs', conversation: id, input: 'five' })
  t.equal(answer.output_text, 'docs: assistant=Welcome., user=one, assistant=three, user=four | five [1]')
  // its call is in the conversation
  const outputs = { conversation: (await client.conversations.create({ items: [user('add'), call] as never })).id, input: [{ type: 'function_call_output', call_id: 'c', output: '2' }] }
  t.match(await client.responses.create({ model: 'docs', ...outputs as object }), { output_text: 'docs: user=add | 2 [1]' })
  // as sessions of agents do it: the answer, then its question
  for (let i = 0; i < 2; i++) {
    const [latest] = (await client.conversations.items.list(id, { limit: 1 })).data
    await client.conversations.items.delete(latest!.id!, { conversation_id: id })
  }
  await t.rejects(client.responses.retrieve(answer.id), { status: 404, code: 'response_not_found' })
  await remove(2)
  t.strictSame((await itemsOf(client, id, 'asc')).map(textOf), ['assistant: Welcome.', 'developer: Be short.', 'user: four'])
})

test('another caller has no such conversation, byte for byte, and neither has one without its VAC', async t => {
  const { app, clientOf } = await serve(t)
  const alice = clientOf('alice')
  const fresh = (await alice.conversations.create({ items: [user('hers')] })).id
  const asked = (await alice.conversations.create()).id
  await alice.responses.create({ model: 'docs', conversation: asked, input: 'hers' })
  const send = async (who: string, method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object): Promise<string> => {
    const { statusCode, body } = await app.inject({ method, url: `/openai/v1/conversations/${url}`, headers: { authorization: `Bearer ${who}` }, ...payload !== undefined && { payload } })
    return `${statusCode} ${body}`
  }
  const unknown = 'conv_0123456789012345678901'
  for (const id of [fresh, asked]) {
    const item = (await alice.conversations.items.list(id)).data[0]!.id!
    for (const who of ['bob', ...id === asked ? ['alice vac:other'] : []]) {
      for (const [method, path, body] of [
        ['GET', ''], ['POST', '', { metadata: {} }], ['DELETE', ''], ['GET', '/items'], ['GET', `/items?after=${item}`], ['POST', '/items', { items: [user('q')] }], ['GET', `/items/${item}`], ['DELETE', `/items/${item}`]
      ] as const) {
        const answers = await Promise.all([id, unknown].map(async id => (await send(who, method, `${id}${path}`, body)).replaceAll(id, '')))
        t.equal(answers[0], answers[1])
        t.match(answers[0], /^404 .*Conversation with id '' not found.*"code":"conversation_not_found"/)
      }
    }
    t.equal((await itemsOf(alice, id)).length, id === asked ? 2 : 1)
  }
  await t.rejects(clientOf('bob').responses.create({ model: 'docs', conversation: fresh, input: 'q' }), { status: 404, code: 'conversation_not_found' })
  t.match(await alice.responses.create({ model: 'docs', conversation: fresh, input: 'q' }), { status: 'completed' })
})

test('a request has at most 20 items and 16 pairs of metadata, and names the item that is wrong', async t => {
  const client = (await serve(t)).clientOf('alice')
  const { id } = await client.conversations.create({})
  const wrong: ReadonlyArray<readonly [object, RegExp]> = [
    [{ items: Array.from({ length: 21 }, () => user('q')) }, /items/], [{ metadata: { ['k'.repeat(65)]: 'v' } }, /metadata/], [{ metadata: { k: 'v'.repeat(513) } }, /metadata/],
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, 'v'])) }, /metadata/], [{ items: [user('q'), { type: 'message', role: 'robot', content: 'q' }] }, /items\[1\]\.role/]
  ]
  for (const [body, param] of wrong) await t.rejects(client.conversations.create(body), { status: 400, code: 'invalid_value', param })
  await t.rejects(client.conversations.items.create(id, { items: wrong[0]![0] as never }), { status: 400, code: 'invalid_value' })
  await t.rejects(client.conversations.items.create(id, { items: [{ type: 'item_reference', id: 'msg_none' }] as never }), { status: 404, code: 'item_not_found' })
  await t.rejects(client.conversations.update(id, {} as never), { status: 400, code: 'invalid_value' })
  t.strictSame((await client.conversations.update(id, { metadata: null })).metadata, {})
  t.strictSame((await client.conversations.create({ items: Array.from({ length: 20 }, (_, i) => user(`${i}`)) })).metadata, {})
})

test('a service that keeps no conversations refuses them', async t => {
  for (const [settings, code] of [[{ runs: false }, 'unsupported_parameter'], [{ keeps: false }, 'conversations_not_kept']] as const) {
    const client = (await serve(t, settings)).clientOf('alice')
    await t.rejects(client.conversations.create({}), { status: 501, code })
    await t.rejects(client.conversations.retrieve('conv_0123456789012345678901'), { status: 501, code })
  }
})
