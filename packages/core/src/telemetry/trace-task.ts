import { openTelemetry } from './open-telemetry.js'
import { RUN_TASK, SKILL, TASK_ATTEMPT } from './names.js'
import { startSpan, traceParent } from './spans.js'
import { fieldsOf, isSampled, type TraceParent } from './trace-parent.js'

/** What the record of a task keeps for its runs; callers do not see it. */
export type TraceLinks = Readonly<Record<'trace', readonly TraceParent[]>>

/**
 * The trace of the request that creates a task, and those that metadata of the caller name, of the message or request.
 * Without those that a sampler has dropped: most tasks then store nothing.
 */
export function traceLinks (...metadata: readonly unknown[]): TraceLinks | undefined {
  if (openTelemetry() === undefined) return undefined
  const own = traceParent()
  if (own === undefined) return undefined
  const trace = [own, ...metadata.map(fieldsOf)].filter((fields): fields is TraceParent => fields !== undefined && isSampled(fields))
  return trace.length === 0 ? undefined : { trace }
}

interface TracedTask {
  readonly skill: string
  readonly attempt: number
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * Runs a task in a separate trace, with links to the requests that caused it: another replica may run it, long after
 * them. `run` calls `failed` with the error that the task ends with.
 */
export async function traceTask<T> ({ skill, attempt, metadata }: TracedTask, run: (failed: (err: unknown) => void) => Promise<T>): Promise<T> {
  const span = openTelemetry() === undefined
    ? undefined
    : startSpan(RUN_TASK, {
      kind: 'CONSUMER',
      root: true,
      linked: Array.isArray(metadata.trace) ? metadata.trace : [],
      attributes: { [SKILL]: skill, [TASK_ATTEMPT]: attempt }
    })
  if (span === undefined) return await run(() => {})
  try {
    return await span.run(() => run(err => { span.end(err) }))
  } catch (err) {
    span.end(err ?? '_OTHER')
    throw err
  } finally {
    span.end()
  }
}
