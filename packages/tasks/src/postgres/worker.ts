import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskCanceledError } from '../basics/errors.js'
import { attemptBody, lostBody } from '../log/event-bodies.js'
import { Executor } from '../execution/executor.js'
import { nothing, OwnerPlaces, type WorkerLimits } from '../execution/owner-places.js'
import type { TaskHandler, TaskWorker } from '../contract/task-store.js'
import { UnservedSkills } from '../execution/unserved-skills.js'
import type { Transaction } from './connection.js'
import { endWaiting } from './end-waiting.js'
import type { Passed } from './queue.js'
import { WORK, type StoreContext } from './store-context.js'
import { newClaim } from './task-keys.js'
import type { Claim, Fence } from './task-log.js'
import type { RecordRow } from './task-statements.js'

/** Tasks taken in one transaction. */
const BATCH = 64
/** Time for which the end of an attempt is written again while the database is away. */
const SETTLE_MS = 10_000

interface Taken { readonly row: RecordRow, readonly claim: Claim, readonly release: () => void }

/** Takes tasks of one queue and runs them. */
export class Worker implements TaskWorker {
  readonly queue: string
  readonly #context: StoreContext
  readonly #limits: WorkerLimits
  readonly #executor: Executor<Fence>
  readonly #owners: OwnerPlaces
  readonly #unserved: UnservedSkills
  #filling: Promise<void> | undefined
  #again = false
  #stopped: Promise<void> | undefined

  constructor (context: StoreContext, handler: TaskHandler, queue: string, limits: WorkerLimits) {
    this.queue = queue
    this.#context = context
    this.#limits = limits
    this.#owners = new OwnerPlaces(limits)
    this.#unserved = new UnservedSkills(limits.serves)
    const { settings, connection, appends, tasks, talks, snapshots, readers, checkSpace, grew } = context
    this.#executor = new Executor({
      now: () => connection.now(),
      async append (fence, id, updates) {
        if (updates.turn !== undefined) await talks.answer(id, fence.turn, fence.attempt, updates.turn)
        return await appends.add({ fence, id, updates })
      },
      stateOf: async ({ key }) => (await tasks.findKey(key))?.state,
      written ({ key }, owner, events, chars) {
        grew(owner, chars)
        readers.written(key, events, chars)
      },
      checkSpace,
      saveSnapshot: async ({ key, claim }, seq, data) => { await snapshots.add({ key, claim, seq, data }) },
      release: async fences => { await this.#release(fences) }
    }, { ...settings, settleMs: SETTLE_MS }, handler, limits.timeoutMs)
  }

  get isStopped (): boolean { return this.#stopped !== undefined }

  /** Takes a task for each free place, unless none waits. */
  fill (): void {
    if (this.isStopped) return
    if (this.#filling !== undefined) { this.#again = true; return }
    if (this.#executor.size >= this.#limits.concurrency) return
    this.#filling = this.#take().catch(async (error: unknown) => {
      if (isTaskError(error, 'TASK_STORE_CLOSED')) return
      // the next timer retries
      this.#context.settings.log.warn({ err: error }, 'no task could be claimed')
      await delay(this.#context.settings.claimMs, undefined, { ref: false })
    }).finally(() => {
      this.#filling = undefined
      if (!this.#again) return
      this.#again = false
      this.fill()
    })
  }

  async #take (): Promise<void> {
    const { connection, tasks, queue, readers, settings } = this.#context
    await queue.prepare(this.queue)
    const free = Math.min(BATCH, this.#limits.concurrency - this.#executor.size)
    const claimed: Taken[] = []
    let more: boolean | undefined
    try {
      more = await connection.transaction(async transaction => await this.#claimAll(transaction, free, claimed))
      // an owner was over its share, or there was no memory: one by one
      more ??= await connection.transaction(async transaction => await this.#claimEach(transaction, free, claimed))
    } catch (error) {
      for (const { release } of claimed) release()
      throw error
    }
    for (const { row, claim, release } of claimed) {
      const event = { seq: row.seq + 1, ...claim.body }
      readers.written(row.key, [event], 0)
      if (claim.body.state !== 'working') {
        release()
        continue
      }
      const fence: Fence = { key: row.key, attempt: claim.attempt, turn: row.turn, job: row.job, claim: claim.claim, seq: event.seq }
      this.#owners.add(row.owner, 1)
      tasks.fold(row).then(async fold => {
        if (fold.seq < event.seq) fold.apply(event)
        await this.#executor.run(fence, fold, row.seq > 1 ? row.bytes : 0, ({ end }) => {
          this.#owners.add(row.owner, -1)
          release()
          if (end === 'ended') this.#context.discards.add(this.queue, row.job)
          if (end !== 'release') this.fill()
        })
      }).catch((error: unknown) => {
        settings.log.warn({ err: error, taskId: row.id }, 'a task could not be read, and is released')
        this.#owners.add(row.owner, -1)
        release()
        return this.#release([fence])
      }).catch(() => {})
    }
    if (more) this.#again = true
  }

  /** Returns whether more may wait, or undefined where not all that were fetched may run. */
  async #claimAll (transaction: Transaction, free: number, claimed: Taken[]): Promise<boolean | undefined> {
    const left = this.#owners.left
    // an owner that runs no task yet has at most its share
    const limit = Math.min(free, this.#owners.share, ...left.flatMap(([, free]) => free > 0 ? [free] : []))
    const { rows, count } = await this.#fetch(transaction, limit, {
      owners: left.flatMap(([owner, free]) => free > 0 ? [] : [owner]), skills: this.#unserved.list()
    })
    if (!rows.every(row => this.#admit(row, claimed))) {
      for (const { release } of claimed.splice(0)) release()
      transaction.abandon()
      return undefined
    }
    await this.#claim(transaction, claimed)
    return count === limit
  }

  async #claimEach (transaction: Transaction, free: number, claimed: Taken[]): Promise<boolean> {
    const full = new Set(this.#owners.left.flatMap(([owner, free]) => free > 0 ? [] : [owner]))
    while (claimed.length < free && !this.isStopped) {
      await transaction.run('SAVEPOINT one')
      const { rows: [row], count } = await this.#fetch(transaction, 1, { owners: [...full], skills: this.#unserved.list() })
      if (count === 0) break
      if (row === undefined || this.#admit(row, claimed)) continue
      await transaction.run('ROLLBACK TO SAVEPOINT one')
      // those of an unserved skill are passed over from now on
      if (!this.#unserved.has(row.skill)) full.add(row.owner)
    }
    await this.#claim(transaction, claimed)
    return claimed.length === free
  }

  /** Fetches jobs, drops those whose turn is over, and locks the others' tasks. */
  async #fetch (transaction: Transaction, limit: number, passed: Passed): Promise<{ rows: RecordRow[], count: number }> {
    const { queue, tasks } = this.#context
    const jobs = new Map((await queue.fetch(transaction, this.queue, limit, passed)).map(job => [job.id, job]))
    if (jobs.size === 0) return { rows: [], count: 0 }
    const rows = (await tasks.lockRecords(transaction, [...jobs.values()].map(({ key }) => key)))
      .filter(({ job, state }) => jobs.has(job) && (state === 'submitted' || state === 'working'))
    const stale = new Set(jobs.keys())
    for (const { job } of rows) stale.delete(job)
    if (stale.size > 0) await queue.discard(transaction, this.queue, [...stale])
    return { rows, count: jobs.size }
  }

  /** Reserves place and memory for a task. False where it may not run now. */
  #admit (row: RecordRow, claimed: Taken[]): boolean {
    const { owner, bytes, skill } = row
    if (!this.#unserved.serves(skill)) return false
    const claim = this.#claimOf(row)
    const before = claimed.filter(({ row }) => row.owner === owner).length
    let release: (() => void) | undefined = nothing
    if (claim.body.state === 'working') {
      if (this.#owners.freeOf(owner) <= before) return false
      release = this.#owners.hold(owner, bytes, before === 0 && !this.#owners.has(owner))
      if (release === undefined) return false
    }
    claimed.push({ row, claim, release })
    return true
  }

  /** A new attempt, or the end of a task that has cost more executors than `retries`. */
  #claimOf ({ key, attempt, losses, state, replica }: RecordRow): Claim {
    const at = this.#context.connection.now()
    const claim = newClaim()
    // one that was released was not lost
    const lost = state === 'working' && replica !== null
    if (lost && losses >= this.#context.settings.retries) return { key, claim, attempt, losses, replica: null, body: lostBody(losses, at) }
    const next = attempt + 1
    return { key, claim, attempt: next, losses: losses + (lost ? 1 : 0), replica: this.#context.replica, body: attemptBody(next, at) }
  }

  async #claim (transaction: Transaction, claimed: readonly Taken[]): Promise<void> {
    if (claimed.length === 0) return
    const { tasks, queue } = this.#context
    await tasks.claim(transaction, claimed.map(({ claim }) => claim))
    const ended = claimed.flatMap(({ claim, row }) => claim.body.state === 'working' ? [] : [row.job])
    if (ended.length > 0) await queue.discard(transaction, this.queue, ended)
  }

  /** Renews the heartbeats of the jobs, and aborts attempts that may not write any more. */
  async beat (): Promise<void> {
    const { queue, tasks } = this.#context
    const all = this.#executor.all
    for (let i = 0; i < all.length; i += 1_000) {
      const some = all.slice(i, i + 1_000)
      await queue.touch(this.queue, some.map(({ fence }) => fence.job))
      const held = await tasks.held(some.map(({ fence }) => fence))
      for (const running of some) {
        const { fence: { key } } = running
        if (held.has(key) || !this.#executor.runs(running) || running.end !== undefined) continue
        this.#executor.abortLost(running, (await tasks.findKey(key))?.state)
      }
    }
  }

  /**
   * Fails tasks of the queue that have waited for input longer than `inputMs`, and those that were begun and that no
   * worker goes on with for `inputTtlMs`.
   */
  async endWaiting (): Promise<void> {
    const { inputMs, timeoutMs } = this.#limits
    const { connection, settings, tasks } = this.#context
    if (inputMs !== undefined) {
      const before = connection.now() - inputMs
      await endWaiting(this.#context, async limit => await tasks.waiting(['input-required'], before, this.queue, limit))
    }
    const skills = this.#unserved.list()
    if (skills.length === 0) return
    this.#unserved.clear()
    // the store knows when the last attempt began, not when it was left
    const before = connection.now() - settings.inputTtlMs - timeoutMs
    await endWaiting(this.#context, async limit => await tasks.left(this.queue, before, skills, limit))
  }

  /** A replica has canceled a task. */
  canceled (id: string): void { this.#executor.abort(id, new TaskCanceledError(id)) }

  stop ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#stopped ??= this.#stop(drainMs)
    return this.#stopped
  }

  async #stop (drainMs: number): Promise<void> {
    await this.#filling
    await this.#executor.stop(drainMs)
  }

  async #release (fences: readonly Fence[]): Promise<void> {
    const { connection, tasks, queue, settings, nudge } = this.#context
    await connection.transaction(async transaction => {
      const rows = await tasks.release(transaction, fences)
      if (rows.length > 0) await queue.retry(transaction, this.queue, rows.map(({ job }) => job))
      transaction.notify(WORK, this.queue)
    }).then(() => { nudge(this.queue) }, (error: unknown) => {
      settings.log.warn({ err: error, tasks: fences.length }, 'tasks could not be released; their heartbeats end')
    })
  }
}
