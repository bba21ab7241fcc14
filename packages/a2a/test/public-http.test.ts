import { test, type Test } from 'tap'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import { serve, type Served } from './fixtures/app.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

const EVENTS = { accept: 'text/event-stream' }

async function agent (t: Test): Promise<Served> {
  return await serve(t, steered)
}

test('an error before a stream of 0.3 begins is an event stream of one frame, for a client that accepts events', async t => {
  const served = await agent(t)
  for (const [method, params, code] of [['message/stream', {}, -32602], ['tasks/resubscribe', { id: 'none' }, -32001]] as const) {
    const sent = await rpc(served, method, params, { version: '', headers: EVENTS, id: 7 })
    t.equal(sent.statusCode, 200)
    t.match(sent.headers['content-type'], /^text\/event-stream/)
    t.match(events(sent.payload).map(({ data }) => data), [{ jsonrpc: '2.0', id: 7, error: { code, data: { code: String } } }], method)
    const plain = await rpc(served, method, params, { version: '' })
    t.match(plain.headers['content-type'], /^application\/json/, `${method} without Accept`)
    t.match(plain.json(), { error: { code } })
  }
  for (const [method, version] of [['message/send', ''], ['SendStreamingMessage', '1.0']] as const) {
    t.match((await rpc(served, method, {}, { version, headers: EVENTS })).headers['content-type'], /^application\/json/, method)
  }
})

test('a request of 0.3 without an id is refused for its method or its params first, and never executed', async t => {
  const served = await agent(t)
  const send = async (method: string, params: Json, version = '0.3'): Promise<Json> => {
    const response = await served.app.inject({ method: 'POST', url: '/a2a', payload: { jsonrpc: '2.0', method, params }, headers: { 'a2a-version': version } })
    return response.json()
  }
  t.match(await send('no/such', {}), { id: null, error: { code: -32601 } })
  t.match(await send('message/send', {}), { id: null, error: { code: -32602, message: /message/ } })
  t.match(await send('tasks/get', { id: 7 }), { error: { code: -32602 } })
  t.match(await send('message/send', { message: message03('echo') }), { id: null, error: { code: -32600, message: /`id` is missing/ } })
  t.match(await send('tasks/get', { id: 'none' }), { error: { code: -32600 } }, 'the task is not looked for')
  t.match(await send('SendMessage', {}, '1.0'), { error: { code: -32600 } }, '1.0 checks the envelope first')
  t.match(await result(served, 'ListTasks', {}), { tasks: [], totalSize: 0 }, 'no message made a task')
})

test('HTTP+JSON answers in the media type that the client accepts', async t => {
  const served = await agent(t)
  const typeOf = async (accept: string | undefined, type = 'application/json', payload: object = { message: message('echo') }): Promise<unknown> => {
    const headers = { 'a2a-version': '1.0', 'content-type': type, ...accept === undefined ? {} : { accept } }
    const response = await served.app.inject({ method: 'POST', url: '/a2a/v1/message:send', payload, headers })
    return String(response.headers['content-type']).split(';')[0]
  }
  const [json, a2a] = ['application/json', 'application/a2a+json']
  t.equal(await typeOf(a2a), a2a)
  t.equal(await typeOf(`${a2a}, ${json}`, a2a), a2a, 'both: the type of the body')
  t.equal(await typeOf(a2a, json, {}), a2a, 'an error, too')
  t.equal(await typeOf(json, a2a), json)
  t.equal(await typeOf('*/*', a2a), a2a, 'without a preference, the type of the body')
  t.equal(await typeOf(undefined, a2a), a2a)
  t.equal(await typeOf('*/*'), json)
  const read = await served.app.inject({ url: '/a2a/v1/tasks', headers: { 'a2a-version': '1.0', accept: a2a } })
  t.match(read.headers['content-type'], a2a)
})
