import { signal } from '@preact/signals'
import { addDelta, type ChatProtocol } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { reasonOf, type Sent } from '../requests/exchange.js'
import { createPicture } from '../shared/picture.js'

/** The answer over one protocol. */
export interface Compared {
  readonly id: ChatProtocol['id']
  readonly title: string
  readonly state: 'waiting' | 'asking' | 'input-required' | 'done' | 'stopped' | 'failed'
  readonly text: string
  readonly problem?: string
  /** The exchange of the request, for its figures. */
  readonly sent?: Sent | undefined
}

export const compared = signal<readonly Compared[]>([])
let running: AbortController | undefined

/** The answers as they stand; `compared` shows them with the next picture. */
let newest: readonly Compared[] = []
const picture = createPicture(() => { compared.value = newest })

const change = (id: string, part: Partial<Compared>): void => {
  newest = newest.map(one => one.id === id ? { ...one, ...part } : one)
  picture.later()
}

/** Asks over one protocol after another, so that no answer waits for another one and the times are comparable. */
export async function compare (vac: string, question: string, ids: readonly string[]): Promise<void> {
  const chosen = PROTOCOLS.filter(({ id }) => ids.includes(id))
  const { signal } = running = new AbortController()
  newest = chosen.map(({ id, title }) => ({ id, title, state: 'waiting', text: '' }))
  picture.now()
  for (const { id, ask, cancel } of chosen) {
    let sent: Sent | undefined
    let text = ''
    let task: string | undefined
    let state: Compared['state'] = 'asking'
    change(id, { state })
    try {
      signal.throwIfAborted()
      for await (const update of ask({ vac, text: question, history: [], signal, onSent: response => { sent = response } })) {
        text = addDelta(text, update)
        task = update.task ?? task
        state = update.input !== undefined ? 'input-required' : update.done === true ? 'done' : state
        change(id, { text, state, sent })
      }
      if (state === 'asking') throw new Error('The stream ended before the answer did.')
    } catch (err) {
      change(id, signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: reasonOf(err) })
      if (signal.aborted && task !== undefined) await cancel?.(task, vac).catch(() => {})
    }
    change(id, { sent })
  }
  picture.now()
}

export function stopComparing (): void {
  running?.abort()
}

/** How the text of an answer differs from the first one that is complete. */
export function differenceOf (one: Compared, all: readonly Compared[]): 'first' | 'identical' | { readonly at: number, readonly title: string } | undefined {
  const first = all.find(({ state }) => state === 'done')
  if (one.state !== 'done' || first === undefined) return undefined
  if (one === first) return 'first'
  if (one.text === first.text) return 'identical'
  let at = 0
  while (at < one.text.length && one.text[at] === first.text[at]) at++
  return { at, title: first.title }
}
