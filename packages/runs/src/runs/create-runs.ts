import { isAnswer, type AnsweredTurn, type Authenticate, type BegunTurn, type Conversations, type Log, type StepView, type TurnPlace, type TurnTask, type Vac, type Vacs } from '@polyvac/core'
import {
  accessKey, callback, callerFields, conversationAccess, flag, followsStored, integer, InvalidRequestError, memoryBudget, milliseconds, optional, readOptions, releaseContext, required, silentLog, SKILLS,
  stepsFor, traceLinks, vacOfSkill, withMethod, type AbortSignalLike, type LatestRun, type NewRun, type OptionRules, type Run, type RunCaller, type RunItem, type RunQuery, type RunReading, type Runs,
  type RunTurn, type StartedRun
} from '@polyvac/core/plugin'
import { isName, isTaskError, isTerminal, isWaiting, type CreatedTask, type NewTask, type TaskHead, type TaskRecord, type TaskStore, type TaskWorker } from '@polyvac/tasks'
import { createHash, randomUUID } from 'node:crypto'
import { CallerTasks } from '../tasks/caller-tasks.js'
import { removeTask } from '../tasks/remove-task.js'
import { conversationsIn, turnAt } from '../conversation/stored-conversations.js'
import { keptFiles } from '../conversation/messages.js'
import { Turn, type TurnMetadata } from '../conversation/turn.js'
import { ConversationsNotKeptError, IdempotencyKeyReusedError, NoSuchRunError, RunInProgressError, RunNotWaitingError, RunsOptionsError } from '../errors.js'
import { runItems } from './run-items.js'
import { isOwnerOfRuns, ownerOfRuns, runsOwner } from '../run-owner.js'
import { taskStatesOf } from '../run-states.js'
import { viewRun } from './run-view.js'
import type { RunInput, RunMetadata } from './run-input.js'
import { runVacs } from './run-vac.js'
import { noteReader } from './unread.js'

export interface RunsOptions {
  /** The VACs that answer. */
  readonly vacs: Vacs
  /** The store of the runs, open. */
  readonly tasks: TaskStore
  /** Reads the credential of a run again when it starts: the `authenticate` of the plugins that take the runs. */
  readonly authenticate?: Authenticate | undefined
  /** False: questions and answers are not kept as conversations, and ids of conversations are refused. Default true. */
  readonly conversations?: boolean | undefined
  /** Runs at once in this process, of which one owner may have a quarter. Default 16. */
  readonly concurrency?: number | undefined
  /** Total time for an interpreter in ms, where a request sets none. Default 120,000. */
  readonly timeoutMs?: number | undefined
  readonly log?: Log | undefined
}

const OPTIONS = {
  vacs: required(withMethod('get', 'what createVacs() returns')),
  tasks: required(withMethod('create', 'a task store, such as sqliteTaskStore()')),
  authenticate: callback(),
  conversations: flag(true),
  concurrency: integer(16, { min: 1 }),
  timeoutMs: milliseconds(120_000),
  log: optional('a log', value => typeof value === 'object' && value !== null)
} satisfies OptionRules<RunsOptions>

/** The queue of runs: workers of other queues of the store do not take them. */
const QUEUE = 'runs'

/** Longer than the longest time that a request sets: only an interpreter that ignores its own timeout reaches it. */
const MAX_RUN_MS = 3_660_000

/** Runs, and the worker of this process that executes them. */
export interface OwnRuns extends Runs {
  /** Takes no more runs, and releases those in progress to other processes. `tasks.close()` does the same. */
  stop (): Promise<void>
}

/**
 * Makes durable answers possible: protocol plugins that get the result as `runs` can answer in the background, continue
 * a stream where its reader left, and repeat the answer of a request. This process executes them from now on, also
 * those that it or another one has left.
 * @throws RUNS_OPTIONS
 * @example
 * const tasks = sqliteTaskStore({ path: 'tasks.db' })
 * await tasks.open()
 * app.addHook('onClose', () => tasks.close())
 * await app.register(vacPlugin, { vacs, runs: createRuns({ vacs, tasks }) })
 */
export function createRuns (options: RunsOptions): OwnRuns {
  const { vacs, tasks, authenticate, conversations: keeps, concurrency, timeoutMs, log = silentLog } = readOptions(OPTIONS, options, RunsOptionsError, 'createRuns')
  const conversations = keeps ? conversationsIn(tasks, vacs) : undefined
  const worker = tasks.work(runVacs({ tasks, vacs, authenticate, conversations, timeoutMs, log }), {
    queue: QUEUE,
    concurrency,
    timeoutMs: MAX_RUN_MS,
    hold: holdMemory,
    // while a new version takes the place of an old one, they have different VACs
    serves: skill => vacs.names.some(name => skillOf(name) === skill)
  })
  return new StoredRuns(vacs, tasks, worker, conversations)
}

/** What decides where a question goes. */
type PlacedRun = Pick<NewRun, 'vac' | 'question' | 'files' | 'history' | 'conversation' | 'sendsAll' | 'replaces' | 'previous' | 'other'>

class StoredRuns implements OwnRuns {
  readonly conversations: Conversations | undefined
  readonly #vacs: Vacs
  readonly #tasks: TaskStore
  readonly #callers: CallerTasks
  readonly #worker: TaskWorker

  constructor (vacs: Vacs, tasks: TaskStore, worker: TaskWorker, conversations: Conversations | undefined) {
    this.conversations = conversations
    this.#vacs = vacs
    this.#tasks = tasks
    this.#callers = new CallerTasks(tasks, caller => runsOwner(caller?.owner))
    this.#worker = worker
  }

  async stop (): Promise<void> { await this.#worker.stop() }

  async start (caller: RunCaller, run: NewRun): Promise<StartedRun> {
    const { vac, question, history, extra, timeoutMs, isWhole, key, other, store = true, previous, notes } = run
    const owner = keyOf(caller)
    const waiting = previous && await this.#waitingAt(caller, vac, previous)
    if (waiting !== undefined) return await this.#reply(caller, waiting, run)
    const place = await this.#place(caller, run)
    const keeps = store && this.conversations !== undefined
    const input: RunInput = { question, history, extra, timeoutMs, isWhole, request: key?.request, appends: followsStored(run) && history.length > 0 ? true : undefined, notes }
    const metadata: RunMetadata = {
      protocol: run.protocol,
      requestId: run.requestId,
      owner: caller.principal?.owner,
      caller: callerFields(caller.principal),
      steps: run.steps,
      unreadMs: run.unreadMs,
      ...keeps && { ...turnMetadata(caller, vac, run.steps), ...run.conversation === undefined && previous === undefined && history.length === 0 && { begins: true } },
      ...place !== undefined && !keeps && { history: { ...place, files: [], sent: [], dropped: [], copied: undefined } }
    }
    // the request only waits from here on: the run is in a separate trace
    const trace = traceLinks()
    releaseContext()
    const created = await this.#create(owner, {
      skill: skillOf(vac.name),
      input,
      // a repeated request need not have the id that the service makes
      contextId: place?.conversation === run.conversation ? run.conversation : undefined,
      metadata: { ...metadata, ...trace },
      queue: QUEUE,
      id: await this.#newId(caller, run),
      idempotencyKey: key === undefined ? undefined : idempotencyKeyOf(caller, run.protocol, key),
      isNamedByKey: key?.isId,
      turn: keeps && place !== undefined ? turnAt(place) : undefined
    }, place)
    const { task } = created
    if (created.created && keeps && place !== undefined) {
      for (const dropped of place.dropped ?? []) await removeTask(this.#tasks, dropped)
      if (other === 'supersede') await this.#supersede(place, task)
    }
    return { run: viewRun(task), isNew: created.created, settle: async signal => await this.#settle(created, signal) }
  }

  /** The id of a run whose key is its id. Undefined for any other key, and where a turn has the id of a deleted run. */
  async #newId (caller: RunCaller, { protocol, key }: NewRun): Promise<string | undefined> {
    if (key?.isId !== true || !hasIdentity(caller)) return undefined
    const id = namedId(caller, protocol, key.name)
    const isTaken = await this.#tasks.conversations?.turnOf(id, 0) !== undefined && await this.#tasks.head(keyOf(caller), id) === null
    return isTaken ? undefined : id
  }

  /** The run of a turn that waits for a reply; undefined for any other turn. @throws RUN_NOT_FOUND */
  async #waitingAt (caller: RunCaller, vac: Vac, { id, turn }: RunTurn): Promise<TaskHead | undefined> {
    const task = await this.#find(caller, undefined, id)
    return isWaiting(task.state) && task.turn === turn && task.skill === skillOf(vac.name) ? task : undefined
  }

  /** Continues a run that asks back. */
  async #reply (caller: RunCaller, { owner, id }: TaskHead, { question, files, notes, requestId, steps, unreadMs }: NewRun): Promise<StartedRun> {
    const metadata = { caller: callerFields(caller.principal), requestId, steps, unreadMs }
    const task = await this.#provide(owner, id, { question, files, notes }, metadata)
    return { run: viewRun(task), isNew: true, settle: async signal => await this.#settle({ task, created: true }, signal) }
  }

  async #provide (owner: string, id: string, { question: text, files, notes }: Pick<NewRun, 'question' | 'files' | 'notes'>, metadata: object): Promise<TaskRecord> {
    const message = { id: randomUUID(), parts: [{ type: 'text' as const, text }], ...notes !== undefined && { metadata: { notes } } }
    const { outcome, task } = await this.#tasks.provideInput(owner, id, message, { ...metadata }, { question: text, files: keptFiles(files) })
    if (outcome === 'not-found') throw new NoSuchRunError()
    if (outcome === 'not-waiting') throw new RunNotWaitingError(viewRun(task).state)
    return task
  }

  async #settle (created: CreatedTask, signal: AbortSignalLike): Promise<Run> {
    const leave = noteReader(this.#tasks, created.task)
    try {
      return viewRun(await this.#callers.settle(created, signal))
    } finally {
      leave()
    }
  }

  /** Where the question goes; undefined where conversations are not kept, and it names none. */
  async #place (caller: RunCaller, run: PlacedRun): Promise<TurnPlace | undefined> {
    const { vac, question, files, history, conversation, sendsAll, replaces, previous, other } = run
    if (conversation !== undefined && !isName(conversation)) {
      throw new InvalidRequestError([{ path: 'the id of the conversation', message: 'must be a text of 1 to 256 characters without NUL and halves of surrogate pairs' }])
    }
    if (this.conversations === undefined) {
      if (conversation === undefined && previous === undefined) return undefined
      throw new ConversationsNotKeptError(this.#tasks.conversations !== undefined ? 'createRuns() has the option `conversations: false`' : 'the task store keeps none')
    }
    return await this.conversations.place(caller, {
      vac: vac.name,
      question,
      files,
      conversation,
      sent: followsStored(run) ? [] : history,
      sendsAll,
      replaces,
      after: previous,
      isExclusive: other === 'refuse'
    })
  }

  async beginTurn (caller: RunCaller, { vac, question, conversation }: Parameters<Runs['beginTurn']>[1]): Promise<BegunTurn> {
    const turn = await this.#place(caller, { vac, question, conversation, history: [] })
    return { turn: turn!, metadata: { ...turnMetadata(caller, vac) } }
  }

  async answeredTurn (task: TurnTask, metadata: TurnMetadata): Promise<AnsweredTurn> {
    return new Turn(this.conversations, task, task.attempt, metadata)
  }

  async #create (owner: string, task: NewTask, place: TurnPlace | undefined): Promise<CreatedTask> {
    try {
      return await this.#tasks.create(owner, task)
    } catch (err) {
      if (isTaskError(err, 'TASK_CONFLICT')) throw new IdempotencyKeyReusedError(task.isNamedByKey === true ? 'id of a run' : 'Idempotency-Key')
      if (isTaskError(err, 'TASK_TURN_IN_PROGRESS')) throw new RunInProgressError(JSON.stringify(place?.conversation))
      throw err
    }
  }

  /** Cancels what answers earlier questions of the conversation. Of two questions at once the later one goes on. */
  async #supersede ({ owner, vac, conversation: id }: TurnPlace, { id: own }: TaskRecord): Promise<void> {
    for (const { task } of await this.#tasks.conversations?.open({ owner, vac, id }) ?? []) {
      if (task?.id === own) return
      if (task !== undefined) await this.#tasks.cancel(task.owner, task.id, 'another question of its conversation has taken its place')
    }
  }

  /** Readers hold it, so it has no text. */
  async #find ({ principal }: RunCaller, vac: string | undefined, id: string): Promise<TaskHead> {
    return ofVac(vac, await this.#callers.head(principal, id))
  }

  /** The owner of a run that the caller does not own, and reads as an administrator; undefined for any other. */
  async #otherOwner ({ isAdmin, readsAll }: RunCaller, id: string): Promise<string | undefined> {
    const owner = readsAll === true && isAdmin ? await this.#tasks.ownerOf?.(id) : undefined
    return owner !== undefined && isOwnerOfRuns(owner) ? owner : undefined
  }

  async get (caller: RunCaller, vac: string | undefined, id: string): Promise<Run> {
    const own = await this.#callers.get(caller.principal, id)
    const other = own === undefined ? await this.#otherOwner(caller, id) : undefined
    if (other !== undefined) return viewRun(ofVac(vac, await this.#tasks.get(other, id) ?? undefined))
    const task = ofVac(vac, own)
    noteReader(this.#tasks, task)()
    return viewRun(task)
  }

  async list (caller: RunCaller, { vac, states, conversation, limit, cursor }: RunQuery): ReturnType<Runs['list']> {
    // unknown callers share one owner: without their ids, runs of others are not shown
    if (caller.principal === undefined && !caller.isLocal) return { runs: [] }
    const page = await this.#callers.list(caller.principal, { states: states && taskStatesOf(states), contextId: conversation, limit, cursor }, vac)
    return { runs: page.tasks.map(task => ({ ...viewRun(task), answer: undefined, asked: [] })), nextCursor: page.nextCursor }
  }

  async named (caller: RunCaller, vac: string, protocol: string, key: string): Promise<Run | undefined> {
    const task = hasIdentity(caller) ? await this.#callers.get(caller.principal, namedId(caller, protocol, key)) : undefined
    if (task === undefined || task.skill !== skillOf(vac)) return undefined
    noteReader(this.#tasks, task)()
    return viewRun(task)
  }

  async latest (caller: RunCaller, vac: string, name: string): Promise<LatestRun | undefined> {
    const task = await this.#latestIn(caller, vac, name) ?? await this.#callers.get(caller.principal, name)
    if (task === undefined || task.skill !== skillOf(vac)) return undefined
    const { owner, id, state, updatedAt } = task
    const readAt = (await this.#tasks.lastRead(owner, id))?.at ?? 0
    return { run: { ...viewRun(task), answer: undefined, asked: [] }, isRead: isTerminal(state) && readAt >= updatedAt }
  }

  async #latestIn (caller: RunCaller, vac: string, conversation: string): Promise<TaskRecord | undefined> {
    if (conversationAccess(caller, conversation) === 'none') return undefined
    // what a later question has cancelled may have changed last
    for (const states of [taskStatesOf(['queued', 'running']), undefined]) {
      const { tasks: [task] } = await this.#callers.list(caller.principal, { contextId: conversation, states, limit: 1 }, vac)
      if (task !== undefined) return task
    }
    return undefined
  }

  async noteEnd (caller: RunCaller, id: string): Promise<void> {
    const { owner } = await this.#find(caller, undefined, id)
    await this.#tasks.markRead(owner, id, 0)
  }

  async * follow (caller: RunCaller, vac: string | undefined, id: string, after: number, signal: AbortSignalLike, reading: RunReading = {}): AsyncGenerator<RunItem, void> {
    const own = await this.#callers.head(caller.principal, id)
    const other = own === undefined ? await this.#otherOwner(caller, id) : undefined
    const task = ofVac(vac, other === undefined ? own : await this.#tasks.head(other, id) ?? undefined)
    // the reading of an administrator does not keep it alive
    const leave = other === undefined ? noteReader(this.#tasks, task) : () => {}
    try {
      for await (const item of runItems(this.#tasks, task, { ...reading, after, signal, view: this.#viewOf(caller, task) })) {
        // a reader that is slow with the end has not got it yet
        if ('chunk' in item && typeof item.chunk !== 'string' && isAnswer(item.chunk)) leave()
        yield item
      }
    } finally {
      leave()
    }
  }

  /** What a reader sees of the steps that the log has. */
  #viewOf ({ isAdmin }: RunCaller, { metadata: { steps }, skill }: TaskHead): StepView | undefined {
    const name = vacOfSkill(skill) ?? skill
    return steps === undefined || !this.#vacs.has(name) ? undefined : stepsFor(this.#vacs.get(name).config, true, () => isAdmin)
  }

  async cancel (caller: RunCaller, vac: string | undefined, id: string): Promise<Run> {
    const { owner } = await this.#find(caller, vac, id)
    const { task } = await this.#tasks.cancel(owner, id)
    if (task === null) throw new NoSuchRunError()
    return viewRun(task)
  }

  async delete (caller: RunCaller, vac: string | undefined, id: string): Promise<void> {
    await removeTask(this.#tasks, await this.#find(caller, vac, id))
  }

  async continue (caller: RunCaller, vac: string | undefined, id: string, text: string): Promise<Run> {
    const { owner } = await this.#find(caller, vac, id)
    return viewRun(await this.#provide(owner, id, { question: text }, { caller: callerFields(caller.principal) }))
  }
}

function turnMetadata ({ isAdmin }: RunCaller, { config }: Vac, steps?: StepView): TurnMetadata {
  return { isTurn: true, turnSteps: steps ?? stepsFor(config, true, () => isAdmin) }
}

/** @throws RUN_NOT_FOUND for the run of another VAC, as for an unknown one */
function ofVac<Task extends TaskHead> (vac: string | undefined, task: Task | undefined): Task {
  if (task === undefined || (vac !== undefined && task.skill !== skillOf(vac))) throw new NoSuchRunError()
  return task
}

function skillOf (vac: string): string {
  return SKILLS.stream.prefix + vac
}

function keyOf ({ principal }: RunCaller): string {
  return runsOwner(principal?.owner)
}

/**
 * The idempotency key for the store. Credentials of one owner with other scopes have separate keys, as do protocols.
 * Unknown callers share one owner: their keys count only with the same request, so that none shows to another one.
 */
function idempotencyKeyOf ({ principal, isLocal }: RunCaller, protocol: string, { name, request }: NonNullable<NewRun['key']>): string {
  const bound = hasIdentity({ principal, isLocal }) ? '' : JSON.stringify(request)
  return createHash('sha256').update(JSON.stringify([protocol, accessKey(principal), name, bound])).digest('base64url')
}

/** Whether what a caller names is its own: unknown callers on other machines share one owner. */
function hasIdentity ({ principal, isLocal }: Pick<RunCaller, 'principal' | 'isLocal'>): boolean {
  return principal !== undefined || isLocal
}

/** The id of the run of a key that is its id, so that the run is found by the key. */
function namedId (caller: RunCaller, protocol: string, name: string): string {
  const digits = createHash('sha256').update(JSON.stringify([keyOf(caller), idempotencyKeyOf(caller, protocol, { name, request: undefined })])).digest('hex')
  return digits.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Counts a run in progress: its texts are in memory twice, in the record and in what the interpreter gets. */
function holdMemory (owner: string, bytes: number): (() => void) | undefined {
  const held = memoryBudget.hold('tasks', ownerOfRuns(owner))
  return held.tryGrow(2 * bytes) ? () => { held.release() } : undefined
}
