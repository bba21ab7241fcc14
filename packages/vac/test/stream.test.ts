import { test } from 'tap'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { setTimeout as delay } from 'node:timers/promises'
import compress from '@fastify/compress'
import fc from 'fast-check'
import { equal } from 'node:assert'
import { createParser } from 'eventsource-parser'
import type { FastifyInstance } from 'fastify'
import type { AddressInfo } from 'node:net'
import { until } from '../../../test/fixtures/until.js'
import { makeApp, open, text } from './fixtures/app.js'

const FORMS = ['text/plain', 'text/event-stream', 'application/x-ndjson']

/** Waits until a count is above 0 and no longer grows: the buffers of a stalled reader are full. */
async function untilConstant (count: () => number): Promise<void> {
  await until(async () => {
    const before = count()
    await delay(200)
    return before > 0 && count() === before
  }, 'the buffers are full')
}

/** A promise and its resolve function: for a call that must arrive before the test continues. */
function once (): { readonly promise: Promise<void>, readonly resolve: () => void } {
  let arrived = (): void => {}
  const promise = new Promise<void>(resolve => { arrived = resolve })
  return { promise, resolve: () => { arrived() } }
}

const compressAll = async (app: FastifyInstance): Promise<void> => { await app.register(compress, { threshold: 0 }) }

test('chunks reach the client as the interpreter yields them', async t => {
  // an application that compresses buffers text, but not streams
  for (const [accept, before] of FORMS.flatMap(form => [[form, undefined], [form, compressAll]] as const)) {
    let release = (): void => {}
    const gate = new Promise<void>(resolve => { release = resolve })
    const app = await makeApp(async function * () { yield 'first'; await gate; yield 'second' }, { before })
    t.teardown(() => { release(); return app.close() })
    const { response } = await open(app, '/vac/streaming/docs', { user_input: 'x' }, { accept, 'accept-encoding': 'gzip' })
    const stream = (await response).setEncoding('utf8')
    let piece = ''
    stream.once('data', (text: string) => { piece = text })
    await until(() => piece, `${accept}: the first chunk has come`)
    t.match(piece, /first/, `${accept}: the first chunk came while the second is not made`)
    t.notMatch(piece, /second/)
    release()
    t.match(await text(stream), /second/)
  }
})

test('progress reaches readers of events and of lines, and no other reader', async t => {
  const app = await makeApp(async function * () { yield { progress: 0.5, message: 'half' }; yield 'text' })
  t.teardown(() => app.close())
  const ask = async (accept: string) => (await app.inject({ method: 'POST', url: '/vac/streaming/docs', payload: { user_input: 'x' }, headers: { accept } })).body
  const answer = '{"answer":"text","source_documents":[]}'
  t.equal(await ask('text/event-stream'), `event: progress\ndata: {"progress":0.5,"message":"half"}\n\ndata: {"chunk":"text"}\n\ndata: ${answer}\n\ndata: [DONE]\n\n`)
  t.equal(await ask('application/x-ndjson'), `{"progress":0.5,"message":"half"}\n{"chunk":"text"}\n${answer}\n`)
  t.equal(await ask('text/plain'), `text\n${answer}\n`)
  const chat = { model: 'docs', stream: true, messages: [{ role: 'user', content: 'x' }] }
  t.notMatch((await app.inject({ method: 'POST', url: '/openai/v1/chat/completions', payload: chat })).body, /progress|half/)
})

test('a client that disconnects aborts the interpreter at once, on every route', async t => {
  for (const [path, headers] of [
    ...FORMS.map(accept => ['/vac/streaming/docs', { accept }] as const), ['/vac/docs', {}] as const, ['/openai/v1/chat/completions/docs', {}] as const
  ]) {
    for (const ticks of [true, false]) {
      const aborted = once()
      const arrival = once()
      const app = await makeApp(async function * (_q, _v, _h, { signal }) {
        signal.addEventListener('abort', aborted.resolve)
        arrival.resolve()
        yield 'begun'
        if (ticks) while (!signal.aborted) { await delay(5); yield 'tick' }
        await new Promise(() => {})
      })
      t.teardown(() => app.close())
      const streams = path.includes('streaming')
      const body = { user_input: 'x', messages: [{ role: 'user', content: 'x' }], stream: path.includes('openai') }
      const { request, response } = await open(app, path, body, headers)
      if (streams || body.stream) await new Promise(resolve => { response.then(stream => stream.once('data', resolve), resolve) })
      else await arrival.promise
      request.destroy()
      await aborted.promise
      t.pass(`${path} ${JSON.stringify(headers)} ${ticks ? 'ticking' : 'waiting'}`)
    }
  }
})

test('answers queued on one connection all stop when it is closed', async t => {
  for (const accept of FORMS) {
    const seen = { started: 0, aborted: 0 }
    const app = await makeApp(async function * (_q, _v, _h, { signal }) {
      seen.started++
      signal.addEventListener('abort', () => { seen.aborted++ })
      yield 'begun'
      await new Promise(() => {})
    })
    t.teardown(() => app.close())
    await app.listen({ port: 0, host: '127.0.0.1' })
    const body = JSON.stringify({ user_input: 'x' })
    const request = `POST /vac/streaming/docs HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    socket.write(request.repeat(20))
    await until(() => seen.started === 20, 'all answers have begun')
    socket.destroy()
    await until(() => seen.aborted === 20, `${accept}: all answers are aborted`)
    t.equal(seen.aborted, 20, accept)
    // close() has nothing to wait for
    await app.close()
  }
})

test('a reader that takes nothing for too long is disconnected', async t => {
  for (const accept of FORMS) {
    const app = await makeApp(function * () { for (;;) yield 'x'.repeat(10_000) }, { plugin: { stallMs: 200 } })
    t.teardown(() => app.close())
    const { response, request } = await open(app, '/vac/streaming/docs', { user_input: 'x' }, { accept })
    const stream = await response
    stream.pause()
    request.on('error', () => {})
    const { socket } = stream
    const connections = promisify(app.server.getConnections.bind(app.server))
    await until(async () => await connections() === 0, `${accept}: the server closes the connection`)
    t.pass(`${accept}: the server closed it`)
    socket.destroy()
  }
})

test('a slow reader slows the interpreter down, and gets every byte once', async t => {
  for (const accept of FORMS) {
    const chunk = 'x'.repeat(4_000)
    const total = 10_000
    let made = 0
    const app = await makeApp(async function * () { for (; made < total; made++) yield chunk; return { answer: 'done' } })
    t.teardown(() => app.close())
    const { response } = await open(app, '/vac/streaming/docs', { user_input: 'x', stream_only: true }, { accept })
    const stream = await response
    stream.pause()
    // the buffers of the two sockets fill, then the interpreter rests
    await untilConstant(() => made)
    t.ok(made < total, `${accept}: ${made} of ${total} chunks made while nobody reads`)
    const whole = await text(stream)
    const received = whole.match(/x{4000}/g)?.length ?? 0
    t.equal(received, total, `${accept}: all chunks arrive`)
  }
})

test('a slow reader gets what comes piece by piece while it reads nothing', async t => {
  for (const accept of FORMS) {
    let made = 0
    const app = await makeApp(async function * () {
      for (; made < 2_000; made++) {
        await new Promise(setImmediate)
        yield 'x'.repeat(10_000)
      }
      return { answer: 'done' }
    }, { plugin: { stallMs: 15_000 } })
    t.teardown(() => app.close())
    const { response } = await open(app, '/vac/streaming/docs', { user_input: 'x', stream_only: true }, { accept })
    const stream = (await response).pause()
    await untilConstant(() => made)
    t.equal((await text(stream)).match(/x{10000}/g)?.length, 2_000, accept)
  }
})

test('text is complete and not duplicated, with any characters', async t => {
  let pieces: string[] = []
  const app = await makeApp(async function * () { yield * pieces; return { answer: pieces.join('') } })
  t.teardown(() => app.close())
  const nasty = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\r\n\r\n', 'data: x\n\n', '\u2028', '\u0000', '\ufeff', '[DONE]', '\ud83d\ude00', 'event: error\n'))
  await fc.assert(fc.asyncProperty(fc.array(nasty, { maxLength: 20 }), async given => {
    pieces = given
    const whole = given.join('')
    if (whole === '') return
    const inject = async (accept: string) => (await app.inject({ method: 'POST', url: '/vac/streaming/docs', payload: { user_input: 'x', stream_only: true }, headers: { accept } })).body
    equal(await inject('text/plain'), Buffer.from(whole).toString())
    const lines = (await inject('application/x-ndjson')).trimEnd().split('\n').map(line => JSON.parse(line) as { chunk?: string, answer?: string })
    equal(lines.map(({ chunk = '' }) => chunk).join(''), whole)
    equal(lines.at(-1)?.answer, whole)
    let got = ''
    let done = false
    const parser = createParser({ onEvent: ({ data }) => { if (data === '[DONE]') done = true; else got += (JSON.parse(data) as { chunk?: string }).chunk ?? '' } })
    parser.feed(await inject('text/event-stream'))
    equal(got, whole)
    equal(done, true)
  }), { numRuns: 60 })
})

test('a pause longer than stream_wait_time is filled with a keep-alive, and a failure after it is sent in the stream', async t => {
  const app = await makeApp(async question => {
    await delay(700)
    if (question === 'fail') throw new Error('secret')
    return 'late'
  })
  t.teardown(() => app.close())
  const inject = async (user_input: string, accept: string) => await app.inject({ method: 'POST', url: '/vac/streaming/docs', payload: { user_input, stream_wait_time: 0.2 }, headers: { accept } })
  t.match((await inject('ok', 'text/event-stream')).body, /^(: keep-alive\n){2,3}data: {"chunk":"late"}/)
  const failed = await inject('fail', 'text/event-stream')
  t.equal(failed.statusCode, 200)
  t.match(failed.body, /^(: keep-alive\n){2,3}event: error\ndata: {"error":{"code":"VAC_INTERPRETER_FAILED"/)
  t.match((await inject('ok', 'text/plain')).body, /^late\n{/)
})

test('closing the application ends open streams, also of stalled readers and of interpreters that ignore the signal', async t => {
  for (const accept of FORMS) {
    let sent = 0
    const app = await makeApp(async function * (question) {
      yield 'begun'
      for (;;) {
        if (question !== 'flood') await new Promise(() => {})
        sent++
        yield 'x'.repeat(10_000)
      }
    })
    const waiting = await open(app, '/vac/streaming/docs', { user_input: 'wait' }, { accept })
    const got = waiting.response.then(text)
    const { port } = app.server.address() as AddressInfo
    const stalled = connect(port, '127.0.0.1')
    const body = JSON.stringify({ user_input: 'flood' })
    stalled.on('error', () => {}).write(`POST /vac/streaming/docs HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    stalled.pause()
    await untilConstant(() => sent)
    await app.close()
    t.match(await got, /begun[^]*SHUTTING_DOWN/, 'the reader got its text and the reason')
    stalled.destroy()
  }
})

test('a client that disconnects is not logged as an error', async t => {
  const logged: string[] = []
  let arrival = once()
  const app = await makeApp(async function * () { arrival.resolve(); yield 'begun'; await new Promise(() => {}) }, { server: { logger: { stream: { write: (line: string) => { logged.push(line) } } } } })
  t.teardown(() => app.close())
  for (const path of ['/vac/streaming/docs', '/vac/docs']) {
    logged.length = 0
    arrival = once()
    const { request, response } = await open(app, path, { user_input: 'x' })
    if (path.includes('streaming')) (await response).resume()
    await arrival.promise
    request.destroy()
    await until(() => logged.some(line => line.includes('"not answered"')), 'the call is logged')
    t.match(logged.join(''), /"outcome":"client_closed"/, path)
    t.notMatch(logged.join(''), /"msg":"answered"/, path)
    t.notMatch(logged.join(''), /"level":50/, path)
  }
})

test('closing the application answers waiting static calls, though sockets are closed by force', async t => {
  const arrival = once()
  const app = await makeApp(() => {
    arrival.resolve()
    return new Promise<string>(() => {})
  }, { server: { forceCloseConnections: true } })
  const { response } = await open(app, '/vac/docs', { user_input: 'x' })
  await arrival.promise
  await app.close()
  t.equal((await response).statusCode, 503)
  t.match(await text(await response), /SHUTTING_DOWN/)
})
