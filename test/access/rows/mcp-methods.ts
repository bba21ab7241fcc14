import { FAR, FAR_TOOL, SERVER, TOOL, VAC } from '../callers.js'
import { STATES, type Row, type State } from '../row.js'

type Json = Readonly<Record<string, unknown>>

/** A row of a method of MCP, for each transport that has the method. */
export type Made = Omit<Partial<Row>, 'make'> & { readonly method: string, readonly params: (id: string) => Json, readonly until?: string }

export const DOCUMENT = 'demo://resource/static/document/features.md'
const QUERY = { query: 'hello' }
const call = (name: string, args: Json = QUERY, more: Json = {}): Json => ({ name, arguments: args, ...more })
const prompt = { thing: 'wholeServer', names: [`${SERVER}__simple-prompt`, `${SERVER}__nosuch-prompt`] } as const
const completed = { thing: 'wholeServer', names: [`${SERVER}__completable-prompt`, `${SERVER}__competable-prompts`] } as const
const upstream = { thing: 'wholeServer', names: [DOCUMENT, DOCUMENT.replace('features', 'nothings')] } as const

/** Of both eras. */
export const SHARED: readonly Made[] = [
  { method: 'tools/list', kind: 'list', thing: 'vac', mark: `"vac_query_${VAC}"`, params: () => ({}) },
  { method: 'tools/list', kind: 'list', thing: 'tool', about: 'external', mark: `"${SERVER}__${TOOL}"`, params: () => ({}) },
  { method: 'tools/call', thing: 'vac', params: name => call(`vac_query_${name}`) },
  { method: 'tools/call', kind: 'stream', thing: 'vac', params: name => call(`vac_stream_${name}`, QUERY, { _meta: { progressToken: 'p' } }) },
  { method: 'tools/call', about: 'search', thing: 'vac', params: name => call(`vac_memory_search_${name}`, { search_query: 'ships' }) },
  { method: 'tools/call', about: 'description', thing: 'vac', params: name => call('get_vac_info', { vector_name: name }) },
  { method: 'tools/call', about: 'list of VACs', kind: 'list', thing: 'vac', params: () => call('list_available_vacs', {}) },
  { method: 'tools/call', about: 'external', thing: 'tool', params: name => call(`${SERVER}__${name}`, { message: 'hello' }) },
  { method: 'tools/call', about: 'remote', thing: 'farTool', names: [FAR_TOOL, 'vac_nosuch_deep'], params: name => call(`${FAR}__${name}`) },
  { method: 'resources/list', kind: 'list', thing: 'vac', mark: `polyvac://vacs/${VAC}"`, params: () => ({}) },
  { method: 'resources/list', kind: 'list', thing: 'wholeServer', about: 'external', mark: 'features.md', params: () => ({}) },
  { method: 'resources/templates/list', kind: 'list', thing: 'anyVac', mark: 'polyvac://vacs/{vac}', params: () => ({}) },
  { method: 'resources/templates/list', kind: 'list', thing: 'wholeServer', about: 'external', mark: 'resource/dynamic/text', params: () => ({}) },
  { method: 'resources/read', thing: 'vac', params: name => ({ uri: `polyvac://vacs/${name}` }) },
  { method: 'resources/read', about: 'document', thing: 'vac', params: name => ({ uri: `polyvac://vacs/${name}/documents/a.md` }) },
  { method: 'resources/read', about: 'external', ...upstream, params: uri => ({ uri }) },
  { method: 'prompts/list', kind: 'list', thing: 'wholeServer', mark: `"${SERVER}__simple-prompt"`, params: () => ({}) },
  { method: 'prompts/get', ...prompt, params: name => ({ name }) },
  { method: 'completion/complete', ...completed, params: name => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'department', value: 'E' } }) },
  {
    method: 'completion/complete', about: 'names of VACs', kind: 'list', thing: 'vac', params: () => ({ ref: { type: 'ref/resource', uri: 'polyvac://vacs/{vac}' }, argument: { name: 'vac', value: '' } })
  },
  {
    method: 'completion/complete',
    about: 'documents of a VAC',
    thing: 'vac',
    params: vac => ({ ref: { type: 'ref/resource', uri: 'polyvac://vacs/{vac}/documents/{+document}' }, argument: { name: 'document', value: '' }, context: { arguments: { vac } } })
  }
]

const BEFORE_THE_END: readonly State[] = ['working', 'input-required']
const ANSWERS = { inputResponses: { first: { action: 'decline' } } }
const aboutTask = { thing: 'toolTask' } as const
const aboutFarTask = { thing: 'farTask', about: 'remote' } as const

/** Of 2025-11-25, the one revision with tasks before 2026-07-28. */
export const LEGACY_TASKS: readonly Made[] = [
  { method: 'tools/call', about: 'as a task', thing: 'vac', params: name => call(`vac_query_${name}`, QUERY, { task: {} }) },
  { method: 'tasks/get', ...aboutTask, params: taskId => ({ taskId }) },
  { method: 'tasks/list', ...aboutTask, kind: 'list', params: () => ({}) },
  // the questions of a task are sent to the caller that waits for its result
  { method: 'tasks/result', ...aboutTask, kind: 'stream', waits: ['working'], until: 'elicitation/create', params: taskId => ({ taskId }) },
  { method: 'tasks/cancel', ...aboutTask, kind: 'cancel', changes: BEFORE_THE_END, params: taskId => ({ taskId }) }
]

/** Of all revisions with sessions. The `nothing` of a method is answered alike to every caller. */
export const LEGACY: readonly Made[] = [
  ...SHARED,
  { method: 'ping', params: () => ({}) },
  { method: 'logging/setLevel', params: () => ({ level: 'info' }) },
  { method: 'resources/subscribe', kind: 'stream', thing: 'vac', isSilent: true, params: name => ({ uri: `polyvac://vacs/${name}` }) },
  { method: 'resources/subscribe', about: 'external', kind: 'stream', ...upstream, isSilent: true, params: uri => ({ uri }) },
  { method: 'resources/unsubscribe', kind: 'cancel', thing: 'vac', isSilent: true, params: name => ({ uri: `polyvac://vacs/${name}` }) }
]

const listening = { kind: 'stream', until: 'acknowledged' } as const

/** Of 2026-07-28. */
export const MODERN: readonly Made[] = [
  ...SHARED,
  { method: 'server/discover', params: () => ({}) },
  { method: 'tools/call', about: 'state of a call that asks', kind: 'continue', thing: 'parkedVac', changes: STATES, params: requestState => call(`vac_query_${VAC}`, { query: 'ask' }, { requestState, inputResponses: {} }) },
  { method: 'subscriptions/listen', about: 'lists', ...listening, params: () => ({ notifications: { toolsListChanged: true } }) },
  { method: 'subscriptions/listen', about: 'resource', ...listening, thing: 'vac', isSilent: true, params: name => ({ notifications: { resourceSubscriptions: [`polyvac://vacs/${name}`] } }) },
  ...[aboutTask, aboutFarTask].flatMap((task): Made[] => [
    { method: 'subscriptions/listen', ...task, ...listening, params: taskId => ({ notifications: { taskIds: [taskId] } }) },
    { method: 'tasks/get', ...task, params: taskId => ({ taskId }) },
    { method: 'tasks/update', ...task, kind: 'continue', params: taskId => ({ taskId, ...ANSWERS }) },
    { method: 'tasks/cancel', ...task, kind: 'cancel', changes: BEFORE_THE_END, params: taskId => ({ taskId }) }
  ])
]
