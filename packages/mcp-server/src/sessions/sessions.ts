import { CallAbortedError, MemoryBudgetError, OWNER_SHARE, OwnerSlots } from '@polyvac/core/plugin'
import type { Limits } from '../options.js'
import { overload } from '../protocol/rpc.js'
import { EventStore } from './event-store.js'
import { Session, type SessionOptions } from './session.js'

/** All sessions, by id. */
export class Sessions {
  readonly store: EventStore
  readonly #questions: OwnerSlots
  readonly #limits: Limits
  readonly #all = new Map<string, Session>()
  /** The sessions of each owner, the one that is unused longest first; those without an owner are under ''. */
  readonly #byOwner = new Map<string, Set<Session>>()
  readonly #sweep: NodeJS.Timeout

  constructor (limits: Limits) {
    this.#limits = limits
    this.#questions = new OwnerSlots({ part: 'questions', total: limits.maxOpenQuestions })
    const { maxStreamEvents: perStream, maxEvents: events, maxEventChars: chars } = limits
    this.store = new EventStore({ perStream, events, chars })
    this.#sweep = setInterval(() => this.#endExpired(), Math.min(limits.sessionTtlMs, 30_000))
    this.#sweep.unref()
  }

  /**
   * Where all sessions, or those that one owner may have, are taken, the idle session of this owner that is unused
   * longest ends. @throws RpcError with status 503 if it has none; MEMORY_BUDGET_EXCEEDED
   */
  create (options: Omit<SessionOptions, 'store' | 'questions' | 'limits'>): Session {
    const { maxSessions } = this.#limits
    const owner = options.owner ?? ''
    const share = owner === '' ? maxSessions : Math.ceil(maxSessions * OWNER_SHARE)
    if (this.#all.size >= maxSessions || (this.#byOwner.get(owner)?.size ?? 0) >= share) this.#endOldest(owner)
    let session: Session | undefined
    do {
      try {
        session = new Session({ ...options, store: this.store, questions: this.#questions, limits: this.#limits })
      } catch (err) {
        if (!(err instanceof MemoryBudgetError)) throw err
        this.#endOldest(owner)
      }
    } while (session === undefined)
    this.#all.set(session.id, session)
    const own = this.#byOwner.get(owner)
    if (own === undefined) this.#byOwner.set(owner, new Set([session]))
    else own.add(session)
    return session
  }

  /** @throws RpcError with status 503 */
  #endOldest (owner: string): void {
    for (const session of this.#byOwner.get(owner) ?? []) if (session.isIdle) return this.end(session)
    throw overload('all sessions that this caller may have are in use; end one, or try again shortly')
  }

  /** The session of an id; undefined if it belongs to another caller. */
  find (id: string, owner: string | undefined): Session | undefined {
    const session = this.#all.get(id)
    if (session === undefined || session.owner !== owner) return undefined
    if (this.#isExpired(session)) {
      this.end(session)
      return undefined
    }
    session.lastUsed = performance.now()
    const own = this.#byOwner.get(owner ?? '')
    own?.delete(session)
    own?.add(session)
    return session
  }

  all (): Iterable<Session> {
    return this.#all.values()
  }

  end (session: Session): void {
    this.#all.delete(session.id)
    const own = this.#byOwner.get(session.owner ?? '')
    own?.delete(session)
    if (own?.size === 0) this.#byOwner.delete(session.owner ?? '')
    for (const call of session.calls.values()) call.cancel(new CallAbortedError('the session ended'))
    session.close()
  }

  close (): void {
    clearInterval(this.#sweep)
    for (const session of [...this.#all.values()]) this.end(session)
  }

  #isExpired (session: Session): boolean {
    return session.isIdle && performance.now() - session.lastUsed > this.#limits.sessionTtlMs
  }

  #endExpired (): void {
    for (const session of [...this.#all.values()]) if (this.#isExpired(session)) this.end(session)
  }
}
