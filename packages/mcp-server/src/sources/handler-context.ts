import type { FunctionContext, Log, Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import { NEWEST_LEGACY, type CallProgress, type ClientCapabilities, type Era, type LogMessage } from '@polyvac/mcp-protocol'
import { CannotAskError } from '../errors.js'
import type { CallContext } from '../tool-source.js'

/**
 * The context of a handler. Handlers destructure it, `({ text }, { progress, signal }) => …`, so its functions need no
 * `this`. Each is created when it is read, since most calls read none. A call by an interpreter has no MCP client.
 */
export class HandlerContext implements CallContext {
  readonly #call: FunctionContext & Partial<CallContext>

  constructor (call: FunctionContext & Partial<CallContext>) {
    this.#call = call
  }

  get signal (): AbortSignalLike { return this.#call.signal }
  get principal (): Principal | undefined { return this.#call.principal }
  get log (): Log { return this.#call.log }
  get capabilities (): ClientCapabilities { return this.#call.capabilities ?? {} }
  get era (): Era { return this.#call.era ?? 'legacy' }
  get protocolVersion (): string { return this.#call.protocolVersion ?? NEWEST_LEGACY }
  get meta (): CallContext['meta'] { return this.#call.meta }
  get sessionId (): string | undefined { return this.#call.sessionId }
  get state (): string | undefined { return this.#call.state }
  get progress (): CallContext['progress'] { return (progress: CallProgress) => this.#call.progress?.(progress) }
  get message (): CallContext['message'] { return (message: LogMessage) => this.#call.message?.(message) }
  get ask (): CallContext['ask'] {
    return async (questions, state) => {
      if (this.#call.ask === undefined) throw new CannotAskError(Object.keys(questions).join(', '), 'an interpreter calls the tool, not an MCP client')
      return await this.#call.ask(questions, state)
    }
  }

  get disconnect (): CallContext['disconnect'] { return (retryMs?: number) => { this.#call.disconnect?.(retryMs) } }
}
