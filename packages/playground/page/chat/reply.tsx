import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Json } from '../shared/ui.js'
import type { Answer, Approval } from './answer.js'
import { ask, isAsking } from './conversation.js'

/** What answers the agent's question in place: buttons for an approval or choices, otherwise a field. */
export function Reply ({ answer }: { readonly answer: Answer }): JSX.Element | null {
  const { vac, protocol = 'direct', input, approval, choices = [], state } = answer
  const isWaiting = input !== undefined && state !== 'asking'
  if (!isWaiting && approval === undefined) return null
  const reply = (text: string, fields?: object): void => { ask(vac, protocol, text, { reply: input, fields: { ...fields } }) }
  if (approval !== undefined) {
    return <Allow approval={approval} isWaiting={isWaiting} onAnswer={approved => { reply(approved ? 'yes' : 'no', { approval: { id: approval.id, approved } }) }} />
  }
  return (
    <form
      class='reply' data-testid='chat-input-required' onSubmit={event => {
        event.preventDefault()
        reply((event.currentTarget.elements.namedItem('reply') as HTMLInputElement).value)
      }}
    >
      {choices.length > 0 && <div class='choices'>{choices.map(choice => <button type='button' key={choice} data-testid='chat-choice' disabled={isAsking} onClick={() => { reply(choice) }}>{choice}</button>)}</div>}
      <div class='line'>
        <input name='reply' dir='auto' required aria-label='Your reply' placeholder='Your reply' autocomplete='off' data-testid='chat-reply' />
        <button class='main' data-testid='chat-reply-send' disabled={isAsking}>Reply</button>
      </div>
    </form>
  )
}

interface AllowProps { readonly approval: Approval, readonly isWaiting: boolean, readonly onAnswer: (approved: boolean) => void }

/** The call of a tool, with all that it is called with, and the two answers. */
function Allow ({ approval: { tool, server, input, expires_at: expires }, isWaiting, onAnswer }: AllowProps): JSX.Element {
  const hasExpired = useSignal(false)
  useEffect(() => {
    if (expires === undefined) return
    // a timer takes no longer time than 24.8 days
    const timer = setTimeout(() => { hasExpired.value = true }, Math.min(2 ** 31 - 1, Math.max(0, Date.parse(expires) - Date.now())))
    return () => clearTimeout(timer)
  }, [expires])
  const isOff = isAsking.value || hasExpired.value
  return (
    <section class='allow' aria-label='Approval' data-testid='chat-approval' data-state={!isWaiting ? 'answered' : hasExpired.value ? 'expired' : 'waiting'}>
      <p>The agent {isWaiting ? 'wants' : 'wanted'} to call <b>{tool}</b>{server !== undefined && <> of <b>{server}</b></>} with:</p>
      <Json testId='chat-approval-input' label={`Input of ${tool}`} value={input ?? {}} />
      {isWaiting && (
        <div class='line'>
          <button type='button' class='main' data-testid='chat-approve' disabled={isOff} onClick={() => { onAnswer(true) }}>Allow once</button>
          <button type='button' data-testid='chat-decline' disabled={isOff} onClick={() => { onAnswer(false) }}>Decline</button>
          <span class='soft'>{hasExpired.value ? 'The question has expired: ask again.' : expires === undefined ? '' : `until ${new Date(expires).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`}</span>
        </div>
      )}
    </section>
  )
}
