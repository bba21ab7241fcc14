import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { started } from './fixtures/app.js'
import { contextOf, handWritten } from './fixtures/hand-written.js'

const form = { method: 'elicitation/create', params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } }

for (const how of ['asks', 'is too long', 'ends']) {
  test(`a resumed stream belongs to its call, and ${how}`, async t => {
    let gets = 0
    let answered = (): void => {}
    let answering = (_text: string): void => {}
    const { url, server } = await handWritten(t, ({ message: { id, method, params, result }, res }) => {
      if (method === undefined && result !== undefined) {
        answered()
        res.writeHead(202).end()
        return true
      }
      if (method !== 'tools/call' || params.arguments.who !== 'ada') return method === 'tools/call'
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 10\nid: 1\ndata: \n\n')
      answered = () => { answering(`id: 3\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'went on' }] } })}\n\n`) }
      return true
    }, { isModern: false })
    server.prependListener('request', (req, res) => {
      if (req.headers['last-event-id'] === undefined) return
      gets++
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      if (how === 'asks') res.write(`id: 2\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 'q', ...form })}\n\n`)
      if (how === 'is too long') res.write(`id: 2\ndata: ${'x'.repeat(2_000_000)}\n\n`)
      if (how === 'ends') res.end(': nothing\n\n')
      const end = res.end.bind(res)
      answering = text => { end(text) }
      // the listener that follows would refuse the GET
      res.writeHead = res.end = (() => res) as never
    })
    const { gateway } = await started(t, [{ name: 'own', url }], { maxMessageBytes: 1_000_000 })
    const source = gateway.toolSource()
    const asked: unknown[] = []
    const context = (owner: string): ReturnType<typeof contextOf> => contextOf({ principal: { owner }, capabilities: { elicitation: {} }, ask: async questions => { asked.push(owner); return Object.fromEntries(Object.keys(questions).map(key => [key, { action: 'accept', content: {} }])) } })
    const bob = context('bob')
    const other = source.call('own__tool', { who: 'bob' }, bob)
    const { content, isError } = await source.call('own__tool', { who: 'ada' }, context('ada'))
    if (how === 'asks') t.match(content, [{ text: 'went on' }])
    else t.match({ content, isError }, { isError: true, content: [{ text: how === 'ends' ? /^MCP_CALL_FAILED: .*without an answer/ : /^MCP_MESSAGE_TOO_LARGE/ }] })
    t.strictSame(asked, how === 'asks' ? ['ada'] : [])
    // it would be after 10 ms
    await delay(200)
    t.equal(gets, 1, 'it is not requested again')
    bob.signal.abort(new Error('left'))
    await t.rejects(other)
  })
}
