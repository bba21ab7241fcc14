// The optional packages that call models, and the reasons for their failures.
import { beginning, isMissingModule, MemoryBudgetError } from '@polyvac/core/plugin'
import { ModelRedirectError, ModelSdkMissingError } from '../errors.js'
import type { CreateModel } from './create-model.js'
import { PROVIDERS, type ProviderName } from './providers.js'

/** Codes of connections that could not be opened. */
const UNREACHED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
const UNREACHABLE = 'the server cannot be reached'

/** Why a model returned no complete answer, or no vectors. Of the server's text it has the message of a refusal. */
export class ModelError extends Error {
  constructor (readonly reason: string, options?: ErrorOptions) {
    super(reason, options)
  }
}

/** Loads optional packages of 27 MB at first use: most installations have no model. Fails with ModelError. */
export async function loadSdk (): Promise<[typeof import('ai'), typeof import('@ai-sdk/openai-compatible')]> {
  return await loadOptional('@ai-sdk/openai-compatible@2', async () => await import('@ai-sdk/openai-compatible'))
}

/** The same for a maker of models with another API. */
export async function loadProvider (name: ProviderName): Promise<[typeof import('ai'), CreateModel]> {
  const { packageName, version, create } = PROVIDERS[name]
  // not a literal: a build without tests has no types of them
  const found = await loadOptional(`${packageName}@${version}`, async () => await import(packageName as string) as Record<string, CreateModel>)
  return [found[0], found[1][create]!]
}

async function loadOptional<T> (wanted: string, load: () => Promise<T>): Promise<[typeof import('ai'), T]> {
  try {
    return await Promise.all([import('ai'), load()])
  } catch (error) {
    if (!isMissingModule(error)) throw error
    const cause = Object.assign(new ModelSdkMissingError(`ai@6 ${wanted}`), { cause: error })
    throw new ModelError(cause.message, { cause })
  }
}

/** Causes of an error that are looked through: the SDK wraps what a request throws. */
const MAX_CAUSES = 8

function * causesOf (error: unknown): Generator<object> {
  let one = error as { cause?: unknown, lastError?: unknown } | null | undefined
  for (let i = 0; i < MAX_CAUSES && typeof one === 'object' && one !== null; i++) {
    yield one
    one = (one.lastError ?? one.cause) as typeof one
  }
}

/** What a call of a model fails with: the refusal of the memory budget, or a ModelError. */
export function modelFailure (error: unknown): Error {
  const causes = [...causesOf(error)]
  return causes.find((one): one is Error => one instanceof MemoryBudgetError || one instanceof ModelError) ??
    new ModelError(reasonOf(error), { cause: error })
}

/** The error with its own code and remedy behind a ModelError, where there is one. */
export function codedCause (error: ModelError): Error | undefined {
  return [...causesOf(error)].find((one): one is Error => one instanceof ModelSdkMissingError || one instanceof ModelRedirectError)
}

/** The kind of failure; of a refusal also the server's own message, without keys. */
export function reasonOf (error: unknown): string {
  if (error instanceof ModelError) return error.reason
  const { statusCode, lastError, name, message, cause, code } = error as
    { statusCode?: unknown, lastError?: unknown, name?: unknown, message?: unknown, cause?: unknown, code?: unknown }
  if (lastError !== undefined) return reasonOf(lastError)
  if (typeof statusCode === 'number' && statusCode >= 400) return `HTTP ${statusCode}${messageIn((error as { responseBody?: unknown }).responseBody)}`
  if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return `${UNREACHED.has(code) ? UNREACHABLE : 'connection failed'} (${code})`
  // Node refuses some ports, and host names with several addresses fail, without a code
  if (name === 'AI_APICallError' && statusCode === undefined && /^Cannot connect/.test(String(message)) && !hasCode(cause)) return UNREACHABLE
  if (error instanceof TypeError && message === 'fetch failed' && !hasCode(cause)) return UNREACHABLE
  if (cause !== undefined && cause !== null) return reasonOf(cause)
  if (name === 'TimeoutError') return 'the server did not answer in time'
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError' || name === 'SyntaxError') return 'the server sent an unreadable response'
  if (name === 'AI_InvalidResponseDataError') return /function\.name/.test(String(message)) ? 'the model called a tool without a name' : 'the stream ended before the answer did'
  if (error instanceof TypeError) return 'the connection broke'
  return 'the server reported an error'
}

/** Most characters of the message of a server. */
const MAX_MESSAGE_CHARS = 200
/**
 * What may be a key: words with a digit that are long, and what follows `sk-`. The keys of the request are taken out of
 * the response before; a server that asks another one repeats keys which are not configured here.
 */
const KEYS = /\bsk-\S+|\b(?=[\w-]*\d)[A-Za-z0-9_-]{24,}/g

/** The message in the body of a refusal, such as `: model "qwen3" not found, try pulling it first`. */
export function messageIn (responseBody: unknown): string {
  if (typeof responseBody !== 'string') return ''
  let body: unknown
  try {
    body = JSON.parse(responseBody)
  } catch {
    return ''
  }
  const { error: inner, message, detail } = (body ?? {}) as Record<string, unknown>
  const text = [(inner as { message?: unknown } | null | undefined)?.message, inner, message, detail].find(one => typeof one === 'string' && one.trim() !== '')
  if (typeof text !== 'string') return ''
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim().replace(KEYS, '[redacted]')
  return `: ${beginning(line, MAX_MESSAGE_CHARS)}`
}

function hasCode (error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
}
