// @keyed none: a list in order, at most a step for each large answer in progress
const waiting: Array<() => void> = []

/**
 * Waits for a turn of the event loop that no other large step has: however many large answers are in progress, at most
 * one piece of one of them is handled in each turn. They are served in the order in which they asked.
 */
export function yieldToEventLoop (): Promise<void> {
  return new Promise(resolve => { if (waiting.push(resolve) === 1) setImmediate(next) })
}

function next (): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}
