import { test, type Test } from 'tap'
import { createGateway, type Gateway, type McpServerConfig } from '../src/index.js'
import { bad, lives, started, textOf, until } from './fixtures/app.js'
import { contextOf } from './fixtures/hand-written.js'

type Caller = (owner: string | undefined, sessionId?: string, tool?: string) => Promise<number>

/** Calls in the name of owners and sessions, which resolve to the process that answered. */
async function callers (t: Test, more: Partial<McpServerConfig>): Promise<{ gateway: Gateway, pid: Caller, source: ReturnType<Gateway['toolSource']> }> {
  const { gateway } = await started(t, [bad({}, { name: 'own', ...more })])
  const source = gateway.toolSource()
  await until(() => gateway.get('own').status().state === 'ready')
  return {
    gateway,
    source,
    async pid (owner, sessionId, tool = 'pid') {
      const result = await source.call(`own__${tool}`, {}, contextOf({ principal: owner === undefined ? undefined : { owner }, sessionId }))
      return Number((result.content[0] as { text: string }).text)
    }
  }
}

test('with `process: owner` each owner has a process, in all its sessions, and lists have another one', async t => {
  const { gateway, pid, source } = await callers(t, { process: 'owner' })
  const [ada, again, bob, nobody, code] = await Promise.all([
    pid('ada', 's1'), pid('ada', 's2'), pid('bob'), pid(undefined),
    gateway.call('own', 'pid', {}, { principal: { owner: 'ada' } }).then(({ content }) => Number((content[0] as { text: string }).text))
  ])
  t.strictSame([again, code], [ada, ada])
  t.equal(new Set([ada, bob, nobody, gateway.get('own').status().pid]).size, 4)
  t.ok((await source.list()).some(({ name }) => name === 'own__pid'))
  t.match(gateway.get('own').status(), { state: 'ready', processes: 3, callsInFlight: 0 })
  await gateway.close()
  await until(() => ![ada, bob, nobody].some(one => lives(one!)))
})

test('with `process: session` each MCP session has a process until it ends, and callers without one have that of their owner', async t => {
  const { gateway, pid, source } = await callers(t, { process: 'session' })
  const [first, again, second, bob, without, rest] = await Promise.all([pid('ada', 's1'), pid('ada', 's1'), pid('ada', 's2'), pid('bob', 's3'), pid('ada'), pid('ada')])
  t.equal(again, first)
  t.equal(rest, without)
  t.equal(new Set([first, second, bob, without]).size, 4)
  source.sessionEnded('s1')
  await until(() => !lives(first!))
  t.strictSame([second, bob, without].map(one => lives(one!)), [true, true, true])
  t.not(await pid('ada', 's1'), first)
  t.equal(await pid('bob', 's1') === await pid('ada', 's1'), false, 'the same session of another owner')
  t.equal(gateway.get('own').status().processes, 5)
})

test('processes past the bound of an owner, or of the server, are refused, and no other owner loses one', async t => {
  const { gateway, pid } = await callers(t, { process: 'session', max_processes: 5 })
  const [bob, first, second] = [await pid('bob', 'b'), await pid('ada', 's1'), await pid('ada', 's2')]
  const third = await pid('ada', 's3')
  await until(() => !lives(first))
  t.ok([bob, second, third].every(lives), 'the own process that was idle longest ended')
  const stop = new AbortController()
  const busy = ['s2', 's3'].map(async sessionId => await gateway.call('own', 'hang', {}, { principal: { owner: 'ada' }, sessionId, signal: stop.signal }).catch(() => {}))
  await until(() => gateway.get('own').status().callsInFlight === 2)
  const ask = async (owner: string): Promise<unknown> => await gateway.call('own', 'pid', {}, { principal: { owner }, sessionId: 's4' })
  await t.rejects(ask('ada'), { code: 'MCP_PROCESSES_USED', statusCode: 503, message: /has 2 processes of this caller in use; .*`max_processes`/ })
  await pid('cleo', 'c')
  await pid('dan', 'd')
  await t.rejects(ask('eve'), { code: 'MCP_PROCESSES_USED', message: /has 5 processes in use/ })
  t.ok([bob, second, third].every(lives))
  stop.abort(new Error('left'))
  await Promise.all(busy)
})

test('a process without requests ends after its idle time, and one with a call or a subscription does not', async t => {
  const { gateway, pid, source } = await callers(t, { process: 'owner', process_idle: 0.3 })
  const stopWatching = await source.resources.subscribe('bad://a', () => {}, 'ada')
  const stop = new AbortController()
  const call = gateway.call('own', 'hang', {}, { principal: { owner: 'bob' }, signal: stop.signal }).catch(() => {})
  await until(() => gateway.get('own').status().callsInFlight === 1)
  const [ada, cleo] = [await pid('ada'), await pid('cleo')]
  await until(() => !lives(cleo))
  t.equal(gateway.get('own').status().processes, 2)
  t.ok(lives(ada))
  stopWatching()
  stop.abort(new Error('left'))
  await call
  await until(() => gateway.get('own').status().processes === 0 && !lives(ada))
  t.not(await pid('cleo'), cleo)
})

test('the end of one owner\'s process fails only the calls of that owner, and a changed tool is held back in all', async t => {
  const { gateway } = await callers(t, { process: 'owner', pin: 'of another list' })
  await t.rejects(gateway.call('own', 'pid', {}, { principal: { owner: 'ada' } }), { code: 'MCP_TOOL_HELD_BACK' })
  const { call, gateway: open } = await started(t, [bad({}, { name: 'own', process: 'owner' })])
  const stop = new AbortController()
  const slow = open.call('own', 'slow', { ms: 400 }, { principal: { owner: 'bob' }, signal: stop.signal })
  await until(() => open.get('own').status().callsInFlight === 1)
  await t.rejects(open.call('own', 'exit', { code: 3 }, { principal: { owner: 'ada' } }), { code: 'MCP_SERVER_GONE' })
  t.match(await slow, { content: [{ type: 'text' }] })
  t.ok(Number(textOf(await call('own', 'pid'))) > 0)
  t.equal(gateway.get('own').status().callsInFlight, 0)
})

test('`process` is for servers with a command', async t => {
  t.throws(() => createGateway({ servers: { far: { url: 'http://127.0.0.1:1', process: 'session' } } }), { code: 'MCP_GATEWAY_OPTIONS', message: /far.process: a server with a url has no processes here/ })
  t.throws(() => createGateway({ servers: { near: { command: 'x', process: 'each' as never } } }), { code: 'MCP_GATEWAY_OPTIONS', message: /process/ })
})
