import type { StoreContext } from './store-context.js'
import type { TaskRow } from './task-statements.js'

/** Tasks that end in one entry of a group commit. */
const BATCH = 64

/** Fails the tasks that `rowsOf` finds, a batch at a time. */
export async function endWaiting ({ commit, tasks, readers, nudge }: StoreContext, rowsOf: (limit: number) => TaskRow[]): Promise<void> {
  while (rowsOf(1).length > 0) {
    for (const { row, event } of await commit.write(() => tasks.endWaiting(rowsOf(BATCH), Date.now()))) readers.written(row.key, [event], 0)
    nudge()
  }
}
