import { createError } from '../basics/create-error.js'
import { LinkedSet, type LinkedNode } from '../basics/linked-set.js'
import type { AbortSignalLike } from '../basics/light-abort.js'

/** Part of a shared resource that one owner may use at once. */
export const OWNER_SHARE = 0.25

/** One per process, also with two hosts: the last one that sets it does so for both. */
let share = OWNER_SHARE

/** Changes the share of one owner in all that this process shares, from 0 to 1; slots that exist keep theirs. */
export function setOwnerShare (value: number): void {
  share = value
}

/** The part of one owner. */
export function ownerShare (): number {
  return share
}

/** What one owner may have of a total. */
export function shareOf (total: number): number {
  return Math.ceil(total * share)
}

const OwnerShareUsedError = createError<[number, string]>('OWNER_SHARE_USED',
  'this caller already has %s %s; wait until one ends', 503, { expose: true })

interface Waiter { readonly start: () => void }

/** What the slots are for, and how many there are. */
export interface SlotOptions {
  /** In the plural, as in "this caller already has 25 calls". */
  readonly part: string
  readonly total: number
  /** Most slots of one owner; default: OWNER_SHARE of the total, rounded up. Callers without an owner share all. */
  readonly share?: number | undefined
  /** Most waiting calls over all owners, and OWNER_SHARE of them of one owner; default 0: nothing waits. */
  readonly maxWaiting?: number | undefined
}

/**
 * Slots that owners share, such as executors. At most `total` are taken at once, at most `share` by one owner. Waiting
 * owners get free slots in turn, one each, so that an owner with a thousand waiting calls delays another by one call.
 */
export class OwnerSlots {
  readonly #part: string
  #total = 0
  #share = 0
  readonly #maxWaiting: number
  // @keyed owner | holds: the number of places taken | whose: the owner | bound: owners with a place, so the
  //   requests or calls in progress; an entry ends at 0 | share: the owner: `share` of them | test:
  //   packages/core/test/shares.test.ts: waiting owners get free slots in turn, and none more than its share
  readonly #taken = new Map<string, number>()
  /** Owners with waiting calls, in the order in which they are served. */
  // @keyed owner | holds: its waiting calls in order | whose: the owner | bound: `maxWaiting` over all owners; an
  //   entry ends with its last call | share: the owner: its share of `maxWaiting`, served in turn | test:
  //   packages/core/test/shares.test.ts: a wait ends with its signal; too many waits are refused; callers without an
  //   owner share all
  readonly #waiting = new Map<string, LinkedSet<Waiter>>()
  #waitingCount = 0
  #count = 0

  constructor ({ part, total, share, maxWaiting = 0 }: SlotOptions) {
    this.#part = part
    this.#maxWaiting = maxWaiting
    this.resize(total, share)
  }

  /** Changes the number of slots; those that are taken stay taken. */
  resize (total: number, share = shareOf(total)): void {
    this.#total = total
    this.#share = share
  }

  get taken (): number { return this.#count }

  get waiting (): number { return this.#waitingCount }

  get total (): number { return this.#total }

  /** Takes a slot if one is free for this owner; give it back with `release`. */
  tryTake (owner = ''): boolean {
    if (this.#count >= this.#total || !this.#mayTake(owner)) return false
    this.#take(owner)
    return true
  }

  /**
   * Takes a slot, and waits for it in turn. Rejects with the signal's reason.
   * @throws OWNER_SHARE_USED (503) where too many wait already
   */
  async take (owner = '', signal?: AbortSignalLike): Promise<void> {
    if (signal?.aborted === true) throw signal.reason
    if (!this.#waiting.has(owner) && this.tryTake(owner)) return
    const ofOwner = this.#waiting.get(owner)?.size ?? 0
    const share = owner === '' ? this.#maxWaiting : shareOf(this.#maxWaiting)
    if (this.#waitingCount >= this.#maxWaiting || ofOwner >= share) throw this.refusal()
    // @keyed none: it is an entry of `#waiting`
    const queue = this.#waiting.get(owner) ?? new LinkedSet<Waiter>()
    this.#waiting.set(owner, queue)
    this.#waitingCount++
    let isGranted = false
    await new Promise<void>(resolve => {
      const onAbort = (): void => { this.#leave(owner, node); resolve() }
      const node = queue.add({
        start () {
          isGranted = true
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
      })
      signal?.addEventListener('abort', onAbort)
    })
    if (!isGranted) throw signal?.reason
  }

  /** The error for a slot that could not be taken. */
  refusal (): Error {
    return new OwnerShareUsedError(this.#share, this.#part)
  }

  /** Gives a slot back, and gives it to the owner whose turn it is. */
  release (owner = ''): void {
    this.#count--
    if (owner !== '') {
      const left = (this.#taken.get(owner) ?? 0) - 1
      if (left > 0) this.#taken.set(owner, left)
      else this.#taken.delete(owner)
    }
    this.#serve()
  }

  #mayTake (owner: string): boolean {
    return owner === '' || (this.#taken.get(owner) ?? 0) < this.#share
  }

  #take (owner: string): void {
    this.#count++
    if (owner !== '') this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1)
  }

  #serve (): void {
    for (const [owner, queue] of this.#waiting) {
      if (this.#count >= this.#total) return
      if (!this.#mayTake(owner)) continue
      const node = queue.first as LinkedNode<Waiter>
      this.#leave(owner, node)
      // the owner goes to the end of the line
      if (queue.size > 0) { this.#waiting.delete(owner); this.#waiting.set(owner, queue) }
      this.#take(owner)
      node.value.start()
    }
  }

  #leave (owner: string, node: LinkedNode<Waiter>): void {
    if (!node.remove()) return
    this.#waitingCount--
    if (this.#waiting.get(owner)?.size === 0) this.#waiting.delete(owner)
  }
}
