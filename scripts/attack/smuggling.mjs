// Requests whose end two readers could see at different places: each is answered once at most, and where the framing is
// in doubt the connection closes without a second answer.
import { jsonBytes, sendBytes } from './client.mjs'

const hidden = 'GET /health?hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
const body = '{"user_input":"hello"}'
const start = 'POST /vac/demo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
const get = (headers = '', path = '/health') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** One answer of an error, and the connection closes: what follows is not a request. */
const REFUSED = {
  'Content-Length and Transfer-Encoding': `${start}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'Transfer-Encoding and Content-Length': `${start}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}${hidden}`,
  'two lengths': `${start}Content-Length: 22\r\nContent-Length: 5\r\n\r\n${body}${hidden}`,
  'two equal lengths': `${start}Content-Length: 22\r\nContent-Length: 22\r\n\r\n${body}${hidden}`,
  'a list of lengths': `${start}Content-Length: 22, 5\r\n\r\n${body}${hidden}`,
  'a length with a sign': `${start}Content-Length: +22\r\n\r\n${body}${hidden}`,
  'a negative length': `${start}Content-Length: -1\r\n\r\n${body}${hidden}`,
  'a hexadecimal length': `${start}Content-Length: 0x16\r\n\r\n${body}${hidden}`,
  'a length past 64 bits': `${start}Content-Length: 99999999999999999999999\r\n\r\n${body}${hidden}`,
  'an empty length': `${start}Content-Length:\r\n\r\n${body}${hidden}`,
  'an unknown coding': `${start}Transfer-Encoding: xchunked\r\n\r\n${chunked}${hidden}`,
  'chunked before another coding': `${start}Transfer-Encoding: chunked, identity\r\n\r\n${chunked}${hidden}`,
  'two codings': `${start}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunked}${hidden}`,
  'a vertical tab before chunked': `${start}Transfer-Encoding: \x0bchunked\r\n\r\n${chunked}${hidden}`,
  'a space before the colon': `${start}Transfer-Encoding : chunked\r\n\r\n${chunked}${hidden}`,
  'a folded header': `${start}Transfer-Encoding:\r\n chunked\r\n\r\n${chunked}${hidden}`,
  'a NUL in a header': `${start}X: a\0b\r\nContent-Length: 22\r\n\r\n${body}${hidden}`,
  'a line end without CR in a header': `${start}Content-Length: 22\nX: y\r\n\r\n${body}${hidden}`,
  'a single CR in a header': `${start}X: a\rTransfer-Encoding: chunked\r\n\r\n${chunked}${hidden}`,
  'a header without a name': `${start}: x\r\nContent-Length: 22\r\n\r\n${body}${hidden}`,
  'a first header that begins with a space': `POST /vac/demo HTTP/1.1\r\n Host: 127.0.0.1\r\nContent-Length: 22\r\n\r\n${body}${hidden}`,
  'a chunk size that is not hexadecimal': `${start}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n${hidden}`,
  'a chunk size with a sign': `${start}Transfer-Encoding: chunked\r\n\r\n+16\r\n${body}\r\n0\r\n\r\n${hidden}`,
  'a chunk size of 17 digits': `${start}Transfer-Encoding: chunked\r\n\r\n10000000000000016\r\n${body}\r\n0\r\n\r\n${hidden}`,
  'a chunk longer than its size': `${start}Transfer-Encoding: chunked\r\n\r\n5\r\n${body}\r\n0\r\n\r\n${hidden}`,
  'an unknown version': `GET /health HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n${hidden}`,
  'HTTP/2 without an upgrade': `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`,
  'no version': `GET /health\r\n\r\n${hidden}`,
  'a space in the path': `GET /hea lth HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${hidden}`,
  'a method of odd characters': `G{T /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${hidden}`,
  'headers of 20 KB': get(`X: ${'x'.repeat(20_000)}\r\n`) + hidden,
  'a path of 20 KB': get('', `/${'p'.repeat(20_000)}`) + hidden,
  'no Host': `GET /health HTTP/1.1\r\n\r\n${hidden}`,
  'TLS on a plain port': Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]), Buffer.alloc(506, 1), Buffer.from(hidden)]),
  'bytes of chance': Buffer.from(Array.from({ length: 2_000 }, (_, i) => (i * 7919 + 13) % 256))
}

/** The statuses of the answers, in order; null where the standard leaves the choice between refusing and answering. */
const ANSWERED = {
  'two requests at once': [get() + get(), [200, 200]],
  'a request after one for a path that does not exist': [get('', '/none') + get(), [404, 200]],
  'fifty requests at once': [get().repeat(50), Array(50).fill(200)],
  'chunks with extensions': [`${start}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)};a=b;c="d"\r\n${body}\r\n0\r\n\r\n${get()}`, [200, 200]],
  trailers: [`${start}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nX: 9\r\n\r\n${get()}`, [200, 200]],
  'a GET with a body': [`GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}${get()}`, [200, 200]],
  'an empty line before a request': [`\r\n\r\n${get()}`, [200]],
  'Expect: 100-continue': [`${start}Content-Length: 22\r\nExpect: 100-continue\r\n\r\n${body}`, [100, 200]],
  'an unknown expectation': [`${start}Content-Length: 22\r\nExpect: magic\r\n\r\n${body}`, [417]],
  'a request after one that is refused': [`${start}Content-Length: 1\r\n\r\n{${get()}`, null],
  'trailers that name a length': [`${start}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nContent-Length: 9\r\n\r\n${get()}`, null],
  // the client breaks its own promise, and may be refused for it
  'Connection: close with a request behind it': [get('Connection: close\r\n') + get(), null, 1],
  'HTTP/1.0 with a request behind it': [`GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n${get()}`, null, 1],
  'an absolute URI': [get('', 'http://127.0.0.1/health') + get(), null],
  'an absolute URI of another host': [get('', 'http://evil.example/health') + get(), null],
  'two Hosts': [`GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n${get()}`, null],
  'another Host': [`GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n${get()}`, null],
  'an upgrade to HTTP/2': [get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n') + get(), null],
  'a WebSocket': [get('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n'), null],
  'an upgrade with a body': [`${start}Connection: Upgrade\r\nUpgrade: foo\r\nContent-Length: 22\r\n\r\n${body}`, null],
  'a fragment and dots in the path': [get('', '/vac/../health#x') + get(), null],
  'the asterisk': [`OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${get()}`, null]
}

export const group = {
  host: () => ({}),
  async entries (context) {
    const bounded = (found, most) => found.filter(status => status !== 100).length > most ? [`${found.length} answers: ${found.join()}`] : []
    const leaks = (seen, name) => { context.inspect(seen, { method: 'bytes', path: name }) }
    return [
      ...Object.entries(REFUSED).map(([name, bytes]) => ({
        name,
        repro: `printf ${JSON.stringify(String(bytes).slice(0, 300))} | nc 127.0.0.1 PORT`,
        async attack () { return await sendBytes(context.port, bytes) },
        holds ({ statuses, isClosed, text }) {
          leaks({ text }, name)
          return [
            ...bounded(statuses, 1),
            ...statuses.some(status => status < 400 || status >= 500) ? [`answered with ${statuses.join()}`] : [],
            ...isClosed ? [] : ['the connection stays open']
          ]
        }
      })),
      ...Object.entries(ANSWERED).map(([name, [bytes, expected, most = 2]]) => ({
        name,
        repro: `printf ${JSON.stringify(String(bytes).slice(0, 300))} | nc 127.0.0.1 PORT`,
        async attack () { return await sendBytes(context.port, bytes, { count: expected?.length ?? 1 }) },
        holds ({ statuses, text }) {
          leaks({ text }, name)
          if (expected !== null && statuses.join() !== expected.join()) return [`answered with ${statuses.join() || 'nothing'} in place of ${expected.join()}`]
          if (expected !== null) return []
          return [...bounded(statuses, most), ...statuses.some(status => status >= 500 && status !== 501) ? [`answered with ${statuses.join()}`] : []]
        }
      })),
      {
        name: 'a host name that leads here by DNS rebinding is refused',
        async attack () { return await sendBytes(context.port, 'POST /vac/demo HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n' + body, { count: 1 }) },
        holds: ({ statuses }) => statuses.join() === '403' ? [] : [`answered with ${statuses.join()}`]
      },
      {
        name: 'a body that ends early, then the connection',
        async attack () {
          for (let i = 0; i < 200; i++) {
            await sendBytes(context.port, jsonBytes('/vac/demo', { user_input: 'hello' }).slice(0, -5), { ms: 1 }).catch(() => {})
          }
          return { tried: 200 }
        }
      }
    ]
  }
}
