import { once } from 'node:events'
import Fastify from 'fastify'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { createVacs } from '@polyvac/core'
import { memoryBudget } from '@polyvac/core/plugin'
import { vacPlugin } from '@polyvac/vac'
import { until } from '../../../test/fixtures/until.js'
import { documentsInterpreter } from '../src/index.js'
import { openaiInterpreter } from '../src/model.js'
import { embedTexts, MAX_VECTOR_BYTES } from '../src/model/embedding-model.js'
import { streamModel } from '../src/model/model-stream.js'
import { MAX_STREAM_BYTES } from '../src/model/open-model.js'
import { ask } from './fixtures/ask.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'

const MB = 1_000_000

type Turn = (response: ServerResponse, question: string) => void

/** A model server that sends what `turn` writes. */
async function serve (t: Test, turn: Turn): Promise<{ readonly url: string, readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', piece => { body += String(piece) }).on('end', () => {
      const { messages, input } = JSON.parse(body) as { messages?: Array<{ content: string }>, input?: string[] }
      const question = messages?.at(-1)?.content ?? input!.join()
      asked.push(question)
      turn(response, question)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked }
}

const event = (content: string, reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: reason }] })}\n\n`

/** Sets the limit of the budget besides what is held already. */
function limitTo (t: Test, bytes: number): void {
  const { limit } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  memoryBudget.limit = memoryBudget.used + bytes
}

for (const kind of ['openai', 'documents']) {
  test(`what a model server sends for one owner counts against its share, and another's question passes (${kind})`, async t => {
    const { url, asked } = await serve(t, (response, question) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      // alice's answers stay open
      if (question.includes('aloud')) for (let i = 0; i < 75; i++) response.write(event('x'.repeat(20_000)))
      else response.end(`${event('short [1]')}${event('', 'stop')}data: [DONE]\n\n`)
    })
    limitTo(t, 8 * MB)
    const before = memoryBudget.used
    const memory = await memoryOf(t, GUIDE)
    const vacs = createVacs({
      vacs: { own: { model: 'm', openai: { base_url: url } } as never },
      streamInterpreter: kind === 'openai' ? openaiInterpreter({ retries: 0 }) : documentsInterpreter(memory)
    })
    const app = Fastify({ forceCloseConnections: true })
    await app.register(vacPlugin, { vacs, authenticate: ({ headers }) => ({ owner: String(headers.authorization) }) })
    t.teardown(async () => { await app.close() })
    const service = await app.listen({ port: 0, host: '127.0.0.1' })
    const send = async (owner: string, question: string, signal?: AbortSignal): Promise<Response> => await fetch(`${service}/vac/own`, {
      method: 'POST', headers: { authorization: owner, 'content-type': 'application/json' }, body: JSON.stringify({ user_input: question }), signal: signal ?? null
    })
    const leave = new AbortController()
    const open = send('alice', 'How do I cancel a task aloud?', leave.signal).catch(() => undefined)
    await until(() => memoryBudget.used - before > 1_400_000, 'alice holds an answer of the server')
    const refused = await send('alice', 'How do I cancel a task aloud?')
    t.match([refused.status, await refused.json()], [503, { error: { code: 'MEMORY_BUDGET_EXCEEDED' } }])
    const passed = await send('bob', 'How do I cancel a task?')
    t.match([passed.status, await passed.json()], [200, { answer: 'short [1]' }])
    t.equal(asked.length, 3)
    leave.abort()
    await open
    await until(() => memoryBudget.used <= before, 'all is given back')
    t.equal((await send('alice', 'How do I cancel a task?')).status, 200)
  })
}

test('the vector of a question counts against its owner, and the body of a request too', async t => {
  const { url } = await serve(t, (response, question) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [{ embedding: Array.from({ length: question === 'large' ? 16_000 : 3 }, () => 0.1234567890123) }] }))
  })
  limitTo(t, 800_000)
  const embed = async (owner: string, text: string): Promise<number[][]> => await embedTexts({ server: { baseUrl: url, model: 'm' }, texts: [text], owner, signal: new AbortController().signal, timeoutMs: 10_000 })
  await t.rejects(embed('alice', 'large'), { code: 'MEMORY_BUDGET_EXCEEDED' })
  await t.rejects(embed('alice', 'a'.repeat(110_000)), { code: 'MEMORY_BUDGET_EXCEEDED' })
  t.equal((await embed('bob', 'small'))[0]?.length, 3)
  t.equal(memoryBudget.limit - memoryBudget.used, 800_000, 'nothing stays counted')
})

test('a refusal with an endless body, an endless line, an endless stream and an endless vector are cut off', async t => {
  const endless = (response: ServerResponse, piece: string): void => {
    const write = (): void => { while (!response.destroyed && response.write(piece)); }
    response.on('drain', write).on('error', () => {})
    write()
  }
  let closed = 0
  const { url, asked } = await serve(t, (response, question) => {
    response.on('close', () => { closed++ })
    const type = question === 'line' || question === 'stream' ? 'text/event-stream' : 'application/json'
    response.writeHead(question === 'refusal' ? 400 : 200, { 'content-type': type })
    if (question === 'stream') endless(response, event('x'.repeat(20_000)))
    else endless(response, question === 'line' ? 'data: '.padEnd(60_000, 'x') : ' '.repeat(60_000))
  })
  const before = memoryBudget.used
  const server = { baseUrl: url, model: 'm' }
  const vac = { model: 'm', openai: { base_url: url } }
  const reasons: unknown[] = []
  for (const question of ['refusal', 'line', 'stream']) {
    let chars = 0
    const reading = async (): Promise<void> => {
      for await (const text of streamModel({ server, messages: [{ role: 'user', content: question }], signal: new AbortController().signal, timeoutMs: 60_000, retries: 0 })) chars += String(text).length
    }
    await reading().catch((err: Error) => reasons.push(err.message))
    t.ok(chars <= MAX_STREAM_BYTES, question)
  }
  t.strictSame(reasons, ['HTTP 400', 'the response is too long', 'the response is too long'])
  await t.rejects(embedTexts({ server, texts: ['vector'], signal: new AbortController().signal, timeoutMs: 60_000 }), { message: 'the response is too long' })
  t.ok(MAX_VECTOR_BYTES < 1024 * 1024)
  t.match((await ask(documentsInterpreter(await memoryOf(t, GUIDE)), 'How do I cancel a task?', { vac: { ...vac, openai: { base_url: `${url}/x` } } })).final.metadata, { reason: 'the response is too long' })
  await until(() => closed === asked.length, 'each connection is closed')
  t.equal(memoryBudget.used, before)
})
