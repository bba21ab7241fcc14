import { MAX_OBJECT_CHARS } from '../vac/answer.js'
import { integer, readOptions, type OptionRules } from '../basics/options.js'

/** Bounds of one run. */
export interface RunLimits {
  /**
   * Most text, in UTF-16 units, collected for an answer that is not streamed, where the interpreter ends without an
   * answer object; past it the call fails. Default 16 Mi.
   */
  readonly maxAnswerChars: number
  /**
   * The same while streaming. The reader has all text by then, so past it the Answer holds its beginning, with
   * `metadata.truncated`. It is small, since every stalled reader of a long stream costs so much. Default 256 Ki.
   */
  readonly maxStreamedChars: number
  /**
   * Most JSON of an answer object, in characters, with 32 for each of its values; past it the call fails with
   * VAC_INVALID_RESULT, since converting it would block the event loop. Default 8 Mi.
   */
  readonly maxObjectChars: number
  /** Most text an interpreter may push by callback, without awaiting, ahead of the reader. Default 16 Mi. */
  readonly maxUnreadChars: number
  /**
   * Most steps of an answer, where the pieces of a reasoning count as one. Past it they are left out, and counted in
   * `metadata.steps_left_out`. Default 1,000.
   */
  readonly maxSteps: number
  /** Most JSON of the steps of an answer, in characters; past it tools keep only their names. Default 4 Mi. */
  readonly maxStepChars: number
}

/** Bounds and defaults of the limits. */
export const RUN_LIMITS = {
  maxAnswerChars: integer(16 * 1024 * 1024),
  maxStreamedChars: integer(256 * 1024),
  maxObjectChars: integer(MAX_OBJECT_CHARS),
  maxUnreadChars: integer(16 * 1024 * 1024),
  maxSteps: integer(1_000),
  maxStepChars: integer(4 * 1024 * 1024)
} satisfies OptionRules<RunLimits>

/** The limits of runs that set none. */
export const DEFAULT_LIMITS: RunLimits = readOptions(RUN_LIMITS, {} as Partial<RunLimits>, Error, 'runInterpreter')
