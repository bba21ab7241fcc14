import { setImmediate as nextTurn } from 'node:timers'
import { setImmediate as untilNextTurn } from 'node:timers/promises'

/** Time in ms of one turn of the event loop for large texts of all tasks: several in one turn would block it. */
const MAX_TURN_MS = 5
let turnStart = 0

/** Whether large texts have used their time of this turn, which begins with the first call in it. */
export function isTurnOver (): boolean {
  const now = performance.now()
  if (turnStart === 0) {
    turnStart = now
    nextTurn(() => { turnStart = 0 })
  }
  return now - turnStart > MAX_TURN_MS
}

/** Waits for a turn with time left. */
export async function yieldToEventLoop (): Promise<void> {
  do await untilNextTurn()
  while (isTurnOver())
}
