import { readEvents } from '@polyvac/client/events'
import { send, type Sent } from '../requests/exchange.js'
import { isObject } from '../shared/fields.js'
import { randomId } from '../shared/random-id.js'
import { bodyOf, failureText, settings } from '../shared/settings.js'

/** A task of A2A 1.0, as far as the page shows it. */
export interface Task {
  readonly id: string
  readonly contextId?: string
  readonly status: { readonly state: string, readonly timestamp?: string, readonly message?: { readonly parts?: readonly Part[] } }
  readonly artifacts?: readonly Artifact[]
  readonly history?: ReadonlyArray<{ readonly role?: string, readonly parts?: readonly Part[] }>
  readonly metadata?: { readonly skillName?: string }
}
interface ArtifactUpdate { readonly artifact: Artifact, readonly append?: boolean }
interface Artifact { readonly artifactId?: string, readonly parts?: readonly Part[] }
interface Part { readonly text?: string, readonly data?: { readonly input?: { readonly question?: string, readonly query?: string }, readonly approval?: unknown } }

export interface Webhook { readonly id: string, readonly url: string }

/** One request to a webhook. */
export interface Delivery {
  readonly at: string
  readonly ms: number
  readonly status?: number
  readonly error?: string
  readonly outcome: string
  readonly try: number
}

/** Tasks of one state that the page reads; the service sends the newest first. */
const MAX_TASKS = 50
const ENDED: ReadonlySet<string> = new Set(['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'])
const WAITING = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'] as const

export const hasEnded = (state: string): boolean => ENDED.has(state)
export const shortState = (state: string): string => state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
export const textOf = (parts: readonly Part[] = []): string => parts.map(({ text }) => text ?? '').join('')

async function request (label: string, path: string, more: { readonly method?: string, readonly body?: unknown, readonly signal?: AbortSignal, readonly as?: 'sse' } = {}): Promise<Sent> {
  const { a2a } = settings.value.routes
  if (a2a === null) throw new Error('this service has no A2A agent')
  return await send({ protocol: 'a2a', label, path: `${a2a}/v1/${path}`, headers: { 'a2a-version': '1.0' }, as: 'json', ...more })
}

export async function getTask (id: string, signal: AbortSignal): Promise<Task> {
  return await bodyOf(await request(`get task ${id}`, `tasks/${encodeURIComponent(id)}`, { signal })) as unknown as Task
}

/** Artifacts after an update. */
function withUpdate (artifacts: readonly Artifact[] = [], { artifact, append }: ArtifactUpdate): readonly Artifact[] {
  const known = artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
  if (known === undefined) return [...artifacts, artifact]
  const text = append === true ? textOf(known.parts) + textOf(artifact.parts) : textOf(artifact.parts)
  return artifacts.map(other => other === known ? { ...known, parts: [{ text }] } : other)
}

/** Follows a task; yields it after each change. Any process of the service can answer. */
export async function * followTask (task: Task, signal: AbortSignal): AsyncGenerator<Task> {
  const { id } = task
  const sent = await request(`follow task ${id}`, `tasks/${encodeURIComponent(id)}:subscribe`, { signal, as: 'sse' })
  if (sent.exchange.status !== 200) throw new Error(failureText(await sent.json(), sent.exchange.status))
  for await (const { data } of readEvents(sent.response, signal)) {
    const { task: whole, statusUpdate, artifactUpdate } = JSON.parse(data) as { task?: Task, statusUpdate?: Pick<Task, 'status'>, artifactUpdate?: ArtifactUpdate }
    task = whole ?? { ...task, ...statusUpdate && { status: statusUpdate.status }, ...artifactUpdate && { artifacts: withUpdate(task.artifacts, artifactUpdate) } }
    yield task
  }
}

export async function listWebhooks (id: string, signal: AbortSignal): Promise<readonly Webhook[]> {
  const { configs } = await bodyOf(await request(`list webhooks of task ${id}`, `tasks/${encodeURIComponent(id)}/pushNotificationConfigs`, { signal }))
  return Array.isArray(configs) ? configs.filter(isObject).map(({ id, url }) => ({ id: String(id), url: String(url) })) : []
}

/** What the process that answers has sent to a webhook. Only the description dialect shows it. */
export async function readDeliveries (taskId: string, { id }: Webhook, signal: AbortSignal): Promise<readonly Delivery[]> {
  const method = 'tasks/pushNotification/get'
  const body = { jsonrpc: '2.0', id: randomId(), method, params: { taskId, id } }
  const sent = await send({ protocol: 'a2a-description', label: `read webhook ${id}`, path: `${settings.value.routes.a2a}/${method}`, body, signal, as: 'json' })
  const { result } = await bodyOf(sent)
  return isObject(result) && Array.isArray(result.deliveries) ? result.deliveries as Delivery[] : []
}

/** The tasks that wait for a person. */
export async function listWaiting (signal: AbortSignal): Promise<readonly Task[]> {
  const pages = await Promise.all(WAITING.map(async state =>
    (await bodyOf(await request(`list tasks ${shortState(state)}`, `tasks?status=${state}&pageSize=${MAX_TASKS}`, { signal }))).tasks as Task[] | undefined ?? []))
  return pages.flat()
}

/** @param data what else answers, such as an approval */
export async function answerTask ({ id, contextId }: Task, text: string, data?: object): Promise<void> {
  const message = { messageId: randomId(), role: 'ROLE_USER', taskId: id, ...contextId !== undefined && { contextId }, parts: [{ text }, ...data === undefined ? [] : [{ data }]] }
  await bodyOf(await request(`answer task ${id}`, 'message:send', { body: { message, configuration: { returnImmediately: true } } }))
}

export async function cancelTask (id: string): Promise<void> {
  await bodyOf(await request(`cancel task ${id}`, `tasks/${encodeURIComponent(id)}:cancel`, { method: 'POST' }))
}
