import { setImmediate as nextTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { isWaiting, TaskFold, type CreatedTask, type AbortSignalLike, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import type { TaskStep } from '../protocol/task-view.js'

/**
 * Every step of a task after event number `after`, then live, until it ends, `signal` fires or the store closes.
 * The log is read from its beginning, since a step is a whole task; but for the input, which no frame shows and every reader would hold.
 */
export function followTask (tasks: TaskStore, { id, owner, skill, contextId, metadata }: TaskRecord, after: number, signal: AbortSignalLike): AsyncGenerator<TaskStep, void> {
  return steps(tasks, new TaskFold({ id, owner, skill, input: undefined, contextId, metadata }), after, signal)
}

async function * steps (tasks: TaskStore, fold: TaskFold, after: number, signal: AbortSignalLike): AsyncGenerator<TaskStep, void> {
  const { id, owner } = fold.record()
  for await (const event of tasks.events(owner, id, { signal })) {
    if (isTurnOver()) await setImmediate()
    fold.apply(event)
    if (event.seq > after) yield { task: fold.record(), event }
  }
}

/** Longest time in ms that all readers together keep the event loop: ready-made events of large tasks would hold it for seconds. */
const MAX_TURN_MS = 5
let turnStart = 0

function isTurnOver (): boolean {
  const now = performance.now()
  if (turnStart === 0) {
    turnStart = now
    nextTurn(() => { turnStart = 0 })
  }
  return now - turnStart > MAX_TURN_MS
}

/** The step of event number `seq`; undefined where there is none any more. */
export async function stepAt (tasks: TaskStore, task: TaskRecord, seq: number, signal: AbortSignalLike): Promise<TaskStep | undefined> {
  const steps = followTask(tasks, task, seq - 1, signal)
  const { value } = await steps.next()
  await steps.return()
  return value ?? undefined
}

/** A task at its end, or where it waits for its caller, or as it is when `signal` fires. */
export async function settledTask (tasks: TaskStore, { task, attempt }: Pick<CreatedTask, 'task' | 'attempt'>, signal: AbortSignalLike): Promise<TaskRecord> {
  const { id, owner, seq } = task
  const settled = attempt === undefined ? undefined : await unlessStopped(attempt, signal)
  if (settled !== undefined) return settled
  for await (const event of tasks.events(owner, id, { after: seq, signal })) {
    if (event.state !== undefined && isWaiting(event.state)) break
  }
  return await tasks.get(owner, id) ?? task
}

function unlessStopped<T> (promise: Promise<T>, signal: AbortSignalLike): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => { resolve(undefined) }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    const heard = (): void => { signal.removeEventListener('abort', stop) }
    promise.then(value => { heard(); resolve(value) }, (err: unknown) => { heard(); reject(err) })
  })
}
