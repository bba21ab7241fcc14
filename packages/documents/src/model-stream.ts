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
  /** Tries after the first, before any text has come. There is never one after it. */
  readonly retries: number
}

/** How a stream ended that is complete. Any other end, or none, is a failure: the text may be half. */
const COMPLETE: ReadonlySet<string> = new Set(['stop', 'length', 'tool-calls'])

/** What a connection that never came about fails with. */
const UNREACHED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
const UNREACHABLE = 'the server cannot be reached'

/** Why a model gave no whole answer, in words that hold nothing the server said. */
export class ModelStreamError extends Error {
  constructor (readonly reason: string, options?: ErrorOptions) {
    super(reason, options)
  }
}

/**
 * Streams a model's text as it is made. Fails with ModelStreamError where the server fails, is cut off, or does not say
 * that it finished; with the signal's reason where the caller left. The connection is closed in either case.
 */
export async function * streamModel ({ server, messages, signal, timeoutMs, retries }: ModelStreamOptions):
AsyncGenerator<string, { finishReason: string }> {
  signal.throwIfAborted()
  // loaded by need: most installations answer without a model, and the two packages take 100 ms to load
  const [{ streamText }, { createOpenAICompatible }] = await Promise.all([import('ai'), import('@ai-sdk/openai-compatible')])
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: server.baseUrl,
    ...(server.apiKey === undefined ? {} : { apiKey: server.apiKey })
  })
  const stop = new AbortController()
  const silence = (): void => { stop.abort(new ModelStreamError(`no text within ${timeoutMs / 1_000} s`)) }
  let timer = setTimeout(silence, timeoutMs)
  const both = AbortSignal.any([signal, stop.signal])
  let finishReason: string | undefined
  try {
    const { fullStream } = streamText({
      model: provider(server.model),
      messages: [...messages],
      // they are the application's own, and those of an OpenAI client whose conversation is handed on
      allowSystemInMessages: true,
      abortSignal: both,
      maxRetries: retries,
      // the error arrives as a part of the stream as well; the default handler would print it
      onError: () => {}
    })
    for await (const part of fullStream) {
      both.throwIfAborted()
      if (part.type === 'text-delta') {
        clearTimeout(timer)
        if (part.text !== '') yield part.text
        // the time a slow reader takes is not the model's
        timer = setTimeout(silence, timeoutMs)
      } else if (part.type === 'error') {
        throw new ModelStreamError(reasonOf(part.error), { cause: part.error })
      } else if (part.type === 'finish') {
        finishReason = part.finishReason
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
  return { finishReason }
}

/** The kind of failure. The server's own words stay out: they may hold keys or prompts. */
function reasonOf (error: unknown): string {
  const { statusCode, lastError, name, message, cause, code } = error as
    { statusCode?: unknown, lastError?: unknown, name?: unknown, message?: unknown, cause?: unknown, code?: unknown }
  if (lastError !== undefined) return reasonOf(lastError)
  if (typeof statusCode === 'number' && statusCode >= 400) return `HTTP ${statusCode}`
  if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return `${UNREACHED.has(code) ? UNREACHABLE : 'connection failed'} (${code})`
  // Node refuses some ports, and names of several addresses fail, without a code
  if (name === 'AI_APICallError' && statusCode === undefined && /^Cannot connect/.test(String(message)) && !hasCode(cause)) return UNREACHABLE
  if (cause !== undefined && cause !== null) return reasonOf(cause)
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return 'the server sent something unreadable'
  if (error instanceof TypeError) return 'the connection broke'
  return 'the server reported an error'
}

function hasCode (error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
}
