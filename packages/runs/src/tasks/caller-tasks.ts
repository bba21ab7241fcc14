import type { Principal } from '@polyvac/core'
import { accessKey, callerFields, mayUse, mayUseAll, releaseContext, SKILLS, unlessAborted, usableVacs, vacOfSkill, type SkillKind } from '@polyvac/core/plugin'
import {
  isTerminal, isTurnOver, isWaiting, ownerKey, yieldToEventLoop, TaskFold, type AbortSignalLike, type CreatedTask, type NewTask,
  type TaskEvent, type TaskHead, type TaskPage, type TaskQuery, type TaskRecord, type TaskStore, type UserMessage
} from '@polyvac/tasks'
import { createHash } from 'node:crypto'

/** A task as it stands after an event, without its input. */
export interface TaskStep { readonly task: TaskRecord, readonly event: TaskEvent }

/** Undefined where callers are not authenticated. */
type Caller = Principal | undefined

/**
 * What callers do with tasks, whatever the protocol: a task of another owner, or of a VAC that the caller may not use,
 * does not exist. Errors are those of the store.
 */
export class CallerTasks {
  readonly #tasks: TaskStore
  readonly #keyOf: (caller: Caller) => string

  /** @param keyOf the owner of the tasks of a caller in the store */
  constructor (tasks: TaskStore, keyOf: (caller: Caller) => string = caller => ownerKey(caller?.owner)) {
    this.#tasks = tasks
    this.#keyOf = keyOf
  }

  /** Undefined also for the task of another owner, and of a VAC that the caller may not use. */
  async get (caller: Caller, taskId: string): Promise<TaskRecord | undefined> {
    return usable(caller, await this.#tasks.get(this.#keyOf(caller), taskId))
  }

  /** The same without what was said. */
  async head (caller: Caller, taskId: string): Promise<TaskHead | undefined> {
    return usable(caller, await this.#tasks.head(this.#keyOf(caller), taskId))
  }

  /** The tasks of the VACs that the caller may use. @param vac the only one; default: all of them */
  async list (caller: Caller, query: Omit<TaskQuery, 'skills'>, vac?: string): Promise<TaskPage> {
    const vacs = vac === undefined ? usableVacs(caller) : mayUse(caller, { vac }) ? [vac] : []
    return await this.#tasks.list(this.#keyOf(caller), { ...query, skills: vacs?.flatMap(skillNamesOf) })
  }

  /** Creates a task, or finds the one that the same request created before. */
  async create (caller: Caller, task: NewTask): Promise<CreatedTask> {
    // the request only waits from here on: the task runs in a separate trace
    releaseContext()
    return await this.#tasks.create(this.#keyOf(caller), { ...task, idempotencyKey: idempotencyKeyOf(caller, task) })
  }

  /**
   * Answers the question of a task, which goes on with the scopes of this caller. `fields`: more of its metadata.
   * `question`: what the message asks, the next turn of its conversation.
   */
  async continue (caller: Caller, { owner, id }: TaskRecord, message: UserMessage, fields?: object, question?: Parameters<TaskStore['provideInput']>[4]): ReturnType<TaskStore['provideInput']> {
    return await this.#tasks.provideInput(owner, id, message, { caller: callerFields(caller), ...fields }, question)
  }

  /** `canceled`: by this call. `terminal`: the task had ended before, perhaps canceled; see the state of `task`. */
  async cancel (caller: Caller, taskId: string): ReturnType<TaskStore['cancel']> {
    const task = await this.get(caller, taskId)
    return task === undefined ? { outcome: 'not-found', task: null } : await this.#tasks.cancel(task.owner, task.id)
  }

  /** The task once it has ended or waits for its caller, or as it stands when `signal` fires. */
  async settle ({ task, attempt }: CreatedTask, signal: AbortSignalLike): Promise<TaskRecord> {
    const { id, owner, seq, state } = task
    if (isTerminal(state) || isWaiting(state)) return task
    const settled = attempt === undefined ? undefined : await unlessAborted(attempt, signal, () => undefined)
    if (settled !== undefined) return settled
    for await (const event of this.#tasks.events(owner, id, { after: seq, signal })) {
      if (event.state !== undefined && isWaiting(event.state)) break
    }
    return await this.#tasks.get(owner, id) ?? task
  }

  /**
   * Every step of a task after event number `after`, then live ones, until the task ends, `isLast` holds, `signal`
   * fires or the store closes. The log is read from its beginning, since a step is a whole task; without its input,
   * which no frame shows and every reader would hold.
   */
  async * follow (task: TaskRecord, after: number, signal: AbortSignalLike, isLast?: (step: TaskStep) => boolean):
  AsyncGenerator<TaskStep, void> {
    const { id, owner, skill, contextId, metadata } = task
    const fold = new TaskFold({ id, owner, skill, input: undefined, contextId, metadata })
    for await (const event of this.#tasks.events(owner, id, { signal })) {
      if (isTurnOver()) await yieldToEventLoop()
      fold.apply(event)
      if (event.seq <= after) continue
      const step = { task: fold.record(), event }
      yield step
      if (isLast?.(step) === true) return
    }
  }

  /** The step of event number `seq`, for a delivery of the store; undefined where the task was purged. */
  async stepAt (owner: string, taskId: string, seq: number, signal: AbortSignalLike): Promise<TaskStep | undefined> {
    const task = await this.#tasks.get(owner, taskId)
    if (task === null) return undefined
    const steps = this.follow(task, seq - 1, signal)
    const { value } = await steps.next()
    await steps.return()
    return value ?? undefined
  }
}

function usable<Task extends TaskHead> (caller: Caller, task: Task | null): Task | undefined {
  return task === null || !mayUse(caller, { vac: vacOfSkill(task.skill) }) ? undefined : task
}

/**
 * The key of a task for the store. A caller with some scopes has separate keys: neither a task of another credential
 * of its owner nor the conflict with one shows that this key is used. A task of a hidden VAC fails, so it has none.
 */
function idempotencyKeyOf (caller: Caller, { skill, idempotencyKey: key }: Pick<NewTask, 'skill' | 'idempotencyKey'>): string | undefined {
  if (!mayUse(caller, { vac: vacOfSkill(skill) })) return undefined
  return key === undefined || mayUseAll(caller) ? key : createHash('sha256').update(`${accessKey(caller)} ${key}`).digest('base64url')
}

/** The names that the skills of a VAC may have. */
function skillNamesOf (vac: string): string[] {
  return (Object.keys(SKILLS) as SkillKind[]).map(kind => SKILLS[kind].prefix + vac)
}
