import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { pageAddress } from '../requests/own-url.js'
import { token } from '../requests/token.js'
import { Logo } from '../shared/icons.js'
import { loadSettings, problem, settings, vacs } from '../shared/settings.js'

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

const KEY = 'polyvac.sign-in'
effect(() => { if (vacs.value.length > 0) sessionStorage.removeItem(KEY) })

/** What a caller without rights sees: the sign-in of the app, where the browser goes once, and a field for a token. */
export function SignIn (): JSX.Element {
  const { title, signIn } = settings.value
  const address = signIn === undefined ? undefined : new URL(signIn, pageAddress()).href
  useEffect(() => {
    // who comes back without a session, or has entered a token, stays here
    if (address === undefined || token.value !== '' || sessionStorage.getItem(KEY) !== null) return
    sessionStorage.setItem(KEY, address)
    location.assign(address)
  }, [])
  return (
    <div class='welcome sign-in' data-testid='sign-in'>
      <Logo />
      <h1>{title}</h1>
      {token.value !== '' && <p class='notice error' role='alert' data-testid='problem'>{problem}</p>}
      {address !== undefined && <a class='main' href={address} data-testid='sign-in-link'>Sign in</a>}
      <TokenForm />
    </div>
  )
}
