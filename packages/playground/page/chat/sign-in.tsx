import type { JSX } from 'preact'
import { token } from '../requests/token.js'
import { Logo } from '../shared/icons.js'
import { loadSettings, problem, settings } from '../shared/settings.js'

/** The field for a bearer token. */
export function TokenForm (): JSX.Element {
  return (
    <form
      class='token' onSubmit={event => {
        event.preventDefault()
        token.value = (event.currentTarget.elements.namedItem('token') as HTMLInputElement).value.trim()
        loadSettings()
      }}
    >
      <label>Access token <input name='token' type='password' autocomplete='off' data-testid='token' defaultValue={token.value} /></label>
      <button class='main' data-testid='token-save'>Continue</button>
      <p class='soft'>Kept until this tab closes; not exported.</p>
    </form>
  )
}

/** What a caller without rights sees: the sign-in of the app, and the field for a token. */
export function SignIn (): JSX.Element {
  const { title, signIn } = settings.value
  return (
    <div class='welcome sign-in' data-testid='sign-in'>
      <Logo />
      <h1>{title}</h1>
      {token.value !== '' && <p class='notice error' role='alert' data-testid='problem'>{problem}</p>}
      {signIn !== undefined && <a class='main' href={signIn} data-testid='sign-in-link'>Sign in</a>}
      <TokenForm />
    </div>
  )
}
