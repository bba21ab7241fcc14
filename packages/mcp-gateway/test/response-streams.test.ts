import fc from 'fast-check'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { Agent } from 'undici'
import { Exchange, type ExchangeOwner } from '../src/connections/http/exchange.js'
import { StreamableTransport } from '../src/connections/http/streamable-transport.js'

const controller = { pause () {}, resume () {}, abort () {}, aborted: false, paused: false, reason: null }

interface Seen { messages: unknown[], ends: Array<Error | undefined>, troubles: number, exchange: Exchange }

/** What an exchange reports of an event stream in these chunks. */
function read (chunks: readonly Uint8Array[]): Seen {
  const seen = { messages: [] as unknown[], ends: [] as Array<Error | undefined>, troubles: 0 }
  const owner: ExchangeOwner = {
    maxMessageBytes: 1_000_000,
    started () {},
    message: (_exchange, message) => { seen.messages.push(message) },
    ended: (_exchange, err) => { seen.ends.push(err) },
    trouble () { seen.troubles++ }
  }
  const exchange = new Exchange({ method: 'POST', id: 7 }, owner)
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (const chunk of chunks) exchange.onResponseData(controller, Buffer.from(chunk))
  exchange.onResponseEnd()
  return { ...seen, exchange }
}

const rpc = (message: object): object => ({ jsonrpc: '2.0', ...message })
const ANSWERS = [rpc({ id: 7, error: { code: 1, message: '' } }), rpc({ id: 7, result: { text: '"method": 日本\u2028' } })]
const OTHERS = [
  rpc({ method: 'notifications/message', params: { data: 'ü' } }), rpc({ id: 3, method: 'elicitation/create', params: { message: 'a "method"?' } }),
  rpc({ method: 'notifications/progress', params: { progress: 1 } }), rpc({ method: 'notifications/tools/list_changed' }),
  rpc({ id: 8, error: { code: 1, message: '' } }), rpc({ id: 7, method: 'roots/list' })
]
const ODD = ['not JSON "method"', '{"id":7,"result":{}}', '[]', '7']

test('each message of a stream is reported once and in order, however the stream is cut into chunks', t => {
  const event = fc.record({ data: fc.constantFrom(...ANSWERS, ...OTHERS, ...ODD), id: fc.option(fc.nat(), { nil: undefined }), newline: fc.constantFrom('\n', '\r\n') })
  fc.assert(fc.property(fc.array(event, { minLength: 1, maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 }), (events, cuts) => {
    const bytes = Buffer.from(events.map(({ data, id, newline }) =>
      `${id === undefined ? '' : `id: ${id}${newline}`}event: message${newline}data: ${typeof data === 'string' ? data : JSON.stringify(data)}${newline}${newline}`).join(''))
    const chunks: Uint8Array[] = []
    let at = 0
    for (const cut of cuts) chunks.push(bytes.subarray(at, at += cut))
    chunks.push(bytes.subarray(at))
    const { messages, ends, troubles, exchange } = read(chunks)
    const expected = events.map(({ data }) => data).filter(data => typeof data !== 'string')
    return JSON.stringify(messages) === JSON.stringify(expected) &&
      troubles === events.length - expected.length &&
      ends.length === 1 && ends[0] === undefined &&
      exchange.isAnswered === expected.some(data => ANSWERS.includes(data as never)) &&
      exchange.lastEventId === events.map(({ id }) => id?.toString()).filter(id => id !== undefined).at(-1)
  }), { numRuns: 200 })
  t.end()
})

test('events of another type, and events without data, are not messages', t => {
  const text = 'retry: 70\nid: a\ndata:\n\nevent: ping\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\nid:\ndata: {"jsonrpc":"2.0","method":"x"}\n\n'
  const { messages, troubles, exchange } = read([Buffer.from(text)])
  t.match({ messages, troubles, isAnswered: exchange.isAnswered, lastEventId: exchange.lastEventId, retryMs: exchange.retryMs },
    { messages: [{ method: 'x' }], troubles: 0, isAnswered: false, lastEventId: 'a', retryMs: 70 })
  t.end()
})

test('a flood of events lets others be served in between', async t => {
  const CHUNKS = 50
  const chunk = 'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n'.repeat(1_000)
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.end(chunk.repeat(CHUNKS))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent()
  t.teardown(async () => { server.closeAllConnections(); server.close(); await agent.destroy() })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  const transport = new StreamableTransport({ url, agent, headers: {}, maxMessageBytes: 1_000_000, oauth: undefined, headersOf: undefined })
  let [turns, seen, sinceTurn, most] = [0, 0, 0, 0]
  const turn = (): void => { turns++; sinceTurn = 0; if (!isOver) setImmediate(turn) }
  let isOver = false
  await new Promise<void>(resolve => {
    transport.open({
      message () { seen++; most = Math.max(most, ++sinceTurn) },
      failed () { isOver = true; resolve() },
      closed () {},
      trouble () {}
    }).catch(t.threw)
    transport.send({ jsonrpc: '2.0', id: 7, method: 'tools/call' })
    setImmediate(turn)
  })
  t.equal(seen, CHUNKS * 1_000)
  // a chunk of the socket has at most 64 KiB
  t.ok(most < 2_500, `${most} events in one turn, ${turns} turns`)
})
