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
    return <ToolCall approval={approval} isWaiting={isWaiting} isOff={isAsking.value} onAnswer={approved => { reply(approved ? 'yes' : 'no', { approval: { id: approval.id, approved } }) }} />
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

interface ToolCallProps {
  readonly approval: Approval
  readonly isWaiting: boolean
  /** Whether it cannot be answered at present. */
  readonly isOff: boolean
  /** Undefined where the reader may not answer. */
  readonly onAnswer?: ((approved: boolean) => void) | undefined
}

/** The call of a tool, with all that it is called with, and the two answers. */
export function ToolCall ({ approval: { id, tool, server, input, expires_at: expires }, isWaiting, isOff, onAnswer }: ToolCallProps): JSX.Element {
  const hasExpired = useSignal(false)
  useEffect(() => {
    if (expires === undefined) return
    // a timer takes no longer time than 24.8 days
    const timer = setTimeout(() => { hasExpired.value = true }, Math.min(2 ** 31 - 1, Math.max(0, Date.parse(expires) - Date.now())))
    return () => clearTimeout(timer)
  }, [expires])
  const isDisabled = isOff || hasExpired.value
  return (
    <div class='allow' role='group' aria-label='Approval' data-testid='chat-approval' data-state={!isWaiting ? 'answered' : hasExpired.value ? 'expired' : 'waiting'}>
      <p>The agent {isWaiting ? 'wants' : 'wanted'} to call <b>{tool}</b>{server !== undefined && <> of <b>{server}</b></>} with:</p>
      <Json testId='chat-approval-input' label={`Input of ${tool}, approval ${id}`} value={input ?? {}} />
      {isWaiting && onAnswer !== undefined && (
        <div class='line'>
          <button type='button' class='main' data-testid='chat-approve' disabled={isDisabled} onClick={() => { onAnswer(true) }}>Allow once</button>
          <button type='button' data-testid='chat-decline' disabled={isDisabled} onClick={() => { onAnswer(false) }}>Decline</button>
          <span class='soft'>{hasExpired.value ? 'The question has expired: ask again.' : expires === undefined ? '' : `until ${new Date(expires).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`}</span>
        </div>
      )}
    </div>
  )
}
