import { waitedBody } from '../log/event-bodies.js'
import type { StoreContext } from './store-context.js'
import type { TaskRow } from './task-statements.js'

const BATCH = 64

/** Fails the tasks that `rowsOf` finds, a batch at a time. */
export async function endWaiting ({ connection, tasks, readers, discards }: StoreContext, rowsOf: (limit: number) => Promise<TaskRow[]>): Promise<void> {
  for (let rows: TaskRow[] = []; (rows = await rowsOf(BATCH)).length > 0;) {
    let ended = 0
    for (const row of rows) {
      const done = await tasks.endFree(row, waitedBody(row, connection.now()))
      if (done === undefined) continue
      ended++
      readers.written(row.key, [done.event], 0)
      discards.add(row.queue, row.job)
    }
    // another replica ends the same ones
    if (ended === 0) return
  }
}
