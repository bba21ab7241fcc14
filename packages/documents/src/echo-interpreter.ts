import { setTimeout } from 'node:timers/promises'
import type { ChatTurn, InterpreterChunk, InterpreterExtra } from '@polyvac/core'
import { EchoError } from './errors.js'

/** Bounds of the caller's fields: anybody may send them. Values outside are brought to the nearest bound. */
const ECHO_LIMITS = { delayMs: 60_000, tokens: 100_000, error: 200 } as const

/**
 * Says the question again, word by word: for trying out and testing a wire. The caller's further fields
 * `echo_delay_ms` (before each word), `echo_tokens` (so many numbered words in place of the question) and `echo_error`
 * (fail with this text after the last word) make it slow, long or faulty.
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
  if (failure !== undefined && failure !== false && failure !== '') throw new EchoError(String(failure).slice(0, ECHO_LIMITS.error))
  yield { answer, source_documents: [], metadata: { mode: 'echo', turns: history.length } }
}

function * numbered (count: number): Generator<string> {
  for (let index = 1; index <= count; index++) yield index === 1 ? 'token1' : ` token${index}`
}

function bounded (value: unknown, max: number): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && !Number.isNaN(number) ? Math.min(max, Math.max(0, Math.trunc(number))) : undefined
}
