import type { TaskState } from './task.js'

/** Tasks in one state, and since when the oldest is in it, in milliseconds since 1970. */
export interface Backlog { readonly state: TaskState, readonly tasks: number, readonly since: number }

/** Most tasks of a state that `backlog` counts. */
export const MAX_COUNTED = 10_000
