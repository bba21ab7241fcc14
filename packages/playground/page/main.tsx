import { render, type JSX } from 'preact'
import { token } from './requests/token.js'
import { addressOf, route } from './shared/router.js'
import { loadSettings, problem, settings } from './shared/settings.js'
import { Notice } from './shared/ui.js'
import { VIEWS } from './views.js'

function Page (): JSX.Element {
  const view = VIEWS.find(({ id }) => id === route.value.id) ?? VIEWS[0]!
  const { title, readOnly } = settings.value
  return (
    <>
      <header>
        <h1>{title}</h1>
        {readOnly && <span class='badge' data-testid='read-only'>read only</span>}
        <nav aria-label='Views'>
          {VIEWS.map(({ id, title }) => (
            <a key={id} href={addressOf(id)} data-testid={`nav-${id}`} aria-current={id === view.id ? 'page' : undefined}>{title}</a>
          ))}
        </nav>
        <Access />
      </header>
      <main data-testid={`view-${view.id}`}>
        {problem.value !== '' && <Notice kind='error' testId='problem'>{problem}</Notice>}
        <view.component key={view.id} />
      </main>
    </>
  )
}

/** The bearer token, for services that want one. */
function Access (): JSX.Element {
  return (
    <details class='access' data-testid='access'>
      <summary>Access</summary>
      <form onSubmit={event => {
        event.preventDefault()
        token.value = (event.currentTarget.elements.namedItem('token') as HTMLInputElement).value.trim()
        loadSettings()
      }}
      >
        <label>Bearer token <input name='token' type='password' autocomplete='off' data-testid='token' defaultValue={token.value} /></label>
        <button data-testid='token-save'>Use</button>
        <p>Kept until this tab closes; not exported.</p>
      </form>
    </details>
  )
}

render(<Page />, document.getElementById('page')!)
loadSettings()
