import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Type } from '@sinclair/typebox'
import { isForCaller } from '../basics/create-error.js'
import { deadlineSignal } from '../basics/deadline-signal.js'
import { VacTimeoutError } from '../basics/errors.js'
import { normaliseHistory } from '../vac/history.js'
import { MEMORY_DEFAULTS, type Hit } from '../vac/memory.js'
import {
  StreamSettings, type MemorySearchInput, type MemorySearchResult, type QueryInput, type QueryResult, type StreamInput,
  type StreamResult
} from './skills.js'
import type { Answer, ChatTurn, Vac } from '../vac/vac.js'
import type { AbortSignalLike } from '../basics/light-abort.js'
import { wellFormed } from '../basics/well-formed.js'
import { unlessAborted } from '../basics/within.js'

const settingsCheck = TypeCompiler.Compile(Type.Object({ stream_settings: StreamSettings }))

/** The times that an input sets; none where they break their schema, which only streaming skills check. */
export function streamSettings (input: unknown): StreamSettings {
  return settingsCheck.Check(input) ? input.stream_settings : {}
}

/** The question of a query or streaming skill. Fields that the schema does not name reach the interpreter. */
export function questionOf (input: QueryInput & StreamInput):
{ question: string, history: ChatTurn[], extra: Record<string, unknown> } {
  const { query, chat_history: history, stream_settings: _settings, ...extra } = input
  return { question: query.trim(), history: history === undefined ? [] : normaliseHistory(history), extra }
}

/** Result of `vac_query_<vac>`: further keys of the interpreter are metadata. */
export function queryResult ({ answer, source_documents, metadata, ...extras }: Answer): QueryResult {
  return { answer, source_documents, metadata: { ...extras, ...metadata } }
}

/** Result of `vac_stream_<vac>`. */
export function streamResult ({ answer, source_documents, metadata, ...extras }: Answer): StreamResult {
  const rest = { ...extras, ...metadata }
  const hasMore = Object.keys(rest).length > 0
  return { final_answer: answer, stream_completed: true, source_documents, ...hasMore && { metadata: rest } }
}

/**
 * Executes `vac_memory_search_<vac>`. It enforces the limits of the input itself, and does not wait for a memory that
 * ignores its signal.
 * @throws VAC_TIMEOUT, the reason of `signal`, or what the memory throws
 */
export async function searchMemory (vac: Vac, input: MemorySearchInput,
  { signal, timeoutMs, owner }: { readonly signal: AbortSignalLike, readonly timeoutMs: number, readonly owner?: string | undefined }): Promise<MemorySearchResult> {
  const { limit: defaultLimit, threshold: defaultThreshold } = MEMORY_DEFAULTS
  const { search_query: query, limit = defaultLimit, similarity_threshold: threshold = defaultThreshold } = input
  const stop = deadlineSignal(timeoutMs, signal, { reason: () => new VacTimeoutError(JSON.stringify(vac.name), timeoutMs / 1000) })
  let degraded: string | undefined
  const onDegraded = (reason: string): void => { degraded = reason }
  const search = async (most: number, least: number): Promise<Hit[]> => {
    const searching = vac.memory?.search({ query, limit: most, threshold: least, signal: stop.signal, owner, onDegraded }) ?? Promise.resolve([])
    return (await unlessAborted(searching, stop.signal)).filter(({ score }) => score >= least).slice(0, most)
  }
  let hits: Hit[]
  let below: Hit | undefined
  try {
    hits = await search(limit, threshold)
    if (hits.length === 0 && threshold > 0) [below] = await search(1, 0)
  } finally {
    stop.end()
  }
  const results = hits.map(({ content, score, metadata }) => ({ content: wellFormed(content), score, metadata: wellFormed(metadata) }))
  return {
    results,
    total_results: results.length,
    ...below !== undefined && { best_score: below.score },
    ...degraded !== undefined && { degraded },
    query,
    limit,
    similarity_threshold: threshold
  }
}

/**
 * A skill's failure as callers may read it: the text of an error that is exposed, or a reference to the log.
 * @param where the id to look for in the log, such as `the task id 7`
 */
export function skillFailure (err: unknown, vac: string, where: string):
{ readonly code?: string, readonly message: string } {
  // anything can be thrown, undefined too
  const { code, message } = (err ?? {}) as { code?: unknown, message?: unknown }
  const isExposed = isForCaller(err)
  const own = isExposed && typeof code === 'string' ? { code } : {}
  if (isExposed && code !== 'VAC_INTERPRETER_FAILED') return { ...own, message: String(message).toWellFormed() }
  return { ...own, message: `the VAC ${JSON.stringify(vac)} failed; the log has the cause under ${where}` }
}
