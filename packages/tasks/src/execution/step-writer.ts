import type { TaskContext } from '../contract/task-store.js'

/** Longest wait of a step that may be joined with the next one, in ms. */
const JOIN_MS = 100

export interface StepWriter<Step> {
  /** Adds a step. Await it: it resolves once the steps before it are durable. Rejects as `emit`. */
  write (step: Step): Promise<void>
  /** Writes the step that waits. Call it before you emit what comes after it. */
  flush (): Promise<void>
  /** Whether a step waits, or is on its way. */
  readonly isWaiting: boolean
}

/**
 * Writes the steps of a run into the log, one event for each.
 * @param join the two as one step, such as pieces of text; undefined where they stay two
 * @param before writes what came before a step
 */
export function stepWriter<Step> (context: Pick<TaskContext, 'emit'>, join: (last: Step, next: Step) => Step | undefined,
  before: () => Promise<void> = async () => {}): StepWriter<Step> {
  let waiting: Step | undefined
  let timer: NodeJS.Timeout | undefined
  let pending = 0
  let written: Promise<unknown> = Promise.resolve()
  let failure: { error: unknown } | undefined

  function send (): void {
    clearTimeout(timer)
    timer = undefined
    const step = waiting
    if (step === undefined) return
    waiting = undefined
    pending++
    written = written.then(async () => {
      await before()
      await context.emit({ step })
    }).catch((error: unknown) => { failure ??= { error } }).finally(() => { pending-- })
  }

  async function settled (): Promise<void> {
    await written
    if (failure !== undefined) throw failure.error
  }

  return {
    get isWaiting () { return waiting !== undefined || pending > 0 },
    async flush () {
      send()
      await settled()
    },
    async write (step) {
      const joined = waiting === undefined ? undefined : join(waiting, step)
      if (joined === undefined) send()
      waiting = joined ?? step
      // a step that nothing joins is written at once
      if (join(step, step) === undefined) send()
      else timer ??= setTimeout(send, JOIN_MS)
      await settled()
    }
  }
}
