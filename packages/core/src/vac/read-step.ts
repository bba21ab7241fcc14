import { randomUUID } from 'node:crypto'
import { documentOf } from './answer.js'
import type { Step, StepKind, ToolError } from './step.js'
import { readUsage } from './usage.js'
import { isRecord } from '../basics/is-record.js'
import { SurrogateJoin } from '../basics/well-formed.js'

/** What is wrong with a step that an interpreter yielded: the end of the sentence "the interpreter returned …". */
export class StepProblem extends Error {}

/** What the steps of one answer have in common while they are read. */
export interface StepReading {
  /** Copies a value as JSON. @throws where there is too much of it, and for what is not JSON */
  copy (value: unknown): unknown
  /** The id of the last call without a result, for a result without one. */
  readonly lastCall: string | undefined
  /** When the span with this id began, in ms since the interpreter was called. */
  startOf (id: string): number | undefined
  /** The time since then, in ms. */
  readonly elapsed: number
  /** Joins the characters that pieces of reasoning cut in two. */
  readonly thought: SurrogateJoin
}

type Readers = { readonly [Kind in StepKind]: (given: unknown, reading: StepReading) => Extract<Step, { readonly [K in Kind]: unknown }> | undefined }

/**
 * Reads what an interpreter yielded for each kind of step. It is liberal: missing ids and names are made, errors and
 * bytes may have the types of JavaScript, and calls the form of OpenAI. Undefined: there is nothing in it.
 */
export const readers = {
  tool_call (given, { copy }) {
    const { id, name, server, function: named, input, arguments: args } = recordOf('tool_call', given)
    const form = isRecord(named) ? named : { name, arguments: args }
    const called = nonEmpty(form.name)
    if (called === undefined) throw new StepProblem('a `tool_call` without a string `name`')
    const at = nonEmpty(server)
    return { tool_call: { id: idOf(id) ?? newCallId(), name: called, ...at !== undefined && { server: at }, input: copy(input ?? parsed(form.arguments) ?? {}) ?? null } }
  },

  tool_result (given, { copy, lastCall }) {
    const { id, output, error, duration_ms: ms, start_ms: start } = recordOf('tool_result', given)
    const isFailed = error !== undefined && error !== null && error !== false
    return {
      tool_result: {
        id: idOf(id) ?? lastCall ?? newCallId(),
        ...isFailed ? { state: 'failed', error: copy(toolError(error)) as ToolError } : { state: 'completed', output: copy(output) ?? null },
        ...isTime(ms) && { duration_ms: ms },
        ...isTime(start) && { start_ms: tenth(start) }
      }
    }
  },

  span (given, { copy, startOf, elapsed }) {
    const { id: named, kind: what, name, state = 'completed', start_ms: began, duration_ms: ms, usage, passages, finish_reason: reason, input } = recordOf('span', given)
    const kind = nonEmpty(what)
    if (kind === undefined) throw new StepProblem('a `span` without a string `kind`')
    if (state !== 'running' && state !== 'completed' && state !== 'failed') throw new StepProblem('a `span` whose `state` is not running, completed or failed')
    const id = idOf(named) ?? newCallId()
    // a worker thread has measured it
    const start = isTime(began) ? began : startOf(id) ?? Math.max(0, elapsed - (isTime(ms) ? ms : 0))
    const tokens = readUsage(usage)
    const finishReason = nonEmpty(reason)
    return {
      span: {
        id,
        kind,
        name: nonEmpty(name) ?? kind,
        state,
        start_ms: tenth(start),
        ...state !== 'running' && { duration_ms: tenth(isTime(ms) ? ms : elapsed - start) },
        ...tokens !== undefined && { usage: tokens },
        ...Number.isSafeInteger(passages) && (passages as number) >= 0 && { passages: passages as number },
        ...finishReason !== undefined && { finish_reason: finishReason },
        ...input !== undefined && { input: copy(input) ?? null }
      }
    }
  },

  reasoning (given, { copy, thought }) {
    if (given === undefined || given === null) return undefined
    if (typeof given !== 'string') throw new StepProblem('a `reasoning` that is not text')
    const text = thought.push(given)
    return text === '' ? undefined : { reasoning: copy(text) as string }
  },

  source (given, { copy }) {
    if (given === undefined || given === null) return undefined
    if (typeof given !== 'string' && !isRecord(given)) throw new StepProblem('a `source` that is neither text nor an object')
    return { source: documentOf(copy(given)) }
  },

  data (given, { copy }) {
    const { type, value } = recordOf('data', given)
    const kind = nonEmpty(type)
    if (kind === undefined) throw new StepProblem('a `data` without a string `type`')
    return { data: { type: kind, value: copy(value) ?? null } }
  },

  file (given, { copy }) {
    const { name, media_type: type, url, bytes } = recordOf('file', given)
    const shared = { name: nonEmpty(name) ?? 'file', media_type: nonEmpty(type) ?? 'application/octet-stream' }
    if (url !== undefined && url !== null) {
      const address = url instanceof URL ? url.href : nonEmpty(url)
      if (address === undefined) throw new StepProblem('a `file` whose `url` is not text')
      return { file: { ...shared, url: copy(address) as string } }
    }
    return { file: { ...shared, bytes: copy(base64Of(bytes)) as string } }
  }
} satisfies Readers

/** An id for a call of a tool that has none. */
export function newCallId (): string {
  return `call_${randomUUID()}`
}

/** Code and message of an error, and nothing else of it: its other properties may be secrets. */
export function toolError (error: unknown): ToolError {
  if (typeof error === 'string') return { message: error }
  try {
    const { code, message } = (error ?? {}) as { code?: unknown, message?: unknown }
    return { ...typeof code === 'string' && { code }, message: typeof message === 'string' ? message : 'the tool failed' }
  } catch {
    // the properties of a thrown value may throw
    return { message: 'the tool failed' }
  }
}

function isTime (value: unknown): value is number { return typeof value === 'number' && value >= 0 && Number.isFinite(value) }

/** A time in ms with one digit after the point. */
export function tenth (ms: number): number { return Math.round(Math.max(0, ms) * 10) / 10 }

function recordOf (kind: StepKind, given: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(given)) return given
  throw new StepProblem(`a \`${kind}\` that is not an object`)
}

function nonEmpty (value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.toWellFormed() : undefined
}

function idOf (value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : nonEmpty(value)
}

/** Arguments as a model writes them: a text of JSON, which may be cut off. */
function parsed (value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

function base64Of (bytes: unknown): string {
  if (bytes instanceof Uint8Array) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  if (bytes instanceof ArrayBuffer) return Buffer.from(bytes).toString('base64')
  if (typeof bytes !== 'string') throw new StepProblem('a `file` with neither a `url` nor `bytes`')
  if (BASE64.test(bytes) && bytes.length % 4 === 0) return bytes
  throw new StepProblem('a `file` whose `bytes` are neither base64 nor a Uint8Array')
}
