import { createError } from '../basics/create-error.js'
import { maskPasswords } from './mask-password.js'

/** One thing wrong with a configuration file. Line and column count from 1. */
export interface ConfigProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
  /** The remedy, such as `did you mean "agent"?` */
  readonly hint?: string | undefined
  /** The place as people read it: heading line, source line, marker. */
  readonly text: string
}

/** Most problems, and most warnings, that are reported for one file. */
export const MAX_CONFIG_PROBLEMS = 20

/** Longest source line in a message, in UTF-16 units; of a longer one the part around the problem is shown. */
const MAX_LINE_CHARS = 200

/** Part of a line before and after the shown one that is searched for the URL of a password, in UTF-16 units. */
const MAX_URL_CHARS = 2_000

/** The credentials of a file that is refused for any reason: removed ones must end all the same. */
export interface RefusedAuth {
  /** `service.auth`, unchecked; undefined where the file has none, or under another name. */
  readonly auth: Readonly<Record<string, unknown>> | undefined
  /** False where the file is not valid YAML: then `auth` may lack a part of what is written. */
  readonly isWhole: boolean
  /** The hashes that the file has anywhere: a token whose hash is nowhere was removed. */
  readonly hashes: readonly string[]
}

const InvalidConfig = createError<[string]>('CONFIG_INVALID', '%s', 500)

/** All problems of a configuration file. `message` is the text for people. */
export class ConfigError extends InvalidConfig {
  /**
   * @param warnings what is allowed but may be a mistake, such as an unknown key; `message` has it, too
   * @param hasMore whether the file has more problems than are reported
   * @param refused its credentials; undefined where the file has neither `auth` nor a hash
   */
  constructor (readonly problems: readonly ConfigProblem[], readonly warnings: readonly ConfigProblem[] = [], readonly hasMore = false,
    readonly refused?: RefusedAuth) {
    const texts = [...problems, ...warnings].map(problem => problem.text)
    super([...texts, ...hasMore ? ['there are more problems; these are the first ones'] : []].join('\n'))
  }
}

/** The system was too slow to deliver or to check the file: its text may be right, so it is read again. */
export class LateConfigError extends ConfigError {}

/** Draws the problem's place: `file:line:column  message`, then the source line with a marker below it. */
export function frameProblem (place: { file: string, line: number, column: number }, source: string,
  width: number, message: string, hint?: string): ConfigProblem {
  const { file, line, column } = place
  const whole = source.split(/\r?\n/)[line - 1] ?? ''
  const start = Math.max(0, whole.length <= MAX_LINE_CHARS ? 0 : column - 1 - MAX_LINE_CHARS / 2)
  const from = Math.max(0, start - MAX_URL_CHARS)
  const code = maskPasswords(whole.slice(from, start + MAX_LINE_CHARS + MAX_URL_CHARS)).slice(start - from, start - from + MAX_LINE_CHARS)
  const masked = maskPasswords(message)
  const number = String(line).padStart(5)
  const marker = '^'.repeat(Math.max(1, Math.min(width, code.length - (column - start) + 1)))
  const text = [
    `${file}:${line}:${column}  ${masked}`,
    `${number} | ${code}`,
    `${' '.repeat(5)} | ${' '.repeat(Math.max(0, column - start - 1))}${marker}${hint === undefined ? '' : ` ${hint}`}`
  ].join('\n')
  return { file, line, column, message: masked, hint, text }
}
