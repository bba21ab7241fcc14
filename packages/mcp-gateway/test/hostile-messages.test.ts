import { memoryBudget, silentLog, yieldToEventLoop } from '@polyvac/core/plugin'
import { test } from 'tap'
import { OrphanWatchdog } from '../src/connections/stdio/orphan-watchdog.js'
import { StdioTransport } from '../src/connections/stdio/stdio-transport.js'
import { parseProblem } from '../src/protocol/read-message.js'
import { bad, started, textOf, until } from './fixtures/app.js'
import { handWritten } from './fixtures/hand-written.js'

test('a message that would block the event loop or overflow the stack is found without being parsed', t => {
  const deep = (levels: number): string => `${'{"a":['.repeat(levels / 2)}${']}'.repeat(levels / 2)}`
  t.equal(parseProblem(deep(2_500), 1e6), undefined)
  t.match(parseProblem(deep(2_502), 1e6), /nested deeper than 2500 levels/)
  t.match(parseProblem('['.repeat(100_000), 1e6), /nested deeper/)
  t.match(parseProblem(`[${'0,'.repeat(30_000)}0]`, 1e6), /has more than 25000 values/)
  t.equal(parseProblem(JSON.stringify([deep(5_000), '\\'.repeat(1_000), `\\"${','.repeat(50_000)}`]), 1e6), undefined, 'texts do not count')
  t.equal(parseProblem(JSON.stringify({ a: 'x'.repeat(1_000) }), 1e6), undefined)
  t.end()
})

test('a result that is nested too deep, or has too many values, fails its own call with the name of the server', async t => {
  const deep = `{"content":[],"structuredContent":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
  const { url } = await handWritten(t, ({ message: { id, method }, res }) => {
    if (method !== 'tools/call') return false
    res.writeHead(200, { 'content-type': 'application/json' }).end(`{"jsonrpc":"2.0","id":${id},"result":${deep}}`)
    return true
  })
  const { call } = await started(t, [bad(), { name: 'http', url }])
  const answers = await Promise.all([call('bad', 'deep', { levels: 100_000 }), call('bad', 'many', { values: 300_000 }), call('http', 'tool'), call('bad', 'slow')])
  for (const [i, problem] of [/"bad" is nested deeper than/, /"bad" has more than \d+ values/, /"http" is nested deeper than/].entries()) {
    t.match(answers[i], { status: 500, body: { code: 'MCP_MESSAGE_TOO_LARGE', error: problem } })
  }
  t.equal(answers[3]?.status, 200, 'another call is not affected')
})

test('a server that writes a line without an end is ended and started again', async t => {
  const { call, gateway } = await started(t, [bad()], { maxMessageBytes: 64 * 1024 })
  t.match(await call('bad', 'endless'), { status: 500, body: { code: 'MCP_SERVER_GONE', error: /wrote a line without an end/ } })
  await until(() => gateway.get('bad').status().state === 'ready')
  t.equal(textOf(await call('bad', 'echo', { message: 'again' })), 'again')
})

test('a late answer that is too long is not taken for that of the next call', async t => {
  const { gateway } = await started(t, [bad()], { maxMessageBytes: 64 * 1024 })
  await gateway.get('bad').list('tools')
  const stop = new AbortController()
  const first = gateway.call('bad', 'late', { bytes: 100_000, ms: 300 }, { signal: stop.signal })
  await until(() => gateway.get('bad').status().callsInFlight === 1)
  stop.abort(new Error('no patience'))
  await t.rejects(first, { message: 'no patience' })
  t.match(await gateway.call('bad', 'slow', { ms: 1_000 }), { content: [{ text: 'slow but sure' }] })
})

test('answers that wait for their end are counted in the memory budget, and released', async t => {
  const { limit } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  let write = (): void => {}
  const { url } = await handWritten(t, ({ message: { id, method }, res }) => {
    if (method !== 'tools/call') return false
    res.writeHead(200, { 'content-type': 'application/json' })
    res.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${'x'.repeat(500_000)}`)
    write = () => { res.end('"}]}}') }
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }])
  const before = memoryBudget.used
  const first = call('own', 'tool')
  await until(() => memoryBudget.used - before > 400_000)
  write()
  t.equal((await first).status, 200)
  await until(() => memoryBudget.used === before)
  memoryBudget.limit = before + 300_000
  t.match(await call('own', 'tool'), { status: 503, body: { code: 'MEMORY_BUDGET_EXCEEDED', error: /memory for answers of MCP servers is used up/ } })
  await until(() => memoryBudget.used === before)
})

test('a line of a child process that waits for its end is counted in the memory budget, and released', async t => {
  const { limit } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  const { call } = await started(t, [bad()], { restartDelayMs: 1 })
  const before = memoryBudget.used
  const unfinished = call('bad', 'late', { bytes: 500_000, ms: 600_000 })
  await until(() => memoryBudget.used - before > 400_000)
  await call('bad', 'die')
  t.match(await unfinished, { status: 500, body: { code: 'MCP_SERVER_GONE' } })
  await until(() => memoryBudget.used === before)
  t.equal(textOf(await call('bad', 'big', { bytes: 500_000 })).length, 500_000)
  await until(() => memoryBudget.used === before)
  const lengths = await Promise.all([3_000_000, 500_000, 3_000_000, 10, 3_000_000].map(async bytes => textOf(await call('bad', 'big', { bytes })).length))
  t.same(lengths, [3_000_000, 500_000, 3_000_000, 10, 3_000_000])
  await until(() => memoryBudget.used === before)
  memoryBudget.limit = before + 300_000
  t.match(await call('bad', 'big', { bytes: 500_000 }), { status: 503, body: { code: 'MEMORY_BUDGET_EXCEEDED', error: /memory for answers of MCP servers is used up/ } })
  t.equal(textOf(await call('bad', 'echo', { message: 'again' })), 'again', 'the next line is read')
})

test('a long line is counted in the memory budget until it is delivered, one at a time', async t => {
  // what the tests before have left would be subtracted
  await until(() => memoryBudget.used === 0)
  const counted = new Map<unknown, number>()
  const watch = new OrphanWatchdog(silentLog)
  t.teardown(() => watch.close())
  const writer = `const line = id => JSON.stringify({ jsonrpc: '2.0', id, result: 'x'.repeat(3_000_000) }) + '\\n'
    process.stdout.write(line(0)); process.stdout.write(line(1)); process.stdout.write('{"jsonrpc":"2.0","id":2,"result":"x"}\\n')
    process.stdin.resume()`
  const transport = new StdioTransport({ command: process.execPath, args: ['-e', writer], env: {}, cwd: '.', stderrLines: 10 }, watch, {
    maxMessageBytes: 4_000_000, onRefused: (_, err) => { throw err }, onMute () {}, onGarbage () {}
  })
  t.teardown(() => transport.close())
  await transport.open({ message (message) { counted.set((message as { id: unknown }).id, memoryBudget.used) }, failed () {}, trouble (err) { throw err }, closed () {} })
  await until(() => counted.size === 3)
  // up to 64 KiB before a count, and the read of up to 64 KiB that ends the line, are not counted
  for (const id of [0, 1]) t.ok(counted.get(id)! >= 3_000_000 - 2 * 65_536 && counted.get(id)! < 4_500_000, `${counted.get(id)} bytes are counted at delivery ${id}`)
  await until(() => memoryBudget.used === 0)
})

test('a long answer that waits for its turn while its server ends is delivered before the end', async t => {
  const seen: string[] = []
  const watch = new OrphanWatchdog(silentLog)
  t.teardown(() => watch.close())
  const writer = 'process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: 0, result: "x".repeat(3_000_000) }) + "\\n", () => process.exit())'
  const transport = new StdioTransport({ command: process.execPath, args: ['-e', writer], env: {}, cwd: '.', stderrLines: 10 }, watch, {
    maxMessageBytes: 4_000_000, onRefused: (_, err) => { throw err }, onMute () {}, onGarbage () {}
  })
  t.teardown(() => transport.close())
  // other large answers keep the turns for longer than the wait for the last output of a server that has ended
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let i = 0; i < 100; i++) (async () => { while (!seen.includes('closed')) { await yieldToEventLoop(); Atomics.wait(pause, 0, 0, 3) } })().catch(t.threw)
  await transport.open({ message () { seen.push('message') }, failed () {}, trouble (err) { throw err }, closed () { seen.push('closed') } })
  await until(() => seen.includes('closed'))
  t.strictSame(seen, ['message', 'closed'])
})

test('a server that fails again and again writes few log lines', async t => {
  const lines: object[] = []
  const log = { debug () {}, info () {}, warn: (obj: object) => { lines.push(obj) }, error: (obj: object) => { lines.push(obj) } }
  const { gateway, get } = await started(t, [bad({ crash: 1 })], { log, restartDelayMs: 1, restartDelayMaxMs: 2 })
  await until(() => gateway.get('bad').status().attempt > 5)
  for (let i = 0; i < 20; i++) await get('/mcp/tools')
  t.ok(lines.length <= 4, `${lines.length} lines`)
})
