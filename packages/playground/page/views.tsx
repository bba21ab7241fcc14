import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Chat } from './chat/chat.js'
import { loadPart } from './shared/load-part.js'
import { Notice } from './shared/ui.js'

export interface View {
  /** The first part of the address: `#/<id>/…`. */
  readonly id: string
  readonly title: string
  readonly component: FunctionComponent
}

type Inspector = typeof import('./inspector.js')
const inspector = signal<Inspector | undefined>(undefined)
const failure = signal('')

/** The views, in the order of the navigation. */
export const VIEWS: readonly View[] = [{ id: 'chat', title: 'Chat', component: Chat }, ...(['Compare', 'Timeline', 'Inbox', 'Tools', 'Cards', 'Raw'] as const).map(inspecting)]

/** A view that is loaded, with the others of the inspector, when one of them is opened. */
function inspecting (title: keyof Inspector): View {
  const component = () => {
    useEffect(() => { load() }, [])
    const Loaded = inspector.value?.[title]
    if (Loaded !== undefined) return <Loaded />
    return failure.value === '' ? null : <Notice kind='error' testId='view-problem'>{failure}</Notice>
  }
  return { id: title.toLowerCase(), title, component }
}

async function load (): Promise<void> {
  try {
    inspector.value ??= await loadPart(async () => await import('./inspector.js'))
  } catch (err) {
    failure.value = (err as Error).message
  }
}
