import type { ChatTurn, Interpreter, InterpreterChunk, InterpreterExtra } from '@polyvac/core'
import { integer, milliseconds, readOptions, type OptionRules } from '@polyvac/core/plugin'
import { InvalidOptionError, ModelFailedError, ModelNotFoundError } from '../errors.js'
import { codedCause, ModelError } from '../model/model-client.js'
import { findModel, PORT } from '../model/model-server.js'
import { THINKING, THOUGHT_BEGINS, THOUGHT_WAS_ALL } from '../model/thinking.js'
import { streamModel } from '../model/model-stream.js'

export interface OpenaiInterpreterOptions {
  /** Longest wait for each piece of text, in ms. Default 60,000. */
  readonly timeoutMs?: number | undefined
  /** Retries before the first text. Default 2. */
  readonly retries?: number | undefined
  /** The port of this service, which `model: auto` skips. Default: the environment's PORT. */
  readonly ownPort?: number | (() => number | undefined) | undefined
}

/** Types, bounds and defaults of the options. */
export const OPENAI_OPTIONS = {
  timeoutMs: milliseconds(60_000),
  retries: integer(2, { min: 0, max: 100 }),
  ownPort: PORT
} satisfies OptionRules<OpenaiInterpreterOptions>

/**
 * Forwards a conversation to an OpenAI-compatible server, its turns in the form that model APIs take:
 * `openai: { base_url, api_key, model }` of the VAC's entry, otherwise OPENAI_BASE_URL and OPENAI_API_KEY. A stream
 * that is cut off fails (DOCUMENTS_MODEL_FAILED) and never counts as a complete answer.
 * @example
 * const entry = { model: 'qwen3', openai: { base_url: 'http://127.0.0.1:11434/v1' } }
 * const vacs = createVacs({ vacs: { chat: entry }, streamInterpreter: openaiInterpreter() })
 */
export function openaiInterpreter (options: OpenaiInterpreterOptions = {}): Interpreter {
  const { timeoutMs, retries, ownPort } = readOptions(OPENAI_OPTIONS, options, InvalidOptionError, 'openaiInterpreter')
  return async function * openai (question: string, vectorName: string, history: ChatTurn[], { signal, vac, principal }: InterpreterExtra):
  AsyncGenerator<InterpreterChunk, void> {
    const server = await findModel(vac, { ownPort, signal })
    if ('reason' in server) throw new ModelNotFoundError(server.reason)
    let answer = ''
    try {
      const stream = streamModel({ server, messages: [...history, { role: 'user', content: question }], signal, owner: principal?.owner, timeoutMs, retries })
      try {
        let next = await stream.next()
        for (; next.done !== true; next = await stream.next()) {
          if (next.value === THOUGHT_BEGINS) yield THINKING
          else if (next.value === THOUGHT_WAS_ALL) answer = ''
          else {
            answer += next.value
            yield next.value
          }
        }
        const { finishReason, usage } = next.value
        const metadata = { mode: 'model', model: server.model, finish_reason: finishReason, ...(usage === undefined ? {} : { usage }) }
        yield { answer, source_documents: [], metadata }
      } finally {
        await stream.return({ finishReason: 'stop' })
      }
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      throw codedCause(error) ?? Object.assign(new ModelFailedError(server.baseUrl, error.reason), { cause: error })
    }
  }
}
