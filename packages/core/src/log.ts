/** The part of a pino logger that interpreters and plugins use. */
export interface Log {
  debug (obj: object, message?: string): void
  info (obj: object, message?: string): void
  warn (obj: object, message?: string): void
  error (obj: object, message?: string): void
}

/** A log that drops every line. */
export const silentLog: Log = { debug () {}, info () {}, warn () {}, error () {} }
