import type { FunctionComponent } from 'preact'
import { Cards } from './cards.js'
import { Chat } from './chat.js'
import { Compare } from './compare.js'
import { Inbox } from './inbox.js'
import { Raw } from './raw.js'
import { Timeline } from './timeline.js'
import { Tools } from './tools.js'

export interface View {
  /** The first part of the address: `#/<id>/…`. */
  readonly id: string
  readonly title: string
  readonly component: FunctionComponent
}

/** The views, in the order of the navigation. */
export const VIEWS: readonly View[] = [
  { id: 'chat', title: 'Chat', component: Chat },
  { id: 'compare', title: 'Compare', component: Compare },
  { id: 'timeline', title: 'Timeline', component: Timeline },
  { id: 'inbox', title: 'Inbox', component: Inbox },
  { id: 'tools', title: 'Tools', component: Tools },
  { id: 'cards', title: 'Cards', component: Cards },
  { id: 'raw', title: 'Raw', component: Raw }
]
