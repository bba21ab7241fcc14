import type { ConversationHead } from '@polyvac/client'
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { focusOn } from '../shared/field.js'
import { IconButton } from '../shared/icons.js'
import { settings } from '../shared/settings.js'
import { answers, isAsking, isFree, openConversation } from './conversation.js'
import { changeStored, storedWith } from './stored.js'

interface StoredHeadProps { readonly vac: string, readonly head: ConversationHead, readonly isOpen: boolean, readonly onOpen: () => void }

/** A conversation of the list; the one that is open can be renamed and deleted. */
export function StoredHead ({ vac, head: { id, title, turn_count: turns }, isOpen, onOpen }: StoredHeadProps): JSX.Element {
  const mode = useSignal<'shown' | 'renamed' | 'deleted'>('shown')
  const rename = (name: string): void => {
    mode.value = 'shown'
    if (name !== '' && name !== title) changeStored(vac, async () => { await storedWith(vac, `rename conversation ${id}`).rename(id, name) })
  }
  const remove = async (): Promise<void> => {
    mode.value = 'shown'
    const isDeleted = await changeStored(vac, async () => { await storedWith(vac, `delete conversation ${id}`).delete(id) })
    if (isDeleted) answers.value = answers.value.filter(answer => answer.conversation !== id)
  }
  if (mode.value === 'renamed') {
    return (
      <li data-testid='stored-conversation'>
        <form class='rename' onSubmit={event => { event.preventDefault(); rename((event.currentTarget.elements.namedItem('title') as HTMLInputElement).value.trim()) }}>
          <input
            name='title' dir='auto' aria-label='Title of the conversation' autocomplete='off' maxLength={256} data-testid='stored-title' defaultValue={title} ref={focusOn}
            onKeyDown={event => {
              if (event.key !== 'Escape') return
              event.stopPropagation()
              mode.value = 'shown'
            }}
          />
          <button hidden>Rename</button>
        </form>
      </li>
    )
  }
  if (mode.value === 'deleted') {
    return (
      <li class='confirm' data-testid='stored-conversation'>
        <p>Delete it with {turns === 1 ? 'its turn' : `its ${turns} turns`}?</p>
        <div class='line'>
          <button type='button' class='danger' data-testid='stored-delete-yes' ref={focusOn} onClick={() => { remove() }}>Delete</button>
          <button type='button' data-testid='stored-delete-no' onClick={() => { mode.value = 'shown' }}>Keep</button>
        </div>
      </li>
    )
  }
  return (
    <li data-testid='stored-conversation' aria-current={isOpen ? 'true' : undefined}>
      <button
        type='button' class='title' dir='auto' title={title} data-testid='stored-open' aria-current={isOpen ? 'true' : undefined} disabled={!isFree.value}
        onClick={() => {
          onOpen()
          openConversation(vac, id)
        }}
      >
        {title}
      </button>
      {isOpen && !settings.value.readOnly && (
        <>
          <IconButton icon='edit' label='Rename' testId='stored-rename' disabled={isAsking.value} onClick={() => { mode.value = 'renamed' }} />
          <IconButton icon='trash' label='Delete' testId='stored-delete' disabled={isAsking.value} onClick={() => { mode.value = 'deleted' }} />
        </>
      )}
    </li>
  )
}
