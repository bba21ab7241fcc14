/** What an interpreter that returns a stream is read from. */
export type Source = AsyncIterator<unknown> | Iterator<unknown>

/** The iterator of what an interpreter returned; undefined where that is a result. */
export function iteratorOf (value: unknown): Source | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  return Symbol.iterator in value ? (value as Iterable<unknown>)[Symbol.iterator]() : undefined
}

/** Closes the source. The promise resolves when it has closed, which a source that hangs never does. */
export function leave (source: Source | undefined): Promise<void> | undefined {
  const ignore = (): void => { /* the run is over and its outcome is sent */ }
  try {
    const left = source?.return?.()
    return isThenable(left) ? Promise.resolve(left).then(ignore, ignore) : undefined
  } catch { /* a sync generator that is still running, or throws in its finally block */ }
  return undefined
}

export function isThenable<T> (value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
