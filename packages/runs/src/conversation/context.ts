import type { TaskRecord } from '@polyvac/tasks'

/** The conversation of a task; a task that was created without one starts its own. */
export function contextOf ({ id, contextId }: Pick<TaskRecord, 'id' | 'contextId'>): string {
  return contextId ?? id
}
