import type { InterpreterChunk } from '@polyvac/core'
import { CALL_TOOL, InvalidRequestError, type TokenUsage } from '@polyvac/core/plugin'
import { Citations, ModelError, modelFailure, THINKING, THOUGHT_BEGINS, THOUGHT_WAS_ALL, ThinkingFilter, usageOfSteps, type OpenModel } from '@polyvac/documents/parts'
import type { ModelMessage, TextStreamPart, ToolSet } from 'ai'

import { NoAnswerError } from './errors.js'
import { ModelSpans } from './model-spans.js'
import type { OfferedTools } from './offer-tools.js'
import { SEARCH_DOCUMENTS } from './own-tools.js'
import type { Passages } from './passages.js'

export interface StepsOptions {
  readonly opened: OpenModel
  readonly system: string
  readonly messages: ModelMessage[]
  readonly offered: OfferedTools
  readonly citations: Citations | undefined
  /** The name of the model. */
  readonly name: string
  /** When the interpreter was called, by `performance.now()`. */
  readonly began: number
  readonly passages: Pick<Passages, 'searched'>
  /** JSON Schema of the answer, where the caller demands one. */
  readonly schema: Readonly<Record<string, unknown>> | undefined
  readonly maxSteps: number
  readonly maxTokens: number | undefined
  /** Whether the answer goes on: its model has called tools before. */
  readonly isBegun: boolean
  readonly retries: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** A call of a tool that the agent does not execute: the question to the user, or a tool of the caller. */
export interface OpenCall { readonly id: string, readonly name: string, readonly input: unknown }

/** How the steps ended. */
export interface StepsEnd {
  readonly answer: string
  readonly steps: number
  readonly finishReason: string
  readonly usage: TokenUsage | undefined
  readonly openCalls: readonly OpenCall[]
  /** What the model and its tools said in all steps; empty unless a call waits for an approval. */
  readonly said: readonly ModelMessage[]
}

/** Finish reasons of a complete step. Any other end is a failure, since the text may be incomplete. */
const COMPLETE: ReadonlySet<string> = new Set(['stop', 'length', 'tool-calls'])

/** A model failed before it wrote or called anything. */
export class NothingBegunError extends ModelError {}
/** With the first of these an answer has begun. */
const PARTS_OF_MODEL: ReadonlySet<string> = new Set(['text-delta', 'reasoning-delta', 'tool-call'])

/**
 * Lets the model write and call tools, until it answers. Yields its text and what happens meanwhile; the last step has
 * no tools, so that a model that only calls comes to an end. Fails with ModelError, AGENT_NO_ANSWER,
 * MEMORY_BUDGET_EXCEEDED, and with the reason of the signal. It closes the connection in all cases.
 */
export async function * runSteps ({ opened, system, messages, offered, citations, name, began, passages, schema, maxSteps, maxTokens, isBegun, retries, timeoutMs, signal }: StepsOptions): AsyncGenerator<InterpreterChunk, StepsEnd> {
  signal.throwIfAborted()
  const { sdk, model } = opened
  const silence = new Silence(timeoutMs)
  const both = AbortSignal.any([signal, silence.signal])
  const text = new StepText(citations)
  const calls = new Calls(offered, passages, began)
  const spans = new ModelSpans(name, began, passages)
  let hasBegun = isBegun
  let steps = 0
  let finishReason = ''
  let usage: TokenUsage | undefined
  // @keyed none: one for each step of one answer
  const raw: unknown[] = []
  let said: readonly ModelMessage[] = []
  silence.begin()
  try {
    const streamed = sdk.streamText({
      model,
      system,
      messages,
      tools: offered.tools,
      stopWhen: [sdk.stepCountIs(maxSteps), () => offered.awaited.length > 0],
      prepareStep: ({ stepNumber }) => {
        spans.called()
        return stepNumber === maxSteps - 1 && stepNumber > 0 ? { toolChoice: 'none' } : {}
      },
      // the text is not parsed here: that of the object would be, with each piece of it
      ...schema !== undefined && { output: { ...sdk.Output.text(), responseFormat: sdk.Output.object({ schema: sdk.jsonSchema(schema) }).responseFormat } },
      ...maxTokens !== undefined && { maxOutputTokens: maxTokens },
      // the service fetches no address that a caller names: a model server that reads addresses gets it
      experimental_download: async files => files.map(({ isUrlSupportedByModel: isRead }) => {
        if (isRead) return null
        throw new InvalidRequestError([{ path: 'body/files', message: 'has a file by its address, which the model cannot read; send its bytes' }])
      }),
      abortSignal: both,
      maxRetries: retries,
      // a model may call a tool that it has found by its own name
      experimental_repairToolCall: async ({ toolCall }) => offered.hidden?.repaired(toolCall) ?? null,
      // the error is a part of the stream, too; the default handler prints it
      onError: () => {}
    })
    for await (const part of streamed.fullStream) {
      both.throwIfAborted()
      silence.pause()
      if (part.type === 'error') throw isCallInLastStep(part.error) ? new NoAnswerError(String(maxSteps)) : modelFailure(part.error)
      hasBegun ||= PARTS_OF_MODEL.has(part.type)
      yield * spans.read(part.type)
      if (part.type === 'start-step') {
        text.begin()
        spans.begin()
      } else if (part.type === 'text-delta') yield * text.push(part.text)
      else if (part.type === 'reasoning-delta') yield { reasoning: part.text }
      else if (part.type === 'finish-step') {
        yield * text.end()
        yield * spans.end(usageOfSteps(part.usage, [part.usage.raw]), part.finishReason)
        steps++
        raw.push(part.usage.raw)
        finishReason = part.finishReason
        if (!COMPLETE.has(finishReason)) throw new ModelError('the stream ended before the answer did')
      } else if (part.type === 'finish') usage = usageOfSteps(part.totalUsage, raw)
      else yield * calls.read(part)
      // neither a slow reader nor a slow tool is the silence of the model
      if (!calls.isRunning) silence.begin()
    }
    both.throwIfAborted()
    // a promise of an answer that fails would be an error that no code handles
    if (offered.awaited.length > 0) said = (await streamed.response).messages
  } catch (error) {
    if (signal.aborted) throw signal.reason
    yield * spans.fail()
    if (error instanceof NoAnswerError) throw error
    const refused = fileRefusal(error)
    if (refused !== undefined) throw refused
    const failure = silence.signal.aborted ? silence.signal.reason as ModelError : modelFailure(error)
    throw hasBegun || !(failure instanceof ModelError) ? failure : new NothingBegunError(failure.reason, { cause: failure })
  } finally {
    silence.end()
  }
  if (steps === 0) throw new ModelError('the stream ended before the answer did')
  return { answer: text.whole, steps, finishReason, usage, openCalls: calls.open, said }
}

/** Whether a model calls a tool although it has none. */
function isCallInLastStep (error: unknown): boolean { return (error as { name?: unknown } | null)?.name === 'AI_ToolChoiceViolationError' }

/** The error for a file of a type that the SDK cannot hand to the model; undefined for another failure. */
function fileRefusal (error: unknown): Error | undefined {
  const { name, functionality, cause } = (error ?? {}) as { readonly name?: unknown, readonly functionality?: unknown, readonly cause?: unknown }
  const [, type] = name === 'AI_UnsupportedFunctionalityError' ? /^(?:file part|audio) media type (\S+)$/.exec(String(functionality)) ?? [] : []
  if (type !== undefined) return new InvalidRequestError([{ path: 'body/files', message: `the model takes no files of the type ${type}; send another one, or its text` }])
  return cause === undefined || cause === null ? undefined : fileRefusal(cause)
}

/** Ends a call of a model that gives nothing for too long. */
class Silence {
  readonly #stop = new AbortController()
  readonly #timeoutMs: number
  #timer: NodeJS.Timeout | undefined

  constructor (timeoutMs: number) { this.#timeoutMs = timeoutMs }

  get signal (): AbortSignal { return this.#stop.signal }

  begin (): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => { this.#stop.abort(new ModelError(`nothing came within ${this.#timeoutMs / 1_000} s`)) }, this.#timeoutMs)
  }

  pause (): void { clearTimeout(this.#timer) }

  end (): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
  }
}

/** The text of all steps, without thoughts and with checked citations. */
class StepText {
  whole = ''
  readonly #citations: Citations | undefined
  #thinking = new ThinkingFilter()
  #begun = 0

  constructor (citations: Citations | undefined) { this.#citations = citations }

  begin (): void {
    this.#thinking = new ThinkingFilter()
    this.#begun = this.whole.length
  }

  * push (text: string): Generator<InterpreterChunk> {
    for (const piece of this.#thinking.push(text)) yield * this.#add(piece)
  }

  * end (): Generator<InterpreterChunk> {
    for (const piece of this.#thinking.end()) yield * this.#add(piece)
    yield * this.#say(this.#citations?.end() ?? '')
  }

  * #add (piece: ReturnType<ThinkingFilter['push']>[number]): Generator<InterpreterChunk> {
    if (piece === THOUGHT_BEGINS) yield THINKING
    else if (piece === THOUGHT_WAS_ALL) this.whole = this.whole.slice(0, this.#begun)
    else yield * this.#say(this.#citations?.push(piece) ?? piece)
  }

  * #say (text: string): Generator<InterpreterChunk> {
    if (text === '') return
    const shown = this.whole.length === this.#begun && this.#begun > 0 ? `\n\n${text}` : text
    this.whole += shown
    yield shown
  }
}

/** The calls of tools, as steps of the answer where `extra.callTool` does not make them. */
class Calls {
  readonly #offered: OfferedTools
  readonly #passages: Pick<Passages, 'searched'>
  readonly #began: number
  /** Those that wait for their results, and when they began. */
  // @keyed none: the calls of one step of one answer
  readonly #running = new Map<string, { readonly began: number, readonly isReported: boolean, readonly problem: string | undefined }>()
  // @keyed none: a list in order, of one answer: at most the calls of its last step
  readonly open: OpenCall[] = []

  constructor (offered: OfferedTools, passages: Pick<Passages, 'searched'>, began: number) {
    this.#offered = offered
    this.#passages = passages
    this.#began = began
  }

  get isRunning (): boolean { return this.#running.size > 0 }

  * read (part: TextStreamPart<ToolSet>): Generator<InterpreterChunk> {
    if (part.type === 'tool-call') {
      const { toolCallId: id, toolName } = part
      const { hidden, tools, ofCaller, reported } = this.#offered
      const isKnown = Object.hasOwn(tools, toolName) && !('invalid' in part && part.invalid === true)
      const { name, input, problem } = isKnown && toolName === CALL_TOOL && hidden !== undefined ? hidden.asked(part.input) : { name: toolName, input: part.input, problem: undefined }
      if (isKnown && tools[toolName]?.execute === undefined) {
        this.open.push({ id, name: ofCaller.get(name) ?? name, input })
        return
      }
      const isReported = isKnown && problem === undefined && reported.has(name)
      this.#running.set(id, { began: performance.now(), isReported, problem })
      if (!isReported) yield { tool_call: { id, name, input } }
      return
    }
    if (part.type !== 'tool-result' && part.type !== 'tool-error') return
    const { toolCallId: id } = part
    const { began, isReported = false, problem } = this.#running.get(id) ?? {}
    this.#running.delete(id)
    if (part.toolName === SEARCH_DOCUMENTS) yield * this.#passages.searched()
    const timed = began === undefined ? {} : { start_ms: began - this.#began, duration_ms: Math.round(performance.now() - began) }
    if (part.type === 'tool-error') yield { tool_result: { id, error: { message: messageOf(part.error) }, ...timed } }
    else if (problem !== undefined) yield { tool_result: { id, error: { message: problem }, ...timed } }
    else if (!isReported) yield { tool_result: { id, output: part.output, ...timed } }
  }
}

function messageOf (error: unknown): string {
  return typeof error === 'string' ? error : error instanceof Error ? error.message : 'the call failed'
}
