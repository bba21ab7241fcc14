import type { TaskStep } from '@polyvac/runs'
import { messageAnswer } from '../protocol/task-view.js'

/**
 * Longest time in ms that the beginning of a stream waits for an answer that is only a message: such a stream has that
 * message and no task (A2A 1.0, section 3.1.2). Afterwards, and at the first text or progress, the task is sent.
 */
const MAX_HOLD_MS = 500

/** The steps of a new task; only the last one where the task ends with a message before anything else of it. */
export async function * withoutTask (steps: AsyncGenerator<TaskStep, void>): AsyncGenerator<TaskStep, void> {
  // @keyed none: a list in order, of the steps until the first text of one task
  const held: TaskStep[] = []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => { timer = setTimeout(() => { resolve(undefined) }, MAX_HOLD_MS) })
  try {
    let next = steps.next()
    for (let result = await Promise.race([next, late]); result !== undefined && result.done !== true; result = await Promise.race([next, late])) {
      const step = result.value
      if (messageAnswer(step.task) !== undefined) return yield step
      held.push(step)
      next = steps.next()
      if (!isBeginning(step)) break
    }
    // its reader may leave before it is awaited
    next.catch(() => {})
    yield * held
    for (let result = await next; result.done !== true; result = await steps.next()) yield result.value
  } finally {
    clearTimeout(timer)
    steps.return().catch(() => {})
  }
}

/** Whether nothing of a task is known yet but that it exists and runs. */
function isBeginning ({ event: { state, delta, artifact, message, progress } }: TaskStep): boolean {
  const isRunning = state === 'submitted' || state === 'working'
  return isRunning && delta === undefined && artifact === undefined && message === undefined && progress === undefined
}
