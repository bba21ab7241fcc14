import { test, type Test } from 'tap'
import { innerRequest, memoryBudget } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { createHost, type HostOptions } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'

const HEAD = 'POST /vac/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
const request = (body: string): string => `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`
const QUESTION = request('{"user_input":"x"}')

async function host (t: Test, connections: HostOptions['connections'], options: HostOptions = {}): Promise<FastifyInstance> {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', connections, server: { logger: false }, ...options })
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app
}

/** A connection; `text` is what it received. */
function client (t: Test, app: FastifyInstance, localAddress = '127.0.0.1'): Socket & { text: string } {
  const socket = Object.assign(connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1', localAddress }), { text: '' })
  t.teardown(() => socket.destroy())
  socket.setEncoding('utf8').on('data', (text: string) => { socket.text += text }).on('error', () => {})
  return socket
}

const closed = async (socket: Socket): Promise<unknown> => socket.closed ? undefined : await once(socket, 'close')

test('a connection that sends nothing is closed, and one that sent a request is not', async t => {
  const app = await host(t, { first_byte_timeout: 0.2 })
  const silent = [1, 2, 3].map(() => client(t, app))
  const talking = client(t, app)
  talking.write(QUESTION)
  await Promise.all(silent.map(closed))
  t.strictSame(silent.map(({ text }) => text), ['', '', ''])
  talking.write(QUESTION)
  await until(() => talking.text.match(/200 OK/g)?.length === 2, 'the other connection is open')
  t.equal(talking.text.match(/X-Content-Type-Options: nosniff/gi)?.length, 2)
})

test('slow headers and slow bodies end with 408, and an idle connection is closed', async t => {
  const app = await host(t, { headers_timeout: 0.5, body_timeout: 1, idle_timeout: 0.3, stall_timeout: 0.3 })
  const [headers, body, idle] = [client(t, app), client(t, app), client(t, app)]
  headers.write(HEAD)
  body.write(`${HEAD}Content-Length: 20\r\n\r\n{`)
  idle.write(QUESTION)
  await Promise.all([headers, body, idle].map(closed))
  for (const { text } of [headers, body]) t.match(text, /^HTTP\/1.1 408 .*BAD_HTTP/s)
  t.match(idle.text, /^HTTP\/1.1 200 /)
})

test('connections beyond the bound are refused, with one log line, until others close', async t => {
  const lines: Array<{ msg: string }> = []
  const app = await host(t, { max: 3, max_per_address: 3 }, { server: { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } } })
  const open = [1, 2, 3].map(() => client(t, app))
  for (const socket of open) socket.write(QUESTION)
  await until(() => open.every(({ text }) => text.includes('200 OK')), 'three are served')
  const refused = [1, 2, 3, 4].map(() => client(t, app))
  await Promise.all(refused.map(closed))
  t.equal(lines.filter(({ msg }) => /connections are refused/.test(msg)).length, 1)
  open[0]!.destroy()
  await closed(open[0]!)
  await until(async () => {
    const next = client(t, app)
    next.write(QUESTION)
    await Promise.race([once(next, 'data'), closed(next)])
    return next.text.includes('200 OK')
  }, 'a place is free')
})

test('one address has a quarter of the connections, so that it does not shut out the others', async t => {
  const lines: Array<{ code?: string, address?: string }> = []
  const logger = { level: 'warn', stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } }
  const app = await host(t, { max: 20 }, { server: { logger } })
  const greedy = Array.from({ length: 20 }, () => client(t, app))
  await until(() => greedy.filter(({ closed }) => closed).length === 15, 'fifteen of twenty are closed')
  const served = async (address: string): Promise<boolean> => {
    const next = client(t, app, address)
    next.write(QUESTION)
    await Promise.race([once(next, 'data'), closed(next)])
    next.destroy()
    return next.text.includes('200 OK')
  }
  t.ok(await served('127.0.0.2'), 'another address has a place')
  t.notOk(await served('127.0.0.1'))
  t.match(lines.filter(({ code }) => code !== undefined), [{ code: 'ADDRESS_CONNECTIONS', address: '127.0.0.1', max: 5 }])
  for (const socket of greedy) socket.destroy()
  await until(async () => await served('127.0.0.1'), 'the places come back')
})

test('the connections of a trusted proxy, and those of a process to itself, have no bound of an address', async t => {
  const app = await host(t, { max: 8 }, { trusted_proxies: ['127.0.0.1'] })
  const open = Array.from({ length: 8 }, () => client(t, app))
  for (const socket of open) socket.write(QUESTION)
  await until(() => open.every(({ text }) => text.includes('200 OK')), 'all are served')
  const own = await host(t, { max: 4, max_per_address: 1 })
  const held = client(t, own)
  held.write(QUESTION)
  await until(() => held.text.includes('200 OK'), 'the address has its one connection')
  const { response } = innerRequest(own, { method: 'GET', path: '/vac', headers: {}, remoteAddress: '127.0.0.1' })
  t.equal((await response).resume().statusCode, 200, 'a request within the process is answered')
})

test('a reader that takes nothing is disconnected, and an interpreter that is silent for longer is not', async t => {
  const release: Array<() => void> = []
  let large = 0
  const app = await host(t, { stall_timeout: 0.3 }, {
    async * stream_interpreter (question) {
      if (question === 'x') await new Promise<void>(resolve => { release.push(resolve) })
      else large++
      yield 'y'.repeat(question === 'x' ? 1 : 200_000)
    }
  })
  const waiting = client(t, app)
  waiting.write(QUESTION)
  const paused = client(t, app)
  paused.pause()
  // answers that are too small to be sent in slices
  paused.write(request('{"user_input":"large"}').repeat(200))
  await until(() => release.length > 0 && large > 1, 'both are answered')
  await until(async () => await new Promise(resolve => { app.server.getConnections((_err, count) => { resolve(count === 1) }) }), 'the paused reader is disconnected')
  release[0]!()
  await until(() => waiting.text.includes('200 OK'), 'the silent answer ends')
})

test('a refusal by the memory budget is shown by /ready and logged once, and the budget is configurable', async t => {
  const { limit } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  const lines: Array<{ msg: string, suppressed: number }> = []
  const app = await host(t, {}, { memory_budget: 1, server: { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } } })
  t.equal(memoryBudget.limit, 1024 * 1024)
  const payload = { user_input: 'x'.repeat(900_000) }
  for (let i = 0; i < 5; i++) {
    const response = await app.inject({ method: 'POST', url: '/vac/demo', payload })
    t.match(response, { statusCode: 503, headers: { 'retry-after': '1' } })
  }
  const ready = await app.inject('/ready')
  t.match(ready.json().reasons, [{ part: 'memory', reason: /memory budget/ }])
  t.equal(lines.filter(({ msg }) => /memory budget/.test(msg)).length, 1)
})

test('refusals with 503 are logged once in an interval, and each failure with 500 is', async t => {
  const lines: Array<{ level: number, code?: string, err?: unknown }> = []
  const app = await createHost({
    vacs: ['demo'],
    async * stream_interpreter (question) {
      if (question === 'busy') throw Object.assign(new Error('come back later'), { code: 'BUSY', statusCode: 503, expose: true })
      throw new Error('broken')
    },
    server: { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } }
  })
  t.teardown(() => app.close())
  for (const question of ['busy', 'broken', 'busy', 'broken', 'busy', 'broken']) {
    await app.inject({ method: 'POST', url: '/vac/demo', payload: { user_input: question } })
  }
  t.match(lines.filter(({ level }) => level === 40), [{ code: 'BUSY' }])
  t.equal(lines.filter(({ level, err }) => level === 50 && err !== undefined).length, 3)
})

test('other work has its turn between pipelined requests', async t => {
  let turn = 0
  const turns = new Set<number>()
  const app = await host(t, {}, {
    authenticate () {
      turns.add(turn)
      return { owner: 'ada' }
    }
  })
  const pipelined = client(t, app)
  await once(pipelined, 'connect')
  let isRunning = true
  const count = (): void => {
    turn++
    if (isRunning) setImmediate(count)
  }
  count()
  pipelined.write('GET /vac HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000))
  await until(() => pipelined.text.match(/200 OK/g)?.length === 1_000, 'all are answered')
  isRunning = false
  t.ok(turns.size >= 15, `in ${turns.size} turns`)
})
