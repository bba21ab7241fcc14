import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { followTask, getTask, hasEnded, shortState, textOf, type Task } from '../protocols/a2a-tasks.js'
import { settings } from '../shared/settings.js'
import { bytes, Notice } from '../shared/ui.js'
import type { TimelineEvent } from './timeline-events.js'
import { READS_AFTER_END, watchDeliveries, type Deliveries } from './watch-deliveries.js'

/** A stream that a proxy cut is opened again so often, with pauses that grow to this time in ms. */
const MAX_ATTEMPTS = 10
const MAX_PAUSE_MS = 10_000

/** One task, followed to its end, and what is sent to its webhooks. */
export function TaskCard ({ id, onDeliveries }: { readonly id: string, readonly onDeliveries: (list: readonly TimelineEvent[]) => void }): JSX.Element {
  const task = useSignal<Task | undefined>(undefined)
  const state = useSignal('loading')
  const webhooks = useSignal<readonly string[]>([])
  const problem = useSignal('')
  const { routes } = settings.value
  useEffect(() => {
    if (routes.a2a === null) return
    const stop = new AbortController()
    const follow = async (): Promise<void> => {
      let pauseMs = 250
      for (let attempt = 0; attempt < MAX_ATTEMPTS && !stop.signal.aborted; attempt++) {
        try {
          task.value = await getTask(id, stop.signal)
          state.value = task.value.status.state
          problem.value = ''
          if (hasEnded(state.value)) return
          for await (const next of followTask(task.value, stop.signal)) {
            task.value = next
            if (next.status.state === state.value) continue
            state.value = next.status.state
            attempt = 0
            pauseMs = 250
          }
          if (hasEnded(state.value)) attempt = MAX_ATTEMPTS - 2
        } catch (err) {
          if (stop.signal.aborted) return
          problem.value = (err as Error).message
          // the service does not know the task
          if (task.value === undefined) return
        }
        if (!hasEnded(state.value)) await new Promise(resolve => setTimeout(resolve, pauseMs))
        pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)
      }
    }
    follow()
    return () => stop.abort()
  }, [id, routes])
  const seen = useMemo<Deliveries>(() => new Map(), [id])
  useEffect(() => () => onDeliveries([]), [id])
  useEffect(() => {
    if (task.value === undefined) return
    const stop = new AbortController()
    watchDeliveries(id, hasEnded(state.value) ? READS_AFTER_END : Infinity, seen, stop.signal, list => {
      webhooks.value = list.map(({ url }) => url)
      onDeliveries([...seen.values()])
    }).catch(() => {})
    return () => stop.abort()
  }, [id, routes, state.value])
  if (routes.a2a === null) return <Notice kind='warning' testId='task-problem'>There is no run with this id that you may read. This service has no tasks: it has no A2A agent.</Notice>
  const answer = (task.value?.artifacts ?? []).map(({ parts }) => textOf(parts)).join('\n') || textOf(task.value?.status.message?.parts)
  return (
    <section class='card' aria-label={`Task ${id}`} aria-live='polite' data-testid='task' data-state={task.value === undefined ? (problem.value === '' ? 'loading' : 'failed') : shortState(state.value)}>
      <h2>Task {id}</h2>
      {problem.value !== '' && <Notice kind='error' testId='task-problem'>{task.value === undefined && 'There is no run with this id that you may read. '}{problem}</Notice>}
      {task.value !== undefined && <p>{shortState(state.value)}{answer === '' ? '' : `, ${bytes(answer.length)} of text`}</p>}
      {answer !== '' && <pre tabIndex={0} role='region' aria-label='Text of the task' data-testid='task-text'>{answer}</pre>}
      {webhooks.value.length > 0 && <p data-testid='task-webhooks'>Webhooks: {webhooks.value.join(', ')}</p>}
    </section>
  )
}
