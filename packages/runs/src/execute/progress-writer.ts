import type { TaskContext } from '@polyvac/tasks'

/** Progress events that a task may write at once, and how many more a second. */
const MAX_PROGRESS_BURST = 20
const PROGRESS_PER_SECOND = 10

interface Progress { readonly progress: number, readonly progressMessage: string | undefined }

/**
 * Writes the progress of a task. An interpreter may report it a million times: past a bound, the latest report replaces
 * the ones that wait.
 */
export class ProgressWriter {
  readonly #context: Pick<TaskContext, 'emit'>
  #tokens = MAX_PROGRESS_BURST
  #at = performance.now()
  #waiting: Progress | undefined
  #timer: NodeJS.Timeout | undefined

  constructor (context: Pick<TaskContext, 'emit'>) { this.#context = context }

  async write (progress: Progress): Promise<void> {
    const now = performance.now()
    this.#tokens = Math.min(MAX_PROGRESS_BURST, this.#tokens + (now - this.#at) * PROGRESS_PER_SECOND / 1_000)
    this.#at = now
    this.#waiting = progress
    // a failure to write comes again with the next write of the task
    if (this.#tokens < 1) this.#timer ??= setTimeout(() => { this.flush().catch(() => {}) }, 1_000 / PROGRESS_PER_SECOND)
    else await this.flush()
  }

  /** Writes the report that waits. */
  async flush (): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const progress = this.#waiting
    if (progress === undefined) return
    this.#waiting = undefined
    this.#tokens = Math.max(0, this.#tokens - 1)
    await this.#context.emit(progress)
  }

  /** Forgets the report that waits. */
  end (): void { clearTimeout(this.#timer) }
}
