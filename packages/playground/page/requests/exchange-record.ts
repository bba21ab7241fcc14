export type Protocol = 'direct' | 'openai' | 'responses' | 'ai_sdk' | 'ag_ui' | 'a2a' | 'a2a-description' | 'mcp' | 'mcp-gateway' | 'http'

/** What arrived, in order: an SSE event, a line, or a piece of text. `at` is in ms since the start of the exchange. */
export interface Frame { readonly at: number, readonly bytes: number, readonly text: string }

/** One request and everything that was received for it. Times are ms since the epoch; `at` is ms since `startedAt`. */
export interface Exchange {
  /** Unique in the session. */
  readonly id: string
  readonly startedAt: number
  readonly protocol: Protocol
  /** For people: `ask demo`, `tools/call get_time`. */
  readonly label: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Record<string, string>
    readonly body?: unknown
  }
  status?: number
  headers?: Record<string, string>
  readonly frames: Frame[]
  /** What was received, with the frames that the page did not keep. */
  received?: { frames: number, bytes: number }
  /** In ms since `startedAt`. */
  firstByteAt?: number
  endedAt?: number
  /** Why it ended early. */
  error?: string
}
