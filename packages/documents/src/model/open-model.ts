import { memoryBudget, traceParent } from '@polyvac/core/plugin'
import type { LanguageModel } from 'ai'
import { loadProvider, loadSdk } from './model-client.js'
import { modelFetch } from './model-fetch.js'
import type { ModelServer } from './model-server.js'
import type { CreateModel } from './providers.js'
import { repaired } from './repair-response.js'

/** Longest answer of a model, in bytes of its events: about 200 for each token. */
export const MAX_STREAM_BYTES = 32 * 1024 * 1024

/** A language model, ready to be called. */
export interface OpenModel {
  /** The package `ai`. */
  readonly sdk: typeof import('ai')
  readonly model: LanguageModel
  /** Counts what its calls hold no more: the SDK keeps all events until a stream has ended. */
  release (): void
}

/** Opens the model of a server. @param owner whose share of the memory its answers count against. @throws ModelError */
export async function openModel ({ baseUrl, apiKey, model, provider }: ModelServer, owner: string | undefined): Promise<OpenModel> {
  const [sdk, create] = provider === undefined ? await loadCompatible() : await loadProvider(provider)
  const held = memoryBudget.hold('the answers of model servers', owner)
  const bounded = modelFetch({ baseUrl, maxBytes: MAX_STREAM_BYTES, held })
  const make = create({
    baseURL: baseUrl,
    ...apiKey !== undefined && { apiKey },
    headers: { ...traceParent() },
    fetch: provider === undefined ? repaired(bounded) : bounded
  })
  return { sdk, model: make(model), release () { held.release() } }
}

async function loadCompatible (): Promise<[typeof import('ai'), CreateModel]> {
  const [sdk, { createOpenAICompatible }] = await loadSdk()
  return [sdk, options => createOpenAICompatible({ name: 'openai-compatible', includeUsage: true, ...options })]
}
