import {
  addressBlock, auditRequest, BODY_COPIES, CallPlace, Disconnects, isInner, memoryBudget, ownerOf, OwnerSlots, placeOf, setOwnerShare, setPlace, type CallerBound
} from '@polyvac/core/plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServiceConfig } from '../config/service-config.js'
import type { CallerCounts } from './caller-counts.js'
import { HostOptionsError, OverloadedError, RateLimitError } from '../errors.js'
import type { MinuteCounts } from './minute-counts.js'

type Limits = NonNullable<ServiceConfig['limits']>

/** Interval in ms over which the delay of the event loop is averaged. */
const SAMPLE_MS = 1_000
/** Stands for the callers of a socket file. */
const NO_ADDRESS = ''
/** Routes by which operators look at a service that is overloaded, and decide about a restart. */
const WATCHED = ['/health', '/ready', '/metrics']

/**
 * The bound of request bodies, in bytes, apart from those of callers; each undefined where it is not set.
 * @throws HOST_OPTIONS where no such body would be within the memory budget
 */
export function bodyLimitOf (given: Limits | undefined): { readonly bodyLimit: number | undefined, readonly limits: Limits | undefined } {
  if (given?.body === undefined) return { bodyLimit: undefined, limits: given }
  const { body, ...limits } = given
  const most = Math.floor(memoryBudget.limit / BODY_COPIES)
  if (body > most) {
    throw new HostOptionsError(`service.limits.body: ${body} bytes is too much for the memory budget, in which a body counts ${BODY_COPIES} times; set at most ${most}, or raise service.memory_budget`)
  }
  return { bodyLimit: body, limits: Object.keys(limits).length === 0 ? undefined : limits }
}

/**
 * Bounds the calls of each address, before its caller is known, and of each owner: in a minute, and at once. Each
 * request is one, and each further member of a batch. A call counts until its response and its work have ended, also
 * the work for a caller that has disconnected. Each process bounds by itself what runs at once.
 * @param perAddress calls of one address at once, where the limits do not name a number
 */
export async function limitRequests (app: FastifyInstance, { owner = {}, address = {}, owner_share: share, event_loop_delay: delay }: Limits,
  counts: CallerCounts, perAddress: number): Promise<void> {
  if (share !== undefined) setOwnerShare(share)
  if (delay !== undefined) await refuseWhenLate(app, delay)
  app.addHook('onClose', async () => { counts.close() })
  const ofAddresses = new CallerLimits({ at_once: perAddress, ...address }, 'one address', counts.ofAddresses)
  const ofOwners = new CallerLimits(owner, 'one owner', counts.ofOwners)
  const disconnects = new Disconnects()
  app.addHook('onRequest', (request, reply, done) => {
    const place = new CallPlace()
    setPlace(request, place)
    place.hold()
    disconnects.whenOver(reply, () => { place.release() })
    if (isOfCaller(request)) attempt(done, () => ofAddresses.bound(request, place, addressBlock(request.ip ?? NO_ADDRESS)))
    else done()
  })
  // after the onRequest hooks of the plugins, which read the caller
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const name = ownerOf(request)
    if (name === undefined) done(null, payload)
    else attempt(done, () => ofOwners.bound(request, placeOf(request)!, name))
  })
}

function attempt (done: (err?: Error) => void, work: () => void): void {
  try {
    work()
  } catch (err) {
    return done(err as Error)
  }
  done()
}

/** Whether a request comes from a caller, over HTTP or gRPC: not from the process itself, as over stdio. */
function isOfCaller ({ socket }: FastifyRequest): boolean {
  return !isInner(socket) || socket.remoteAddress !== undefined
}

/** Refuses requests while the event loop is late on average: more work would make each answer later. */
async function refuseWhenLate (app: FastifyInstance, seconds: number): Promise<void> {
  await app.register((await import('@fastify/under-pressure')).default, {
    maxEventLoopDelay: seconds * 1000,
    sampleInterval: SAMPLE_MS,
    pressureHandler (request) {
      if (!isOfCaller(request) || WATCHED.includes(request.routeOptions.url ?? '')) return
      auditRequest(request, ownerOf(request), 'OVERLOAD')
      throw Object.assign(new OverloadedError(), { headers: { 'retry-after': String(SAMPLE_MS / 1000) } })
    }
  })
}

/** The limits of each owner, or of each address. */
class CallerLimits {
  readonly #slots: OwnerSlots | undefined
  readonly #max: number | undefined
  readonly #whose: string
  readonly #counts: MinuteCounts

  constructor ({ requests_per_minute: max, at_once: atOnce }: NonNullable<Limits['owner']>, whose: string, counts: MinuteCounts) {
    this.#slots = atOnce === undefined ? undefined : new OwnerSlots({ part: `calls in progress (counted for ${whose})`, total: Number.MAX_SAFE_INTEGER, share: atOnce })
    this.#max = max
    this.#whose = whose
    this.#counts = counts
  }

  /** Counts a request, and binds its place to these limits. @throws RATE_LIMIT (429), OWNER_SHARE_USED (503) */
  bound (request: FastifyRequest, place: CallPlace, caller: string): void {
    const bound: CallerBound = {
      count: () => { this.#count(request, caller) },
      take: () => { this.#take(request, caller) },
      leave: () => { this.#slots?.release(caller) }
    }
    bound.count()
    place.add(bound)
  }

  #count (request: FastifyRequest, caller: string): void {
    const max = this.#max
    const seconds = max === undefined ? undefined : this.#counts.add(caller, max)
    if (seconds === undefined) return
    auditRequest(request, ownerOf(request), 'RATE_LIMIT')
    throw Object.assign(new RateLimitError(this.#whose, max!), { headers: { 'retry-after': String(seconds) } })
  }

  #take (request: FastifyRequest, caller: string): void {
    if (this.#slots === undefined || this.#slots.tryTake(caller)) return
    auditRequest(request, ownerOf(request), 'AT_ONCE')
    throw this.#slots.refusal()
  }
}
