import { setImmediate } from 'node:timers/promises'

/**
 * Longest time in ms for which one slice may block the event loop. A commit adds to it, so it is well below the 30 ms
 * that other requests should wait at most.
 */
const SLICE_MS = 7

/** Continues in the next turn of the event loop. */
export async function nextTurn (): Promise<void> {
  await setImmediate()
}

/**
 * Runs the steps in slices, each wrapped by `slice` (a transaction, for example), with a turn of the event loop in
 * between. Rejects with the signal's reason between slices.
 */
export async function inSlices (steps: Iterator<unknown>, slice: (work: () => boolean) => boolean, signal?: AbortSignal): Promise<void> {
  for (let done = false; !done;) {
    signal?.throwIfAborted()
    done = slice(() => {
      const until = performance.now() + SLICE_MS
      do {
        if (steps.next().done === true) return true
      } while (performance.now() < until)
      return false
    })
    await nextTurn()
  }
}
