import { VacInvalidResultError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import type { Answer, Chunk, Progress } from './vac.js'

const HEARTBEAT = /^\[\[HEARTBEAT\]\](.*)\[\[\/HEARTBEAT\]\]$/s

/**
 * Converts a yielded value to text or progress; undefined for an object that ends the answer. Nothing is an empty text:
 * the deltas of a model have chunks without content.
 */
export function toChunk (vac: string, value: unknown): string | Progress | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') {
    const heartbeat = value.startsWith('[[HEARTBEAT]]') ? HEARTBEAT.exec(value) : null
    return heartbeat === null ? value : { progress: 0, message: heartbeat[1]?.toWellFormed() }
  }
  if (isRecord(value)) {
    if (isAnswerObject(value)) return undefined
    const { progress, message } = value
    if (typeof progress === 'number' && Number.isFinite(progress)) {
      return { progress: Math.min(1, Math.max(0, progress)), ...(typeof message === 'string' ? { message: message.toWellFormed() } : {}) }
    }
  }
  throw new VacInvalidResultError(JSON.stringify(vac), 'a chunk that is not text, { progress } or an answer object')
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
