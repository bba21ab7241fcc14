import { CODES, isServerRequestMethod, type ServerRequest } from '@polyvac/mcp-protocol'
import type { InputHandler, CallOptions } from '../protocol/call-options.js'
import { checkInputRequests } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { PendingRequest } from './pending-request.js'
import { LightAbort, type LinkedSet, type AbortSignalLike } from '@polyvac/core/plugin'

/** Tools remembered for having sent requests during a call. */
const MAX_REMEMBERED = 1_000

/** A request of the server that no call got. */
export interface UnassignedRequest {
  readonly method: string
  readonly reason: string
  readonly callsInFlight: number
  /** The tools of these calls. */
  readonly tools: readonly string[]
}

/**
 * Assigns requests of the server to calls. Up to revision 2025-11-25 a request over stdio does not name its call. It is
 * the only call in flight or, if all calls have one owner, the only one whose tool has sent a request before. Of
 * several such calls it is the only one without an open request: where a call asks twice at once, this may be another
 * call of the owner. Callers without an owner count as one. Any other request is declined.
 */
export class ServerRequests {
  // @keyed none: it is `#calls` of the session
  readonly #calls: LinkedSet<PendingRequest>
  readonly #onUnassigned: (request: UnassignedRequest) => void
  // @keyed tool of a server that asked within a call | holds: nothing more | whose: the server | bound:
  //   MAX_REMEMBERED, names from its list of tools | share: the server alone | test:
  //   packages/mcp-gateway/test/interactive.test.ts: while a question is open, the next call of the same tool gets
  //   its own question
  readonly #askers = new Set<string>()

  /** @param calls the calls in flight */
  constructor (calls: LinkedSet<PendingRequest>, onUnassigned: (request: UnassignedRequest) => void) {
    this.#calls = calls
    this.#onUnassigned = onUnassigned
  }

  /**
   * Answers a request of the server; declines one without a call.
   * @param known the call whose stream carried the request, null if that call has ended
   */
  async answer (method: string, params: Record<string, unknown>, signal: AbortSignalLike, known?: PendingRequest | null): Promise<Record<string, unknown>> {
    // roots are not declared: some servers would request them outside of any call
    if (!isServerRequestMethod(method) || method === 'roots/list') throw new RpcError(CODES.methodNotFound, `${method} is not served here`)
    const call = known === undefined ? this.#callAsked() : known ?? 'its call has ended'
    if (typeof call === 'string') {
      const tools = [...new Set(this.#calls.values().flatMap(({ tool = [] }) => tool))]
      this.#onUnassigned({ method, reason: call, callsInFlight: this.#calls.size, tools })
      return decline(method)
    }
    if (call.tool !== undefined && this.#askers.size < MAX_REMEMBERED) this.#askers.add(call.tool)
    // pause the call timeout while the user answers
    call.pause()
    try {
      return await ask({ method, params }, call.options.ask, signal)
    } finally {
      call.resume()
    }
  }

  /** The call that a log message belongs to: the only one, or the oldest if all calls have one owner. */
  logging (): PendingRequest | undefined {
    const [first, ...others] = this.#calls.values()
    const owner = first?.options.owner
    return others.length === 0 || (owner !== undefined && others.every(({ options }) => options.owner === owner)) ? first : undefined
  }

  /** The call of a request that does not name one, or why none is known. */
  #callAsked (): PendingRequest | string {
    const calls = this.#calls.values()
    if (calls.length === 0) return 'no call is in flight'
    if (calls.length === 1) return calls[0]!
    if (new Set(calls.map(({ options }) => options.owner)).size > 1) return 'calls of several owners are in flight'
    const known = calls.filter(({ tool = '' }) => this.#askers.has(tool))
    // a call that waits for an answer rarely asks again
    const free = known.filter(({ isPaused }) => !isPaused)
    const [call, ...others] = free.length > 0 ? free : known
    return call !== undefined && others.length === 0 ? call : 'it could belong to several calls in flight'
  }
}

/**
 * The parameters that answer an `input_required` result (revision 2026-07-28).
 * @throws RpcError for a request that cannot be declined and has no handler
 */
export async function answersTo (result: Readonly<Record<string, unknown>>, options: CallOptions): Promise<object> {
  checkInputRequests(result)
  const { inputRequests, requestState } = result
  const requests = Object.entries((inputRequests ?? {}) as Record<string, Partial<ServerRequest>>)
  const inputResponses = Object.fromEntries(await Promise.all(requests.map(async ([key, { method = '', params = {} }]) => {
    return [key, await ask({ method, params }, options.ask, options.signal ?? new LightAbort())]
  })))
  return { ...requests.length > 0 && { inputResponses }, ...requestState !== undefined && { requestState } }
}

/** Thrown by an input handler that declines. */
export class Declined extends Error {}

async function ask (question: ServerRequest, asker: InputHandler | undefined, signal: AbortSignalLike): Promise<Record<string, unknown>> {
  if (asker === undefined) return decline(question.method)
  try {
    return await asker(question, signal)
  } catch (err) {
    if (err instanceof Declined) return decline(question.method)
    throw err
  }
}

function decline (method: string): Record<string, unknown> {
  if (method === 'elicitation/create') return { action: 'decline' }
  throw new RpcError(CODES.userRejected, `the client has no handler for ${method}`)
}
