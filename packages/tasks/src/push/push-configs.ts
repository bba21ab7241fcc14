import { randomUUID } from 'node:crypto'
import { InvalidTaskError } from '../basics/errors.js'
import { isName } from '../basics/names.js'
import type { NewPushConfig, PushConfig } from '../contract/task-store.js'
import { toJson } from '../log/task-updates.js'

export const MAX_CONFIGS = 10
const MAX_CHARS = 16 * 1024

export interface PushRow {
  readonly task: number
  readonly id: string
  readonly url: string
  readonly settings: string
  readonly created_at: number
  readonly cursor: number
  readonly disabled: string | null
}

export const PUSH_ROW = 'task, id, url, settings, created_at, cursor, disabled'

export interface PreparedPush {
  readonly id: string
  readonly url: string
  readonly settings: string
  readonly secrets: string
  readonly after: number | undefined
}

/** @throws TASK_INVALID, TASK_TOO_LARGE */
export function preparePush ({ id = randomUUID(), url, settings = {}, secrets = {}, after }: NewPushConfig): PreparedPush {
  if (!isName(id, 128)) throw new InvalidTaskError('id', 'give 1 to 128 whole characters')
  if (!isName(url, 2048)) throw new InvalidTaskError('url', 'give 1 to 2,048 whole characters')
  if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0)) throw new InvalidTaskError('after', 'give a number from 0')
  return { id, url, settings: toJson('settings', settings, MAX_CHARS), secrets: toJson('secrets', secrets, MAX_CHARS), after }
}

/** The host, with which receivers share deliveries. */
export function hostOf (url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

export function toConfig ({ id, url, settings, created_at: createdAt, cursor, disabled }: PushRow, taskId: string): PushConfig {
  return { id, taskId, url, settings: JSON.parse(settings), createdAt, cursor, disabled }
}
