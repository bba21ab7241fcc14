/**
 * An object whose methods, all of them async, call those of another one that is there later.
 * @param inner throws, or rejects, while it is not there
 */
export function forwardTo<T extends object> (inner: () => T | Promise<T>): T {
  return new Proxy({} as T, {
    get: (_target, name) => {
      // an object with it would be a promise to those who await it
      if (name === 'then') return undefined
      return async (...args: unknown[]) => {
        const object = await inner()
        return await (object[name as keyof T] as (...args: unknown[]) => unknown).apply(object, args)
      }
    }
  })
}
