import type { TaskContext } from './task-store.js'

export interface DeltaWriterOptions {
  /** Longest time that text waits, in ms. Default 20: below what a reader notices, and 50 writes a second at most. */
  readonly everyMs?: number | undefined
  /** Characters that wait before they are written at once. Default 4,096. */
  readonly maxChars?: number | undefined
}

export interface DeltaWriter {
  /** Adds text. Await it: past `maxChars` it resolves once the text is durable, which is the back-pressure of the store. Rejects as `emit` does. */
  write (text: string): Promise<void>
  /** Writes what waits. Call it before the end is emitted. */
  flush (): Promise<void>
}

/** Gathers the pieces of a streamed answer, so that the log gets a few larger deltas instead of one for each word. */
export function deltaWriter (context: Pick<TaskContext, 'emit'>, { everyMs = 20, maxChars = 4_096 }: DeltaWriterOptions = {}): DeltaWriter {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  let written: Promise<unknown> = Promise.resolve()
  let failure: { error: unknown } | undefined

  async function flush (): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (waiting !== '') {
      const delta = waiting
      waiting = ''
      written = context.emit({ delta }).catch((error: unknown) => { failure ??= { error } })
    }
    await written
    if (failure !== undefined) throw failure.error
  }

  return {
    flush,
    async write (text) {
      if (failure !== undefined) throw failure.error
      waiting += text
      if (waiting.length >= maxChars) await flush()
      // a failure is kept for the next write
      else timer ??= setTimeout(() => { flush().catch(() => {}) }, everyMs)
    }
  }
}
