import type { RunMemory } from '@polyvac/core/plugin'
import type { TaskContext, TaskRecord } from '@polyvac/tasks'

/** The memory of a run in the log of its task. */
export function taskMemory ({ metadata }: TaskRecord, context: Pick<TaskContext, 'emit'>): RunMemory {
  let value = metadata.kept
  return {
    get value () { return value },
    async set (next) {
      // at once: a second change has to begin with this one
      value = next
      await context.emit({ kept: next })
    }
  }
}
