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
import { messagesOf } from './probes/events.mjs'

const TEXT = 'Hi 👍🏽 日本 😀, \u{10ffff}é\n\n🇩🇪!'

interface Form {
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body: object
  /** The text that the bytes of a whole stream bring. */
  readonly textOf: (body: string) => string
  /** Whether the work goes on when its reader leaves, until it is canceled. */
  readonly isTask?: boolean
}

type Json = Record<string, any>

const dataOf = (body: string): Json[] => messagesOf(body).flatMap(({ data }) => data === '[DONE]' ? [] : [JSON.parse(data) as Json])
const joined = (body: string, pick: (event: Json) => unknown): string => dataOf(body).map(event => pick(event) ?? '').join('')
const partsOf = (update: Json | undefined): string => update?.artifact.parts.map(({ text = '' }: Json) => text).join('') ?? ''
const call = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, progressToken: 'p' }

const forms: Record<string, Form> = {
  text: { path: '/vac/streaming/bot', body: { user_input: 'x', stream_only: true }, textOf: body => body },
  SSE: { path: '/vac/streaming/bot/sse', body: { user_input: 'x' }, textOf: body => joined(body, ({ chunk }) => chunk) },
  NDJSON: {
    path: '/vac/streaming/bot',
    headers: { accept: 'application/x-ndjson' },
    body: { user_input: 'x' },
    textOf: body => body.trimEnd().split('\n').map(line => (JSON.parse(line) as Json).chunk ?? '').join('')
  },
  OpenAI: {
    path: '/openai/v1/chat/completions',
    body: { model: 'bot', stream: true, messages: [{ role: 'user', content: 'x' }] },
    textOf: body => joined(body, ({ choices }) => choices[0]?.delta.content)
  },
  'A2A 1.0': {
    path: '/a2a',
    headers: { 'a2a-version': '1.0' },
    body: call('SendStreamingMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }),
    textOf: body => joined(body, ({ result }) => partsOf(result.artifactUpdate)),
    isTask: true
  },
  'A2A 0.3': {
    path: '/a2a',
    body: call('message/stream', { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] } }),
    textOf: body => joined(body, ({ result }) => result.kind === 'artifact-update' ? partsOf(result) : ''),
    isTask: true
  },
  'the service description': {
    path: '/a2a/tasks/sendSubscribe',
    body: call('tasks/sendSubscribe', { skillName: 'vac_stream_bot', input: { query: 'x' }, clientMetadata: {} }),
    textOf: body => joined(body, ({ data }) => data.delta),
    isTask: true
  },
  MCP: {
    path: '/mcp',
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'vac_stream_bot' },
    body: call('tools/call', { name: 'vac_stream_bot', arguments: { query: 'x' }, _meta: meta }),
    textOf: body => joined(body, ({ method, params }) => method === 'notifications/progress' ? params.message : '')
  }
}

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
  await app.register(vacPlugin, { vacs })
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

async function read (port: number, isHttp2: boolean, { path, headers, body }: Form): Promise<Reader> {
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
    for (const [name, form] of Object.entries(forms)) {
      const { stream } = await read(port, isHttp2, form)
      const bytes: Buffer[] = []
      for await (const piece of stream) bytes.push(piece as Buffer)
      const body = Buffer.concat(bytes)
      t.ok(isUtf8(body), `${name}: the bytes are UTF-8`)
      t.notMatch(body.toString(), /\\u[dD][89a-fA-F]|\ufffd/, `${name}: no half of a pair`)
      t.equal(form.textOf(body.toString()), TEXT, `${name}: the text`)
    }
    await until(() => OpenStreams.count === 0 && running() === 0, 'no stream and no answer is left')
    t.equal(work.ended, work.begun)
  })

  test(`a reader that leaves in any way ends the interpreter of every form over ${protocol}`, async t => {
    const { port, work, tasks, running } = await serve(t, isHttp2, true)
    for (const [name, form] of Object.entries(forms)) {
      for (const way of ['cancel', 'destroy', 'close'] as const) {
        const { stream, leave } = await read(port, isHttp2, form)
        let chars = 0
        stream.on('data', (piece: Buffer) => { chars += piece.length })
        await until(() => chars > 1_000, `${name}: text has come`)
        leave[way]()
        await until(() => OpenStreams.count === 0, `${name}, ${way}: no stream is left`)
        if (form.isTask === true) {
          t.equal(work.ended, work.begun - 1, `${name}, ${way}: the task goes on`)
          for (const { owner, id } of (await tasks.list('anyone', { states: ['working'] })).tasks) await tasks.cancel(owner, id)
        }
        await until(() => work.ended === work.begun && running() === 0, `${name}, ${way}: the interpreter has run its finally`)
        t.pass(`${name}, ${way}`)
      }
    }
  })
}
