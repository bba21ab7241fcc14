import { cutError, ServiceError } from './errors.js'
import type { Update } from './types.js'

/** Connections in a row that bring nothing new; then the failure of the last one is thrown. */
export const MAX_FAILURES = 10
/** Pauses before a connection is opened again, in ms: the first time none, then they double. */
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 10_000

/** Failures after which a run goes on: of the network, of a replica that ends, of a proxy or of a limit. */
const PASSING = new Set<unknown>(['SERVICE_UNREACHABLE', 'STREAM_CUT', 'SHUTTING_DOWN', 'SERVICE_CLOSING', 408, 429, 502, 503, 504])

/**
 * The updates of a run over as many connections as it takes. `open` goes on after the cursor of the last update.
 * @param isBegun whether there is a run to go on with
 * @throws ServiceError of another kind than PASSING; the reason of the signal
 */
export async function * reopen (signal: AbortSignal | undefined, open: () => AsyncIterable<Update>, isBegun: () => boolean = () => true): AsyncGenerator<Update, void> {
  let cursor: string | undefined
  for (let failures = 0; ; failures++) {
    const opened = Date.now()
    let failure: unknown = cutError()
    let isDone = false
    try {
      for await (const update of open()) {
        if (update.cursor !== undefined && update.cursor !== cursor) {
          cursor = update.cursor
          failures = 0
        }
        isDone ||= update.done === true
        yield update
      }
    } catch (err) {
      if (!isDone && (!(err instanceof ServiceError) || !(PASSING.has(err.code) || PASSING.has(err.status)))) throw err
      failure = err
    }
    if (isDone) return
    if (Date.now() - opened > MAX_PAUSE_MS) failures = 0
    if (failures >= MAX_FAILURES || !isBegun()) throw failure
    await pause(failures, failure, signal)
  }
}

async function pause (failures: number, failure: unknown, signal: AbortSignal | undefined): Promise<void> {
  const { retryAfter } = failure as Partial<ServiceError>
  const backoff = failures === 0 ? 0 : Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
  const ms = retryAfter === undefined ? backoff : Math.min(retryAfter * 1000, 6 * MAX_PAUSE_MS)
  await new Promise<void>(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
  })
  signal?.throwIfAborted()
}
