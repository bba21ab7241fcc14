import { equal, ok } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import fc from 'fast-check'
import { test } from 'tap'
import { taskStates, type TaskRecord } from '@polyvac/tasks'
import { paramsOf } from '../src/dialects/description/envelope.js'
import { idOf } from '../src/protocol/json-rpc.js'
import { toFrame, toTask } from '../src/dialects/description/record.js'
import { Task } from '../src/index.js'
import { methodNames, serve, type Answered, type MethodName, type Served } from './fixtures/app.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const isTask = TypeCompiler.Compile(Task)
const fine = { skillName: 'vac_query_docs', input: { query: 'x' } }

/** An app with one ended task and one that waits, and a look at whether anything was added. */
async function prepared (t: Parameters<typeof serve>[0]): Promise<Served & { taskId: string, waiting: string, listed: () => Promise<string>, raw: (method: MethodName, payload: string | Buffer, headers?: Record<string, string>) => Promise<Omit<Answered, 'body'> & { body: Record<string, unknown> }> }> {
  const served = await serve(t, question => question === 'ask' ? { input_required: 'What?' } : 'answer', { plugin: { push: { allow: ['127.0.0.1:9'] } } })
  const { taskId } = await served.task('tasks/send', fine)
  const { taskId: waiting } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'ask' } })
  return {
    ...served,
    taskId,
    waiting,
    listed: async () => (await served.rpc('tasks/list', {})).text,
    raw: async (method, payload, headers = JSON_TYPE) => {
      const response = await served.app.inject({ method: 'POST', url: `/a2a/${method}`, payload, headers })
      return { status: response.statusCode, headers: response.headers, text: response.payload, body: response.json() }
    }
  }
}

test('a body that is not a JSON-RPC 2.0 request is refused by every method, and makes no task', async t => {
  const { raw, listed } = await prepared(t)
  const before = await listed()
  const nested = '['.repeat(400_000) + ']'.repeat(400_000)
  for (const method of methodNames) {
    const envelope = (more: object): string => JSON.stringify({ jsonrpc: '2.0', method, params: fine, id: 'r1', ...more })
    const table: readonly (readonly [string, string | Buffer, { status?: number, code: number, id?: unknown, dataCode?: string }, Record<string, string>?])[] = [
      // no JSON
      ['nothing', '', { code: -32700 }],
      ['half an object', '{', { code: -32700 }],
      ['JSON with a tail', `${envelope({})}x`, { code: -32700 }],
      ['NaN', '{"jsonrpc":"2.0","id":NaN}', { code: -32700 }],
      ['single quotes', "{'jsonrpc':'2.0'}", { code: -32700 }],
      ['NUL', '\0', { code: -32700 }],
      ['not UTF-8', Buffer.from([0x22, 0xff, 0xfe]), { code: -32700 }],
      ['valid JSON in latin-1', Buffer.from(envelope({ params: { ...fine, input: { query: 'café' } } }), 'latin1'), { code: -32700, dataCode: 'INVALID_JSON' }],
      ['__proto__', `{"__proto__":{"polluted":1},${envelope({}).slice(1)}`, { code: -32700 }],
      ['__proto__ below', envelope({}).replace('"query"', '"__proto__":{"polluted":1},"query"'), { code: -32700 }],
      ['__proto__ escaped', envelope({}).replace('"query"', '"\\u005f_proto__":{"polluted":1},"query"'), { code: -32700 }],
      ['constructor.prototype', envelope({}).replace('"query"', '"constructor":{"prototype":{"polluted":1}},"query"'), { code: -32700 }],
      // no request
      ...['null', '7', '"text"', 'true', '[]', '{}'].map(text => [text, text, { code: -32600 }] as const),
      ['a batch', `[${envelope({})}]`, { code: -32600 }],
      ['a batch of two', `[${envelope({})},${envelope({})}]`, { code: -32600 }],
      ...['1.0', '2', 2, 2.0, null, true, ['2.0'], {}, ' 2.0'].map(jsonrpc => [`jsonrpc ${JSON.stringify(jsonrpc)}`, envelope({ jsonrpc }), { code: -32600, id: 'r1' }] as const),
      ['no jsonrpc', envelope({ jsonrpc: undefined }), { code: -32600, id: 'r1' }],
      ['no id', envelope({ id: undefined }), { code: -32600, id: null }],
      ...[{}, { a: 1 }, [], ['r1'], true, false].map(id => [`id ${JSON.stringify(id)}`, envelope({ id }), { code: -32600, id: null }] as const),
      ...['9007199254740993', '-9007199254740993', '1e400', '-1e400', '1e21'].map(id => [`id ${id}`, envelope({}).replace('"r1"', id), { code: -32600, id: null }] as const),
      ...[7, null, {}, ['tasks/send'], true].map(name => [`method ${JSON.stringify(name)}`, envelope({ method: name }), { code: -32600, id: 'r1' }] as const),
      ['no method', envelope({ method: undefined }), { code: -32600, id: 'r1' }],
      // another method
      ...[...methodNames.filter(name => name !== method), method.toUpperCase(), `${method} `, `/${method}`, '', '__proto__', 'x'.repeat(10_000), '\ud800'].map(name => [`method ${name.slice(0, 40)}`, envelope({ method: name }), { status: 200, code: -32601, id: 'r1' }] as const),
      // params of another kind
      ...[null, 7, 'text', true, [], [fine]].map(params => [`params ${JSON.stringify(params)}`, envelope({ params }), { status: 200, code: -32602, id: 'r1' }] as const),
      // too much
      // slow to parse, and the same for all
      ...method === 'tasks/send' || method === 'tasks/sendSubscribe'
        ? [
            ['400,000 arrays in one another', nested, { code: -32600 }],
            ['400,000 arrays for an id', `{"jsonrpc":"2.0","method":"${method}","params":{},"id":${nested}}`, { code: -32600 }],
            ['400,000 arrays for params', `{"jsonrpc":"2.0","method":"${method}","id":"r1","params":${nested}}`, { code: -32600, dataCode: 'BODY_TOO_DEEP' }]
          ] as const
        : [],
      ['objects deeper than taken', envelope({ params: { ...fine, clientMetadata: JSON.parse('{"a":'.repeat(80) + '1' + '}'.repeat(80)) as object } }), { code: -32600, id: 'r1', dataCode: 'BODY_TOO_DEEP' }],
      ['4 MiB and one byte', envelope({ params: { ...fine, clientMetadata: {} } }).padEnd(2 ** 22 + 1), { status: 413, code: -32600 }],
      // another form
      ['gzip', gzipSync(envelope({})), { code: -32600 }, { ...JSON_TYPE, 'content-encoding': 'gzip' }],
      ['text', envelope({}), { code: -32600 }, { 'content-type': 'text/plain' }],
      ['XML', '<a/>', { code: -32600 }, { 'content-type': 'application/xml' }],
      ['a form', 'jsonrpc=2.0', { code: -32600 }, { 'content-type': 'application/x-www-form-urlencoded' }],
      ['a content type that is none', envelope({}), { code: -32600 }, { 'content-type': '???' }]
    ]
    for (const [name, payload, { status = 400, code, id = null, dataCode }, headers] of table) {
      const answered = await raw(method, payload, headers)
      const { id: itsId, error, ...rest } = answered.body
      t.match({ ...answered, error, short: answered.text.length < 2_000, id: itsId === id, rest },
        { status, headers: { 'content-type': /^application\/json/ }, error: { code, message: /./, data: { code: dataCode ?? /^[A-Z][A-Z0-9_]+$/ } }, short: true, id: true, rest: { jsonrpc: '2.0' } }, `${method}: ${name}`)
      if (Object.keys(rest).length > 1) t.fail(`more than that: ${Object.keys(rest).join(', ')}`)
    }
  }
  t.equal(await listed(), before)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

test('as much as may be is taken', async t => {
  const { raw } = await prepared(t)
  const payload = JSON.stringify({ jsonrpc: '2.0', method: 'tasks/send', params: { ...fine, clientMetadata: JSON.parse('{"a":'.repeat(60) + '1' + '}'.repeat(60)) as object }, id: 1 }).padEnd(2 ** 20)
  t.match(await raw('tasks/send', payload), { status: 200, body: { result: { state: 'completed' } } })
})

test('an id comes back as it was sent, with results and refusals alike', async t => {
  const { raw, taskId } = await prepared(t)
  for (const id of ['"r1"', '""', '"7"', '7', '0', '-1', '1.5', 'null', '9007199254740991', '"9007199254740993"', '"\\u0000\\ud83d\\ude00"', '"__proto__"', `"${'x'.repeat(5_000)}"`]) {
    for (const [method, params] of [['tasks/get', { taskId }], ['tasks/get', { taskId: 'nope' }], ['tasks/get', {}], ['tasks/send', fine], ['tasks/sendSubscribe', {}], ['tasks/resubscribe', { taskId: 'nope' }]] as const) {
      const { body } = await raw(method, `{"jsonrpc":"2.0","method":"${method}","params":${JSON.stringify(params)},"id":${id}}`)
      t.strictSame(body.id, JSON.parse(id), `${id.slice(0, 30)} ${method}`)
    }
  }
  const { body } = await raw('tasks/get', `{"jsonrpc":"2.0","method":"tasks/get","params":{"taskId":"${taskId}"},"id":"first","id":"last"}`)
  t.equal(body.id, 'last', 'of two, the last one')
})

test('params that do not fit a method are refused by their path, and change nothing', async t => {
  const { rpc, listed, taskId, waiting } = await prepared(t)
  const before = await listed()
  const url = 'https://receiver.example/x'
  const id = [7, null, '', [], {}, 'x'.repeat(257)]
  const table: readonly (readonly [MethodName, unknown, string])[] = [
    ...methodNames.flatMap(method => method === 'tasks/list' ? [] : [[method, {}, method.startsWith('tasks/send') ? 'params/skillName' : 'params/taskId'], [method, undefined, 'params/']] as const),
    ...methodNames.filter(method => method !== 'tasks/list').flatMap(method => id.map(taskId => [method, { taskId }, 'params/taskId'] as const)),
    ...(['tasks/send', 'tasks/sendSubscribe'] as const).flatMap(method => [
      ...id.map(skillName => [method, { skillName }, 'params/skillName'] as const),
      ...[null, 7, 'x', [], true].map(input => [method, { ...fine, input }, 'params/input'] as const),
      ...[null, 7, 'x', [], true].map(clientMetadata => [method, { ...fine, clientMetadata }, 'params/clientMetadata'] as const),
      ...[null, 7, 'x', [], {}, { url: 7 }, { url: '' }].map(config => [method, { ...fine, pushNotificationConfig: config }, 'params/pushNotificationConfig'] as const),
      ...['nonsense', 'ftp://receiver.example/', 'http://receiver.example/', 'https://user:word@receiver.example/', 'https://127.0.0.1/', 'https://localhost/', 'data:text/plain,x', `https://receiver.example/${'x'.repeat(70_000)}`]
        .map(bad => [method, { ...fine, pushNotificationConfig: { url: bad } }, ''] as const),
      [method, { taskId: waiting }, 'params/input'] as const,
      [method, { taskId: waiting, input: { query: 7 } }, 'params/input'] as const,
      [method, { taskId: waiting, skillName: 'vac_stream_docs', input: { query: 'x' } }, 'params/skillName'] as const,
      [method, { taskId, input: { query: 'x' } }, 'completed'] as const
    ]),
    ...[0, -1, 101, 1.5, '10', null, 1e9, [], true].map(limit => ['tasks/list', { limit }, 'params/limit'] as const),
    ...['unknown', 'rejected', '', 7, null, ['completed'], '__proto__'].map(state => ['tasks/list', { state }, 'params/state'] as const),
    ...['', 7, null, []].map(cursor => ['tasks/list', { cursor }, 'params/cursor'] as const),
    ...['x', '%00', 'e30=', '../../x', 'x'.repeat(100_000), Buffer.from('[1,2]').toString('base64url'), Buffer.from('{"a":{}}').toString('base64url')].map(cursor => ['tasks/list', { cursor }, 'cursor'] as const),
    ...[undefined, null, 7, [], {}, { url: 7 }, { url }.url, { url, token: 7 }, { url, token: 'x'.repeat(4_097) }, { url, token: 'a\r\nb: c' }, { url, token: 'ä' }, { url, id: '' }, { url, id: 'x'.repeat(129) }, { url, authentication: 7 },
      { url, authentication: { schemes: 'Bearer' } }, { url, authentication: { schemes: ['Bad Scheme'], credentials: 'x' } }, { url, authentication: { scheme: 'Bearer', credentials: 'a\nb' } }]
      .map(config => ['tasks/pushNotification/set', { taskId, pushNotificationConfig: config }, ''] as const),
    ...['', 7, null, 'x'.repeat(257)].flatMap(id => (['tasks/pushNotification/get', 'tasks/pushNotification/delete'] as const).map(method => [method, { taskId, id }, 'params/id'] as const))
  ]
  for (const [method, params, named] of table) {
    const { status, body } = await rpc(method, params)
    const what = `${method} ${JSON.stringify(params)?.slice(0, 100)}`
    t.match({ status, ...body }, { status: 200, id: 'r1', error: { code: -32602 } }, what)
    t.ok(body.error?.message.includes(named), `${what} names ${named}: ${body.error?.message}`)
  }
  t.equal(await listed(), before)
  t.strictSame((await rpc('tasks/pushNotification/get', { taskId })).body.error?.code, -32001)
})

test('an id that no task has is unknown, however it is written', async t => {
  const { rpc, taskId } = await prepared(t)
  for (const odd of [
    randomUUID(), taskId.toUpperCase(), ` ${taskId}`, `${taskId} `, `${taskId}\0`, `${taskId}%00`, `${taskId}/`, `../${taskId}`, "' OR 1=1 --", '%', '_'.repeat(36), '*', '0', '__proto__', 'constructor', '\ud800', '💥', 'ﬀ'.repeat(100), 'x'.repeat(256)
  ]) {
    for (const method of methodNames.filter(method => /get|cancel|resubscribe|delete/.test(method))) {
      t.match(await rpc(method, { taskId: odd }), { status: 200, body: { id: 'r1', error: { code: -32001 } } }, `${method} ${JSON.stringify(odd)}`)
    }
  }
})

test('an Idempotency-Key or Last-Event-ID that is none makes no task', async t => {
  const { rpc, listed, taskId, frames } = await prepared(t)
  const before = await listed()
  for (const bad of ['-1', 'x', '1.5', '0x1', '+1', '1 2', '1,2', 'null', '9'.repeat(16), '9'.repeat(10_000)]) {
    const headers = { 'last-event-id': bad }
    for (const [method, params] of [['tasks/sendSubscribe', fine], ['tasks/resubscribe', { taskId }]] as const) {
      t.match(await rpc(method, params, { headers }), { status: 200, body: { id: 'r1', error: { code: -32602, message: /Last-Event-ID/ } } }, `${method} ${bad.slice(0, 20)}`)
    }
  }
  t.match(await rpc('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': '999' } }), { body: { error: { code: -32602, message: /last event so far is \d+/ } } }, 'one of the future')
  for (const key of ['', 'x'.repeat(257)]) t.match(await rpc('tasks/sendSubscribe', fine, { headers: { 'idempotency-key': key } }), { body: { error: { code: -32602 } } })
  t.equal(await listed(), before)
  t.equal((await frames('tasks/resubscribe', { taskId }, { headers: { 'last-event-id': '' } })).length, 1, 'an empty one is none')
  const fresh = await frames('tasks/sendSubscribe', fine, { headers: { 'last-event-id': '57' } })
  t.equal(fresh[0]?.id, 1, 'of a new task nothing can have been seen')
  t.equal(fresh.at(-1)?.data.state, 'completed')
})

test('a store that is full or closed is named as the reason, with the time to try again', async t => {
  const full = await serve(t, () => ({ input_required: 'What?' }), { store: { maxTasks: 2 } })
  for (let n = 0; n < 2; n++) await full.task('tasks/send', fine)
  for (const method of ['tasks/send', 'tasks/sendSubscribe'] as const) {
    t.match(await full.rpc(method, fine), { status: 503, headers: { 'retry-after': 1 }, body: { jsonrpc: '2.0', id: 'r1', error: { code: -32603, message: /2 tasks/, data: { code: 'TASK_TOO_MANY' } } } }, method)
  }
  const { taskId, rpc, tasks } = await prepared(t)
  await tasks.close()
  for (const method of methodNames) {
    t.match(await rpc(method, method.startsWith('tasks/send') ? fine : method === 'tasks/list' ? {} : { taskId, pushNotificationConfig: { url: 'http://127.0.0.1:9/' } }),
      { status: 503, headers: { 'retry-after': 1 }, body: { jsonrpc: '2.0', id: 'r1', error: { code: -32603, data: { code: 'TASK_STORE_CLOSED' } } } }, `${method} of a closed store`)
  }
})

test('paths besides the methods are answered by the application around', async t => {
  const { app } = await prepared(t)
  for (const url of ['/a2a/tasks', '/a2a/tasks/', '/a2a/tasks/nope', '/a2a/tasks/%2e%2e/send', '/a2a/tasks/send%00', '/a2a/__proto__', '/a2a/tasks/pushNotification']) {
    t.equal((await app.inject({ method: 'POST', url, payload: {} })).statusCode, 404, url)
  }
})

/** JSON values of all kinds, with the names that the dialect knows. */
const anything = fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 2, noUnicodeString: false }), fc.constantFrom<unknown>(null, '', 0, -1, [], {}, '__proto__', 'x'.repeat(300)))
const known = (values: readonly unknown[]): fc.Arbitrary<unknown> => fc.oneof({ arbitrary: fc.constantFrom(...values), weight: 4 }, { arbitrary: anything, weight: 1 })

test('whatever is sent to whatever method, the answer is JSON-RPC with the id of the request', async t => {
  const { app, taskId, waiting } = await prepared(t)
  const params = fc.record({
    skillName: known(['vac_query_docs', 'vac_stream_docs', 'vac_memory_search_docs', 'vac_query_nope']),
    input: fc.oneof(anything, fc.record({
      query: known(['x', 'ask']), chat_history: known([[], [['a', 'b']], [{ role: 'user', content: 'x' }]]), context: anything, stream_settings: fc.oneof(anything, fc.record({ wait_time: anything, timeout: anything }, { requiredKeys: [], noNullPrototype: true }))
    }, { requiredKeys: [], noNullPrototype: true })),
    clientMetadata: anything,
    taskId: known([taskId, waiting, randomUUID()]),
    pushNotificationConfig: fc.record({ url: known(['http://127.0.0.1:9/x', 'https://10.0.0.1/']), id: anything, token: anything, authentication: anything }, { requiredKeys: [], noNullPrototype: true }),
    id: anything,
    state: known(['completed']),
    limit: known([1, 50]),
    cursor: anything,
    owner: anything
  }, { requiredKeys: [], noNullPrototype: true })
  const request = fc.record({
    jsonrpc: fc.oneof({ arbitrary: fc.constant('2.0'), weight: 9 }, { arbitrary: anything, weight: 1 }),
    id: fc.oneof({ arbitrary: fc.oneof(fc.string(), fc.integer(), fc.constantFrom('', 0, '7', 1.5)), weight: 9 }, { arbitrary: anything, weight: 1 }),
    params: fc.oneof({ arbitrary: params, weight: 5 }, { arbitrary: anything, weight: 1 }),
    more: anything
  }, { requiredKeys: ['jsonrpc', 'id'], noNullPrototype: true })
  await fc.assert(fc.asyncProperty(fc.constantFrom(...methodNames.filter(method => !/resub/.test(method))), request, async (method, sent) => {
    const body = JSON.stringify({ method, ...sent })
    // a stream stays open while its task waits for input: description-streams.test.ts has a test of that
    fc.pre(method !== 'tasks/sendSubscribe' || !body.includes('"ask"'))
    const response = await app.inject({ method: 'POST', url: `/a2a/${method}`, payload: body, headers: JSON_TYPE })
    if (/^text\/event-stream/.test(String(response.headers['content-type']))) {
      ok(response.payload.split('\n\n').filter(frame => frame !== '').every(frame => /^(?:retry: \d+\n)?id: \d+\ndata: \{"type":"task_update"/.test(frame)))
      return
    }
    const answer = response.json() as Answered['body']
    const { id } = JSON.parse(body) as { id: unknown }
    ok([200, 400].includes(response.statusCode) && answer.jsonrpc === '2.0' && answer.error?.code !== -32603, `${response.statusCode} ${response.payload}`)
    const isId = typeof id === 'string' || (typeof id === 'number' && (Number.isSafeInteger(id) || !Number.isInteger(id)))
    equal(answer.id, answer.error?.code !== -32700 && isId ? id : null)
  }), { numRuns: 600 })
  t.pass()
})

test('a request that was damaged on its way is never an internal error', async t => {
  const { app } = await prepared(t)
  const whole = JSON.stringify({ jsonrpc: '2.0', method: 'tasks/send', params: { ...fine, clientMetadata: { a: [1, 'x\u2028'] } }, id: 'r1' })
  const damage = fc.tuple(fc.nat(whole.length), fc.nat(12), fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('"', '{', '}', '[', ']', ',', ':', '\\u', '\0', 'null', '1e999', '"__proto__":')))
  await fc.assert(fc.asyncProperty(damage, async ([at, length, piece]) => {
    const response = await app.inject({ method: 'POST', url: '/a2a/tasks/send', payload: whole.slice(0, at) + piece + whole.slice(at + length), headers: JSON_TYPE })
    const { jsonrpc, error, result } = response.json() as Answered['body']
    ok([200, 400].includes(response.statusCode) && jsonrpc === '2.0' && error?.code !== -32603 && (error === undefined) !== (result === undefined), response.payload)
  }), { numRuns: 400 })
  t.pass()
})

test('whatever a body is, its id is one that may be sent back, and its params are found or refused with a code', async () => {
  fc.assert(fc.property(fc.constantFrom(...methodNames), fc.anything({ maxDepth: 4, withBigInt: true, withNullPrototype: true }), (method, body) => {
    const id = idOf(body)
    try {
      paramsOf(body, method)
    } catch (err) {
      return /^A2A_|^BODY_/.test((err as { code: string }).code) && (id === null || typeof id === 'string' || Number.isFinite(id))
    }
    return false
  }), { numRuns: 2_000 })
})

test('a record has all that the contract names and nothing of what is ours, whatever the task', async () => {
  const time = fc.integer({ min: 0, max: 4e12 })
  const text = fc.string({ unit: 'binary' })
  const record = fc.record<TaskRecord>({
    id: fc.uuid(),
    owner: fc.constant('SECRET-owner'),
    skill: fc.constantFrom('vac_stream_x', 'vac_query_x', '', 'x'),
    input: fc.constant({ query: 'SECRET-input' }),
    contextId: fc.constantFrom(undefined, 'SECRET-context'),
    metadata: fc.oneof(fc.constant({}), fc.record({ clientMetadata: fc.dictionary(text, fc.jsonValue(), { noNullPrototype: true }), private: fc.constant('SECRET-metadata') }, { noNullPrototype: true })),
    state: fc.constantFrom(...taskStates),
    createdAt: time,
    updatedAt: time,
    statusAt: time,
    completedAt: fc.option(time),
    seq: fc.nat(),
    attempt: fc.integer({ min: -1, max: 9 }),
    turn: fc.nat(),
    progress: fc.double({ min: 0, max: 1, noNaN: true }),
    messages: fc.array(fc.record({ role: fc.constantFrom('user', 'agent'), parts: fc.array(fc.record({ type: fc.constant('text' as const), text }, { noNullPrototype: true })), timestamp: time }, { noNullPrototype: true })),
    artifacts: fc.array(fc.record({ name: text, type: fc.constant('json' as const), content: fc.jsonValue(), createdAt: time }, { noNullPrototype: true })),
    error: fc.option(fc.record({ code: text, message: text, timestamp: time }, { noNullPrototype: true }))
  }, { noNullPrototype: true })
  fc.assert(fc.property(record, fc.record({ delta: text, retry: fc.nat() }, { requiredKeys: [], noNullPrototype: true }), (task, event) => {
    const told = toTask(task)
    const { data, ...frame } = toFrame(task, event)
    ok(isTask.Check(told) && isTask.Check(JSON.parse(JSON.stringify(told))) && !JSON.stringify(told).includes('SECRET') &&
      told.state === ({ rejected: 'failed', 'auth-required': 'input-required' }[task.state as string] ?? task.state) && Date.parse(told.updatedAt) === task.updatedAt &&
      JSON.stringify(frame) === JSON.stringify({ type: 'task_update', taskId: task.id }) && JSON.stringify(data) === JSON.stringify({ ...told, delta: event.delta, retry: event.retry }))
  }), { numRuns: 500 })
})
