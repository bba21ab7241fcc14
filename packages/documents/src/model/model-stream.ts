import type { TokenUsage } from '@polyvac/core/plugin'
import { ModelError, modelFailure } from './model-client.js'
import { openModel } from './open-model.js'
import { fitMessages, type ModelMessage } from './model-messages.js'
import type { ModelServer } from './model-server.js'
import { usageOfSteps } from './steps-usage.js'
import { THOUGHT_BEGINS, ThinkingFilter, type ModelPiece } from './thinking.js'

export interface ModelStreamOptions {
  readonly server: ModelServer
  readonly messages: readonly ModelMessage[]
  readonly signal: AbortSignal
  /** Longest wait for each piece of text, in ms. */
  readonly timeoutMs: number
  /** Whose share of the memory it counts against. */
  readonly owner?: string | undefined
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
 * Streams a model's text as it comes, without its thoughts: of those it yields that they begin. Fails with ModelError
 * where the server fails, the stream is cut off or has no finish reason, with MEMORY_BUDGET_EXCEEDED, and with the
 * signal's reason after an abort. It closes the connection in all cases.
 */
export async function * streamModel ({ server, messages, signal, timeoutMs, owner, retries }: ModelStreamOptions):
AsyncGenerator<ModelPiece, ModelEnd> {
  signal.throwIfAborted()
  const fitted = await fitMessages(messages)
  const { sdk: { streamText }, model, release } = await openModel(server, owner)
  const stop = new AbortController()
  const silence = (): void => { stop.abort(new ModelError(`no text within ${timeoutMs / 1_000} s`)) }
  let timer = setTimeout(silence, timeoutMs)
  const both = AbortSignal.any([signal, stop.signal])
  let finishReason: string | undefined
  let usage: TokenUsage | undefined
  let raw: unknown
  const thinking = new ThinkingFilter()
  try {
    const { fullStream } = streamText({
      model,
      messages: fitted,
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
        if (part.text !== '') yield * thinking.push(part.text)
        // the time of a slow reader does not count
        timer = setTimeout(silence, timeoutMs)
      } else if (part.type === 'reasoning-start' || part.type === 'reasoning-delta') {
        clearTimeout(timer)
        if (part.type === 'reasoning-start') yield THOUGHT_BEGINS
        timer = setTimeout(silence, timeoutMs)
      } else if (part.type === 'error') {
        throw modelFailure(part.error)
      } else if (part.type === 'finish-step') {
        raw = part.usage.raw
      } else if (part.type === 'finish') {
        finishReason = part.finishReason
        usage = usageOfSteps(part.totalUsage, [raw])
      }
    }
    both.throwIfAborted()
    yield * thinking.end()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (stop.signal.aborted) throw stop.signal.reason
    throw modelFailure(error)
  } finally {
    clearTimeout(timer)
    stop.abort()
    release()
  }
  if (finishReason === undefined || !COMPLETE.has(finishReason)) throw new ModelError('the stream ended before the answer did')
  return { finishReason, usage }
}
