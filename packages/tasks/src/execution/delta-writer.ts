import { readNumbers } from '../basics/number-options.js'
import type { TaskContext } from '../contract/task-store.js'
import { beginning } from '../basics/text-beginning.js'

export interface DeltaWriterOptions {
  /** Longest wait of the first text, in ms. Default 20: readers do not notice it, and it allows 50 writes a second. */
  readonly everyMs?: number | undefined
  /** Characters that wait at first before they are written at once. Default 4,096. */
  readonly maxChars?: number | undefined
}

export interface DeltaWriter {
  /**
   * Adds text. Await it: when much text waits, it resolves once that is durable (back-pressure), and is undefined
   * otherwise. Rejects as `emit`.
   */
  write (text: string): Promise<void> | undefined
  /** Writes the waiting text. Call it before you emit the end. */
  flush (): Promise<void>
}

/**
 * Most characters of one delta, and of the text that waits: below half of MAX_PARTIAL_CHARS. So a record has more text
 * than its last delta, unless that delta was the first one.
 */
const MAX_DELTA_CHARS = 120 * 1024
/** Longest wait, in ms. */
const MAX_DELAY_MS = 64

/** Default and smallest value of the options. */
export const DELTA_NUMBERS = { everyMs: [20, 0], maxChars: [4_096, 0] } as const
/** Read once: most writers are made without options, one for each task. */
const DEFAULTS = readNumbers(DELTA_NUMBERS, {})

/**
 * How much text waits, and how long, after `written` characters. Readers of whole records read all of the text with
 * each event, so events get rarer as it grows: their cost is linear in the text, not quadratic.
 */
export function patience (written: number, { everyMs, maxChars } = DEFAULTS): { readonly chars: number, readonly ms: number } {
  return { chars: Math.max(maxChars, Math.min(written / 4, MAX_DELTA_CHARS)), ms: Math.max(everyMs, Math.min(written / 4_096, MAX_DELAY_MS)) }
}

/**
 * Joins the pieces of a streamed answer, so that the log gets a few larger deltas instead of one for each word.
 * @example
 * const text = deltaWriter(context)
 * for await (const piece of answer) await text.write(piece)
 * await text.flush()
 */
export function deltaWriter (context: Pick<TaskContext, 'emit'>, options?: DeltaWriterOptions): DeltaWriter {
  const limits = options === undefined ? DEFAULTS : readNumbers(DELTA_NUMBERS, options)
  let waiting = ''
  let chars = 0
  let bounds = patience(chars, limits)
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
      bounds = patience(chars, limits)
      written = context.emit({ delta }).catch((error: unknown) => { failure ??= { error } })
    }
    await written
    if (failure !== undefined) throw failure.error
  }

  async function writeLarge (text: string): Promise<void> {
    let rest = text
    while (rest.length > MAX_DELTA_CHARS) {
      const piece = beginning(rest, MAX_DELTA_CHARS)
      rest = rest.slice(piece.length)
      waiting += piece
      await flush()
    }
    await write(rest)
  }

  // no promise for each piece of a fast stream
  function write (text: string): Promise<void> | undefined {
    if (failure !== undefined) return Promise.reject(failure.error)
    if (text.length > MAX_DELTA_CHARS) return writeLarge(text)
    waiting += text
    if (waiting.length >= bounds.chars) return flush()
    // a failure is kept for the next write
    timer ??= setTimeout(() => { flush().catch(() => {}) }, bounds.ms)
    return undefined
  }

  return { flush, write }
}
