import { CallAbortedError } from '@polyvac/core/plugin'
import type { Limits } from '../options.js'
import { overload } from '../protocol/rpc.js'
import { EventStore } from './event-store.js'
import { Session, type SessionOptions } from './session.js'

/** All sessions, by id. */
export class Sessions {
  readonly store: EventStore
  readonly #limits: Limits
  readonly #all = new Map<string, Session>()
  readonly #sweep: NodeJS.Timeout

  constructor (limits: Limits) {
    this.#limits = limits
    const { maxStreamEvents: perStream, maxEvents: events, maxEventChars: chars } = limits
    this.store = new EventStore({ perStream, events, chars })
    this.#sweep = setInterval(() => this.#endExpired(), Math.min(limits.sessionTtlMs, 30_000))
    this.#sweep.unref()
  }

  /** @throws RpcError with status 503 if there are `maxSessions` and none is idle */
  create (options: Omit<SessionOptions, 'store' | 'limits'>): Session {
    const { maxSessions } = this.#limits
    if (this.#all.size >= maxSessions) {
      let oldest: Session | undefined
      for (const session of this.#all.values()) {
        if (session.isIdle && (oldest === undefined || session.lastUsed < oldest.lastUsed)) oldest = session
      }
      if (oldest === undefined) throw overload(`all ${maxSessions} sessions are in use; try again shortly`)
      this.end(oldest)
    }
    const session = new Session({ ...options, store: this.store, limits: this.#limits })
    this.#all.set(session.id, session)
    return session
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
    return session
  }

  all (): Iterable<Session> {
    return this.#all.values()
  }

  end (session: Session): void {
    this.#all.delete(session.id)
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
