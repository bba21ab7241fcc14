import type { JSX } from 'preact'
import { Logo } from '../shared/icons.js'
import { home, type VacInfo } from '../shared/settings.js'

/** Questions that are shown. */
const MAX_EXAMPLES = 3

/** What a conversation without questions shows: who answers, and what to ask. */
export function Welcome ({ vac, onAsk }: { readonly vac: VacInfo | undefined, readonly onAsk: (question: string) => void }): JSX.Element {
  if (vac === undefined) return <div class='welcome' data-testid='chat-empty'><Logo /><h2>No agent</h2><p class='soft'>This service has no agent that you may ask.</p></div>
  const { name, display_name: title = name, description = '', examples = home.value.questions?.[name] ?? [] } = vac
  const questions = examples.slice(0, MAX_EXAMPLES)
  const leftOut = home.value.left_out?.[name] ?? []
  return (
    <div class='welcome' data-testid='chat-empty'>
      <Logo />
      <h2 dir='auto'>{title}</h2>
      {description !== '' && description !== title && <p class='soft' dir='auto'>{description}</p>}
      {questions.length > 0 && (
        <ul class='examples' aria-label='Questions to begin with'>
          {questions.map(question => <li key={question}><button type='button' dir='auto' data-testid='chat-example' onClick={() => { onAsk(question) }}>{question}</button></li>)}
        </ul>
      )}
      {leftOut.length > 0 && <p class='soft left-out' data-testid='chat-left-out'>{leftOut.join('\n')}</p>}
    </div>
  )
}
