import { test } from 'tap'
import type { SourceContext } from '../src/index.js'
import { started, until } from './fixtures/app.js'
import { contextOf, handWritten, paused, type Exchange } from './fixtures/hand-written.js'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const able = (over: Partial<SourceContext> = {}): SourceContext => contextOf({ era: 'modern', capabilities: { elicitation: {}, extensions: { [EXTENSION]: {} } }, ...over })
const calls = (work: (exchange: Exchange) => void) => (exchange: Exchange): boolean => {
  if (exchange.message.method !== 'tools/call') return false
  work(exchange)
  return true
}
const form = { method: 'elicitation/create', params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } }

test('a result of an undeclared or malformed type fails its call, for every kind of caller', async t => {
  let result: object = {}
  const { url } = await handWritten(t, calls(exchange => exchange.result(result)))
  const { gateway, call } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  for (const odd of [
    { resultType: 'weird', content: [] }, { resultType: 5 }, { resultType: null },
    { resultType: 'input_required' }, { resultType: 'input_required', inputRequests: null }, { resultType: 'input_required', inputRequests: [form] },
    { resultType: 'input_required', inputRequests: { q: null } }, { resultType: 'input_required', inputRequests: { q: { ...form, params: 'odd' } } },
    { resultType: 'input_required', inputRequests: { q: { method: 'tools/call' } } }, { resultType: 'input_required', inputRequests: {}, requestState: { an: 'object' } },
    { resultType: 'input_required', inputRequests: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`q${i}`, form])) },
    { resultType: 'input_required', inputRequests: { q: form }, requestState: 's'.repeat(5 * 1024 * 1024) }
  ]) {
    result = odd
    const words = JSON.stringify(odd).slice(0, 100)
    t.match(await source.call('own__tool', {}, able()), { isError: true, content: [{ text: /^MCP_CALL_FAILED: / }] }, words)
    t.match(await source.call('own__tool', {}, contextOf({ capabilities: { elicitation: {} } })), { isError: true, content: [{ text: /^MCP_CALL_FAILED: / }] }, words)
  }
  result = { resultType: 'task', taskId: 'x', status: 'working' }
  for (const context of [contextOf(), contextOf({ era: 'modern' })]) t.match(await source.call('own__tool', {}, context), { isError: true, content: [{ text: /task/ }] }, 'a task that nobody asked for')
  t.match(await call('own', 'tool'), { status: 500, body: { code: 'MCP_CALL_FAILED' } })
  result = { resultType: 'input_required', requestState: 'alone' }
  await t.rejects(source.call('own__tool', {}, able()), paused, 'a state alone will do')
})

test('half of a surrogate pair in any text of a server becomes U+FFFD', async t => {
  const half = 'x\ud83d'
  const { url } = await handWritten(t, ({ message: { id, method, params }, event, res, result, error }) => {
    if (method === 'tools/list') result({ tools: [{ name: 'tool', title: half, description: half, inputSchema: { type: 'object', description: half } }] })
    else if (method === 'prompts/get') error(-32602, half, { half })
    else if (method === 'tools/call') {
      event({ method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1, message: half } })
      event({ id, result: { content: [{ type: 'text', text: `\ude00 \\ud83d 😀 ${half}` }], structuredContent: { [half]: [half] } } })
      res.end()
    } else return false
    return true
  })
  const { gateway, call } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  const context = contextOf()
  t.strictSame(await source.call('own__tool', {}, context), { content: [{ type: 'text', text: '\ufffd \\ud83d 😀 x\ufffd' }], structuredContent: { 'x\ufffd': ['x\ufffd'] } })
  t.match(await call('own', 'tool'), { body: { result: { content: [{ text: '\ufffd \\ud83d 😀 x\ufffd' }] } } })
  const refused = await source.prompts.get('own__prompt', {}, context).catch((err: unknown) => err)
  t.match(refused, { rpcError: { message: 'x\ufffd', data: { half: 'x\ufffd' } } })
  t.match(context.sent, [{ message: 'x\ufffd' }])
  t.notMatch(JSON.stringify(await source.list()), /\\ud83d/)
})

test('a task with an unusable id fails its call', async t => {
  let taskId: unknown
  const { url } = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'tools/call') result({ resultType: 'task', taskId, status: 'working', ttlMs: null })
    else if (method === 'tasks/get') result({ resultType: 'complete', taskId: params.taskId, status: 'working' })
    else return false
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  for (taskId of [undefined, null, '', 7, {}, 'x'.repeat(10_000)]) t.match(await source.call('own__tool', {}, able()), { isError: true, content: [{ text: /^MCP_CALL_FAILED: .*task/ }] }, String(taskId).slice(0, 20))
  taskId = 'x'.repeat(1_000)
  const { task } = await source.call('own__tool', {}, able())
  t.match(await source.tasks.get(String(task?.taskId), able()), { status: 'working', taskId: task?.taskId })
})

test('a followed task is polled within bounds, whatever interval its server requests', async t => {
  const intervals: unknown[] = [0, -1, 1e12, 'often', null, {}]
  const polls = intervals.map(() => 0)
  const { url } = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'tools/call') result({ resultType: 'task', taskId: String(params.arguments.i), status: 'working' })
    else if (method === 'tasks/get') {
      const i = Number(params.taskId)
      result({ resultType: 'complete', taskId: params.taskId, status: 'working', pollIntervalMs: intervals[i], statusMessage: String(polls[i]!++) })
    } else return false
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  const contexts = intervals.map(() => contextOf({ era: 'modern', capabilities: { extensions: { [EXTENSION]: {} } } }))
  const following = contexts.map(async (context, i) => {
    const { task } = await source.call('own__tool', { i }, able())
    await source.tasks.follow(String(task?.taskId), () => {}, context)
  })
  const begun = performance.now()
  await until(() => polls[0]! > 2 && polls.every(count => count > 0))
  const most = (performance.now() - begun) / 200 + 2
  for (const [i, count] of polls.entries()) t.ok(count <= most, `${JSON.stringify(intervals[i])}: ${count}`)
  for (const { signal } of contexts) signal.abort(new Error('left'))
  await Promise.all(following)
})

test('a task is followed through failures of its server, and its end is reported', async t => {
  const said: Array<(exchange: Exchange) => void> = [
    ({ result }) => result({ resultType: 'complete', taskId: 'x', status: 'working', pollIntervalMs: 200 }),
    ({ res }) => res.destroy(),
    ({ error }) => error(-32603, 'a moment please'),
    ({ result }) => result({ resultType: 'complete', taskId: 'x', status: 'completed' })
  ]
  const { url } = await handWritten(t, exchange => {
    const { method } = exchange.message
    if (method === 'tools/call') exchange.result({ resultType: 'task', taskId: 'x', status: 'working' })
    else if (method === 'tasks/get') (said.length > 1 ? said.shift() : said[0])!(exchange)
    else return false
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  const { task } = await source.call('own__tool', {}, able())
  const told: unknown[] = []
  const follow = (): Promise<void> => source.tasks.follow(String(task?.taskId), ({ status }) => { told.push(status) }, able())
  await follow()
  t.strictSame(told, ['completed'])
  await follow()
  t.strictSame(told, ['completed', 'completed'], 'one that ended between its caller\'s look and this one')
  said[0] = ({ error }) => error(-32602, 'no such task')
  await follow()
  t.equal(told.length, 2, 'one that its server has forgotten')
})

test('a question that comes after its call has ended is declined', async t => {
  let ask = (): void => {}
  const answers: unknown[] = []
  const { url } = await handWritten(t, ({ message: { id, method, params, result, error }, event, res }) => {
    if (method === undefined) answers.push(result ?? error)
    if (method !== 'tools/call') return false
    if (params.arguments.who !== 'ada') return true
    event({ id, result: { content: [] } })
    ask = () => { event({ id: 'late', ...form }); res.end() }
    return true
  }, { isModern: false })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  const asked: unknown[] = []
  const context = (owner: string): ReturnType<typeof contextOf> => contextOf({ principal: { owner }, capabilities: { elicitation: {} }, ask: async questions => { asked.push([owner, questions]); return { question: { action: 'accept', content: {} } } } })
  await source.call('own__tool', { who: 'ada' }, context('ada'))
  const bob = context('bob')
  const call = source.call('own__tool', { who: 'bob' }, bob)
  await until(() => gateway.get('own').status().callsInFlight === 1)
  ask()
  await until(() => answers.length > 0)
  t.strictSame(asked, [])
  t.match(answers, [{ action: 'decline' }])
  bob.signal.abort(new Error('left'))
  await t.rejects(call)
})

test('a server that refuses the revision of a request, and names it as supported, gets the same request again', async t => {
  const methods: unknown[] = []
  const { url } = await handWritten(t, ({ message: { id, method }, res }) => {
    methods.push(method)
    if (methods.length > 1) return false
    const error = { code: -32022, message: 'unsupported', data: { supported: ['2026-07-28'], requested: '2026-07-28' } }
    res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    return true
  })
  const { call, gateway } = await started(t, [{ name: 'own', url }])
  t.match(await call('own', 'tool'), { status: 200 })
  t.strictSame(methods.slice(0, 2), ['server/discover', 'server/discover'])
  t.notOk(methods.includes('initialize'))
  t.match(gateway.status(), [{ restarts: 0 }])
})

test('a server that supports only older revisions gets an initialize request', async t => {
  const { url } = await handWritten(t, ({ message: { method }, error }) => {
    if (method === 'server/discover') error(-32022, 'unsupported', { supported: ['2025-11-25'] })
    return method === 'server/discover'
  }, { isModern: false })
  t.match(await (await started(t, [{ name: 'own', url }])).call('own', 'tool'), { status: 200 })
})

test('a server of the revision before the first release is accepted', async t => {
  const { url } = await handWritten(t, ({ message: { method }, result }) => {
    if (method === 'initialize') result({ protocolVersion: '2024-10-07', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '0' } })
    return method === 'initialize'
  }, { isModern: false })
  t.match(await (await started(t, [{ name: 'own', url }])).call('own', 'tool'), { status: 200 })
})

test('a server of the older era is recognized, whatever it answers to server/discover', async t => {
  const ways: Record<string, (exchange: Exchange) => void> = {
    500: ({ res }) => res.writeHead(500).end('TypeError: unknown method'),
    501: ({ res }) => res.writeHead(501).end(),
    HTML: ({ res }) => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    nothing: ({ res }) => res.writeHead(200, { 'content-type': 'application/json' }).end(),
    'no JSON': ({ res }) => res.writeHead(200, { 'content-type': 'application/json' }).end('{"jso'),
    'no message': ({ res }) => res.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'),
    'an empty stream': ({ res }) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
    'an odd result': ({ result }) => result({}),
    'another error': ({ error }) => error(-32603, 'what?'),
    'no answer': () => {},
    'an acknowledgement': ({ res }) => res.writeHead(202).end(),
    'a foreign answer': ({ res }) => res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":77,"result":{}}')
  }
  for (const [name, answer] of Object.entries(ways)) {
    const { url } = await handWritten(t, exchange => {
      if (exchange.message.method !== 'server/discover') return false
      answer(exchange)
      return true
    }, { isModern: false })
    const { gateway, call } = await started(t, [{ name: 'own', url }], { startTimeoutMs: 2_000 })
    t.equal((await call('own', 'tool')).status, 200, name)
    await gateway.close()
  }
})

test('a server that changes its era at a restart is reached again', async t => {
  let isModern = true
  const { url } = await handWritten(t, () => false, { isModern: () => isModern })
  const { call } = await started(t, [{ name: 'own', url }])
  for (isModern of [true, false, true, false]) {
    t.equal((await call('own', 'tool')).status, 200, String(isModern))
  }
})

test('a response to another request, and one that is too long, fail their call at once', async t => {
  const { url } = await handWritten(t, ({ message: { id, method, params }, res }) => {
    if (method !== 'tools/call') return false
    const { how } = params.arguments
    if (how === 'foreign') res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":"other","result":{}}')
    if (how === 'refused') {
      res.writeHead(400, { 'content-type': 'text/plain' })
      const more = (): void => { while (!res.destroyed && res.write('x'.repeat(64 * 1024))); res.once('drain', more) }
      more()
    }
    if (how === 'lines') {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      const more = (): void => { while (!res.destroyed && res.write('data: a line\n'.repeat(5_000))); res.once('drain', more) }
      more()
    }
    if (how === undefined) res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${': still here\n\n'.repeat(100_000)}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\r\n\r\n`)
    return true
  })
  const { call } = await started(t, [{ name: 'own', url }], { maxMessageBytes: 1_000_000 })
  t.equal((await call('own', 'tool')).status, 200, 'comments are no message')
  t.match(await call('own', 'tool', { how: 'foreign' }), { status: 500, body: { code: 'MCP_CALL_FAILED' } })
  t.match(await call('own', 'tool', { how: 'refused' }), { status: 500, body: { code: 'MCP_CALL_FAILED' } })
  t.match(await call('own', 'tool', { how: 'lines' }), { status: 500, body: { code: 'MCP_MESSAGE_TOO_LARGE' } })
})

test('secrets of the configuration are removed from errors of a server, including their data', async t => {
  const secret = 'a-long-secret'
  const { url } = await handWritten(t, calls(({ error }) => error(-32602, `Bearer ${secret} is no good`, { headers: { authorization: `Bearer ${secret}`, [secret]: [secret] } })))
  const { call, gateway } = await started(t, [{ name: 'own', url, headers: { authorization: `Bearer ${secret}` } }])
  const { body } = await call('own', 'tool')
  t.match(body, { code: 'MCP_CALL_FAILED', details: { data: { headers: {} } } })
  t.notMatch(JSON.stringify(body), secret)
  t.notMatch(JSON.stringify(await gateway.toolSource().call('own__tool', {}, able())), secret)
})

test('the subscription is requested again when its stream breaks, and after the server was away', async t => {
  let listens: Exchange[] = []
  const answer = (exchange: Exchange): boolean => {
    if (exchange.message.method === 'subscriptions/listen') listens.push(exchange)
    return false
  }
  const { url, server, port } = await handWritten(t, answer)
  let refused = 0
  const log = { debug ({ err }: { err?: string }) { if (/ECONNREFUSED/.test(err ?? '')) refused++ }, info () {}, warn () {}, error () {} }
  const { gateway } = await started(t, [{ name: 'own', url }], { log })
  let told = 0
  const source = gateway.toolSource()
  const stop = await source.resources.subscribe('own://a', () => { told++ })
  const heard = async (): Promise<void> => {
    await until(() => listens.some(({ message }) => message.params.notifications.resourceSubscriptions?.[0] === 'own://a'))
    told = 0
    listens.at(-1)?.event({ method: 'notifications/resources/updated', params: { uri: 'own://a' } })
    await until(() => told > 0)
  }
  await heard()
  for (const { res } of listens.splice(0)) res.destroy()
  await heard()
  listens = []
  server.closeAllConnections()
  server.close()
  const before = refused
  await until(() => refused > before)
  await handWritten(t, answer, { port })
  await heard()
  stop()
})

test('a subscription to a resource survives a change of its server\'s configuration', async t => {
  const listens: Exchange[] = []
  const { url } = await handWritten(t, exchange => {
    if (exchange.message.method === 'subscriptions/listen') listens.push(exchange)
    return false
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  let told = 0
  const stop = await source.resources.subscribe('own://a', () => { told++ })
  await gateway.replace([{ name: 'own', url, timeout: 7 }])
  await until(() => gateway.get('own').status().state === 'ready')
  const before = listens.length
  await until(() => listens.some(({ message, res }) => !res.destroyed && message.params.notifications.resourceSubscriptions?.[0] === 'own://a'))
  listens.at(-1)?.event({ method: 'notifications/resources/updated', params: { uri: 'own://a' } })
  await until(() => told > 0)
  stop()
  await until(() => listens.length > before && listens.at(-1)?.message.params.notifications.resourceSubscriptions === undefined)
})

test('a subscription to a resource survives another name of its server, and its removal and return', async t => {
  const listens: Exchange[] = []
  const { url } = await handWritten(t, exchange => {
    if (exchange.message.method === 'subscriptions/listen') listens.push(exchange)
    return false
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  let told = 0
  const stop = await gateway.toolSource().resources.subscribe('own://a', () => { told++ })
  const wanted = (): Exchange | undefined => listens.find(({ message, res }) => !res.destroyed && message.params.notifications.resourceSubscriptions?.[0] === 'own://a')
  for (const servers of [[{ name: 'other', url }], [], [{ name: 'own', url }]]) {
    await gateway.replace(servers)
    await until(() => (wanted() === undefined) === (servers.length === 0))
    told = 0
    wanted()?.event({ method: 'notifications/resources/updated', params: { uri: 'own://a' } })
    await until(() => told === servers.length)
  }
  stop()
  await until(() => wanted() === undefined)
})

test('a caller of the newer era hears what an older server logs in its call, and is asked only what it can answer', async t => {
  const answers: unknown[] = []
  const open = new Map<string, Exchange>()
  const { url } = await handWritten(t, exchange => {
    const { message: { id, method, params, result, error }, event, res } = exchange
    if (method === undefined) {
      answers.push(result ?? error)
      const asking = open.get(String(id))
      asking?.event({ id: asking.message.id, result: { content: [{ type: 'text', text: 'went on' }] } })
      asking?.res.end()
    }
    if (method !== 'tools/call') return false
    event({ method: 'notifications/message', params: { level: 'info', data: 'begun' } })
    const { question } = params.arguments
    if (question === undefined) {
      event({ id, result: { content: [] } })
      res.end()
    } else {
      open.set(`q${String(id)}`, exchange)
      event({ id: `q${String(id)}`, ...question })
    }
    return true
  }, { isModern: false })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const source = gateway.toolSource()
  const logged: unknown[] = []
  const refuse = async (): Promise<never> => { throw Object.assign(new Error('the client must declare it'), { rpcError: { code: -32021, message: 'the client must declare it' }, code: -32021 }) }
  const context = (): SourceContext => contextOf({ era: 'modern', logLevel: 'info', capabilities: { elicitation: {}, sampling: {} }, message: async (message: never) => { logged.push(message) }, ask: refuse })
  await source.call('own__tool', {}, context())
  t.match(logged, [{ level: 'info', data: 'begun' }])
  t.match(await source.call('own__tool', { question: { method: 'elicitation/create', params: { mode: 'url', url: 'https://example.com', message: '', elicitationId: '1' } } }, context()), { content: [{ text: 'went on' }] })
  t.match(await source.call('own__tool', { question: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1, tools: [] } } }, context()), { content: [{ text: 'went on' }] })
  t.match(answers, [{ action: 'decline' }, { code: -1 }])
})

test('a tool that is declared as a task and answers with a result returns it', async t => {
  const { url } = await handWritten(t, ({ message: { method }, result }) => {
    if (method !== 'tools/list') return false
    result({ tools: [{ name: 'tool', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }] })
    return true
  }, { isModern: false })
  const { call } = await started(t, [{ name: 'own', url }])
  t.match(await call('own', 'tool'), { status: 200, body: { result: { content: [{ text: 'ok' }] } } })
})

test('a task that ends without a result, or has malformed input requests, fails the call of a caller without tasks', async t => {
  let task: object = {}
  const { url } = await handWritten(t, ({ message: { method, params }, result, error }) => {
    const { extensions } = params?._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
    if (method === 'tools/call' && extensions === undefined) error(-32021, 'tasks, please', { requiredCapabilities: { extensions: { [EXTENSION]: {} } } })
    else if (method === 'tools/call') result({ resultType: 'task', taskId: 'x', status: 'working' })
    else if (method === 'tasks/get') result({ resultType: 'complete', taskId: 'x', ...task })
    else return false
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  for (task of [{ status: 'completed' }, { status: 'completed', result: null }, { status: 'failed', error: 'odd' }, { status: 'input_required', inputRequests: { q: null } }]) {
    t.match(await gateway.toolSource().call('own__tool', {}, contextOf()), { isError: true, content: [{ text: /^MCP_CALL_FAILED/ }] }, JSON.stringify(task))
  }
})

test('an input request of a task that changes under the same key is answered again, for a caller without tasks', async t => {
  const asks = (words: string): object => ({ q: { ...form, params: { ...form.params, message: words } } })
  // the first is still listed after its answer, as by a slow server; the others have another text, or come again
  const looks = [asks('one'), asks('one'), asks('two'), {}, asks('two')]
  const { url } = await handWritten(t, ({ message: { method, params }, result, error }) => {
    const { extensions } = params?._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
    if (method === 'tools/call' && extensions === undefined) error(-32021, 'tasks, please', { requiredCapabilities: { extensions: { [EXTENSION]: {} } } })
    else if (method === 'tools/call') result({ resultType: 'task', taskId: 'x', status: 'working' })
    else if (method === 'tasks/update') result({ resultType: 'complete' })
    else if (method === 'tasks/get') {
      const inputRequests = looks.shift()
      result({ resultType: 'complete', taskId: 'x', pollIntervalMs: 100, ...inputRequests === undefined ? { status: 'completed', result: { content: [] } } : { status: 'input_required', inputRequests } })
    } else return false
    return true
  })
  const { gateway } = await started(t, [{ name: 'own', url }])
  const asked: unknown[] = []
  const context = contextOf({ capabilities: { elicitation: {} }, ask: async questions => { asked.push(...Object.values(questions).map(({ params }) => params?.message)); return Object.fromEntries(Object.keys(questions).map(key => [key, { action: 'accept', content: {} }])) } })
  t.match(await gateway.toolSource().call('own__tool', {}, context), { content: [] })
  t.strictSame(asked, ['one', 'two', 'two'])
})
