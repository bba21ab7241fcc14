import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { PROTOCOLS } from '../protocols/protocols.js'
import { addressOf, route } from '../shared/router.js'
import { settings, vacs } from '../shared/settings.js'
import { bytes, duration, Notice } from '../shared/ui.js'
import { compare, compared, differenceOf, stopComparing, type Compared } from './comparison.js'

export function Compare (): JSX.Element {
  const offered = PROTOCOLS.filter(protocol => settings.value.routes[protocol.route] !== null)
  const left = useSignal<readonly string[]>([])
  const all = compared.value
  const isAsking = all.some(({ state }) => state === 'waiting' || state === 'asking')
  const chosen = offered.map(({ id }) => id).filter(id => !left.value.includes(id))
  return (
    <div data-testid='compare' data-state={isAsking ? 'asking' : all.length === 0 ? 'empty' : 'done'}>
      <form onSubmit={event => {
        event.preventDefault()
        const field = (name: string): string => (event.currentTarget.elements.namedItem(name) as HTMLTextAreaElement).value.trim()
        if (!isAsking) compare(field('vac'), field('question'), chosen)
      }}
      >
        <div class='row'>
          <label>VAC
            <select name='vac' data-testid='compare-vac'>
              {vacs.value.map(({ name, display_name: title }) => <option key={name} value={name} selected={name === route.value.path[0]}>{title ?? name}</option>)}
            </select>
          </label>
          {offered.map(({ id, title }) => (
            <label class='line' key={id}>
              <input
                type='checkbox' data-testid={`compare-with-${id}`} checked={!left.value.includes(id)}
                onChange={() => { left.value = left.value.includes(id) ? left.value.filter(other => other !== id) : [...left.value, id] }}
              />
              {title}
            </label>
          ))}
        </div>
        <label class='wide'>Question <textarea name='question' rows={2} dir='auto' required data-testid='compare-question' defaultValue={route.value.query.get('question') ?? ''} /></label>
        <div class='row'>
          <button class='main' data-testid='compare-send' disabled={isAsking || chosen.length === 0 || vacs.value.length === 0}>Compare</button>
          <button type='button' data-testid='compare-stop' disabled={!isAsking} onClick={() => { stopComparing() }}>Stop</button>
        </div>
      </form>
      <div class='columns' aria-live='polite'>{all.map(one => <Column key={one.id} one={one} all={all} />)}</div>
      {all.length > 0 && <p class='soft'>The page asks one protocol after another. Bytes are of the body, before compression.</p>}
    </div>
  )
}

function Column ({ one, all }: { readonly one: Compared, readonly all: readonly Compared[] }): JSX.Element {
  const { id, title, state, text, problem, sent } = one
  const difference = differenceOf(one, all)
  const { firstByteAt, endedAt, received } = sent?.exchange ?? {}
  const figures = [
    ['First byte', duration(firstByteAt)], ['Total', duration(endedAt)], ['Frames', received?.frames ?? '–'], ['Bytes', received === undefined ? '–' : bytes(received.bytes)]
  ]
  return (
    <section class='card' aria-label={title} data-testid={`compared-${id}`} data-state={state}>
      <h2>{title} <span class='badge'>{state}</span></h2>
      <dl data-testid={`figures-${id}`}>{figures.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {difference !== undefined && difference !== 'first' && (
        <Notice kind={difference === 'identical' ? 'ok' : 'warning'} testId={`difference-${id}`}>
          {difference === 'identical' ? 'The text is identical.' : `The text differs from ${difference.title} from character ${difference.at + 1} on.`}
        </Notice>
      )}
      {problem !== undefined && <Notice kind='error' testId={`compare-problem-${id}`}>{problem}</Notice>}
      <pre class='json' dir='auto' tabIndex={0} role='region' aria-label={`Text over ${title}`}>{text}</pre>
      {sent !== undefined && <a href={addressOf('raw', [sent.exchange.id])} data-testid={`compare-raw-${id}`}>Frames over {title}</a>}
    </section>
  )
}
