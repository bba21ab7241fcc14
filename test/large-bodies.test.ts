import { test } from 'tap'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { createHost } from '@polyvac/host'
import { mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { until } from './fixtures/until.js'
import { pathsOf, VAC_PROTOCOLS } from './probes/index.mjs'

const LARGE_BYTES = 12 * 1024 * 1024
const PATHS = [...pathsOf('docs'), '/mcp/call']

/** An application with every plugin. */
async function application (): Promise<FastifyInstance> {
  const app = Fastify()
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async () => 'yes' })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  app.addHook('onClose', async () => { await tasks.close() })
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS })
  await app.register(a2aPlugin, { vacs, tasks })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
  await app.register(mcpGatewayPlugin, { servers: [] })
  return app
}

const host = async (): Promise<FastifyInstance> =>
  await createHost({ vacs: ['docs'], stream_interpreter: 'echo', enable_a2a_agent: true, enable_mcp_server: true, mcp_servers: [] })

/** Sends the head and the whole body over a socket, then reads: as a client that writes first. */
async function writeWhole (port: number, path: string, headers = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  await once(socket, 'connect')
  let failure: Error | undefined
  socket.on('error', err => { failure = err })
  socket.write(`POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${LARGE_BYTES}\r\n${headers}\r\n`)
  await new Promise(resolve => { socket.write(Buffer.alloc(LARGE_BYTES, ' '), resolve) })
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => { text += piece }).resume()
  await until(() => socket.closed, 'the connection is closed')
  return failure === undefined ? text : `${failure.message} after: ${text}`
}

for (const [name, create] of [['an application', application], ['the host', host]] as const) {
  test(`clients of ${name} that write a body of 12 MiB to its end read the 413`, async t => {
    const app = await create()
    t.teardown(() => app.close())
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    for (let i = 0; i < 20; i++) {
      const path = PATHS[i % PATHS.length] as string
      const response = await writeWhole(port, path, i % 2 === 0 ? '' : 'connection: close\r\n')
      t.match(response, /^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n[^]*larger than/i, `${i}: ${path}`)
    }
  })
}

test('the connections of other requests stay open after a body that is too large', async t => {
  const app = await application()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(async () => { agent.destroy(); await app.close() })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const post = async (body: string): Promise<[number | undefined, boolean]> => {
    const request = httpRequest({ agent, port, host: '127.0.0.1', path: '/vac/docs', method: 'POST', headers: { 'content-type': 'application/json' } })
    request.end(body)
    const [response] = await once(request, 'response')
    response.resume()
    await once(response, 'end')
    return [response.statusCode, request.reusedSocket]
  }
  const small = '{"user_input":"hello"}'
  const large = `{"user_input":"${'x'.repeat(LARGE_BYTES)}"}`
  t.strictSame([await post(small), await post(small)], [[200, false], [200, true]])
  t.equal((await post(large))[0], 413)
  t.equal((await post(small))[0], 200)
})

test('an application closes while a client still writes a body that was refused', async t => {
  const app = await application()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => { text += piece })
  socket.write(`POST /vac/docs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${LARGE_BYTES}\r\n\r\n{`)
  await until(() => text.includes('413'), 'the response has come while the body is still sent')
  let closed = false
  const closing = app.close().then(() => { closed = true })
  await until(() => closed, 'the application is closed')
  await closing
})
