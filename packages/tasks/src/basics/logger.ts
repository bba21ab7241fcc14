/** The part of a pino logger that the store uses. */
export interface TaskLogger {
  debug (fields: object, message?: string): void
  warn (fields: object, message?: string): void
  error (fields: object, message?: string): void
}

export const silentLogger: TaskLogger = { debug () {}, warn () {}, error () {} }
