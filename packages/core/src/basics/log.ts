import { format } from 'node:util'

type LogFields = (obj: object, message?: string) => void

/** The part of a pino logger that plugins use, and that applications supply. */
export interface Log {
  readonly trace?: LogFields
  debug (obj: object, message?: string): void
  info (obj: object, message?: string): void
  warn (obj: object, message?: string): void
  error (obj: object, message?: string): void
}

/** Fields and a message, or only a message, as pino takes them. `%s` and its like are filled in from `args`. */
export interface LogMethod {
  (obj: object, message?: string, ...args: unknown[]): void
  (message: string, ...args: unknown[]): void
}

/** The log of an interpreter, with the methods of pino. */
export interface InterpreterLog {
  readonly trace: LogMethod
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
  /** A log that adds these fields to each line. */
  child (bindings: object): InterpreterLog
}

/** A log that drops every line. */
export const silentLog: InterpreterLog = {
  trace () {}, debug () {}, info () {}, warn () {}, error () {}, child () { return silentLog }
}

/** A log with the methods that pino has and `log` lacks. */
export class BoundLog implements InterpreterLog {
  readonly #log: Log
  readonly #bindings: object

  constructor (log: Log, bindings: object) {
    this.#log = log
    this.#bindings = bindings
  }

  readonly trace = this.#method('trace')
  readonly debug = this.#method('debug')
  readonly info = this.#method('info')
  readonly warn = this.#method('warn')
  readonly error = this.#method('error')

  child (bindings: object): InterpreterLog {
    return new BoundLog(this.#log, { ...this.#bindings, ...bindings })
  }

  #method (level: keyof Log): LogMethod {
    return (first: object | string, ...args: unknown[]) => {
      const [fields, text] = typeof first === 'string' ? [{}, [first, ...args]] : [first, args]
      const message = text.length === 0 ? undefined : format(...text)
      const name = this.#log[level] === undefined ? 'debug' : level
      const line: Record<string, unknown> = { ...this.#bindings, ...(fields instanceof Error ? { err: fields } : fields) }
      // as with a child of pino, a field without a value does not hide the one of the child
      for (const [key, value] of Object.entries(this.#bindings)) if (line[key] === undefined) line[key] = value
      this.#log[name]?.(line, message)
    }
  }
}
