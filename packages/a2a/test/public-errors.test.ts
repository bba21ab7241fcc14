import { test, type Test } from 'tap'
import type { HTTPMethods } from 'fastify'
import { steered } from '../../../test/a2a-agent/steered.mjs'
import type { A2aOptions } from '../src/index.js'
import { REASONS } from '../src/protocol/failure-codes.js'
import { serve, type Served } from './fixtures/app.js'
import { message, message03, result, rpc, type Json } from './fixtures/public.js'

const V1 = { 'a2a-version': '1.0' }

async function agent (t: Test, plugin: Partial<A2aOptions> = {}): Promise<Served> {
  return await serve(t, steered, { plugin: { push: { allow: ['127.0.0.1'] }, ...plugin } })
}

async function rest ({ app }: Served, method: HTTPMethods, path: string, payload?: object, headers: Record<string, string> = V1): Promise<{ status: number, type: string, body: Json }> {
  const response = await app.inject({ method: method as 'GET', url: `/a2a/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
  return { status: response.statusCode, type: String(response.headers['content-type']), body: response.json() as Json }
}

/** One row: how the error comes about on each binding, and what it is there. */
interface Row {
  readonly reason: keyof typeof REASONS
  readonly plugin?: Partial<A2aOptions>
  readonly rpc: (served: Served) => Promise<{ json: () => unknown }>
  readonly rest?: (served: Served) => Promise<{ status: number, body: Json }>
}

const done = async (served: Served): Promise<string> => (await result(served, 'SendMessage', { message: message('echo') })).task.id
const PRINCIPAL = { authenticate: () => ({ owner: 'alice' }), extendedCard: () => undefined }
const REQUIRED = { extensions: [{ uri: 'urn:test:required', required: true }] }

const ROWS: readonly Row[] = [
  { reason: 'TASK_NOT_FOUND', rpc: served => rpc(served, 'GetTask', { id: 'nope' }), rest: served => rest(served, 'GET', '/tasks/nope') },
  { reason: 'TASK_NOT_CANCELABLE', rpc: async served => await rpc(served, 'CancelTask', { id: await done(served) }), rest: async served => await rest(served, 'POST', `/tasks/${await done(served)}:cancel`) },
  { reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED', plugin: { push: false }, rpc: served => rpc(served, 'CreateTaskPushNotificationConfig', { taskId: 'x', url: 'https://x.example' }), rest: served => rest(served, 'POST', '/tasks/x/pushNotificationConfigs', { url: 'https://x.example' }) },
  { reason: 'UNSUPPORTED_OPERATION', plugin: { streaming: false }, rpc: served => rpc(served, 'SendStreamingMessage', { message: message('echo') }), rest: served => rest(served, 'POST', '/message:stream', { message: message('echo') }) },
  { reason: 'CONTENT_TYPE_NOT_SUPPORTED', rpc: served => rpc(served, 'SendMessage', { message: message('echo', { parts: [{ raw: 'dGNr', mediaType: 'application/x-unknown' }] }) }), rest: served => rest(served, 'POST', '/message:send', { message: message('echo', { parts: [{ raw: 'dGNr', mediaType: 'application/x-unknown' }] }) }) },
  { reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', plugin: PRINCIPAL, rpc: served => rpc(served, 'GetExtendedAgentCard', {}), rest: served => rest(served, 'GET', '/extendedAgentCard') },
  { reason: 'EXTENSION_SUPPORT_REQUIRED', plugin: REQUIRED, rpc: served => rpc(served, 'SendMessage', { message: message('echo') }), rest: served => rest(served, 'POST', '/message:send', { message: message('echo') }) },
  { reason: 'VERSION_NOT_SUPPORTED', rpc: served => rpc(served, 'SendMessage', { message: message('echo') }, { version: '99.0' }), rest: served => rest(served, 'GET', '/tasks', undefined, { 'a2a-version': '99.0' }) }
]

test('every error of the protocol has its code, status and reason on both bindings', async t => {
  for (const { reason, plugin, rpc: call, rest: ask } of ROWS) {
    const { rpc: code, http, grpc } = REASONS[reason]
    const served = await agent(t, plugin)
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org', metadata: { code: String } }
    const { error } = (await call(served)).json() as Json
    t.match(error, { code, message: /./, data: [info] }, `${reason} over JSON-RPC`)
    t.strictSame(Object.keys(error), ['code', 'message', 'data'])
    const told = await ask?.(served)
    t.match(told, { status: http, body: { error: { code: http, status: grpc, message: /./, details: [info] } } }, `${reason} over HTTP+JSON`)
  }
  // what no interpreter can bring about: an answer that breaks the protocol fails the task instead
  t.strictSame(Object.keys(REASONS).filter(reason => !ROWS.some(row => row.reason === reason)), ['INVALID_AGENT_RESPONSE'])
})

test('an invalid JSON-RPC request is answered with the code of JSON-RPC, and HTTP 200', async t => {
  const served = await agent(t)
  const post = async (payload: string, type = 'application/json'): Promise<Json> => {
    const response = await served.app.inject({ method: 'POST', url: '/a2a', payload, headers: { ...V1, 'content-type': type } })
    t.equal(response.statusCode, 200, payload)
    return response.json() as Json
  }
  t.match(await post('{'), { id: null, error: { code: -32700 } })
  t.match(await post('[]'), { id: null, error: { code: -32600 } })
  t.match(await post('{"id":7,"method":"GetTask"}'), { id: 7, error: { code: -32600 } })
  t.match(await post('{"jsonrpc":"2.0","id":"a","params":{}}'), { id: 'a', error: { code: -32600 } })
  t.match(await post('{"jsonrpc":"2.0","id":0,"method":"Nope"}'), { id: 0, error: { code: -32601 } })
  t.match(await post('{"jsonrpc":"2.0","id":1,"method":"constructor"}'), { error: { code: -32601 } })
  t.match(await post('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}'), { error: { code: -32602 } })
  t.match(await post('{}', 'text/plain'), { error: { code: -32005, data: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } })
  t.match(await post(''), { error: { code: -32600 } })
})

test('params that do not fit are refused field by field, and nothing is made of them', async t => {
  const served = await agent(t)
  const bad: ReadonlyArray<readonly [string, Json, string]> = [
    ['no message', {}, 'message'],
    ['no parts', { message: { messageId: 'a', role: 'ROLE_USER' } }, 'message.parts'],
    ['empty parts', { message: message('echo', { parts: [] }) }, 'message.parts'],
    ['parts that are no list', { message: message('echo', { parts: 'x' }) }, 'message.parts'],
    ['a part without content', { message: message('echo', { parts: [{ metadata: {} }] }) }, 'message.parts[0]'],
    ['a part of two contents', { message: message('echo', { parts: [{ text: 'a' }, { text: 'a', data: {} }] }) }, 'message.parts[1]'],
    ['a text that is none', { message: message('echo', { parts: [{ text: 7 }] }) }, 'message.parts[0].text'],
    ['bytes that are no base64', { message: message('echo', { parts: [{ raw: 'ä' }] }) }, 'message.parts[0].raw'],
    ['no role', { message: { messageId: 'a', parts: [{ text: 'a' }] } }, 'message.role'],
    ['an unknown role', { message: message('echo', { role: 'user' }) }, 'message.role'],
    ['no role at all', { message: message('echo', { role: 'ROLE_UNSPECIFIED' }) }, 'message.role'],
    ['the role of the agent', { message: message('echo', { role: 'ROLE_AGENT' }) }, 'message.role'],
    ['no message id', { message: { role: 'ROLE_USER', parts: [{ text: 'a' }] } }, 'message.messageId'],
    ['a negative history', { message: message('echo'), configuration: { historyLength: -1 } }, 'configuration.historyLength'],
    ['an unknown skill', { message: message('echo', { metadata: { skillId: 'vac_query_nope' } }) }, 'message.metadata.skillId'],
    ['an unknown tenant', { tenant: 'nope', message: message('echo') }, 'tenant'],
    ['an input that breaks its skill', { message: message('echo', { parts: [{ data: { skillName: 'vac_query_docs', input: {} } }] }) }, 'message.parts[0].data.input.query']
  ]
  for (const [what, params, field] of bad) {
    const { error } = (await rpc(served, 'SendMessage', params)).json() as Json
    t.match(error, { code: -32602 }, what)
    t.ok(error.data.some((detail: Json) => detail['@type'] === 'type.googleapis.com/google.rpc.BadRequest' && detail.fieldViolations.some((violation: Json) => violation.field === field)), `${what}: ${JSON.stringify(error.data)}`)
    const told = await rest(served, 'POST', '/message:send', params)
    t.match(told, { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT' } } }, `${what} over HTTP`)
  }
  for (const [params, field] of [[{ pageSize: 0 }, 'pageSize'], [{ pageSize: 101 }, 'pageSize'], [{ status: 'NOPE' }, 'status'], [{ historyLength: -1 }, 'historyLength'], [{ statusTimestampAfter: 'soon' }, 'statusTimestampAfter']] as const) {
    t.match((await rpc(served, 'ListTasks', params)).json(), { error: { code: -32602, message: new RegExp(`^${field}: `) } })
  }
  t.match((await rpc(served, 'ListTasks', { pageToken: 'nope' })).json(), { error: { code: -32602 } })
  t.match(await result(served, 'ListTasks', {}), { tasks: [], totalSize: 0 }, 'no task was made of them')
})

test('a task that has ended, or works, takes no message; a foreign one is answered as one that is not there', async t => {
  const served = await agent(t, { authenticate: ({ headers }) => ({ owner: String(headers.authorization ?? 'anyone') }) })
  const as = (owner: string): { headers: Record<string, string> } => ({ headers: { authorization: owner } })
  const { task } = await result(served, 'SendMessage', { message: message('echo') }, as('alice'))
  t.match((await rpc(served, 'SendMessage', { message: message('echo', { taskId: task.id }) }, as('alice'))).json(), { error: { code: -32004 } })
  t.match((await rpc(served, 'SendMessage', { message: message('echo', { taskId: task.id, contextId: 'other' }) }, as('alice'))).json(), { error: { code: -32602 } })
  t.match((await rpc(served, 'SubscribeToTask', { id: task.id }, as('alice'))).json(), { error: { code: -32004 } })
  const slow = (await result(served, 'SendMessage', { message: message('slow'), configuration: { returnImmediately: true } }, as('alice'))).task
  t.match((await rpc(served, 'SendMessage', { message: message('echo', { taskId: slow.id }) }, as('alice'))).json(), { error: { code: -32004 } })
  const missing = (await rpc(served, 'GetTask', { id: 'nope' }, as('bob'))).json() as Json
  for (const [method, params] of [
    ['GetTask', { id: task.id }], ['CancelTask', { id: slow.id }], ['SubscribeToTask', { id: slow.id }], ['SendMessage', { message: message('echo', { taskId: task.id, contextId: 'other' }) }],
    ['ListTaskPushNotificationConfigs', { taskId: slow.id }], ['CreateTaskPushNotificationConfig', { taskId: slow.id, url: 'https://x.example' }],
    ['GetTaskPushNotificationConfig', { taskId: slow.id, id: 'x' }], ['DeleteTaskPushNotificationConfig', { taskId: slow.id, id: 'x' }]
  ] as const) t.strictSame((await rpc(served, method, params, as('bob'))).json(), missing, method)
  t.match(await result(served, 'ListTasks', {}, as('bob')), { tasks: [], totalSize: 0 })
  t.match(await result(served, 'CancelTask', { id: slow.id }, as('alice')), { status: { state: 'TASK_STATE_CANCELED' } })
  t.match(await result(served, 'CancelTask', { id: slow.id }, as('alice')), { status: { state: 'TASK_STATE_CANCELED' } }, 'to cancel again is no error')
})

test('the version decides which methods there are', async t => {
  const served = await agent(t)
  const code = async (version: string, method: string): Promise<number | undefined> => ((await rpc(served, method, { id: 'x' }, { version })).json() as Json).error?.code
  t.equal(await code('1.0', 'GetTask'), -32001)
  t.equal(await code('1.0.1', 'GetTask'), -32001, 'a patch never matters')
  t.equal(await code('1.0', 'tasks/get'), -32601)
  t.equal(await code('', 'tasks/get'), -32001, 'no version is 0.3')
  t.equal(await code('0.3', 'tasks/get'), -32001)
  t.equal(await code('0.3.0', 'tasks/get'), -32001)
  t.equal(await code('', 'GetTask'), -32009, 'and is never served as 1.0')
  t.equal(await code('0.3', 'GetTask'), -32009)
  t.equal(await code('2.0', 'GetTask'), -32009)
  t.equal(await code('x', 'tasks/get'), -32009)
  t.equal(await code('', 'nope'), -32601)
  t.match((await rpc(served, 'GetTask', { id: 'x' }, { version: '', url: '/a2a?A2A-Version=1.0' })).json(), { error: { code: -32001 } }, 'the query may say it, too')
  t.match(await rest(served, 'GET', '/tasks', undefined, {}), { status: 400, body: { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } } })
})

test('0.3 has its own codes, and data that programs read', async t => {
  const served = await agent(t, REQUIRED)
  const error = async (method: string, params: object, headers = {}): Promise<Json> => ((await rpc(served, method, params, { version: '', headers })).json() as Json).error
  t.match(await error('tasks/get', { id: 'nope' }), { code: -32001, data: { code: 'A2A_TASK_NOT_FOUND' } })
  t.match(await error('message/send', { message: message03('echo') }), { code: -32004, data: { code: 'A2A_EXTENSION_REQUIRED' } })
  const named = { 'x-a2a-extensions': 'urn:test:required' }
  t.match(await error('message/send', {}, named), { code: -32602, data: { code: 'A2A_INVALID_PARAMS', violations: [{ field: 'message' }] } })
  t.match(await error('message/send', { message: message03('echo', { parts: [{ kind: 'text', text: 'a', data: {} }] }) }, named), { code: -32602, data: { violations: [{ field: 'message.parts[0]' }] } })
  t.match(await error('message/send', { message: message03('echo', { parts: [{ kind: 'nope' }] }) }, named), { code: -32602 })
  t.match(await error('message/send', { message: message03('echo', { parts: [{ kind: 'file', file: {} }] }) }, named), { code: -32602, data: { violations: [{ field: 'message.parts[0].file' }] } })
  t.match(await error('message/send', { message: message03('echo', { role: 'ROLE_USER' }) }, named), { code: -32602 })
  t.match(await error('message/send', { message: message03('echo', { parts: [{ kind: 'file', file: { bytes: 'dGNr', mimeType: 'application/x-unknown' } }] }) }, named), { code: -32005 })
  t.match(await error('agent/getAuthenticatedExtendedCard', {}), { code: -32004 })
  t.match(await error('tasks/pushNotificationConfig/delete', { id: 'nope' }), { code: -32001 })
})

test('over HTTP an unknown path, verb or word after the colon is refused in the shape of all errors', async t => {
  const served = await agent(t)
  for (const [method, path, code] of [['GET', '/nope', 404], ['PUT', '/tasks', 405], ['POST', '/tasks/x:nope', 404], ['GET', '/tasks/x:cancel', 404], ['POST', '/tasks/x', 404]] as const) {
    t.match(await rest(served, method, path), { status: code, body: { error: { code, status: 'UNIMPLEMENTED', message: /./ } } }, `${method} ${path}`)
  }
  t.match(await rest(served, 'POST', '/docs/message:send', { tenant: 'docs', message: message('echo') }), { status: 200 })
  t.match(await rest(served, 'POST', '/docs/message:send', { tenant: 'other', message: message('echo') }), { status: 400, body: { error: { details: [{}, { fieldViolations: [{ field: 'tenant' }] }] } } }, 'path and body have to agree')
})
