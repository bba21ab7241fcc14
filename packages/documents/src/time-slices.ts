import { setImmediate } from 'node:timers/promises'

/**
 * How long one piece of work may hold the event loop, in milliseconds. A commit comes on top, so this is well below the
 * 30 ms that a server's other requests should ever wait.
 */
const SLICE_MS = 7

/** Lets everything else that waits for the event loop go first. */
export async function nextTurn (): Promise<void> {
  await setImmediate()
}

/**
 * Runs the steps in slices, each wrapped by `slice` (a transaction, for example), and lets the event loop turn in
 * between. Fails with the signal's reason, between slices.
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
