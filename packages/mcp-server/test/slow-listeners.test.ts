import { connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { MAX_UNREAD_CHARS } from '@polyvac/core/plugin'
import { until } from '../../../test/fixtures/until.js'
import { LegacySession, messagesIn, modernBody, modernHeaders, serve, sourceOf, Wire } from './fixtures/wire.js'

/** A request whose response is not read before `read()`, which resolves to all of it once the connection has ended. */
function unread (app: FastifyInstance, method: string, headers: Record<string, string>, body?: object): { socket: Socket, opened: () => Promise<true>, read: () => Promise<string> } {
  const text = body === undefined ? '' : JSON.stringify(body)
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  const head = { host: `127.0.0.1:${port}`, connection: 'close', accept: `${method === 'POST' ? 'application/json, ' : ''}text/event-stream`, 'content-length': String(Buffer.byteLength(text)), ...text !== '' && { 'content-type': 'application/json' }, ...headers }
  socket.write(`${method} /mcp HTTP/1.1\r\n${Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`)
  return {
    socket,
    opened: () => until(() => {
      // fills the buffer of the socket, without taking anything from it
      socket.read(0)
      return socket.bytesRead > 0
    }, 'the stream is open'),
    read: async () => {
      let all = ''
      socket.setEncoding('utf8')
      for await (const chunk of socket) all += String(chunk)
      return all
    }
  }
}

/** More changes than fit the bound of unread text and the buffers of the socket. */
const MANY = Math.ceil(12 * MAX_UNREAD_CHARS / 100)

test('a listen stream that is not read ends, and its unread text is bounded', async t => {
  let change = (): void => {}
  const app = await serve(t, { sources: [sourceOf({}, { onChange (listener) { change = () => listener(['tools']); return () => {} } })] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const body = modernBody('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const listener = unread(app, 'POST', modernHeaders('subscriptions/listen', {}), body)
  t.teardown(() => listener.socket.destroy())
  await listener.opened()
  for (let i = 0; i < MANY; i++) {
    change()
    if (i % 1_000 === 0) await delay(1)
  }
  const text = await listener.read()
  t.ok(text.length < MANY * 100, `${text.length} characters`)
  t.match(text, new RegExp(`"id":${String(body.id)},"result":\\{"resultType":"complete"`), 'and its end is told')
})

test('the stream of a session that is not read is detached, and its client can open it again', async t => {
  let change = (): void => {}
  const app = await serve(t, { sources: [sourceOf({}, { onChange (listener) { change = () => listener(['tools']); return () => {} } })] })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = await LegacySession.open(app)
  const listener = unread(app, 'GET', session.headers)
  t.teardown(() => listener.socket.destroy())
  await listener.opened()
  for (let i = 0; i < MANY; i++) {
    change()
    if (i % 1_000 === 0) await delay(1)
  }
  const text = await listener.read()
  t.ok(text.length < MANY * 100, `${text.length} characters`)
  const again = new Wire(app, undefined, session.headers, 'GET')
  t.equal((await again.head).statusCode, 200)
  change()
  await again.until('list_changed')
  t.match(messagesIn(again.text).at(-1), { method: 'notifications/tools/list_changed' })
  again.leave()
})
