import { readUsage, traceParent, type TokenUsage } from '@polyvac/core/plugin'
import { loadSdk, ModelError, reasonOf } from './model-client.js'
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

/**
 * Streams a model's text as it comes. Fails with ModelError where the server fails, the stream is cut off or has
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
  const silence = (): void => { stop.abort(new ModelError(`no text within ${timeoutMs / 1_000} s`)) }
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
        throw new ModelError(reasonOf(part.error), { cause: part.error })
      } else if (part.type === 'finish') {
        finishReason = part.finishReason
        usage = readUsage(part.totalUsage)
      }
    }
    both.throwIfAborted()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (stop.signal.aborted) throw stop.signal.reason
    throw error instanceof ModelError ? error : new ModelError(reasonOf(error), { cause: error })
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
  if (finishReason === undefined || !COMPLETE.has(finishReason)) throw new ModelError('the stream ended before the answer did')
  return { finishReason, usage }
}
