import { CallAbortedError } from '@polyvac/core/plugin'
import { EventStore } from './event-store.js'
import type { Limits } from '../options.js'
import { RpcError } from '../protocol/rpc.js'
import { Session, type SessionParts } from './session.js'

/** The sessions there are. */
export class Sessions {
  readonly store: EventStore
  readonly #limits: Limits
  readonly #all = new Map<string, Session>()
  readonly #sweep: NodeJS.Timeout

  constructor (limits: Limits) {
    this.#limits = limits
    this.store = new EventStore({ perStream: limits.maxStreamEvents, events: limits.maxEvents, chars: limits.maxEventChars })
    this.#sweep = setInterval(() => this.#endIdle(), Math.min(limits.sessionTtlMs, 30_000))
    this.#sweep.unref()
  }

  /** @throws RpcError with status 503 where all places are taken and in use */
  create (parts: Omit<SessionParts, 'store' | 'limits'>): Session {
    const { maxSessions } = this.#limits
    if (this.#all.size >= maxSessions) {
      const idle = [...this.#all.values()].filter(session => session.isIdle).reduce<Session | undefined>((least, session) => least === undefined || session.lastUsed < least.lastUsed ? session : least, undefined)
      if (idle === undefined) throw new RpcError('internalError', `all ${maxSessions} places for sessions are in use; try again shortly`, undefined, 503)
      this.end(idle)
    }
    const session = new Session({ ...parts, store: this.store, limits: this.#limits })
    this.#all.set(session.id, session)
    return session
  }

  /** The session of that id, if it is this caller's. One of another caller is as one that does not exist. */
  find (id: string, owner: string | undefined): Session | undefined {
    const session = this.#all.get(id)
    if (session === undefined || session.owner !== owner) return undefined
    if (this.#isOver(session)) {
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

  #isOver (session: Session): boolean {
    return session.isIdle && performance.now() - session.lastUsed > this.#limits.sessionTtlMs
  }

  #endIdle (): void {
    for (const session of [...this.#all.values()]) if (this.#isOver(session)) this.end(session)
  }
}
