import { deadlineSignal, memoryBudget, traceParent } from '@polyvac/core/plugin'
import { loadSdk, ModelError, modelFailure } from './model-client.js'
import { modelFetch } from './model-fetch.js'
import type { ModelServer } from './model-server.js'

export interface EmbedRequest {
  readonly server: ModelServer
  readonly texts: readonly string[]
  readonly signal: AbortSignal
  /** Whose question it is; absent for passages. */
  readonly owner?: string | undefined
  /** Longest wait for the vectors, in ms. */
  readonly timeoutMs: number
}

/** Longest vector, and longest response for each text, in bytes: a number takes up to 25. */
const MAX_NUMBERS = 16_384
export const MAX_VECTOR_BYTES = 512 * 1024

/** What a model was trained to have before a question and before a passage, as its card states. */
const PREFIXES: ReadonlyArray<{ readonly model: RegExp, readonly question: string, readonly passage: string }> = [
  { model: /nomic-embed/i, question: 'search_query: ', passage: 'search_document: ' },
  { model: /(?:^|[/-])e5-/i, question: 'query: ', passage: 'passage: ' },
  { model: /mxbai-embed|bge-(?:small|base|large)-en|arctic-embed-[xsml]/i, question: 'Represent this sentence for searching relevant passages: ', passage: '' }
]
const NO_PREFIX = { question: '', passage: '' }

export function prefixesOf (model: string): { readonly question: string, readonly passage: string } {
  return PREFIXES.find(one => one.model.test(model)) ?? NO_PREFIX
}

/**
 * The vectors of some texts, in their order and of one length. Fails with ModelError where the server fails or sends
 * something else, and with the signal's reason after an abort.
 */
export async function embedTexts ({ server, texts, signal, owner, timeoutMs }: EmbedRequest): Promise<number[][]> {
  signal.throwIfAborted()
  const [{ embedMany }, { createOpenAICompatible }] = await loadSdk()
  const held = memoryBudget.hold('the answers of model servers', owner)
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: server.baseUrl,
    ...(server.apiKey === undefined ? {} : { apiKey: server.apiKey }),
    headers: { ...traceParent() },
    fetch: modelFetch({ baseUrl: server.baseUrl, maxBytes: texts.length * MAX_VECTOR_BYTES, held })
  })
  const limit = deadlineSignal(timeoutMs, signal)
  let embeddings: number[][]
  try {
    ({ embeddings } = await embedMany({
      model: provider.embeddingModel(server.model), values: [...texts], abortSignal: limit.signal, maxRetries: 0
    }))
  } catch (error) {
    signal.throwIfAborted()
    throw limit.signal.aborted ? new ModelError(`no vectors within ${timeoutMs / 1_000} s`) : modelFailure(error)
  } finally {
    limit.end()
    held.release()
  }
  const length = embeddings[0]?.length ?? 0
  const isUsable = length > 0 && length <= MAX_NUMBERS && embeddings.length === texts.length &&
    embeddings.every(vector => vector.length === length && vector.every(Number.isFinite) && vector.some(value => value !== 0))
  if (!isUsable) throw new ModelError('the server sent an unreadable response')
  return embeddings
}
