import type { Answer, Step, StepView } from '@polyvac/core'
import { stepFor, type AbortSignalLike, type RunItem, type RunReading } from '@polyvac/core/plugin'
import { isTerminal, isTurnOver, isWaiting, yieldToEventLoop, type TaskEvent, type TaskHead, type TaskStore } from '@polyvac/tasks'
import { NoSuchRunError } from '../errors.js'
import { ANSWER, errorOf } from './run-view.js'
import { SentText } from './sent-text.js'

/** Most characters of text that is there already, in one item. */
const MAX_JOINED_CHARS = 64 * 1024

interface Reading extends RunReading {
  /** The number of the last event that the reader has. */
  readonly after: number
  readonly signal: AbortSignalLike
  /** What it sees of steps. */
  readonly view: StepView | undefined
}

/**
 * The items of a run after event number `after`, until its turn ends. Text that was there when the reader came is
 * joined: clients copy the whole text at each piece. @throws the error of the run; RUN_NOT_FOUND once it is deleted
 */
export async function * runItems (store: TaskStore, task: TaskHead, { after, signal, view, turn, isExact = false, isLatest = false, isSnapshot = false }: Reading): AsyncGenerator<RunItem, void> {
  const { id, owner, seq: head } = task
  /** Text that was there already, and the number of its last event. */
  let joined = ''
  let seq = after
  let hasText = after > 0
  /** Undefined while the run has one attempt: then what readers have is the text of the log. */
  let sent: SentText | undefined
  // what readers have after a crash depends on the whole log
  const from = task.attempt > 0 || task.turn > 0 ? 0 : after
  /** The turn of the log. */
  let current = from > 0 ? 0 : -1
  const begin = isLatest && task.attempt > 0 ? await lastRestart(store, task, turn, signal) : 0
  for await (const event of store.events(owner, id, { after: from, signal })) {
    if (isTurnOver()) await yieldToEventLoop()
    if (event.retry !== undefined) sent ??= await SentText.before(store, task, event.seq)
    if (event.state === 'submitted') {
      sent = undefined
      current++
    }
    const { text, isRestart = false } = sent === undefined ? { text: event.delta ?? '' } : sent.apply(event)
    if (event.seq <= after || event.seq < begin || (turn !== undefined && current < turn)) continue
    const others = chunksOf(event, view)
    // a reader that leaves between the items of one event gets the later ones when it comes back
    const before = event.seq - 1
    if (isRestart) {
      joined = ''
      if (hasText || event.seq === begin) yield { seq: before, restart: true }
    }
    if (text !== '') {
      joined += text
      seq = isRestart && others.length > 0 ? before : event.seq
    }
    if (joined !== '' && (isExact || others.length > 0 || event.seq >= head || joined.length >= MAX_JOINED_CHARS)) {
      yield { seq, chunk: joined }
      joined = ''
      hasText = true
    }
    for (const chunk of others) yield { seq: event.seq, chunk }
    const { state } = event
    if (state !== undefined && isWaiting(state)) return
    if (state !== undefined && isTerminal(state)) {
      const error = errorOf({ state, artifacts: event.artifact === undefined ? [] : [event.artifact], error: event.error ?? null })
      if (error !== undefined) throw error
      return
    }
    if (isSnapshot && event.seq >= head) return
  }
  if (joined !== '') yield { seq, chunk: joined }
  if (!signal.aborted && await store.head(owner, id) === null) throw new NoSuchRunError()
}

/** The number of the last event until now at which the text of a turn begins anew; 0 where it never does. */
async function lastRestart (store: TaskStore, task: TaskHead, turn: number | undefined, signal: AbortSignalLike): Promise<number> {
  const sent = new SentText()
  let last = 0
  let current = -1
  for await (const event of store.events(task.owner, task.id, { signal })) {
    if (isTurnOver()) await yieldToEventLoop()
    if (event.state === 'submitted') {
      if (turn !== undefined && ++current > turn) break
      last = 0
    }
    if (sent.apply(event).isRestart === true) last = event.seq
    if (event.seq >= task.seq) break
  }
  return last
}

/** What an event has besides text. */
function chunksOf ({ progress, progressMessage: message, step, artifact }: TaskEvent, view: StepView | undefined): Array<Exclude<Extract<RunItem, { chunk: unknown }>['chunk'], string>> {
  return [
    ...progress === undefined ? [] : [{ progress, ...message !== undefined && { message } }],
    ...step === undefined || view === undefined ? [] : [stepFor(view, step as Step)],
    ...artifact?.name === ANSWER ? [artifact.content as Answer] : []
  ]
}
