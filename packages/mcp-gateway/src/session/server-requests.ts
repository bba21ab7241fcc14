import { isRecord, LightAbort, type AbortSignalLike } from '@polyvac/core/plugin'
import { CODES, isServerRequestMethod, RELATED_TASK, type LogMessage, type ServerRequest } from '@polyvac/mcp-protocol'
import type { InputHandler, CallOptions } from '../protocol/call-options.js'
import { checkInputRequests } from '../protocol/check-result.js'
import { RpcError } from '../protocol/json-rpc.js'
import type { OpenWork, Work } from './open-work.js'

type Params = Readonly<Record<string, unknown>>

/** Tools and methods remembered for having sent requests during a call. */
const MAX_REMEMBERED = 1_000

/** A request or log message of the server that no caller got. */
export interface UnassignedMessage {
  readonly method: string
  readonly reason: string
  readonly callsInFlight: number
  /** The tools of these calls. */
  readonly tools: readonly string[]
  /** The data of a log message. */
  readonly data?: unknown
}

/**
 * Assigns requests and log messages of the server to callers, where that is certain. Its task decides, or the response
 * stream that carried it. Otherwise, as over stdio up to revision 2025-11-25, it belongs to the only owner who has any
 * work at the server: of several calls of this owner, to the only one whose tool has sent a request before, and of
 * several such calls to the only one without an open request. Any other request is declined, and any other log message
 * goes only to the log of the service.
 */
export class ServerRequests {
  readonly #work: OpenWork
  readonly #onUnassigned: (message: UnassignedMessage) => void
  // @keyed tool of a server that asked within a call | holds: nothing more | whose: the server | bound:
  //   MAX_REMEMBERED, names from its list of tools | share: only the server | test:
  //   packages/mcp-gateway/test/interactive.test.ts: while a question is open, the next call of the same tool gets
  //   its own question
  readonly #askers = new Set<string>()

  constructor (work: OpenWork, onUnassigned: (message: UnassignedMessage) => void) {
    this.#work = work
    this.#onUnassigned = onUnassigned
  }

  /**
   * Answers a request of the server; declines one without a caller.
   * @param carrier the work whose stream carried the request, null if that has ended
   */
  async answer (method: string, params: Params, signal: AbortSignalLike, carrier?: Work | null): Promise<Record<string, unknown>> {
    // roots are not declared: some servers would request them outside of any call
    if (!isServerRequestMethod(method) || method === 'roots/list') throw new RpcError(CODES.methodNotFound, `${method} is not served here`)
    const found = this.#workOf(params, carrier)
    const work = typeof found === 'string' ? found : this.#asked(found)
    if (typeof work === 'string') {
      this.#leave(method, work)
      return decline(method)
    }
    if (this.#askers.size < MAX_REMEMBERED) this.#askers.add(nameOf(work))
    // pause the call timeout while the user answers
    work.pause()
    try {
      return await ask({ method, params }, work.options.ask, signal)
    } finally {
      work.resume()
    }
  }

  /** Passes a log message to its caller: of several calls of one owner, to the oldest that reads them. */
  log (message: LogMessage, carrier?: Work | null): unknown {
    const found = this.#workOf(message as unknown as Params, carrier)
    if (typeof found === 'string') return this.#leave('notifications/message', found, message.data)
    return found.find(({ options }) => options.onMessage !== undefined)?.options.onMessage?.(message) as unknown
  }

  #workOf ({ _meta: meta }: Params, carrier: Work | null | undefined): readonly Work[] | string {
    if (isRecord(meta) && meta[RELATED_TASK] !== undefined) return this.#work.ofTask((meta[RELATED_TASK] as { taskId?: unknown } | null)?.taskId, carrier)
    if (carrier === undefined) return this.#work.ofOneOwner()
    return carrier === null ? 'its call has ended' : [carrier]
  }

  #leave (method: string, reason: string, data?: unknown): void {
    const tools = [...new Set(this.#work.values().flatMap(({ tool = [] }) => tool))]
    this.#onUnassigned({ method, reason, callsInFlight: this.#work.size, tools, data })
  }

  /** The call that a request belongs to, of those of one owner, or why none is certain. */
  #asked (calls: readonly Work[]): Work | string {
    if (calls.length === 1) return calls[0]!
    const known = calls.filter(call => this.#askers.has(nameOf(call)))
    // a call that waits for an answer rarely asks again
    const free = known.filter(({ isPaused }) => !isPaused)
    const [call, ...others] = free.length > 0 ? free : known
    return call !== undefined && others.length === 0 ? call : 'it could belong to several calls in flight'
  }
}

function nameOf ({ method, tool }: Work): string {
  return tool === undefined ? method : `${method} ${tool}`
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
