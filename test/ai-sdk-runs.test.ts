import { WorkflowChatTransport } from '@ai-sdk/workflow/client'
import { createRuns } from '@polyvac/runs'
import { test } from 'tap'
import { until } from './fixtures/until.js'
import { browserFetch, CLIENTS, openChat, type ChatMessage, type OpenChat } from './ai-sdk/chat.mjs'
import { makeService, SOURCES, type Service } from './ai-sdk/service.js'
import { messagesOf } from './probes/events.mjs'

const LATE = CLIENTS.filter(({ version }) => ['5.0.277', '6.0.326', '7.0.173'].includes(version))
const body = (id: string, text: string, more: object = {}): string => JSON.stringify({ id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }], ...more })
const json = { 'content-type': 'application/json' }

async function ask ({ url }: Service, id: string, text: string, { query = '', headers = {}, ...more }: { readonly query?: string, readonly headers?: Record<string, string>, readonly [key: string]: unknown } = {}): Promise<Response> {
  return await fetch(`${url}/ai/docs${query}`, { method: 'POST', headers: { ...json, ...headers }, body: body(id, text, more) })
}

async function read ({ url }: Service, id: string, query = '', headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`${url}/ai/docs/${encodeURIComponent(id)}/stream${query}`, { headers })
}

/** The frames of a body without their ids, and without the end. */
const framesOf = (text: string): Array<Record<string, any>> => messagesOf(text).flatMap(({ data }) => data === '[DONE]' ? [] : [JSON.parse(data) as Record<string, any>])
const deltasOf = (text: string): string => framesOf(text).map(({ type, delta }) => type === 'text-delta' ? delta as string : '').join('')
const idsOf = (text: string): string[] => messagesOf(text).flatMap(({ id }) => id ?? [])

/** The transport that continues after the last frame that it has: what the documentation shows. */
function exactTransport (ai: any, options: { readonly api: string, readonly fetch: typeof fetch }): object {
  let last: string | undefined
  const Transport = ai.DefaultChatTransport as new (options: object) => { processResponseStream (stream: ReadableStream<Uint8Array>): ReadableStream<unknown> }
  class ExactTransport extends Transport {
    resumeStreamIsReplay = false
    override processResponseStream (stream: ReadableStream<Uint8Array>): ReadableStream<unknown> {
      const decoder = new TextDecoder()
      let text = ''
      return super.processResponseStream(stream.pipeThrough(new TransformStream({
        transform (bytes, controller) {
          text += decoder.decode(bytes, { stream: true })
          last = text.slice(0, text.lastIndexOf('\n\n') + 2).match(/^id: (.+)$/gm)?.at(-1)?.slice('id: '.length) ?? last
          controller.enqueue(bytes)
        }
      })))
    }
  }
  return new ExactTransport({
    ...options,
    prepareReconnectToStreamRequest: () => ({ ...last !== undefined && { headers: { 'last-event-id': last } } })
  })
}

const said = ({ chat }: OpenChat): string[] => chat.messages.map(({ parts }: ChatMessage) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join(''))

test('the frames after any frame, and after any number of frames, are the rest', async t => {
  const service = await makeService(t)
  const live = await (await ask(service, 'c', 'rich answer')).text()
  const all = framesOf(live)
  const ids = idsOf(live)
  t.equal(ids.length, all.length, 'each frame has an id')
  t.equal(new Set(ids).size, ids.length)
  for (const [i, id] of ids.entries()) {
    const exact = await (await read(service, 'c', '', { 'last-event-id': id })).text()
    t.strictSame(framesOf(exact), all.slice(i + 1), `after ${id}`)
    const counted = await read(service, 'c', `?startIndex=${i + 1}`)
    t.strictSame(framesOf(await counted.text()), all.slice(i + 1), `after ${i + 1} frames`)
    const last = await read(service, 'c', `?startIndex=${-i - 1}`)
    t.equal(last.headers.get('x-workflow-stream-tail-index'), String(all.length - 1))
    t.strictSame(framesOf(await last.text()), all.slice(-i - 1), `the last ${i + 1}`)
  }
  t.equal((await read(service, 'c')).status, 204)
  t.equal((await read(service, 'c', '', { 'last-event-id': 'of another service' })).status, 204)
  const [{ messageId }] = all as [{ messageId: string }]
  t.strictSame(framesOf(await (await read(service, messageId, '?startIndex=0')).text()), all, 'by the id of the run')
})

test('a chat of somebody else is answered like one that does not exist', async t => {
  const service = await makeService(t, { isOpen: false })
  const [a, b] = [{ authorization: 'Bearer a' }, { authorization: 'Bearer b' }]
  const own = await ask(service, 'c', 'hold', { headers: a })
  const run = own.headers.get('x-workflow-run-id')!
  const show = async (response: Response): Promise<unknown[]> => [response.status, [...response.headers].filter(([name]) => !/^(?:date|x-request-id)$/.test(name)), await response.text()]
  for (const id of ['c', run]) {
    for (const query of ['', '?startIndex=0', '?protocol=text']) {
      t.strictSame(await show(await read(service, id, query, b)), await show(await read(service, id === 'c' ? 'd' : run.replace(/.$/, digit => digit === '0' ? '1' : '0'), query, b)))
      t.equal((await read(service, id, query, b)).status, 204)
    }
    const stopped = await fetch(`${service.url}/ai/docs/${id}/stop`, { method: 'POST', headers: b })
    t.strictSame(await stopped.json(), { success: true })
  }
  t.equal(service.work.aborted, 0, 'only its owner stops it')
  t.equal((await read(service, 'c')).status, 401)
  t.match(await (await ask(service, 'c', 'recall', { headers: b })).text(), /"type":"finish"/)
  service.work.release()
  t.equal(deltasOf(await own.text()), 'You asked: hold')
})

test('after a crash a reader of the text before is cut off, and reads only the text that stands', async t => {
  for (const { ai, version } of LATE) {
    const service = await makeService(t, {
      async * agent (question, _vac, _history, { attempt, signal }) {
        yield attempt === 1 ? 'Second try: ' : 'First try: '
        if (attempt !== 1) await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('released')) }) })
        yield question
      }
    })
    const open = openChat(ai, `${service.url}/ai/docs`, { id: 'c' })
    const cut = open.chat.sendMessage({ text: 'crash' })
    await until(() => open.text() === 'First try: ', 'there is text')
    await service.runs!.stop()
    createRuns({ vacs: service.vacs, tasks: service.tasks! })
    await cut
    t.match([open.chat.status, open.chat.error.message], ['error', 'network error'], version)
    const again = openChat(ai, `${service.url}/ai/docs`, { id: 'c', messages: open.chat.messages })
    await again.chat.resumeStream()
    t.strictSame(said(again), ['crash', 'Second try: crash'])
    t.equal(again.last().id, open.last().id)
    const counted = framesOf(await (await read(service, 'c', '?startIndex=3')).text())
    t.strictSame(counted.map(({ type, delta }) => delta ?? type), ['text-end', 'text-start', 'Second try: crash', 'text-end', 'finish'], 'whoever counts frames gets another paragraph')
  }
})

test('with version 7 the text before a crash is taken back in the same stream', async t => {
  const service = await makeService(t, {
    version: 7,
    async * agent (question, _vac, _history, { attempt, signal }) {
      yield attempt === 1 ? 'Second try: ' : 'First try: '
      if (attempt !== 1) await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('released')) }) })
      yield question
    }
  })
  const open = openChat(CLIENTS.at(-1)!.ai, `${service.url}/ai/docs`, { id: 'c' })
  const answered = open.chat.sendMessage({ text: 'crash' })
  await until(() => open.text() === 'First try: ', 'there is text')
  await service.runs!.stop()
  createRuns({ vacs: service.vacs, tasks: service.tasks! })
  await answered
  t.equal(open.chat.error, undefined)
  t.strictSame(said(open), ['crash', 'Second try: crash'])
  const live = open.requests[0]!.text!
  for (const [i, id] of idsOf(live).entries()) {
    const rest = await (await read(service, 'c', '', { 'last-event-id': id })).text()
    if (i >= 3) t.strictSame(idsOf(rest), idsOf(live).slice(i + 1), `after ${id}`)
    else t.match(framesOf(rest).map(({ type }) => type).join(), /reset-step,text-start/, `after ${id}, of the text before`)
  }
})

test('with version 7 citations are in the text, and questions of yes or no are approvals', async t => {
  const { url } = await makeService(t, {
    version: 7,
    async * agent (question) {
      if (question === 'agree') return { input_required: 'Shall I?', input_schema: { type: 'boolean' } }
      yield 'See [1].'
      return { answer: 'See [1].', source_documents: SOURCES }
    }
  })
  const { chat, last, requests } = openChat(CLIENTS.at(-1)!.ai, `${url}/ai/docs`)
  await chat.sendMessage({ text: 'cite' })
  t.equal(chat.error, undefined)
  t.strictSame(framesOf(requests[0]!.text!).find(({ type }) => type === 'text-end')!.citations, [{
    source: { type: 'source', sourceType: 'url', id: '1', url: 'https://example.org/a.md', title: 'A' }, startIndex: 4, endIndex: 7, citedText: 'A passage.'
  }])
  await chat.sendMessage({ text: 'agree' })
  t.match(last().parts.at(-1), { state: 'approval-requested' })
})

for (const { ai, version } of LATE) {
  test(`a transport that sends Last-Event-ID goes on in the page with ai ${version}`, async t => {
    const { url, work } = await makeService(t)
    const open = openChat(ai, `${url}/ai/docs`, { id: 'c', transport: options => exactTransport(ai, options) })
    const { chat, requests } = open
    const broken = chat.sendMessage({ text: 'hold on' })
    await until(() => open.text() === 'You asked: ', 'there is text')
    open.cut()
    await broken
    t.equal(chat.status, 'error')
    const resumed = chat.resumeStream()
    await until(() => { work.release(); return chat.status === 'ready' }, 'the answer is complete')
    await resumed
    t.strictSame(said(open), ['hold on', 'You asked: hold on'])
    t.notMatch(requests.at(-1)!.text, /"type":"start"|asked/, 'only the rest')
  })

  test(`20,000 pieces are read again by ai ${version} in few frames`, async t => {
    const service = await makeService(t)
    const response = await ask(service, 'c', 'many 20000')
    await response.body!.cancel()
    await until(async () => (await (await fetch(`${service.url}/vac/docs/runs`)).json() as { runs: Array<{ state: string }> }).runs[0]!.state === 'completed', 'the answer is complete')
    const { chat, text, requests } = openChat(ai, `${service.url}/ai/docs`, { id: 'c' })
    const begun = performance.now()
    await chat.resumeStream()
    t.comment(`ai ${version} has read 20,000 pieces again in ${Math.round(performance.now() - begun)} ms`)
    t.equal(text().length, 120_000)
    t.ok(framesOf(requests[0]!.text!).length < 20, `${framesOf(requests[0]!.text!).length} frames`)
  })
}

test('the WorkflowChatTransport goes on after a cut, and does not ask again after an answer that was stopped', async t => {
  const { url, work } = await makeService(t)
  const { ai } = CLIENTS.at(-1)!
  const transport = ({ api, fetch }: { readonly api: string, readonly fetch: typeof globalThis.fetch }): object => new WorkflowChatTransport({
    api,
    fetch,
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({ body: { id, messages, trigger, messageId }, headers: json })
  })
  const open = openChat(ai, `${url}/ai/docs`, { id: 'c', transport })
  const errors = t.capture(console, 'error')
  const answered = open.chat.sendMessage({ text: 'hold on' })
  await until(() => open.text() === 'You asked: ', 'there is text')
  open.cut()
  await until(() => open.requests.length === 2, 'the transport comes back')
  await until(() => { work.release(); return open.chat.status === 'ready' }, 'the answer is complete')
  await answered
  t.equal(open.chat.error, undefined)
  t.strictSame(said(open), ['hold on', 'You asked: hold on'])
  t.match(open.requests[1], { url: /\/stream\?startIndex=[3-5]$/, text: /"delta":"hold on"/ })
  t.notMatch(open.requests[1]!.text, /"type":"start"/)
  t.equal(errors().length, 1, 'the cut')

  const stopped = open.chat.sendMessage({ text: 'hold it' })
  await until(() => open.requests.length === 3 && open.text() === 'You asked: ', 'there is text')
  await fetch(`${url}/ai/docs/c/stop`, { method: 'POST' })
  await stopped
  t.equal(open.requests.length, 3)
  t.equal(open.chat.status, 'ready')
})

test('text is sent as text where the client asks for it', async t => {
  for (const { ai, version } of CLIENTS) {
    const service = await makeService(t)
    const { url, work } = service
    const transport = ({ fetch }: { readonly fetch: typeof globalThis.fetch }): object => new ai.TextStreamChatTransport({ api: `${url}/ai/docs?protocol=text`, fetch })
    const open = openChat(ai, url, { id: 'c', transport })
    for (const [question, text] of [['one two', 'You asked: one two'], ['rich answer', 'First [1] and second [2].'], ['ask choice', 'Which one?'], ['that one', 'You asked: that one']]) {
      await open.chat.sendMessage({ text: question })
      t.equal(open.chat.error, undefined, version)
      t.equal(open.text(), text)
    }
    t.match(open.requests[0]!.response!.get('content-type'), 'text/plain')
    t.match(open.requests[0]!.response!.get('x-workflow-run-id'), /./)
    await open.chat.sendMessage({ text: 'late' })
    t.equal(open.chat.status, 'error', 'an answer that failed is cut off')
    const left = await ask(service, 'd', 'hold on', { query: '?protocol=text' })
    await left.body!.cancel()
    let resumed: string | undefined
    void read(service, 'd', '?protocol=text').then(async response => { resumed = await response.text() })
    t.equal(await until(() => { work.release(); return resumed }, 'the answer is read'), 'You asked: hold on')
  }
})

test('requests of other shapes are answered too, and odd parts do not cost the others', async t => {
  const { url, work } = await makeService(t, { takes: ['images'] })
  const post = async (payload: unknown): Promise<Response> => await fetch(`${url}/ai/docs`, { method: 'POST', headers: json, body: JSON.stringify(payload) })
  const user = (text: unknown, more: object[] = []): object => ({ role: 'user', parts: [{ type: 'text', text }, ...more] })
  const odd = [null, 7, {}, { type: 'text' }, { type: 'text', text: null }, { type: 'file' }, { type: 'file', url: 'javascript:x', mediaType: 'image/png' }, { type: 'custom', kind: 'x' }, { type: 'data-x', data: null }]
  for (const [payload, question, history] of [
    [{ prompt: 'one' }, 'one', []],
    [{ id: null, messages: null, message: null, prompt: 'two' }, 'two', []],
    [{ id: 'one', message: user('three') }, 'three', []],
    [{ id: 'one', message: user('four') }, 'four', ['three', 'You asked: three']],
    [{ messages: [{ role: 'system', parts: [{ type: 'text', text: 'obey' }] }, null, 'x', { role: 'tool' }, { role: 'assistant', parts: null }, user('five', odd as object[])] }, 'five', []],
    [{ messages: [user('a'), { role: 'assistant', content: 'b' }, { role: 'user', content: 'six' }], trigger: null, messageId: null }, 'six', ['a', 'b']]
  ] as const) {
    const response = await post(payload)
    t.equal(response.status, 200, JSON.stringify(payload))
    t.match(await response.text(), /"type":"finish".*\n\ndata: \[DONE\]\n\n$/)
    t.equal(work.asked.at(-1)!.question, question)
    t.strictSame(work.asked.at(-1)!.history.map(({ content }) => content), history)
  }
  await (await post({ id: 'f', messages: [user('', [{ type: 'file', url: 'data:image/png;base64,QQ==', filename: 'a.png' }, { type: 'file', url: 'https://example.org/a.png', mediaType: 'image/png' }, { type: 'file', url: 'data:text/plain,x' }])] })).text()
  t.strictSame([work.asked.at(-1)!.question, work.asked.at(-1)!.extra.files], ['a.png\nimage/png', [{ filename: 'a.png', media_type: 'image/png', bytes: 'QQ==' }, { url: 'https://example.org/a.png', media_type: 'image/png' }]])
  for (const payload of [{}, { messages: [] }, { messages: [user(' ')] }, { prompt: '' }, { message: user(null) }, { messages: [{ role: 'assistant', parts: [{ type: 'text', text: 'x' }] }] }, { messages: 'x' }, { id: 7, prompt: 'x' }, [], null]) {
    const response = await post(payload)
    t.match([response.status, response.headers.get('content-type')], [400, /^text\/plain/], JSON.stringify(payload))
    t.notMatch(await response.text(), /^[{[]/)
  }
  t.equal((await fetch(`${url}/ai/docs`, { method: 'POST', body: '{"prompt":"x"}' })).status, 415, 'not by a page of another origin')
})

test('without runs an answer is an ordinary stream, which ends with its reader', async t => {
  const service = await makeService(t, { runs: false })
  const { url, work } = service
  for (const { ai } of LATE) {
    const open = openChat(ai, `${url}/ai/docs`, { id: 'c' })
    await open.chat.sendMessage({ text: 'one' })
    await open.chat.sendMessage({ text: 'recall' })
    t.equal(open.text(), 'user: one | assistant: You asked: one')
    t.notOk(open.requests[0]!.response!.has('x-workflow-run-id'))
    await open.chat.resumeStream()
    t.equal(open.requests.at(-1)!.status, 204)
  }
  const stopped = await fetch(`${url}/ai/docs/c/stop`, { method: 'POST' })
  t.strictSame([stopped.status, /runs/.test(await stopped.text())], [501, true], 'it ends when its reader leaves')
  const { aborted } = work
  const browser = browserFetch()
  const response = await browser.fetch(`${url}/ai/docs`, { method: 'POST', headers: json, body: body('c', 'hold') })
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
  await until(() => work.aborted === aborted + 1, 'the agent is aborted')
})

test('an answer that no reader takes is ended after `unread_timeout`', async t => {
  const service = await makeService(t, { unread_timeout: 1 })
  const response = await ask(service, 'c', 'hold')
  await response.body!.cancel()
  await until(() => service.work.aborted === 1, 'the agent is aborted')
  t.match(framesOf(await (await read(service, 'c')).text()).map(({ type }) => type).slice(-2), ['abort', 'finish'])
})
