import { LinkedSet, type LinkedNode } from '@polyvac/core/plugin'
import type { CallOptions } from '../protocol/call-options.js'
import type { Id } from '../protocol/json-rpc.js'
import { AnswerFence } from './answer-fence.js'

/** Work whose caller has left that is remembered one by one. */
const MAX_LEFT = 1_000

/** Keys of what is past MAX_LEFT: of one owner, and of any other. It ends only with the connection. */
const PAST = Symbol('past the bound')
const PAST_OF_OTHERS = Symbol('past the bound, of others')

/** What a caller has in progress at a server: a request until it is answered, a task until it has ended. */
export interface Work {
  readonly options: CallOptions
  readonly method: string
  /** The tool, if it is a call. */
  readonly tool: string | undefined
  readonly taskId?: string | undefined
  /** Whether a request of the server to this caller is open. */
  readonly isPaused: boolean
  /** Stops its timeout while the caller answers. */
  pause (): void
  resume (): void
}

/** Whether a gateway has served an authenticated caller: those who are not authenticated are then not one person. */
export interface Callers { areNamed: boolean }

/**
 * What callers have in progress in one session, and with it the owner of a message that does not name its request. A
 * request that was cancelled or timed out stays until the server answers it or the connection ends: until then the
 * server may be working on it. A server shared by owners is asked for nothing that is not in this list.
 */
export class OpenWork {
  readonly #callers: Callers
  // @keyed none: a list in order, of the requests and tasks in progress; maxInFlight, an owner a quarter of them
  readonly #open = new LinkedSet<Work>()
  /** How much of it each owner has. */
  // @keyed owner | holds: the number of its entries of `#open` | whose: the owner | bound: owners with an entry, so
  //   maxInFlight | share: as `#open` | test: packages/mcp-gateway/test/owners.test.ts: one owner takes a quarter of
  //   the calls of a server, waits in turn, and gets 503 beyond
  readonly #counts = new Map<string | undefined, number>()
  readonly #fence: AnswerFence | undefined
  /** The owners of work whose caller has left, by the id of its request or the key of its task. */
  // @keyed id of a request of the gateway, or hash of an owner and a task | holds: the owner | whose: the owner |
  //   bound: MAX_LEFT and two entries for all past it | share: of no owner: past the bound nothing is attributed |
  //   test: packages/mcp-gateway/test/open-work.test.ts: cancelled calls past the bound count until the connection
  //   ends, and keep the memory within it
  readonly #left = new Map<Id | symbol, string | undefined>()

  /** @param ping sends a ping and calls its argument with the response; undefined where messages have no one order */
  constructor (callers: Callers, ping: ((answered: () => void) => void) | undefined) {
    this.#callers = callers
    this.#fence = ping === undefined ? undefined : new AnswerFence(ping)
  }

  get size (): number { return this.#open.size }

  values (): Work[] { return this.#open.values() }

  /** Called before its first request is sent. */
  begin (work: Work): LinkedNode<Work> {
    const owner = work.options.principal?.owner
    if (this.#fence?.isPassed(owner) === false || this.#isAnyone(owner)) this.#fence?.raise()
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1)
    return this.#open.add(work)
  }

  /** The server has answered it, or its caller has left. */
  end (place: LinkedNode<Work>): void {
    if (!place.remove()) return
    const owner = place.value.options.principal?.owner
    const left = this.#counts.get(owner)! - 1
    if (left > 0) this.#counts.set(owner, left)
    else this.#counts.delete(owner)
    this.#fence?.answered(owner)
    const hasOthers = this.#counts.size > 1 || (this.#counts.size === 1 && left === 0) || this.#isAnyone(owner)
    if (hasOthers) this.#fence?.raise()
  }

  /** The caller of a request, or of the task with this key, has left; the server may be working on it. */
  leave (key: Id, owner: string | undefined): void {
    if (this.#left.size < MAX_LEFT) this.#left.set(key, owner)
    else this.#left.set(this.#left.has(PAST) && this.#left.get(PAST) !== owner ? PAST_OF_OTHERS : PAST, owner)
  }

  /** The server has answered the request, or ended the task. Returns whether it was left, and its owner. */
  settle (key: Id): { readonly owner: string | undefined } | undefined {
    if (!this.#left.has(key)) return undefined
    const owner = this.#left.get(key)
    this.#left.delete(key)
    return { owner }
  }

  /** The open work of the only owner who has any work here, or why there is no such owner. */
  ofOneOwner (): readonly Work[] | string {
    const open = this.#open.values()
    if (open.length === 0) return 'no call is in flight'
    if (!this.#isOneOwner(open)) return 'calls of several owners are in flight'
    const owner = open[0]!.options.principal?.owner
    if (this.#fence?.isPassed(owner) === false) return 'the server has just answered another owner'
    const isAlone = [...this.#left.values()].every(other => other === owner && !this.#isAnyone(owner))
    return isAlone ? open : 'the server may still be working on a cancelled call of another owner'
  }

  /**
   * The task that a message names, or why it is not certain: servers choose the ids.
   * @param carrier the work whose response stream carried the message
   */
  ofTask (taskId: unknown, carrier: Work | null | undefined): readonly Work[] | string {
    const tasks = this.#open.values().filter(work => work.taskId === taskId)
    if (taskId === undefined || tasks.length === 0) return 'the task that it names is not known'
    if (!this.#isOneOwner(tasks)) return 'tasks of several owners have the id that it names'
    return carrier == null || tasks.includes(carrier) || this.#isOneOwner([...tasks, carrier]) ? tasks : 'it came with the response to another owner'
  }

  #isOneOwner ([first, ...others]: readonly Work[]): boolean {
    const owner = first?.options.principal?.owner
    return others.every(({ options }) => options.principal?.owner === owner && !this.#isAnyone(owner))
  }

  /** Whether a caller could be any person: without a principal, where others have one. */
  #isAnyone (owner: string | undefined): boolean {
    return owner === undefined && this.#callers.areNamed
  }
}
