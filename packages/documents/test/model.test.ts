import fc from 'fast-check'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import type { InterpreterChunk } from '@polyvac/core'
import { documentsInterpreter } from '../src/index.js'
import { openaiInterpreter } from '../src/model.js'
import { Citations } from '../src/answer/citations.js'
import { findModel } from '../src/model/model-server.js'
import { ThinkingFilter } from '../src/model/thinking.js'
import { ask, extraOf } from './fixtures/ask.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'
import { fakeOpenai, type Fault } from './fixtures/openai-server.js'

const QUESTION = 'How do I cancel a task?'

function vacFor (url: string, more: object = {}): { vac: object } {
  return { vac: { model: 'fake-model', openai: { base_url: url, api_key: 'sk-secret', ...more } } }
}

/** The test process may itself run where a model is configured. */
function withoutEnvironment (t: Test): void {
  for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY']) {
    const value = process.env[name]
    delete process.env[name]
    t.teardown(() => { if (value !== undefined) process.env[name] = value })
  }
}

test('a model gets numbered passages, and its text is streamed with correct citations', async t => {
  const server = await fakeOpenai(t, 'none', ['Post `tasks/cancel`', ' [2', '] or', ' not [', '9]', '.', ' See a[1].'])
  const { chunks, text, final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, vacFor(server.url))
  t.equal(text, 'Post `tasks/cancel` [1] or not. See a[2].')
  t.equal(final.answer, text)
  t.ok(chunks.filter(chunk => typeof chunk === 'string').length > 2)
  t.equal(final.source_documents.length, 2)
  t.match(final.metadata, { mode: 'model', model: 'fake-model', removed_citations: 1, answered: true, usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 } })
  t.match(server.requests[0]?.body, { stream_options: { include_usage: true } }, 'servers send the usage of a stream only when asked')
  const [{ body, authorization } = { body: undefined, authorization: undefined }] = server.requests
  t.equal(authorization, 'Bearer sk-secret')
  t.match(body?.messages[0]?.content, /\[1\] Guide > Cancel a task \(guide\.md\)\nTo cancel a task/)
  t.equal(body?.messages.at(-1)?.content, QUESTION)
})

for (const fault of ['cut', 'error-event', 'bad-json', 'reset', '500', '429', 'hang', 'empty'] satisfies Fault[]) {
  test(`a model that fails with ${fault} before its first text gives way to the documents`, async t => {
    const server = await fakeOpenai(t, fault)
    const interpreter = documentsInterpreter(await memoryOf(t, GUIDE), { modelTimeoutMs: fault === 'hang' ? 1_000 : 10_000 })
    const { text, final } = await ask(interpreter, QUESTION, vacFor(server.url))
    t.match(text, /^To cancel a task, post/)
    t.equal(final.answer, text)
    t.match(final.metadata, { mode: 'extractive-fallback', reason: String })
    t.notMatch(JSON.stringify(final), 'sk-secret')
    t.equal(server.requests.length, 1)
  })
}

for (const fault of ['cut-late', 'error-event-late', 'reset-late', 'no-finish-late', 'hang-late'] satisfies Fault[]) {
  test(`a model that fails with ${fault} after its first text fails the answer`, async t => {
    const server = await fakeOpenai(t, fault)
    const timeoutMs = fault === 'hang-late' ? 1_000 : 10_000
    const interpreter = documentsInterpreter(await memoryOf(t, GUIDE), { modelTimeoutMs: timeoutMs })
    await t.rejects(ask(interpreter, QUESTION, vacFor(server.url)), { code: 'DOCUMENTS_MODEL_FAILED', statusCode: 502 })
    await t.rejects(ask(openaiInterpreter({ timeoutMs }), QUESTION, vacFor(server.url)), { code: 'DOCUMENTS_MODEL_FAILED' })
    t.equal(server.requests.length, 2)
  })
}

for (const fault of ['hang', 'hang-late'] satisfies Fault[]) {
  test(`leaving during ${fault} closes the connection to the model`, async t => {
    const server = await fakeOpenai(t, fault)
    const controller = new AbortController()
    const answer = openaiInterpreter()(QUESTION, 'v', [], extraOf({ ...vacFor(server.url), signal: controller.signal })) as AsyncGenerator<InterpreterChunk>
    if (fault === 'hang-late') for (let at = 0; at < 2; at++) await answer.next()
    const next = answer.next()
    next.catch(() => undefined)
    await until(() => server.requests.length > 0, 'the request reaches the model server')
    controller.abort(new Error('left'))
    await t.rejects(next, { message: 'left' })
    await server.closed
  })
}

test('a reader that stops reading closes the connection to the model', async t => {
  const server = await fakeOpenai(t, 'hang-late')
  const answer = openaiInterpreter()(QUESTION, 'v', [], extraOf(vacFor(server.url))) as AsyncGenerator<InterpreterChunk>
  await answer.next()
  await answer.return(undefined)
  await server.closed
})

test('off-topic questions are not sent to the model', async t => {
  const server = await fakeOpenai(t, 'none')
  const { text } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'capital of France', vacFor(server.url))
  t.match(text, /^The documents do not answer this/)
  t.equal(server.requests.length, 0)
})

test('openai forwards the whole conversation', async t => {
  const server = await fakeOpenai(t, 'none')
  const history = [{ role: 'system' as const, content: 'Be brief.' }, { role: 'user' as const, content: 'Hi' }, { role: 'assistant' as const, content: 'Hello' }]
  const { text, final } = await ask(openaiInterpreter(), 'Go on', vacFor(server.url, { model: 'other' }), history)
  t.equal(text, 'Hello world')
  t.equal(final.answer, text)
  t.equal(server.requests[0]?.body.model, 'other')
  t.strictSame(server.requests[0]?.body.messages.map(message => message.content), ['Be brief.', 'Hi', 'Hello', 'Go on'])
})

test('auto takes the first chat model that the server lists', async t => {
  withoutEnvironment(t)
  const server = await fakeOpenai(t, 'none')
  process.env['OPENAI_BASE_URL'] = server.url
  t.teardown(() => { delete process.env['OPENAI_BASE_URL'] })
  const { final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac: { model: 'auto' } })
  t.match(final.metadata, { mode: 'model', model: 'fake-model', usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 } })
  const empty = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac: { model: 'auto', openai: { base_url: '', api_key: '' } } })
  t.match(empty.final.metadata, { mode: 'model', model: 'fake-model' }, 'an empty value is one of a variable that is not set')
})

test('auto sends no key to a server that it finds on this machine', async t => {
  withoutEnvironment(t)
  process.env['OPENAI_API_KEY'] = 'sk-secret'
  t.teardown(() => { delete process.env['OPENAI_API_KEY'] })
  const seen: unknown[] = []
  const server = createHttpServer((request, response) => {
    seen.push([request.url, JSON.stringify(request.headers).includes('sk-secret')])
    if (request.url === '/v1/models') response.end('{"data":[{"id":"found"}]}')
    else response.writeHead(400).end()
  })
  t.teardown(() => server.close())
  // the first of the ports that the machine leaves free
  for (const port of [11434, 1234, 8080, 8000]) {
    server.listen(port, '127.0.0.1')
    if (await once(server, 'listening').then(() => true, () => false)) break
  }
  if (!server.listening) return t.pass('not tested', { skip: 'another program has each of the ports' })
  await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac: { model: 'auto' } })
  t.match(seen, [['/v1/models', false], ['/v1/chat/completions', false]])
})

test('without a model server documents answers with a note, and openai fails', async t => {
  withoutEnvironment(t)
  const { final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac: { model: 'gpt-4o' } })
  t.match(final.metadata, { mode: 'extractive-fallback', reason: 'no server is configured for the model' })
  await t.rejects(ask(openaiInterpreter(), QUESTION, { vac: { model: 'gpt-4o' } }), { code: 'DOCUMENTS_MODEL_NOT_FOUND' })
})

test('a missing model server is reported as unreachable', async t => {
  const memory = await memoryOf(t, GUIDE)
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  free.close()
  await once(free, 'close')
  // port 9 is one that no client connects to
  for (const closed of [port, 9]) {
    const { final } = await ask(documentsInterpreter(memory), QUESTION, vacFor(`http://127.0.0.1:${closed}/v1`))
    t.match(final.metadata, { mode: 'extractive-fallback', reason: /^the server cannot be reached/ })
  }
})

test('a long question reaches the model uncut', async t => {
  const server = await fakeOpenai(t, 'none')
  const question = `How do I cancel a task?${' Please.'.repeat(1_000)}`
  await ask(documentsInterpreter(await memoryOf(t, GUIDE)), question, vacFor(server.url))
  t.equal(server.requests[0]?.body.messages.at(-1)?.content, question)
})

test('without a model, or with extractive, no server is called', async t => {
  const server = await fakeOpenai(t, 'none')
  const { final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac: { model: 'extractive', openai: { base_url: server.url } } })
  t.equal(final.metadata['mode'], 'extractive')
  t.equal(server.requests.length, 0)
})

test('citations in other brackets and as a range are read, and code is not', t => {
  const read = (text: string): { text: string, cited: number[] } => {
    const citations = new Citations({ length: 3 })
    return { text: citations.push(text) + citations.end(), cited: citations.cited }
  }
  t.strictSame(read('One【2】, two [1-3], three [2 – 3].'), { text: 'One[1], two [2][1][3], three [1][3].', cited: [1, 0, 2] })
  for (const text of ['`a[1-2]`', 'in [2020-2024]', 'match [0-9]', 'all of [1-999999999999]']) t.strictSame(read(text), { text, cited: [] })
  t.end()
})

test('the reason names what the server of a model did', async t => {
  const server = createHttpServer((request, response) => { request.url === '/busy/models' ? response.writeHead(503).end() : response.end(request.url === '/page/models' ? '<html>' : '{"data":[]}') })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const embedding = async (baseUrl: string): Promise<unknown> => await findModel({ model: 'auto', openai: { base_url: baseUrl } }, { kind: 'embedding', signal: AbortSignal.timeout(10_000) })
  t.match(await embedding(`${url}/busy`), { reason: 'no model is named, and the list of the server has HTTP 503' })
  t.match(await embedding(`${url}/page`), { reason: 'no model is named, and the server sent an unreadable response' })
  t.match(await embedding(`${url}/none`), { reason: 'no model is named, and the server lists none that embeds' })
  const closed = createServer()
  await once(closed.listen(0, '127.0.0.1'), 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => { closed.close(resolve) })
  t.match(await embedding(`http://127.0.0.1:${port}/v1`), { reason: 'no model is named, and the server cannot be reached (ECONNREFUSED)' })
})

test('citations are the same for any split of the text into tokens, and all are correct', async t => {
  const part = fc.constantFrom('word', ' ', '[1]', '[2, 3]', '[9]', '[', ']', '`', '`a[1]`', '【1】', '[1-', '[link](x)', '\n', '[^2]', '.', ' [12')
  fc.assert(fc.property(fc.array(part, { maxLength: 30 }), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (parts, sizes) => {
    const whole = parts.join('')
    const read = (pieces: readonly string[]): string => {
      const citations = new Citations({ length: 3 })
      return pieces.map(piece => citations.push(piece)).join('') + citations.end()
    }
    const pieces: string[] = []
    for (let at = 0, turn = 0; at < whole.length; turn++) {
      const size = sizes[turn % sizes.length] as number
      pieces.push(whole.slice(at, at + size))
      at += size
    }
    const out = read(pieces)
    return out === read([whole]) && (whole.includes('`') || !out.includes('[9]'))
  }), { numRuns: 1_000 })
})

test('the thoughts of a model are progress, and never text of the answer, of its citations or of its grounding', async t => {
  const thought = ['<thi', 'nk>\nThe user asks [2]. ```', '</thin', 'k>\n\n', 'Post `tasks/cancel` [1].']
  for (const words of [thought, ['<thinking>Hm. Elephants fly.</thinking>Post `tasks/cancel` [1].'], ['[THINK]Hm.[/THINK] Post `tasks/cancel` [1].']]) {
    const server = await fakeOpenai(t, 'none', words)
    const { chunks, text, final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, vacFor(server.url))
    t.equal(text, 'Post `tasks/cancel` [1].')
    t.equal(final.answer, text)
    t.equal(final.source_documents.length, 1)
    t.equal(chunks.filter(chunk => typeof chunk === 'object' && 'message' in chunk && chunk.message === 'thinking').length, 1)
    const chat = await ask(openaiInterpreter(), QUESTION, vacFor(server.url))
    t.equal(chat.final.answer, text)
    t.equal(chat.text, text)
  }
  const opened = await fakeOpenai(t, 'none', ['The user wants [2] to cancel. ', '</think>', '\nPost `tasks/cancel` [1].'])
  for (const interpreter of [documentsInterpreter(await memoryOf(t, GUIDE)), openaiInterpreter()]) {
    const { final } = await ask(interpreter, QUESTION, vacFor(opened.url))
    t.equal(final.answer, 'Post `tasks/cancel` [1].', 'a tag that closes what the prompt of a template opened')
  }
  const endless = await fakeOpenai(t, 'none', ['<think>and so on'])
  t.match((await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, vacFor(endless.url))).final, { metadata: { mode: 'extractive-fallback', reason: 'the model returned no text' } })
})

test('thoughts are the same for any split of the text, and tags in code are text', t => {
  const read = (pieces: readonly string[]): string => {
    const filter = new ThinkingFilter()
    return [...pieces.flatMap(piece => filter.push(piece)), ...filter.end()].map(String).join('')
  }
  for (const code of ['Write `<think>` first.', '```\n<think>\n</think>\n```\nDone.', '- ~~~xml\n  <thinking>\n  ~~~\n', 'a < think > b', '<thinker>', 'if (a<b) [T]']) {
    t.equal(read([...code]), code)
    t.equal(read([code]), code)
  }
  const part = fc.constantFrom('word', ' ', '<think>', '</think>', '<thinking>', '</THINKING>', '[THINK]', '<', '</', '`', '```', '~~~', '\n', '[', 'think>')
  fc.assert(fc.property(fc.array(part, { maxLength: 30 }), fc.integer({ min: 1, max: 7 }), (parts, size) => {
    const whole = parts.join('')
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) => whole.slice(index * size, (index + 1) * size))
    return read(pieces) === read([whole]) && (whole.includes('`') || whole.includes('~') || !/<\/?think(?:ing)?>/i.test(read([whole])))
  }), { numRuns: 1_000 })
  t.end()
})
