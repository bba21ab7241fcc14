import { CODES, isServerRequestMethod, type ServerRequest } from '@polyvac/mcp-protocol'
import type { InputHandler, CallOptions } from '../protocol/call-options.js'
import { checkInputRequests } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { PendingRequest } from './pending-request.js'
import { LightAbort, type LinkedSet, type AbortSignalLike } from '@polyvac/core/plugin'

/** Tools remembered for having sent requests during a call. */
const MAX_REMEMBERED = 1_000

/**
 * Assigns requests of the server to calls. Up to revision 2025-11-25 a request over stdio does not name its call. It is
 * the only call in flight or, if all calls have one owner, the only one whose tool has sent a request before. Any other
 * request is declined.
 */
export class ServerRequests {
  readonly #calls: LinkedSet<PendingRequest>
  readonly #askers = new Set<string>()

  /** @param calls the calls in flight */
  constructor (calls: LinkedSet<PendingRequest>) {
    this.#calls = calls
  }

  /**
   * Answers a request of the server; declines one without a call.
   * @param known the call whose stream carried the request, null if that call has ended
   */
  async answer (method: string, params: Record<string, unknown>, signal: AbortSignalLike, known?: PendingRequest | null): Promise<Record<string, unknown>> {
    // roots are not declared: some servers would request them outside of any call
    if (!isServerRequestMethod(method) || method === 'roots/list') throw new RpcError(CODES.methodNotFound, `${method} is not served here`)
    const call = known === undefined ? this.#callAsked() : known
    if (call == null) return decline(method)
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

  #callAsked (): PendingRequest | undefined {
    const calls = this.#calls.values()
    if (calls.length === 1) return calls[0]
    if (new Set(calls.map(({ options }) => options.owner)).size > 1) return undefined
    const known = calls.filter(({ tool = '' }) => this.#askers.has(tool))
    return known.length === 1 ? known[0] : undefined
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
