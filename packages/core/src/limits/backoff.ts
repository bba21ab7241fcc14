/** The delay in ms before the next attempt. `attempt` counts from 1; `random` is from 0 to 1. */
export function backoff (attempt: number, { firstMs, maxMs }: { readonly firstMs: number, readonly maxMs: number }, random = Math.random()): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  // half of it is random, so that servers that failed together do not restart together
  return Math.round(full * (0.5 + random / 2))
}
