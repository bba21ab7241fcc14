import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { ownUrl } from './requests/own-url.js'
import { Logo } from './shared/icons.js'
import { loadPart } from './shared/load-part.js'
import { problem, settings } from './shared/settings.js'
import { Notice } from './shared/ui.js'
import { Views, type View } from './shared/views.js'
import type { PanelProps } from './chat/chat.js'

type Inspector = typeof import('./inspector.js')
const inspector = signal<Inspector | undefined>(undefined)
const failure = signal('')

/** The part with the views, once it is loaded. */
function useInspector (): Inspector | undefined {
  useEffect(() => { load() }, [])
  return inspector.value
}

async function load (): Promise<void> {
  try {
    const [part] = await Promise.all([loadPart(async () => await import('./inspector.js')), loadPart(loadStyle)])
    inspector.value ??= part
  } catch (err) {
    failure.value = (err as Error).message
  }
}

let style: Promise<void> | undefined
/** The style sheet of the views, which the chat does not need. */
async function loadStyle (): Promise<void> {
  style ??= new Promise((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = ownUrl('inspector.css').href
    link.onload = () => { resolve() }
    link.onerror = () => {
      style = undefined
      link.remove()
      reject(new Error('no style'))
    }
    document.head.append(link)
  })
  await style
}

/** A view of the inspector, with the way to the others. */
export function InspectorFrame ({ view }: { readonly view: View }): JSX.Element {
  const { title, readOnly } = settings.value
  const Loaded = useInspector()?.[view.title]
  return (
    <div class='inspector'>
      <header>
        <Logo />
        <h1>{title}</h1>
        {readOnly && <span class='badge' data-testid='read-only'>read only</span>}
        <Views current={view.id} />
      </header>
      <main data-testid={`view-${view.id}`}>
        {problem.value !== '' && <Notice kind='error' testId='problem'>{problem}</Notice>}
        {Loaded !== undefined ? <Loaded key={view.id} /> : failure.value !== '' && <Notice kind='error' testId='view-problem'>{failure}</Notice>}
      </main>
    </div>
  )
}

/** The panel next to the chat. */
export function Panel (props: PanelProps): JSX.Element {
  const Loaded = useInspector()?.Panel
  return Loaded !== undefined
    ? <Loaded {...props} />
    : <aside class='panel'>{failure.value !== '' && <Notice kind='error' testId='view-problem'>{failure}</Notice>}</aside>
}
