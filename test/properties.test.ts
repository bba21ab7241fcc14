import fc from 'fast-check'
import { deepEqual, equal } from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import { createHost, parseConfig } from '../apps/host/src/index.js'
import { Exchange, type ExchangeOwner } from '../packages/mcp-gateway/src/connections/http/exchange.js'
import { SealedTexts } from '../packages/mcp-gateway/src/sign-in/sealed-texts.js'
import { pathsOf } from './probes/index.mjs'

// What holds for any input of the formats that strangers send. `npm run fuzz` looks for others, led by coverage.

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const binary = fc.string({ unit: 'binary' })
// at first use fast-check computes its table of characters, which takes a second
fc.sample(binary, 1)

test('any JSON value is answered by each protocol, and none of them with 500', async t => {
  const app = await createHost({
    vacs: ['demo'], stream_interpreter: () => 'ok', enable_a2a_agent: true, enable_mcp_server: true, mcp_servers: [], tasks: { store: 'memory' }, server: { logger: { level: 'silent' } }
  })
  t.teardown(() => app.close())
  const rpc = fc.record({ jsonrpc: fc.constantFrom('2.0', '1.0'), id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)), method: fc.constantFrom('initialize', 'tools/call', 'SendMessage', 'message/send', 'tasks/get', 'GetTask', 'x'), params: fc.jsonValue() }, { requiredKeys: [] })
  await fc.assert(fc.asyncProperty(fc.oneof(fc.jsonValue(), rpc), async body => {
    for (const url of [...pathsOf('demo'), '/mcp/call']) {
      const { statusCode } = await app.inject({ method: 'POST', url, payload: JSON.stringify(body), headers })
      if (statusCode >= 500 && statusCode !== 503) throw new Error(`${url} answered ${statusCode}`)
    }
  }), { numRuns: 60 })
})

/** Values that clients put in the place of others; a text made of the last one throws. */
const ODD: readonly unknown[] = [null, '', [], {}, 0, true, 'a\0b', '\ud800', 'x'.repeat(300), { toString: 1 }]

/** Bodies that differ from one in a single value. */
function * withOdd (body: unknown): Generator<unknown> {
  for (const odd of ODD) yield odd
  if (typeof body !== 'object' || body === null) return
  for (const [key, value] of Object.entries(body)) {
    for (const odd of withOdd(value)) yield Array.isArray(body) ? body.with(Number(key), odd) : { ...body, [key]: odd }
  }
}

const card = { type: 'dynamic-tool', toolName: 'ask', toolCallId: 'c', state: 'output-available', input: {}, output: 'yes', errorText: 'e', approval: { id: 'a', approved: true } }
const picture = { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } }
const RICH = {
  '/ai/demo': {
    id: 'c',
    trigger: 'regenerate-message',
    messageId: 'm',
    prompt: 'x',
    message: { id: 'm', role: 'user', parts: [] },
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }, { type: 'file', url: 'data:,x', mediaType: 'a/b', filename: 'f' }] }, { id: 'n', role: 'assistant', parts: [card] }]
  },
  '/ag-ui/demo': {
    threadId: 't',
    runId: 'r',
    protocolVersion: '1.0',
    resume: [{ interruptId: 'i', status: 'resolved', payload: { text: 'x' } }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: { a: 1 },
    messages: [{ id: 'm', role: 'user', content: [{ type: 'text', text: 'x' }, picture] }, { id: 'a', role: 'assistant', content: 'y', toolCalls: [{ id: 'c' }] }, { id: 'q', role: 'tool', toolCallId: 'c', content: 'z' }, { id: 'm', role: 'user', content: 'x' }]
  },
  '/ag-ui/agent/demo/connect': { threadId: 't', runId: 's', messages: [{ id: 'm', role: 'user', content: 'x' }, { id: 'm', role: 'user', content: 'x' }, { id: 'm', role: 'user', content: 'x' }] },
  '/ag-ui/agent/demo/stop/t': { runId: 'r' },
  '/ag-ui': { method: 'agent/stop', params: { agentId: 'demo', threadId: 't' }, body: { threadId: 't', runId: 'r', messages: [] } },
  '/ai/demo/c/stop': { activeStreamId: 'x' }
}

test('a body of a chat front end with any odd value in it is answered, and never with 500', async t => {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: () => 'ok', mcp_servers: [], tasks: { store: 'memory' }, server: { logger: { level: 'silent' } } })
  t.teardown(() => app.close())
  let count = 0
  for (const [url, body] of Object.entries(RICH)) {
    for (const odd of withOdd(body)) {
      const payload = JSON.stringify(odd)
      const { statusCode, body: answer } = await app.inject({ method: 'POST', url, payload, headers })
      count++
      if (statusCode >= 500 || answer.includes('INTERNAL_ERROR')) t.fail(`${url} answered ${statusCode} to ${payload.slice(0, 500)}`)
    }
  }
  t.comment(`${count} bodies`)
  t.ok(count > 500)
})

test('the messages of an event stream do not depend on where its bytes are cut', async () => {
  const messagesOf = (chunks: readonly Buffer[]): unknown[] => {
    const messages: unknown[] = []
    const owner: ExchangeOwner = { maxMessageBytes: 100_000, started () {}, trouble () {}, ended () {}, message: (_exchange, message) => { messages.push(message) } }
    const exchange = new Exchange({ method: 'POST', id: 1 }, owner)
    const controller = { abort () {}, pause () {}, resume () {} } as never
    exchange.onRequestStart(controller)
    exchange.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks) exchange.onResponseData(controller, chunk)
    exchange.onResponseEnd()
    return messages
  }
  await fc.assert(fc.asyncProperty(fc.array(binary, { maxLength: 5 }), fc.array(fc.nat(400)), fc.constantFrom('\n', '\r\n', '\r'), async (texts, cuts, end) => {
    await nextTurn()
    const bytes = Buffer.from(texts.map(text => `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'a', params: { text } })}${end}${end}`).join(''))
    const at = [...new Set(cuts.map(cut => Math.min(cut, bytes.length)))].sort((a, b) => a - b)
    const chunks = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length))
    deepEqual(messagesOf(chunks), messagesOf([bytes]))
  }), { numRuns: 100 })
})

test('any text is a configuration, or is refused as CONFIG_INVALID', async () => {
  const line = fc.constantFrom('kind: vacConfig', 'vac:', '  demo: {}', 'service:', '  mcp_servers:', '    a: { url: "https://a.example", oauth: {}, per_owner: true }', '- x', '? y', '&a [*a]', '<<: *a', '"\\ud800": 1')
  await fc.assert(fc.asyncProperty(fc.oneof(binary, fc.array(fc.oneof(line, fc.string())).map(lines => lines.join('\n')), fc.json()), async text => {
    await nextTurn()
    try {
      parseConfig(text, '/x/vac_config.yaml')
    } catch (err) {
      if ((err as { code?: unknown }).code !== 'CONFIG_INVALID') throw err
    }
  }), { numRuns: 150 })
})

test('a sealed text opens only with its key and purpose, and any change closes it', async () => {
  const [texts, others] = [new SealedTexts('k'.repeat(32)), new SealedTexts('l'.repeat(32))]
  await fc.assert(fc.asyncProperty(fc.jsonValue(), fc.array(fc.string()), fc.array(fc.string()), fc.nat(), fc.string(), async (value, purpose, other, at, piece) => {
    await nextTurn()
    const sealed = texts.seal(value, purpose)
    deepEqual(texts.open(sealed, purpose), JSON.parse(JSON.stringify(value)))
    equal(others.open(sealed, purpose), undefined)
    if (JSON.stringify(other) !== JSON.stringify(purpose)) equal(texts.open(sealed, other), undefined)
    const changed = `${sealed.slice(0, at % sealed.length)}${piece}${sealed.slice(at % sealed.length + piece.length)}`
    const isSame = Buffer.from(changed.slice(3), 'base64url').equals(Buffer.from(sealed.slice(3), 'base64url')) && changed.startsWith('v1.')
    if (!isSame) equal(texts.open(changed, purpose), undefined)
  }), { numRuns: 100 })
})
