import type { FastifyReply, FastifyRequest } from 'fastify'
import { accessKey } from './access.js'
import type { Authenticate } from './authenticate.js'
import { InvalidCurrentError } from '../basics/errors.js'
import { LinkedSet } from '../basics/linked-set.js'
import { LogGate } from '../basics/log-gate.js'
import type { Log } from '../basics/log.js'
import type { Principal } from '../vac/vac.js'

/** Time in ms in which work of a credential that was removed, changed or has expired is found and ended. */
const RECHECK_MS = 400

/** Work in progress that a credential opened. */
interface OpenWork {
  readonly principal: Principal
  /** Ends it; called once. */
  readonly end: () => void
  readonly log: Log | undefined
}

/** The open work of the callers of one `authenticate`. */
class OpenCallers {
  // @keyed none: a list in order, of the requests and sessions in progress, which are bounded where they are made
  readonly #open = new LinkedSet<OpenWork>()
  readonly #authenticate: Authenticate
  readonly #gate = new LogGate()
  #timer: NodeJS.Timeout | undefined

  constructor (authenticate: Authenticate) {
    this.#authenticate = authenticate
  }

  add (work: OpenWork): () => void {
    this.#timer ??= setInterval(() => { this.recheck() }, RECHECK_MS).unref()
    const node = this.#open.add(work)
    return () => { node.remove() }
  }

  recheck (): void {
    const now = Date.now()
    if (this.#open.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    for (const { principal, end, log } of this.#open.values()) {
      try {
        if (!isUnchanged(this.#authenticate, principal, now)) end()
      } catch (err) {
        // not an answer, such as that of a database which is down: the next look asks again
        const suppressed = this.#gate.pass('current')
        if (suppressed !== undefined) log?.error({ err, owner: principal.owner, suppressed }, '`current` of `authenticate` failed: whether the credentials of open work count is not known')
      }
    }
  }
}

// @keyed none: the keys are functions of the application
const all = new WeakMap<Authenticate, OpenCallers>()

/** Looks at all open work at once, where credentials have changed. */
export function recheckCallers (authenticate: Authenticate | undefined): void {
  if (authenticate !== undefined) all.get(authenticate)?.recheck()
}

/** Whether a credential gives the scopes that it gave when the work began, and has not expired. */
function isUnchanged (authenticate: Authenticate, principal: Principal, now: number): boolean {
  if (principal.expiresAt !== undefined && principal.expiresAt <= now) return false
  const current = currentCaller(authenticate, principal)
  return current !== undefined && (current === principal || accessKey(current) === accessKey(principal))
}

/**
 * The caller of queued, resumed or long work with the scopes that its credential gives now; undefined once the
 * credential was removed. That it has expired does not count: work that was accepted in time is done.
 * @throws INVALID_CURRENT, and what `current` throws
 */
export function currentCaller (authenticate: Authenticate | undefined, principal: Principal | undefined): Principal | undefined {
  if (authenticate?.current === undefined || principal?.credential === undefined) return principal
  const current = authenticate.current(principal)
  // of JavaScript: a promise would pass for a caller without scopes
  if (current !== undefined && typeof current.owner !== 'string') throw new InvalidCurrentError()
  return current
}

/**
 * Ends work once the credential that opened it is removed, has other scopes, or has expired. Returns the function that
 * stops the watch. Callers whose credential cannot end cost nothing.
 */
export function watchCaller (authenticate: Authenticate | undefined, principal: Principal | undefined, end: () => void, log?: Log): () => void {
  if (authenticate === undefined || principal === undefined || !mayEnd(principal)) return () => {}
  let callers = all.get(authenticate)
  if (callers === undefined) all.set(authenticate, callers = new OpenCallers(authenticate))
  const stop = callers.add({ principal, end: () => { stop(); end() }, log })
  return stop
}

/** Watches the caller of a request until its response is over; then the connection is closed in the middle of it. */
export function watchRequest (authenticate: Authenticate, { raw: { socket }, log }: FastifyRequest, { raw }: FastifyReply, principal: Principal): void {
  if (!mayEnd(principal)) return
  const stop = watchCaller(authenticate, principal, () => { if (!raw.writableFinished) raw.destroy() }, log)
  raw.once('close', stop)
  // a response that is queued behind another one of its connection emits no `close`
  if (raw.socket === null) socket.once('close', stop)
}

function mayEnd ({ credential, expiresAt }: Principal): boolean {
  return credential !== undefined || expiresAt !== undefined
}
