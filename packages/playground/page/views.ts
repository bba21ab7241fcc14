import type { FunctionComponent } from 'preact'
import { Cards } from './cards/cards.js'
import { Chat } from './chat/chat.js'
import { Compare } from './compare/compare.js'
import { Inbox } from './inbox/inbox.js'
import { Raw } from './raw/raw.js'
import { Timeline } from './timeline/timeline.js'
import { Tools } from './tools/tools.js'

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
