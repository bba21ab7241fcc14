import { CODES, isServerRequestMethod, type ServerRequest } from '@polyvac/mcp-protocol'
import type { InputHandler, CallOptions } from '../protocol/call-options.js'
import { checkQuestions } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { PendingRequest } from './pending-request.js'
import { LightAbort, type LinkedSet, type AbortSignalLike } from '@polyvac/core/plugin'

/** Tools remembered as ones that ask. */
const MAX_REMEMBERED = 1_000

/**
 * Finds the call that a question of the server belongs to. Up to revision 2025-11-25 the question does not say so over
 * stdio: it is the only call in flight, or, where all of them are of one owner, the only one whose tool has asked before.
 * Else nobody is asked.
 */
export class ServerRequests {
  readonly #calls: LinkedSet<PendingRequest>
  readonly #askers = new Set<string>()

  /** @param calls those in flight */
  constructor (calls: LinkedSet<PendingRequest>) {
    this.#calls = calls
  }

  /** Answers a request of the server; what nobody can answer is declined in the words of the protocol. `known` is the call that it came with, null one that has ended. */
  async answer (method: string, params: Record<string, unknown>, signal: AbortSignalLike, known?: PendingRequest | null): Promise<Record<string, unknown>> {
    // roots were not declared: some servers would ask for them outside of any call
    if (!isServerRequestMethod(method) || method === 'roots/list') throw new RpcError(CODES.methodNotFound, `${method} is not served here`)
    const call = known === undefined ? this.#callAsked() : known
    if (call == null) return decline(method)
    if (call.tool !== undefined && this.#askers.size < MAX_REMEMBERED) this.#askers.add(call.tool)
    // its time does not run while somebody thinks
    call.pause()
    try {
      return await ask({ method, params }, call.options.ask, signal)
    } finally {
      call.resume()
    }
  }

  /** The call that a log message belongs to: the only one, or the oldest where all are of one owner. */
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
 * The answers to a result of revision 2026-07-28 that asks for input: the parameters of the call that follows.
 * @throws RpcError where nobody can answer what has no way to be declined
 */
export async function answersTo (result: Readonly<Record<string, unknown>>, options: CallOptions): Promise<object> {
  checkQuestions(result)
  const { inputRequests, requestState } = result
  const requests = Object.entries((inputRequests ?? {}) as Record<string, Partial<ServerRequest>>)
  const inputResponses = Object.fromEntries(await Promise.all(requests.map(async ([key, { method = '', params = {} }]) => {
    return [key, await ask({ method, params }, options.ask, options.signal ?? new LightAbort())]
  })))
  return { ...requests.length > 0 && { inputResponses }, ...requestState !== undefined && { requestState } }
}

/** Thrown by an asker: nobody can or will answer. */
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
  throw new RpcError(CODES.userRejected, `nobody is there to answer ${method}`)
}
