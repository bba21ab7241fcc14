import type { Principal } from '@polyvac/core'
import type { AbortSignalLike } from '@polyvac/core/plugin'
import type { CallProgress, LogMessage, ServerRequest } from '@polyvac/mcp-protocol'

/** Answers a request of the server. @throws Declined */
export type InputHandler = (question: ServerRequest, signal: AbortSignalLike) => Promise<Record<string, unknown>>

/** A caller's answers to the last `input_required` result of a server of revision 2026-07-28. */
export interface Round {
  readonly inputResponses?: Readonly<Record<string, unknown>> | undefined
  readonly requestState?: string | undefined
}

export interface CallOptions {
  /** Cancels the call at its server. Any AbortSignal will do. */
  readonly signal?: AbortSignalLike | undefined
  readonly onProgress?: ((progress: CallProgress) => void) | undefined
  /** Receives log messages of the call, as far as the binding assigns them to calls. */
  readonly onMessage?: ((message: LogMessage) => void) | undefined
  /** The lowest level of log messages. Default: the server decides. */
  readonly logLevel?: string | undefined
  /** The caller, if authenticated: a request of the server that may belong to another owner is declined. */
  readonly principal?: Principal | undefined
  /** `_meta` of the caller's request. The server gets it without `progressToken` and `io.modelcontextprotocol/*`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** Names the MCP session of the caller, for servers with `process: session`. */
  readonly sessionId?: string | undefined
  /** Answers requests of the server; without it they are declined. */
  readonly ask?: InputHandler | undefined
  /** Client capabilities for a server of revision 2026-07-28. Default: elicitation and sampling. */
  readonly capabilities?: object | undefined
  /**
   * Sent with the request to a server of revision 2026-07-28; its `input_required` result is then returned unchanged.
   */
  readonly round?: Round | undefined
}

/** A server's whole result: `content`, `structuredContent`, `isError` and any other fields. */
export type ToolResult = Readonly<Record<string, unknown>>
