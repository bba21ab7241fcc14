/**
 * An object whose methods, all of them async, call those of another one that is there later.
 * @param inner throws, or rejects, while it is not there
 */
export function forwardTo<T extends object> (inner: () => T | Promise<T>): T {
  return new Proxy({} as T, {
    get: (_target, name) => async (...args: unknown[]) => await ((await inner())[name as keyof T] as (...args: unknown[]) => unknown).apply(await inner(), args)
  })
}
