import { readUsage, traceParent, type TokenUsage } from '@polyvac/core/plugin'
import { ModelSdkMissingError } from './errors.js'
import type { ModelServer } from './model-server.js'

export interface ModelMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string
}

export interface ModelStreamOptions {
  readonly server: ModelServer
  readonly messages: readonly ModelMessage[]
  readonly signal: AbortSignal
  /** Longest wait for each piece of text, in ms. */
  readonly timeoutMs: number
  /** Retries before the first text. There are none after it. */
  readonly retries: number
}

export interface ModelEnd {
  readonly finishReason: string
  /** Absent where the server reports none. */
  readonly usage?: TokenUsage | undefined
}

/** Finish reasons of a complete stream. Any other end is a failure, since the text may be incomplete. */
const COMPLETE: ReadonlySet<string> = new Set(['stop', 'length', 'tool-calls'])

/** Codes of connections that could not be opened. */
const UNREACHED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
const UNREACHABLE = 'the server cannot be reached'

/** Why a model returned no complete answer. The text contains nothing from the server. */
export class ModelStreamError extends Error {
  constructor (readonly reason: string, options?: ErrorOptions) {
    super(reason, options)
  }
}

/**
 * Streams a model's text as it comes. Fails with ModelStreamError where the server fails, the stream is cut off or has
 * no finish reason, and with the signal's reason after an abort. It closes the connection in all cases.
 */
export async function * streamModel ({ server, messages, signal, timeoutMs, retries }: ModelStreamOptions):
AsyncGenerator<string, ModelEnd> {
  signal.throwIfAborted()
  const [{ streamText }, { createOpenAICompatible }] = await loadSdk()
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: server.baseUrl,
    includeUsage: true,
    ...(server.apiKey === undefined ? {} : { apiKey: server.apiKey }),
    headers: { ...traceParent() }
  })
  const stop = new AbortController()
  const silence = (): void => { stop.abort(new ModelStreamError(`no text within ${timeoutMs / 1_000} s`)) }
  let timer = setTimeout(silence, timeoutMs)
  const both = AbortSignal.any([signal, stop.signal])
  let finishReason: string | undefined
  let usage: TokenUsage | undefined
  try {
    const { fullStream } = streamText({
      model: provider(server.model),
      messages: [...messages],
      // system messages come from the application, or from the OpenAI client whose conversation is forwarded
      allowSystemInMessages: true,
      abortSignal: both,
      maxRetries: retries,
      // the error is a part of the stream, too; the default handler prints it
      onError: () => {}
    })
    for await (const part of fullStream) {
      both.throwIfAborted()
      if (part.type === 'text-delta') {
        clearTimeout(timer)
        if (part.text !== '') yield part.text
        // the time of a slow reader does not count
        timer = setTimeout(silence, timeoutMs)
      } else if (part.type === 'error') {
        throw new ModelStreamError(reasonOf(part.error), { cause: part.error })
      } else if (part.type === 'finish') {
        finishReason = part.finishReason
        usage = readUsage(part.totalUsage)
      }
    }
    both.throwIfAborted()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (stop.signal.aborted) throw stop.signal.reason
    throw error instanceof ModelStreamError ? error : new ModelStreamError(reasonOf(error), { cause: error })
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
  if (finishReason === undefined || !COMPLETE.has(finishReason)) throw new ModelStreamError('the stream ended before the answer did')
  return { finishReason, usage }
}

/** Optional packages of 27 MB, loaded at first use: most installations answer without a model. */
async function loadSdk () {
  try {
    return await Promise.all([import('ai'), import('@ai-sdk/openai-compatible')])
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const cause = Object.assign(new ModelSdkMissingError(), { cause: error })
    throw new ModelStreamError(cause.message, { cause })
  }
}

/** The kind of failure, without the server's text, which may contain keys or prompts. */
function reasonOf (error: unknown): string {
  const { statusCode, lastError, name, message, cause, code } = error as
    { statusCode?: unknown, lastError?: unknown, name?: unknown, message?: unknown, cause?: unknown, code?: unknown }
  if (lastError !== undefined) return reasonOf(lastError)
  if (typeof statusCode === 'number' && statusCode >= 400) return `HTTP ${statusCode}`
  if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return `${UNREACHED.has(code) ? UNREACHABLE : 'connection failed'} (${code})`
  // Node refuses some ports, and host names with several addresses fail, without a code
  if (name === 'AI_APICallError' && statusCode === undefined && /^Cannot connect/.test(String(message)) && !hasCode(cause)) return UNREACHABLE
  if (cause !== undefined && cause !== null) return reasonOf(cause)
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return 'the server sent an unreadable response'
  if (error instanceof TypeError) return 'the connection broke'
  return 'the server reported an error'
}

function hasCode (error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
}
