import { sendEvents, LightAbort, streamSettings, type EventEncoding, type OpenStreams, type AbortSignalLike } from '@polyvac/core/plugin'
import { isTerminal, isWaiting, type CreatedTask, type NewPushConfig, type NewTask, type PushConfig, type TaskRecord, type TaskStore, type UserMessage } from '@polyvac/tasks'
import type { FastifyReply } from 'fastify'
import { NoSuchPushConfigError, NoSuchTaskError, NotWaitingError, PushNotSupportedError } from '../errors.js'
import { followTask, settledTask } from './follow-task.js'
import type { TaskStep } from '../protocol/task-view.js'
import { DEFAULTS } from '../options.js'
import type { AddressGuard } from '../push/address-guard.js'
import { checkSecrets } from '../push/push-secrets.js'
import type { StreamQuota, StreamPlace } from './stream-quota.js'

export interface TaskServiceOptions {
  readonly tasks: TaskStore
  readonly streams: OpenStreams
  readonly streamCount: StreamQuota
  /** Undefined where push notifications are off. */
  readonly guard: AddressGuard | undefined
  readonly sendTimeoutMs: number
  readonly stallMs: number
}

/** A stream that is open. */
export interface OpenTaskStream { readonly place: StreamPlace, readonly signal: AbortSignalLike }

/** How a dialect tells the steps of a task. */
export interface StepEncoding extends Pick<EventEncoding<TaskStep>, 'onFailure'> {
  /** The text of one step. `fresh` is the first one where nothing was seen before: it is all there is, not what is new. */
  readonly encode: (step: TaskStep, fresh: boolean) => string
  /** Whether the stream ends with this step although the task goes on. */
  readonly isLast?: ((step: TaskStep) => boolean) | undefined
}

/** What every dialect does with the tasks of an owner: begin, wait, follow, and tell webhooks. It knows no wire. */
export class TaskService {
  readonly tasks: TaskStore
  readonly #options: TaskServiceOptions

  constructor (options: TaskServiceOptions) {
    this.tasks = options.tasks
    this.#options = options
  }

  /** @throws A2A_TASK_NOT_FOUND, for a foreign task too */
  async getTask (owner: string, taskId: string): Promise<TaskRecord> {
    const task = await this.tasks.get(owner, taskId)
    if (task === null) throw new NoSuchTaskError()
    return task
  }

  /** Creates a task, or finds the one that the same request created before. Its webhook is told of every event. */
  async createTask (owner: string, task: Omit<NewTask, 'push'>, getPushConfig: NewPushConfig | undefined): Promise<CreatedTask> {
    if (getPushConfig === undefined) return await this.tasks.create(owner, task)
    await this.checkPush(getPushConfig)
    return await this.tasks.create(owner, { ...task, push: { ...getPushConfig, after: 0 } })
  }

  /**
   * Answers the question of a task. `stateName` tells its state in the words of the dialect.
   * @throws A2A_TASK_NOT_FOUND, A2A_TASK_NOT_WAITING
   */
  async continueTask (before: TaskRecord, message: UserMessage, push: NewPushConfig | undefined, stateName: (task: TaskRecord) => string): Promise<TaskRecord> {
    const { owner, id, seq } = before
    // first, since one config too many refuses the request, and a message that was taken cannot be taken back
    if (push !== undefined) await this.tasks.setPush(owner, id, { ...push, after: seq })
    const { outcome, task } = await this.tasks.provideInput(owner, id, message)
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'not-waiting') throw new NotWaitingError(stateName(task))
    return task
  }

  /** The task at its end, where it waits for its caller, or as it is after `sendTimeoutMs`. */
  async waitUntilSettled (begun: CreatedTask, reply: FastifyReply): Promise<TaskRecord> {
    const { state } = begun.task
    if (isTerminal(state) || isWaiting(state)) return begun.task
    const { signal, end } = this.#options.streams.begin(reply)
    const stop = new LightAbort()
    const leave = (): void => { stop.abort(undefined) }
    const late = setTimeout(leave, this.#options.sendTimeoutMs)
    signal.addEventListener('abort', leave)
    try {
      return await settledTask(this.tasks, begun, stop)
    } finally {
      clearTimeout(late)
      signal.removeEventListener('abort', leave)
      end()
    }
  }

  /** Holds a place among the owner's streams meanwhile. One too many is refused before anything has begun. */
  async withStream (owner: string, reply: FastifyReply, run: (open: OpenTaskStream) => Promise<void>): Promise<void> {
    const place = this.#options.streamCount.take(owner, () => { reply.raw.destroy() })
    try {
      const { signal, end } = this.#options.streams.begin(reply)
      await run({ place, signal }).finally(end)
    } finally {
      place.release()
    }
  }

  /** Replays what came after event number `seen`, or tells the task as it stands, then follows it. */
  follow (task: TaskRecord, seen: number | undefined, { place, signal }: OpenTaskStream, reply: FastifyReply, { encode, onFailure, isLast }: StepEncoding): Promise<void> {
    const { wait_time: wait = DEFAULTS.waitTime } = streamSettings(task.input)
    const { seq } = task
    const steps = followTask(this.tasks, task, seen ?? seq - 1, signal)
    return sendEvents(reply, isLast === undefined ? steps : until(steps, isLast), {
      encode: step => {
        const text = encode(step, seen === undefined && step.event.seq === seq)
        place.hold(text.length)
        return text
      },
      onFailure,
      signal,
      stallMs: this.#options.stallMs,
      keepAliveMs: wait === 0 ? undefined : Math.max(100, wait * 1000)
    })
  }

  /** @throws A2A_PUSH_NOT_SUPPORTED */
  pushGuard (): AddressGuard {
    const { guard } = this.#options
    if (guard === undefined) throw new PushNotSupportedError()
    return guard
  }

  /** @throws A2A_PUSH_NOT_SUPPORTED, PUSH_URL_REFUSED, PUSH_SECRETS_INVALID */
  async checkPush ({ url, secrets = {} }: NewPushConfig): Promise<void> {
    const guard = this.pushGuard()
    checkSecrets(secrets)
    // bounded by the guard itself
    await guard.check(url, new AbortController().signal)
  }

  /** A task that webhooks are to be told of. @throws A2A_PUSH_NOT_SUPPORTED, A2A_TASK_NOT_FOUND */
  async getTaskForPush (owner: string, taskId: string): Promise<TaskRecord> {
    this.pushGuard()
    return await this.getTask(owner, taskId)
  }

  async setPush ({ owner, id, seq }: TaskRecord, config: NewPushConfig): Promise<PushConfig> {
    await this.checkPush(config)
    // its last event counts as not told yet: a receiver of a task that ended in between would else never hear of the end
    return await this.tasks.setPush(owner, id, { ...config, after: seq - 1 })
  }

  /** A config of the task, the first one where none is named. @throws A2A_PUSH_CONFIG_NOT_FOUND */
  async push ({ owner, id: taskId }: TaskRecord, id: string | undefined): Promise<PushConfig> {
    const config = id === undefined ? (await this.tasks.listPush(owner, taskId))[0] : await this.tasks.getPush(owner, taskId, id)
    if (config === null || config === undefined) throw new NoSuchPushConfigError()
    return config
  }
}

async function * until (steps: AsyncIterable<TaskStep>, isLast: (step: TaskStep) => boolean): AsyncGenerator<TaskStep, void> {
  for await (const step of steps) {
    yield step
    if (isLast(step)) return
  }
}
