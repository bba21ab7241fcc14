import type { JSX } from 'preact'
import { addressOf } from './router.js'

/** The views of the inspector, in the order of the navigation. */
export const VIEWS = (['Compare', 'Timeline', 'Inbox', 'Tools', 'Cards', 'Raw'] as const).map(title => ({ id: title.toLowerCase(), title }))
export type View = typeof VIEWS[number]

export function Views ({ current }: { readonly current: string }): JSX.Element {
  return (
    <nav aria-label='Views'>
      {[{ id: 'chat', title: 'Chat' }, ...VIEWS].map(({ id, title }) => <a key={id} href={addressOf(id)} data-testid={`nav-${id}`} aria-current={id === current ? 'page' : undefined}>{title}</a>)}
    </nav>
  )
}
