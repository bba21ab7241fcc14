import type { Interpreter, Principal } from '@polyvac/core'
import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { METHODS as V03 } from '../src/dialects/v0_3/names.js'
import { METHODS as V1 } from '../src/dialects/v1/names.js'
import { a2aGrpc } from '../src/grpc/index.js'
import type { Operation } from '../src/protocol/dialect.js'
import { gate, methodNames, serve, type RpcOptions, type Served } from './fixtures/app.js'
import { Caller, service, type Told } from './fixtures/grpc-caller.js'
import { rpc, type Json } from './fixtures/public.js'

/** The callers: `alice` owns the tasks; `scopeless` is alice, and `limited` is bob, without the scope for the VAC. */
const CALLERS: Readonly<Record<string, Principal>> = {
  alice: { owner: 'alice' }, bob: { owner: 'bob' }, scopeless: { owner: 'alice', scopes: [] }, limited: { owner: 'bob', scopes: ['vac:other'] }
}
const authenticate = ({ headers }: { headers: { authorization?: string | undefined } }): Principal | undefined => CALLERS[headers.authorization ?? '']

const HOOK = 'http://127.0.0.1:9/hook'
/** The operations that name a task; the others list, or give the card. */
const ABOUT_A_TASK: readonly Operation[] = ['send', 'stream', 'get', 'cancel', 'subscribe', 'setPush', 'getPush', 'listPush', 'deletePush']

type Ask = (caller: string, id: string) => Promise<{ readonly seen: string, readonly code: unknown }>

const message = (id: string) => ({ messageId: 'm', taskId: id, role: 'ROLE_USER', parts: [{ text: 'x' }] })
const PARAMS_1: Readonly<Partial<Record<Operation, (id: string) => Json>>> = {
  send: id => ({ message: message(id) }),
  stream: id => ({ message: message(id) }),
  setPush: id => ({ taskId: id, url: HOOK }),
  getPush: id => ({ taskId: id, id: 'c' }),
  deletePush: id => ({ taskId: id, id: 'c' }),
  listPush: id => ({ taskId: id })
}
const message03 = (id: string) => ({ kind: 'message', messageId: 'm', taskId: id, role: 'user', parts: [{ kind: 'text', text: 'x' }] })
const PARAMS_03: typeof PARAMS_1 = {
  send: id => ({ message: message03(id) }),
  stream: id => ({ message: message03(id) }),
  setPush: id => ({ taskId: id, pushNotificationConfig: { url: HOOK } }),
  getPush: id => ({ id, pushNotificationConfigId: 'c' }),
  deletePush: id => ({ id, pushNotificationConfigId: 'c' })
}
const REST: Readonly<Partial<Record<Operation, (id: string) => readonly ['GET' | 'POST' | 'DELETE', string, Json?]>>> = {
  send: id => ['POST', '/message:send', { message: message(id) }],
  stream: id => ['POST', '/message:stream', { message: message(id) }],
  get: id => ['GET', `/tasks/${id}`],
  cancel: id => ['POST', `/tasks/${id}:cancel`, {}],
  subscribe: id => ['POST', `/tasks/${id}:subscribe`, {}],
  setPush: id => ['POST', `/tasks/${id}/pushNotificationConfigs`, { url: HOOK }],
  getPush: id => ['GET', `/tasks/${id}/pushNotificationConfigs/c`],
  listPush: id => ['GET', `/tasks/${id}/pushNotificationConfigs`],
  deletePush: id => ['DELETE', `/tasks/${id}/pushNotificationConfigs/c`]
}
const DESCRIPTION = (method: string, taskId: string): Json => ({
  taskId, ...method.includes('send') && { input: { query: 'yes' } }, ...method.endsWith('/set') && { pushNotificationConfig: { url: HOOK } }
})

/** All requests about a task, from the tables of methods and routes: every dialect and binding. */
function requests (served: Served, caller: Caller): Map<string, Ask> {
  const all = new Map<string, Ask>()
  const whole = ({ statusCode, headers: { date: _date, ...headers }, body }: { statusCode: number, headers: Json, body: string }, code: unknown) =>
    ({ seen: JSON.stringify([statusCode, headers, body]), code })
  for (const [methods, version, params] of [[V1, '1.0', PARAMS_1], [V03, '0.3', PARAMS_03]] as const) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!ABOUT_A_TASK.includes(operation)) continue
      all.set(`${version} ${method}`, async (authorization, id) => {
        const response = await rpc(served, method, params[operation]?.(id) ?? { id }, { version, headers: { authorization } })
        return whole(response, (response.json() as Json).error?.code)
      })
    }
  }
  for (const operation of ABOUT_A_TASK) {
    all.set(`REST ${operation}`, async (authorization, id) => {
      const [method, path, payload] = REST[operation]!(id)
      const response = await served.app.inject({ method, url: `/a2a/v1${path}`, headers: { authorization, 'a2a-version': '1.0' }, ...payload !== undefined && { payload } })
      return whole(response, { 404: -32001, 401: 401 }[response.statusCode] ?? response.statusCode)
    })
  }
  for (const method of methodNames.filter(name => name !== 'tasks/list')) {
    all.set(`description ${method}`, async (authorization, id) => {
      const { status, text, headers: { date: _date, ...headers }, body } = await served.rpc(method, DESCRIPTION(method, id), { headers: { authorization } } as RpcOptions)
      return { seen: JSON.stringify([status, headers, text]), code: body.error?.code }
    })
  }
  for (const name of Object.keys(service.methods)) {
    const operation = (V1 as Readonly<Record<string, Operation>>)[name]
    if (operation === undefined || !ABOUT_A_TASK.includes(operation)) continue
    all.set(`gRPC ${name}`, async (authorization, id) => {
      const params = PARAMS_1[operation]?.(id) ?? { id }
      const isStream = service.methods[name]?.responseStream === true
      const answer = isStream ? caller.stream(name, params, { authorization })[Symbol.asyncIterator]().next() : caller.call(name, params, { authorization })
      return await answer.then(
        value => ({ seen: JSON.stringify(value), code: undefined }),
        ({ code, details, told, metadata }: Told) => ({ seen: JSON.stringify([code, details, told, Object.keys(metadata.getMap()).sort()]), code: { 5: -32001, 16: 401 }[code as number] ?? code }))
    })
  }
  return all
}

/** One task of alice in every state. */
async function everyState (served: Served): Promise<Map<string, string>> {
  const tasks = new Map<string, string>()
  const alice = { headers: { authorization: 'alice' } }
  // one worker: what waits there keeps the next one in the queue
  for (const [state, kind, query] of [
    ['completed', 'query', 'x'], ['failed', 'query', 'throw'], ['input-required', 'query', 'ask'], ['working', 'stream', 'wait'], ['submitted', 'stream', 'x'], ['canceled', 'stream', 'x']
  ] as const) {
    const { taskId } = await served.task('tasks/send', { skillName: `vac_${kind}_docs`, input: { query } }, alice)
    if (state === 'canceled') await served.task('tasks/cancel', { taskId }, alice)
    await served.reached(taskId, [state], alice)
    tasks.set(state, taskId)
  }
  return tasks
}

test('in every dialect, binding and state, a foreign id is answered byte for byte like an unknown one', async t => {
  const { opened, open } = gate()
  const interpreter: Interpreter = async question => {
    if (question === 'wait') await opened
    if (question === 'throw') throw new Error('SECRET')
    return question === 'ask' ? { input_required: 'What?' } : question
  }
  const served = await serve(t, interpreter, { plugin: { authenticate, concurrency: 1, push: { allow: ['127.0.0.1'] } } })
  const grpc = await a2aGrpc(served.app, {})
  await served.app.ready()
  const caller = new Caller(grpc.port)
  t.teardown(() => { caller.client.close() })
  const asks = requests(served, caller)
  t.equal(asks.size, 9 + 9 + 9 + methodNames.length - 1 + 9, 'the tables of methods')
  for (const [state, id] of await everyState(served)) {
    for (const [name, ask] of asks) {
      for (const who of ['bob', 'limited', 'scopeless']) {
        const unknownId = randomUUID()
        const [foreign, unknown] = [await ask(who, id), await ask(who, unknownId)]
        t.equal(foreign.seen.replaceAll(id, 'ID'), unknown.seen.replaceAll(unknownId, 'ID'), `${name}, ${state}, ${who}`)
        t.equal(foreign.code, -32001, `${name}, ${state}: the task is not found`)
        t.notOk(foreign.seen.includes(id), `${name}: without the id`)
      }
      const [refused, refusedUnknown] = [await ask('nobody', id), await ask('nobody', randomUUID())]
      t.equal(refused.seen, refusedUnknown.seen, `${name}, ${state}, no token`)
      t.not(refused.code, -32001, `${name}, ${state}: no token is refused before the task is looked for`)
      if (/ (?:tasks\/get|GetTask|get)$/.test(name)) {
        t.match((await ask('alice', id)).code ?? 200, 200, `${name}, ${state}, own`)
      }
    }
  }
  open()
})

test('a caller that lost the scope for a VAC does not continue its task', async t => {
  let runs = 0
  const served = await serve(t, () => ++runs === 1 ? { input_required: 'What?' } : 'answer', { plugin: { authenticate } })
  const { taskId } = await served.task('tasks/send', { skillName: 'vac_query_docs', input: { query: 'x' } }, { headers: { authorization: 'alice' } })
  await served.reached(taskId, ['input-required'], { headers: { authorization: 'alice' } })
  const scopeless = { headers: { authorization: 'scopeless' } }
  t.match((await served.rpc('tasks/send', { taskId, input: { query: 'yes' } }, scopeless)).body, { error: { code: -32001 } })
  t.match((await rpc(served, 'SendMessage', { message: message(taskId) }, scopeless)).json(), { error: { code: -32001 } })
  t.equal(runs, 1)
  t.match((await rpc(served, 'SendMessage', { message: message(taskId) }, { headers: { authorization: 'alice' } })).json(), { result: {} })
})
