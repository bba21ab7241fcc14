import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskCanceledError } from '../basics/errors.js'
import { Executor, type Running } from '../execution/executor.js'
import type { TaskRun } from '../execution/run-task.js'
import type { TaskFold } from '../log/fold-task.js'
import { nothing, OwnerPlaces, type WorkerLimits } from '../execution/owner-places.js'
import { isTerminal, type TaskRecord } from '../contract/task.js'
import type { TaskHandler, TaskWorker } from '../contract/task-store.js'
import { UnservedSkills } from '../execution/unserved-skills.js'
import { endWaiting } from './end-waiting.js'
import type { StoreContext } from './store-context.js'
import type { Claim, Fence } from './task-log.js'
import type { TaskRow } from './task-statements.js'

/** Tasks claimed, or leases renewed, in one entry of a group commit. */
const BATCH = 64

/** A slot of a worker for a task that is being created. */
export interface Place { readonly worker: Worker, readonly owner: string, readonly claim: Claim, readonly fence: Fence, readonly release: () => void }

/** Takes tasks of one queue under leases and runs them. */
export class Worker implements TaskWorker {
  readonly #context: StoreContext
  readonly queue: string
  readonly #limits: WorkerLimits
  readonly #id = randomUUID()
  readonly #executor: Executor<Fence>
  #filling: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  /** Places reserved for tasks that are being created. */
  #reserved = 0
  /** Whether tasks may wait in the queue: a new one must not overtake them. */
  #queued = true
  readonly #owners: OwnerPlaces
  readonly #unserved: UnservedSkills
  /** The owner that was served last. */
  #served = ''
  /** Waiting tasks that the worker may not take now are looked at again by the next timer. */
  #isPaused = false

  constructor (context: StoreContext, handler: TaskHandler, queue: string, limits: WorkerLimits) {
    this.queue = queue
    this.#context = context
    this.#limits = limits
    this.#owners = new OwnerPlaces(limits)
    this.#unserved = new UnservedSkills(limits.serves)
    const { settings, commit, tasks, talks, readers, nudge, checkSpace, grew } = context
    this.#executor = new Executor({
      now: Date.now,
      append: (fence, id, updates) => commit.write(() => {
        const events = tasks.append(fence, id, updates)
        if (updates.turn !== undefined) talks.answer(id, fence.turn, fence.attempt, updates.turn, events[0]!.at)
        return events
      }),
      stateOf: ({ key }) => tasks.findKey(key)?.state,
      written (fence, owner, events, chars) {
        grew(owner, chars)
        readers.written(fence.key, events, chars)
        nudge()
      },
      checkSpace,
      saveSnapshot: ({ key }, seq, snapshot) => commit.write(() => { tasks.saveSnapshot(key, seq, snapshot) }),
      release: async fences => { await this.#release(fences) }
    }, { ...settings, settleMs: settings.leaseMs }, handler, limits.timeoutMs)
  }

  /** Takes a task for each free place, unless the queue is known to be empty. */
  fill (): void {
    if (!this.#queued || this.#isPaused || this.#filling !== undefined || this.#stopped !== undefined) return
    const free = Math.min(BATCH, this.#free)
    if (free <= 0) return
    const { tasks } = this.#context
    const skip = skillList(this.#unserved.list())
    if (!tasks.hasClaimable({ queue: this.queue, now: Date.now(), after: this.#served, freeOf: this.#owners.freeOf, skip })) {
      this.#queued = tasks.hasWaiting(this.queue, skip)
      return
    }
    this.#filling = this.#claim(free, skip).finally(() => {
      this.#filling = undefined
      this.fill()
    })
  }

  get #free (): number { return this.#limits.concurrency - this.#executor.size - this.#reserved }

  /** Reserves a slot for a new task where one is free and no task waits. Then call `giveBack` or `begin`. */
  reserve (owner: string, bytes: number, skill: string): Place | undefined {
    if (this.#stopped !== undefined || this.#queued || this.#free <= 0 || this.#owners.freeOf(owner) <= 0 || !this.#unserved.serves(skill)) return undefined
    const release = this.#owners.hold(owner, bytes)
    if (release === undefined) return undefined
    this.#reserved++
    this.#owners.add(owner, 1)
    return { worker: this, owner, release, claim: { worker: this.#id, due: Date.now() + this.#context.settings.leaseMs }, fence: { key: 0, attempt: 0, turn: 0, worker: this.#id } }
  }

  /** A task may wait: places are reserved again once the queue was read. */
  queued (): void {
    this.#queued = true
    this.#isPaused = false
  }

  giveBack ({ owner, release }: Place): void {
    this.#reserved--
    this.#owners.add(owner, -1)
    release()
  }

  /**
   * Runs a task in its reserved place, possibly before its creation is on disk: its updates stand behind its creation
   * in the queue of commits. Resolves to the task after this attempt; undefined where the attempt did not end it.
   */
  async begin (place: Place, fold: TaskFold): Promise<TaskRecord | undefined> {
    const { fence, release } = place
    if (this.#stopped !== undefined) {
      this.giveBack(place)
      await this.#release([fence])
      return undefined
    }
    this.#reserved--
    let unwritten: Error | undefined
    await this.#run(fence, fold, 0, run => {
      unwritten = run.unwritten
      release()
    })
    if (fold.state !== 'working') return fold.record()
    // another attempt follows once the store can write: that may take any time
    if (unwritten !== undefined) throw unwritten
    return undefined
  }

  /** The creation of a task that was begun has failed. */
  abandon (id: string, reason: Error): void { this.#executor.abort(id, reason) }

  async #claim (limit: number, skip: string | null): Promise<void> {
    const { commit, tasks, readers, settings, nudge } = this.#context
    // @keyed none: it lives for one claim; the tasks of it
    const held = new Map<number, () => void>()
    // @keyed none: it lives for one claim; the owners of its tasks
    const owners = new Set<string>()
    const letGo = (): void => {
      for (const release of held.values()) release()
      held.clear()
      owners.clear()
    }
    // claims one after the other pass over the skills that the one before has met
    let met = false
    const serves = ({ skill }: TaskRow): boolean => {
      const served = this.#unserved.serves(skill)
      met ||= !served
      return served
    }
    const admit = ({ key, owner, bytes }: TaskRow): boolean => {
      const release = this.#owners.hold(owner, bytes, !owners.has(owner) && !this.#owners.has(owner))
      if (release === undefined) return false
      owners.add(owner)
      held.set(key, release)
      return true
    }
    try {
      const { leaseMs, retries } = settings
      const taken = await commit.write(() => tasks.take({
        queue: this.queue, worker: this.#id, now: Date.now(), limit, leaseMs, retries, after: this.#served, freeOf: this.#owners.freeOf, skip, serves, admit
      }), letGo)
      this.#isPaused = taken.length === 0 && !met
      for (const { row, event } of taken) {
        readers.written(row.key, [event], 0)
        this.#served = row.owner
        if (row.state === 'working') await this.#start(row, held.get(row.key) ?? nothing)
        else nudge()
      }
    } catch (error) {
      letGo()
      // the next timer retries
      settings.log.warn({ err: error }, 'no task could be claimed')
      await delay(settings.claimMs, undefined, { ref: false })
    }
  }

  async #start (row: TaskRow, release: () => void): Promise<void> {
    const { key, attempt, turn, seq } = row
    const { tasks } = this.#context
    const fold = await tasks.fold(row)
    // canceled since the commit
    if (isTerminal(fold.state)) return release()
    this.#owners.add(row.owner, 1)
    void this.#run({ key, attempt, turn, worker: this.#id }, fold, seq > 2 ? tasks.size(key) : 0, release)
  }

  #run (fence: Fence, fold: TaskFold, size: number, release: (run: TaskRun) => void): Promise<void> {
    return this.#executor.run(fence, fold, size, ({ end, run }) => {
      this.#owners.add(run.task.owner, -1)
      release(run)
      if (end !== 'release') this.fill()
    })
  }

  /** Ends leases that are longer than leases can be, since the clock was set back. */
  expireLate (slackMs: number): void {
    const { commit, tasks, settings, nudge } = this.#context
    const now = Date.now()
    const latest = now + settings.leaseMs + slackMs
    if (!tasks.hasLate(this.queue, latest)) return
    commit.write(() => { tasks.expireLate(this.queue, latest, now) }).then(() => { nudge(true) }, () => {})
  }

  /** Renews the leases, and aborts runs whose lease is lost. */
  beat (): void {
    const { commit, tasks, settings } = this.#context
    const all = this.#inDatabase()
    for (let i = 0; i < all.length; i += BATCH) {
      const some = all.slice(i, i + BATCH)
      const due = Date.now() + settings.leaseMs
      commit.write(() => some.filter(({ fence }) => !tasks.renew(fence, due))).then(lost => { this.#drop(lost) }, (error: unknown) => {
        if (!isTaskError(error, 'TASK_STORE_CLOSED')) settings.log.warn({ err: error }, 'leases could not be renewed')
      })
    }
  }

  /** After a commit of another process, which may have canceled or taken over tasks. */
  look (): void {
    this.#drop(this.#inDatabase().filter(({ fence }) => !this.#context.tasks.holds(fence)))
  }

  /** The running tasks that are in the database. */
  #inDatabase (): Running<Fence>[] { return this.#executor.all.filter(({ fence }) => fence.key !== 0) }

  #drop (lost: readonly Running<Fence>[]): void {
    for (const running of lost) {
      if (!this.#executor.runs(running)) continue
      this.#executor.abortLost(running, this.#context.tasks.findKey(running.fence.key)?.state)
    }
  }

  /**
   * Fails tasks of the queue that have waited for input longer than `inputMs`, and those that were begun and that no
   * worker goes on with for `inputTtlMs`.
   */
  async endWaiting (): Promise<void> {
    const { inputMs, timeoutMs } = this.#limits
    const { tasks, settings } = this.#context
    if (inputMs !== undefined) {
      const before = Date.now() - inputMs
      await endWaiting(this.#context, limit => tasks.waitingInput(this.queue, before, limit))
    }
    const skills = skillList(this.#unserved.list())
    if (skills === null) return
    this.#unserved.clear()
    // the store knows when the last attempt began, not when it was left
    const before = Date.now() - settings.inputTtlMs - timeoutMs
    await endWaiting(this.#context, limit => tasks.left(this.queue, Date.now(), before, skills, limit))
  }

  /** This process has canceled a task. */
  canceled (id: string): void {
    this.#executor.abort(id, new TaskCanceledError(id))
  }

  stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#stopped ??= this.#stop(drainMs)
    return this.#stopped
  }

  async #stop (drainMs: number): Promise<void> {
    await this.#filling
    await this.#executor.stop(drainMs)
  }

  async #release (fences: readonly Fence[]): Promise<void> {
    const { commit, tasks, settings, nudge } = this.#context
    await commit.write(() => { for (const fence of fences) tasks.release(fence) })
      .then(() => { nudge(true) }, (error: unknown) => {
        settings.log.warn({ err: error, tasks: fences.length }, 'leases could not be released and will expire')
      })
  }
}

/** The skills as a parameter of a statement; null for none. */
function skillList (skills: readonly string[]): string | null { return skills.length === 0 ? null : JSON.stringify(skills) }
