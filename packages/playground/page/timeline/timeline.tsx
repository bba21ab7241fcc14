import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { exchanges } from '../requests/exchange.js'
import { addressOf, route } from '../shared/router.js'
import { isLoaded, vacs } from '../shared/settings.js'
import { Events } from './events.js'
import { TaskCard } from './task-card.js'
import { eventsOf, type TimelineEvent } from './timeline-events.js'
import { AnswerTrace, RunTrace } from './trace-view.js'

/** Whether the requests of the page are shown, also when the view is opened again. */
const showsOwn = signal(false)

/** What the agent did for an answer, or for a run that the service keeps; the requests of the page on demand. */
export function Timeline (): JSX.Element {
  const [id = ''] = route.value.path
  const deliveries = useSignal<readonly TimelineEvent[]>([])
  const session = showsOwn.value ? exchanges.value : NONE
  const events = useMemo(() => eventsOf(session, deliveries.value), [session, deliveries.value])
  return (
    <div data-testid='timeline'>
      <form
        class='row' onSubmit={event => {
          event.preventDefault()
          location.hash = addressOf('timeline', [(event.currentTarget.elements.namedItem('run') as HTMLInputElement).value.trim()])
        }}
      >
        <label>Run or task by its id <input name='run' data-testid='task-id' defaultValue={id} key={id} spellcheck={false} /></label>
        <button data-testid='task-open'>Open</button>
        {id !== '' && <a class='line' href={addressOf('timeline')} data-testid='trace-back'>The open conversation</a>}
      </form>
      {id === '' ? <AnswerTrace /> : <Stored key={id} id={id} onDeliveries={list => { deliveries.value = list }} />}
      <label class='line own-requests'>
        <input type='checkbox' data-testid='own-requests' checked={showsOwn.value} onChange={event => { showsOwn.value = event.currentTarget.checked }} />
        Show the requests of this page
      </label>
      {(showsOwn.value || events.length > 0) && <Events all={events} />}
    </div>
  )
}

const NONE: [] = []

/** A run that the caller may read; where there is none, a task of A2A. */
function Stored ({ id, onDeliveries }: { readonly id: string, readonly onDeliveries: (list: readonly TimelineEvent[]) => void }): JSX.Element {
  const isUnknown = useSignal(false)
  if (!isLoaded.value) return <p class='soft'>Reading the run…</p>
  return vacs.value.length > 0 && !isUnknown.value ? <RunTrace id={id} onUnknown={() => { isUnknown.value = true }} /> : <TaskCard id={id} onDeliveries={onDeliveries} />
}
