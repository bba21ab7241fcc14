import type { Authenticate, Log, Principal } from '@polyvac/core'
import { ANONYMOUS, BoundLog, currentCaller, mayUseAll, ownerWithin, resultJson, traceLinks, traceTask } from '@polyvac/core/plugin'
import { forwardedMeta, type ClientCapabilities, type Revision } from '@polyvac/mcp-protocol'
import type { TaskContext, TaskRecord, TaskStore, TaskUpdate, TaskWorker } from '@polyvac/tasks'
import type { Call } from '../calls/call.js'
import { failureText, protocolError } from '../calls/failures.js'
import { failedResult, runTool } from '../calls/run-tool.js'
import type { Registry } from '../lists/registry.js'
import type { Limits } from '../options.js'
import { invalidParams, overload, type Params } from '../protocol/rpc.js'
import type { TaskBeginning, ToolResult } from '../tool-source.js'
import { TaskCall } from './task-call.js'
import { dialogueOf, nameQuestions, QUESTIONS, sortAnswers, type Turn } from './task-questions.js'
import { RESULT, type TaskTimes } from './task-view.js'

/** The call that the store keeps as the input of its task. */
interface TaskInput {
  readonly name: string
  readonly arguments: Params
  readonly capabilities: ClientCapabilities
  readonly protocolVersion: Revision
  readonly principal?: Principal | undefined
  readonly meta?: Params | undefined
}

export const NO_TASK = 'the task does not exist, or its time is over'

/** The skill of a task whose tool stands in no list of all callers: any worker takes it. */
const SKILL = 'tools/call'

/** The queue of these tasks: workers of other queues of the store do not take them. */
const QUEUE = 'mcp'

/** Time in ms that a task with unanswered questions may take until it waits for input again. */
const ASK_AGAIN_MS = 5_000

export interface ToolTasksOptions {
  readonly registry: Registry
  readonly limits: Limits
  readonly log: Log
  readonly store: TaskStore
  /** Reads the credential of a task again when it starts. */
  readonly authenticate: Authenticate | undefined
}

/** Calls that run as tasks, in their own queue of a store. */
export class ToolTasks {
  readonly #options: ToolTasksOptions
  readonly #store: TaskStore
  readonly times: TaskTimes
  #worker: TaskWorker | undefined

  constructor (options: ToolTasksOptions) {
    this.#options = options
    this.#store = options.store
    this.times = { ttlMs: options.limits.taskTtlMs, pollMs: options.limits.taskPollMs }
  }

  start (): void {
    const { taskConcurrency: concurrency, taskTimeoutMs: timeoutMs, taskInputMs: inputMs } = this.#options.limits
    // while a new version takes the place of an old one, they have different tools
    const serves = (skill: string): boolean => skill === SKILL || this.#options.registry.listsTool(skill)
    const options = { concurrency, timeoutMs, inputMs, queue: QUEUE, serves }
    this.#worker = this.#store.work((task, context) =>
      traceTask({ skill: SKILL, attempt: context.attempt, metadata: task.metadata }, () => this.#run(task, context)), options)
  }

  async stop (): Promise<void> {
    await this.#worker?.stop()
  }

  /** Creates the task of a call; it is durable when this resolves. */
  async create (call: Call, name: string, args: Params, { turn, metadata }: TaskBeginning): Promise<TaskRecord> {
    const { capabilities, protocolVersion, principal } = call
    const input: TaskInput = { name, arguments: args, capabilities, protocolVersion, principal, meta: forwardedMeta(call.meta) }
    const trace = traceLinks() as Params | undefined
    const skill = (await this.#options.registry.catalog('tools')).get(name)?.definition.name ?? SKILL
    // with the context its handler begins once the turn is stored, which it reads
    const contextId = turn?.conversation
    return (await this.#store.create(ownerOf(call), { skill, input, queue: QUEUE, metadata: { ...metadata, ...trace }, contextId, turn })).task
  }

  /** @throws RpcError -32602 if the caller has no such task, or may not use its tool */
  async get (call: Call, taskId: unknown): Promise<TaskRecord> {
    const task = typeof taskId === 'string' ? await this.#find(call, taskId) : undefined
    if (task === undefined) throw invalidParams(NO_TASK)
    return task
  }

  async has (call: Call, taskId: string): Promise<boolean> {
    return await this.#find(call, taskId) !== undefined
  }

  async #find (call: Call, taskId: string): Promise<TaskRecord | undefined> {
    const task = await this.#store.get(ownerOf(call), taskId)
    return task !== null && await this.#mayUse(call, task) ? task : undefined
  }

  async #mayUse ({ principal }: Call, { input }: TaskRecord): Promise<boolean> {
    return await this.#options.registry.mayUseTool((input as TaskInput).name, principal)
  }

  /** @throws RpcError -32602 for a cursor that this list did not issue */
  async list (call: Call, cursor: unknown): ReturnType<TaskStore['list']> {
    if (cursor !== undefined && typeof cursor !== 'string') throw invalidParams('`cursor` must be a string')
    // unknown callers share one owner: without their ids, tasks of others are not shown
    if (call.principal === undefined && call.sessionId === undefined) return { tasks: [] }
    try {
      const page = await this.#store.list(ownerOf(call), { cursor })
      if (mayUseAll(call.principal)) return page
      const may = await Promise.all(page.tasks.map(async task => await this.#mayUse(call, task)))
      return { ...page, tasks: page.tasks.filter((_task, i) => may[i]) }
    } catch (err) {
      if ((err as { code?: unknown }).code !== 'TASK_INVALID_CURSOR') throw err
      throw invalidParams('the list does not have this cursor; begin without one')
    }
  }

  /** Cancels a task; `isCancelled` is false if it had ended before. */
  async cancel (call: Call, taskId: unknown): Promise<{ readonly task: TaskRecord, readonly isCancelled: boolean }> {
    await this.get(call, taskId)
    const { outcome, task } = await this.#store.cancel(ownerOf(call), taskId as string)
    if (task === null) throw invalidParams(NO_TASK)
    return { task, isCancelled: outcome === 'canceled' }
  }

  /** Stores answers to open questions; others are ignored. @throws RpcError -32602 for one of the wrong form */
  async provideInput (call: Call, taskId: unknown, given: Params): Promise<void> {
    for (;;) {
      const task = await this.get(call, taskId)
      const { fit, unfit } = sortAnswers(given, dialogueOf(task))
      if (unfit.length > 0) throw invalidParams(`the answer to ${unfit.join(', ')} has the wrong form`)
      if (Object.keys(fit).length === 0 || task.completedAt !== null) return
      const message = { parts: [{ type: 'text' as const, text: JSON.stringify(fit) }] }
      const { outcome } = await this.#store.provideInput(ownerOf(call), task.id, message, { principal: call.principal })
      if (outcome !== 'not-waiting') return
      // it runs for a moment, to wait for the answers that are still missing
      await this.#waitForInput(call, task, ASK_AGAIN_MS)
    }
  }

  /** The task once it has ended or waits for input. */
  async waitUntilSettled (call: Call, taskId: unknown): Promise<TaskRecord> {
    for (;;) {
      const task = await this.get(call, taskId)
      if (task.completedAt !== null || task.state === 'input-required') return task
      await this.#waitForInput(call, task)
    }
  }

  /** Reports each change of the state of a task, until the task or the call ends. */
  async follow (call: Call, taskId: string, onChange: (task: TaskRecord) => void): Promise<void> {
    const task = await this.get(call, taskId)
    const events = this.#store.events(ownerOf(call), task.id, { after: task.seq, signal: call.signal })
    for await (const { state } of events) {
      if (state !== undefined) onChange(await this.get(call, taskId))
    }
  }

  /** Waits until a task waits for input or has ended. @throws RpcError with status 503 after `maxMs` */
  async #waitForInput (call: Call, { id, seq }: TaskRecord, maxMs?: number): Promise<void> {
    const late = maxMs === undefined ? undefined : AbortSignal.timeout(maxMs)
    for await (const { state } of this.#store.events(ownerOf(call), id, { after: seq, signal: late ?? call.signal })) {
      if (state === 'input-required') return
    }
    if (late?.aborted === true) throw overload('the task does not take the answer at the moment; try again shortly')
    if (call.signal.aborted) throw call.signal.reason
  }

  async #run (task: TaskRecord, { signal, emit, attempt }: TaskContext): Promise<void> {
    const { registry } = this.#options
    const log = new BoundLog(this.#options.log, { taskId: task.id, attempt })
    const dialogue = dialogueOf(task)
    if (dialogue.open.size > 0) {
      // some of its questions are answered; it waits for the others
      await emit({ state: 'input-required' })
      return
    }
    const { name, arguments: args, capabilities, protocolVersion, principal: creator, meta } = task.input as TaskInput
    // who answered its last questions
    const maker = task.metadata.principal as Principal | undefined ?? creator
    const principal = currentCaller(this.#options.authenticate, maker)
    const { answers, state } = dialogue
    const request = { id: task.id, headers: {} }
    const { id, turn, metadata, contextId } = task
    const call = new TaskCall({ request, task: { id, turn, attempt, metadata, contextId }, signal, principal, log, capabilities, protocolVersion, meta, answers, state })
    let update: TaskUpdate
    try {
      if (maker !== undefined && principal === undefined) throw invalidParams('the credential of this call does not count any more; call again with another one')
      const entry = await registry.mayUseTool(name, principal) ? (await registry.catalog('tools')).get(name) : undefined
      if (entry === undefined) throw invalidParams(`the tool ${name} is not offered any more`)
      const content = sendable(name, await runTool(entry, args, call), call)
      // the abort made it fail, not the tool: the next worker runs it again
      if (signal.aborted && content.isError === true) throw signal.reason
      update = { artifact: { name: RESULT, content }, state: 'completed' }
    } catch (err) {
      const error = protocolError(err)
      if (call.questions === undefined && (signal.aborted || error === undefined)) throw err
      update = { state: 'failed', error: { code: String(error?.code), message: String(error?.message) } }
    }
    // a question counts, whatever the tool returned after it
    if (call.questions !== undefined) {
      const content: Turn = { asked: nameQuestions(call.questions, dialogue), state: call.state }
      update = { artifact: { name: QUESTIONS, content }, state: 'input-required' }
    }
    await emit(update)
  }
}

/** The result, or the failure of one that JSON cannot represent. */
function sendable (name: string, result: ToolResult, call: TaskCall): ToolResult {
  try {
    resultJson(name, result)
    return result
  } catch (err) {
    return failedResult(failureText(err, call, name))
  }
}

/**
 * The owner of a caller's tasks: its principal, or its session, or none that is known, which has no share in a store.
 * Ids of tasks cannot be guessed.
 */
function ownerOf ({ principal, sessionId }: Call): string {
  return ownerWithin('mcp', principal?.owner ?? (sessionId === undefined ? ANONYMOUS : ` session ${sessionId}`))
}
