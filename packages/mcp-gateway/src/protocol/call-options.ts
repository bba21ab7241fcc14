import type { AbortSignalLike } from '@polyvac/core/plugin'
import type { CallProgress, LogMessage, ServerRequest } from '@polyvac/mcp-protocol'

/** Gives the answer to a question, or says that nobody can. */
export type InputHandler = (question: ServerRequest, signal: AbortSignalLike) => Promise<Record<string, unknown>>

/** What a caller has to say to the questions that a server of revision 2026-07-28 put into its last result. */
export interface Round {
  readonly inputResponses?: Readonly<Record<string, unknown>> | undefined
  readonly requestState?: string | undefined
}

export interface CallOptions {
  /** Cancels the call at its server. Any AbortSignal will do. */
  readonly signal?: AbortSignalLike | undefined
  readonly onProgress?: ((progress: CallProgress) => void) | undefined
  /** Gets what the server logs in the call, as far as that can be told. */
  readonly onMessage?: ((message: LogMessage) => void) | undefined
  /** The lowest level of log messages that are wanted. Default: what the server sends without being asked. */
  readonly logLevel?: string | undefined
  /** Whose call it is, where that is known: a question that may be another's is shown to nobody. */
  readonly owner?: string | undefined
  /** Answers questions of the server; without it they are declined. */
  readonly ask?: InputHandler | undefined
  /** What the caller can answer, as a server of revision 2026-07-28 is told. Default: elicitation and sampling. */
  readonly capabilities?: object | undefined
  /** For a server of revision 2026-07-28: it goes with the request, and a result that asks for input is given back as it is. */
  readonly round?: Round | undefined
}

/** A server's whole result: `content`, `structuredContent`, `isError` and what else it says. */
export type ToolResult = Readonly<Record<string, unknown>>
