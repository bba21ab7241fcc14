import type { TaskRecord, TaskStore } from '@polyvac/tasks'

/** Cancels a task that has not ended, and deletes it. */
export async function removeTask (tasks: Pick<TaskStore, 'cancel' | 'delete'>, { owner, id }: Pick<TaskRecord, 'owner' | 'id'>): Promise<void> {
  await tasks.cancel(owner, id)
  await tasks.delete(owner, id)
}
