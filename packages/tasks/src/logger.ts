/** A pino-like logger; everything but text goes into the first argument. */
export interface TaskLogger {
  debug (fields: object, message?: string): void
  warn (fields: object, message?: string): void
  error (fields: object, message?: string): void
}

export const silentLogger: TaskLogger = { debug () {}, warn () {}, error () {} }
