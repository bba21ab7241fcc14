import { VacInvalidResultError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import { StepProblem } from './read-step.js'
import { STEP_KINDS, stepKind, type Step, type StepKind, type StepOf } from './step.js'
import type { Answer, Chunk, Progress } from './vac.js'

const HEARTBEAT = /^\[\[HEARTBEAT\]\](.*)\[\[\/HEARTBEAT\]\]$/s

/** Reads the steps of one answer. */
export interface StepReader {
  /** The step as its reader sees it; undefined where it sees nothing. @throws StepProblem */
  readStep (kind: StepKind, given: unknown): Step | undefined
}

/**
 * Converts a yielded value to text, progress or a step; undefined for an object that ends the answer. Nothing is an
 * empty text: the deltas of a model have chunks without content. A step that the reader does not see is one, too.
 * @throws VAC_INVALID_RESULT
 */
export function toChunk (vac: string, value: unknown, reader: StepReader): string | Progress | Step | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') {
    const heartbeat = value.startsWith('[[HEARTBEAT]]') ? HEARTBEAT.exec(value) : null
    return heartbeat === null ? value : { progress: 0, message: heartbeat[1]?.toWellFormed() }
  }
  if (isRecord(value)) {
    if (isAnswerObject(value)) return undefined
    const kind = STEP_KINDS.find(kind => value[kind] !== undefined)
    if (kind !== undefined) return toStep(vac, kind, value[kind], reader)
    const { progress, message } = value
    if (typeof progress === 'number' && Number.isFinite(progress)) {
      return { progress: Math.min(1, Math.max(0, progress)), ...(typeof message === 'string' ? { message: message.toWellFormed() } : {}) }
    }
  }
  // as the deltas of a model have chunks without content
  if (isRecord(value) && STEP_KINDS.some(kind => kind in value)) return ''
  throw new VacInvalidResultError(JSON.stringify(vac), 'a chunk that is not text, { progress }, a step or an answer object')
}

function toStep (vac: string, kind: StepKind, given: unknown, reader: StepReader): Step | '' {
  try {
    return reader.readStep(kind, given) ?? ''
  } catch (err) {
    if (err instanceof StepProblem) throw new VacInvalidResultError(JSON.stringify(vac), err.message)
    throw err
  }
}

/** What an item of an answer stream is. */
export type ChunkKind = 'text' | 'progress' | 'answer' | StepKind

/** The type of an item by its kind. */
export type ChunkOf<Kind extends ChunkKind> = Kind extends 'text' ? string : Kind extends 'progress' ? Progress
  : Kind extends 'answer' ? Answer : Kind extends StepKind ? StepOf<Kind> : never

/** What an encoder has for each kind: a kind that it forgets does not compile. */
export type ByKind<T> = { readonly [Kind in ChunkKind]: (chunk: ChunkOf<Kind>) => T }

/** The kind of an item of an answer stream. */
export function chunkKind (chunk: Chunk): ChunkKind {
  if (typeof chunk === 'string') return 'text'
  if ('answer' in chunk) return 'answer'
  return 'progress' in chunk ? 'progress' : stepKind(chunk)
}

/**
 * What a table has for an item.
 * @example const encode = (chunk: Chunk) => encodeChunk(TABLE, chunk)
 */
export function encodeChunk<T> (table: ByKind<T>, chunk: Chunk): T {
  return (table[chunkKind(chunk)] as (chunk: Chunk) => T)(chunk)
}

/** Whether an item is a step. */
export function isStep (chunk: Chunk): chunk is Step {
  return typeof chunk === 'object' && !('answer' in chunk) && !('progress' in chunk)
}

/** Whether an object ends an answer. */
export function isAnswerObject (value: unknown): boolean {
  return typeof value === 'object' && value !== null &&
    ('answer' in value || 'tool_calls' in value || 'input_required' in value || 'auth_required' in value || 'output' in value || 'source_documents' in value)
}

/** Whether a chunk is the final Answer. */
export function isAnswer (chunk: Chunk): chunk is Answer {
  return typeof chunk === 'object' && 'answer' in chunk
}

/** Whether a result contains the text of the answer. */
export function hasAnswer (result: unknown): boolean {
  return typeof result === 'string' || (isAnswerObject(result) && typeof (result as { answer?: unknown }).answer === 'string')
}
