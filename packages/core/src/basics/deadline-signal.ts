import type { AbortSignalLike } from './light-abort.js'

export interface DeadlineOptions {
  /** Makes the reason of a signal that is late; default: a `TimeoutError`. */
  readonly reason?: () => unknown
  /** False: the timer itself does not keep the process alive. Default: true. */
  readonly ref?: boolean
}

/**
 * Makes a signal that aborts with `signal`, after `ms`, and by `abort`; call `end` when the work has ended. It
 * holds its timer and its listener: signals of AbortSignal.any and AbortSignal.timeout may be collected before they
 * fire (Node.js 20).
 */
export function deadlineSignal (ms: number, signal?: AbortSignalLike, { reason = () => lateError(ms), ref = true }: DeadlineOptions = {}):
{ readonly signal: AbortSignal, readonly abort: (reason: unknown) => void, readonly renew: () => void, readonly end: () => void } {
  const stop = new AbortController()
  const abort = (reason: unknown): void => { stop.abort(reason) }
  const timer = setTimeout(() => { abort(reason()) }, ms)
  if (!ref) timer.unref()
  const leave = (): void => { abort(signal?.reason) }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  const end = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
  return { signal: stop.signal, abort, renew: () => { timer.refresh() }, end }
}

function lateError (ms: number): Error {
  return new DOMException(`not done within ${ms / 1_000} s`, 'TimeoutError')
}
