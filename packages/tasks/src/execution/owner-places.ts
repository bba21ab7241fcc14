import { shareOf } from '../basics/owner-share.js'
import type { WorkOptions } from '../contract/task-store.js'

interface PlaceLimits {
  readonly concurrency: number
  readonly ownerConcurrency: number | undefined
  readonly ownerShare: number
  readonly hold: WorkOptions['hold']
}

/** The options of a worker, with their defaults. */
export interface WorkerLimits extends PlaceLimits {
  readonly timeoutMs: number
  readonly inputMs: number | undefined
  readonly serves: WorkOptions['serves']
}

/** The running tasks and reserved slots of each owner, and the memory of these tasks. */
export class OwnerPlaces {
  readonly #limits: PlaceLimits
  // @keyed owner | holds: the number of places taken | whose: the owner | bound: owners with a running task; an
  //   entry ends at 0 | share: the owner: a quarter of them | test: packages/tasks/test/conformance.ts: one owner
  //   holds a quarter of the slots of a worker, so that another begins at once
  readonly #taken = new Map<string, number>()

  constructor (limits: PlaceLimits) { this.#limits = limits }

  /** How many more tasks of the owner may run. */
  readonly freeOf = (owner: string): number =>
    (this.#limits.ownerConcurrency ?? shareOf(owner, this.#limits.concurrency, this.#limits.ownerShare)) - (this.#taken.get(owner) ?? 0)

  /** How many tasks of an owner that runs none may run. */
  get share (): number { return this.#limits.ownerConcurrency ?? Math.ceil(this.#limits.concurrency * this.#limits.ownerShare) }

  /** How many more tasks each owner with running tasks may run. */
  get left (): readonly (readonly [owner: string, free: number])[] { return [...this.#taken.keys()].map(owner => [owner, this.freeOf(owner)]) }

  has (owner: string): boolean { return this.#taken.has(owner) }

  add (owner: string, more: number): void {
    const count = (this.#taken.get(owner) ?? 0) + more
    if (count === 0) this.#taken.delete(owner)
    else this.#taken.set(owner, count)
  }

  /** Counts the memory of a task. Undefined: it must wait; the only task of its owner never does. */
  hold (owner: string, bytes: number, isOnly = !this.has(owner)): (() => void) | undefined {
    const { hold } = this.#limits
    return hold === undefined ? nothing : hold(owner, bytes) ?? (isOnly ? nothing : undefined)
  }
}

export function nothing (): void {}
