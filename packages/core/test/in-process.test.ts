import Fastify from 'fastify'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'tap'
import { innerRequest, isInner, SseBody } from '../src/plugin.js'

test('an application answers requests within its process, without a port', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (_request, reply) => { reply.header('x-hook', 'ran') })
  app.post('/echo', async request => ({ body: request.body, ip: request.ip, inner: isInner(request.raw.socket) }))
  await app.ready()
  const { response } = innerRequest(app, {
    method: 'POST', path: '/echo', headers: { 'content-type': 'application/json' }, body: '{"a":1}', remoteAddress: '192.0.2.1'
  })
  const answer = await response
  t.match(answer, { statusCode: 200, headers: { 'x-hook': 'ran' } })
  t.strictSame(JSON.parse(await text(answer)), { body: { a: 1 }, ip: '192.0.2.1', inner: true })
  t.notOk(isInner({}))
})

test('an application over HTTP/2 answers requests within its process, too', async t => {
  const app = Fastify({ http2: true })
  t.teardown(() => app.close())
  app.get('/ip', async request => ({ ip: request.ip }))
  await app.ready()
  for (const remoteAddress of ['192.0.2.1', '192.0.2.2']) {
    const answer = await innerRequest(app as never, { method: 'GET', path: '/ip', headers: {}, remoteAddress }).response
    t.strictSame(JSON.parse(await text(answer)), { ip: remoteAddress })
  }
})

test('a caller within the process disconnects by its signal', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const left = new Promise<void>(resolve => {
    app.get('/slow', request => { request.raw.socket.once('close', resolve) })
  })
  await app.ready()
  const stop = new AbortController()
  const { response } = innerRequest(app, { method: 'GET', path: '/slow', headers: {}, signal: stop.signal })
  setImmediate(() => { stop.abort() })
  await t.rejects(response)
  await left
})

test('pushed events begin a response with the first one', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/events', (_request, reply) => {
    const body = new SseBody(reply)
    t.notOk(body.hasBegun)
    body.comment('open')
    body.prime('1', 500)
    body.event('message', '{}', '2')
    body.event('end', '')
    t.ok(body.hasBegun)
    body.finish()
    t.equal(body.event('message', 'late'), undefined)
  })
  app.get('/refused', async (_request, reply) => {
    const body = new SseBody(reply)
    body.destroy()
    throw Object.assign(new Error('refused'), { statusCode: 409 })
  })
  app.get('/empty', (_request, reply) => { new SseBody(reply).finish() })
  const { statusCode, headers, body } = await app.inject('/events')
  t.match([statusCode, headers], [200, { 'content-type': /^text\/event-stream/, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }])
  t.equal(body, ': open\nid: 1\nretry: 500\ndata: \n\nid: 2\nevent: message\ndata: {}\n\nevent: end\ndata: \n\n')
  t.match(await app.inject('/refused'), { statusCode: 409 })
  t.match(await app.inject('/empty'), { statusCode: 200, body: '' })
})

test('a reader of pushed events that takes nothing is disconnected', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  let waited: Promise<unknown> | undefined
  app.get('/events', (_request, reply) => {
    const body = new SseBody(reply, 20)
    const fill = (): void => { waited ??= body.event('message', 'x'.repeat(200_000)) }
    while (!body.isFull) {
      fill()
      body.event('message', 'x'.repeat(200_000))
    }
  })
  await app.ready()
  const { response } = innerRequest(app, { method: 'GET', path: '/events', headers: {} })
  const answer = await response
  await once(answer.socket, 'close')
  await waited
  t.ok(waited, 'the writer was asked to wait, and is let go')
})
