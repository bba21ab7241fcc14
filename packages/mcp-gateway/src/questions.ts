import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import type { Asker, Question } from './call.js'
import type { Patience } from './patience.js'

/** A call that may be asked something. */
export interface AskedCall {
  readonly tool: string
  readonly ask: Asker | undefined
  /** The call's own time, which does not run while somebody thinks. */
  readonly patience: Patience
}

/** Tools remembered as ones that ask. */
const MAX_REMEMBERED = 1_000

/**
 * Finds the call that a question of the server belongs to. Up to revision 2025-11-25 the question does not say so over
 * stdio: it is the only call in flight, or the only one whose tool has asked before. Else nobody can be asked.
 */
export class Questions {
  readonly #calls = new Set<AskedCall>()
  readonly #askers = new Set<string>()

  open (call: AskedCall): { end (): void } {
    this.#calls.add(call)
    return { end: () => { this.#calls.delete(call) } }
  }

  /** Answers a request of the server; what nobody can answer is declined in the words of the protocol. */
  async answer (method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>> {
    if (method !== 'elicitation/create' && method !== 'sampling/createMessage') throw new McpError(ErrorCode.MethodNotFound, `${method} is not served here`)
    const call = this.#callAsked()
    if (call?.ask === undefined) return decline(method)
    if (this.#askers.size < MAX_REMEMBERED) this.#askers.add(call.tool)
    const question: Question = { method, params }
    call.patience.pause()
    try {
      return await call.ask(question, signal)
    } catch (err) {
      if (err instanceof Declined) return decline(method)
      throw err
    } finally {
      call.patience.resume()
    }
  }

  #callAsked (): AskedCall | undefined {
    const calls = [...this.#calls]
    if (calls.length === 1) return calls[0]
    const known = calls.filter(({ tool }) => this.#askers.has(tool))
    return known.length === 1 ? known[0] : undefined
  }
}

/** Thrown by an asker: nobody can or will answer. */
export class Declined extends Error {}

function decline (method: string): Record<string, unknown> {
  if (method === 'elicitation/create') return { action: 'decline' }
  // JSON-RPC code of the specification for a user who rejects sampling
  throw new McpError(-1, 'nobody is there to answer a sampling request')
}
