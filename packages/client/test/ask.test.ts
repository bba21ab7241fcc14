import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { ask, resume, ServiceError, stop, UnreachableError, type ProtocolName, type Update } from '../src/index.js'
import { MAX_EVENT_BYTES } from '../src/events.js'
import { until } from '../../../test/fixtures/until.js'
import { cutting, serve } from './fixtures/service.js'
import { read } from './fixtures/read.js'
import '../../../test/fixtures/timeout.mjs'

const PROTOCOLS: readonly ProtocolName[] = ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp']
const SOURCE = { page_content: 'Tea is hot.', metadata: { source: 'tea.md' } }

const agent: Interpreter = async function * (question, _vac, history) {
  yield { reasoning: 'thinks' }
  yield { tool_call: { id: 'c', name: 'kettle', input: { cups: 1 } } }
  yield { tool_result: { id: 'c', output: 'hot' } }
  yield { progress: 0.5, message: 'half' }
  yield 'Grüße: '
  yield `${question} 🫖`
  yield ` after ${history.map(({ role, content }) => `${role} ${content}`).join(', ')}`
  return { answer: `Grüße: ${question} 🫖 after ${history.map(({ role, content }) => `${role} ${content}`).join(', ')}`, source_documents: [SOURCE], metadata: { n: 7 } }
}

test('each protocol brings the same text, sources and history', async t => {
  const base = await serve(t, agent)
  const history = [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }] as const
  for (const protocol of PROTOCOLS) {
    const { text, texts, updates, last, steps } = await read(ask(protocol, { base: `${base}/`, vac: 'docs', text: 'tea', history }))
    t.equal(text, 'Grüße: tea 🫖 after user a, assistant b', protocol)
    // the record of a task or a run that ends early has the whole text at once
    t.ok(texts.length > 1 || ['a2a', 'responses', 'ai_sdk', 'ag_ui'].includes(protocol), `${protocol}: text arrives in pieces`)
    t.strictSame(updates.flatMap(({ sources = [] }) => sources), [SOURCE], protocol)
    t.equal(last.done, true)
    t.equal(updates.filter(({ done }) => done).length, 1)
    t.strictSame(steps, [], `${protocol}: no steps without the ask`)
    t.equal(updates.some(({ progress }) => progress === 0.5), ['direct', 'a2a', 'ai_sdk', 'ag_ui'].includes(protocol), protocol)
  }
})

test('steps come where the question asks for them', async t => {
  const base = await serve(t, agent)
  const result = { tool_result: { id: 'c', state: 'completed', output: 'hot' } }
  for (const protocol of PROTOCOLS) {
    const { steps, text } = await read(ask(protocol, { base, vac: 'docs', text: 'tea', steps: true }))
    t.match(steps, protocol === 'responses' ? [{ reasoning: 'thinks' }, { reasoning: 'Calls kettle' }, { reasoning: /^kettle is done/ }, { reasoning: 'half' }] : protocol === 'openai' ? [{ reasoning: 'thinks' }] : [{ reasoning: 'thinks' }, { tool_call: { id: 'c', name: 'kettle', input: { cups: 1 } } }, result], protocol)
    t.equal(text, 'Grüße: tea 🫖 after ', protocol)
  }
})

test('a question of the agent is answered with `reply`', async t => {
  const base = await serve(t, async function * (question, _vac, history, { input }) {
    const text = [question, ...history.map(({ content }) => content), String(input ?? '')].join(' ')
    if (!text.includes('green')) return { answer: '', input_required: 'Which tea?' }
    yield 'green it is'
  })
  for (const protocol of ['responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp'] as const) {
    const first = await read(ask(protocol, { base, vac: 'docs', text: 'tea' }))
    t.match(first.last, { input: { text: 'Which tea?' }, done: true }, protocol)
    // a page keeps it over a reload
    const reply = JSON.parse(JSON.stringify(first.last.input)) as Update['input']
    const second = await read(ask(protocol, { base, vac: 'docs', text: 'green', reply }))
    t.equal(second.text, 'green it is', protocol)
    t.equal(second.last.done, true)
  }
  t.match((await read(ask('direct', { base, vac: 'docs', text: 'tea' }))).last, { input: { text: 'Which tea?' }, done: true })
})

test('an answer in the background goes on without its reader, is read from its cursor, and is stopped', async t => {
  let go = (): void => {}
  let gate: Promise<void>
  let aborted = 0
  const base = await serve(t, async function * (question, _vac, _history, { signal }) {
    signal.addEventListener('abort', () => { aborted++ })
    yield 'one '
    await gate
    if (question === 'forever') await new Promise(() => {})
    yield 'two'
  })
  for (const protocol of ['direct', 'responses', 'ai_sdk', 'ag_ui', 'a2a'] as const) {
    gate = new Promise<void>(resolve => { go = resolve })
    const question = { base, vac: 'docs', text: 'count', background: true }
    let seen: Update = {}
    let text = ''
    for await (const update of ask(protocol, question)) {
      seen = { ...seen, ...update }
      text = update.text ?? text + (update.delta ?? '')
      if (text === 'one ') break
    }
    t.match(seen, { run: /./, cursor: /^[\d-]+$/, conversation: /./ }, protocol)
    go()
    const rest = await read(resume(protocol, { base, vac: 'docs', run: seen.run!, after: seen.cursor }))
    t.equal(rest.updates.map(({ delta = '' }) => delta).join(''), 'two', protocol)
    t.match(rest.last, { done: true, run: seen.run! })
    t.match((await read(resume(protocol, { base, vac: 'docs', run: seen.run! }))).text, 'one two', `${protocol}: from its beginning`)

    const stopped = ask(protocol, { ...question, text: 'forever' })
    let run = ''
    await t.rejects(read(stopped, update => {
      if (run !== '' || update.run === undefined) return
      run = update.run
      void stop(protocol, { base, vac: 'docs', run })
    }), { name: 'ServiceError', code: /CANCELL?ED$/ }, protocol)
    await until(() => aborted > 0, 'the interpreter is aborted')
    aborted = 0
    await t.rejects(read(resume(protocol, { base, vac: 'docs', run: '00000000-0000-4000-8000-000000000000' })), { name: 'ServiceError' }, protocol)
  }
})

test('further fields of a question reach the interpreter', async t => {
  const base = await serve(t, (question, _vac, _history, { language }) => `${question} in ${String(language)}`)
  t.equal((await read(ask('direct', { base, vac: 'docs', text: 'tea', fields: { language: 'de', stream_timeout: 5, user_input: 'x' } }))).text, 'tea in de')
})

test('questions of one conversation name it', async t => {
  const base = await serve(t, question => question)
  const first = await read(ask('direct', { base, vac: 'docs', text: 'a', conversation: 'tea/ä' }))
  t.equal(first.last.conversation, 'tea/ä')
  const response = await read(ask('responses', { base, vac: 'docs', text: 'a', conversation: 'r-1' }))
  t.equal(response.last.conversation, 'r-1')
  const thread = await read(ask('ag_ui', { base, vac: 'docs', text: 'a', conversation: 't-1' }))
  t.equal(thread.last.conversation, 't-1')
  const task = await read(ask('a2a', { base, vac: 'docs', text: 'a', conversation: 'c-1' }))
  t.equal(task.last.conversation, 'c-1')
})

test('a failure has the code, the status and the text of the service', async t => {
  const base = await serve(t, async function * (question) {
    if (question === 'late') yield 'text'
    throw new Error('secret')
  })
  for (const protocol of PROTOCOLS) {
    for (const text of ['early', 'late']) {
      const error: ServiceError = await read(ask(protocol, { base, vac: 'docs', text })).then(() => t.fail('no error'), err => err)
      t.ok(error instanceof ServiceError, `${protocol} ${text}: ${error.stack}`)
      t.match(error.code, /FAILED$/i, `${protocol} ${text}`)
      t.match(error.message, /failed|request id/, `${protocol} ${text}`)
      t.notMatch(error.message, /secret/)
    }
    const unknown: ServiceError = await read(ask(protocol, { base, vac: 'dosc', text: 'x' })).then(() => t.fail('no error'), err => err)
    t.match(unknown.message, /docs/, `${protocol}: the near match`)
    t.equal(unknown.status, protocol === 'a2a' || protocol === 'mcp' ? unknown.status : 404, protocol)
  }
})

test('a service that refuses for a while, and one that is not there, are distinct', async t => {
  const server = createServer((_request, response) => {
    response.writeHead(429, { 'retry-after': '7', 'content-type': 'application/json', 'x-request-id': 'r-1' })
    response.end('{"error":{"code":"RATE_LIMIT","message":"too many requests"}}')
  }).listen(0, '127.0.0.1')
  await until(() => server.listening, 'the server listens')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const protocol of PROTOCOLS) {
    await t.rejects(read(ask(protocol, { base, vac: 'docs', text: 'x' })), { name: 'ServiceError', code: 'RATE_LIMIT', status: 429, retryAfter: 7, message: 'too many requests', requestId: 'r-1' }, protocol)
  }
  await new Promise(resolve => server.close(resolve))
  for (const protocol of PROTOCOLS) {
    const error: unknown = await read(ask(protocol, { base, vac: 'docs', text: 'x' })).catch((err: unknown) => err)
    t.ok(error instanceof UnreachableError && error.code === 'SERVICE_UNREACHABLE' && error.cause instanceof Error, protocol)
  }
})

test('a signal stops the answer, and so does leaving the loop', async t => {
  let aborted = 0
  const base = await serve(t, async function * (_question, _vac, _history, { signal }) {
    signal.addEventListener('abort', () => { aborted++ })
    yield 'begun'
    await new Promise(() => {})
  })
  for (const protocol of ['direct', 'openai', 'mcp'] as const) {
    const controller = new AbortController()
    await t.rejects(read(ask(protocol, { base, vac: 'docs', text: 'x', signal: controller.signal }), ({ delta }) => { if (delta) controller.abort(new Error('enough')) }), { message: 'enough' }, protocol)
    await until(() => aborted === 1, `${protocol}: aborted`)
    for await (const { delta } of ask(protocol, { base, vac: 'docs', text: 'x' })) if (delta) break
    await until(() => aborted === 2, `${protocol}: aborted`)
    aborted = 0
    await t.rejects(read(ask(protocol, { base, vac: 'docs', text: 'x', signal: AbortSignal.abort(new Error('before')) })), { message: 'before' })
  }
})

test('what never ends has a bound, and what is of another protocol is named', async t => {
  let body: (write: (text: string) => boolean, end: () => void) => void = () => {}
  let type = 'text/event-stream'
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': type })
    body(text => response.write(text), () => response.end())
  }).listen(0, '127.0.0.1')
  await until(() => server.listening, 'the server listens')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const question = { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, vac: 'docs', text: 'x' }
  const piece = 'x'.repeat(1024 * 1024)
  for (const [what, start] of [['a line', 'data: '], ['lines of one event', 'data: a\ndata: '], ['a body', '']] as const) {
    type = start === '' ? 'application/json' : 'text/event-stream'
    body = write => {
      write(start)
      for (let bytes = 0; bytes <= MAX_EVENT_BYTES; bytes += piece.length) write(what === 'lines of one event' ? `${piece}\ndata: ` : piece)
    }
    for (const protocol of PROTOCOLS) await t.rejects(read(ask(protocol, question)), { code: 'RESPONSE_TOO_LARGE' }, `${protocol}: ${what}`)
  }
  type = 'text/event-stream'
  for (const [what, text, code] of [['no JSON', 'data: hello\n\n', 'RESPONSE_INVALID'], ['no end', 'data: {"chunk":"a"}\n\n', 'STREAM_CUT'], ['half an event', 'data: {"answer":"a"}\n', 'STREAM_CUT']] as const) {
    body = (write, end) => { write(text); end() }
    await t.rejects(read(ask('direct', question)), { code }, what)
  }
  // comments do not count as an event
  body = (write, end) => {
    for (let bytes = 0; bytes <= MAX_EVENT_BYTES; bytes += 1024 * 1024) write(`: ${'x'.repeat(1024 * 1024 - 3)}\n`)
    write('data: {"answer":"ok"}\n\n')
    end()
  }
  t.equal((await read(ask('direct', question))).text, 'ok')
})

test('the answer of an agent that streams nothing, and an event over several lines, are read', async t => {
  const replies: Record<string, [type: string, body: string]> = {
    '/a': ['application/json', JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'x', parts: [{ text: 'Hello ' }] }, { artifactId: 'y', parts: [{ text: 'task' }] }] } } })],
    '/b': ['application/json', '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hello message"}]}}}'],
    '/c': ['text/event-stream', 'data: {"jsonrpc":"2.0","id":1,\r\ndata: "result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}\r\n\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"1","parts":[{"kind":"text","text":"Hel"}]}}}\r\n\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"kind":"artifact-update","taskId":"t","append":true,"artifact":{"artifactId":"1","parts":[{"kind":"text","text":"lo"}]}}}\r\n\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"2","parts":[{"kind":"text","text":" two"}]}}}\r\n\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"}}}\r\n\r\n'],
    '/d': ['text/event-stream', 'data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","status":{"state":"auth-required","message":{"parts":[{"text":"See https://as.example/in."}]}}}}\n\ndata: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","status":{"state":"completed","message":{"parts":[{"text":"in"}]}}}}\n\n'],
    '/chat/completions': ['application/json', '{"choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}]}']
  }
  const bodies: any[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => { body += piece }).on('end', () => {
      bodies.push(JSON.parse(body))
      const [type, text] = replies[request.url!]!
      response.writeHead(200, { 'content-type': type }).end(text)
    })
  }).listen(0, '127.0.0.1')
  await until(() => server.listening, 'the server listens')
  t.teardown(() => server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const question = { base, vac: 'docs', text: 'x' }
  for (const [path, version, text] of [['a', '1.0', 'Hello task'], ['b', '1.0', 'Hello message'], ['c', '0.3', 'Hello two'], ['d', '0.3', 'in']] as const) {
    const answer = await read(ask('a2a', { ...question, url: `${base}/${path}`, version }))
    t.equal(answer.text, text, path)
    if (path === 'd') t.match(answer.updates[0], { signIn: { text: 'See https://as.example/in.', url: /^https:\/\/as\.example\/in/ } })
  }
  t.match(bodies[0], { method: 'SendStreamingMessage', params: { message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } } })
  t.match(bodies[2], { method: 'message/stream', params: { message: { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'x' }] } } })
  t.equal((await read(ask('openai', { ...question, url: base }))).text, 'whole')
})

test('a stream of responses or of a chat that is cut goes on where it ended', async t => {
  const target = await serve(t, async function * () {
    for (let i = 0; i < 20; i++) {
      await new Promise(resolve => setTimeout(resolve, 10))
      yield `word ${i} `
    }
  })
  for (const [protocol, first, more] of [['responses', 2_500, 1_500], ['ai_sdk', 1_000, 400], ['ag_ui', 900, 300]] as const) {
    let limit = first - more
    const { base, cuts } = await cutting(t, target, () => { limit += more; return limit })
    const { text, updates } = await read(ask(protocol, { base, vac: 'docs', text: 'count' }))
    t.equal(text, Array.from({ length: 20 }, (_, i) => `word ${i} `).join(''), protocol)
    t.equal(updates.map(({ delta = '' }) => delta).join(''), text, `${protocol}: each piece comes once`)
    t.ok(cuts() > 0, protocol)
  }
})
