import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { followTask, getTask, hasEnded, shortState, textOf, type Task } from '../protocols/a2a-tasks.js'
import { exchanges } from '../requests/exchange.js'
import { addressOf, route } from '../shared/router.js'
import { settings } from '../shared/settings.js'
import { bytes, count, duration, Notice, VirtualList } from '../shared/ui.js'
import { barsOf, eventsOf, LANES, spanOf, zoomed, type Lane, type Range, type TimelineEvent } from './timeline-events.js'
import { READS_AFTER_END, watchDeliveries, type Deliveries } from './watch-deliveries.js'

const COLUMNS = 240
const ROW_HEIGHT = 28
/** A stream that a proxy cut is opened again so often, with pauses that grow to this time in ms. */
const MAX_ATTEMPTS = 10
const MAX_PAUSE_MS = 10_000

export function Timeline (): JSX.Element {
  const filter = useSignal('')
  const hidden = useSignal<readonly Lane[]>([])
  const zoom = useSignal<Range | undefined>(undefined)
  const session = exchanges.value
  const deliveries = useSignal<readonly TimelineEvent[]>([])
  const all = useMemo(() => eventsOf(session, deliveries.value), [session, deliveries.value])
  const now = Date.now()
  const span = spanOf(all, now)
  const range = zoom.value ?? span
  const words = filter.value.toLowerCase()
  const shown = useMemo(() => all.filter(({ lane, label, start, end = Infinity }) =>
    !hidden.value.includes(lane) && end >= range.from && start <= range.to && label.toLowerCase().includes(words)
  ), [all, hidden.value, range.from, range.to, words])
  const [taskId = ''] = route.value.path
  const step = (by: Parameters<typeof zoomed>[1]): void => { zoom.value = zoomed(range, by, span) }
  return (
    <div data-testid='timeline' data-state={shown.length === 0 ? 'empty' : 'events'}>
      <form
        class='row' onSubmit={event => {
          event.preventDefault()
          location.hash = addressOf('timeline', [(event.currentTarget.elements.namedItem('task') as HTMLInputElement).value.trim()])
        }}
      >
        <label>Task of any tab or replica <input name='task' data-testid='task-id' placeholder='task id' defaultValue={taskId} key={taskId} /></label>
        <button data-testid='task-open'>Open the task</button>
      </form>
      {taskId !== '' && <TaskCard key={taskId} id={taskId} onDeliveries={list => { deliveries.value = list }} />}
      <div class='row'>
        <label>Filter <input type='search' data-testid='timeline-filter' value={filter} onInput={event => { filter.value = event.currentTarget.value }} /></label>
        {LANES.map((lane, y) => (
          <label class='line' key={lane}>
            <input
              type='checkbox' data-testid={`lane-${lane.replace(' ', '-')}`} checked={!hidden.value.includes(lane)}
              onChange={() => { hidden.value = hidden.value.includes(lane) ? hidden.value.filter(other => other !== lane) : [...hidden.value, lane] }}
            />
            <svg class='swatch' aria-hidden='true'><rect class={`lane-${y}`} width='12' height='12' /></svg>{lane}
          </label>
        ))}
      </div>
      <div class='row' role='group' aria-label='Zoom'>
        <button type='button' data-testid='zoom-in' onClick={() => step('in')}>Zoom in</button>
        <button type='button' data-testid='zoom-out' onClick={() => step('out')}>Zoom out</button>
        <button type='button' data-testid='zoom-earlier' onClick={() => step('earlier')}>Earlier</button>
        <button type='button' data-testid='zoom-later' onClick={() => step('later')}>Later</button>
        <button type='button' data-testid='zoom-all' onClick={() => { zoom.value = undefined }}>All</button>
        <span class='soft' data-testid='zoom-length'>{duration(range.to - range.from)}</span>
      </div>
      <svg class='lanes' viewBox={`0 0 ${COLUMNS} ${LANES.length * 6}`} preserveAspectRatio='none' role='img' aria-label={`${shown.length} events in ${LANES.length} lanes`} data-testid='lanes'>
        {LANES.map((lane, y) => barsOf(shown, lane, range, COLUMNS, now).map(({ x, width }) => <rect key={`${lane} ${x}`} class={`lane-${y}`} x={x} y={y * 6 + 1} width={width} height={4} />))}
      </svg>
      <div class='axis soft' data-testid='time-axis'>{[0, 0.5, 1].map(part => <span key={part}>{new Date(range.from + (range.to - range.from) * part).toLocaleTimeString()}</span>)}</div>
      <p data-testid='timeline-count'>{shown.length} of {count(all.length, 'event')}</p>
      <VirtualList items={shown} rowHeight={ROW_HEIGHT} height={ROW_HEIGHT * 16} label='Events' testId='timeline-events' row={(event, i) => <EventRow key={i} event={event} range={range} now={now} />} />
    </div>
  )
}

function EventRow ({ event: { lane, start, end, label, isFrame }, range, now }: { readonly event: TimelineEvent, readonly range: Range, readonly now: number }): JSX.Element {
  const at = (time: number): number => Math.min(100, Math.max(0, (time - range.from) / (range.to - range.from) * 100))
  const x = at(start)
  return (
    <div class='event' data-testid='timeline-event' data-state={isFrame ? 'frame' : end === undefined ? 'open' : 'ended'}>
      <span class='soft'>{lane}</span>
      <span class='text'>{label}</span>
      <span class='soft'>{isFrame ? `+${duration(start - range.from)}` : duration(end === undefined ? undefined : end - start)}</span>
      <svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'><rect class={`lane-${LANES.indexOf(lane)}`} x={Math.min(99.5, x)} y='1' height='8' width={Math.max(0.5, at(end ?? now) - x)} /></svg>
    </div>
  )
}

/** One task, followed to its end, and what is sent to its webhooks. */
function TaskCard ({ id, onDeliveries }: { readonly id: string, readonly onDeliveries: (list: readonly TimelineEvent[]) => void }): JSX.Element {
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
  // before the settings arrive, the page knows no route at all
  if (routes.a2a === null && routes.vac !== null) return <Notice kind='warning' testId='task-problem'>This service has no tasks: it has no A2A agent.</Notice>
  const answer = (task.value?.artifacts ?? []).map(({ parts }) => textOf(parts)).join('\n') || textOf(task.value?.status.message?.parts)
  return (
    <section class='card' aria-label={`Task ${id}`} aria-live='polite' data-testid='task' data-state={task.value === undefined ? (problem.value === '' ? 'loading' : 'failed') : shortState(state.value)}>
      <h2>Task {id}</h2>
      {problem.value !== '' && <Notice kind='error' testId='task-problem'>{problem}</Notice>}
      {task.value !== undefined && <p>{shortState(state.value)}{answer === '' ? '' : `, ${bytes(answer.length)} of text`}</p>}
      {answer !== '' && <pre tabIndex={0} role='region' aria-label='Text of the task' data-testid='task-text'>{answer}</pre>}
      {webhooks.value.length > 0 && <p data-testid='task-webhooks'>Webhooks: {webhooks.value.join(', ')}</p>}
    </section>
  )
}
