import { effect, signal } from '@preact/signals'

const KEY = 'polyvac.token'

/** The bearer token of the caller, only for this tab. It is sent with each request and kept in no exchange. */
export const token = signal(sessionStorage.getItem(KEY) ?? '')

effect(() => {
  if (token.value === '') sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, token.value)
})
