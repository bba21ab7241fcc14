import { isAnswer, isStep, type Answer, type Chunk, type Progress, type Step } from '@polyvac/core'
import { beginning, joinSteps, readEach, type PlacedCall } from '@polyvac/core/plugin'
import { deltaWriter, stepWriter, type DeltaWriter, type StepWriter, type TaskContext } from '@polyvac/tasks'
import { ProgressWriter } from './progress-writer.js'
import type { Run } from './run.js'
import { shownSteps } from './vac-call.js'

/** Characters of a progress message, which each status until the next one repeats. */
export const MAX_PROGRESS_CHARS = 4_096

/** Ends a task with its answer. What `writer` holds comes before: flush it first. Resolves to the state. */
export type EndAnswer = (answer: Answer, writer: AnswerWriter) => Promise<string>

/** Writes a stream into the log of its task; `end` writes the end. */
export async function streamAnswer (run: Run, call: PlacedCall, end: EndAnswer): Promise<string> {
  const { skill, task, context, record, turn } = run
  const streamed: PlacedCall = { ...call, streamedOnly: true }
  const writer = new AnswerWriter(context, task.progress)
  try {
    const answer = await writeStream(skill.vac.stream(streamed), writer, { record, turn, showsSteps: shownSteps(task) !== undefined })
    return answer === undefined ? 'ended' : await end(turn.withHistory(answer), writer)
  } finally {
    writer.end()
  }
}

/** Writes what comes before the Answer, and resolves to that. */
export async function writeStream (chunks: AsyncIterable<Chunk>, writer: AnswerWriter,
  { record, turn, showsSteps }: Pick<Run, 'record' | 'turn'> & { readonly showsSteps: boolean }): Promise<Answer | undefined> {
  let answer = undefined as Answer | undefined
  await readEach(chunks, chunk => {
    record.chunk(chunk)
    if (typeof chunk === 'string') turn.say(chunk)
    else if (isAnswer(chunk)) {
      answer = chunk
      return false
    } else if (isStep(chunk)) {
      turn.add(chunk)
      if (!showsSteps) return true
    }
    return writer.write(chunk)?.then(() => true) ?? true
  })
  return answer
}

/** Writes what an answer streams into the log of its task: text, steps, and progress that only grows. */
export class AnswerWriter {
  /** Characters that the interpreter has streamed. */
  chars = 0
  readonly #text: DeltaWriter
  readonly #reports: ProgressWriter
  readonly #context: Pick<TaskContext, 'emit'>
  /** Made at the first step. */
  #steps: StepWriter<Step> | undefined
  #reached: number

  /** @param reached the progress of the task, from 0 to 1 */
  constructor (context: Pick<TaskContext, 'emit'>, reached: number) {
    this.#text = deltaWriter(context)
    this.#context = context
    this.#reports = new ProgressWriter(context)
    this.#reached = reached
  }

  /** Writes a chunk. Await it (back-pressure). Undefined where there is nothing to wait for. */
  write (chunk: string | Progress | Step): Promise<void> | undefined {
    if (typeof chunk === 'string') {
      this.chars += chunk.length
      return this.add(chunk)
    }
    if (!('progress' in chunk)) {
      this.#steps ??= stepWriter(this.#context, joinSteps, async () => { await this.#text.flush() })
      return this.#steps.write(chunk)
    }
    const { progress, message } = chunk
    if (progress <= this.#reached && message === undefined) return undefined
    this.#reached = Math.min(1, Math.max(this.#reached, progress))
    return this.#reports.write({ progress: this.#reached, progressMessage: message && beginning(message, MAX_PROGRESS_CHARS) })
  }

  /** Adds text that the interpreter has not streamed. */
  add (text: string): Promise<void> | undefined {
    return this.#steps?.isWaiting === true ? this.#steps.flush().then(() => this.#text.write(text)) : this.#text.write(text)
  }

  /** Writes what waits: call it before the event that ends the task. */
  async flush (): Promise<void> {
    if (this.#steps?.isWaiting === true) await this.#steps.flush()
    await Promise.all([this.#text.flush(), this.#reports.flush()])
  }

  /** Forgets the progress that waits. */
  end (): void { this.#reports.end() }
}
