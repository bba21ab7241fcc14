import { InvalidCursorError, InvalidTaskError } from '../basics/errors.js'
import { isName } from '../basics/names.js'
import { taskStates, type TaskState } from '../contract/task.js'
import type { TaskQuery } from '../contract/task-store.js'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
/** Characters of JSON behind a page of tasks; past it the page ends early, with a cursor: answers may be megabytes. */
export const LIST_CHARS = 2 * 1024 * 1024

export interface PreparedQuery {
  readonly contextId: string | undefined
  readonly states: readonly TaskState[]
  readonly skills: readonly string[] | null
  readonly statusSince: number
  /** The page begins after this status time and key. */
  readonly before: readonly [at: number, key: number]
  readonly limit: number
}

/** @throws TASK_INVALID, TASK_INVALID_CURSOR */
export function prepareQuery ({ contextId, cursor, limit = DEFAULT_LIMIT, states, skills, statusSince = 0 }: TaskQuery): PreparedQuery {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new InvalidTaskError('limit', `give 1 to ${MAX_LIMIT}`)
  const unknown = states?.find(state => !taskStates.includes(state))
  if (unknown !== undefined) throw new InvalidTaskError('states', `'${String(unknown)}' is not a state`)
  return {
    contextId,
    states: states ?? taskStates,
    skills: skills?.filter(skill => isName(skill)) ?? null,
    statusSince,
    before: decodeCursor(cursor),
    limit
  }
}

/** The cursor of the page that begins after this row. */
export function cursorAfter ({ status_at: at, key }: { readonly status_at: number, readonly key: number }): string {
  return encodeCursor(at, key)
}

export function encodeCursor (at: number, key: number): string { return Buffer.from(`${at}.${key}`).toString('base64url') }

/** The time and key after which a page begins. @throws TASK_INVALID_CURSOR */
export function decodeCursor (cursor: string | undefined): readonly [at: number, key: number] {
  if (cursor === undefined) return [Number.MAX_SAFE_INTEGER, 0]
  const match = /^(\d{1,15})\.(\d{1,16})$/.exec(Buffer.from(String(cursor), 'base64url').toString('latin1'))
  if (match === null) throw new InvalidCursorError()
  return [Number(match[1]), Number(match[2])]
}
