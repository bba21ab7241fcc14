import { VAC } from '../callers.js'
import { rowsOf, rpc, type Row, type State } from '../row.js'

type Json = Readonly<Record<string, unknown>>

/** Where webhooks go: nothing listens there, and the tasks that have one have ended. */
export const HOOK = 'http://127.0.0.1:9/hook'
/** A task that is followed may wait for ever. */
const until = 'data:'
/** One state where the same operation has a row for each state at another address. */
const ONE: readonly State[] = ['input-required']
const CHANGED_BY_CANCEL: readonly State[] = ['working', 'input-required']
const ABOUT_TASK = { thing: 'task' } as const
const cancel = { ...ABOUT_TASK, kind: 'cancel', changes: CHANGED_BY_CANCEL } as const
const proceed = { ...ABOUT_TASK, kind: 'continue', changes: ['input-required'] } as const
const follow = { ...ABOUT_TASK, kind: 'resume' } as const
const webhook = { ...ABOUT_TASK, kind: 'webhook' } as const
const ask = { thing: 'vac' } as const
const list = { ...ABOUT_TASK, kind: 'list' } as const

const to1 = (to: Json): Json => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }], ...to } })
const to03 = (to: Json): Json => ({ message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hello' }], ...to } })
const skill = (name: string): Json => ({ metadata: { skillId: `vac_query_${name}` } })

type Made = Partial<Row> & { readonly method: string, readonly params: (id: string) => Json, readonly isStream?: boolean }

/** The methods of 1.0, as JSON-RPC and gRPC have them. */
const METHODS_1: readonly Made[] = [
  { method: 'SendMessage', ...ask, params: name => to1(skill(name)) },
  { method: 'SendMessage', ...proceed, params: taskId => to1({ taskId }) },
  { method: 'SendStreamingMessage', ...ask, kind: 'stream', isStream: true, params: name => to1(skill(name)) },
  { method: 'SendStreamingMessage', ...proceed, isStream: true, params: taskId => to1({ taskId }) },
  { method: 'GetTask', ...ABOUT_TASK, params: id => ({ id }) },
  { method: 'ListTasks', ...list, params: () => ({ pageSize: 100 }) },
  { method: 'CancelTask', ...cancel, params: id => ({ id }) },
  { method: 'SubscribeToTask', ...follow, isStream: true, params: id => ({ id }) },
  { method: 'CreateTaskPushNotificationConfig', ...webhook, params: taskId => ({ taskId, id: 'hook', url: HOOK }) },
  { method: 'GetTaskPushNotificationConfig', ...webhook, params: taskId => ({ taskId, id: 'hook' }) },
  { method: 'ListTaskPushNotificationConfigs', ...webhook, params: taskId => ({ taskId }) },
  { method: 'DeleteTaskPushNotificationConfig', ...webhook, params: taskId => ({ taskId, id: 'hook' }) },
  { method: 'GetExtendedAgentCard', params: () => ({}) }
]

const METHODS_03: readonly Made[] = [
  { method: 'message/send', ...ask, params: name => to03(skill(name)) },
  { method: 'message/send', ...proceed, params: taskId => to03({ taskId }) },
  { method: 'message/stream', ...ask, kind: 'stream', isStream: true, params: name => to03(skill(name)) },
  { method: 'message/stream', ...proceed, isStream: true, params: taskId => to03({ taskId }) },
  { method: 'tasks/get', ...ABOUT_TASK, params: id => ({ id }) },
  { method: 'tasks/cancel', ...cancel, params: id => ({ id }) },
  { method: 'tasks/resubscribe', ...follow, isStream: true, params: id => ({ id }) },
  { method: 'tasks/pushNotificationConfig/set', ...webhook, params: taskId => ({ taskId, pushNotificationConfig: { id: 'hook', url: HOOK } }) },
  { method: 'tasks/pushNotificationConfig/get', ...webhook, params: id => ({ id, pushNotificationConfigId: 'hook' }) },
  { method: 'tasks/pushNotificationConfig/list', ...webhook, params: id => ({ id }) },
  { method: 'tasks/pushNotificationConfig/delete', ...webhook, params: id => ({ id, pushNotificationConfigId: 'hook' }) },
  { method: 'agent/getAuthenticatedExtendedCard', params: () => ({}) }
]

/** The methods at each address of JSON-RPC. Under the name of a VAC, the messages need no skill. */
function overRpc (protocol: string, version: Readonly<Record<string, string>>, methods: readonly Made[], to: (message: Json) => Json): Row[] {
  return ['/a2a', '/', '/a2a/vacs/:vac'].flatMap(pattern => rowsOf({ protocol, route: `POST ${pattern}` }, methods.map(({ params, isStream: _, ...row }) => {
    const isTenant = pattern.endsWith(':vac')
    const isNew = row.thing === 'vac'
    return {
      ...row,
      about: [pattern, ...isTenant && isNew ? ['its VAC'] : []].join(', '),
      ...pattern !== '/a2a' && { states: ONE },
      make: (id: string) => ({
        path: pattern.replace(':vac', isNew ? id : VAC), headers: version, body: rpc(row.method, isTenant && isNew ? to({}) : params(id)), ...row.kind === 'resume' && { until }
      })
    }
  })))
}

/** A VAC that the caller may not use has no path and no tasks. */
const tenants: Row[] = rowsOf({ thing: 'vac', states: ONE }, [
  {
    protocol: 'A2A 1.0', route: 'POST /a2a/vacs/:vac', method: 'ListTasks', about: 'name of the VAC', isSilent: true, make: name => ({ path: `/a2a/vacs/${name}`, headers: { 'a2a-version': '1.0' }, body: rpc('ListTasks') })
  },
  { protocol: 'A2A HTTP+JSON', route: 'GET /a2a/v1/:tenant/tasks', about: 'name of the VAC', isSilent: true, make: name => ({ method: 'GET', path: `/a2a/v1/${name}/tasks`, headers: { 'a2a-version': '1.0' } }) }
])

const V1 = { 'a2a-version': '1.0' }
const hooks = (id: string): string => `/tasks/${id}/pushNotificationConfigs`

/** HTTP+JSON, also under the name of a VAC. */
const rest: Row[] = ['', '/:tenant'].flatMap(tenant => {
  const at = (path: string): string => `/a2a/v1${tenant.replace(':tenant', VAC)}${path}`
  const route = (text: string): string => text.replace(' ', ` /a2a/v1${tenant}`)
  const posts = (path: string, body: Json = {}, more: object = {}) => ({ path: at(path), headers: V1, body, ...more })
  const gets = (path: string, more: object = {}) => ({ method: 'GET', path: at(path), headers: V1, ...more })
  const inVac = (name: string, path: string, more: object = {}) => ({ path: tenant === '' ? at(path) : `/a2a/v1/${name}${path}`, headers: V1, body: to1(tenant === '' ? skill(name) : {}), ...more })
  const rows: Array<Partial<Row> & Pick<Row, 'make'>> = [
    { route: 'POST /message::send', ...ask, make: name => inVac(name, '/message:send') },
    { route: 'POST /message::send', ...proceed, make: taskId => posts('/message:send', to1({ taskId })) },
    { route: 'POST /message::stream', ...ask, kind: 'stream', make: name => inVac(name, '/message:stream') },
    { route: 'POST /message::stream', ...proceed, make: taskId => posts('/message:stream', to1({ taskId })) },
    { route: 'GET /tasks', ...list, make: () => gets('/tasks?pageSize=100') },
    { route: 'GET /tasks/:id', ...ABOUT_TASK, make: id => gets(`/tasks/${id}`) },
    { route: 'GET /tasks/:id', about: 'subscribe', ...follow, make: id => gets(`/tasks/${id}:subscribe`, { until }) },
    { route: 'POST /tasks/:id', about: 'cancel', ...cancel, make: id => posts(`/tasks/${id}:cancel`) },
    { route: 'POST /tasks/:id', about: 'subscribe', ...follow, make: id => posts(`/tasks/${id}:subscribe`, {}, { until }) },
    { route: 'POST /tasks/:taskId/pushNotificationConfigs', ...webhook, make: id => posts(hooks(id), { id: 'hook', url: HOOK }) },
    { route: 'GET /tasks/:taskId/pushNotificationConfigs', ...webhook, make: id => gets(hooks(id)) },
    { route: 'GET /tasks/:taskId/pushNotificationConfigs/:id', ...webhook, make: id => gets(`${hooks(id)}/hook`) },
    { route: 'DELETE /tasks/:taskId/pushNotificationConfigs/:id', ...webhook, make: id => ({ ...gets(`${hooks(id)}/hook`), method: 'DELETE' }) },
    { route: 'GET /extendedAgentCard', make: () => gets('/extendedAgentCard') }
  ]
  return rowsOf({ protocol: 'A2A HTTP+JSON', ...tenant !== '' && { states: ONE } }, rows.map(row => ({ ...row, route: route(row.route!) })))
})

/** The dialect of the service description: one path for each method. */
const description: Row[] = rowsOf({ protocol: 'A2A description' }, ([
  { method: 'tasks/send', ...ask, params: name => ({ skillName: `vac_query_${name}`, input: { query: 'hello' } }) },
  { method: 'tasks/send', ...proceed, params: taskId => ({ taskId, input: { query: 'hello' } }) },
  { method: 'tasks/sendSubscribe', ...ask, kind: 'stream', isStream: true, params: name => ({ skillName: `vac_query_${name}`, input: { query: 'hello' } }) },
  { method: 'tasks/sendSubscribe', ...proceed, isStream: true, params: taskId => ({ taskId, input: { query: 'hello' } }) },
  { method: 'tasks/get', ...ABOUT_TASK, params: taskId => ({ taskId }) },
  { method: 'tasks/list', ...list, params: () => ({ limit: 100 }) },
  { method: 'tasks/cancel', ...cancel, params: taskId => ({ taskId }) },
  { method: 'tasks/resubscribe', ...follow, isStream: true, params: taskId => ({ taskId }) },
  { method: 'tasks/pushNotification/set', ...webhook, params: taskId => ({ taskId, pushNotificationConfig: { id: 'hook', url: HOOK } }) },
  { method: 'tasks/pushNotification/get', ...webhook, params: taskId => ({ taskId, id: 'hook' }) },
  { method: 'tasks/pushNotification/delete', ...webhook, params: taskId => ({ taskId, id: 'hook' }) }
] satisfies Made[]).map(({ params, isStream: _, ...row }: Made) => ({
  ...row, route: `POST /a2a/${row.method}`, make: (id: string) => ({ path: `/a2a/${row.method}`, body: rpc(row.method, params(id)), ...row.kind === 'resume' && { until } })
})))

const grpc: Row[] = rowsOf({ protocol: 'gRPC' }, METHODS_1.map(({ params, isStream: streams = false, ...row }) => ({
  ...row, route: 'gRPC', make: (id: string) => ({ rpc: row.method, params: params(id), streams })
})))

export const a2aRows: readonly Row[] = [
  ...overRpc('A2A 1.0', V1, METHODS_1, to1), ...overRpc('A2A 0.3', {}, METHODS_03, to03), ...tenants, ...rest, ...description, ...grpc
]
