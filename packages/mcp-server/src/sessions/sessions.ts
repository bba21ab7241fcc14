import type { Authenticate, Principal } from '@polyvac/core'
import { CallAbortedError, currentCaller, LinkedSet, mayUse, MemoryBudgetError, OwnerSlots, shareOf, watchCaller, type StateKey } from '@polyvac/core/plugin'
import type { ReplicaLink } from '@polyvac/tasks'
import { randomUUID } from 'node:crypto'
import type { Limits } from '../options.js'
import { overload } from '../protocol/rpc.js'
import { EventStore } from './event-store.js'
import { SessionIds, type SessionClaims } from './session-ids.js'
import { Session, type SessionOptions } from './session.js'
import { SharedSession, type Message } from './shared-session.js'

export interface SessionsOptions {
  readonly limits: Limits
  /** A session ends with the credential that began it. */
  readonly authenticate?: Authenticate | undefined
  readonly watch: SessionOptions['watch']
  /** With both of them, any replica serves a session. */
  readonly link?: ReplicaLink | undefined
  readonly stateKey?: StateKey | undefined
  /** Called with the key of a session that ended here. */
  readonly onEnd: (key: string) => void
  /** Gets errors of the link that no caller waits for. */
  readonly onFailure: (err: unknown) => void
}

type NewSession = Pick<SessionOptions, 'maker' | 'revision' | 'capabilities' | 'id' | 'key' | 'shared'>

/** The sessions that this process holds, by id. */
export class Sessions {
  readonly store: EventStore
  readonly #questions: OwnerSlots
  readonly #limits: Limits
  readonly #options: SessionsOptions
  readonly #ids: SessionIds | undefined
  // @keyed id of a session, which a key of the replicas signed | holds: a load in progress | whose: the owner |
  //   bound: requests in progress; MAX_SESSION_ID_CHARS | share: that of `#all` | test:
  //   packages/mcp-server/test/replicas.test.ts: an id of another owner, a changed one and one of another key are
  //   unknown
  readonly #loading = new Map<string, Promise<void>>()
  // @keyed id of a session, which this process or a replica issued | holds: the session | whose: the owner | bound:
  //   maxSessions, for sessionTtlMs; counted in the memory budget | share: the owner, OWNER_SHARE of them; the own
  //   oldest one ends | test: packages/mcp-server/test/owner-shares.test.ts: new sessions of an owner end its own
  //   oldest one, never that of another owner
  readonly #all = new Map<string, Session>()
  /** The sessions of each owner, the one that is unused longest first; those without an owner are under ''. */
  // @keyed owner | holds: the sessions of `#all` | whose: the owner | bound: those of `#all`; an entry ends with
  //   the last session | share: the owner | test: packages/mcp-server/test/owner-shares.test.ts: new sessions of an
  //   owner end its own oldest one, never that of another owner
  readonly #byOwner = new Map<string, LinkedSet<Session>>()
  readonly #sweep: NodeJS.Timeout

  constructor (options: SessionsOptions) {
    const { limits, link, stateKey } = options
    this.#options = options
    this.#limits = limits
    this.#ids = link === undefined || stateKey === undefined ? undefined : new SessionIds(stateKey)
    this.#questions = new OwnerSlots({ part: 'questions', total: limits.maxOpenQuestions })
    const { maxStreamEvents: perStream, maxEvents: events, maxEventChars: chars } = limits
    this.store = new EventStore({ perStream, events, chars })
    this.#sweep = setInterval(() => this.#endExpired(), Math.min(limits.sessionTtlMs, 30_000))
    this.#sweep.unref()
  }

  /** Whether any replica serves a session. */
  get areShared (): boolean { return this.#ids !== undefined }

  /** Begins a session over Streamable HTTP and returns its id. @throws like `create` */
  begin (session: Pick<SessionOptions, 'maker' | 'revision' | 'capabilities'>): string {
    const { maker, revision, capabilities } = session
    return this.#ids?.issue({ key: randomUUID(), revision, capabilities }, maker) ?? this.create(session).id
  }

  /**
   * Begins a session over HTTP+SSE, whose stream stays at this replica. `onMessage` gets what others receive of it,
   * with the caller of each message.
   * @throws like `create`
   */
  open (maker: Principal | undefined, onMessage: (message: Message, principal: Principal | undefined) => void): Session {
    const claims: SessionClaims = { key: randomUUID(), revision: '2024-11-05', capabilities: {} }
    const id = this.#ids?.issue(claims, maker)
    if (id === undefined) return this.create({ maker, ...claims })
    const shared = this.#share(claims.key, maker)
    const session = this.create({ id, maker, ...claims, shared })
    // a replica of an earlier version does not pass the scopes of a caller: then it has none
    const unknown = maker === undefined ? undefined : { owner: maker.owner, scopes: [] }
    shared.open(change => {
      if (!('post' in change)) return
      const poster = change.principal === undefined ? unknown : change.principal ?? undefined
      const principal = currentCaller(this.#options.authenticate, poster)
      if (poster === undefined || principal !== undefined) onMessage(change.post, principal)
    }).catch(err => {
      this.#options.onFailure(err)
      this.end(session)
    })
    return session
  }

  /** Passes a message to the replica with the stream of an HTTP+SSE session; undefined for an unknown id. */
  pass (id: string, caller: Principal | undefined, message: Message): Promise<void> | undefined {
    const claims = this.#ids?.read(id, caller)
    return claims === undefined ? undefined : this.#share(claims.key, caller).write({ post: message, principal: caller ?? null })
  }

  #share (key: string, caller: Principal | undefined): SharedSession {
    return new SharedSession(this.#options.link!, key, caller?.owner, this.#options.onFailure)
  }

  /** Makes the session of a valid id known to this replica. @throws like `create`, TASK_STORE_UNAVAILABLE (503) */
  async load (id: string, caller: Principal | undefined): Promise<void> {
    if (this.find(id, caller) !== undefined) return
    const claims = this.#ids?.read(id, caller)
    if (claims === undefined) return
    let loading = this.#loading.get(id)
    if (loading === undefined) {
      loading = this.#load(id, caller, claims).finally(() => { this.#loading.delete(id) })
      this.#loading.set(id, loading)
    }
    await loading
  }

  async #load (id: string, maker: Principal | undefined, claims: SessionClaims): Promise<void> {
    const shared = this.#share(claims.key, maker)
    const session = this.#make({ id, maker, ...claims, shared })
    let hasEnded = false
    try {
      await shared.open(change => {
        if ('end' in change) {
          hasEnded = true
          this.end(session)
        } else session.apply(change)
      })
      if (!hasEnded) this.#add(session)
    } catch (err) {
      session.close()
      throw err
    }
  }

  /**
   * Where all sessions, or those that one owner may have, are taken, the idle session of this owner that is unused
   * longest ends. @throws RpcError with status 503 if it has none; MEMORY_BUDGET_EXCEEDED
   */
  create (options: NewSession): Session {
    const session = this.#make(options)
    this.#add(session)
    return session
  }

  #make (options: NewSession): Session {
    const { watch } = this.#options
    const { maxSessions } = this.#limits
    const owner = options.maker?.owner ?? ''
    const share = owner === '' ? maxSessions : shareOf(maxSessions)
    if (this.#all.size >= maxSessions || (this.#byOwner.get(owner)?.size ?? 0) >= share) this.#endOldest(owner)
    let session: Session | undefined
    do {
      try {
        session = new Session({
          ...options, store: this.store, questions: this.#questions, limits: this.#limits, watch
        })
      } catch (err) {
        if (!(err instanceof MemoryBudgetError)) throw err
        this.#endOldest(owner)
      }
    } while (session === undefined)
    return session
  }

  #add (session: Session): void {
    const owner = session.owner ?? ''
    this.#all.set(session.id, session)
    let own = this.#byOwner.get(owner)
    if (own === undefined) this.#byOwner.set(owner, own = new LinkedSet())
    session.node = own.add(session)
    session.unwatch = watchCaller(this.#options.authenticate, session.maker, () => { this.end(session) })
  }

  /** @throws RpcError with status 503 */
  #endOldest (owner: string): void {
    const oldest = this.#byOwner.get(owner)?.find(session => session.isIdle)
    if (oldest !== undefined) return this.end(oldest)
    throw overload('all sessions that this caller may have are in use; end one, or try again shortly')
  }

  /** The session of an id; undefined if it belongs to another caller, or to other scopes. */
  find (id: string, caller: Principal | undefined): Session | undefined {
    const session = this.#all.get(id)
    if (session === undefined || !mayUse(caller, session)) return undefined
    const now = performance.now()
    if (this.#isExpired(session, now)) {
      this.end(session)
      return undefined
    }
    session.lastUsed = now
    session.node?.toEnd()
    return session
  }

  all (): Iterable<Session> {
    return this.#all.values()
  }

  /** Ends a session at all replicas. */
  delete (session: Session): Promise<void> | undefined {
    this.end(session)
    return session.shared?.write({ end: true })
  }

  /** Ends a session at this replica. */
  end (session: Session): void {
    session.unwatch()
    this.#all.delete(session.id)
    const own = this.#byOwner.get(session.owner ?? '')
    session.node?.remove()
    if (own?.size === 0) this.#byOwner.delete(session.owner ?? '')
    for (const call of session.calls.values()) call.cancel(new CallAbortedError('the session ended'))
    session.close()
    this.#options.onEnd(session.key)
  }

  /** Leaves open calls to the other replicas, where any can serve them. */
  abandonStreams (): void {
    for (const session of this.#all.values()) session.abandonStreams()
  }

  close (): void {
    clearInterval(this.#sweep)
    for (const session of [...this.#all.values()]) this.end(session)
  }

  #isExpired (session: Session, now: number): boolean {
    return session.isIdle && now - session.lastUsed > this.#limits.sessionTtlMs
  }

  #endExpired (): void {
    const now = performance.now()
    for (const session of [...this.#all.values()]) if (this.#isExpired(session, now)) this.end(session)
  }
}
