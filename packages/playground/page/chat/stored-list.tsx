import type { ConversationHead } from '@polyvac/client'
import type { JSX } from 'preact'
import { settings } from '../shared/settings.js'
import { Notice } from '../shared/ui.js'
import { answers, isAsking, openConversation } from './conversation.js'
import { changeStored, readMore, stored, storedWith } from './stored.js'

/** On a narrow screen the list is above the chat, and closed. */
const isWide = matchMedia('(min-width: 40.01rem)').matches

/** The conversations that the service keeps; where it lists none, why. */
export function StoredList (): JSX.Element | null {
  const { vac, heads, cursor, problem } = stored.value
  if (heads === undefined) return problem === undefined ? null : <p class='soft' data-testid='stored-absent'>Conversations are not listed: {problem}</p>
  const open = answers.value.findLast(answer => answer.vac === vac)?.conversation
  return (
    <details class='list' data-testid='stored' open={isWide}>
      <summary>Conversations</summary>
      {problem !== undefined && <Notice kind='error' testId='stored-problem'>{problem}</Notice>}
      {heads.length === 0 && <p class='soft'>None yet.</p>}
      <ul class='plain'>{heads.map(head => <Head key={head.id} vac={vac} head={head} isOpen={head.id === open} />)}</ul>
      {cursor !== undefined && <button type='button' data-testid='stored-more' onClick={() => { readMore(stored.value) }}>More</button>}
    </details>
  )
}

function Head ({ vac, head: { id, title, turn_count: turns }, isOpen }: { vac: string, head: ConversationHead, isOpen: boolean }): JSX.Element {
  const rename = (): void => {
    const name = prompt('Title of the conversation', title)?.trim()
    if (name) changeStored(vac, async () => { await storedWith(vac, `rename conversation ${id}`).rename(id, name) })
  }
  const remove = async (): Promise<void> => {
    if (!confirm(`Delete the conversation "${title}"? The service deletes its ${turns} turns.`)) return
    const isDeleted = await changeStored(vac, async () => { await storedWith(vac, `delete conversation ${id}`).delete(id) })
    if (isDeleted) answers.value = answers.value.filter(answer => answer.conversation !== id)
  }
  return (
    <li data-testid='stored-conversation'>
      <button
        type='button' class='title' dir='auto' data-testid='stored-open' aria-current={isOpen ? 'true' : undefined} disabled={isAsking}
        onClick={() => { openConversation(vac, id) }}
      >
        {title}
      </button>
      {isOpen && !settings.value.readOnly && (
        <div class='row'>
          <button type='button' data-testid='stored-rename' disabled={isAsking} onClick={rename}>Rename</button>
          <button type='button' data-testid='stored-delete' disabled={isAsking} onClick={() => { remove() }}>Delete</button>
        </div>
      )}
    </li>
  )
}
