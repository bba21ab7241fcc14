import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { token } from '../requests/token.js'
import { Icon, IconButton, Logo } from '../shared/icons.js'
import { settings } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { answers, isFree, leave } from './conversation.js'
import { SchemeSwitch } from './scheme.js'
import { TokenForm } from './sign-in.js'
import { readAll, readMore, stored } from './stored.js'
import { StoredHead } from './stored-head.js'

/** Whether the list is shown on a narrow screen, where it covers the chat. */
export const isListOpen = signal(false)
const searched = signal('')

/** The name of the service, the conversations that it keeps, and access. */
export function SideList (): JSX.Element {
  const { title, readOnly } = settings.value
  const wasOpen = useRef(false)
  useEffect(() => {
    if (isListOpen.value !== wasOpen.current) document.querySelector<HTMLElement>(`[data-testid=menu${isListOpen.value ? '-close' : ''}]`)?.focus()
    wasOpen.current = isListOpen.value
  }, [isListOpen.value])
  return (
    <aside class='side' data-open={isListOpen.value} aria-label='Conversations'>
      <div class='side-head'>
        <Logo /><b>{title}</b>
        <span class='only-narrow'><IconButton icon='close' label='Close the list' testId='menu-close' onClick={() => { isListOpen.value = false }} /></span>
      </div>
      <button
        type='button' class='new' data-testid='chat-clear' disabled={!isFree.value} onClick={() => {
          leave()
          isListOpen.value = false
        }}
      >
        <Icon name='new' /> New conversation
      </button>
      <StoredList />
      <div class='side-foot'>
        {readOnly && <span class='badge' data-testid='read-only'>read only</span>}
        <details class='access' data-testid='access'>
          <summary><Icon name='key' /> Access</summary>
          <TokenForm known={token.value} />
        </details>
        <SchemeSwitch />
      </div>
    </aside>
  )
}

/** The conversations that the service keeps; where it lists none, why. */
function StoredList (): JSX.Element {
  const { vac, heads, cursor, problem } = stored.value
  if (heads === undefined) return <div class='stored'>{problem !== undefined && <p class='soft' data-testid='stored-absent'>Conversations are not listed: {problem}</p>}</div>
  const open = answers.value.findLast(answer => answer.vac === vac)?.conversation
  const words = searched.value.toLowerCase().split(/\s+/)
  const found = heads.filter(({ title }) => words.every(word => title.toLowerCase().includes(word)))
  return (
    <div class='stored' data-testid='stored'>
      {problem !== undefined && <Notice kind='error' testId='stored-problem'>{problem}</Notice>}
      {heads.length > 0 && (
        <label class='search'>
          <Icon name='search' />
          <input
            type='search' placeholder='Search' aria-label='Search conversations' data-testid='stored-search' value={searched}
            onInput={event => {
              searched.value = event.currentTarget.value
              if (searched.value !== '') readAll(stored.value)
            }}
          />
        </label>
      )}
      {found.length === 0 && <p class='soft' role='status'>{heads.length === 0 ? 'No conversation yet.' : 'No title has these words.'}</p>}
      <ul class='heads'>{found.map(head => <StoredHead key={head.id} vac={vac} head={head} isOpen={head.id === open} onOpen={() => { isListOpen.value = false }} />)}</ul>
      {cursor !== undefined && searched.value === '' && <button type='button' data-testid='stored-more' onClick={() => { readMore(stored.value) }}>More</button>}
    </div>
  )
}
