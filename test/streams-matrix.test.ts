import { test, type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { OpenStreams } from '@polyvac/core/plugin'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { until } from './fixtures/until.js'
import { forms, PROBES, VAC_PROTOCOLS, type ProbeRequest } from './probes/index.mjs'

const TEXT = 'Hi 👍🏽 日本 😀, \u{10ffff}é\n\n🇩🇪!'

const FORMS: ReturnType<typeof forms> = [
  ...forms(PROBES, ['stream']),
  ['direct: only text', user_input => ({ path: '/vac/streaming/bot', headers: {}, body: { user_input, stream_only: true } }), { ...PROBES.direct, piecesOf: body => body }]
]

/** What the interpreter does: a test reads it. */
interface Work { readonly begun: number, readonly ended: number }

async function serve (t: Test, isHttp2: boolean, isEndless: boolean): Promise<{ app: FastifyInstance, port: number, work: Work, tasks: ReturnType<typeof sqliteTaskStore>, running: () => number }> {
  const work = { begun: 0, ended: 0 }
  const vacs = createVacs({
    vacs: ['bot'],
    async * streamInterpreter (_question, _vac, _history, { signal }) {
      const length = isEndless ? Infinity : TEXT.length
      work.begun++
      try {
        for (let i = 0; i < length; i++) {
          yield TEXT.charAt(i % TEXT.length)
          await turn(undefined, { signal })
        }
      } finally {
        work.ended++
      }
    }
  })
  const app = (isHttp2 ? Fastify({ http2: true, forceCloseConnections: true } as object) : Fastify({ forceCloseConnections: true })) as FastifyInstance
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  app.addHook('onClose', () => tasks.close())
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS })
  await app.register(a2aPlugin, { vacs, tasks })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)] })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, port: (app.server.address() as AddressInfo).port, work, tasks, running: () => vacs.running }
}

interface Reader {
  readonly stream: Readable
  /** The ways of a client to leave. */
  readonly leave: { readonly cancel: () => void, readonly destroy: () => void, readonly close: () => void }
}

async function read (port: number, isHttp2: boolean, { path, headers, body }: ProbeRequest): Promise<Reader> {
  const payload = JSON.stringify(body)
  const given = { 'content-type': 'application/json', ...headers }
  if (isHttp2) {
    const session = connect(`http://127.0.0.1:${port}`)
    const stream = session.request({ ':method': 'POST', ':path': path, ...given })
    for (const one of [session, stream]) one.on('error', () => {})
    stream.on('close', () => { session.close() }).end(payload)
    return { stream, leave: { cancel: () => { stream.close(8) }, destroy: () => { stream.destroy(new Error('left')) }, close: () => { session.destroy() } } }
  }
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers: given })
  const response = new Promise<Readable>((resolve, reject) => { request.once('response', resolve).once('error', reject) })
  request.end(payload)
  const stream = await response
  for (const one of [request, stream]) one.on('error', () => {})
  return { stream, leave: { cancel: () => { stream.destroy() }, destroy: () => { request.destroy(new Error('left')) }, close: () => { request.socket?.destroy() } } }
}

for (const isHttp2 of [false, true]) {
  const protocol = isHttp2 ? 'HTTP/2' : 'HTTP/1.1'

  test(`a text that is yielded one UTF-16 unit at a time arrives whole in every form over ${protocol}`, async t => {
    const { port, work, running } = await serve(t, isHttp2, false)
    for (const [name, ask, probe] of FORMS) {
      const { stream } = await read(port, isHttp2, ask('x', 'bot'))
      const bytes: Buffer[] = []
      for await (const piece of stream) bytes.push(piece as Buffer)
      const body = Buffer.concat(bytes)
      t.ok(isUtf8(body), `${name}: the bytes are UTF-8`)
      t.notMatch(body.toString(), /\\u[dD][89a-fA-F]|\ufffd/, `${name}: no half of a pair`)
      t.equal(probe.piecesOf(body.toString()), TEXT, `${name}: the text`)
    }
    await until(() => OpenStreams.count === 0 && running() === 0, 'no stream and no answer is left')
    t.equal(work.ended, work.begun)
  })

  test(`a reader that leaves in any way ends the interpreter of every form over ${protocol}`, async t => {
    const { port, work, tasks, running } = await serve(t, isHttp2, true)
    for (const [name, ask, probe] of FORMS) {
      for (const way of ['cancel', 'destroy', 'close'] as const) {
        const { stream, leave } = await read(port, isHttp2, ask('x', 'bot'))
        let chars = 0
        stream.on('data', (piece: Buffer) => { chars += piece.length })
        await until(() => chars > 1_000, `${name}: text has come`)
        leave[way]()
        await until(() => OpenStreams.count === 0, `${name}, ${way}: no stream is left`)
        if (probe.isTask === true) {
          t.equal(work.ended, work.begun - 1, `${name}, ${way}: the task goes on`)
          for (const { owner, id } of (await tasks.list('anyone', { states: ['working'] })).tasks) await tasks.cancel(owner, id)
        }
        await until(() => work.ended === work.begun && running() === 0, `${name}, ${way}: the interpreter has run its finally`)
        t.pass(`${name}, ${way}`)
      }
    }
  })
}
