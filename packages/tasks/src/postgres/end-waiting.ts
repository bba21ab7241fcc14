import { waitedBody } from '../event-bodies.js'
import { waitingStates, type TaskState } from '../task.js'
import type { StoreContext } from './store-context.js'
import type { TaskRow } from './task-statements.js'

const BATCH = 64

/** Which tasks have waited too long: all, or those of one queue that wait for input. */
export interface WaitingRule { readonly before: number, readonly queue?: string }

/** Fails the tasks that have waited too long, a batch at a time. */
export async function endWaiting ({ connection, tasks, readers, discards }: StoreContext, { before, queue }: WaitingRule): Promise<void> {
  const states: readonly TaskState[] = queue === undefined ? ['submitted', ...waitingStates] : ['input-required']
  for (let rows: TaskRow[] = []; (rows = await tasks.waiting(states, before, queue, BATCH)).length > 0;) {
    let ended = 0
    for (const row of rows) {
      const done = await tasks.endFree(row.key, [row.state], waitedBody(row, connection.now()))
      if (done === undefined) continue
      ended++
      readers.written(row.key, [done.event], 0)
      discards.add(row.queue, row.job)
    }
    // another replica ends the same ones
    if (ended === 0) return
  }
}
