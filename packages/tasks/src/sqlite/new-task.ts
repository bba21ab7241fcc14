import { createHash, randomUUID } from 'node:crypto'
import { InvalidTaskError } from '../errors.js'
import type { NewTask } from '../task-store.js'
import { MAX_EVENT_CHARS, messageAt, toJson } from '../task-updates.js'
import { preparePush, type PreparedPush } from './push-configs.js'
import type { NewRow } from './task-log.js'

const MAX_NAME = 256

/** A task to create, checked and in the form of its rows. Throws TASK_INVALID and TASK_TOO_LARGE. */
export function prepareTask (owner: string, task: NewTask, at: number): NewRow & { push: PreparedPush | undefined } {
  const { skill, input, message, contextId, metadata = {}, id = randomUUID(), idempotencyKey, queue = '', push } = task
  checkName('owner', owner)
  checkName('skill', skill)
  if (contextId !== undefined) checkName('contextId', contextId)
  if (task.id !== undefined) checkName('id', id)
  if (idempotencyKey !== undefined) checkName('idempotencyKey', idempotencyKey)
  if (task.queue !== undefined) checkName('queue', queue)
  const inputText = toJson('input', input, MAX_EVENT_CHARS)
  const metadataText = toJson('metadata', metadata, MAX_EVENT_CHARS)
  const first = {
    at,
    state: 'submitted' as const,
    ...(message === undefined ? {} : { message: messageAt(Object.assign({ role: 'user' as const }, message), at) })
  }
  const firstText = toJson('message', first, MAX_EVENT_CHARS)
  return {
    owner,
    queue,
    // what JSON makes of them, so that the record is the same before and after it was stored
    origin: { id, owner, skill, input: JSON.parse(inputText), contextId, metadata: JSON.parse(metadataText) },
    idem: idempotencyKey ?? null,
    hash: idempotencyKey === undefined ? null : createHash('sha256').update(canonicalJson([skill, JSON.parse(inputText), contextId ?? null, ...saidBesides(message)])).digest('base64url'),
    inputText,
    metadataText,
    first,
    firstText,
    push: push === undefined ? undefined : preparePush({ ...push, after: push.after ?? 1 })
  }
}

/** A name is compared by SQLite, which keeps neither lone halves of characters nor what follows a NUL. */
function checkName (name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME || /[\0\ud800-\udfff]/u.test(value)) throw new InvalidTaskError(name, `give 1 to ${MAX_NAME} whole characters`)
}

/** What of a message the input does not say. */
function saidBesides (message: NewTask['message']): unknown[] {
  const parts = message?.parts.filter(({ type }) => type !== 'text') ?? []
  return parts.length === 0 ? [] : [JSON.parse(JSON.stringify(parts))]
}

/** The same text for the same value, however its keys are ordered: a client that sends a request again may order them anew. */
function canonicalJson (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.keys(value).sort().map(key => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`).join()}}`
}
