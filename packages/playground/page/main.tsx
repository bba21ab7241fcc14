import { render, type JSX } from 'preact'
import { Chat } from './chat/chat.js'
import { route } from './shared/router.js'
import { loadSettings } from './shared/settings.js'
import { VIEWS } from './shared/views.js'
import { InspectorFrame, Panel } from './views.js'

function Page (): JSX.Element {
  const view = VIEWS.find(({ id }) => id === route.value.id)
  return view === undefined ? <Chat panel={Panel} /> : <InspectorFrame view={view} />
}

render(<Page />, document.getElementById('page')!)
loadSettings()
