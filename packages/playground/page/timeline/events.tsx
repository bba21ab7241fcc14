import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { count, duration, VirtualList } from '../shared/ui.js'
import { barsOf, LANES, spanOf, zoomed, type Lane, type Range, type TimelineEvent } from './timeline-events.js'

const COLUMNS = 240
const ROW_HEIGHT = 28

/** Requests of the page, what arrived for them, and deliveries to webhooks, in lanes. */
export function Events ({ all }: { readonly all: readonly TimelineEvent[] }): JSX.Element {
  const filter = useSignal('')
  const hidden = useSignal<readonly Lane[]>([])
  const zoom = useSignal<Range | undefined>(undefined)
  const now = Date.now()
  const span = spanOf(all, now)
  const range = zoom.value ?? span
  const words = filter.value.toLowerCase()
  const shown = useMemo(() => all.filter(({ lane, label, start, end = Infinity }) =>
    !hidden.value.includes(lane) && end >= range.from && start <= range.to && label.toLowerCase().includes(words)
  ), [all, hidden.value, range.from, range.to, words])
  const step = (by: Parameters<typeof zoomed>[1]): void => { zoom.value = zoomed(range, by, span) }
  return (
    <div data-testid='timeline-lanes' data-state={shown.length === 0 ? 'empty' : 'events'}>
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
