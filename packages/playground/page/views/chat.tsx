import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { send } from '../exchange.js'
import { failureText, settings, vacs } from '../settings.js'

const answer = signal('')
const state = signal<'idle' | 'asking' | 'done' | 'failed'>('idle')

async function ask (vac: string, question: string): Promise<void> {
  answer.value = ''
  state.value = 'asking'
  try {
    const sent = await send({
      protocol: 'direct', label: `ask ${vac}`, path: `${settings.value.routes.vac}/streaming/${encodeURIComponent(vac)}/sse`, body: { user_input: question }, as: 'sse'
    })
    if (sent.exchange.status !== 200) throw new Error(failureText(await sent.json(), sent.exchange.status))
    for await (const { text } of sent.frames()) {
      const data = /^data: (\{.*)$/m.exec(text)?.[1]
      if (data !== undefined) answer.value += (JSON.parse(data) as { chunk?: string }).chunk ?? ''
    }
    state.value = 'done'
  } catch (err) {
    answer.value = (err as Error).message
    state.value = 'failed'
  }
}

export function Chat (): JSX.Element {
  return (
    <form onSubmit={event => {
      event.preventDefault()
      const field = (name: string): string => (event.currentTarget.elements.namedItem(name) as HTMLInputElement).value
      ask(field('vac'), field('question'))
    }}
    >
      <label>VAC <select name='vac' data-testid='chat-vac'>{vacs.value.map(({ name }) => <option key={name}>{name}</option>)}</select></label>
      <label>Question <textarea name='question' data-testid='chat-question' /></label>
      <button data-testid='chat-send'>Send</button>
      <p data-testid='chat-answer' data-state={state}>{answer}</p>
    </form>
  )
}
