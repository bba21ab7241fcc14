import { MAX_BODY_DEPTH, memoryBudget, peerJsonProblem, traceParent, type HeldBytes } from '@polyvac/core/plugin'
import type { LanguageModel } from 'ai'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CreateModel } from './create-model.js'
import { loadProvider, loadSdk } from './model-client.js'
import { modelFetch } from './model-fetch.js'
import type { ModelServer } from './model-server.js'
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

type LanguageModelV3 = Exclude<LanguageModel, string> & { readonly specificationVersion: 'v3' }

/** What counts the bytes of the call of a model: `fetch` of a model that many answers use has no other way to know. */
const counted = new AsyncLocalStorage<HeldBytes>()

/** By server, key and name: a package of the AI SDK builds the schemas of its events with each model, about 1 ms. */
// @keyed none: the keys are servers and models of the configuration; MAX_MODELS
const models = new Map<string, LanguageModelV3>()
const MAX_MODELS = 1_000

/** Opens the model of a server. @param owner whose share of the memory its answers count against. @throws ModelError */
export async function openModel (server: ModelServer, owner: string | undefined): Promise<OpenModel> {
  const { baseUrl, apiKey, model: name, provider } = server
  const [sdk, create] = provider === undefined ? await loadCompatible() : await loadProvider(provider)
  const key = JSON.stringify([provider, baseUrl, apiKey, name])
  if (models.size >= MAX_MODELS) models.clear()
  const model = models.get(key) ?? create({
    baseURL: baseUrl,
    ...apiKey !== undefined && { apiKey },
    headers: {},
    fetch: provider === undefined ? repaired(fetchOf(baseUrl)) : fetchOf(baseUrl)
  })(name) as LanguageModelV3
  models.set(key, model)
  const held = memoryBudget.hold('the answers of model servers', owner)
  const doStream: LanguageModelV3['doStream'] = async options => {
    const streamed = await counted.run(held, async () => await model.doStream({ ...options, headers: { ...options.headers, ...traceParent() } }))
    return { ...streamed, stream: withFlatCalls(streamed.stream) }
  }
  return { sdk, model: Object.create(model, { doStream: { value: doStream } }) as LanguageModelV3, release () { held.release() } }
}

type Parts = Awaited<ReturnType<LanguageModelV3['doStream']>>['stream']

/**
 * The parts of a model, without arguments of tools that would overflow the stack of the SDK. They are not JSON then:
 * the model reads that, as it does of arguments that are cut off, and its other calls go on. Not a pipe, which takes
 * processor time for each part.
 */
function withFlatCalls (parts: Parts): Parts {
  const reader = parts.getReader()
  return new ReadableStream({
    async pull (controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      const problem = value.type === 'tool-call' ? peerJsonProblem(value.input, MAX_STREAM_BYTES, MAX_BODY_DEPTH) : undefined
      controller.enqueue(problem === undefined ? value : { ...value, input: `(left out: it ${problem})` } as typeof value)
    },
    async cancel (reason) { await reader.cancel(reason) }
  }, { highWaterMark: 0 })
}

function fetchOf (baseUrl: string): typeof fetch {
  return async (input, init) => await modelFetch({ baseUrl, maxBytes: MAX_STREAM_BYTES, held: counted.getStore()! })(input, init)
}

async function loadCompatible (): Promise<[typeof import('ai'), CreateModel]> {
  const [sdk, { createOpenAICompatible }] = await loadSdk()
  return [sdk, options => createOpenAICompatible({ name: 'openai-compatible', includeUsage: true, supportsStructuredOutputs: true, ...options })]
}
