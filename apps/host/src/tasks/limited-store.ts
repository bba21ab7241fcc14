import { ANYONE, type TaskStore } from '@polyvac/tasks'
import type { DayCounts } from '../guards/day-counts.js'
import { TasksPerDayError } from '../errors.js'
import { ForwardingStore } from './forwarding-store.js'

/** A store that bounds the tasks which each owner creates in a day of UTC. */
export class LimitedStore extends ForwardingStore {
  protected readonly inner: TaskStore
  readonly #max: number
  readonly #counts: DayCounts

  constructor (inner: TaskStore, max: number, counts: DayCounts) {
    super()
    this.inner = inner
    this.#max = max
    this.#counts = counts
  }

  /** @throws TASKS_PER_DAY (429), and the errors of the store */
  override async create (...[owner, task]: Parameters<TaskStore['create']>): ReturnType<TaskStore['create']> {
    const caller = callerOf(owner)
    const seconds = this.#counts.add(caller, this.#max)
    if (seconds !== undefined) {
      throw Object.assign(new TasksPerDayError(this.#max), { headers: { 'retry-after': String(seconds) } })
    }
    let isCreated = false
    try {
      const created = await this.inner.create(owner, task)
      // where it is not, this is the same request as before
      isCreated = created.created
      return created
    } finally {
      if (!isCreated) this.#counts.takeBack(caller)
    }
  }
}

/** Who creates the tasks of an owner. Those of MCP and of runs have separate names, and unknown callers many. */
function callerOf (owner: string): string {
  const name = owner.replace(/^ (?:mcp|runs) /, '')
  // the runs of a principal with a long name have a hash of it, and so has what unknown callers did over MCP
  return name.startsWith(' ') && !owner.startsWith(' runs  sha256 ') ? ANYONE : name
}
