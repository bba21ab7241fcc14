import type { VacConfig } from '@polyvac/core'
import { deadlineSignal, integer, memoryBudget, type OptionRule } from '@polyvac/core/plugin'
import { loadProvider, messageIn, reasonOf } from './model-client.js'
import { modelFetch } from './model-fetch.js'
import { PROVIDERS, providerOf, type ProviderName } from './providers.js'

/** A model on an OpenAI-compatible server, or of a maker with another API. */
export interface ModelServer {
  /** The URL, including `/v1`. */
  readonly baseUrl: string
  /** The maker with another API. */
  readonly provider?: ProviderName | undefined
  readonly model: string
  readonly apiKey?: string | undefined
}

/** What a model does: it writes text, or embeds it. */
export type ModelKind = 'text' | 'embedding'

export interface FindOptions {
  /** Default `text`. */
  readonly kind?: ModelKind | undefined
  readonly ownPort?: number | (() => number | undefined) | undefined
  readonly signal: AbortSignal
}

const PORT_NUMBER = integer(undefined, { min: 0, max: 65_535 })

/** The option `ownPort`: a number, or a function for a port that is not known yet. */
export const PORT: OptionRule<undefined> = {
  ...PORT_NUMBER,
  expected: `${PORT_NUMBER.expected}, or a function that returns it`,
  accepts: value => typeof value === 'function' || PORT_NUMBER.accepts(value)
}

/** The local ports that `model: auto` tries: Ollama, LM Studio, llama.cpp, vLLM. */
const LOCAL_PORTS = [11_434, 1_234, 8_080, 8_000] as const
/** Longest wait for a list of models, in ms: of a local server that may not exist, and of a configured one. */
const PROBE_TIMEOUT_MS = 300
const LIST_TIMEOUT_MS = 5_000
/** Time in ms for which a server that was found, or the lack of one, is cached. */
const FOUND_MS = 60_000
const NOT_FOUND_MS = 10_000
/** Longest list of models, in bytes. */
const MAX_LIST_BYTES = 1024 * 1024

/** Names of models that embed texts, as their servers list them. */
const EMBEDS = /embed|minilm|(?:^|[/-])(?:bge|gte|e5)-/i

const OPENAI = 'https://api.openai.com/v1'

/** Whether a VAC's entry names a model other than `extractive`. */
export function wantsModel (vac: VacConfig): boolean {
  return (vac.model !== undefined && vac.model !== 'extractive' && vac.model !== '') || vac.openai?.model !== undefined
}

/**
 * The server and model of a VAC's entry: `openai: { base_url, api_key, model }`, otherwise OPENAI_BASE_URL and
 * OPENAI_API_KEY; without a URL `anthropic/<name>` and `google/<name>` with the key of that maker; with `model: auto`,
 * the first local server that lists a model. Returns the reason where there is none.
 */
export async function findModel (vac: Pick<VacConfig, 'model' | 'openai'>, options: FindOptions): Promise<ModelServer | { reason: string }> {
  const { env } = process
  const { kind = 'text' } = options
  const named = vac.openai?.model ?? (vac.model === 'auto' || vac.model === 'extractive' ? undefined : vac.model)
  // an empty value is one of a variable that is not set
  const configured = nonEmpty(vac.openai?.base_url) ?? nonEmpty(env['OPENAI_BASE_URL'])
  // servers of many models have names like these, too
  const made = configured === undefined && kind === 'text' ? providerOf(named) : undefined
  if (made !== undefined) return ofProvider(made.provider, made.model)
  const apiKey = nonEmpty(vac.openai?.api_key) ?? nonEmpty(env['OPENAI_API_KEY'])
  const baseUrl = configured ?? (named !== undefined && apiKey !== undefined ? OPENAI : undefined)
  if (baseUrl !== undefined) {
    if (!/^https?:\/\//.test(baseUrl)) return { reason: 'base_url is not an http(s) URL' }
    const trimmed = baseUrl.replace(/\/+$/, '')
    const found = named === undefined ? await cached(kind, trimmed, () => firstModel(kind, trimmed, apiKey, LIST_TIMEOUT_MS, options.signal)) : { model: named }
    return 'reason' in found ? { reason: `no model is named, and ${found.reason}` } : { baseUrl: trimmed, model: found.model, apiKey }
  }
  if (vac.model !== 'auto') return { reason: 'no server is configured for the model' }
  const ownPort = typeof options.ownPort === 'function' ? options.ownPort() : options.ownPort ?? Number(env['PORT'] ?? 0)
  for (const port of LOCAL_PORTS) {
    if (port === ownPort) continue
    const local = `http://127.0.0.1:${port}/v1`
    // without the key: any local program may listen on this port
    const found = await cached(kind, local, () => firstModel(kind, local, undefined, PROBE_TIMEOUT_MS, options.signal))
    if ('model' in found) return { baseUrl: local, model: named ?? found.model }
  }
  return { reason: 'no server was found on this machine' }
}

function ofProvider (provider: ProviderName, model: string): ModelServer | { reason: string } {
  const { key, address, baseUrl } = PROVIDERS[provider]
  const apiKey = nonEmpty(process.env[key])
  if (apiKey === undefined) return { reason: `${key} is not set` }
  return { provider, baseUrl: (nonEmpty(process.env[address]) ?? baseUrl).replace(/\/+$/, ''), model, apiKey }
}

/**
 * Asks the server of a VAC's entry for its models, as `polyvac doctor` does. `problem` is why the model cannot be used.
 * @example
 * const openai = { base_url: 'http://127.0.0.1:11434/v1' }
 * const { problem } = await checkModel({ model: 'qwen3', openai }, { signal: AbortSignal.timeout(5_000) })
 */
export async function checkModel (vac: Pick<VacConfig, 'model' | 'openai'>, options: FindOptions): Promise<{ readonly server?: string, readonly model?: string, readonly problem?: string }> {
  const found = await findModel(vac, options)
  if ('reason' in found) return { problem: found.reason }
  const { baseUrl: server, model, apiKey, provider } = found
  if (provider !== undefined) return await loadProvider(provider).then(() => ({ server, model }), (error: unknown) => ({ server, model, problem: reasonOf(error) }))
  const list = await listModels(server, apiKey, LIST_TIMEOUT_MS, options.signal)
  if ('reason' in list) return { server, model, problem: list.reason }
  // Ollama lists `qwen3:latest` and takes `qwen3`
  if (list.ids.some(id => id === model || id === `${model}:latest`)) return { server, model }
  return { server, model, problem: `the server does not list ${JSON.stringify(model)}; it lists ${list.ids.slice(0, MAX_LISTED).join(', ') || 'none'}` }
}

/** Names of models in a message. */
const MAX_LISTED = 10

/** By kind and base URL. Base URLs come from the configuration, so there are at most as many as VACs. */
// @keyed none: the keys are base URLs of the configuration; MAX_CACHED
const cache = new Map<string, { found: FoundModel, until: number }>()
const MAX_CACHED = 1_000

/** The first model that a server lists, or why there is none. */
type FoundModel = { readonly model: string } | { readonly reason: string }

async function cached (kind: ModelKind, baseUrl: string, look: () => Promise<FoundModel>): Promise<FoundModel> {
  const key = `${kind} ${baseUrl}`
  const entry = cache.get(key)
  if (entry !== undefined && entry.until > Date.now()) return entry.found
  const found = await look()
  if (cache.size >= MAX_CACHED) cache.clear()
  cache.set(key, { found, until: Date.now() + ('model' in found ? FOUND_MS : NOT_FOUND_MS) })
  return found
}

async function firstModel (kind: ModelKind, baseUrl: string, apiKey: string | undefined, timeoutMs: number, signal: AbortSignal): Promise<FoundModel> {
  const list = await listModels(baseUrl, apiKey, timeoutMs, signal)
  if ('reason' in list) return list
  const model = list.ids.find(id => kind === 'embedding' ? EMBEDS.test(id) : !EMBEDS.test(id) && !/rerank|whisper|tts/i.test(id))
  return model === undefined ? { reason: kind === 'embedding' ? 'the server lists none that embeds' : 'the server lists none' } : { model }
}

async function listModels (baseUrl: string, apiKey: string | undefined, timeoutMs: number, signal: AbortSignal): Promise<{ readonly ids: readonly string[] } | { readonly reason: string }> {
  const limit = deadlineSignal(timeoutMs, signal)
  // the list is of the configuration, not of a caller
  const held = memoryBudget.hold('the lists of model servers')
  try {
    const response = await modelFetch({ baseUrl, maxBytes: MAX_LIST_BYTES, held })(`${baseUrl}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: limit.signal
    })
    if (!response.ok) return { reason: `the list of the server has HTTP ${response.status}${messageIn(await response.text())}` }
    if (Number(response.headers.get('content-length') ?? 0) > MAX_LIST_BYTES) {
      await response.body?.cancel()
      return { reason: 'the list of the server is too long' }
    }
    const { data } = await response.json() as { data?: unknown }
    return { ids: (Array.isArray(data) ? data : []).map(entry => (entry as { id?: unknown } | null)?.id).filter(id => typeof id === 'string') }
  } catch (error) {
    // no server, or not a model server. After an abort by the caller, throw its reason
    signal.throwIfAborted()
    return { reason: reasonOf(error) }
  } finally {
    limit.end()
    held.release()
  }
}

function nonEmpty (value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
