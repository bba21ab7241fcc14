import { test } from 'tap'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { createHost, type HostOptions } from '../src/index.js'
import { pathsOf } from '../../../test/probes/index.mjs'

type Teardown = { teardown: (end: () => unknown) => void }

async function host (t: Teardown, options: HostOptions): Promise<FastifyInstance> {
  const app = await createHost({ vacs: ['a'], stream_interpreter: () => 'x', tasks: { store: 'memory' }, enable_mcp_server: true, ...options })
  t.teardown(() => app.close())
  await app.ready()
  return app
}

/** The status of a request over a connection that came in at this address of the machine. */
async function status (app: FastifyInstance, localAddress: string, name: string, origin?: string, path = '/vac/a', method = 'POST'): Promise<number> {
  const [ours, theirs] = duplexPair()
  app.server.emit('connection', Object.assign(theirs, { localAddress, remoteAddress: '192.0.2.1' }))
  const body = '{"user_input":"x"}'
  ours.write(`${method} ${path} HTTP/1.1\r\nhost: ${name}\r\n${origin === undefined ? '' : `origin: ${origin}\r\n`}content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
  const [first] = await once(ours, 'data') as [Buffer]
  ours.destroy()
  return Number(String(first).split(' ')[1])
}

const LAN = '192.0.2.7'

test('a name that a web page rebinds is refused on every address, and the names of the service are served', async t => {
  const app = await host(t, { public_url: 'https://agents.example.org/base', allowed_hosts: ['inner.example.org:8080'] })
  for (const address of [LAN, '127.0.0.1']) {
    t.equal(await status(app, address, 'evil.example'), 403, 'a rebound name')
    t.equal(await status(app, address, '192.0.2.7.evil.example:8080'), 403, 'a name that begins with an address')
    for (const name of ['agents.example.org', 'AGENTS.example.org.', 'inner.example.org:9090', 'localhost:8080', '127.0.0.1', '[::1]:80']) {
      t.equal(await status(app, address, name), 200, `${name} at ${address}`)
    }
  }
  for (const name of ['192.0.2.7:8080', '[fd00::7]', 'polyvac:8080']) t.equal(await status(app, LAN, name), 200, `${name} cannot be rebound`)
  const bare = await host(t, {})
  t.equal(await status(bare, LAN, 'agents.example.org'), 403, 'without public_url no public name is known')
  t.equal(await status(bare, LAN, 'agents.example.org', undefined, '/mcp'), 403, 'at /mcp, too')
  t.equal(await status(await host(t, { allowed_hosts: ['*'] }), LAN, 'evil.example'), 200, 'allowed_hosts: * allows all')
})

test('a page of another site sends no request with effects', async t => {
  const app = await host(t, { public_url: 'https://agents.example.org', allowed_origins: ['https://app.example.org'] })
  for (const path of [...pathsOf('a'), '/nothing']) {
    for (const origin of ['https://evil.example', 'null', 'https://agents.example.org.evil.example', 'http://localhost:3000']) {
      t.equal(await status(app, LAN, 'agents.example.org', origin, path), 403, `${origin} at ${path}`)
    }
  }
  for (const origin of ['https://agents.example.org', 'http://agents.example.org', 'https://app.example.org']) {
    t.equal(await status(app, LAN, 'agents.example.org', origin), 200, origin)
  }
  t.equal(await status(app, LAN, '192.0.2.7:8080', 'http://192.0.2.7:8080'), 200, 'the own page')
  t.equal(await status(app, '127.0.0.1', 'localhost:8080', 'http://localhost:3000'), 200, 'a page of this machine, at loopback')
  t.equal(await status(app, '127.0.0.1', 'localhost:8080', 'https://evil.example'), 403)
  t.equal(await status(await host(t, { allowed_origins: ['*'] }), LAN, '192.0.2.7', 'https://evil.example'), 200, 'allowed_origins: * allows all')
})

test('an application that registers @fastify/cors decides about origins itself', async t => {
  const app = await createHost({ vacs: ['a'], stream_interpreter: () => 'x', tasks: { store: 'memory' } })
  t.teardown(() => app.close())
  // what the plugin decorates
  app.decorateRequest('corsPreflightEnabled', false)
  await app.ready()
  t.equal(await status(app, LAN, '192.0.2.7', 'https://other.example'), 200)
})

test('the log names the switches once for each page of another origin that cannot read answers', async t => {
  for (const [cors, origin, isWarned] of [
    [false, 'https://app.example.org', true], [false, 'http://localhost:5173', true], [false, 'http://localhost:8080', false],
    [true, 'https://app.example.org', false], [true, 'https://other.example.org', true]
  ] as const) {
    const lines: string[] = []
    const logger = { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } }
    const app = await host(t, { cors, allowed_origins: ['https://app.example.org'], server: { logger } })
    for (const method of ['OPTIONS', 'GET', 'POST']) await status(app, '127.0.0.1', 'localhost:8080', origin, '/vac/a', method)
    const warned = lines.map(line => JSON.parse(line) as { origin?: string, msg: string }).filter(line => line.origin !== undefined)
    t.strictSame(warned.map(({ origin }) => origin), isWarned ? [origin] : [], `${origin} with cors: ${cors}`)
    if (!isWarned) continue
    t.match(warned[0]!.msg, /set service\.cors: true, and add the origin to service\.allowed_origins$/)
    for (let i = 0; i < 30; i++) await status(app, '127.0.0.1', 'localhost:8080', `https://page${i}.example.org`)
    t.equal(lines.filter(line => line.includes('"origin"')).length, 10, 'the first origins')
  }
})

test('`cors` lets pages of allowed origins read responses, and `helmet` sends its headers', async t => {
  const app = await createHost({ vacs: ['a'], stream_interpreter: 'echo', cors: true, helmet: true, allowed_origins: ['https://app.example.org'], server: { logger: false } })
  t.teardown(() => app.close())
  const ask = async (origin: string, method: 'OPTIONS' | 'POST') => await app.inject({
    method, url: '/vac/a', headers: { origin, 'access-control-request-method': 'POST', ...method === 'POST' && { 'content-type': 'application/json' } }, ...method === 'POST' && { payload: { user_input: 'x' } }
  })
  for (const method of ['OPTIONS', 'POST'] as const) {
    const allowed = await ask('https://app.example.org', method)
    t.match(allowed, { statusCode: method === 'POST' ? 200 : 204, headers: { 'access-control-allow-origin': 'https://app.example.org', 'x-content-type-options': 'nosniff', 'strict-transport-security': String } }, method)
  }
  for (const url of ['/mcp', '/a2a/v1/tasks/x/pushNotificationConfigs/y']) {
    const { headers } = await app.inject({ method: 'OPTIONS', url, headers: { origin: 'https://app.example.org', 'access-control-request-method': 'DELETE' } })
    t.match(headers['access-control-allow-methods'], /\bDELETE\b/, url)
  }
  t.match((await ask('https://app.example.org', 'POST')).headers['access-control-expose-headers'], /mcp-session-id.*\ba2a-extensions\b/)
  t.equal((await app.inject('/unknown')).statusCode, 404, 'a preflight is answered for each path, and makes none of them exist')
  t.equal((await ask('https://evil.example.org', 'OPTIONS')).headers['access-control-allow-origin'], undefined)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { origin: 'https://evil.example.org', connection: 'close', 'content-type': 'application/json' }
  t.equal((await fetch(`${url}/vac/a`, { method: 'POST', headers, body: '{"user_input":"x"}' })).status, 403)
  t.match((await app.inject({ url: '/', headers: { accept: 'text/html' } })).headers['content-security-policy'], /form-action/)
  const plain = await createHost({ vacs: ['a'], stream_interpreter: 'echo', server: { logger: false } })
  t.teardown(() => plain.close())
  t.equal((await plain.inject({ url: '/vac', headers: { origin: 'https://app.example.org' } })).headers['access-control-allow-origin'], undefined)
})
