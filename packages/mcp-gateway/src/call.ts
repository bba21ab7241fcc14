import type { StopSignal } from '@polyvac/core'

/** How far a call has come, as the server tells it. */
export interface CallProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** What a server asks the caller in the middle of a call: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface Question {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** Gives the answer to a question, or says that nobody can. */
export type Asker = (question: Question, signal: StopSignal) => Promise<Record<string, unknown>>

export interface CallOptions {
  /** Cancels the call at its server. Any AbortSignal will do. */
  readonly signal?: StopSignal | undefined
  readonly onProgress?: ((progress: CallProgress) => void) | undefined
  /** Whose call it is, where that is known: a question that may be another's is shown to nobody. */
  readonly owner?: string | undefined
  /** Answers questions of the server; without it they are declined. */
  readonly ask?: Asker | undefined
}

/** A server's whole result: `content`, `structuredContent`, `isError` and what else it says. */
export type ToolResult = Readonly<Record<string, unknown>>
