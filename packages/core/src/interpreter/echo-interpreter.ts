import { setTimeout } from 'node:timers/promises'
import { EchoError } from '../basics/errors.js'
import type { InterpreterChunk, InterpreterExtra } from '../vac/interpreter.js'
import type { ChatTurn } from '../vac/vac.js'

/** Bounds of the caller's fields, since any caller can send them. Values outside are set to the nearest bound. */
const ECHO_LIMITS = { delayMs: 60_000, tokens: 100_000, error: 200 } as const

/**
 * Answers with the question, word by word: for tests of clients and protocols. The caller's further fields
 * `echo_delay_ms` (wait before each word), `echo_tokens` (so many numbered words in place of the question) and
 * `echo_error` (fail with this text after the last word) make it slow, long or faulty.
 * @example const vacs = createVacs({ vacs: ['echo'], streamInterpreter: echoInterpreter })
 */
export async function * echoInterpreter (question: string, vectorName: string, history: ChatTurn[], extra: InterpreterExtra):
AsyncGenerator<InterpreterChunk, void> {
  const { signal } = extra
  const delay = bounded(extra['echo_delay_ms'], ECHO_LIMITS.delayMs) ?? 0
  const tokens = bounded(extra['echo_tokens'], ECHO_LIMITS.tokens)
  const failure = extra['echo_error']
  let answer = ''
  for (const word of tokens === undefined ? question.trimEnd().match(/\s*\S+/g) ?? [] : numbered(tokens)) {
    if (delay > 0) await setTimeout(delay, undefined, { signal })
    signal.throwIfAborted()
    answer += word
    yield word
  }
  if (failure !== undefined && failure !== false && failure !== '') {
    throw new EchoError(String(failure).slice(0, ECHO_LIMITS.error))
  }
  yield { answer, source_documents: [], metadata: { mode: 'echo', turns: history.length } }
}

function * numbered (count: number): Generator<string> {
  for (let index = 1; index <= count; index++) yield index === 1 ? 'token1' : ` token${index}`
}

function bounded (value: unknown, max: number): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && !Number.isNaN(number) ? Math.min(max, Math.max(0, Math.trunc(number))) : undefined
}
