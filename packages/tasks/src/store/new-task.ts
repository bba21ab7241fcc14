import { createHash, randomUUID } from 'node:crypto'
import { InvalidTaskError, TaskConflictError } from '../basics/errors.js'
import { isName, MAX_NAME } from '../basics/names.js'
import type { ConversationKey } from '../contract/conversation-records.js'
import type { NewTask } from '../contract/task-store.js'
import { MAX_EVENT_CHARS, messageAt, toJson } from '../log/task-updates.js'
import type { EventBody } from '../contract/task.js'
import type { TaskOrigin } from '../log/fold-task.js'
import { PAGE_CHARS } from '../log/log-page.js'
import { preparePush, type PreparedPush } from '../push/push-configs.js'
import { filesText, importedRow, type ImportedRow } from './conversations.js'
import { yieldToEventLoop } from '../basics/turn-time.js'

/** Bytes that the rows and index entries of a task take besides its texts, about. */
export const TASK_BYTES = 1_000

/** A new task as the store writes it. */
export interface NewRow {
  readonly owner: string
  readonly queue: string
  readonly origin: TaskOrigin
  readonly idem: string | null
  readonly hash: string | null
  readonly inputText: string
  readonly metadataText: string
  readonly first: EventBody
  readonly firstText: string
  /** Bytes that it takes in the store, about. */
  readonly bytes: number
  readonly push: PreparedPush | undefined
  readonly turn: PreparedTurn | undefined
}

/** The first turn of a task as the store writes it. */
export interface PreparedTurn extends ConversationKey { readonly question: string, readonly files: string | null, readonly from: number | undefined, readonly isExclusive: boolean, readonly after: number | undefined, readonly earlier: readonly ImportedRow[] }

/**
 * Checks a new task and converts it to its rows, a large one in turns of the event loop.
 * @throws TASK_INVALID, TASK_TOO_LARGE
 */
export async function prepareTask (owner: string, task: NewTask, at: number): Promise<NewRow> {
  const { skill, input, message, contextId, metadata = {}, id = randomUUID(), idempotencyKey, isNamedByKey = false, queue = '', push, turn } = task
  const context = contextId ?? turn?.conversation
  checkName('owner', owner)
  checkName('skill', skill)
  if (context !== undefined) checkName('contextId', context)
  if (task.id !== undefined) checkName('id', id)
  if (idempotencyKey !== undefined) checkName('idempotencyKey', idempotencyKey)
  if (task.queue !== undefined) checkName('queue', queue)
  const inputText = toJson('input', input, MAX_EVENT_CHARS)
  const isLarge = inputText.length > PAGE_CHARS
  if (isLarge) await yieldToEventLoop()
  const metadataText = toJson('metadata', metadata, MAX_EVENT_CHARS)
  // converted by JSON, so that the record is the same before and after it was stored
  const storedInput: unknown = JSON.parse(inputText)
  const first = {
    at,
    state: 'submitted' as const,
    ...(message === undefined ? {} : { message: messageAt(Object.assign({ role: 'user' as const }, message), at) })
  }
  if (isLarge) await yieldToEventLoop()
  const firstText = toJson('message', first, MAX_EVENT_CHARS)
  let hash: string | null = null
  if (idempotencyKey !== undefined) {
    if (isLarge) await yieldToEventLoop()
    const request = isNamedByKey ? skill : canonicalJson([skill, storedInput, contextId ?? null, ...partsBesideInput(message)])
    if (isLarge) await yieldToEventLoop()
    hash = createHash('sha256').update(request).digest('base64url')
  }
  if (isLarge) await yieldToEventLoop()
  return {
    owner,
    queue,
    origin: { id, owner, skill, input: storedInput, contextId: context, metadata: JSON.parse(metadataText) },
    idem: idempotencyKey ?? null,
    hash,
    inputText,
    metadataText,
    first,
    firstText,
    bytes: TASK_BYTES + inputText.length + metadataText.length + firstText.length,
    push: push === undefined ? undefined : preparePush({ ...push, after: push.after ?? 1 }),
    turn: turn === undefined || context === undefined ? undefined : { owner: turn.owner, vac: turn.vac, id: context, question: turn.question, files: filesText(turn.files), from: turn.from, isExclusive: turn.isExclusive === true, after: turn.after, earlier: turn.earlier?.map(importedRow) ?? [] }
  }
}

/** @param hasId whether the caller has set the id. @throws TASK_CONFLICT where the earlier task is another request */
export function checkRepeated (before: { readonly id: string, readonly hash: string | null }, { hash, origin: { id } }: NewRow, hasId: boolean): void {
  if (before.hash !== hash || (hasId && id !== before.id)) throw new TaskConflictError('this idempotency key was used for another request')
}

function checkName (name: string, value: unknown): void {
  if (!isName(value)) throw new InvalidTaskError(name, `give 1 to ${MAX_NAME} whole characters`)
}

/** The part of a message that is not in the input. */
function partsBesideInput (message: NewTask['message']): unknown[] {
  const parts = message?.parts.filter(({ type }) => type !== 'text') ?? []
  return parts.length === 0 ? [] : [JSON.parse(JSON.stringify(parts))]
}

/** Equal texts for equal values, independent of the order of keys, which may differ when a client repeats a request. */
function canonicalJson (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.keys(value).sort().map(key => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`).join()}}`
}
