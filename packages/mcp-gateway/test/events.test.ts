import { parseEvents } from '@polyvac/client/events'
import { test } from 'tap'
import { request } from 'node:http'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { bad, folder, journal, published, started, until, type Started } from './fixtures/app.js'

async function events (app: Started['app'], payload: object): Promise<Array<[string, any]>> {
  const { body, headers, statusCode } = await app.inject({ method: 'POST', url: '/mcp/call', headers: { accept: 'text/event-stream' }, payload })
  if (!String(headers['content-type']).startsWith('text/event-stream')) return [[`status ${statusCode}`, JSON.parse(body)]]
  return parseEvents(body).map(({ event = '', data }) => [event, JSON.parse(data)])
}

test('progress comes as events, every one and the last too, then the result', async t => {
  const { app } = await started(t, [bad(), published('everything')])
  for (let i = 0; i < 10; i++) {
    const seen = await events(app, { server: 'bad', tool: 'progress', arguments: { steps: 3 } })
    t.strictSame(seen, [
      ...[1, 2, 3].map(step => ['progress', { progress: step, total: 3, message: `step ${step}` }]),
      ['result', { result: { content: [{ type: 'text', text: 'done' }] } }]
    ])
  }
  const long = await events(app, { server: 'everything', tool: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } })
  t.strictSame(long.map(([name]) => name), ['progress', 'progress', 'progress', 'progress', 'result'])
})

test('a failure before the first event is an ordinary error, and later an event', async t => {
  const { app } = await started(t, [bad({}, { timeout: 1 })])
  t.match(await events(app, { server: 'bad', tool: 'nothing-such', arguments: {} }), [['status 404', { code: 'MCP_TOOL_NOT_FOUND' }]])
  t.match(await events(app, { server: 'bad', tool: 'fail', arguments: {} }), [['status 500', { code: 'MCP_TOOL_FAILED' }]])
  t.match(await events(app, { server: 'bad', tool: 'progress', arguments: { steps: 3, ms: 400, total: 9 } }).then(seen => seen.map(([name]) => name)), ['progress', 'progress', 'progress', 'result'])
  t.match(await events(app, { server: 'bad', tool: 'ask', arguments: {} }), [['input_required', { status: 'input_required', requestState: String }]])
})

for (const accept of ['text/event-stream', 'application/json']) {
  test(`a caller that leaves cancels its call at the server (${accept})`, async t => {
    const file = join(folder(t), 'journal')
    const { app } = await started(t, [bad({ journal: file })])
    await app.listen({ port: 0, host: '127.0.0.1' })
    const body = JSON.stringify({ server: 'bad', tool: accept === 'application/json' ? 'hang' : 'progress', arguments: { steps: 1000, ms: 20 } })
    const req = request({ port: (app.server.address() as AddressInfo).port, method: 'POST', path: '/mcp/call', agent: false, headers: { 'content-type': 'application/json', accept, 'content-length': Buffer.byteLength(body) } })
    req.on('error', () => {})
    req.on('response', res => { res.resume().on('error', () => {}) })
    req.end(body)
    await until(() => journal(file).some(line => line.startsWith('tools/call')))
    req.destroy()
    await until(() => journal(file).some(line => line.startsWith('notifications/cancelled')))
    t.pass('the call would go on for 20 s, or for ever')
  })
}
