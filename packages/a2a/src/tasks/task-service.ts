import type { Principal } from '@polyvac/core'
import { approvalProblems, callerFields, isRecord } from '@polyvac/core/plugin'
import { CallerTasks, turnQuestionOf } from '@polyvac/runs'
import type { CreatedTask, NewPushConfig, NewTask, PushConfig, TaskRecord, TaskStore, UserMessage } from '@polyvac/tasks'
import { NoSuchPushConfigError, NoSuchTaskError, NotWaitingError, PushNotSupportedError } from '../errors.js'
import { invalidFields } from '../protocol/read-params.js'
import type { AddressGuard } from '../push/address-guard.js'
import { checkSecrets } from '../push/push-secrets.js'
import type { RecentDeliveries, RecentDelivery } from '../push/recent-deliveries.js'

/** Undefined where callers are not authenticated. */
type Caller = Principal | undefined

/**
 * What every dialect does with the tasks of a caller: the errors of A2A, and webhooks. Bindings and operations reach
 * the store only through it, so a task of another owner, or of a VAC that the caller may not use, does not exist for
 * any of them. It knows neither HTTP nor a dialect.
 */
export class TaskService {
  /** The tasks of callers, where no error of A2A and no webhook is involved. */
  readonly tasks: CallerTasks
  readonly #store: TaskStore
  readonly #guard: AddressGuard | undefined
  readonly #recent: RecentDeliveries | undefined

  /**
   * `guard`: checks the URLs of webhooks. `recent`: what this process has sent to them. Both are undefined where push
   * notifications are off.
   */
  constructor (store: TaskStore, guard?: AddressGuard, recent?: RecentDeliveries) {
    this.tasks = new CallerTasks(store)
    this.#store = store
    this.#guard = guard
    this.#recent = recent
  }

  /** @throws A2A_TASK_NOT_FOUND, also for the task of another owner, and of a VAC that the caller may not use */
  async getTask (caller: Caller, taskId: string): Promise<TaskRecord> {
    const task = await this.tasks.get(caller, taskId)
    if (task === undefined) throw new NoSuchTaskError()
    return task
  }

  /** Creates a task, or finds the one that the same request created before. Its webhook receives every event. */
  async createTask (caller: Caller, task: Omit<NewTask, 'push'>, push: NewPushConfig | undefined): Promise<CreatedTask> {
    if (push === undefined) return await this.tasks.create(caller, task)
    await this.checkPush(push)
    return await this.tasks.create(caller, { ...task, push: { ...madeBy(caller, push), after: 0 } })
  }

  /**
   * Answers the question of a task, which goes on with the scopes of this caller. `stateName` gives the name of its
   * state in the dialect, and `fields` more metadata of the task.
   * @throws A2A_TASK_NOT_FOUND, A2A_TASK_NOT_WAITING; A2A_INVALID_PARAMS for data that do not answer its approval
   */
  async continueTask (caller: Caller, before: TaskRecord, message: UserMessage, push: NewPushConfig | undefined,
    stateName: (task: TaskRecord) => string, fields?: object): Promise<TaskRecord> {
    const { owner, id, seq } = before
    checkApproval(message.parts, before)
    // first, because one config too many refuses the request, and an accepted message cannot be withdrawn
    if (push !== undefined) await this.#store.setPush(owner, id, { ...madeBy(caller, push), after: seq })
    const { outcome, task } = await this.tasks.continue(caller, before, message, fields, turnQuestionOf(message.parts))
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'not-waiting') throw new NotWaitingError(stateName(task))
    return task
  }

  /** `canceled`: this call did it; otherwise the task had ended before. @throws A2A_TASK_NOT_FOUND */
  async cancelTask (caller: Caller, taskId: string): Promise<{ readonly canceled: boolean, readonly task: TaskRecord }> {
    const { outcome, task } = await this.tasks.cancel(caller, taskId)
    if (outcome === 'not-found') throw new NoSuchTaskError()
    return { canceled: outcome === 'canceled', task }
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
    return await this.#store.setPush(owner, id, { ...madeBy(caller, config), after: seq - 1 })
  }

  /** A config of the task, by default the first one. @throws A2A_PUSH_CONFIG_NOT_FOUND */
  async getPush (task: TaskRecord, id: string | undefined): Promise<PushConfig> {
    const config = id === undefined
      ? (await this.listPush(task))[0]
      : await this.#store.getPush(task.owner, task.id, id)
    if (config === null || config === undefined) throw new NoSuchPushConfigError()
    return config
  }

  async listPush ({ owner, id }: TaskRecord): Promise<PushConfig[]> {
    return await this.#store.listPush(owner, id)
  }

  /** The last deliveries of this process to a config of the task, the newest last. */
  recentDeliveries ({ owner }: TaskRecord, config: PushConfig): readonly RecentDelivery[] {
    return this.#recent?.list(owner, config) ?? []
  }

  /** Whether there was such a config. */
  async deletePush ({ owner, id: taskId }: TaskRecord, id: string): Promise<boolean> {
    const isDeleted = await this.#store.deletePush(owner, taskId, id)
    this.#recent?.forget(owner, taskId, id)
    return isDeleted
  }
}

/** Checks the data of a reply to a task that asks for an approval. @throws A2A_INVALID_PARAMS */
function checkApproval (parts: UserMessage['parts'], { messages }: TaskRecord): void {
  const asks = messages.findLast(({ role }) => role === 'agent')?.parts.some(part => part.type === 'data' && isRecord(part.data) && isRecord(part.data.approval))
  if (asks !== true) return
  const problems = parts.flatMap((part, i) => part.type === 'data' && isRecord(part.data) && part.data.approval !== undefined ? approvalProblems(part.data.approval, `/message/parts/${i}/data/approval`) : [])
  if (problems.length > 0) throw invalidFields(problems)
}

/** A webhook ends with the credential that set it. */
function madeBy (caller: Caller, config: NewPushConfig): NewPushConfig {
  return { ...config, settings: { ...config.settings, caller: callerFields(caller) } }
}
