import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { test } from 'tap'
import { requestFetch } from '../src/connections/http/request-fetch.js'

/** What a request's stream leads to: the events that its transport sees, and the messages that are taken out of it. */
async function read (chunks: readonly Uint8Array[]): Promise<{ seen: Array<{ id: string | undefined, data: string }>, related: unknown[], lost: number }> {
  const related: unknown[] = []
  const seen: Array<{ id: string | undefined, data: string }> = []
  let lost = 0
  const fetch = requestFetch({
    maxMessageBytes: 1_000_000,
    isModern: false,
    schemaOf: () => undefined,
    onRelated: (message, id) => { related.push({ ...message as object, with: id }) },
    onLost: () => { lost++ },
    open: new Map(),
    fetch: async () => new Response(new ReadableStream({
      start (controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      }
    }), { headers: { 'content-type': 'text/event-stream' } })
  })
  const response = await fetch('http://127.0.0.1/', { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call' }) })
  const parser = createParser({ onEvent: ({ id, data }) => { seen.push({ id, data }) } })
  parser.feed(await response.text())
  await new Promise(resolve => setTimeout(resolve, 30))
  return { seen, related, lost }
}

const TAKEN = [{ method: 'notifications/message', params: { data: 'ü' } }, { id: 3, method: 'elicitation/create', params: { message: 'a "method"?' } }, { id: 7, error: { code: 1, message: '' } }]
/** What stands in for the error that is the answer: the transport goes on with a stream that ended with one. */
const OVER = '{"jsonrpc":"2.0","id":7,"result":{}}'
const LEFT = [{ method: 'notifications/progress', params: { progress: 1 } }, { method: 'notifications/tools/list_changed' }, { id: 7, result: { text: '"method": 日本\u2028' } }, { id: 8, error: { code: 1, message: '' } }, 'no JSON "method"']

test('a stream loses its questions, its log messages and its error, and nothing else, however it is cut', async t => {
  const event = fc.record({ message: fc.constantFrom(...TAKEN, ...LEFT), id: fc.option(fc.nat(), { nil: undefined }), newline: fc.constantFrom('\n', '\r\n') })
  await fc.assert(fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 }), async (events, cuts) => {
    const bytes = Buffer.from(events.map(({ message, id, newline }) =>
      `${id === undefined ? '' : `id: ${id}${newline}`}event: message${newline}data: ${typeof message === 'string' ? message : JSON.stringify(message)}${newline}${newline}`).join(''))
    const chunks: Uint8Array[] = []
    let at = 0
    for (const cut of cuts) chunks.push(bytes.subarray(at, at += cut))
    chunks.push(bytes.subarray(at))
    const { seen, related, lost } = await read(chunks.filter(({ length }) => length > 0))
    const isTaken = (message: unknown): boolean => TAKEN.includes(message as never)
    const expected = events.map(({ message, id }) => ({ id: id === undefined ? undefined : String(id), data: isTaken(message) ? (message as { error?: object }).error === undefined ? '' : OVER : typeof message === 'string' ? message : JSON.stringify(message) }))
    return JSON.stringify(seen) === JSON.stringify(expected) &&
      JSON.stringify(related) === JSON.stringify(events.filter(({ message }) => isTaken(message)).map(({ message }) => ({ ...message as object, with: 7 }))) &&
      // a stream with ids is gone on with by the transport
      lost === (events.some(({ id }) => id !== undefined) ? 0 : 1)
  }), { numRuns: 60 })
  t.pass()
})

test('a flood of events lets others be served in between', async t => {
  let left = 50
  let turns = 0
  const chunk = Buffer.from('data: {"method":"notifications/progress"}\n\n'.repeat(1_000))
  const fetch = requestFetch({
    maxMessageBytes: 1_000_000,
    isModern: false,
    schemaOf: () => undefined,
    onRelated: () => {},
    onLost: () => {},
    open: new Map(),
    fetch: async () => new Response(new ReadableStream({ pull (controller) { if (left-- > 0) controller.enqueue(chunk); else controller.close() } }), { headers: { 'content-type': 'text/event-stream' } })
  })
  const turn = (): void => { if (left > 0) { turns++; setImmediate(turn) } }
  setImmediate(turn)
  const response = await fetch('http://127.0.0.1/', { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call' }) })
  await response.arrayBuffer()
  t.ok(turns >= 40, `${turns} turns`)
})
