import { readNumbers } from './number-options.js'
import type { TaskContext } from './task-store.js'

export interface DeltaWriterOptions {
  /** Longest time that text waits at first, in ms. Default 20: below what a reader notices, and 50 writes a second at most. */
  readonly everyMs?: number | undefined
  /** Characters that wait at first before they are written at once. Default 4,096. */
  readonly maxChars?: number | undefined
}

export interface DeltaWriter {
  /** Adds text. Await it: once enough waits it resolves once the text is durable, which is the back-pressure of the store. Rejects as `emit` does. */
  write (text: string): Promise<void>
  /** Writes what waits. Call it before the end is emitted. */
  flush (): Promise<void>
}

/** Characters and ms that text waits for at most, however much was written. */
const MAX_CHARS = 32 * 1024
/** Characters of one delta: six times as many, where each has to be escaped, still fit into an event. */
const MAX_DELTA_CHARS = 1024 * 1024
const MAX_DELAY_MS = 64

/** Default and smallest value of the options. */
export const DELTA_NUMBERS = { everyMs: [20, 0], maxChars: [4_096, 0] } as const
/** Read once: most writers are made without options, one for each task. */
const DEFAULTS = readNumbers(DELTA_NUMBERS, {})

/**
 * How much text, and how long, waits after so many characters. Readers that show the whole record pay for all of the
 * text with each event, so events grow rarer with it: their cost stays in proportion to the text, not to its square.
 */
export function patience (written: number, { everyMs, maxChars } = DEFAULTS): { readonly chars: number, readonly ms: number } {
  return { chars: Math.max(maxChars, Math.min(written / 8, MAX_CHARS)), ms: Math.max(everyMs, Math.min(written / 4_096, MAX_DELAY_MS)) }
}

/** Gathers the pieces of a streamed answer, so that the log gets a few larger deltas instead of one for each word. */
export function deltaWriter (context: Pick<TaskContext, 'emit'>, options?: DeltaWriterOptions): DeltaWriter {
  const limits = options === undefined ? DEFAULTS : readNumbers(DELTA_NUMBERS, options)
  let waiting = ''
  let chars = 0
  let timer: NodeJS.Timeout | undefined
  let written: Promise<unknown> = Promise.resolve()
  let failure: { error: unknown } | undefined

  async function flush (): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (waiting !== '') {
      const delta = waiting
      waiting = ''
      chars += delta.length
      written = context.emit({ delta }).catch((error: unknown) => { failure ??= { error } })
    }
    await written
    if (failure !== undefined) throw failure.error
  }

  return {
    flush,
    async write (text) {
      if (failure !== undefined) throw failure.error
      let rest = text
      for (; rest.length > MAX_DELTA_CHARS; rest = rest.slice(MAX_DELTA_CHARS)) {
        waiting += rest.slice(0, MAX_DELTA_CHARS)
        await flush()
      }
      waiting += rest
      const most = patience(chars, limits)
      if (waiting.length >= most.chars) await flush()
      // a failure is kept for the next write
      else timer ??= setTimeout(() => { flush().catch(() => {}) }, most.ms)
    }
  }
}
