import { effect, signal } from '@preact/signals'
import { addDelta, type ChatProtocol, type InputRequest, type Source, type Turn } from './chat-protocol.js'
import type { Sent } from './exchange.js'
import { PROTOCOLS } from './protocols.js'

const KEY = 'polyvac.chat'
/** Turns that are kept over a reload, and sent with the next question. */
const MAX_TURNS = 50

export interface Answer {
  readonly question: string
  readonly vac: string
  readonly protocol: ChatProtocol['id']
  readonly text: string
  readonly state: 'asking' | 'input-required' | 'done' | 'stopped' | 'failed'
  readonly sources: readonly Source[]
  readonly progress?: number | undefined
  readonly task?: string | undefined
  readonly input?: InputRequest | undefined
  readonly problem?: string | undefined
  readonly firstByteMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly frames?: number | undefined
  /** The id of its exchange; a reload forgets exchanges. */
  readonly exchange?: string | undefined
}

function read (): Answer[] {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Answer[]).map(answer => ({ ...answer, exchange: undefined }))
  } catch {
    return []
  }
}

/** The conversation of this tab. */
export const answers = signal<readonly Answer[]>(read())
let running: AbortController | undefined

effect(() => {
  const kept = answers.value.slice(-MAX_TURNS)
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept))
  } catch {
    // more than the browser keeps: a reload starts an empty conversation
    sessionStorage.removeItem(KEY)
  }
})

const change = (part: Partial<Answer>): void => { answers.value = [...answers.value.slice(0, -1), { ...answers.value.at(-1)!, ...part }] }

/** Asks; `reply` is what the question replies to. */
export async function ask (vac: string, protocol: ChatProtocol['id'], question: string, reply?: InputRequest): Promise<void> {
  const history = answers.value.slice(-MAX_TURNS).filter(answer => answer.vac === vac).flatMap(({ question: content, text }): Turn[] =>
    [{ role: 'user', content }, ...text === '' ? [] : [{ role: 'assistant', content: text } as const]])
  answers.value = [...answers.value.map(answer => answer.input === reply ? { ...answer, input: undefined } : answer),
    { question, vac, protocol, text: '', state: 'asking', sources: [] }]
  await follow({ vac, text: question, history, reply })
}

/** Follows the task of an answer that a reload interrupted; an answer without a task has ended. */
export async function resume (): Promise<void> {
  const last = answers.value.at(-1)
  if (last?.state !== 'asking' || running !== undefined) return
  if (last.task === undefined) change({ state: 'stopped', problem: 'The page was loaded again, and this protocol cannot continue a stream.' })
  else await follow({ vac: last.vac, text: last.question, history: [], task: last.task })
}

async function follow (question: { vac: string, text: string, history: readonly Turn[], reply?: InputRequest | undefined, task?: string }): Promise<void> {
  const protocol = PROTOCOLS.find(({ id }) => id === answers.value.at(-1)!.protocol)!
  const { signal } = running = new AbortController()
  let sent: Sent | undefined
  const figures = (): Partial<Answer> =>
    ({ exchange: sent?.exchange.id, firstByteMs: sent?.exchange.firstByteAt, totalMs: sent?.exchange.endedAt, frames: sent?.exchange.received?.frames })
  try {
    for await (const update of protocol.ask({ ...question, signal, onSent: response => { sent = response } })) {
      const { text, state, sources, task, progress } = answers.value.at(-1)!
      change({
        text: addDelta(text, update),
        sources: update.sources ?? sources,
        task: update.task ?? task,
        progress: update.progress ?? progress,
        input: update.input,
        state: update.input !== undefined ? 'input-required' : update.done === true ? 'done' : state,
        ...figures()
      })
    }
    if (answers.value.at(-1)!.state === 'asking') change({ state: 'failed', problem: 'The stream ended before the answer did.' })
  } catch (err) {
    change(signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: (err as Error).message })
  } finally {
    change(figures())
    running = undefined
  }
}

/** Stops the answer: closes the connection, and cancels the task where there is one. */
export async function stop (): Promise<void> {
  const last = answers.value.at(-1)
  running?.abort()
  if (last?.task === undefined) return
  await PROTOCOLS.find(({ id }) => id === last.protocol)?.cancel?.(last.task).catch((err: Error) => { change({ problem: `Not canceled: ${err.message}` }) })
}
