/**
 * Makes a signal that aborts with `signal`, and after `ms`; call `end` when the work has ended. Signals of
 * AbortSignal.any and AbortSignal.timeout may be collected before they fire (Node.js 20).
 */
export function limitTime (ms: number, signal: AbortSignal): { readonly signal: AbortSignal, readonly isLate: () => boolean, readonly end: () => void } {
  const stop = new AbortController()
  let late = false
  const leave = (): void => { stop.abort(signal.reason) }
  const timer = setTimeout(() => {
    late = true
    stop.abort(new DOMException(`not done within ${ms / 1_000} s`, 'TimeoutError'))
  }, ms)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const end = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
  return { signal: stop.signal, isLate: () => late, end }
}
