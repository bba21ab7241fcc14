import { effect, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { pageAddress } from '../requests/own-url.js'
import { TOKEN, token } from '../requests/token.js'
import { focusOn } from '../shared/field.js'
import { Logo } from '../shared/icons.js'
import { loadSettings, problem, settings, vacs } from '../shared/settings.js'
import { forget } from './conversation.js'

/** What the storage of the tab has of this page. */
const KEPT = 'polyvac.'

/**
 * Goes on with a token. With another one the page is loaded again: what it shows, keeps and has received is that of the
 * former caller.
 */
function enter (text: string): void {
  if (text === token.value) {
    loadSettings()
    return
  }
  forget()
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT) && key !== KEY) sessionStorage.removeItem(key)
  token.value = text
  location.reload()
}

/** The field for a bearer token. @param known what it has at first */
export function TokenForm ({ known, isFirst = false }: { readonly known: string, readonly isFirst?: boolean }): JSX.Element {
  const isWrong = useSignal(false)
  return (
    <form
      class='token' onSubmit={event => {
        event.preventDefault()
        enter((event.currentTarget.elements.namedItem('token') as HTMLInputElement).value.trim())
      }}
    >
      <label>Access token
        <input
          name='token' type='password' autocomplete='off' data-testid='token' defaultValue={known} pattern={TOKEN} title={CHARACTERS} {...isFirst && { ref: focusOn }}
          onInput={event => { isWrong.value = event.currentTarget.validity.patternMismatch }}
        />
      </label>
      {isWrong.value && <p class='notice error' role='alert' data-testid='token-problem'>{CHARACTERS}</p>}
      <button class='main' data-testid='token-save'>Continue</button>
      <p class='soft'>Kept until this tab closes; not exported.</p>
    </form>
  )
}

const CHARACTERS = 'A token has only letters from A to Z, digits and marks of ASCII.'

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
      <TokenForm key={problem.value} known='' isFirst />
    </div>
  )
}
