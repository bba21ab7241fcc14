import { TaskFold, type StopSignal, type TaskEvent, type TaskRecord, type TaskStore } from '@polyvac/tasks'

/** A task as it stood after an event. */
export interface TaskStep { readonly task: TaskRecord, readonly event: TaskEvent }

/**
 * Every step of a task after event number `after`, then live, until it ends, `signal` fires or the store closes.
 * The log is read from its beginning, since a step is a whole task.
 */
export async function * followTask (tasks: TaskStore, { id, owner, skill, input, contextId, metadata }: TaskRecord, after: number, signal: StopSignal): AsyncGenerator<TaskStep, void> {
  const fold = new TaskFold({ id, owner, skill, input, contextId, metadata })
  for await (const event of tasks.events(owner, id, { signal })) {
    fold.apply(event)
    if (event.seq > after) yield { task: fold.record(), event }
  }
}

/** The step of event number `seq`; undefined where there is none any more. */
export async function stepAt (tasks: TaskStore, task: TaskRecord, seq: number, signal: StopSignal): Promise<TaskStep | undefined> {
  const steps = followTask(tasks, task, seq - 1, signal)
  const { value } = await steps.next()
  await steps.return()
  return value ?? undefined
}

/**
 * A task at its end, or where it asks for input, or as it is when `signal` fires.
 * @param created whether `task` is new: then it goes on from the record, and the store is not asked for what is known
 */
export async function settledTask (tasks: TaskStore, task: TaskRecord, created: boolean, signal: StopSignal): Promise<TaskRecord> {
  const { id, owner, seq } = task
  const fold = created ? TaskFold.from(task) : undefined
  for await (const event of tasks.events(owner, id, { after: seq, signal })) {
    fold?.apply(event)
    if (event.state === 'input-required') break
  }
  return fold?.record() ?? await tasks.get(owner, id) ?? task
}
