// Slow, silent and broken connections. The limits are those of `service.connections`; on any of these sockets the host
// waits no longer than they say, and all others are served meanwhile.
import { setTimeout as delay } from 'node:timers/promises'
import { bytesOf, jsonBytes, open, sendBytes } from './client.mjs'
import { configuration, connections, openAt, startHost, until } from './host.mjs'

const MANY = 200
/** Many times what `connections` allows, as the machine may be busy; after a minute Node.js itself closes. */
const CLOSE_MS = 55_000

const portsOf = wires => wires.map(({ socket }) => socket.localPort)

/** Opens sockets, and calls `each` for every one until the host has closed all. Resolves to how many it left open. */
async function besiege (context, count, begin, each) {
  const wires = Array.from({ length: count }, () => open(context.port))
  await until(() => wires.every(({ socket, isClosed }) => isClosed || !socket.connecting))
  const ports = portsOf(wires)
  for (const wire of wires) begin?.(wire.socket)
  await until(async () => {
    if (each !== undefined) for (const { socket } of wires) if (socket.writable) each(socket)
    await delay(200)
    return openAt(context.port, ports) === 0
  }, CLOSE_MS)
  const left = openAt(context.port, ports)
  for (const { socket } of wires) socket.destroy()
  return { left, tried: count, texts: wires.map(({ text }) => text) }
}

const allClosed = ({ left, tried }) => left === 0 ? [] : [`${left} of ${tried} sockets are open after ${CLOSE_MS / 1000} s`]
const body = '{"user_input":"hello"}'

export const group = {
  host: () => ({ config: configuration({ connections }) }),
  entries: context => [
    { name: 'sockets that never send a byte', attack: () => besiege(context, MANY), holds: allClosed, repro: 'nc 127.0.0.1 PORT   # and wait' },
    {
      name: 'headers, a byte at a time',
      attack: () => besiege(context, MANY, socket => socket.write('GET /health HTTP/1.1\r\n'), socket => socket.write('X')),
      holds: allClosed
    },
    { name: 'half a request line', attack: () => besiege(context, MANY, socket => socket.write('GET /hea')), holds: allClosed },
    {
      name: 'bodies, a byte at a time',
      attack: () => besiege(context, MANY, socket => socket.write(bytesOf('POST', '/vac/demo', { 'Content-Type': 'application/json', 'Content-Length': 1_000 }).replace('Content-Length: 0\r\n', '')), socket => socket.write(' ')),
      holds: allClosed
    },
    {
      name: 'chunks, a byte at a time',
      attack: () => besiege(context, MANY, socket => socket.write('POST /a2a/tasks/send HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'), socket => socket.write('1\r\n \r\n')),
      holds: allClosed
    },
    {
      name: 'connections that wait for their next request',
      attack: () => besiege(context, MANY, socket => socket.write(bytesOf('GET', '/health', {}))),
      holds: allClosed
    },
    {
      name: 'more connections than max',
      busy: true,
      async attack () {
        const wires = Array.from({ length: connections.max * 2 }, () => open(context.port))
        await until(() => wires.every(({ socket, isClosed }) => isClosed || !socket.connecting))
        await delay(500)
        const held = openAt(context.port, portsOf(wires))
        for (const { socket } of wires) socket.destroy()
        return { held, tried: wires.length }
      },
      holds: ({ held }) => held <= connections.max ? [] : [`the host holds ${held} connections, and max is ${connections.max}`]
    },
    {
      name: 'a request whose sender closes its half is answered',
      async attack () {
        const wires = Array.from({ length: 50 }, () => open(context.port))
        for (const { socket } of wires) socket.end(jsonBytes('/vac/demo', { user_input: 'hello' }, { Connection: 'close' }))
        await Promise.all(wires.map(({ closed }) => closed))
        return { tried: 50, answered: wires.filter(({ text }) => text.includes('heard: hello')).length }
      },
      holds: ({ answered }) => answered === 50 ? [] : [`${50 - answered} of 50 are not answered`]
    },
    {
      name: 'resets in the middle of requests and responses',
      async attack () {
        for (let i = 0; i < 300; i++) {
          const wire = open(context.port)
          wire.socket.on('connect', () => {
            wire.socket.write(i % 3 === 0 ? jsonBytes('/vac/streaming/demo/sse', { user_input: 'flow 1000 5' }) : i % 3 === 1 ? 'POST /vac/demo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le' : `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n${body}`)
            setTimeout(() => wire.socket.resetAndDestroy(), i % 50)
          })
          if (i % 20 === 0) await wire.closed
        }
        return { tried: 300 }
      }
    },
    {
      name: 'descriptors run out',
      async attack () {
        const host = await startHost({ limit: 'ulimit -n 400' })
        const wires = Array.from({ length: 600 }, () => open(host.port))
        await delay(2_000)
        for (const { socket } of wires) socket.destroy()
        const after = await until(async () => {
          const { statuses } = await sendBytes(host.port, jsonBytes('/vac/demo', { user_input: 'hello' }, { Connection: 'close' }))
          return statuses[0] === 200
        })
        const lines = host.out.text.split('\n').filter(line => /connection|descriptor/i.test(line) && line.startsWith('{')).length
        const { alive } = host
        host.kill()
        return { after, lines, alive }
      },
      holds: ({ after, lines, alive }) => [
        ...alive ? [] : ['the host ended'], ...after ? [] : ['a client is not answered afterwards'],
        ...lines === 0 ? ['no log line names it'] : lines > 10 ? [`${lines} log lines`] : []
      ],
      repro: 'ulimit -n 400; polyvac start; open 600 sockets; look at the log'
    }
  ]
}
