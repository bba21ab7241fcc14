import { TaskFold, type TaskEvent, type TaskRecord, type TaskStore } from '@polyvac/tasks'

/** A task as it stood after an event. */
export interface TaskStep { readonly task: TaskRecord, readonly event: TaskEvent }

/**
 * Every step of a task after event number `after`, then live, until it ends, `signal` fires or the store closes.
 * The log is read from its beginning, since a step is a whole task.
 */
export async function * followTask (tasks: TaskStore, { id, owner, skill, input, contextId, metadata }: TaskRecord, after: number, signal: AbortSignal): AsyncGenerator<TaskStep, void> {
  const fold = new TaskFold({ id, owner, skill, input, contextId, metadata })
  for await (const event of tasks.events(owner, id, { signal })) {
    fold.apply(event)
    if (event.seq > after) yield { task: fold.record(), event }
  }
}

/** The step of event number `seq`; undefined where there is none any more. */
export async function stepAt (tasks: TaskStore, task: TaskRecord, seq: number, signal: AbortSignal): Promise<TaskStep | undefined> {
  const steps = followTask(tasks, task, seq - 1, signal)
  const { value } = await steps.next()
  await steps.return()
  return value ?? undefined
}

/** Waits until a task, as it was at `task.seq`, ends or asks for input, or until `signal` fires. */
export async function untilSettled (tasks: TaskStore, { id, owner, seq }: TaskRecord, signal: AbortSignal): Promise<void> {
  for await (const { state } of tasks.events(owner, id, { after: seq, signal })) {
    if (state === 'input-required') return
  }
}
