import type { AbortSignalLike } from './light-abort.js'

/**
 * Waits for a promise, at most `ms`. When it is late, `onLate` makes the result, or throws; without it the result is
 * undefined. The timer is always cleared, and a later rejection of the promise is ignored.
 */
export async function within<T, L = undefined> (promise: PromiseLike<T>, ms: number, onLate?: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => { timer = setTimeout(resolve, ms) }).then(() => onLate?.() as L)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for a promise until `signal` fires, then rejects with its reason; `onAbort` makes the result instead.
 * A later rejection is ignored.
 */
export async function unlessAborted<T, A = never> (promise: PromiseLike<T>, signal: AbortSignalLike, onAbort?: () => A): Promise<T | NoInfer<A>> {
  let abort = (): void => {}
  const aborted = new Promise<A>((resolve, reject) => {
    abort = () => { if (onAbort === undefined) reject(signal.reason); else resolve(onAbort()) }
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
  })
  try {
    return await Promise.race([aborted, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
