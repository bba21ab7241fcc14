import { effect, signal } from '@preact/signals'

const KEY = 'polyvac.token'

/** What browsers take as the value of a header, as the `pattern` of a field. */
export const TOKEN = '[ -~]*'

/** The bearer token of the caller, only for this tab. It is sent with each request and kept in no exchange. */
export const token = signal(new RegExp(`^${TOKEN}$`).exec(sessionStorage.getItem(KEY) ?? '')?.[0] ?? '')

effect(() => {
  if (token.value === '') sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, token.value)
})
