import { getHeapStatistics } from 'node:v8'
import { createError } from '../basics/create-error.js'
import { shareOf } from './owner-slots.js'

export const MemoryBudgetError = createError<[string]>('MEMORY_BUDGET_EXCEEDED',
  'the memory for %s is used up at the moment; try again shortly, with less at once', 503, { expose: true })

/** Part of the heap limit that requests, responses and sessions may hold; the rest is for code and documents. */
const HEAP_PART = 0.25
/** Memory of a character, at most: strings that have only Latin-1 characters take half of it. */
export const BYTES_PER_CHAR = 2
/** How long a refusal counts as recent, in ms. */
const RECENT_MS = 10_000

/** The bytes of one thing that a caller made grow: a body, a response not read yet, the state of a session. */
export class HeldBytes {
  bytes = 0

  /** @internal Use `MemoryBudget.hold`. */
  constructor (readonly budget: MemoryBudget, readonly part: string, readonly owner: string | undefined) {}

  /** Counts `bytes` more. @throws MEMORY_BUDGET_EXCEEDED (503); nothing is counted then */
  grow (bytes: number): void {
    if (!this.tryGrow(bytes)) throw this.refusal()
  }

  /** The error for what could not be counted. */
  refusal (): Error {
    return new MemoryBudgetError(this.part)
  }

  /** The same, and returns false instead of throwing. */
  tryGrow (bytes: number): boolean {
    if (!this.budget.add(this.part, this.owner, bytes)) return false
    this.bytes += bytes
    return true
  }

  shrink (bytes: number): void {
    const freed = Math.min(bytes, this.bytes)
    this.bytes -= freed
    this.budget.subtract(this.owner, freed)
  }

  /** Counts `bytes` in place of what it counted before; false, and as before, where the budget does not allow it. */
  tryResize (bytes: number): boolean {
    if (bytes > this.bytes) return this.tryGrow(bytes - this.bytes)
    this.shrink(this.bytes - bytes)
    return true
  }

  /** Counts nothing of it any more. May be called twice. */
  release (): void {
    if (this.bytes > 0) this.shrink(this.bytes)
  }
}

/**
 * Counts the bytes in progress of the process, whichever plugin holds them: the heap is one. Each owner may hold
 * OWNER_SHARE of them; callers without an owner share all. Past the limit, requests are refused with 503.
 */
export class MemoryBudget {
  used = 0
  /** How often it has refused something. */
  refusals = 0
  /** Called with what was refused, and to whom. */
  onRefusal: ((part: string, owner: string | undefined) => void) | undefined
  #limit: number
  #refusedAt = -RECENT_MS
  // @keyed owner | holds: the number of bytes that it holds | whose: the owner | bound: owners that hold bytes now;
  //   an entry ends at 0 | share: the owner: it is the share | test: packages/core/test/shares.test.ts: a budget
  //   counts what is held, by owner, and refuses beyond its limit or the share of an owner
  readonly #owners = new Map<string, number>()

  /** @param limit in bytes; default: a quarter of the heap limit */
  constructor (limit = Math.floor(getHeapStatistics().heap_size_limit * HEAP_PART)) {
    this.#limit = limit
  }

  get limit (): number { return this.#limit }

  /** Changes the limit, in bytes; what is held stays. */
  set limit (bytes: number) { this.#limit = bytes }

  /** Whether it refused something in the last 10 seconds. */
  get refusedRecently (): boolean { return performance.now() - this.#refusedAt < RECENT_MS }

  /** @param part what the bytes are for, in the plural, as in "the memory for request bodies is used up" */
  hold (part: string, owner?: string): HeldBytes {
    return new HeldBytes(this, part, owner)
  }

  /** @internal Use `HeldBytes.grow`. */
  add (part: string, owner: string | undefined, bytes: number): boolean {
    const ofOwner = owner === undefined ? 0 : (this.#owners.get(owner) ?? 0) + bytes
    if (this.used + bytes > this.#limit || ofOwner > shareOf(this.#limit)) {
      this.#refusedAt = performance.now()
      this.refusals++
      this.onRefusal?.(part, owner)
      return false
    }
    this.used += bytes
    if (owner !== undefined) this.#owners.set(owner, ofOwner)
    return true
  }

  /** @internal Use `HeldBytes.shrink`. */
  subtract (owner: string | undefined, bytes: number): void {
    this.used -= bytes
    if (owner === undefined) return
    const left = (this.#owners.get(owner) ?? 0) - bytes
    if (left > 0) this.#owners.set(owner, left)
    else this.#owners.delete(owner)
  }
}

/** The budget: one per process, also with two hosts. */
export const memoryBudget = new MemoryBudget()
