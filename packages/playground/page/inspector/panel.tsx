import type { JSX } from 'preact'
import type { PanelProps } from '../chat/chat.js'
import { answers } from '../chat/conversation.js'
import { ExchangeCard } from '../raw/exchange-card.js'
import { exchanges } from '../requests/exchange.js'
import { IconButton } from '../shared/icons.js'
import { addressOf } from '../shared/router.js'
import { count, duration } from '../shared/ui.js'
import { Views } from '../shared/views.js'

/** Answers in the panel, the latest. */
const MAX_ANSWERS = 50

/** How the chat asks, and what it sent and received: the protocol, the figures of the answers, the last exchange. */
export function Panel ({ offered, protocol, onProtocol, onClose }: PanelProps): JSX.Element {
  const last = answers.value.at(-1)
  const exchange = exchanges.value.find(({ id }) => id === last?.exchange)
  return (
    <aside
      class='panel' aria-label='Inspector' data-testid='inspector' onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <div class='line'>
        <h2>Inspector</h2><span class='grow' />
        <IconButton icon='close' label='Close the inspector' testId='inspector-close' onClick={onClose} />
      </div>
      <Views current='chat' />
      <label>Protocol
        <select name='protocol' data-testid='chat-protocol' value={protocol} onChange={event => { onProtocol(event.currentTarget.value) }}>
          {offered.map(({ id, title }) => <option key={id} value={id}>{title}</option>)}
        </select>
      </label>
      <h3>Answers</h3>
      {answers.value.length === 0 && <p class='soft'>None yet.</p>}
      <ol class='answers'>
        {answers.value.slice(-MAX_ANSWERS).map(({ question, protocol, state, firstByteMs, totalMs, frames, exchange, task }, index) => (
          <li key={index} data-testid='inspected-answer'>
            <bdi>{question.slice(0, 80)}</bdi>
            <span class='soft' data-testid='inspected-figures'>
              {protocol ?? 'stored'}, {state}; first byte {duration(firstByteMs)}, total {duration(totalMs)}
              {frames !== undefined && <>, {exchange === undefined ? count(frames, 'frame') : <a href={addressOf('raw', [exchange])} data-testid='chat-raw'>{count(frames, 'frame')}</a>}</>}
              {task !== undefined && protocol?.startsWith('a2a') && <>, <a href={addressOf('timeline', [task])} data-testid='chat-task'>task</a></>}
            </span>
          </li>
        ))}
      </ol>
      {exchange !== undefined && <ExchangeCard key={exchange.id} exchange={exchange} />}
    </aside>
  )
}
