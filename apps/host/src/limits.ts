import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import type { ServiceConfig } from '@polyvac/core'
import { addressBlock, auditRequest, isInner, OwnerSlots, ownerOf, setOwnerShare } from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CallerCounts } from './caller-counts.js'
import { OverloadedError, RateLimitError, TasksPerDayError } from './errors.js'

type Limits = NonNullable<ServiceConfig['limits']>

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** Interval in ms over which the delay of the event loop is averaged. */
const SAMPLE_MS = 1_000
/** Routes by which operators look at a service that is overloaded, and decide about a restart. */
const WATCHED = ['/health', '/ready', '/metrics']

/**
 * Bounds requests of each address, before its caller is known, and of each owner: in a minute, and at once. A stream
 * counts until it ends. Each process bounds by itself what runs at once.
 */
export async function limitRequests (app: FastifyInstance, { owner = {}, address = {}, owner_share: share, event_loop_delay: delay }: Limits,
  counts: CallerCounts): Promise<void> {
  if (share !== undefined) setOwnerShare(share)
  if (delay !== undefined) await refuseWhenLate(app, delay)
  await app.register(rateLimit, { global: false, store: counts.store })
  app.addHook('onClose', async () => { counts.close() })
  const addressOf = (request: FastifyRequest): string => `address ${addressBlock(request.ip)}`
  const ownerKey = (request: FastifyRequest): string => `owner ${ownerOf(request)}`
  const checkAddress = checker(app, address, 'one address', addressOf)
  const checkOwner = checker(app, owner, 'one owner', ownerKey)
  app.addHook('onRequest', async (request, reply) => {
    // the caller of an inner request was counted with the outer one
    if (!isInner(request.socket)) await checkAddress(request, reply)
  })
  // after the onRequest hooks of the plugins, which read the caller
  app.addHook('preParsing', async (request, reply) => { if (ownerOf(request) !== undefined) await checkOwner(request, reply) })
}

/** Refuses requests while the event loop is late on average: more work would make each answer later. */
async function refuseWhenLate (app: FastifyInstance, seconds: number): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: seconds * 1000,
    sampleInterval: SAMPLE_MS,
    pressureHandler (request) {
      if (isInner(request.socket) || WATCHED.includes(request.routeOptions.url ?? '')) return
      auditRequest(request, ownerOf(request), 'OVERLOAD')
      throw Object.assign(new OverloadedError(), { headers: { 'retry-after': String(SAMPLE_MS / 1000) } })
    }
  })
}

function checker (app: FastifyInstance, { requests_per_minute: max, at_once: atOnce }: NonNullable<Limits['owner']>, whose: string,
  keyOf: (request: FastifyRequest) => string): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const slots = atOnce === undefined ? undefined : new OwnerSlots({ part: `requests of ${whose}`, total: Number.MAX_SAFE_INTEGER, share: atOnce })
  const isOver = max === undefined
    ? undefined
    : app.createRateLimit({ max, timeWindow: MINUTE_MS, keyGenerator: keyOf } satisfies CreateRateLimitOptions)
  return async (request, reply) => {
    const rate = await isOver?.(request)
    if (rate !== undefined && !rate.isAllowed && rate.isExceeded) {
      auditRequest(request, ownerOf(request), 'RATE_LIMIT')
      throw Object.assign(new RateLimitError(whose, max!), { headers: { 'retry-after': String(rate.ttlInSeconds) } })
    }
    if (slots === undefined) return
    const key = keyOf(request)
    if (!slots.tryTake(key)) {
      auditRequest(request, ownerOf(request), 'AT_ONCE')
      throw slots.refusal()
    }
    // emitted once, when the response is complete or its connection is lost
    reply.raw.once('close', () => { slots.release(key) })
  }
}

/** Bounds the tasks that each owner creates in a day, of UTC. */
export function limitTasks (store: TaskStore, max: number, counts: CallerCounts): void {
  const create = store.create.bind(store)
  store.create = async (owner, task) => {
    const today = Math.floor(Date.now() / DAY_MS)
    const name = `tasks ${today} ${owner}`
    if (counts.add(name, DAY_MS, max).value > max) {
      const seconds = Math.ceil(((today + 1) * DAY_MS - Date.now()) / 1000)
      throw Object.assign(new TasksPerDayError(max), { headers: { 'retry-after': String(seconds) } })
    }
    const created = await create(owner, task)
    // the same request as before
    if (!created.created) counts.takeBack(name)
    return created
  }
}
