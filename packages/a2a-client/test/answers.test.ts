import { test } from 'tap'
import { withRunTurn } from '@polyvac/core/plugin'
import { until } from '../../../test/fixtures/until.js'
import { artifact, COMPLETED, json, rawAgent, status, stream, task, WORKING, type Json } from './fixtures/agent.js'
import { hear, open } from './fixtures/remote.js'
import { MAX_KEPT_ARTIFACTS, MAX_KEPT_PARTS, RemoteAnswer } from '../src/client/remote-answer.js'
import { readEvent } from '../src/protocol/read-event.js'
import type { RemoteEvent } from '../src/protocol/types.js'

test('text of several artifacts is in the order in which they began, and whole at the end', async t => {
  const of = (artifactId: string, text: string, append: boolean): Json => ({ artifactUpdate: { taskId: 'task-1', artifact: { artifactId, parts: [{ text }] }, append } })
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [task(WORKING), of('a', 'one', false), of('b', 'three', false), of('a', ' two', true), status(COMPLETED)]))
  const { text, answer } = await hear(open(t, raw.origin).vac, 'hi')
  t.equal(answer.answer, 'one two\n\nthree')
  t.equal(text, 'one\n\nthree\n\none two\n\nthree', 'a reader of text gets what could not be put in order again')
})

test('a first task without parts, chunks that only append, and a last update without text', async t => {
  const sources = { source_documents: [{ page_content: 'p', metadata: { source: 'a.md' } }] }
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [
    task('TASK_STATE_SUBMITTED'), artifact('Hello', { append: true }), artifact(' you', { append: true }),
    { artifactUpdate: { taskId: 'task-1', append: true, lastChunk: true, artifact: { artifactId: 'a', parts: [{ data: sources }] } } }, status(COMPLETED)
  ]))
  const { text, answer } = await hear(open(t, raw.origin).vac, 'hi')
  t.equal(text, 'Hello you')
  t.match(answer, { answer: 'Hello you', ...sources })
  t.notOk('artifacts' in answer)
})

test('a status is not the answer where there is one, and a history is where there is nothing else', async t => {
  const raw = await rawAgent(t, ({ id, params }, response) => params.message.parts[0].text === 'history'
    ? stream(response, id, [task(COMPLETED, { history: [{ role: 'ROLE_USER', messageId: '1', parts: [{ text: 'history' }] }, { role: 'ROLE_AGENT', messageId: '2', parts: [{ text: 'from the history' }] }] })])
    : stream(response, id, [task(WORKING), artifact('the answer'), status(COMPLETED, 'I am done')]))
  const { vac } = open(t, raw.origin)
  t.equal((await vac.ask({ question: 'hi' })).answer, 'the answer')
  t.equal((await vac.ask({ question: 'history' })).answer, 'from the history')
})

test('the address of a file that is not a page of the web is not passed on', async t => {
  const bad = ['javascript:alert(1)', 'JavaScript://x%0aalert(1)', ' javascript:alert(1)', 'data:text/html,<script>', 'data:text/html;base64,aGk=', 'vbscript:x', 'file:///etc/passwd', '/relative', '']
  const parts = [...bad, 'https://files.example/a.pdf'].flatMap(url => [{ url, filename: 'a' }, { file: { uri: url, name: 'b' } }])
  const raw = await rawAgent(t, ({ id }, response) => stream(response, id, [task(WORKING), artifact('Here'), { artifactUpdate: { taskId: 'task-1', artifact: { artifactId: 'f', parts } } }, status(COMPLETED)]))
  const { answer, chunks } = await hear(open(t, raw.origin).vac, 'hi') as any
  const urls = answer.artifacts.flatMap(({ parts }: any) => parts.map(({ url }: any) => url))
  t.strictSame(urls.filter(Boolean), ['https://files.example/a.pdf', 'https://files.example/a.pdf'])
  t.notMatch(JSON.stringify([answer, chunks]), /javascript|data:text|vbscript|etc.passwd/i)
})

test('an agent that refuses, rejects or needs an authorization', async t => {
  const raw = await rawAgent(t, ({ id, params }, response) => {
    const [{ text }] = params.message.parts
    const error = (code: number, message: string): true => json(response, 200, { jsonrpc: '2.0', id, error: { code, message } })
    if (text === 'type') return error(-32005, 'no such type')
    if (/^-\d+$/.test(text)) return error(Number(text), 'for a reason')
    if (text === 'boom') return error(-32603, 'it broke')
    if (text === 'rejected') return stream(response, id, [task(WORKING), status('TASK_STATE_REJECTED', 'not my field')])
    return stream(response, id, [task(WORKING), status('TASK_STATE_AUTH_REQUIRED', 'sign in at https://a.example')], false)
  })
  const { vac } = open(t, raw.origin)
  await t.rejects(vac.ask({ question: 'type' }), { code: 'REMOTE_AGENT_REFUSED', statusCode: 400, message: /no such type/ })
  const codes = { '-32001': 'REMOTE_AGENT_TASK_LOST', '-32602': 'REMOTE_AGENT_REFUSED', '-32007': 'REMOTE_AGENT_CARD', '-32008': 'REMOTE_AGENT_CARD', '-32009': 'REMOTE_AGENT_CARD', '-32601': 'REMOTE_AGENT_CARD', '-32099': 'REMOTE_AGENT_FAILED' }
  for (const [question, code] of Object.entries(codes)) {
    await t.rejects(vac.ask({ question }), { code, ...code === 'REMOTE_AGENT_CARD' && { message: new RegExp(`does not do what it states \\(${question}: for a reason\\)`) } }, question)
  }
  await t.rejects(vac.ask({ question: 'boom' }), { code: 'REMOTE_AGENT_FAILED', message: /it broke/ })
  t.match(await vac.ask({ question: 'rejected' }), { answer: 'not my field', rejected: true })
  t.match(await vac.ask({ question: 'auth' }), { auth_required: 'sign in at https://a.example' })
})

test('the reply after an authorization follows a task that went on by itself, and goes to one that still waits', async t => {
  let state = 'TASK_STATE_AUTH_REQUIRED'
  const raw = await rawAgent(t, ({ id, method, params }, response) => {
    const now = task(state, { artifacts: [{ artifactId: 'a', parts: [{ text: 'signed in' }] }] })
    if (method === 'GetTask') return json(response, 200, { jsonrpc: '2.0', id, result: now.task })
    if (method === 'SubscribeToTask') return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32004, message: 'it has ended' } })
    return stream(response, id, [params.message.taskId === undefined ? task('TASK_STATE_AUTH_REQUIRED') : task(COMPLETED, { artifacts: [{ artifactId: 'a', parts: [{ text: 'told' }] }] })])
  })
  const { vac } = open(t, raw.origin)
  for (const [run, then, answer] of [['r1', state, 'told'], ['r2', COMPLETED, 'signed in']] as const) {
    state = 'TASK_STATE_AUTH_REQUIRED'
    t.match(await vac.ask({ question: 'hi', extra: withRunTurn({}, { id: run, turn: 0 }) }), { auth_required: String })
    state = then
    t.equal((await vac.ask({ question: 'done', extra: withRunTurn({}, { id: run, turn: 0 }) })).answer, answer)
  }
  t.equal(raw.calls().filter(({ method }) => method === 'SendStreamingMessage').length, 3)
})

test('pages of HTML and errors of proxies are tried again with the same message, at most five times', async t => {
  let fails = 2
  const raw = await rawAgent(t, ({ id }, response) => {
    if (fails-- <= 0) return stream(response, id, [task(WORKING), artifact('at last'), status(COMPLETED)])
    return fails % 2 === 0 ? response.writeHead(502, { 'content-type': 'text/html' }).end('<html>') : response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  })
  const { vac } = open(t, raw.origin)
  t.equal((await vac.ask({ question: 'hi', extra: withRunTurn({}, { id: 'r', turn: 0 }) })).answer, 'at last')
  t.equal(raw.calls().length, 3)
  t.equal(new Set(raw.calls().map(({ params }) => params.message.messageId)).size, 1)
  fails = Infinity
  await t.rejects(vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAVAILABLE', statusCode: 503, message: /a body that is not JSON|status 502/ })
  t.equal(raw.calls().length, 8)
})

test('an error that is final is not tried again', async t => {
  const raw = await rawAgent(t, (_call, response) => response.writeHead(404).end('gone'))
  await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAVAILABLE', message: /status 404/ })
  t.equal(raw.calls().length, 1)
})

test('JSON that is not an answer of A2A is named', async t => {
  const raw = await rawAgent(t, ({ id }, response) => json(response, 200, { jsonrpc: '2.0', id, result: { hello: 1 } }))
  await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_ANSWER', message: /neither a task, nor an update of one, nor a message/ })
})

test('a stream that breaks in the middle is opened again; the task that it begins with replaces what came', async t => {
  const methods: string[] = []
  const raw = await rawAgent(t, ({ id, method }, response) => {
    methods.push(method)
    if (method === 'SendStreamingMessage') {
      stream(response, id, [task(WORKING), artifact('one ')], false)
      return setTimeout(() => response.destroy(), 20)
    }
    return stream(response, id, [task(WORKING, { artifacts: [{ artifactId: 'a', parts: [{ text: 'one two ' }] }] }), artifact('three', { append: true }), status(COMPLETED)])
  })
  const { text, answer } = await hear(open(t, raw.origin).vac, 'hi')
  t.equal(text, 'one two three')
  t.equal(answer.answer, 'one two three')
  t.strictSame(methods, ['SendStreamingMessage', 'SubscribeToTask'])
})

test('a task that has ended meanwhile is read, and one that is lost is named', async t => {
  let isLost = false
  const raw = await rawAgent(t, ({ id, method }, response) => {
    const error = (code: number): true => json(response, 200, { jsonrpc: '2.0', id, error: { code, message: 'no' } })
    if (method === 'SendStreamingMessage') return stream(response, id, [task(WORKING), artifact('one ')])
    if (method === 'SubscribeToTask') return error(isLost ? -32001 : -32004)
    return json(response, 200, { jsonrpc: '2.0', id, result: task(COMPLETED, { artifacts: [{ artifactId: 'a', parts: [{ text: 'one two' }] }] }).task })
  })
  const { vac } = open(t, raw.origin)
  t.equal((await hear(vac, 'hi')).text, 'one two')
  isLost = true
  await t.rejects(vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_TASK_LOST' })
})

test('after five failures to open the stream again, the task is read until it ends', async t => {
  let reads = 0
  const raw = await rawAgent(t, ({ id, method }, response) => {
    if (method === 'SendStreamingMessage') return stream(response, id, [task(WORKING)])
    if (method === 'SubscribeToTask') return response.writeHead(503).end()
    if (++reads < 3) return response.writeHead(503).end()
    return json(response, 200, { jsonrpc: '2.0', id, result: task(COMPLETED, { artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }] }).task })
  })
  t.equal((await hear(open(t, raw.origin).vac, 'hi')).text, 'done')
  t.equal(raw.calls().filter(({ method }) => method === 'SubscribeToTask').length, 5)
})

test('an agent that states streams and has none gets a message that does not wait', async t => {
  const raw = await rawAgent(t, ({ id, method }, response) => method === 'SendStreamingMessage'
    ? json(response, 200, { jsonrpc: '2.0', id, error: { code: -32004, message: 'no streams' } })
    : json(response, 200, { jsonrpc: '2.0', id, result: task(COMPLETED, { artifacts: [{ artifactId: 'a', parts: [{ text: 'fine' }] }] }) }))
  t.equal((await hear(open(t, raw.origin).vac, 'hi')).text, 'fine')
  t.match(raw.calls().at(-1), { method: 'SendMessage', params: { configuration: { returnImmediately: true } } })
})

test('an answer that does not end is refused', async t => {
  const raw = await rawAgent(t, (_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: ')
    const more = (): void => { if (!response.destroyed) response.write('x'.repeat(1024 * 1024), () => setImmediate(more)) }
    more()
    return true
  })
  await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_ANSWER', message: /more than \d+ bytes/ })
  const artifacts = new RemoteAnswer()
  const update = (artifactId: string, part: object): RemoteEvent => readEvent({ artifactUpdate: { taskId: 't', append: true, artifact: { artifactId, parts: [part] } } })!
  for (let n = 0; n < MAX_KEPT_ARTIFACTS; n++) artifacts.take(update(String(n), { text: 'x' }))
  t.throws(() => artifacts.take(update('last', { text: 'x' })), /more than 1000 artifacts/)
  const parts = new RemoteAnswer()
  for (let n = 0; n < MAX_KEPT_PARTS; n++) parts.take(update('a', { data: n }))
  t.throws(() => parts.take(update('a', { data: 1 })), /more than 10000 parts/)
  const chars = new RemoteAnswer()
  for (let n = 0; n < 64; n++) chars.take(update('a', { raw: 'x'.repeat(1024 * 1024) }))
  t.throws(() => chars.take(update('a', { raw: 'x' })), /67108864 characters/)
})

test('an answer that is not done in the time of its entry is canceled', async t => {
  const raw = await rawAgent(t, ({ id, method }, response) => method === 'CancelTask'
    ? json(response, 200, { jsonrpc: '2.0', id, result: task('TASK_STATE_CANCELED').task })
    : stream(response, id, [task(WORKING)], false))
  await t.rejects(open(t, raw.origin, { timeoutMs: 3_000 }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_TIMEOUT', statusCode: 504 })
  await until(() => raw.calls().some(({ method }) => method === 'CancelTask'), 'the task is canceled')
})

test('20,000 pieces of text take no longer than their number', async t => {
  const answer = new RemoteAnswer()
  let text = ''
  for (let n = 0; n < 20_000; n++) text += answer.take(readEvent({ artifactUpdate: { taskId: 't', append: n > 0, artifact: { artifactId: 'a', parts: [{ text: `word${n} ` }] } } })!)
  t.equal(text, answer.answer)
  t.equal(answer.remainder(), '')
})

test('what an agent nests too deep, wherever it has it, is refused as its mistake, and the next answer is read', async t => {
  const deep = (levels: number): Json => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
  // a value of JavaScript that is as deep cannot be printed
  const printed = (event: Json): string => JSON.stringify(event).replaceAll('"deep"', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
  const events: Record<string, Json> = {
    data: { artifactUpdate: { taskId: 'task-1', artifact: { artifactId: 'a', parts: [{ data: 'deep' }] } } },
    'metadata of an artifact': artifact('x', { artifact: { artifactId: 'a', parts: [], metadata: 'deep' } }),
    'metadata of a status': { statusUpdate: { taskId: 'task-1', status: { state: COMPLETED }, metadata: 'deep' } },
    'an unknown member': { task: { id: 'task-1', status: { state: COMPLETED }, more: 'deep' } },
    'data of a question': { statusUpdate: { taskId: 'task-1', status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ data: 'deep' }] } } } },
    'data of a message': { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ data: 'deep' }] } }
  }
  const raw = await rawAgent(t, ({ id, params }, response) => {
    const question = params.message?.parts[0].text as string
    if (question === 'error') return response.writeHead(200, { 'content-type': 'application/json' }).end(printed({ jsonrpc: '2.0', id, error: { code: -32603, message: 'x', data: 'deep' } }))
    if (question === 'whole') return response.writeHead(200, { 'content-type': 'application/json' }).end(printed({ jsonrpc: '2.0', id, result: events.data }))
    const levels = Number(question)
    if (levels > 0) return stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }, { data: deep(levels) }] } }])
    const event = events[question]
    if (event === undefined) return stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } }])
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${printed({ jsonrpc: '2.0', id, result: event })}\n\n`)
    return response.end()
  })
  const { vac } = open(t, raw.origin)
  for (const question of [...Object.keys(events), 'error', 'whole', '124']) {
    await t.rejects(vac.ask({ question }), { code: 'REMOTE_AGENT_ANSWER', statusCode: 502, message: /JSON that is nested deeper than 128 levels/ }, question)
  }
  for (const question of ['120', 'next']) t.equal((await vac.ask({ question })).answer, 'Yes.', question)
})
