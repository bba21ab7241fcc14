import type { Answer } from '@polyvac/core'
import type { AbortSignalLike, RunItem } from '@polyvac/core/plugin'
import { isTerminal, isTurnOver, isWaiting, yieldToEventLoop, type TaskEvent, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import { ANSWER, errorOf } from './run-view.js'
import { SentText } from './sent-text.js'

/** Most characters of text that is there already, in one item. */
const MAX_JOINED_CHARS = 256 * 1024

/**
 * The items of a run after event number `after`, until its turn ends. Text that was there when the reader came is
 * joined: clients copy the whole text at each piece. @throws the error of the run
 */
export async function * runItems (store: TaskStore, task: TaskRecord, after: number, signal: AbortSignalLike): AsyncGenerator<RunItem, void> {
  const { id, owner, seq: head } = task
  let joined = ''
  let seq = after
  /** Undefined while the run has one attempt: then what readers have is the text of the log. */
  let sent: SentText | undefined
  // what readers have after a crash depends on the whole log
  const from = task.attempt > 0 || task.turn > 0 ? 0 : after
  for await (const event of store.events(owner, id, { after: from, signal })) {
    if (isTurnOver()) await yieldToEventLoop()
    const isNew = event.seq > after
    if (event.retry !== undefined) sent ??= await SentText.before(store, task, event.seq)
    if (event.state === 'submitted') sent = undefined
    const changed = sent === undefined ? { text: event.delta ?? '' } : sent.apply(event)
    if (!isNew) continue
    seq = event.seq
    if (changed.isRestart === true) {
      if (joined !== '') yield { seq: event.seq - 1, chunk: joined }
      joined = ''
      yield { seq, restart: true }
    }
    joined += changed.text
    const others = chunksOf(event)
    if (joined !== '' && (others.length > 0 || seq >= head || joined.length >= MAX_JOINED_CHARS)) {
      yield { seq, chunk: joined }
      joined = ''
    }
    for (const chunk of others) yield { seq, chunk }
    const { state } = event
    if (state === undefined) continue
    if (isWaiting(state)) return
    if (isTerminal(state)) {
      const error = errorOf({ state, artifacts: event.artifact === undefined ? [] : [event.artifact], error: event.error ?? null })
      if (error !== undefined) throw error
      return
    }
  }
  if (joined !== '') yield { seq, chunk: joined }
}

/** What an event has besides text. */
function chunksOf ({ progress, progressMessage: message, artifact }: TaskEvent): Array<Exclude<Extract<RunItem, { chunk: unknown }>['chunk'], string>> {
  return [
    ...progress === undefined ? [] : [{ progress, ...message !== undefined && { message } }],
    ...artifact?.name === ANSWER ? [artifact.content as Answer] : []
  ]
}
