import { effect, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Icon } from '../shared/icons.js'

const KEY = 'polyvac.scheme'
const SCHEMES = ['system', 'light', 'dark'] as const

/** The colour scheme that the reader chose in this browser. */
const scheme = signal(SCHEMES.find(name => name === localStorage.getItem(KEY)) ?? 'system')

effect(() => {
  if (scheme.value === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, scheme.value)
  document.documentElement.dataset.scheme = scheme.value
})

export function SchemeSwitch (): JSX.Element {
  return (
    <fieldset class='scheme' data-testid='scheme'>
      <legend class='hidden'>Colours</legend>
      {SCHEMES.map(name => (
        <label key={name} title={`Colours: ${name}`}>
          <input type='radio' name='scheme' class='hidden' aria-label={name} data-testid={`scheme-${name}`} checked={scheme.value === name} onChange={() => { scheme.value = name }} />
          <Icon name={name} />
        </label>
      ))}
    </fieldset>
  )
}
