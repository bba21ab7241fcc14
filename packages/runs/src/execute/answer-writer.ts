import type { Progress } from '@polyvac/core'
import { beginning } from '@polyvac/core/plugin'
import { deltaWriter, type DeltaWriter, type TaskContext } from '@polyvac/tasks'
import { ProgressWriter } from './progress-writer.js'

/** Characters of a progress message, which each status until the next one repeats. */
export const MAX_PROGRESS_CHARS = 4_096

/** Writes what an answer streams into the log of its task: text, and progress that only grows. */
export class AnswerWriter {
  /** Characters that the interpreter has streamed. */
  chars = 0
  readonly #text: DeltaWriter
  readonly #reports: ProgressWriter
  #reached: number

  /** @param reached the progress of the task, from 0 to 1 */
  constructor (context: Pick<TaskContext, 'emit'>, reached: number) {
    this.#text = deltaWriter(context)
    this.#reports = new ProgressWriter(context)
    this.#reached = reached
  }

  /** Writes a chunk. Await it (back-pressure). */
  write (chunk: string | Progress): Promise<void> {
    if (typeof chunk === 'string') {
      this.chars += chunk.length
      return this.#text.write(chunk)
    }
    const { progress, message } = chunk
    if (progress <= this.#reached && message === undefined) return Promise.resolve()
    this.#reached = Math.min(1, Math.max(this.#reached, progress))
    return this.#reports.write({ progress: this.#reached, progressMessage: message && beginning(message, MAX_PROGRESS_CHARS) })
  }

  /** Adds text that the interpreter has not streamed. */
  add (text: string): Promise<void> { return this.#text.write(text) }

  /** Writes what waits: call it before the event that ends the task. */
  async flush (): Promise<void> {
    await Promise.all([this.#text.flush(), this.#reports.flush()])
  }

  /** Forgets the progress that waits. */
  end (): void { this.#reports.end() }
}
