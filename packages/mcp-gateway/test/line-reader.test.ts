import { test } from 'tap'
import { backoff, idOfEdges, LineReader } from '@polyvac/core/plugin'
import fc from 'fast-check'
import { StderrRing } from '../src/connections/stdio/stderr-ring.js'

function read (maxBytes: number, chunks: readonly Buffer[]) {
  const lines: string[] = []
  const oversized: Array<[string, string, number]> = []
  const reader = new LineReader(maxBytes, { line: text => { lines.push(text) }, oversized: (head, tail, bytes) => { oversized.push([head, tail, bytes]) } })
  for (const chunk of chunks) reader.push(chunk)
  return { lines, oversized, reader }
}

test('lines come whole, however they are cut on their way', t => {
  fc.assert(fc.property(fc.array(fc.string({ unit: 'binary' }).map(text => text.replace(/[\r\n]/g, ''))), fc.array(fc.nat(40), { minLength: 1 }), (lines, cuts) => {
    const bytes = Buffer.from(lines.map(line => `${line}\n`).join(''))
    const chunks: Buffer[] = []
    for (let from = 0, i = 0; from < bytes.length; i++) {
      const to = from + 1 + cuts[i % cuts.length]!
      chunks.push(bytes.subarray(from, to))
      from = to
    }
    t.strictSame(read(1e6, chunks).lines, lines.map(line => Buffer.from(line).toString()))
  }), { numRuns: 200 })
  t.end()
})

test('a line past the limit is dropped, the next one is read, and little is held of it', t => {
  const { lines, oversized, reader } = read(1_000, [Buffer.from('first\r\n'), ...Array.from({ length: 1_000 }, () => Buffer.alloc(10_000, 'x'))])
  t.ok(reader.held < 5_000, `${reader.held} bytes are held of ten million`)
  reader.push(Buffer.from(',"id":7}\nlast\n'))
  t.strictSame(lines, ['first', 'last'])
  t.equal(oversized.length, 1)
  t.equal(oversized[0]![2], 10_000_008)
  t.match(oversized[0]![1], /x,"id":7\}$/)
  t.end()
})

test('a line in many chunks is copied once, however many they are', t => {
  const { concat } = Buffer
  t.teardown(() => { Buffer.concat = concat })
  let copied = 0
  Buffer.concat = (list, length) => {
    const whole = concat(list, length)
    copied += whole.length
    return whole
  }
  const chunks = Array.from({ length: 4_096 }, () => Buffer.alloc(4_096, 'x'))
  read(1e9, [...chunks, Buffer.from('\n')])
  t.equal(copied, 4_096 * 4_096)
  t.end()
})

test('the id of a message is read from its ends, never from within', t => {
  t.equal(idOfEdges('{"jsonrpc":"2.0","id":12,"result":{', '"id":99}}'), 12)
  t.equal(idOfEdges('{"id":"a","jsonrpc":"2.0","result":', '}'), 'a')
  t.equal(idOfEdges('{"result":{"x":[', ']},"jsonrpc":"2.0","id":5}'), 5)
  t.equal(idOfEdges('{"result":{"x":[', '"}]},"id":"b","jsonrpc":"2.0"}'), 'b')
  t.equal(idOfEdges('{"result":{"id":1,', '{"y":{"id":2}}}'), undefined)
  t.equal(idOfEdges('garbage', 'without end'), undefined)
  t.end()
})

test('waits grow to their limit, and differ', t => {
  const limits = { firstMs: 100, maxMs: 1_000 }
  t.strictSame([1, 2, 3, 4, 5, 1_000].map(attempt => backoff(attempt, limits, 1)), [100, 200, 400, 800, 1_000, 1_000])
  t.equal(backoff(1, limits, 0), 50)
  t.end()
})

test('the last lines of stderr are kept, in bounds and harmless', t => {
  const ring = new StderrRing(3)
  ring.push(Buffer.from('one\ntwo\nthr'))
  ring.push(Buffer.from('ee\n\n\u001b[31mred\u001b[0m\u0007 alert\nlast'))
  t.strictSame(ring.lines(), ['three', 'red  alert', 'last'])
  ring.push(Buffer.alloc(1e6, 'x'))
  t.ok(ring.lines().join('').length < 10_000)
  t.end()
})
