import { createHash } from 'node:crypto'
import type { Log, Principal } from '@polyvac/core'
import type { ClientCapabilities, Revision } from '@polyvac/mcp-protocol'
import type { TaskContext, TaskRecord, TaskStore, TaskUpdate, TaskWorker } from '@polyvac/tasks'
import type { Call } from '../calls/call.js'
import { spokenError } from '../calls/failures.js'
import { RpcError, type Params } from '../protocol/rpc.js'
import { runTool } from '../calls/run-tool.js'
import type { Registry } from '../lists/registry.js'
import type { Limits } from '../options.js'
import { TaskCall } from './task-call.js'
import { dialogueOf, nameQuestions, QUESTIONS, sortAnswers, type Turn } from './task-questions.js'
import { RESULT, type TaskTimes } from './task-view.js'

/** What the store keeps of a call. */
interface TaskInput {
  readonly name: string
  readonly arguments: Params
  readonly capabilities: ClientCapabilities
  readonly protocolVersion: Revision
  readonly principal?: Principal | undefined
}

export const NO_TASK = 'there is no such task, or its time is over'

const SKILL = 'tools/call'

/** Whose workers run these tasks: a store may have others, which are not to be taken for tools. */
const QUEUE = 'mcp'

/** Owners of these tasks begin with it, so that a protocol that shares the store, and knows the same callers, does not show them. */
const OWNER = ' mcp '

/** Owner of the tasks of callers that nobody knows. Their ids are not to be guessed. */
const NOBODY = ' nobody'

/** Longest owner that a store takes, in characters. */
const MAX_OWNER = 256

/** Time in ms that a task may take until it asks for what an answer left open. */
const ASK_AGAIN_MS = 5_000

export interface ToolTasksOptions {
  readonly registry: Registry
  readonly limits: Limits
  readonly log: Log
  readonly store: TaskStore
}

/** Calls that go on as tasks, in a queue of their own of a store. */
export class ToolTasks {
  readonly #registry: Registry
  readonly #limits: Limits
  readonly #log: Log
  readonly #store: TaskStore
  readonly times: TaskTimes
  #worker: TaskWorker | undefined

  constructor ({ registry, limits, log, store }: ToolTasksOptions) {
    this.#registry = registry
    this.#limits = limits
    this.#log = log
    this.#store = store
    this.times = { ttlMs: limits.taskTtlMs, pollMs: limits.taskPollMs }
  }

  start (): void {
    const { taskConcurrency: concurrency, taskTimeoutMs: timeoutMs, taskInputMs: inputMs } = this.#limits
    this.#worker = this.#store.work((task, context) => this.#run(task, context), { concurrency, timeoutMs, inputMs, queue: QUEUE })
  }

  async stop (): Promise<void> {
    await this.#worker?.stop()
  }

  /** Makes a call a task; it is durable when this resolves. */
  async create (call: Call, name: string, args: Params): Promise<TaskRecord> {
    const { capabilities, protocolVersion, principal } = call
    const input: TaskInput = { name, arguments: args, capabilities, protocolVersion, principal }
    return (await this.#store.create(ownerOf(call), { skill: SKILL, input, queue: QUEUE })).task
  }

  /** @throws RpcError -32602 where the caller has no such task */
  async get (call: Call, taskId: unknown): Promise<TaskRecord> {
    const task = typeof taskId === 'string' ? await this.#store.get(ownerOf(call), taskId) : null
    if (task === null) throw new RpcError('invalidParams', NO_TASK)
    return task
  }

  async has (call: Call, taskId: string): Promise<boolean> {
    return await this.#store.get(ownerOf(call), taskId) !== null
  }

  async list (call: Call, cursor: unknown): Promise<{ readonly tasks: readonly TaskRecord[], readonly nextCursor?: string | undefined }> {
    if (cursor !== undefined && typeof cursor !== 'string') throw new RpcError('invalidParams', '`cursor` must be a string')
    // their ids are all that keeps the tasks of such callers apart
    if (call.principal === undefined && call.sessionId === undefined) return { tasks: [] }
    try {
      return await this.#store.list(ownerOf(call), { cursor })
    } catch (err) {
      if ((err as { code?: unknown }).code === 'TASK_INVALID_CURSOR') throw new RpcError('invalidParams', 'the cursor is none of this list; begin again without one')
      throw err
    }
  }

  /** Whether this cancelled it; false where it had ended before. */
  async cancel (call: Call, taskId: unknown): Promise<{ readonly task: TaskRecord, readonly isCancelled: boolean }> {
    await this.get(call, taskId)
    const { outcome, task } = await this.#store.cancel(ownerOf(call), taskId as string)
    if (task === null) throw new RpcError('invalidParams', NO_TASK)
    return { task, isCancelled: outcome === 'canceled' }
  }

  /** Takes answers; those that nobody waits for are passed over. @throws RpcError -32602 */
  async answer (call: Call, taskId: unknown, given: Params): Promise<void> {
    for (;;) {
      const task = await this.get(call, taskId)
      const { fit, unfit } = sortAnswers(given, dialogueOf(task))
      if (unfit.length > 0) throw new RpcError('invalidParams', `the answer to ${unfit.join(', ')} has not the form that its question wants`)
      if (Object.keys(fit).length === 0 || task.completedAt !== null) return
      const { outcome } = await this.#store.provideInput(ownerOf(call), task.id, { parts: [{ type: 'text', text: JSON.stringify(fit) }] })
      if (outcome !== 'not-waiting') return
      // it runs, to ask for what an earlier answer left open
      await this.#until(call, task, state => state === 'input-required', ASK_AGAIN_MS)
    }
  }

  /** The task once it has ended or asks. */
  async settled (call: Call, taskId: unknown): Promise<TaskRecord> {
    for (;;) {
      const task = await this.get(call, taskId)
      if (task.completedAt !== null || task.state === 'input-required') return task
      await this.#until(call, task, state => state === 'input-required')
    }
  }

  /** Tells each time that the state of a task changes, until it ends or the call does. */
  async follow (call: Call, taskId: string, changed: (task: TaskRecord) => void): Promise<void> {
    const task = await this.get(call, taskId)
    for await (const { state } of this.#store.events(ownerOf(call), task.id, { after: task.seq, signal: call.signal })) {
      if (state !== undefined) changed(await this.get(call, taskId))
    }
  }

  async #until (call: Call, { id, seq }: TaskRecord, isIt: (state: string) => boolean, longestMs?: number): Promise<void> {
    const late = longestMs === undefined ? undefined : AbortSignal.timeout(longestMs)
    for await (const { state } of this.#store.events(ownerOf(call), id, { after: seq, signal: late ?? call.signal })) {
      if (state !== undefined && isIt(state)) return
    }
    if (late?.aborted === true) throw new RpcError('internalError', 'the task does not take the answer at the moment; try again shortly', undefined, 503)
    if (call.signal.aborted) throw call.signal.reason
  }

  async #run (task: TaskRecord, { signal, emit }: TaskContext): Promise<void> {
    const dialogue = dialogueOf(task)
    if (dialogue.open.size > 0) {
      // some of what it asked is answered; it waits for the rest
      await emit({ state: 'input-required' })
      return
    }
    const { name, arguments: args, capabilities, protocolVersion, principal } = task.input as TaskInput
    const call = new TaskCall({ request: { id: task.id, headers: {} }, signal, principal, log: this.#log, capabilities, protocolVersion, answers: dialogue.answers, state: dialogue.state })
    let update: TaskUpdate
    try {
      const entry = (await this.#registry.catalog('tools')).get(name)
      if (entry === undefined) throw new RpcError('invalidParams', `the tool ${name} is not offered any more`)
      const content = await runTool(entry, args, call)
      // it was stopped, and has not failed by itself: the next worker runs it again
      if (signal.aborted && content.isError === true) throw signal.reason
      update = { artifact: { name: RESULT, content }, state: 'completed' }
    } catch (err) {
      const spoken = spokenError(err)
      if (call.questions === undefined && (signal.aborted || spoken === undefined)) throw err
      update = { state: 'failed', error: { code: String(spoken?.code), message: String(spoken?.message) } }
    }
    // whatever the tool made of its question, it is asked
    if (call.questions !== undefined) {
      const content: Turn = { asked: nameQuestions(call.questions, dialogue), state: call.state }
      update = { artifact: { name: QUESTIONS, content }, state: 'input-required' }
    }
    await emit(update)
  }
}

/** Tasks belong to the caller; those of an unknown one to its session, where it has one. */
function ownerOf (call: Call): string {
  const owner = OWNER + (call.principal?.owner ?? (call.sessionId === undefined ? NOBODY : ` session ${call.sessionId}`))
  return owner.length <= MAX_OWNER ? owner : `${OWNER}${createHash('sha256').update(owner).digest('hex')}`
}
