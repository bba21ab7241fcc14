/** The progress of a call. `progress` grows with each notification. */
export interface CallProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** The levels of log messages, lowest first. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = typeof LOG_LEVELS[number]

export function isLogLevel (level: unknown): level is LogLevel {
  return LOG_LEVELS.includes(level as never)
}

export interface LogMessage {
  readonly level: LogLevel
  readonly logger?: string | undefined
  /** Any JSON value. */
  readonly data: unknown
}

/** A prompt or a resource template whose argument is completed. */
export type CompletionRef =
  { readonly type: 'ref/prompt', readonly name: string } | { readonly type: 'ref/resource', readonly uri: string }

export interface CompletionArgument {
  readonly name: string
  readonly value: string
  /** Arguments that have a value already. */
  readonly given: Readonly<Record<string, string>>
}

export interface Completion {
  readonly values: readonly string[]
  readonly total?: number | undefined
  readonly hasMore?: boolean | undefined
}
