import { test } from 'tap'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from '../src/session/session.js'
import { watchHealth } from '../src/upstream/health.js'
import { handWritten } from './fixtures/hand-written.js'
import { bad, folder, journal, lives, published, started, textOf, until } from './fixtures/app.js'

test('a tool that reports an error is a failed call, with its whole result', async t => {
  const { call } = await started(t, [bad()])
  t.strictSame(await call('bad', 'fail'), {
    status: 500,
    body: {
      error: 'the tool "fail" failed: the disk is full',
      code: 'MCP_TOOL_FAILED',
      server: 'bad',
      tool: 'fail',
      details: { result: { content: [{ type: 'text', text: 'the disk is full' }], isError: true, structuredContent: { free: 0 } } }
    }
  })
})

test('a server that dies in the middle of a call is restarted, and the call fails with its exit code and last words', async t => {
  const { call, gateway } = await started(t, [bad(), published('everything')])
  await call('bad', 'echo', { message: 'x' })
  const [exit, beside] = await Promise.all([call('bad', 'exit', { code: 42 }), call('everything', 'echo', { message: 'beside' })])
  t.match(exit, { status: 500, body: { error: /exited with code 42/, code: 'MCP_SERVER_GONE', server: 'bad', tool: 'exit', details: { exitCode: 42, signal: null, stderr: ['last words'], attempt: 1 } } })
  t.equal(textOf(beside as never), 'Echo: beside')
  t.equal(textOf(await call('bad', 'echo', { message: 'back' })), 'back')
  t.equal(gateway.get('bad').status().restarts, 1)
  t.match(await call('bad', 'die'), { status: 500, body: { error: /SIGKILL/, details: { exitCode: null, signal: 'SIGKILL' } } })
  t.equal(textOf(await call('bad', 'echo', { message: 'again' })), 'again')
  t.equal(gateway.get('bad').status().restarts, 2)
})

test('all calls in flight fail when their server dies, and none of another server', async t => {
  const { call, gateway } = await started(t, [bad(), { ...bad(), name: 'other' }])
  await call('bad', 'echo', { message: 'x' })
  const calls = [call('bad', 'hang'), call('bad', 'hang'), call('other', 'slow', { ms: 300 })]
  await until(() => gateway.get('bad').status().callsInFlight === 2)
  await call('bad', 'exit')
  t.strictSame((await Promise.all(calls)).map(({ status }) => status), [500, 500, 200])
})

test('an answer that comes just before the end is not lost', async t => {
  const { call } = await started(t, [bad()])
  t.equal(textOf(await call('bad', 'answer-and-exit')), 'bye')
})

test('a server that cannot start is retried for ever, counts as a crash loop, and hides no other', async t => {
  const { call, get, gateway } = await started(t, [bad({ crash: 7 }), { name: 'nowhere', command: 'no-such-command-of-mine' }, published('memory')], { restartDelayMaxMs: 60 })
  await until(() => gateway.get('bad').status().crashLoop)
  const { body: { servers } } = await get('/mcp/servers')
  t.match(servers, [
    { name: 'bad', transport: 'stdio', crashLoop: true, exitCode: 7, error: /exited with code 7/, stderr: ['cannot read the settings'] },
    { name: 'nowhere', error: /"no-such-command-of-mine" is not on the search path/ },
    { name: 'memory', state: 'ready', crashLoop: false, pid: Number }
  ])
  t.match(await call('bad', 'echo', { message: 'x' }), { status: 500, body: { code: 'MCP_SERVER_NOT_READY', error: /exited with code 7/, details: { exitCode: 7, stderr: ['cannot read the settings'], attempt: Number } } })
  t.match(await call('nowhere', 'x'), { status: 500, body: { error: /not on the search path/ } })
  const { body } = await get('/mcp/tools')
  t.ok(body.tools.length > 0)
  t.ok(body.tools.every((tool: { server: string }) => tool.server === 'memory'))
  const before = gateway.get('bad').status().attempt
  await until(() => gateway.get('bad').status().attempt > before)
})

test('a server that was down at start is there as soon as it can be', async t => {
  const dir = folder(t)
  const flag = join(dir, 'flag')
  const { call, gateway } = await started(t, [bad({ 'crash-until': flag }), bad({ touch: flag, slow: 200 }, { name: 'helper' })])
  await until(() => gateway.get('bad').status().state === 'ready')
  t.equal(textOf(await call('bad', 'echo', { message: 'there' })), 'there')
})

test('a server that refuses the handshake, or exits with any code, is started again until it works', async t => {
  const flag = join(folder(t), 'flag')
  let handshakes = 0
  const { url } = await handWritten(t, ({ message: { method }, error }) => {
    if (method !== 'initialize' || ++handshakes > 8) return false
    error(-32603, 'database is starting up')
    return true
  }, { isModern: false })
  const stdio = [
    ...[-32603, -32022, -32601, 0].map(code => bad({ 'refuse-start': code, until: flag }, { name: `refuses ${code}` })),
    ...[0, 1, 127, 137, 255].map(code => bad({ 'crash-until': flag, code }, { name: `exits ${code}` }))
  ]
  const { gateway, call } = await started(t, [...stdio, { name: 'http', url }], { restartDelayMs: 10, restartDelayMaxMs: 50 })
  await until(() => stdio.every(({ name }) => gateway.get(name!).status().crashLoop))
  for (const { name = '' } of stdio) {
    const status = gateway.get(name).status()
    if (name.startsWith('exits')) t.match(status, { cause: 'EXITED', error: `it exited with code ${name.slice(6)}` }, name)
    else t.match(status, { cause: 'REFUSED', error: 'not spoken here' }, name)
  }
  writeFileSync(flag, '')
  await until(() => gateway.status().every(({ state }) => state === 'ready'))
  for (const { name = '' } of stdio) t.equal(textOf(await call(name, 'echo', { message: 'up' })), 'up', name)
  t.equal((await call('http', 'tool')).status, 200)
})

test('calls wait for a server that is slow to start', async t => {
  const { call, get } = await started(t, [bad({ slow: 500 })])
  t.equal((await get('/mcp/servers')).body.servers[0].state, 'starting')
  t.equal(textOf(await call('bad', 'echo', { message: 'patience' })), 'patience')
})

test('a server that never answers its start is ended and tried again', async t => {
  const { call, gateway } = await started(t, [bad({ silent: true })], { startTimeoutMs: 200, readyWaitMs: 300 })
  await until(() => gateway.get('bad').status().attempt > 1)
  t.match(gateway.get('bad').status().error, /did not answer within 0.2 s of its start/)
  t.match(await call('bad', 'echo', { message: 'x' }), { status: 500, body: { code: 'MCP_SERVER_NOT_READY' } })
})

test('a call without an answer ends with its time, is cancelled at the server, and progress gives it more', async t => {
  const file = join(folder(t), 'journal')
  const { call } = await started(t, [bad({ journal: file }, { timeout: 2 })])
  t.match(await call('bad', 'hang'), { status: 500, body: { code: 'MCP_CALL_TIMEOUT', error: /\b2 s/, details: { state: 'ready' } } })
  await until(() => journal(file).some(line => line.startsWith('notifications/cancelled')))
  const begun = Date.now()
  t.equal(textOf(await call('bad', 'progress', { steps: 6, ms: 500 })), 'done')
  t.ok(Date.now() - begun > 2_000, 'longer than the timeout')
})

test('a call ends at the longest time, progress or not', async t => {
  const { call } = await started(t, [bad()], { maxCallMs: 300 })
  t.match(await call('bad', 'progress', { steps: 100, ms: 50 }), { status: 500, body: { code: 'MCP_CALL_TIMEOUT' } })
})

test('lines on stdout that are not messages are ignored and shown', async t => {
  const { call, gateway } = await started(t, [bad({ noise: true })])
  t.equal(textOf(await call('bad', 'garbage')), 'still here')
  t.match(gateway.get('bad').status().stderr.join('\n'), /stdout: Welcome to the server!/)
})

test('a message past the limit fails only its own call, wherever its id stands', async t => {
  const { call, gateway } = await started(t, [bad()], { maxMessageBytes: 1024 * 1024 })
  for (const last of [true, false]) {
    const [slow, big] = await Promise.all([call('bad', 'slow'), call('bad', 'big', { bytes: 50 * 1024 * 1024, last })])
    t.match(big, { status: 500, body: { code: 'MCP_MESSAGE_TOO_LARGE', server: 'bad', tool: 'big', error: /1048576 are accepted/ } })
    t.equal(slow.status, 200)
  }
  t.equal(textOf(await call('bad', 'big', { bytes: 500_000 })).length, 500_000)
  t.equal(gateway.get('bad').status().restarts, 0)
})

test('twenty megabytes fail with the default limit, which is named, and come through with a higher one', async t => {
  const { call: callByDefault } = await started(t, [bad()])
  t.match(await callByDefault('bad', 'big', { bytes: 20e6 }), { status: 500, body: { error: /and 8388608 are accepted; request less, or raise `max_message_bytes` of its entry/ } })
  const { call } = await started(t, [bad({}, { max_message_bytes: 32 * 1024 * 1024 })])
  for (const bytes of [8e6, 20e6]) t.equal(textOf(await call('bad', 'big', { bytes })).length, bytes)
})

test('a flood on stderr is bounded', async t => {
  const { call, gateway } = await started(t, [bad()], { stderrLines: 5 })
  t.equal(textOf(await call('bad', 'flood', { lines: 50_000 })), 'flooded')
  await until(() => gateway.get('bad').status().stderr.at(-1)?.startsWith('line 49999') === true)
  t.equal(gateway.get('bad').status().stderr.length, 5)
})

test('unusual answers are passed on, or fail at once', async t => {
  const { call } = await started(t, [bad()])
  t.match((await call('bad', 'unknown')).body.result, { content: [{ type: 'hologram', data: { x: 1 } }, {}], structuredContent: { any: ['thing'] } })
  t.match((await call('bad', 'mismatch')).body.result, { structuredContent: { m: 1 } })
  t.match(await call('bad', 'refuse'), { status: 500, body: { code: 'MCP_CALL_FAILED', error: /not today/, details: { rpcCode: -32050, data: { why: 'rain' } } } })
  t.match(await call('bad', 'nothing'), { status: 500, body: { code: 'MCP_CALL_FAILED' } })
  t.match(await call('bad', 'odd-error'), { status: 500, body: { code: 'MCP_CALL_FAILED' } })
})

test('a server that hangs is ended and started again, also while calls keep coming', async t => {
  const { call, gateway } = await started(t, [bad({}, { timeout: 1 })], { pingIntervalMs: 100, pingTimeoutMs: 1_000 })
  await call('bad', 'echo', { message: 'x' })
  const { pid } = gateway.get('bad').status()
  const first = call('bad', 'freeze')
  const stop = new AbortController()
  const stream = (async () => { while (!stop.signal.aborted) { await Promise.race([call('bad', 'echo', { message: 'y' }), delay(50)]) } })()
  t.match(await first, { status: 500 })
  await until(() => { const { state, pid: now } = gateway.get('bad').status(); return state === 'ready' && now !== pid })
  stop.abort()
  await stream
  t.notOk(lives(pid!))
  t.equal(textOf(await call('bad', 'echo', { message: 'back' })), 'back')
})

test('a server with calls in flight is not ended by missed pings, and one without calls is', async t => {
  let pings = 0
  let ends = 0
  const session = {
    requests: { heardAt: 0 },
    // a call has timed out, so that it is pinged although others are in flight
    timedOutAt: 1,
    calls: 1,
    open: true,
    async ping () { pings++; throw new Error('no answer') },
    suspect () {}
  }
  const limits = { pingIntervalMs: 10, pingTimeoutMs: 10 }
  const health = watchHealth(session as unknown as Session, limits as Parameters<typeof watchHealth>[1], () => { ends++ }, async () => {})
  t.teardown(() => health.stop())
  await until(() => pings > 5)
  t.equal(ends, 0)
  session.calls = 0
  await until(() => ends > 0)
  t.equal(ends, 1)
})

test('each bound that an error names is a key of the entry, and holds only for that server', async t => {
  const { url } = await handWritten(t, ({ message: { method } }) => method === 'tools/list', { isModern: false })
  const { call, gateway } = await started(t, [
    bad({ slow: 600 }, { name: 'quick', start_timeout: 0.1 }), bad({ slow: 600 }, { name: 'patient', start_timeout: 30 }),
    bad({}, { name: 'bound', total_timeout: 2.5, timeout: 2, max_in_flight: 1, max_message_bytes: 10_000 }), { name: 'listless', url, list_timeout: 0.05 }, bad({}, { name: 'free' })
  ], { startTimeoutMs: 5_000, listWaitMs: 60_000 })
  await until(() => gateway.get('quick').status().attempt > 1 && ['patient', 'bound', 'free'].every(name => gateway.get(name).status().state === 'ready'))
  t.match(gateway.get('quick').status().error, /within 0.1 s of its start; `start_timeout` of its entry/)
  const failures = {
    hang: /for 2 s; .* `timeout` of its entry/, progress: /no answer for 2.5 s; .* `total_timeout` of its entry/, big: /10000 are accepted; .* `max_message_bytes` of its entry/
  }
  for (const [tool, error] of Object.entries(failures)) t.match((await call('bound', tool, { steps: 100, ms: 50, bytes: 20_000 })).body.error, error, tool)
  const [first, second] = await Promise.all([call('bound', 'hang'), call('bound', 'echo', { message: 'x' })])
  t.match(first, { body: { code: 'MCP_CALL_TIMEOUT' } })
  t.match(second, { status: 503, body: { error: /has 1 calls in flight; .* `max_in_flight` of its entry/ } })
  t.equal(textOf(await call('free', 'big', { bytes: 20_000 })).length, 20_000)
  const { unavailable } = await gateway.list('tools')
  t.match(unavailable.find(({ server }) => server === 'listless'), { error: { message: /within 0.05 s; .* `list_timeout` of its entry/ } })
})

test('one call too many at once is refused with 503', async t => {
  const { call, gateway } = await started(t, [bad()], { maxInFlight: 2 })
  await call('bad', 'echo', { message: 'x' })
  const stop = new AbortController()
  const two = [1, 2].map(async () => await gateway.call('bad', 'hang', {}, { signal: stop.signal }))
  await until(() => gateway.get('bad').status().callsInFlight === 2)
  t.match(await call('bad', 'echo', { message: 'x' }), { status: 503, body: { code: 'MCP_SERVER_BUSY' } })
  stop.abort(new Error('left'))
  for (const one of two) await t.rejects(one, { message: 'left' })
  t.equal((await call('bad', 'echo', { message: 'x' })).status, 200)
})

test('a server that is not to be restarted stays as it ended', async t => {
  const { call, gateway } = await started(t, [bad({}, { restart: false })])
  await call('bad', 'exit', { code: 5 })
  await until(() => gateway.get('bad').status().state === 'failed')
  t.match(await call('bad', 'echo', { message: 'x' }), { status: 500, body: { code: 'MCP_SERVER_NOT_READY', error: /it is not started again/, details: { exitCode: 5 } } })
})

test('a server that lives and closes its standard output or input is ended and started again', async t => {
  for (const [fd, name] of [[1, 'output'], [0, 'input']] as const) {
    const { call, gateway } = await started(t, [bad({}, { name })], { pingIntervalMs: 50, pingTimeoutMs: 600_000 })
    t.equal(textOf(await call(name, 'close-pipe', { fd })), 'closing')
    await until(() => gateway.get(name).status().restarts > 0)
    t.equal(textOf(await call(name, 'echo', { message: 'again' })), 'again')
  }
})

test('what a listener to progress throws, or rejects with, harms neither its call nor the process', async t => {
  const { gateway } = await started(t, [bad({}, { env: { SECRET_KEY: 'of-some-length' } })])
  // eslint-disable-next-line no-throw-literal
  for (const onProgress of [() => { throw new Error('own') }, () => { throw null }, () => { throw 'text' }, async () => { throw null }]) {
    t.match(await gateway.call('bad', 'progress', {}, { onProgress }), { content: [{ text: 'done' }] })
  }
})

test('a long error of a server is shortened, and arguments may be left out', async t => {
  const { call, gateway } = await started(t, [bad()])
  const { status, body } = await call('bad', 'verbose')
  t.equal(status, 500)
  t.ok(body.error.length < 2_500)
  t.match(await gateway.call('bad', 'cwd', undefined as never), { content: [{ type: 'text' }] })
})
