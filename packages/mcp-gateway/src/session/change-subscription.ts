import { backoff } from '@polyvac/core/plugin'
import { CODES } from '@polyvac/mcp-protocol'
import type { Limits } from '../options.js'
import { RpcError, type Id } from '../protocol/json-rpc.js'
import type { RpcChannel, Waiting } from './rpc-channel.js'

/** Delay before a subscription that ended is requested again, in delays before a restart: 2 s by default. */
const DELAYS = 8

/** Requests that a later one has replaced, and that the server has not acknowledged, at a time. */
const MAX_REPLACED = 16

/** Keeps one `subscriptions/listen` request open, for changes of lists and resources (revision 2026-07-28). */
export class ChangeSubscription {
  readonly #channel: RpcChannel
  readonly #limits: Limits
  /** Resources to be notified of. */
  // @keyed URI that a caller subscribed to | holds: nothing more | whose: the subscribers of one server | bound:
  //   the subscriptions of the MCP server, which bounds them for each session; MAX_NAME_CHARS for a URI | share: that
  //   of the session: the memory budget of its owner | test: packages/mcp-server/test/owner-shares.test.ts:
  //   subscriptions and sessions past the memory budget are refused, or end the oldest sessions of their owner
  readonly #uris = new Set<string>()
  #current: Id | undefined
  /** Requests that the current one replaces once it is acknowledged. */
  // @keyed number of a request of this process | holds: requests that a later one replaces | whose: the server |
  //   bound: MAX_REPLACED | share: of no owner: the server holds as many | test:
  //   packages/mcp-gateway/test/odd-servers.test.ts: the subscription is requested again when its stream breaks, and
  //   after the server was away
  #replaced: Id[] = []
  /** Refusals in a row. */
  #refusals = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor (channel: RpcChannel, limits: Limits) {
    this.#channel = channel
    this.#limits = limits
  }

  watch (uri: string, isWatched: boolean): void {
    if (isWatched) this.#uris.add(uri)
    else this.#uris.delete(uri)
    if (this.#current !== undefined) this.#replaced.push(this.#current)
    // a server that acknowledges none would hold all of them
    if (this.#replaced.length > MAX_REPLACED) this.#channel.cancel(this.#replaced.shift() as Id, 'replaced by another subscription')
    this.listen()
  }

  listen (): void {
    clearTimeout(this.#timer)
    const waiting: Waiting = {
      isStanding: true,
      answered: () => this.#ended(waiting),
      failed: err => this.#ended(waiting, err),
      progressed () {}
    }
    this.#waiting = waiting
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }
    }
    this.#current = this.#channel.request('subscriptions/listen', { notifications }, waiting)
  }

  #waiting: Waiting | undefined

  acknowledged (): void {
    this.#refusals = 0
    for (const id of this.#replaced.splice(0)) this.#channel.cancel(id, 'replaced by another subscription')
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #ended (waiting: Waiting, err?: unknown): void {
    // a server without subscriptions: its lists expire by age
    const isUnknown = err instanceof RpcError && err.code === CODES.methodNotFound
    if (this.#isClosed || isUnknown || waiting !== this.#waiting) return
    if (err instanceof Error) this.#channel.trouble(err)
    clearTimeout(this.#timer)
    const { restartDelayMs, restartDelayMaxMs } = this.#limits
    const ms = backoff(++this.#refusals, { firstMs: DELAYS * restartDelayMs, maxMs: restartDelayMaxMs })
    this.#timer = setTimeout(() => this.listen(), ms).unref()
  }
}
