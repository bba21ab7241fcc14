import type { Principal } from '@polyvac/core'
import { accessKey, callerFields, mayUse, mayUseAll, releaseContext, SKILLS, unlessAborted, usableVacs, vacOfSkill, type SkillKind } from '@polyvac/core/plugin'
import {
  isTurnOver, isWaiting, ownerKey, yieldToEventLoop, TaskFold, type AbortSignalLike, type CreatedTask, type NewPushConfig, type NewTask, type PushConfig,
  type TaskPage, type TaskQuery, type TaskRecord, type TaskStore, type UserMessage
} from '@polyvac/tasks'
import { createHash } from 'node:crypto'
import { NoSuchPushConfigError, NoSuchTaskError, NotWaitingError, PushNotSupportedError } from '../errors.js'
import type { TaskStep } from '../protocol/task-view.js'
import type { AddressGuard } from '../push/address-guard.js'
import { checkSecrets } from '../push/push-secrets.js'
import type { RecentDeliveries, RecentDelivery } from '../push/recent-deliveries.js'

/** Undefined where callers are not authenticated. */
type Caller = Principal | undefined

/**
 * What every dialect does with the tasks of a caller. Bindings and operations reach the store only through it, so a
 * task of another owner, or of a VAC that the caller may not use, does not exist for any of them. It knows neither HTTP
 * nor a dialect.
 */
export class TaskService {
  readonly #tasks: TaskStore
  readonly #guard: AddressGuard | undefined
  readonly #recent: RecentDeliveries | undefined

  /**
   * `guard`: checks the URLs of webhooks. `recent`: what this process has sent to them. Both are undefined where push
   * notifications are off.
   */
  constructor (tasks: TaskStore, guard?: AddressGuard, recent?: RecentDeliveries) {
    this.#tasks = tasks
    this.#guard = guard
    this.#recent = recent
  }

  /** @throws A2A_TASK_NOT_FOUND, also for the task of another owner, and of a VAC that the caller may not use */
  async getTask (caller: Caller, taskId: string): Promise<TaskRecord> {
    const task = await this.#tasks.get(keyOf(caller), taskId)
    if (task === null || !mayUse(caller, { vac: vacOfSkill(task.skill) })) throw new NoSuchTaskError()
    return task
  }

  /** The tasks of the VACs that the caller may use. @param vac the only one; default: all of them */
  async listTasks (caller: Caller, query: Omit<TaskQuery, 'skills'>, vac?: string): Promise<TaskPage> {
    const vacs = vac === undefined ? usableVacs(caller) : mayUse(caller, { vac }) ? [vac] : []
    return await this.#tasks.list(keyOf(caller), { ...query, skills: vacs?.flatMap(skillNamesOf) })
  }

  /** Creates a task, or finds the one that the same request created before. Its webhook receives every event. */
  async createTask (caller: Caller, task: Omit<NewTask, 'push'>, push: NewPushConfig | undefined): Promise<CreatedTask> {
    if (push !== undefined) await this.checkPush(push)
    // the request only waits from here on: the task runs in a separate trace
    releaseContext()
    return await this.#tasks.create(keyOf(caller), { ...task, idempotencyKey: idempotencyKeyOf(caller, task), ...push !== undefined && { push: { ...madeBy(caller, push), after: 0 } } })
  }

  /**
   * Answers the question of a task, which goes on with the scopes of this caller. `stateName` gives the name of its
   * state in the dialect, and `fields` more metadata of the task.
   * @throws A2A_TASK_NOT_FOUND, A2A_TASK_NOT_WAITING
   */
  async continueTask (caller: Caller, before: TaskRecord, message: UserMessage, push: NewPushConfig | undefined,
    stateName: (task: TaskRecord) => string, fields?: object): Promise<TaskRecord> {
    const { owner, id, seq } = before
    // first, because one config too many refuses the request, and an accepted message cannot be withdrawn
    if (push !== undefined) await this.#tasks.setPush(owner, id, { ...madeBy(caller, push), after: seq })
    const { outcome, task } = await this.#tasks.provideInput(owner, id, message, { caller: callerFields(caller), ...fields })
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'not-waiting') throw new NotWaitingError(stateName(task))
    return task
  }

  /** `canceled`: this call did it; otherwise the task had ended before. @throws A2A_TASK_NOT_FOUND */
  async cancelTask (caller: Caller, taskId: string): Promise<{ readonly canceled: boolean, readonly task: TaskRecord }> {
    const { owner, id } = await this.getTask(caller, taskId)
    const { outcome, task } = await this.#tasks.cancel(owner, id)
    if (outcome === 'not-found') throw new NoSuchTaskError()
    return { canceled: outcome === 'canceled', task }
  }

  /** The task once it has ended or waits for its caller, or as it stands when `signal` fires. */
  async settle ({ task, attempt }: CreatedTask, signal: AbortSignalLike): Promise<TaskRecord> {
    const { id, owner, seq } = task
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

  /** @throws A2A_PUSH_NOT_SUPPORTED */
  #requireGuard (): AddressGuard {
    if (this.#guard === undefined) throw new PushNotSupportedError()
    return this.#guard
  }

  /** @throws A2A_PUSH_NOT_SUPPORTED, PUSH_URL_REFUSED, PUSH_SECRETS_INVALID */
  async checkPush ({ url, secrets = {} }: NewPushConfig): Promise<void> {
    const guard = this.#requireGuard()
    checkSecrets(secrets)
    // the guard limits its own time
    await guard.check(url, new AbortController().signal)
  }

  /**
   * Checks that push is enabled before it reveals whether the task exists. @throws A2A_PUSH_NOT_SUPPORTED,
   * A2A_TASK_NOT_FOUND
   */
  async getTaskForPush (caller: Caller, taskId: string): Promise<TaskRecord> {
    this.#requireGuard()
    return await this.getTask(caller, taskId)
  }

  async setPush (caller: Caller, { owner, id, seq }: TaskRecord, config: NewPushConfig): Promise<PushConfig> {
    await this.checkPush(config)
    // one event back, so that a webhook that is set just after the task ended still receives the final event
    return await this.#tasks.setPush(owner, id, { ...madeBy(caller, config), after: seq - 1 })
  }

  /** A config of the task, by default the first one. @throws A2A_PUSH_CONFIG_NOT_FOUND */
  async getPush (task: TaskRecord, id: string | undefined): Promise<PushConfig> {
    const config = id === undefined
      ? (await this.listPush(task))[0]
      : await this.#tasks.getPush(task.owner, task.id, id)
    if (config === null || config === undefined) throw new NoSuchPushConfigError()
    return config
  }

  async listPush ({ owner, id }: TaskRecord): Promise<PushConfig[]> {
    return await this.#tasks.listPush(owner, id)
  }

  /** The last deliveries of this process to a config of the task, the newest last. */
  recentDeliveries ({ owner }: TaskRecord, config: PushConfig): readonly RecentDelivery[] {
    return this.#recent?.list(owner, config) ?? []
  }

  /** Whether there was such a config. */
  async deletePush ({ owner, id: taskId }: TaskRecord, id: string): Promise<boolean> {
    const isDeleted = await this.#tasks.deletePush(owner, taskId, id)
    this.#recent?.forget(owner, taskId, id)
    return isDeleted
  }
}

function keyOf (caller: Caller): string {
  return ownerKey(caller?.owner)
}

/**
 * The key of a task for the store. A caller with some scopes has separate keys: neither a task of another credential
 * of its owner nor the conflict with one shows that this key is used. A task of a hidden VAC fails, so it has none.
 */
function idempotencyKeyOf (caller: Caller, { skill, idempotencyKey: key }: Pick<NewTask, 'skill' | 'idempotencyKey'>): string | undefined {
  if (!mayUse(caller, { vac: vacOfSkill(skill) })) return undefined
  return key === undefined || mayUseAll(caller) ? key : createHash('sha256').update(`${accessKey(caller)} ${key}`).digest('base64url')
}

/** A webhook ends with the credential that set it. */
function madeBy (caller: Caller, config: NewPushConfig): NewPushConfig {
  return { ...config, settings: { ...config.settings, caller: callerFields(caller) } }
}

/** The names that the skills of a VAC may have. */
function skillNamesOf (vac: string): string[] {
  return (Object.keys(SKILLS) as SkillKind[]).map(kind => SKILLS[kind].prefix + vac)
}
