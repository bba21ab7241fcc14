import { createServer, type ServerResponse } from 'node:http'
import { createServer as createSocketServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import fc from 'fast-check'
import { test, type Test } from 'tap'
import { ask, resume, stop } from '../src/index.js'
import { MAX_FAILURES } from '../src/reopen.js'
import { cutting, serve } from './fixtures/service.js'
import { read } from './fixtures/read.js'
import { until } from '../../../test/fixtures/until.js'
import '../../../test/fixtures/timeout.mjs'

/** An event of a log: text, a step, or the beginning of another attempt. */
type Entry = { readonly chunk: string } | { readonly restart: true } | { readonly step: { readonly reasoning: string } }

const frameOf = (entry: Entry, id: number): string => 'chunk' in entry
  ? `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`
  : 'step' in entry ? `id: ${id}\nevent: step\ndata: ${JSON.stringify(entry.step)}\n\n` : `id: ${id}\nevent: restart\ndata: {"restart":true}\n\n`

async function listen (t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The text after each change, as a reader of an uncut stream has it. */
function textsOf (log: readonly Entry[]): string[] {
  const texts: string[] = []
  let text = ''
  for (const entry of log) {
    const next = 'chunk' in entry ? text + entry.chunk : 'restart' in entry ? '' : text
    if (next !== text) texts.push(next)
    text = next
  }
  return texts
}

/** A service with one run. `cut` gives the bytes of the next stream after which its connection ends. */
async function serveLog (t: Test, state: { log: readonly Entry[], cuts: number[], isReset: boolean, streams: number }): Promise<string> {
  return await listen(t, createServer((request, response) => {
    const url = new URL(request.url!, 'http://x')
    const after = Number(url.searchParams.get('after'))
    const answer = textsOf(state.log).at(-1) ?? ''
    const frames = [...state.log.map((entry, i) => frameOf(entry, i + 1)), `id: ${state.log.length + 1}\ndata: ${JSON.stringify({ answer, source_documents: [] })}\n\n`]
    state.streams++
    send(response, Buffer.from(`${frames.slice(after).join('')}data: [DONE]\n\n`), state.cuts.shift(), state.isReset)
  }))
}

function send (response: ServerResponse, body: Buffer, cut: number | undefined, isReset: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const part = body.subarray(0, cut)
  if (part.length === body.length || !isReset) {
    response.end(part)
    return
  }
  // what was written reaches the reader, and the body has no end
  if (part.length === 0) response.flushHeaders()
  else response.write(part)
  response.socket!.end()
}

const SAMPLE: readonly Entry[] = [
  { chunk: 'Grü' }, { step: { reasoning: 'ß' } }, { chunk: 'ße 🫖\n' }, { restart: true }, { chunk: 'Ä' }, { chunk: '\r\ndata: x\n\n' }, { chunk: '€' }, { restart: true }, { chunk: '' }, { chunk: 'Ende 🫖' }
]

test('a stream that is cut at any byte is read without a lost or doubled character', async t => {
  const state = { log: SAMPLE, cuts: [] as number[], isReset: false, streams: 0 }
  const base = await serveLog(t, state)
  const whole = SAMPLE.map((entry, i) => frameOf(entry, i + 1)).join('')
  const texts = textsOf(SAMPLE)
  for (const isReset of [false, true]) {
    state.isReset = isReset
    for (let cut = 0; cut <= Buffer.byteLength(whole); cut++) {
      state.cuts = [cut]
      state.streams = 0
      const answer = await read(resume('direct', { base, vac: 'docs', run: 'r' }))
      if (JSON.stringify(answer.texts) !== JSON.stringify(texts) || answer.steps.length !== 1 || state.streams !== 2) {
        t.strictSame([answer.texts, answer.steps.length, state.streams], [texts, 1, 2], `cut at byte ${cut}`)
        return
      }
    }
  }
  t.pass('each cut')
})

test('a stream that arrives in pieces of any size is read in whole', async t => {
  const body = new TextEncoder().encode(`\ufeff${SAMPLE.map((entry, i) => frameOf(entry, i + 1)).join('')}data: {"answer":"Ende 🫖"}\n\n`)
  for (let size = 1; size <= 16; size++) {
    for (const text of [body, new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(body).replaceAll('\n', '\r\n'))]) {
      let at = 0
      const stream = new ReadableStream<Uint8Array>({
        pull (controller) {
          controller.enqueue(text.slice(at, at += size))
          if (at >= text.length) controller.close()
        }
      })
      const answer = await read(resume('direct', { base: '', vac: 'docs', run: 'r', fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }) }))
      t.strictSame(answer.texts, textsOf(SAMPLE), `pieces of ${size} bytes`)
    }
  }
})

test('a stream of any text that is cut several times is read in whole', async t => {
  const state = { log: SAMPLE, cuts: [] as number[], isReset: false, streams: 0 }
  const base = await serveLog(t, state)
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }).map(chunk => ({ chunk })) },
    { weight: 1, arbitrary: fc.constantFrom('data: x\n\n', '\r', 'id: 9\n\n', '\u2028', '\ufeff').map(chunk => ({ chunk })) },
    { weight: 1, arbitrary: fc.constant({ restart: true as const }) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }).map(reasoning => ({ step: { reasoning } })) })
  await fc.assert(fc.asyncProperty(fc.array(entry, { maxLength: 12 }), fc.array(fc.nat(200), { maxLength: 4 }), fc.boolean(), async (log, cuts, isReset) => {
    Object.assign(state, { log, cuts: [...cuts], isReset })
    const answer = await read(resume('direct', { base, vac: 'docs', run: 'r' }))
    t.strictSame(answer.texts, textsOf(log))
    t.equal(answer.steps.length, log.filter(one => 'step' in one).length)
  }), { numRuns: 40 })
})

test('a run of the service is read in whole over connections that are cut', async t => {
  const target = await serve(t, async function * () {
    for (const piece of ['Grü', 'ße ', '🫖🫖', ' und', ' Ende']) {
      yield piece
      yield { reasoning: 'a thought' }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })
  for (const protocol of ['direct', 'a2a'] as const) {
    // the first connection has the answer to the question, of which a message has no second one
    const limits: number[] = []
    const { base, cuts } = await cutting(t, target, () => limits.shift() ?? Infinity)
    for (const limit of [700, 750, 801, 850, 903]) {
      const known = ask(protocol, { base: target, vac: 'docs', text: 'x', background: true, steps: true })
      let run = ''
      for await (const update of known) {
        run = update.run ?? run
        if (run !== '') break
      }
      limits.splice(0, Infinity, limit, limit + 3, limit + 1)
      const answer = await read(resume(protocol, { base, vac: 'docs', run }))
      t.equal(answer.text, 'Grüße 🫖🫖 und Ende', `${protocol}, ${limit}`)
      t.equal(answer.last.done, true)
    }
    t.ok(cuts() >= 5, `${protocol}: connections were cut, ${cuts()} times`)
  }
})

test('a task whose events of one step are cut apart has no doubled text', async t => {
  const update = (rest: object): object => ({ jsonrpc: '2.0', id: 1, result: rest })
  const artifact = (text: string, append: boolean): object => update({ artifactUpdate: { taskId: 't', contextId: 'c', append, artifact: { artifactId: 'streaming_response', parts: [{ text }] } } })
  const status = (state: string, data?: object): object => update({ statusUpdate: { taskId: 't', contextId: 'c', status: { state, ...data && { message: { parts: [{ data }] } } } } })
  // the events of a step: only the last of them has the id
  const steps = [
    [update({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } })],
    [status('TASK_STATE_WORKING', { step: { reasoning: 'a' } }), artifact('Grü', false)],
    [artifact('ße ', true), status('TASK_STATE_WORKING')],
    [artifact('🫖', true), artifact(' Ende', true), status('TASK_STATE_COMPLETED')]
  ]
  const frames = steps.map((events, i) => events.map((event, j) => `${j === events.length - 1 ? `id: ${i + 1}\n` : ''}data: ${JSON.stringify(event)}\n\n`).join(''))
  let cut = 0
  let streams = 0
  const base = await listen(t, createServer((request, response) => {
    const after = Number(request.headers['last-event-id'] ?? 0)
    const body = Buffer.from(frames.slice(after).join(''))
    // a first connection that ends before the id of the task is not one of a run to go on with
    send(response, body, streams++ === 0 ? cut : undefined, true)
  }))
  for (cut = Buffer.byteLength(frames[0]!); cut < Buffer.byteLength(frames.join('')); cut++) {
    streams = 0
    const answer = await read(ask('a2a', { base, vac: 'docs', text: 'x' }))
    if (answer.text !== 'Grüße 🫖 Ende' || answer.steps.length !== 1 || answer.updates.filter(({ delta, text }) => delta || text).map(({ delta, text }) => delta ?? text).join('') !== answer.text) {
      t.strictSame(answer, {}, `cut at byte ${cut}`)
      return
    }
  }
  streams = 0
  cut = 10
  await t.rejects(read(ask('a2a', { base, vac: 'docs', text: 'x' })), { code: 'STREAM_CUT' }, 'a message is not sent twice')
  t.equal(streams, 1)
})

test('a service that is gone ends the reading after some tries, and a signal at once', async t => {
  let connections = 0
  const base = await listen(t, createSocketServer(socket => { connections++; socket.destroy() }))
  const controller = new AbortController()
  const reading = read(resume('direct', { base, vac: 'docs', run: 'r', signal: controller.signal }))
  reading.catch(() => {})
  await until(() => connections > 1, 'it tries again')
  controller.abort(new Error('enough'))
  await t.rejects(reading, { message: 'enough' })
  t.ok(connections < MAX_FAILURES, `${connections} tries`)
  await t.rejects(stop('direct', { base, vac: 'docs', run: 'r' }), { code: 'SERVICE_UNREACHABLE' })
  const refused = await listen(t, createServer((_request, response) => { response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"code":"RUN_NOT_FOUND","message":"there is no run"}}') }))
  await t.rejects(read(resume('direct', { base: refused, vac: 'docs', run: 'r' })), { code: 'RUN_NOT_FOUND', status: 404 })
})
